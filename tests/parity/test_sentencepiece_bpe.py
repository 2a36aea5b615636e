"""The same ids as SentencePiece for models of its types BPE, CHAR and WORD (E3, E4)."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from building import read_model as read
from engines import splitter
from inside import engine_encoder, space_rule
from inside import models_bpe_segmenter as segmenter
from inside import models_families as families
from inside import splitter_SPACE as SPACE
from small_data import file_of
from subwords import Tokenizer
from subwords.machine import BPE

MISTRAL = ("tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3")
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
KINDS = {"bpe": 2, "word": 3, "char": 4}
Row = tuple[str, float, int]


def peer_of(rows: list[Row], kind: str, fallback: bool) -> sentencepiece.SentencePieceProcessor:
    """SentencePiece's own, which leaves the text as it is."""
    proto = sentencepiece_model_pb2.ModelProto()
    for piece, score, role in rows:
        proto.pieces.add(piece=piece, score=score, type=role)
    proto.trainer_spec.model_type = KINDS[kind]
    proto.trainer_spec.byte_fallback = fallback
    spec = proto.normalizer_spec
    spec.name, spec.add_dummy_prefix, spec.remove_extra_whitespaces = "identity", False, False
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())


def rows_of(peer: sentencepiece.SentencePieceProcessor) -> list[Row]:
    """The pieces of a model without user-defined ones."""
    roles = {UNKNOWN: peer.is_unknown, CONTROL: peer.is_control, BYTE: peer.is_byte, UNUSED: peer.is_unused}
    return [
        (peer.id_to_piece(i), peer.get_score(i), next((role for role, holds in roles.items() if holds(i)), NORMAL))
        for i in range(peer.get_piece_size())
    ]


def encoder_of(rows: list[Row], kind: str, fallback: bool) -> engine_encoder.Encoder:
    """Ours of the same pieces, with the words that they prove."""

    def ids(*roles: int) -> list[int]:
        return [i for i, (_, _, role) in enumerate(rows) if role in roles]

    tokens = [piece.encode() for piece, _, _ in rows]
    model = BPE.from_scores(
        tokens,
        [score for _, score, _ in rows],
        unk_id=0,
        byte_fallback=fallback,
        special_ids=ids(UNKNOWN, CONTROL, BYTE),
        user_ids=ids(USER),
        unused_ids=ids(UNUSED),
        kind=kind,  # type: ignore[arg-type]
    )
    if kind == "word":
        return families.encoder_of(model, splitter(space_rule([])))
    merged = [tokens[i] for i in ids(NORMAL, UNUSED)] if kind == "bpe" else []
    known = fallback or any(rows[i][0] == SPACE for i in ids(NORMAL, USER))
    return families.encoder_of(model, splitter(space_rule(merged, [tokens[i] for i in ids(USER)], unk_space=not known)))


def random_rows(rng: random.Random, fallback: bool) -> list[Row]:
    """Pieces of every role, many of equal score; letters that are no pieces, and pieces nothing leads to."""
    letters = [SPACE, "a", "b", "c", "é", "文"]
    pieces = [letter for letter in letters if rng.random() < 0.8]
    for _ in range(rng.randint(0, 30)):
        joint = rng.choice(pieces + letters) + rng.choice(pieces + letters)
        if len(joint) < 10 and joint not in pieces:
            pieces.append(joint)
    rng.shuffle(pieces)
    odd = rng.choice([0.0, 0.0, 0.1, 0.3])
    weights = [1 - odd, odd / 3, odd / 3, odd / 3]
    few = [-1.0, -2.0, -3.0, 0.0, -0.0, 2.5]
    ties = rng.random() < 0.5
    rows: list[Row] = [("<unk>", 0.0, UNKNOWN)]
    rows += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)] if fallback else []
    for piece in pieces:
        score = rng.choice(few) if ties else rng.uniform(-9, 2)
        rows.append((piece, score, rng.choices([NORMAL, USER, UNUSED, CONTROL], weights)[0]))
    return rows


@pytest.mark.rotating(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_random_models(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    for trial in range(30):
        fallback = rng.random() < 0.4
        rows = random_rows(rng, fallback)
        peer, encoder = peer_of(rows, kind, fallback), encoder_of(rows, kind, fallback)
        texts = ["".join(rng.choices("▁abcé文x", k=rng.choice([1, 3, 8, 30, 100]))) for _ in range(5)]
        got = encoder.encode_batch([text.encode() for text in texts], 1)
        if kind == "word" and not fallback:
            got = segmenter.fused(got, 0)
        assert got.to_lists() == peer.encode(texts), (trial, rows, texts)


# ------------------------------------------------------------------ Mistral's


@pytest.fixture(scope="module", params=MISTRAL)
def mistral(data: Path, request: pytest.FixtureRequest) -> tuple[sentencepiece.SentencePieceProcessor, Tokenizer]:
    content = file_of(data, f"mistral/{request.param}").read_bytes()
    return sentencepiece.SentencePieceProcessor(model_proto=content), read(content, request.param)


Mistral = tuple[sentencepiece.SentencePieceProcessor, Tokenizer]


def check(mistral: Mistral, texts: list[str]) -> None:
    peer, tok = mistral
    got = tok.encode_batch(texts, threads=1)
    ref = peer.encode(texts)
    if got.to_lists() != ref:
        bad = next(text for text, ids, (a, b) in zip(texts, ref, pairwise(got.offsets.tolist()), strict=True)
                   if got.ids[a:b].tolist() != ids)  # fmt: skip
        raise AssertionError(bad[:1000])


def test_runs_of_blanks_of_every_length(mistral: Mistral) -> None:
    # All runs are of one score: the leftmost grows first.
    check(mistral, [front + " " * n + back for n in range(70) for front in ("", "x") for back in ("", "the", "\n")])


@pytest.mark.rotating(2, always=("small",))
def test_one_word_of_a_million_letters(mistral: Mistral) -> None:
    seed = 5
    print(f"seed {seed}")
    letters = "".join(random.Random(seed).choices("etaoinshrdlu", k=1_000_000))
    check(mistral, [letters])
