"""SentencePiece's files: the ids (U5), places and texts that SentencePiece gives, read, and written again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import subwords
from building import read_model as read
from building import write_model as write
from inside import Kind, SentencePiece
from normalizing import mixture
from peer_trained import lines, sentencepiece_model
from seeds import sweep_seed
from small_data import file_of
from subwords import Tokenizer
from subwords.machine import PieceType, decode_tokens, model_class

SEED = 29
MODELS = (
    "t5/spiece.model",
    "albert/spiece.model",
    "marian-en-mg/source.spm",
    "marian-en-mg/target.spm",
    "mistral/tokenizer.model.v1",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "sentencepiece-own/test_model.model",
    "sentencepiece-own/test_ja_model.model",
)
models = pytest.mark.parametrize("name", MODELS)


@cache
def both(data: Path, name: str) -> tuple[Tokenizer, Any]:
    content = file_of(data, name).read_bytes()
    return read(content, name), sentencepiece.SentencePieceProcessor(model_proto=content)


def check(tok: Tokenizer, peer: Any, text: str | bytes) -> None:
    ref = peer.encode(text)
    assert tok.encode(text) == ref
    assert tok.decode(ref) == peer.decode(ref)


def files(data: Path, size: int) -> Iterator[bytes]:
    for folder in ("corpora", "adversarial"):
        found = sorted((data / folder).glob("*.*"))
        assert len(found) > 10
        for file in found:
            if file.suffix in (".txt", ".bin"):
                with file.open("rb") as stream:
                    yield stream.read(size)


@pytest.mark.rotating(3, always=("small",))
@models
def test_files_whole_and_line_by_line(data: Path, name: str) -> None:
    tok, peer = both(data, name)
    for content in files(data, 8_000):
        check(tok, peer, content)
        lines = content.decode("utf-8", "ignore").split("\n")[:60]
        assert tok.encode_batch(lines).to_lists() == peer.encode(lines)


@pytest.mark.sweep
@models
def test_whole_files(shared_data: Path, name: str) -> None:
    tok, peer = both(shared_data, name)
    for data in files(shared_data, 1 << 21):
        check(tok, peer, data)


@pytest.mark.rotating(3, always=("small",))
@models
def test_decoding_any_ids(data: Path, name: str) -> None:
    print(f"seed {SEED}")
    tok, peer = both(data, name)
    rng = random.Random(SEED)
    spaced = [i for i in range(peer.get_piece_size()) if peer.id_to_piece(i) in ("▁", "▁▁", "▁a", "▁the")]
    bytes_ = [i for i in range(peer.get_piece_size()) if peer.is_byte(i)]
    kinds = [range(peer.get_piece_size()), range(8), spaced or [0], bytes_ or [0]]
    for _ in range(3000):
        ids = [rng.choice(rng.choice(kinds)) for _ in range(rng.randrange(8))]
        assert tok.decode(ids) == peer.decode(ids), ids
        assert tok.decoder is not None
        tokens = [peer.id_to_piece(i) for i in ids]
        assert decode_tokens(tok.decoder, tokens) == peer.decode(tokens) if ids else not tok.decode(ids)


@models
def test_places_in_the_text(data: Path, name: str) -> None:
    tok, peer = both(data, name)
    for text in (
        "Hello  world, 1½ ﬁne\u3000…  ",
        "  日本語テキスト。 e\u0301 한국어",
        "a\u200bb\tc ①②",
        "",
        " ",
        "▁▁ x▁",
    ):
        ref = peer.encode(text, return_type="proto")
        got = tok(text)
        assert got.ids.tolist() == [piece.id for piece in ref.pieces]
        spans = [tuple(len(text.encode()[:at].decode()) for at in (piece.begin, piece.end)) for piece in ref.pieces]
        # Bytes of one character have all its span but in SentencePiece, where only the last one has it.
        whole = [i for i, piece in enumerate(ref.pieces) if not peer.is_byte(piece.id)]
        assert [tuple(got.spans[i].tolist()) for i in whole] == [spans[i] for i in whole], text


@models
def test_what_pieces_are(data: Path, name: str) -> None:
    tok, peer = both(data, name)
    size = peer.get_piece_size()
    assert [token.decode() for token in tok.model.vocab] == [peer.id_to_piece(i) for i in range(size)]
    special = {i for i in range(size) if peer.is_control(i) or peer.is_unknown(i)}
    assert set(tok.special_tokens.values()) == special
    assert tok.roles.get("bos", -1) == peer.bos_id()
    assert tok.roles.get("eos", -1) == peer.eos_id()


@pytest.mark.rotating(3, always=("small",))
@models
def test_written_files(data: Path, name: str) -> None:
    tok, peer = both(data, name)
    written = write(tok)
    again, other = read(written, name), sentencepiece.SentencePieceProcessor(model_proto=written)
    for text in files(data, 3000):
        ref = peer.encode(text)
        assert other.encode(text) == again.encode(text) == ref
        assert other.decode(ref) == again.decode(ref) == peer.decode(ref)
    ours, theirs = (model_class().FromString(written), model_class().FromString(file_of(data, name).read_bytes()))
    fields = [[(piece.piece, piece.score, piece.type) for piece in message.pieces] for message in (ours, theirs)]
    assert fields[0] == fields[1]
    del ours.pieces[:], theirs.pieces[:]
    assert ours.SerializeToString(deterministic=True) == theirs.SerializeToString(deterministic=True)


# ------------------------------------------------------------------ all kinds of models

WORDS = (*"▁ablowerth中", "▁the", "▁low", "er", "lo", "low", "▁a", "th", "the", "▁t")


def small_model(kind: int, rng: random.Random) -> bytes:
    """A model with pieces of all types."""
    message = model_class()()
    trainer, spec = message.trainer_spec, message.normalizer_spec
    trainer.model_type, trainer.byte_fallback = kind, rng.random() < 0.4
    trainer.treat_whitespace_as_suffix = rng.random() < 0.2
    spec.add_dummy_prefix, spec.remove_extra_whitespaces = rng.random() < 0.8, rng.random() < 0.6
    spec.escape_whitespaces = rng.random() < 0.9
    if rng.random() < 0.3:
        trainer.unk_surface = b"?"
    types = {
        "<unk>": PieceType.UNKNOWN,
        "<s>": PieceType.CONTROL,
        "</s>": PieceType.CONTROL,
        "<mask>": PieceType.USER_DEFINED,
    }
    types |= dict.fromkeys(rng.sample(WORDS, rng.randrange(3, len(WORDS))), PieceType.NORMAL)
    types |= {word: rng.choice([PieceType.UNUSED, PieceType.USER_DEFINED]) for word in rng.sample(WORDS, 3)}
    if trainer.byte_fallback:
        types |= {f"<0x{byte:02X}>": PieceType.BYTE for byte in range(256)}
    for piece, type_ in types.items():
        message.pieces.add(piece=piece.encode(), type=type_, score=-rng.randrange(1, 40) / 4)
    data: bytes = message.SerializeToString()
    return data


@pytest.mark.rotating(2)
@pytest.mark.parametrize("kind", [Kind.UNIGRAM, Kind.BPE, Kind.CHAR, Kind.WORD])
def test_small_models(kind: int) -> None:
    check_small_models(kind, SEED, 30)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", [Kind.UNIGRAM, Kind.BPE, Kind.CHAR, Kind.WORD])
def test_many_small_models(kind: int) -> None:
    check_small_models(kind, sweep_seed(), 400)


def check_small_models(kind: int, seed: int, count: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    parts = [*WORDS, " ", " ", "  ", "<mask>", "<s>", "<unk>", "<0x41>", "é", "x", "\n", "😀", "▁▁", "the low lower"]
    for k in range(count):
        data = small_model(kind, rng)
        tok, peer = read(data, str(k)), sentencepiece.SentencePieceProcessor(model_proto=data)
        again = read(write(tok), str(k))
        for _ in range(25):
            text = "".join(rng.choices(parts, k=rng.randrange(12)))
            assert tok.encode(text) == again.encode(text) == peer.encode(text), (k, text)
            ids = [rng.randrange(peer.get_piece_size()) for _ in range(rng.randrange(6))]
            assert tok.decode(ids) == peer.decode(ids), (k, [peer.id_to_piece(i) for i in ids])


def test_unknown_words_are_one_in_a_model_of_words() -> None:
    """In ids, batches and places alike."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    parts = ["the", "low", "x", "é", "a", " ", " ", "  ", "▁", "<unk>", "\n"]
    for k in range(40):
        message = model_class().FromString(small_model(Kind.WORD, rng))
        message.trainer_spec.treat_whitespace_as_suffix = False
        data = message.SerializeToString()
        tok, peer = read(data, str(k)), sentencepiece.SentencePieceProcessor(model_proto=data)
        texts = ["a b", "a b the c d", *("".join(rng.choices(parts, k=rng.randrange(9))) for _ in range(12))]
        for text in texts:
            ref = peer.encode(text, return_type="proto")
            ids = [piece.id for piece in ref.pieces]
            got = tok(text)
            assert tok.encode(text) == got.ids.tolist() == ids, (k, text)
            places = [tuple(len(text.encode()[:at].decode()) for at in (each.begin, each.end)) for each in ref.pieces]
            if not tok.model.byte_fallback:  # where the last byte of a character has its place
                assert [tuple(span) for span in got.spans.tolist()] == places, (k, text)
        assert tok.encode_batch(texts).to_lists() == peer.encode(texts)


