"""The Unigram model: a vocabulary with scores, validated once, immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.spec.model import NO_MERGES, Model
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError
from subwords.support.value import read_only

PENALTY = 10.0  # an unknown character scores this much less than the lowest piece
GRAINS = 128  # scores are multiples of 1/128; their sums are exact in 32-bit floats up to 2**17
HUGE_SCORE = 2.0**52 / GRAINS  # larger floats are always multiples of 1/128
MOST_SUMMED = 1e28  # a score in 32 bits: the sum of 2**31 such scores, the most that a text has, is finite
BYTE_PIECES = tuple(b"<0x%02X>" % byte for byte in range(256))


@dataclass(frozen=True, eq=False)
class Unigram(Model):
    """A Unigram model (ALGORITHMS.md, U5): a text becomes the pieces with the greatest sum of scores.

    scores: float64, by id: natural logarithms of probabilities.
    unk_id: the id of a run of unknown characters; None raises InputError for them.
    byte_fallback: unknown characters become byte pieces, `<0x00>` to `<0xFF>`, where those exist.
    special_ids: ids that no text yields (ALGORITHMS.md, A3): control, unknown, unused and byte pieces.
    user_ids: pieces that always match, whatever their score; the longer one wins.
    running: sum scores as SentencePiece does, in 32 bits and across the words of a text, to get its ids. Otherwise sum
    in 64 bits per word, as HF does, with each score rounded as HF rounds it when it reads a file.
    """

    vocab: Vocab
    scores: NDArray[np.float64]
    unk_id: int | None
    byte_fallback: bool = False
    special_ids: frozenset[int] = frozenset()
    user_ids: frozenset[int] = frozenset()
    running: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", read_only(self.scores))
        size = len(self.vocab)
        if size > layout.MOST_PIECES:
            raise FormatError(f"expected at most {layout.MOST_PIECES} ids, not {size}")
        if self.scores.shape != (size,):
            raise FormatError(f"expected a score for each of {size} ids, not {len(self.scores)}")
        if not np.isfinite(self.scores).all():
            wrong = int(np.flatnonzero(~np.isfinite(self.scores))[0])
            raise FormatError(f"expected finite scores; that of {self.vocab[wrong]!r} is {self.scores[wrong]}")
        if self.running and np.abs(self.scores).max(initial=0.0) > MOST_SUMMED:
            self._check_sums()
        if self.unk_id is not None and not 0 <= self.unk_id < size:
            raise FormatError(f"expected unk_id, the id of unknown characters, below {size}; it is {self.unk_id}")
        if self.unk_id is None and self.byte_fallback and (self.byte_ids < 0).any():
            missing = BYTE_PIECES[int(np.argmin(self.byte_ids))]
            raise FormatError(f"byte piece {missing!r} is missing: a model without an unk token needs all 256")

    def _check_sums(self) -> None:
        large = np.abs(self.scores) > MOST_SUMMED
        large[[*self.special_ids, *self.user_ids]] = False  # of these, no score is added
        if large.any():
            wrong = int(np.flatnonzero(large)[0])
            raise FormatError(
                f"expected scores between {-MOST_SUMMED:g} and {MOST_SUMMED:g}, whose sums have room in 32 bits; "
                f"that of {self.vocab[wrong]!r} is {self.scores[wrong]:g}"
            )

    def score(self, index: int) -> float | None:
        """Return the score of a piece, the natural logarithm of its probability."""
        return float(self.scores[index])

    def facts(self) -> dict[str, object]:
        """Return what distinguishes this model from others of its family, for people."""
        learned = sorted(set(range(len(self.vocab))) - self.special_ids - self.user_ids)
        scores = self.scores[learned].tolist()
        return {
            "byte_fallback": self.byte_fallback,
            "user_defined": [self.vocab[i].decode() for i in sorted(self.user_ids)],
            "highest_score": max(scores, default=None),
            "lowest_score": min(scores, default=None),
        }

    def extended(self, tokens: Sequence[bytes]) -> Unigram:
        """Return a model with more tokens, which get the next ids; no text yields them."""
        # The score of an unknown character depends on the smallest one.
        scores = np.append(self.scores, np.full(len(tokens), self.scores.max(initial=0.0)))
        more = range(len(self.vocab), len(self.vocab) + len(tokens))
        special = self.special_ids | frozenset(more)
        return replace(self, vocab=self.vocab.with_more(tokens), scores=scores, special_ids=special)

    def grown(
        self, tokens: Sequence[bytes], merges: NDArray[np.int64] = NO_MERGES, scores: Sequence[float] = ()
    ) -> Unigram:
        """Return a model with more pieces and their scores."""
        return replace(self, vocab=self.vocab.with_more(tokens), scores=np.append(self.scores, scores))

    _id_sets = ("special_ids", "user_ids")

    def _moved(self, ids: NDArray[np.int64], origins: NDArray[np.int64], scores: Mapping[int, float]) -> dict[str, Any]:
        # The score of an unknown character depends on the smallest one.
        found = np.where(origins >= 0, self.scores[origins], self.scores.max(initial=0.0))
        found[[*scores]] = [*scores.values()]
        return {**super()._moved(ids, origins, scores), "scores": found}

    def by_words(self) -> Unigram:
        """Return the model whose sums of scores begin with each word: these words are of no one text."""
        return replace(self, running=False) if self.running else self

    @cached_property
    def byte_ids(self) -> NDArray[np.int32]:
        """The id of each byte's piece, -1 if it does not exist; int32, shape (256,)."""
        ids = self.vocab.find(BYTE_PIECES) if self.byte_fallback else {}
        return np.array([ids.get(piece, -1) for piece in BYTE_PIECES], np.int32)

    @cached_property
    def _parsed(self) -> NDArray[np.float64]:
        """The scores as HF reads them from a tokenizer.json; multiples of 1/128 stay unchanged."""

        return self.scores if _coarse(self.scores) else parsed(self.scores)

    @cached_property
    def unk_score(self) -> float:
        """The score of an unknown character."""
        counted = np.diff(self.vocab.offsets) > 0
        if self.running:
            counted[list(self.special_ids | self.user_ids)] = False
        scores = self.scores if self.running else self._parsed
        least = scores[counted].min() if counted.any() else 0.0
        return float(np.float32(least) - np.float32(PENALTY)) if self.running else float(least - PENALTY)

    @cached_property
    def path_scores(self) -> NDArray[np.float64]:
        """The score of each id as summed along a path."""
        scores = self.scores.astype(np.float32).astype(np.float64) if self.running else self._parsed.copy()
        users = np.array(sorted(self.user_ids), np.int64)
        scores[users] = (0.1 * (np.diff(self.vocab.offsets)[users] - 1)).astype(np.float32)
        return scores

    @cached_property
    def exact(self) -> bool:
        """Whether sums of scores are equal in 32 and 64 bits, so that `running` makes no difference."""
        return _coarse(np.append(self.path_scores, self.unk_score))


