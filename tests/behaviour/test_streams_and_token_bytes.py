"""Streams that go on after a prompt (D1), and the bytes that each id adds to a text (D7)."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import subwords
from decoding import CTC, FALLBACK, FUSE, steps_of
from subwords import InputError

TEXT = "Hello world again, the naïve café says: 你好 🙂!\n\tdon't do not  stop."
WORDS = ["Hello world again, the naïve café says: don't do not stop. " * 9]
FAMILIES: list[dict[str, Any]] = [
    {"vocab_size": 300},
    {"vocab_size": 60, "algorithm": "wordpiece", "normalizer": "bert-cased"},
    {"vocab_size": 60, "algorithm": "unigram"},
    {"vocab_size": 60, "byte_level": False},
    {"vocab_size": 320, "byte_level": False, "byte_fallback": True},
]
REAL = ["phi-3/tokenizer.json", "gpt2/tokenizer.json", "t5/tokenizer.json", "bert/bert-base-uncased-tokenizer.json"]
MODELS = ["mistral/tokenizer.model.v1", "t5/spiece.model", "albert/spiece.model", "clip/tokenizer.json"]


@pytest.fixture(scope="module", params=range(len(FAMILIES)))
def tok(request: pytest.FixtureRequest) -> subwords.Tokenizer:
    return subwords.train([*WORDS, TEXT], **FAMILIES[request.param])


def same(one: str, other: str) -> int:
    """How many characters two texts have in common at the start."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def check_streams(tok: subwords.Tokenizer, ids: list[int]) -> None:
    whole = tok.decode(ids)
    for at in range(len(ids) + 1):
        prompt = tok.decode(ids[:at])
        stream = tok.stream(prompt=ids[:at])
        pieces = [stream.step(index) for index in ids[at:]]
        expected = whole[same(prompt, whole) :]
        assert "".join(pieces) + stream.finish() == expected
        for kind in (tuple, iter):
            at_once = tok.stream(prompt=kind(ids[:at]))
            assert at_once.step(ids[at:]) + at_once.finish() == expected


def check_bytes(tok: subwords.Tokenizer, ids: list[int]) -> None:
    joined, whole = b"".join(map(tok.token_bytes, ids)), tok.decode_bytes(ids)
    assert joined.strip(b" ") == whole.strip(b" ")  # decoders drop or add spaces at the ends
    for index in range(min(tok.vocab_size, 400)):
        assert isinstance(tok.token_bytes(index), bytes)


def test_streams_after_a_prompt(tok: subwords.Tokenizer) -> None:
    check_streams(tok, tok.encode(TEXT))


def test_bytes_of_tokens(tok: subwords.Tokenizer) -> None:
    check_bytes(tok, tok.encode(TEXT))


@pytest.mark.parametrize("name", [*REAL, *MODELS])
def test_real_files(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    tok = subwords.load(path)
    ids = tok.encode(TEXT)
    check_streams(tok, ids)
    check_bytes(tok, ids)


@pytest.mark.parametrize("name", REAL)
def test_the_same_as_decode_stream(shared_data: Path, name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers.decoders import DecodeStream

    path = shared_data / "tokenizers" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    theirs, tok = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path)
    ids = tok.encode("Hello world again and again")
    for at in range(1, len(ids)):
        expected, stream = DecodeStream(ids=ids[:at], skip_special_tokens=False), tok.stream(prompt=ids[:at])
        text = "".join(expected.step(theirs, index) or "" for index in ids[at:])
        assert "".join(map(stream.step, ids[at:])) + stream.finish() == text


def test_the_space_after_a_prompt() -> None:
    tok = subwords.train(WORDS, algorithm="unigram", vocab_size=60)
    ids = tok.encode("Hello world")
    stream = tok.stream(prompt=ids[:1])
    assert tok.decode(ids[:1]) + "".join(stream.feed(ids[1:])) == "Hello world"


SUFFIX = {"type": "BPEDecoder", "suffix": "o"}
DECODERS: list[Any] = [
    *("fuse", "spaces", "wordpiece", "metaspace", SUFFIX),
    {"type": "WordPiece", "prefix": "o", "cleanup": False},
    {"type": "CTC", "pad_token": "l", "word_delimiter_token": "o", "cleanup": True},
    {"type": "Strip", "content": "H", "start": 1, "stop": 0},
    {"type": "Strip", "content": "o", "start": 0, "stop": 1},
    {"type": "Replace", "pattern": {"String": "o"}, "content": " "},
    *({"type": kind} for kind in ("Fuse", "ByteFallback", "ByteLevel")),
    {"type": "Sequence", "decoders": [SUFFIX, {"type": "Fuse"}]},
    {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, SUFFIX]},
]


