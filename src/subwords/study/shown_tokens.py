"""The tokens of one text in the shape that the page draws, and where tokenizers disagree about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.results.encoding import Encoding
from subwords.study.token_facts import TokenFacts

__all__ = ["Shown", "disagreements", "shown_tokens"]

_Spans: TypeAlias = NDArray[np.int64]
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text's first tokens, as lists by token, and facts by id; `tokens`, `distinct` and `unknown` count all tokens.

    framing: tokens of the template, which stand for no text.
    vocabulary: by id the token, its spelling in files, its bytes in hexadecimal, its rank, its score, and how often the
    text has it. words: -1 for tokens without a word. starts, stops: characters of the text.
    """

    tokens: int
    framing: int
    distinct: int
    unknown: int
    ids: list[int]
    starts: list[int]
    stops: list[int]
    words: list[int]
    special: list[int]
    differs: list[int]
    vocabulary: dict[int, tuple[str, str, str, int | None, float | None, int]]


def shown_tokens(facts: TokenFacts, encoding: Encoding, differs: NDArray[np.bool_], most: int) -> Shown:
    """Return the first `most` tokens of an encoding as the page draws them."""
    tok, all_ids = facts.tok, encoding.ids
    distinct, counts = np.unique(all_ids, return_counts=True)
    count_of = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    ids = all_ids[:most].tolist()
    spans = encoding.spans[:most]
    special = encoding.special_tokens_mask[:most].tolist()
    unk = tok.model.unk_id
    return Shown(
        tokens=len(all_ids),
        framing=sum(map(bool, encoding.special_tokens_mask)),
        distinct=len(distinct),
        unknown=0 if unk is None else count_of.get(unk, 0),
        ids=ids,
        starts=spans[:, 0].tolist(),
        stops=spans[:, 1].tolist(),
        words=[-1 if word is None else word for word in encoding.word_ids[:most]],
        special=[int(bool(mark) or index in facts.special) for mark, index in zip(special, ids, strict=True)],
        differs=differs[:most].astype(int).tolist(),
        vocabulary={index: (*_facts(facts, index), count_of[index]) for index in dict.fromkeys(ids)},
    )


def _facts(facts: TokenFacts, index: int) -> tuple[str, str, str, int | None, float | None]:
    content = facts.tok.model.vocab[index]
    file_token = facts.tok.id_to_token(index) or ""
    return facts.text(index), file_token, content.hex(" "), facts.rank(index), facts.score(index)


# ------------------------------------------------------------------ disagreements


def disagreements(text: str, encodings: Sequence[Encoding]) -> list[NDArray[np.bool_]]:
    """Return, for every token of every encoding, whether another encoding lacks a token of the same bytes of the text.

    Whitespace at both ends of a token does not count: " the" agrees with "the". Tokens of nothing but whitespace and
    tokens of a template never disagree. With one encoding, none does.
    """
    data_spaces = _space_bytes(text)
    keys = [_trimmed(encoding.byte_spans, data_spaces) for encoding in encodings]
    found = []
    for number, own in enumerate(keys):
        lacking = np.zeros(len(own), np.bool_)
        for other in keys[:number] + keys[number + 1 :]:
            lacking |= ~np.isin(own, other)
        found.append(lacking & (own >= 0))
    return found


def _space_bytes(text: str) -> NDArray[np.bool_]:
    """Return for every byte of the text in UTF-8 whether it belongs to whitespace."""
    found = np.zeros(len(text.encode()), np.bool_)
    at = done = 0  # the byte at character `done`
    for match in _SPACES.finditer(text):
        at += len(text[done : match.start()].encode())
        size = len(match[0].encode())
        found[at : at + size] = True
        at, done = at + size, match.end()
    return found


def _trimmed(spans: _Spans, spaces: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return one number for the bytes of each token without whitespace at its ends; -1 for tokens without others."""
    size = len(spaces)
    places = np.arange(size + 1)
    solid = np.append(~spaces, True)
    later = np.minimum.accumulate(np.where(solid, places, size)[::-1])[::-1]  # the first byte that is not whitespace
    solid = np.append(True, ~spaces)
    earlier = np.maximum.accumulate(np.where(solid, places, 0))  # the end of the last such byte
    starts, stops = later[spans[:, 0]], earlier[spans[:, 1]]
    return np.where(starts < stops, starts * (size + 1) + stops, -1)
