"""The BPE model: a vocabulary and its merges, validated once, immutable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.components.space_rule import SPACE, space_rule
from subwords.components.splitter import Rule
from subwords.components.vocab import Vocab
from subwords.errors import FormatError
from subwords.kernels.layout import CODE_POINTS, ID_BITS, MISSING, MOST_RANK
from subwords.support.value import Value, read_only

__all__ = ["BPE"]

MOST_IDS, MOST_MERGES = (1 << ID_BITS) - 1, MOST_RANK  # an entry of the encoder's pair table has eight bytes
LARGEST_ID = MOST_IDS - 1


@dataclass(frozen=True, eq=False)
class BPE(Value):
    """A BPE model.

    merges: int64, shape (m, 3): left id, right id, resulting id, in order of rank.
    ranks: int64, shape (m,), ascending; None where the rank is the position. Equal ranks are equal in priority: the
    leftmost of their pairs is merged first.
    byte_level: the symbols a word starts from are its bytes; otherwise its characters.
    byte_fallback: an unknown character becomes its bytes, the tokens `<0x00>` to `<0xFF>`, if all of them are there.
    unk_id, fuse_unk: what stands for any other unknown symbol; without one, `unknown` says "error" or "drop" (E4).
    whole_words: a word that is a token is taken at once (E2). words_only: and nothing but a whole word is known.
    special_ids: ids that no text yields by itself (A3).
    user_ids: tokens that nothing is merged with; a word that is one is taken at once.
    unused_ids: tokens that are merged like others and then taken apart again.
    parts: characters that are merged like others and unknown otherwise; merges name them by ids from len(vocab) on.
    """

    vocab: Vocab
    merges: NDArray[np.int64]
    ranks: NDArray[np.int64] | None = None
    byte_level: bool = True
    unk_id: int | None = None
    fuse_unk: bool = False
    unknown: Literal["error", "drop"] = "error"
    whole_words: bool = False
    special_ids: frozenset[int] = frozenset()
    byte_fallback: bool = False
    words_only: bool = False
    user_ids: frozenset[int] = frozenset()
    unused_ids: frozenset[int] = frozenset()
    parts: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "merges", read_only(self.merges))
        if self.ranks is not None:
            object.__setattr__(self, "ranks", read_only(self.ranks))
        size = len(self.symbols)
        if size > MOST_IDS or len(self.merges) > MOST_MERGES:
            raise FormatError(
                f"expected at most {MOST_IDS} ids and {MOST_MERGES} merges, not {size} and {len(self.merges)}"
            )
        if self.merges.size and (self.merges.min() < 0 or self.merges.max() >= size):
            raise FormatError(f"expected merges of ids below {size}; one names {self.merges.max()}")
        if self.merges.size and self.merges[:, 2].max() >= len(self.vocab):
            raise FormatError("expected merges that yield tokens; one yields a part")
        if self.byte_level and (self.byte_fallback or self.unused_ids or self.parts):
            raise FormatError("expected byte_fallback, unused tokens and parts only where symbols are characters")
        if (self.parts or self.unused_ids) and self.unk_id is None and self.byte_ids.min() < 0:
            raise FormatError("expected an unk token, or all 256 byte tokens, where there are parts or unused tokens")
        self._check_results()
        self._check_ranks()
        if self.unknown == "drop" and (self.unk_id is not None or self.knows_all):
            object.__setattr__(self, "unknown", "error")  # no effect here: models that do the same are equal

    def _check_results(self) -> None:
        offsets, data = self.symbols.offsets, self.symbols.data
        lengths = np.diff(offsets)
        left, right, result = self.merges.T
        wrong = np.flatnonzero(lengths[left] + lengths[right] != lengths[result])
        if not len(wrong):
            # All joined parts, in the order of the merges, against all results: one comparison of two byte arrays.
            parts = data[_spans(offsets, self.merges[:, :2].ravel())]
            wrong = np.flatnonzero(parts != data[_spans(offsets, result)])
            wrong = np.searchsorted(np.cumsum(lengths[result]), wrong, side="right")
        if len(wrong):
            a, b, c = (self.symbols[int(i)] for i in self.merges[wrong[0]])
            raise FormatError(f"expected merge {wrong[0]} to yield {a + b!r}, the joint of its parts; it yields {c!r}")

    def _check_ranks(self) -> None:
        if self.ranks is None:
            return
        ranks, result = self.ranks, self.merges[:, 2]
        if ranks.shape != result.shape or np.diff(ranks).min(initial=0) < 0:
            raise FormatError(f"expected {len(result)} ascending ranks, one for each merge")

    @classmethod
    def from_ranks(cls, tokens: Sequence[bytes], *, special_ids: Iterable[int] = ()) -> BPE:
        """Return the model of a rank file: two tokens whose joint is a token merge, lowest id first (E2, tiktoken)."""
        special = frozenset(special_ids)
        vocab = Vocab(tokens)
        ids = {token: i for i, token in enumerate(tokens) if i not in special}
        merges = [
            (left, right, i)
            for token, i in ids.items()
            for cut in range(1, len(token))
            if (left := ids.get(token[:cut])) is not None and (right := ids.get(token[cut:])) is not None
        ]
        merges.sort(key=lambda merge: merge[2])
        table = np.array(merges, np.int64).reshape(-1, 3)
        return cls(vocab, table, ranks=table[:, 2].copy(), whole_words=True, special_ids=special)

    @classmethod
    def from_scores(
        cls,
        tokens: Sequence[bytes],
        scores: Sequence[float],
        *,
        unk_id: int | None,
        byte_fallback: bool,
        special_ids: Collection[int],
        user_ids: Collection[int] = (),
        unused_ids: Collection[int] = (),
        kind: Literal["bpe", "char", "word"] = "bpe",
    ) -> BPE:
        """Return the model of pieces with scores: two whose joint is a piece merge, best score first (E3).

        Scores count as 32-bit floats. special_ids: control, unknown and byte pieces, which no merge yields. A word that
        is a user-defined piece is taken at once: the splitter has to cut these out. kind="char": only characters that
        are pieces are known, kind="word": only words that are.

        Source: SentencePiece 0.2.3.

        >>> from subwords.bpe.model import BPE
        >>> pieces, scores = [b"<unk>", b"a", b"b", b"ab", b"aba"], [0, -3, -4, -1, -2]
        >>> model = BPE.from_scores(pieces, scores, unk_id=0, byte_fallback=False, special_ids=[0])
        >>> model.merges.tolist(), model.ranks.tolist()
        ([[1, 2, 3], [3, 1, 4]], [0, 1])
        """
        from subwords.bpe.piece_scores import scored_merges

        lost = frozenset(special_ids) | ({unk_id} if unk_id is not None else set())
        mergeable = tokens if kind == "bpe" else []
        merges, ranks, parts = scored_merges(mergeable, scores, lost | frozenset(user_ids))
        return cls(
            Vocab(tokens),
            merges,
            ranks,
            byte_level=False,
            unk_id=unk_id,
            fuse_unk=True,
            whole_words=kind == "word",
            words_only=kind == "word",
            special_ids=lost,
            byte_fallback=byte_fallback,
            user_ids=frozenset(user_ids),
            unused_ids=frozenset(unused_ids),
            parts=parts,
        )

    @cached_property
    def symbols(self) -> Vocab:
        """The tokens, and the parts behind them."""
        return Vocab([*self.vocab, *self.parts]) if self.parts else self.vocab

    @cached_property
    def alphabet(self) -> NDArray[np.int32]:
        """The id of every byte (256 of them) or of every code point (0x110000), -1 where there is none."""
        table = np.full(256 if self.byte_level else CODE_POINTS, MISSING, np.int32)
        if self.words_only:
            return table
        lengths = np.diff(self.symbols.offsets)
        for index in np.flatnonzero((lengths >= 1) & (lengths <= (1 if self.byte_level else 4))).tolist():
            if index in self.special_ids or index == self.unk_id:
                continue
            token = self.symbols[index]
            symbol = token[0] if self.byte_level else _code_point(token)
            if symbol is not None:
                table[symbol] = index
        return table

    @cached_property
    def byte_ids(self) -> NDArray[np.int32]:
        """The id of every byte that stands for itself where a character is unknown, -1 where there is none."""
        ids = self.vocab.ids if self.byte_fallback else {}
        return np.array([ids.get(b"<0x%02X>" % byte, MISSING) for byte in range(256)], np.int32)

    @cached_property
    def space_rule(self) -> Rule:
        """The finest rule known to change no id of a text that is given whole, () where there is none.

        For files without a pre_tokenizer: their texts are one word each otherwise. See `split/spaces.py`.
        """
        if self.byte_level or self.whole_words:
            return ()
        falls_back = bool(self.byte_ids.min() >= 0)
        tokens = self.alphabet[[ord(SPACE), ord("\n")]].tolist()
        known = [falls_back or (0 <= i < len(self.vocab) and i not in self.unused_ids) for i in tokens]
        results = [self.vocab[index] for index in np.unique(self.merges[:, 2]).tolist()]
        users = [self.vocab[index] for index in sorted(self.user_ids)]
        return space_rule(results, users, unk_space=not known[0], lines=known[1])

    @cached_property
    def lossless(self) -> bool:
        """Whether every text can be had back from its ids: only where every byte has an id."""
        return self.byte_level and bool((self.alphabet >= 0).all())

    @property
    def knows_all(self) -> bool:
        """Whether every symbol of any text has an id."""
        return self.lossless or bool(self.byte_ids.min() >= 0)


def _spans(offsets: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of the bytes of these ids, one id after the other."""
    lengths = offsets[ids + 1] - offsets[ids]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[ids] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def _code_point(token: bytes) -> int | None:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None
