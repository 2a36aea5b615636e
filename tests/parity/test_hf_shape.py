"""`tok.as_hf()` and HF's own Tokenizer: one test body for both. `tok.to_transformers()` and AutoTokenizer, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from shapes import TEXTS, check_same
from small_data import file_of
from subwords import InputError, Tokenizer

FILES = ("bert/bert-base-uncased-tokenizer.json", "gpt2/tokenizer.json", "roberta/tokenizer.json", "t5/tokenizer.json")
LISTS = ("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids")


@pytest.fixture(scope="module", params=FILES)
def loaded(request: pytest.FixtureRequest, data: Path) -> tuple[str, Tokenizer]:
    path = file_of(data, request.param)
    return path.read_text("utf-8"), subwords.load(path)


@pytest.fixture
def pair(loaded: tuple[str, Tokenizer]) -> tuple[tokenizers.Tokenizer, Any]:
    """New for each test: calls change them."""
    text, tok = loaded
    return tokenizers.Tokenizer.from_str(text), tok.as_hf()


def seen(encoding: Any) -> list[Any]:
    """What an encoding says. HF's pieces that were cut off differ from ours in two ways.

    Each has others as its own pieces, and those of a pair have type ids of another template than T5's.
    """
    pieces = [alone(piece, LISTS[:3] + LISTS[4:]) for piece in encoding.overflowing]
    return [*alone(encoding, LISTS), pieces]


def alone(encoding: Any, names: tuple[str, ...]) -> list[Any]:
    lists = [getattr(encoding, name) for name in names]
    size = len(encoding)
    places = [
        [encoding.token_to_chars(i), encoding.token_to_word(i), encoding.token_to_sequence(i)] for i in range(size + 1)
    ]
    others = [
        [getattr(encoding, name)(i, text) for i in range(4) for text in range(3)]
        for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars")
    ]
    return [*lists, size, encoding.n_sequences, places, others]


TEXT, OTHER = "Rays of Light </s> [SEP] naïve 語", "A second, shorter text."


def changed(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Encode after a change."""

    def run(tok: Any) -> Any:
        found = [call(tok), tok.padding, tok.truncation]
        found += [
            seen(tok.encode(TEXT)),
            seen(tok.encode(TEXT, OTHER)),
            seen(tok.encode(TEXT, add_special_tokens=False)),
        ]
        return [*found, [*map(seen, tok.encode_batch([TEXT, "", (OTHER, TEXT)]))]]

    return run


CALLS: list[Callable[[Any], Any]] = [
    lambda tok: [seen(tok.encode(text)) for text in TEXTS],
    lambda tok: [seen(tok.encode(text, add_special_tokens=False)) for text in TEXTS],
    lambda tok: [seen(tok.encode(text, other)) for text, other in pairwise(TEXTS)],
    lambda tok: [*map(seen, tok.encode_batch(TEXTS))],
    lambda tok: [*map(seen, tok.encode_batch([("a b", "c"), "d", ["e", "f"]], add_special_tokens=False))],
    lambda tok: [*map(seen, tok.encode_batch([("a b", "c"), ["e", "f g"]]))],
    lambda tok: [found.ids for found in tok.encode_batch_fast(TEXTS)],
    lambda tok: tok.encode_batch([]),
    lambda tok: repr(tok.encode("a b")),
    *(lambda tok, text=text: tok.encode(text) for text in (5, None, b"a", ["a"], "a\ud800")),
    *(lambda tok, texts=texts: tok.encode_batch(texts) for texts in ("ab", 5, [5], [("a", "b", "c")], [("a",)])),
    lambda tok: tok.encode("a", 5),
    lambda tok: [tok.decode(found.ids) for found in tok.encode_batch(TEXTS)],
    lambda tok: tok.decode_batch([found.ids for found in tok.encode_batch(TEXTS)], skip_special_tokens=False),
    *(lambda tok, ids=ids: tok.decode(ids) for ids in ([], [5, 10**8], [-1], "ab", [1.5], None, [1 << 40], (5, 6))),
    *(lambda tok, token=token: tok.token_to_id(token) for token in ("a", "</s>", "no such", 5, b"a", "")),
    *(lambda tok, i=i: tok.id_to_token(i) for i in (0, 5, 10**8, -1, "a", 1.5, 1 << 40)),
    lambda tok: [tok.get_vocab() == tok.get_vocab(with_added_tokens=True), sorted(tok.get_vocab().items())],
    lambda tok: [tok.get_vocab_size(), tok.get_vocab_size(with_added_tokens=False), len(tok.get_vocab(False))],
    lambda tok: [tok.num_special_tokens_to_add(False), tok.num_special_tokens_to_add(True)],
    lambda tok: [tok.padding, tok.truncation, tok.encode_special_tokens],
    lambda tok: [
        [i, each.content, each.special, each.single_word, each.lstrip, each.rstrip, each.normalized]
        for i, each in sorted(tok.get_added_tokens_decoder().items())
    ],
    changed(lambda tok: tok.enable_padding()),
    changed(lambda tok: tok.enable_padding(length=40, pad_id=3, pad_type_id=1, pad_token="<x>", direction="left")),
    changed(lambda tok: tok.enable_padding(pad_to_multiple_of=8)),
    changed(lambda tok: [tok.enable_padding(), tok.no_padding()]),
    changed(lambda tok: tok.enable_truncation(8)),
    changed(lambda tok: tok.enable_truncation(16, stride=2)),
    changed(lambda tok: tok.enable_truncation(16, stride=1, strategy="longest_first", direction="left")),
    changed(lambda tok: [tok.enable_truncation(8), tok.no_truncation()]),
    changed(lambda tok: [tok.enable_truncation(8), tok.enable_padding(length=12)]),
    lambda tok: tok.enable_truncation(8, strategy="x"),
    lambda tok: tok.enable_truncation(8, direction="up"),
    lambda tok: tok.enable_truncation(8, stride=8),
    lambda tok: tok.enable_truncation(-1),
    lambda tok: tok.enable_padding(direction="up"),
    changed(lambda tok: tok.add_tokens(["Rays", "zzz", "", "zzz", tokenizers.AddedToken("naïve", lstrip=True)])),
    changed(lambda tok: [tok.add_special_tokens(["of", "</s>", "[SEP]", "<new>"]), tok.add_special_tokens(["<new>"])]),
    *(lambda tok, tokens=tokens: tok.add_tokens(tokens) for tokens in ("ab", [5], 5)),
]


