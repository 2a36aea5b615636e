"""Whatever a tokenizer.json is made of: ids, tokens, offsets and text as HF tokenizers gives them, and after saving."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from pipelines import encoded, peer_file, texts
from seeds import sweep_seed
from subwords import FormatError, Tokenizer
from subwords.machine import Prefix, Split

# What COMPATIBILITY.md lists as refused.
REFUSED = (
    "expected one ByteLevel, not two",
    "model.byte_fallback: expected false in this model",
    "model.vocab: expected tokens of a byte-level model",
)


def is_told_apart(tok: Tokenizer, peer: tokenizers.Tokenizer) -> bool:
    """Whether a difference that COMPATIBILITY.md lists makes the two incomparable.

    HF numbers added tokens anew, finds any of those that normalize to the same text, cuts a text everywhere where one
    of them normalizes to nothing, and takes every piece of what a normalizer makes of the first character for the
    beginning of the input.
    """
    added, rule = tok.added_tokens, tok.splitter.rule
    first = next((k for k, step in enumerate(rule) if isinstance(step, Prefix) and step.scheme == "first"), None)
    cuts = "Prepend" in repr(tok.normalizer) or any(isinstance(step, Split) for step in rule[:first])
    if first is not None and tok.normalizer is not None and cuts:
        return True
    if len({*added.written.values()}) < len(added):
        return True
    return any(peer.token_to_id(token.content) != token.id for token in added) or not all(added.written.values())


def decodes_alike(tok: Tokenizer, top: dict[str, Any], ids: list[int]) -> bool:
    """Whether no difference that COMPATIBILITY.md lists touches these ids.

    HF skips ids beyond the vocabulary, and takes the characters of an added token for bytes.
    """
    decoder = top["decoder"] or {"type": None}
    odd = {token.id for token, text in tok.added_tokens.written.items() if not (token.content + text).isascii()}
    return max(ids, default=0) < tok.vocab_size and not (decoder["type"] == "ByteLevel" and odd & set(ids))


def check(path: Path, seed: int, count: int) -> bool:
    """Compare one random file; False where it is not comparable."""
    rng = random.Random(seed)
    data = peer_file(rng)
    if data is None:
        return False
    path.write_text(data, encoding="utf-8")
    peer, top = tokenizers.Tokenizer.from_str(data), json.loads(data)
    try:
        tok = subwords.load(path)
    except FormatError as error:
        assert any(known in str(error) for known in REFUSED), (seed, error)
        return False
    if is_told_apart(tok, peer):
        return False
    tok.save(path)
    saved, peer_of_saved = subwords.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in texts(rng, count):
        expected = encoded(peer, text)
        if expected is None:
            continue
        ref, decoded = expected
        for each in (tok, saved):
            got = each(text, special="allow")
            assert got.ids.tolist() == ref.ids, (seed, text)
            assert list(got.file_tokens) == ref.tokens, (seed, text)
            assert [*map(tuple, got.spans.tolist())] == ref.offsets, (seed, text)
            assert (list(got.word_ids), got.type_ids.tolist()) == (ref.word_ids, ref.type_ids), (seed, text)
            assert each.encode(text, special="allow", template=True) == ref.ids, (seed, text)
            if decodes_alike(tok, top, ref.ids):
                assert each.decode(ref.ids) == decoded, (seed, text)
        batch = tok.encode_batch([text, "", text], special="allow", threads=2)
        assert batch[2].tolist() == tok.encode(text, special="allow"), (seed, text)
        assert peer_of_saved.encode(text).ids == ref.ids, (seed, text)
    return True


def test_a_sample_of_pipelines(tmp_path: Path) -> None:
    compared = sum(check(tmp_path / "tok.json", seed, 12) for seed in range(10))
    assert compared >= 6


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(4))
def test_five_hundred_pipelines(tmp_path: Path, part: int) -> None:
    first = sweep_seed() * 1000 + 250 * part
    compared = sum(check(tmp_path / "tok.json", seed, 30) for seed in range(first, first + 80))
    assert compared >= 45