def _coarse(scores: NDArray[np.float64]) -> bool:
    if np.abs(scores).max(initial=0.0) > HUGE_SCORE:
        return False
    grains = scores * GRAINS
    return bool((grains == np.round(grains)).all())


# ---------------------------------------------------------------------------------------------------------------------
# Scores as HF tokenizers reads them: its JSON parser rounds twice, which can decide between nearly equal paths.

LARGEST_POWER = 308
LONGEST_USUAL = 19  # characters with "-" and "." of a number without an exponent: its digits fit in 64 bits
# Not 10.0**k, which may differ from the float nearest to 10^k.
_POWERS = [float(f"1e{k}") for k in range(LARGEST_POWER + 1)]


def parsed(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return finite numbers as serde_json parses their shortest decimal form.

    It rounds all digits as one integer to a float, then divides or multiplies by a power of ten, which rounds again.
    Of T5's 32,100 scores, 8,334 become a neighbour of the float nearest to the text.

    Source: serde_json 1.0 without its feature `float_roundtrip`.

    >>> import numpy as np
    >>> from subwords.models.unigram.model import parsed
    >>> parsed(np.array([-2.5, -2.0122928619384766, -13.24009895324707])).tolist()
    [-2.5, -2.012292861938477, -13.24009895324707]
    """
    texts = repr(scores.tolist())[1:-1].split(", ") if len(scores) else []
    found = np.empty(len(scores))
    usual = np.array([len(text) <= LONGEST_USUAL and "e" not in text for text in texts], np.bool_)
    rows = np.array(texts, f"S{LONGEST_USUAL}")[usual]
    letters = rows.view(np.uint8).reshape(len(rows), LONGEST_USUAL)
    digits, points = letters - np.uint8(ord("0")), letters == ord(".")
    values = np.zeros(len(rows), np.int64)
    for column in digits.T:  # "-", "." and what fills up are no digits
        values = np.where(column <= 9, values * 10 + column, values)
    fractions = np.char.str_len(rows) - 1 - points.argmax(1)
    found[usual] = np.copysign(values / np.array(_POWERS)[fractions], scores[usual])
    found[~usual] = [_parsed(texts[i]) for i in np.flatnonzero(~usual).tolist()]
    return found


def _parsed(text: str) -> float:
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    power = int(exponent or 0) - len(fraction)
    value = float(int(whole + fraction))
    while power < -LARGEST_POWER:
        value, power = value / 1e308, power + LARGEST_POWER
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    return -value if text.startswith("-") else value