@pytest.mark.rotating(8)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_same_calls(number: int, pair: tuple[tokenizers.Tokenizer, Any]) -> None:
    check_same(CALLS[number], *pair)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", ["bert/bert-base-uncased-tokenizer.json", "gpt2/tokenizer.json"])
def test_special_tokens_as_text(name: str, data: Path) -> None:
    """Where the model cannot give the ids of special tokens itself, as T5's can: here it never does (A3)."""
    path = file_of(data, name)
    theirs, ours = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path).as_hf()
    check_same(changed(lambda tok: setattr(tok, "encode_special_tokens", True)), theirs, ours)


def test_the_tokenizer_itself_stays_as_it_is() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<pad>"])
    shape = tok.as_hf()
    shape.enable_padding(length=3)
    shape.add_tokens(["x y"])
    assert len(shape.encode("x y")) == 3
    assert (tok.spec.padding, tok.vocab_size) == (None, 258)


def test_what_it_writes_is_what_hf_reads(tmp_path: Path) -> None:
    shape = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<pad>"]).as_hf()
    for text in (shape.to_str(), shape.to_str(pretty=True)):
        assert tokenizers.Tokenizer.from_str(text).encode("ab ab").ids == shape.encode("ab ab").ids
    assert "\n" not in shape.to_str()
    shape.save(str(tmp_path / "a.json"))
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "a.json")).encode("ab").ids == shape.encode("ab").ids
    with pytest.raises(InputError, match=r"\.json"):
        shape.save(str(tmp_path / "a.txt"))
    with pytest.raises(InputError, match="is_pretokenized"):
        shape.encode("ab", is_pretokenized=True)


def test_coroutines(data: Path) -> None:
    path = file_of(data, "bert/bert-base-uncased-tokenizer.json")
    texts = ["Hello", ("Hello", "you"), "naïve [SEP] text"]

    async def results(tok: Any) -> list[Any]:
        one = await tok.async_encode("Hello", "you", add_special_tokens=False)
        rows = [
            *await tok.async_encode_batch(texts),
            *await tok.async_encode_batch_fast(texts, add_special_tokens=False),
        ]
        ids = [row.ids for row in rows]
        return [one.ids, one.type_ids, ids, await tok.async_decode_batch(ids, skip_special_tokens=False)]

    theirs, ours = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path).as_hf()
    assert asyncio.run(results(ours)) == asyncio.run(results(theirs))


def test_the_surface_is_that_of_hf() -> None:
    """Without its parts, training and static methods, and what changes an encoding."""
    absent = {"decoder", "model", "normalizer", "post_process", "post_processor", "pre_tokenizer", "from_pretrained"}
    absent |= {"from_buffer", "from_file", "from_str", "train", "train_from_iterator"}
    names = {name for name in dir(tokenizers.Tokenizer) if name[0] != "_"}
    shape = subwords.train(["ab"], vocab_size=257).as_hf()
    assert {name for name in dir(shape) if name[0] != "_"} == names - absent
    names = {name for name in dir(tokenizers.Encoding) if name[0] != "_"}
    assert {name for name in dir(shape.encode("a")) if name[0] != "_"} == names - {
        "pad",
        "truncate",
        "merge",
        "set_sequence_id",
    }


# --- transformers


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", FILES)
def test_to_transformers_is_what_auto_tokenizer_loads(name: str, data: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = subwords.load(file_of(data, name))
    tok.save(f"{tmp_path}/")
    theirs, ours = transformers.AutoTokenizer.from_pretrained(str(tmp_path)), tok.to_transformers()
    assert type(ours).__name__ == type(theirs).__name__
    check_same(lambda each: each(TEXTS)["input_ids"], theirs, ours)
    check_same(lambda each: each.special_tokens_map, theirs, ours)
    check_same(lambda each: [each.model_max_length, each.padding_side, len(each)], theirs, ours)
    assert ours(TEXT).input_ids == tok.encode(TEXT, template=True, special="allow")


def test_to_transformers_has_roles_chat_template_and_options() -> None:
    pytest.importorskip("transformers")
    tok = subwords.train(["ab ab"], vocab_size=260, special_tokens=["<pad>", "<end>"])
    tok = tok.with_(roles={"pad": "<pad>", "eos": "<end>"}, chat_template="{{ messages[0]['content'] }}<end>")
    theirs = tok.to_transformers(padding_side="left", model_max_length=77)
    assert (theirs.pad_token, theirs.eos_token_id, theirs.padding_side, theirs.model_max_length) == (
        "<pad>",
        1,
        "left",
        77,
    )
    assert theirs.chat_template == "{{ messages[0]['content'] }}<end>"
    assert theirs(["ab", "ab ab"], padding=True).input_ids == [[0, 258], [258, 259]]
    assert theirs.decode(theirs("ab<end>").input_ids, skip_special_tokens=True) == "ab"


def test_to_transformers_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match="needs the package transformers"):
        subwords.train(["ab"], vocab_size=257).to_transformers()