def test_a_denormalizer() -> None:
    from charsmap import write_charsmap

    message = model_class()()
    message.denormalizer_spec.precompiled_charsmap = write_charsmap({"ab": "é", "b": "B"})
    message.denormalizer_spec.add_dummy_prefix = False
    message.denormalizer_spec.escape_whitespaces = False
    message.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    for piece in ("a", "b", "▁", "▁b"):
        message.pieces.add(piece=piece.encode(), score=-1)
    data = message.SerializeToString()
    tok, peer = read(data, "x"), sentencepiece.SentencePieceProcessor(model_proto=data)
    for ids in ([1, 2], [3, 1, 2, 4, 3], [2, 3, 3, 2], [], [0, 1]):
        assert tok.decode(ids) == peer.decode(ids)


@pytest.mark.parametrize("flags", [*itertools.product([True, False], repeat=3)], ids=str)
def test_flags_of_the_normalizer_are_written(flags: tuple[bool, bool, bool]) -> None:
    """Of a tokenizer that was trained here: what SentencePiece and this package make of its file."""
    step = SentencePiece(b"", *flags)
    tok = subwords.train(["  the low  lower lowest  "] * 9, algorithm="unigram", vocab_size=24, normalizer=[step])
    data = write(tok)
    peer, again = sentencepiece.SentencePieceProcessor(model_proto=data), read(data, "a.model")
    assert again.normalizer is not None
    assert again.normalizer.steps == (step,)
    for text in ("  the  low ", "lower", " ", "", "lowest\u3000x  "):
        assert tok.encode(text) == again.encode(text) == peer.encode(text), text


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_a_model_that_the_peer_trained(kind: str, byte_fallback: bool) -> None:
    content = sentencepiece_model(kind, byte_fallback=byte_fallback and kind != "word")
    tok, peer = read(content, kind), sentencepiece.SentencePieceProcessor(model_proto=content)
    again = read(write(tok), kind)
    rng = random.Random(SEED)
    texts = [*lines()[:120], *lines()[-4:], "\n".join(lines()[:200]), *(mixture(rng, 30) for _ in range(50))]
    for text in texts:
        check(tok, peer, text)
    assert tok.encode_batch(texts).to_lists() == again.encode_batch(texts).to_lists() == peer.encode(texts)
    for text in texts[:50]:
        spans = [(piece.begin, piece.end) for piece in peer.encode(text, return_type="proto").pieces]
        assert [*map(tuple, tok(text).spans.tolist())] == spans or not text.isascii()
