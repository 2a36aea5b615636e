"""Rank files of tiktoken: what they say, what is refused, and OpenAI's encodings by name."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public as published

import subwords
from inside import encoding_named
from inside import formats_tiktoken as tiktoken
from subwords import FormatError, InputError
from subwords.machine import ENCODINGS, MODELS, read_ranks

BYTES = [bytes([byte]) for byte in range(256)]


def ranks_of(tokens: Sequence[bytes]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), i) for i, token in enumerate(tokens))


RANKS = ranks_of([*BYTES, b"lo", b"low", b" low", b"er"])


def test_tokens_and_ranks() -> None:
    assert read_ranks(b"YQ== 0\nYg== 1\nYWI= 2\n", "x") == {b"a": 0, b"b": 1, b"ab": 2}
    assert read_ranks(b"\nYQ== 1\r\n\nYg== 0", "x") == {b"a": 1, b"b": 0}  # as tiktoken: empty lines, no last line end
    assert read_ranks(b"YQ== 0\n= 1\nYg== 2", "x") == {b"a": 0, b"b": 2}  # Whisper's empty token


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"YQ==", r"line 257: expected a token, a space and a rank"),
        (b"YQ== ", r"expected a token, a space and a rank"),
        (b"YQ== x", r"expected a token, a space and a rank"),
        (b"YQ== -1", r"expected a token, a space and a rank"),
        (b"YQ== 1_0", r"expected a token, a space and a rank"),
        (b"YQ== 256 7", r"expected a token, a space and a rank"),
        (b"YQ== 99999999999999999999", r"rank up to"),
        (b"YQ=" + b" 256", r"expected a token in base64, not b'YQ='"),
        (b"Y!== 256", r"expected a token in base64"),
        (b"YWI= 7", r"expected an unused rank, not 7, the rank of b'\\x07'"),
        (b"YQ== 256", r"expected each token once, not b'a', which also has rank 97"),
        (b"YWI= 2000000", r"ranks without large gaps, not 2000000 among 257 tokens"),
    ],
)
def test_damaged_lines_are_named(line: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=rf"x\.tiktoken: .*{message}"):
        read_ranks(ranks_of(BYTES) + line, "x.tiktoken")


def test_every_truncation_is_read_or_refused() -> None:
    for stop in range(0, len(RANKS), 7):
        with contextlib.suppress(FormatError):
            tiktoken.read_rank_file(RANKS[:stop], "x", splitter=())


def test_a_file_is_recognized_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    for name in ("tokenizer.model", "x.tiktoken", "x.txt", "x"):
        (tmp_path / name).write_bytes(RANKS)
        tok = subwords.load(tmp_path / name, splitter="gpt2", special_ids={"<|end|>": 260})
        assert tok.encode("low lower<|end|>", special="allow") == [257, 258, 259, 260]


def test_a_splitter_is_needed_and_only_here(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(RANKS)
    with pytest.raises(FormatError, match=r"has no splitter and no special tokens.*load\(\.\.\., splitter="):
        subwords.load(tmp_path / "x.tiktoken")
    subwords.train(["ab ab"], vocab_size=258).save(tmp_path / "a.json")
    given: list[dict[str, Any]] = [{"splitter": "gpt2"}, {"special_ids": {"<s>": 1}}]
    for options in given:
        with pytest.raises(
            InputError, match=rf"{next(iter(options))} is for files without one .*a\.json says it itself"
        ):
            subwords.load(tmp_path / "a.json", **options)


def test_special_tokens_need_free_ids(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(RANKS)
    with pytest.raises(
        FormatError, match=r"expected a free id for the special token \"<s>\", not 257, the id of b'low'"
    ):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2", special_ids={"<s>": 257})
    with pytest.raises(FormatError, match="without large gaps, not 1000000000000"):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2", special_ids={"<s>": 10**12})
    with pytest.raises(InputError, match=r"special_ids as a dict .*, not list"):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2", special_ids=["<s>"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="id >= 0"):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2", special_ids={"<s>": "7"})  # type: ignore[dict-item]


# ------------------------------------------------------------------ writing


def test_what_is_trained_here_is_written_and_read_again(tmp_path: Path) -> None:
    tok = subwords.train(["it's a low lower lowest price, low and lower "] * 9, vocab_size=285, special_tokens=["<s>"])
    tok.save(tmp_path / "a.tiktoken")
    again = subwords.load(tmp_path / "a.tiktoken", splitter="o200k", special_ids={"<s>": 0})
    text = "so low, the lowest price of all: it's é and 語"
    assert again.encode(text) == tok.encode(text)
    again.save(tmp_path / "b.tiktoken")
    assert (tmp_path / "b.tiktoken").read_bytes() == (tmp_path / "a.tiktoken").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "wordpiece", "vocab_size": 30}, "byte-level BPE only"),
        ({"byte_level": False, "vocab_size": 12}, "byte-level BPE only"),
        ({"normalizer": "nfc", "vocab_size": 258}, "holds no normalizer"),
        ({"alphabet": "corpus", "vocab_size": 12}, r"a token for each of 256 bytes; b'\\x00' has none"),
    ],
)
def test_what_a_rank_file_cannot_hold(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        subwords.train(["low lower lowest"] * 9, **options).save(tmp_path / "a.tiktoken")


def test_other_orders_of_merging_are_refused(tmp_path: Path) -> None:
    import json

    tok = subwords.train(["abc abc bcd"] * 9, vocab_size=259, splitter=None)
    tok.save(tmp_path / "a.json")
    top = json.loads((tmp_path / "a.json").read_text("utf-8"))
    model = top["model"]
    model["vocab"] |= {"xy": 259, "yz": 260, "xyz": 261}
    model["merges"] += [["y", "z"], ["x", "y"], ["x", "yz"]]  # by id, x and y would merge first
    (tmp_path / "b.json").write_text(json.dumps(top), "utf-8")
    with pytest.raises(FormatError, match=r"does not make b'\w+' \(id \d+\) as this model does"):
        subwords.load(tmp_path / "b.json").save(tmp_path / "b.tiktoken")
    assert not (tmp_path / "b.tiktoken").exists()


def test_tokens_that_tiktoken_cannot_have(tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=262)
    for more in (tok.with_tokens([" zz"], special=False), tok.with_tokens(["<s>"], lstrip=True)):
        with pytest.raises(FormatError, match=r"special tokens only, .* has (special=False|lstrip=True); write"):
            more.save(tmp_path / "a.tiktoken")
    tok.with_tokens(["<s>"]).save(tmp_path / "a.tiktoken")
    again = subwords.load(tmp_path / "a.tiktoken", splitter="gpt2", special_ids={"<s>": 262})
    assert again.encode("<s>low", special="allow") == tok.with_tokens(["<s>"]).encode("<s>low", special="allow")
    with pytest.raises(InputError, match="more than one byte: text needs the token 'A'"):
        subwords.load(tmp_path / "a.tiktoken", splitter="gpt2", special_ids={"A": 65})


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbfIQ== 0\n", b"IQ==  0\n", b"IQ==\t0\n"])
def test_what_is_no_rank_file_is_called_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(data)
    with pytest.raises(FormatError, match="expected a tokenizer file"):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2")


# ------------------------------------------------------------------ names


def test_published_encodings_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(published, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    assert {*ENCODINGS} == {*published.ENCODING_CONSTRUCTORS}
    for name, make in published.ENCODING_CONSTRUCTORS.items():
        theirs = dict(make()["special_tokens"])
        if name == "o200k_harmony":
            assert theirs.pop("<|reserved_200018|>") == theirs["<|endofprompt|>"]
        assert ENCODINGS[name].special_tokens == theirs, name
        pattern = make()["pat_str"]
        assert subwords.splitter(ENCODINGS[name].splitter) == subwords.splitter(pattern), name


def test_models_use_the_encodings_that_tiktoken_says() -> None:
    from tiktoken.model import encoding_name_for_model

    theirs = {
        model: encoding_name_for_model(model if model != "gpt-oss" else "gpt-oss-20b")
        for model in MODELS
        if model not in ("gpt-4-turbo", "gpt-4o-mini", "chatgpt-4o", "gpt-4.5")
    }
    assert {model: MODELS[model] for model in theirs} == theirs
    for model in ("gpt-4-turbo", "gpt-4o-mini", "chatgpt-4o", "gpt-4.5"):
        assert MODELS[model] == encoding_name_for_model(f"{model}-2024-01-01")
    for model in (
        "gpt-4.1-mini",
        "gpt-5-mini",
        "gpt-4o-2024-08-06",
        "gpt-oss-20b",
        "ft:gpt-4o:x",
        "ft:gpt-4:x",
        "o3-mini",
    ):
        assert encoding_named(model) == encoding_name_for_model(model)
    assert encoding_named("bert") is None


@pytest.mark.parametrize("variable", ["SUBWORDS_VOCABULARIES", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_every_place_of_a_rank_file(
    variable: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (shared_data / "tokenizers" / "tiktoken" / "r50k_base.tiktoken").read_bytes()
    url = "https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
    name = "r50k_base.tiktoken" if variable.startswith("SUBWORDS") else hashlib.sha1(url.encode()).hexdigest()
    (tmp_path / name).write_bytes(data)
    for each in ("SUBWORDS_VOCABULARIES", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    monkeypatch.chdir("/")
    with pytest.raises(FormatError, match="looked in"):
        subwords.load("gpt2")
    monkeypatch.setenv(variable, str(tmp_path))
    assert subwords.load("gpt2").encode("Hello") == [15496]


def test_a_name_finds_the_file_in_tiktoken_s_cache_and_downloads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(FormatError, match=r"no rank file for o200k_base \(looked in .*cache.*\): download https:"):
        subwords.load("gpt-4o")
    (tmp_path / "o200k_base.tiktoken").write_bytes(RANKS)
    with pytest.raises(FormatError, match=r"expected OpenAI's o200k_base\.tiktoken; the content differs"):
        subwords.load("gpt-4o")
    with pytest.raises(InputError, match="splitter is for files without one"):
        subwords.load("gpt-4o", splitter="gpt2")
