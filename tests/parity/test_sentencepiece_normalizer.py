"""SentencePiece gives the text and the places that ours gives: by the maps of real files and by others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from charsmap import write_charsmap
from engines import normalizer
from inside import Kind, Precompiled, SentencePiece, read_charsmap
from normalizing import MAPS, SENTENCEPIECES, array, mixture, scalars, to_bytes
from peer_trained import RULES, sentencepiece_model
from small_data import file_of
from strategies import INVALID
from subwords.machine import NormalizerEngine, PieceType, model_class

SEED = 23
MODELS = (
    "t5/spiece.model",
    "albert/spiece.model",
    "marian-en-mg/source.spm",
    "mistral/tokenizer.model.v1",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "sentencepiece-own/test_model.model",
)
models = pytest.mark.parametrize("name", MODELS)


def peer_of(step: SentencePiece) -> Any:
    """A processor of characters with this normalization, and as pieces the user-defined ones and U+2581."""
    message = model_class()()
    spec = message.normalizer_spec
    spec.precompiled_charsmap, spec.add_dummy_prefix = step.charsmap, step.add_dummy_prefix
    spec.remove_extra_whitespaces, spec.escape_whitespaces = step.remove_extra_whitespaces, step.escape_whitespaces
    message.trainer_spec.model_type = Kind.CHAR
    message.trainer_spec.treat_whitespace_as_suffix = step.whitespace_suffix
    message.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    for symbol in step.user_symbols:
        message.pieces.add(piece=symbol.encode(), type=PieceType.USER_DEFINED)
    return sentencepiece.SentencePieceProcessor(model_proto=message.SerializeToString())


@cache
def real(data: Path, name: str) -> tuple[NormalizerEngine, Any]:
    return of_file(file_of(data, name).read_bytes())


def of_file(content: bytes) -> tuple[NormalizerEngine, Any]:
    message = model_class().FromString(content)
    spec = message.normalizer_spec
    users = tuple(piece.piece.decode() for piece in message.pieces if piece.type == PieceType.USER_DEFINED)
    flags = spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces
    step = SentencePiece(spec.precompiled_charsmap, *flags, False, users)
    return normalizer(step), sentencepiece.SentencePieceProcessor(model_proto=content)


def check(rule: NormalizerEngine, peer: Any, data: bytes) -> None:
    ref, places = peer.normalize(data, with_offsets=True)
    got, origin = rule.aligned(array(data))
    assert got.tobytes() == ref
    assert rule.apply(array(data), np.array([0, len(data)]))[0].tobytes() == ref
    assert origin.tolist() == [places[:-1], places[1:]]


def some_texts(rng: random.Random, count: int) -> Iterator[bytes]:
    parts = [
        "\u3000",
        " ",
        "  ",
        "\t",
        "▁",
        "<x>",
        "a",
        "ab ",
        "x ",
        "y",
        "e\u0301",
        "\xad",
        "…",
        "\u200b",
        "\x07",
        "\xa8",
        "A\u030a",
    ]
    for _ in range(count):
        texts = [to_bytes(rng.choice([*parts, mixture(rng, 1)])) for _ in range(rng.randrange(25))]
        if rng.random() < 0.3:
            texts.insert(rng.randrange(len(texts) + 1), rng.choice(INVALID))
        yield b"".join(texts)


@pytest.mark.parametrize("step", SENTENCEPIECES, ids=range(len(SENTENCEPIECES)))
def test_random_texts(step: SentencePiece) -> None:
    print(f"seed {SEED}")
    rule, peer = normalizer(step), peer_of(step)
    for data in some_texts(random.Random(SEED), 60):
        check(rule, peer, data)


def random_rules(rng: random.Random) -> dict[str, str]:
    letters = "ab \t▁é\u0301か\u3099中😀"
    keys = ("".join(rng.choices(letters, k=rng.choice([1, 1, 2, 3]))) for _ in range(rng.randrange(1, 30)))
    return {key: "".join(rng.choices(letters, k=rng.randrange(4))) for key in keys}


def test_random_rules() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for _ in range(150):
        flags = [rng.random() < 0.7 for _ in range(4)]
        users = ("a", "ba", "b a", "中か")[: rng.randrange(5)]
        step = SentencePiece(write_charsmap(random_rules(rng)), *flags, users)
        rule, peer = normalizer(step), peer_of(step)
        for _ in range(20):
            check(rule, peer, "".join(rng.choices("ab  c\t▁é\u0301か\u3099中😀", k=rng.randrange(40))).encode())


def test_a_rule_for_no_single_character() -> None:
    import tokenizers

    charsmap, text = write_charsmap({"e\u0301": "E"}), "e\u0301e \u0301"
    theirs, ours = tokenizers.normalizers.Precompiled(charsmap), normalizer(Precompiled(charsmap))
    assert theirs.normalize_str(text) == ours.normalize(text)


def test_more_strings_begin_with_each_other_than_sentencepiece_looks_at() -> None:
    charsmap = write_charsmap({"a" * n: str(n) for n in range(1, 41)})
    for step in (SentencePiece(charsmap), SentencePiece(user_symbols=tuple("b" * n for n in range(1, 80)))):
        rule, peer = normalizer(step), peer_of(step)
        for n in (31, 32, 33, 40, 63, 64, 65, 79, 200):
            check(rule, peer, b"a" * n + b" " + b"b" * n)


@pytest.mark.rotating(3)
@models
def test_all_code_points(shared_data: Path, name: str) -> None:
    check_code_points(*real(shared_data, name))


@pytest.mark.rotating(3, always=("[nmt_nfkc]",))
@pytest.mark.parametrize("name", RULES)
def test_all_code_points_by_the_maps_that_the_peer_has(name: str) -> None:
    check_code_points(*of_file(sentencepiece_model("char", name)))


def check_code_points(rule: NormalizerEngine, peer: Any) -> None:
    print(f"seed {SEED}")
    shuffled = np.random.default_rng(SEED).permutation(scalars()).tolist()
    for codes in (scalars(), shuffled):
        text = "".join(map(chr, codes)).encode()
        assert rule.apply(array(text), np.array([0, len(text)]))[0].tobytes() == peer.normalize(text)
    for between in ("a", " ", "e\u0301", "\u1100", "か"):
        check(rule, peer, between.join(map(chr, shuffled[:50_000])).encode())


@models
def test_strings_of_the_map(data: Path, name: str) -> None:
    """Every first character of the map's longer strings before everything that may come second."""
    rule, peer = real(data, name)
    step = rule.steps[0]
    assert isinstance(step, SentencePiece)
    if not step.charsmap:
        return
    charsmap = read_charsmap(step.charsmap)
    firsts, seconds = (np.flatnonzero(members).tolist() for members in (charsmap.firsts, charsmap.seconds))
    for first in firsts:
        check(rule, peer, "".join(chr(first) + chr(second) for second in seconds).encode())


