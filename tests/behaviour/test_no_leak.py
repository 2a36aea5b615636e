"""No message holds text of other calls: buffers are shared by the calls, and hold what was encoded before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from markers import FAMILIES, MARKER, live_markers, marked, marked_memory

SECRET = "secretwords"
VOCAB = {"a": 0, "b": 1, SECRET: 2}
MODELS = {
    "wordlevel": {"type": "WordLevel", "unk_token": "<unk>", "vocab": VOCAB},
    "bpe": {
        "type": "BPE",
        "unk_token": "<unk>",
        "vocab": dict(zip("abcdeorstw", range(10), strict=True)),
        "merges": [],
    },
    "unigram": {"type": "Unigram", "unk_id": None, "vocab": [[char, -1.0] for char in "abcdeorstw"]},
}
UNKNOWN = ("q", "é", "a q", "qq b a", "q" * 100, "a " + "é" * 33 + " b", "q\U0001f600 a")


def loaded(folder: Path, model: dict[str, Any], **parts: Any) -> subwords.Tokenizer:
    """The tokenizer of a tokenizer.json."""
    empty = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"])
    whole = {"version": "1.0", "added_tokens": [], **empty, "model": model, **parts}
    (folder / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    return subwords.load(folder / "tokenizer.json")


def ways(tok: subwords.Tokenizer) -> dict[str, Callable[[str], object]]:
    return {
        "encode": tok.encode,
        "numpy": tok.encode_to_numpy,
        "count": tok.count_tokens,
        "tokenize": tok.tokenize,
        "call": tok,
        "batch": lambda text: tok.encode_batch(["a", text]),
        "calls": lambda text: tok(["a", text]),
    }


@pytest.mark.parametrize("splitter", ["Whitespace", "WhitespaceSplit", "BertPreTokenizer"])
@pytest.mark.parametrize("name", MODELS)
def test_an_error_quotes_only_the_text_of_its_call(name: str, splitter: str, tmp_path: Path) -> None:
    tok = loaded(tmp_path, MODELS[name], pre_tokenizer={"type": splitter})
    for way, call in ways(tok).items():
        for text in UNKNOWN:
            call(f"{SECRET} " * 40)
            with pytest.raises(subwords.InputError) as caught:
                call(text)
            message = str(caught.value)
            assert "ecret" not in message and "\\x" not in message and "\ufffd" not in message, way
            quoted = message.split("'")[1]
            assert quoted and quoted in text, (way, message)


def test_the_first_use_of_a_buffer_shows_no_memory(tmp_path: Path) -> None:
    for _ in range(5):
        tok = loaded(tmp_path, MODELS["wordlevel"], pre_tokenizer={"type": "WhitespaceSplit"})
        with pytest.raises(subwords.InputError, match=r"^the word 'q' at character 0 \(byte 0\) is not"):
            tok.encode("q")


CORPUS = ["the cat sat on the mat", "a dog, a log: ünd ß", "hugs and hugging"] * 30


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_results_and_files_hold_no_fresh_memory(name: str, tmp_path: Path) -> None:
    with marked_memory():
        tok = subwords.train(CORPUS, **FAMILIES[name])
        tok.save(tmp_path / "tokenizer.json")
        subwords.count(CORPUS).save(tmp_path / "words.counts")
        for kind in ("npy", "bin", "megatron"):
            tok.encode_files(CORPUS, tmp_path / f"ids.{kind}", format=kind)  # type: ignore[arg-type]
        for text in (*CORPUS[:3], " ".join(CORPUS), " ".join(CORPUS) * 400):
            rich = tok(text)
            ids = tok.encode_to_numpy(text)
            fields = [rich.ids, rich.spans, rich.byte_spans, list(rich.tokens)]
            assert not marked([ids, tok.encode_batch([text, "a"]).ids, tok.tokenize(text), tok.decode(ids), *fields])
    for path in tmp_path.iterdir():
        assert not marked(path.read_bytes()), path.name


ODD = ("q", "\ud800", "a\udfff", b"\xff\xfe", b"a\xc3", "<s> \u4e2d", "q" * 300, "\x00", "", "e\u0301" * 40, 5, None)
WRONG_IDS = ([-1], [10**6], [2**40], ["a"], [0.5], [0, 10**9, 0], 7, "a", None)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("spelled", [True, False], ids=["special", "plain"])
@pytest.mark.parametrize("name", [*FAMILIES, *(f"no unknown token, {name}" for name in MODELS)])
@pytest.mark.filterwarnings("ignore")
def test_error_paths_hold_no_memory_of_others(name: str, spelled: bool, tmp_path: Path) -> None:
    """Unknown symbols, surrogates, bytes that are not UTF-8, special tokens, wrong ids, closed files."""
    with live_markers() as markers:
        if name in FAMILIES:
            unknown = {"wordpiece": ["[UNK]"], "unigram": ["<unk>"], "wordlevel": ["<unk>"]}.get(name, [])
            special = [*unknown, "<s>"] if spelled else unknown
            tok = subwords.train([*CORPUS, SECRET], **FAMILIES[name], special_tokens=special)
        else:
            tok = loaded(tmp_path, MODELS[name.split()[-1]], pre_tokenizer={"type": "Whitespace"})
        errors = 0

        def tried(call: Callable[[], object]) -> None:
            nonlocal errors
            try:
                call()
            except (subwords.SubwordsError, TypeError, ValueError, OSError) as error:
                assert not marked(str(error))
                errors += 1

        for text in ODD:
            for call in ways(tok).values():
                tried(lambda call=call, text=text: call(text))  # type: ignore[misc]
            for policy in ("error", "allow", "a"):
                tried(lambda text=text, policy=policy: tok.encode(text, special=policy))  # type: ignore[misc]
            tried(lambda text=text: tok.nbest(text))  # type: ignore[misc]
            tried(lambda text=text: tok.sample(text, seed=1))  # type: ignore[misc]
        for ids in WRONG_IDS:
            for decode in (tok.decode, tok.decode_bytes, tok.decode_with_spans, tok.stream().step):
                tried(lambda decode=decode, ids=ids: decode(ids))  # type: ignore[misc]
            tried(lambda ids=ids: tok.decode_batch([[0], ids]))  # type: ignore[misc]
        (tmp_path / "corpus.txt").write_bytes(b"abc q\n\xff\xfe\n")
        with (tmp_path / "corpus.txt").open() as closed:
            pass
        for source in (closed, tmp_path / "corpus.txt", tmp_path / "none.txt"):
            tried(lambda source=source: subwords.count(source))  # type: ignore[misc]
            tried(lambda source=source: tok.encode_files(source, tmp_path / "ids.bin"))  # type: ignore[misc]
        assert errors > 20 and not markers.found and markers.filled
    for path in tmp_path.iterdir():
        assert not marked(path.read_bytes()), path.name


def test_a_planted_leak_is_found() -> None:
    made: dict[str, Any] = {"__name__": "subwords.planted"}
    exec("import numpy as np\ndef leak(): return np.empty(9, np.uint32)", made)
    with marked_memory():
        assert marked(made["leak"]())
    assert marked("\x7f" * 9) and marked([b"a" + bytes([MARKER]) * 9]) and not marked(["a", b"b"])


def test_a_wrong_option_is_quoted_short() -> None:
    """A text that is given in the place of an option is the caller's, but no message needs all of it."""
    tok, text = subwords.train(CORPUS, vocab_size=270), f"{SECRET} " * 1000
    for call in (
        lambda: tok.encode("a", special=text),
        lambda: tok.encode_batch(["a"], special=text),
        lambda: tok.decode([1], errors=text),
        lambda: tok("a", special=text),
        lambda: tok.nbest("a", text),  # type: ignore[arg-type]
        lambda: tok.with_tokens([text, text]),
    ):
        with pytest.raises(subwords.SubwordsError) as caught:
            call()
        assert len(str(caught.value)) < 400
