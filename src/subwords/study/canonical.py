"""Canonical ids, and the effect of joining two texts on their ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import as_ids
from subwords.spec.added_token import Special, Text
from subwords.support.errors import InputError
from subwords.support.report import Report, Table
from subwords.tokenizer import TokenizerLike, tokenizer_of


def canonicalize(tokenizer: TokenizerLike, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[int]:
    """Return the ids that the text of some ids gets; added tokens stay as they are.

    Raises InputError for ids that the tokenizer does not have.
    Hazard: a lossy tokenizer decodes ids to another text, so the result may stand for another text too: ids of unknown
    text are never canonical.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> subwords.study.canonicalize(tok, tok.encode("l") + tok.encode("ow")) == tok.encode("low")
    True
    """
    tokenizer = tokenizer_of(tokenizer)
    added = {token.id: token.content for token in tokenizer.spec.added_tokens}
    parts: list[Text | Special] = []
    for is_added, run in groupby(as_ids(ids).tolist(), added.__contains__):
        if is_added:
            parts += [Special(added[index]) for index in run]
        elif tokenizer.lossless:
            parts.append(Text(tokenizer.decode_bytes(list(run))))
        else:
            parts.append(Text(tokenizer.decode(list(run))))
    return tokenizer.encode(parts) if parts else []


def is_canonical(tokenizer: TokenizerLike, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bool:
    """Return whether ids are those that encoding gives for their text; see `canonicalize`.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> [subwords.study.is_canonical(tok, ids) for ids in (tok.encode("low"), tok.encode("l") + tok.encode("ow"))]
    [True, False]
    """
    found: list[int] = as_ids(ids).tolist()
    return canonicalize(tokenizer, found) == found


@dataclass(frozen=True)
class BoundaryDifference(Report):
    """What differs where two texts meet: the ids of both, of the whole, and the first and last place that differ.

    start: the number of equal ids at the start; stop: the number of equal ids at the end.
    """

    apart: tuple[int, ...]
    whole: tuple[int, ...]
    start: int
    stop: int

    def tables(self) -> list[Table]:
        """Return the ids of both, one after the other, and those of the whole."""
        rows = [("apart", " ".join(map(str, self.apart))), ("whole", " ".join(map(str, self.whole)))]
        rows += [("equal at the start", str(self.start)), ("equal at the end", str(self.stop))]
        return [Table(("text", "ids"), rows, "Ids where two texts meet", "tab:boundary")]


def boundary_difference(tokenizer: TokenizerLike, text: str, pair: str) -> BoundaryDifference | None:
    """Return where the ids of two texts, one after the other, differ from those of the joined text; None if nowhere.

    Prompts and their answers, and documents that are joined as ids, meet at such places.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> found = subwords.study.boundary_difference(tok, "l", "ow")
    >>> len(found.apart), len(found.whole)
    (3, 1)
    """
    tokenizer = tokenizer_of(tokenizer)
    if not isinstance(text, str) or not isinstance(pair, str):
        raise InputError(f"expected two texts as str, not {type(text).__name__} and {type(pair).__name__}")
    apart, whole = [*tokenizer.encode(text), *tokenizer.encode(pair)], tokenizer.encode(text + pair)
    if apart == whole:
        return None
    most = min(len(apart), len(whole))
    start = next((k for k in range(most) if apart[k] != whole[k]), most)
    stop = next((k for k in range(most - start) if apart[-1 - k] != whole[-1 - k]), most - start)
    return BoundaryDifference(tuple(apart), tuple(whole), start, stop)
