"""extend(whole_words=True): only words that are one token each are joined (B12)."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import adapt_extending as extending
from strategies import counts_of
from subwords import InputError
from subwords.machine import BPE, SplitterEngine
from subwords.reference.bpe import GPT2_PATTERN, frequent_pairs, learned

TEXT = "of the light of the rays, and of the rays; it's the light of the 3 rays\n"
TOK = subwords.train([TEXT * 9], vocab_size=275, splitter="gpt2")
LINES = r"[^\n]+|\n+"


@given(st.lists(st.sampled_from([*TEXT.split(" "), "of the", "rayon", "é", " ", "_x"]), min_size=1, max_size=12))
def test_the_merges_are_those_of_the_textbook(parts: list[str]) -> None:
    line = " ".join(parts).replace("\n", "")
    if not line.strip():
        return
    words = {line.encode(): 3, b"of the rays of the light": 2}
    runs = list[tuple[list[bytes], int]]()
    for word, number in words.items():
        pieces = list[bytes | None]()
        for piece in regex.findall(GPT2_PATTERN, word.decode()):
            token = TOK.encode(piece)
            joins = regex.fullmatch(r"(?=.*\p{L})[\p{L}\p{M} _'\u2019]+", piece) is not None
            pieces.append(piece.encode() if len(token) == 1 and joins else None)
        runs += [([x for x in run if x], number) for whole, run in groupby(pieces, lambda x: x is not None) if whole]
    model = TOK.model
    assert isinstance(model, BPE)
    vocab = [*model.vocab]
    expected, merges = learned(runs, vocab, len(vocab) + 6, "ids", frequent_pairs(0, lambda a, b: a + b not in vocab))
    tokens, got, _ = extending.extend_bpe(
        model, counts_of(words), extending.Extension(count=6, inner=SplitterEngine.of(TOK.splitter))
    )
    every = [*vocab, *tokens]
    assert every == expected
    assert [(every[left], every[right]) for left, right, _ in got.tolist()] == merges


def test_new_tokens_are_whole_words_and_are_reached() -> None:
    more = subwords.adapt.extend(TOK, [TEXT * 9], count=4, splitter=LINES, whole_words=True)
    new = [more.model.vocab[k].decode() for k in range(275, 279)]
    assert all(re.fullmatch(r"( ?[a-z']+)+", token) and " " in token[1:] for token in new)
    plain = [subwords.adapt.extend(TOK, [TEXT * 9], count=4, splitter=LINES).model.vocab[k] for k in range(275, 279)]
    assert any(not token.decode().replace(" ", "").isalpha() for token in plain)
    assert {*range(275, 279)} <= {*more.encode(TEXT)}
    assert more.decode(more.encode(TEXT)) == TEXT
    assert not subwords.study.audit(more, rules=["unreachable-token"]).findings


def test_clear_errors() -> None:
    with pytest.raises(InputError, match="whole_words needs BPE and a coarser splitter"):
        subwords.adapt.extend(TOK, [TEXT], count=1, whole_words=True)
    with pytest.raises(InputError, match="splitter is for BPE"):
        pieces = subwords.train([TEXT] * 9, algorithm="unigram", vocab_size=40)
        subwords.adapt.extend(pieces, [TEXT], count=1, splitter=LINES, whole_words=True)
    with pytest.raises(InputError, match="a byte-level model with all bytes"):
        chars = subwords.train([TEXT] * 9, byte_level=False, vocab_size=60)
        subwords.adapt.extend(chars, [TEXT], count=1, splitter=LINES, whole_words=True)
    with pytest.raises(InputError, match="whole_words"):
        subwords.adapt.extend(TOK, [TEXT], count=1, splitter=LINES, whole_words=1)  # type: ignore[arg-type]