@pytest.mark.parametrize("decoder", DECODERS, ids=str)
def test_streams_of_every_decoder(decoder: Any) -> None:
    """The last ids too, whose text depends on that nothing follows."""
    tok = subwords.train(WORDS, vocab_size=300, byte_level=False, byte_fallback=True).with_(decoder=decoder)
    for text in ("o", "Hello", "Hello 你 hello", "to  do"):
        check_streams(tok, tok.encode(text))


def test_byte_tokens_and_special_tokens() -> None:
    tok = subwords.train(WORDS, vocab_size=320, byte_level=False, byte_fallback=True, special_tokens=["<end>"])
    newline, end = tok.token_to_id("<0x0A>"), tok.token_to_id("<end>")
    assert newline is not None and end is not None
    assert tok.token_bytes(newline) == b"\n" and tok.token_bytes(end) == b"<end>"
    with pytest.raises(InputError, match="expected an id from 0"):
        tok.token_bytes(tok.vocab_size)


def test_byte_tokens_of_a_decoder_of_many_steps() -> None:
    tok = subwords.train(WORDS, vocab_size=320, byte_level=False, byte_fallback=True)
    index = tok.token_to_id("<0xE4>")
    assert index is not None
    for first, data in ((FALLBACK, b"\xe4"), (FUSE, b"<0xE4>")):
        other = tok.with_(decoder=steps_of(first, FUSE, CTC))
        assert other.token_bytes(index) == data
        assert other.token_bytes(other.encode("Hello")[-1]) == tok.token_bytes(tok.encode("Hello")[-1])


def test_tokens_of_normalized_text_have_that_text() -> None:
    tok = subwords.train(WORDS, vocab_size=300, normalizer="lowercase").with_tokens(["<AB>", "<c>"], normalized=True)
    ids = tok.encode("Hello <Ab> <C>", special="allow")
    assert {tok.token_to_id("<AB>"), tok.token_to_id("<c>")} < {*ids}
    assert tok.decode(ids) == "".join(tok.stream().feed(ids)) == "hello <ab> <c>"


def test_prompts_with_special_tokens_left_out() -> None:
    tok = subwords.train(WORDS, vocab_size=300, special_tokens=["<end>"])
    ids = tok.encode("Hello<end> world", special="allow")
    stream = tok.stream(prompt=ids[:2], skip_special_tokens=True)
    assert "".join(stream.feed(ids[2:])) == tok.decode(ids[2:], skip_special_tokens=True)


def test_a_stream_is_not_copied() -> None:
    stream = subwords.train(WORDS, vocab_size=300).stream()
    stream.step([1, 2])
    for function in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InputError, match="cannot be copied or pickled: keep the ids"):
            function(stream)
    assert repr(stream) == "DecodeStream(2 ids)"
    stream.finish()
    assert repr(stream) == "DecodeStream(2 ids, finished)"


def test_a_finished_stream_takes_no_ids_after_a_prompt_either() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    stream = tok.stream(prompt=tok.encode("ab"))
    assert stream.finish() == ""
    with pytest.raises(subwords.InputError, match="after finish"):
        stream.step(256)


def test_a_control_token_ends_a_run_of_byte_tokens() -> None:
    """The control tokens of SentencePiece have no text, but the bytes before and after one are not one character."""
    options: dict[str, Any] = {"normalizer": "sentencepiece", "splitter": "sentencepiece", "special_tokens": ["</s>"]}
    tok = subwords.train(WORDS, vocab_size=330, byte_level=False, byte_fallback=True, **options)
    ids = [tok.vocab[token.encode()] for token in ("<0xC3>", "</s>", "<0xA9>", "<0xC3>", "<0xA9>")]
    assert tok.decode(ids) == "\ufffd\ufffdé"
    check_streams(tok, ids)