@models
@pytest.mark.parametrize("folder", ["corpora", "adversarial"])
def test_files(data: Path, name: str, folder: str) -> None:
    rule, peer = real(data, name)
    found = 0
    for file in sorted((data / folder).glob("*.*")):
        if file.suffix in (".txt", ".bin"):
            with file.open("rb") as stream:
                check(rule, peer, stream.read(30_000))
            found += 1
    assert found > 10


@pytest.mark.sweep
@models
@pytest.mark.parametrize("folder", ["corpora", "adversarial"])
def test_whole_files(shared_data: Path, name: str, folder: str) -> None:
    rule, peer = real(shared_data, name)
    for file in sorted((shared_data / folder).glob("*.*")):
        if file.suffix in (".txt", ".bin"):
            data = file.read_bytes()[: 1 << 24]
            assert rule.apply(array(data), np.array([0, len(data)]))[0].tobytes() == peer.normalize(data), file.name


@pytest.mark.rotating(6, always=("small-t5",))
@models
def test_hf_has_the_same_map(data: Path, name: str) -> None:
    """HF goes by graphemes; tests of `Precompiled` by steps are those of the other normalizers."""
    import tokenizers

    print(f"seed {SEED}")
    rule, _ = real(data, name)
    step = rule.steps[0]
    assert isinstance(step, SentencePiece)
    if not step.charsmap:
        return
    theirs, ours = tokenizers.normalizers.Precompiled(step.charsmap), normalizer(Precompiled(step.charsmap))
    shuffled = np.random.default_rng(SEED).permutation(scalars()).tolist()
    for codes in (scalars(), shuffled):
        text = "".join(map(chr, codes))
        assert theirs.normalize_str(text) == ours.normalize(text)
    for folder in ("corpora", "adversarial"):
        for file in sorted((data / folder).glob("*.txt")):
            with file.open("rb") as stream:
                text = stream.read(60_000).decode("utf-8", "ignore")
            assert theirs.normalize_str(text) == ours.normalize(text), file.name


def test_maps_are_read_by_both() -> None:
    assert all(peer_of(SentencePiece(charsmap)).normalize("ﬁ a") in ("▁fi▁a", "▁ﬁ▁X") for charsmap in MAPS)
