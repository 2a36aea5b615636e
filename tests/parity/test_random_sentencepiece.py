"""Random SentencePiece models of every option: ids, pieces, places and text as SentencePiece gives them."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
import sentencepiece

from building import read_model as read
from pipelines import WORDS
from seeds import sweep_seed
from subwords import Tokenizer

PIECES = (
    *WORDS,
    *" \n\t-'.<>[]_\u2581\u2581\u3000\u00a0\u2009\u0301\u200b\ufeff\x0b\ufffd",
    *(
        "  ",
        "   ",
        "\u2603",
        "\U0001f600",
        "\u0130",
        "zz",
        "<s>",
        "</s>",
        "<unk>",
        "U1",
        "U1U2",
        "\u2460",
        "<0x41>",
        "q",
        "qq",
    ),
)
USERS = ("U1", "U1U2", "foo", "<x>", "\u2581", "  ", "\u2581foo", "q", "\u65e5")


def a_model(rng: random.Random) -> bytes | None:
    """A model trained with random options; None where SentencePiece refuses them."""
    corpus = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 9))) for _ in range(300)]
    options: dict[str, Any] = {
        "model_type": rng.choice(["unigram", "bpe", "bpe", "char", "word"]),
        "vocab_size": rng.randint(60, 200),
        "character_coverage": rng.choice([1.0, 0.995, 0.98]),
        "normalization_rule_name": rng.choice(["identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf"]),
        "user_defined_symbols": rng.sample(USERS, rng.choice((0, 0, 1, 2, 3))),
        "unk_surface": rng.choice([" \u2047 ", "?"]),
        "control_symbols": rng.choice([[], ["<c>"]]),
        "byte_fallback": rng.random() < 0.4,
    }
    flags = ("treat_whitespace_as_suffix", "add_dummy_prefix", "remove_extra_whitespaces", "split_by_whitespace")
    options |= {flag: rng.random() < 0.6 for flag in (*flags, "split_digits", "allow_whitespace_only_pieces")}
    out = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus), model_writer=out, hard_vocab_limit=False, minloglevel=3, **options
        )
    except RuntimeError:
        return None
    return out.getvalue()


def texts(rng: random.Random, count: int) -> list[str]:
    found = ["", "foo", " foo bar ", "\u2603 \u2603", "a  b\u2603 U1 \u2603U1  q"]
    for _ in range(count):
        between = rng.choice(("", "", " ", "  "))
        found.append(between.join(rng.choice(PIECES) for _ in range(rng.randint(1, 8))))
    return found


def check(tok: Tokenizer, peer: Any, text: str) -> None:
    ref = peer.encode(text, return_type="proto").pieces
    ids, data = [piece.id for piece in ref], text.encode()
    got = tok(text)
    assert got.ids.tolist() == ids == tok.encode(text)
    assert list(got.tokens) == [piece.piece for piece in ref] == tok.tokenize(text)
    assert tok.decode(ids) == peer.decode(ids)
    # Bytes of one character have all its span but in SentencePiece, where only the last one has it.
    whole = [i for i, index in enumerate(ids) if not peer.is_byte(index)]
    spans = [tuple(len(data[:at].decode()) for at in (ref[i].begin, ref[i].end)) for i in whole]
    assert [tuple(got.spans[i].tolist()) for i in whole] == spans


def compared(seeds: range, count: int) -> int:
    models = 0
    for seed in seeds:
        rng = random.Random(seed)
        data = a_model(rng)
        if data is None:
            continue
        models += 1
        tok, peer = read(data, "a.model"), sentencepiece.SentencePieceProcessor(model_proto=data)
        for text in texts(rng, count):
            try:
                check(tok, peer, text)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, text {text!r}: {error}") from None
    return models


def test_a_sample_of_models() -> None:
    assert compared(range(20), 25) >= 12


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(2))
def test_many_models(part: int) -> None:
    first = sweep_seed() * 1000 + 500 * part
    assert compared(range(first, first + 100), 60) >= 40
