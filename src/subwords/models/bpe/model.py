"""The BPE model: a vocabulary and its merges, validated once, immutable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.entry import entry_kernel
from subwords.kernels.layout import BPEModel, BPEScratch
from subwords.kernels.stored import stored
from subwords.spec.model import NO_MERGES, Model
from subwords.spec.splitter import SPACE, Rule, space_rule
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError
from subwords.support.value import read_only

MOST_IDS, MOST_MERGES = (
    (1 << layout.ID_BITS) - 1,
    layout.MOST_RANK,
)  # limits of an 8-byte entry in the encoder's pair table
LARGEST_ID = MOST_IDS - 1
LARGE_VOCABULARY = 1 << 12  # tokens; smaller tables take milliseconds
# The length of a character in UTF-8 by its first byte; 0 for a byte that begins none.
WIDTHS = np.repeat(np.array([1, 0, 2, 3, 4, 0]), [128, 64, 32, 16, 8, 8])


@dataclass(frozen=True, eq=False)
class BPE(Model):
    """A BPE model.

    merges: int64, shape (m, 3): left id, right id, resulting id, in order of rank.
    ranks: int64, shape (m,), ascending; None means the position is the rank. Among pairs of equal rank, the leftmost is
    merged first.
    byte_level: words start as bytes; otherwise as characters.
    byte_fallback: an unknown character becomes its bytes, the tokens `<0x00>` to `<0xFF>`, if all of them exist.
    unk_id, fuse_unk: the token for any other unknown symbol. Without one, `unknown` is "error" or "drop"
    (ALGORITHMS.md, E4).
    whole_words: a word that is a token is not segmented (ALGORITHMS.md, E2). words_only: any other word is unknown.
    special_ids: ids that no text yields (ALGORITHMS.md, A3).
    user_ids: tokens that never merge; a word that is one is not segmented.
    unused_ids: tokens that take part in merging and are split into their parts afterwards.
    parts: characters that take part in merging and are unknown afterwards; merges use ids from len(vocab) on for them.
    prefix, suffix: spelled before every symbol of a word but the first, and after the last one
    (ALGORITHMS.md, E7). A merge leaves out
    the prefix of its right token.
    dropout: the default of `sample`; encoding ignores it.
    literal_ids: tokens of a byte-level vocabulary that files spell as their text, because no bytes spell them; no text
    yields them.
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
    prefix: bytes = b""
    suffix: bytes = b""
    dropout: float | None = None
    literal_ids: frozenset[int] = frozenset()

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
            raise FormatError(f"expected merges of ids below {size}; one has {self.merges.max()}")
        if self.merges.size and self.merges[:, 2].max() >= len(self.vocab):
            raise FormatError("expected merges that yield tokens; one yields an id of `parts`")
        if self.byte_level and (self.unused_ids or self.parts):
            raise FormatError("unused_ids and parts need byte_level=False")
        if self.byte_level and self.byte_fallback and not self.knows_all:
            raise FormatError("byte_fallback needs byte_level=False, or a token for each of 256 bytes")
        if (self.parts or self.unused_ids) and self.unk_id is None and self.byte_ids.min() < 0:
            raise FormatError("parts and unused_ids need an unk token, or all 256 byte tokens")
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise FormatError(f"expected dropout to be a number from 0 to 1, not {self.dropout!r}")
        self._check_marks()
        if not (self.byte_level or not self.literal_ids) or not self.literal_ids <= self.special_ids:
            raise FormatError("literal_ids need byte_level=True, and are among special_ids")
        self._check_results()
        self._check_ranks()
        if self.unknown == "drop" and (self.unk_id is not None or self.knows_all):
            object.__setattr__(self, "unknown", "error")  # has no effect here; set so that equivalent models are equal

    def _check_marks(self) -> None:
        if not self.marked:
            return
        if self.parts or self.unused_ids or self.words_only:
            raise FormatError("prefix and suffix need a model without parts, unused_ids and words_only")
        for name, mark in (("prefix", self.prefix), ("suffix", self.suffix)):
            if mark and self.byte_ids[list(mark)].min() >= 0:
                # Each byte of `mark` would be an id: more ids than bytes in a word.
                raise FormatError(f"byte_fallback with {name} {mark!r}, whose bytes are tokens, is not supported")

    def _check_results(self) -> None:
        symbols, cut, kernel = self.symbols, len(self.prefix), entry_kernel("first_wrong_join")
        if kernel.is_at_hand:  # compiling it would take longer than this in Python: 20 ms for GPT-2
            wrong = kernel(symbols.data, symbols.offsets, np.ascontiguousarray(self.merges).ravel(), cut)
        else:
            wrong = first_wrong(symbols, self.merges, cut)
        if wrong >= 0:
            a, b, c = (symbols[int(i)] for i in self.merges[wrong])
            raise FormatError(f"merge {wrong} yields {c!r}; expected {a + b[cut:]!r}, the concatenation of its parts")

    def _check_ranks(self) -> None:
        if self.ranks is None:
            return
        ranks, result = self.ranks, self.merges[:, 2]
        if ranks.shape != result.shape or np.diff(ranks).min(initial=0) < 0:
            raise FormatError(f"expected {len(result)} ascending ranks, one per merge")

    @classmethod
    def from_ranks(cls, tokens: Sequence[bytes], *, special_ids: Iterable[int] = ()) -> BPE:
        """Return the model of a rank file (E2, tiktoken): two tokens that join to a token merge, lowest id first."""
        from subwords.models.bpe.merges import joining_pairs

        special = frozenset(special_ids)
        vocab = Vocab(tokens)
        table = joining_pairs(vocab, special)
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
        """Return the model of pieces with scores: two merge if they concatenate to a piece, best score first.

        Defined in ALGORITHMS.md, E3.

        Scores are rounded to 32-bit floats. special_ids: control, unknown and byte pieces, which no merge yields. A
        word that is a user-defined piece is not segmented; the splitter must isolate these. kind="char": only
        characters that are pieces are known; kind="word": only words that are pieces.

        Source: SentencePiece 0.2.3.

        >>> from subwords.models.bpe.model import BPE
        >>> pieces, scores = [b"<unk>", b"a", b"b", b"ab", b"aba"], [0, -3, -4, -1, -2]
        >>> model = BPE.from_scores(pieces, scores, unk_id=0, byte_fallback=False, special_ids=[0])
        >>> model.merges.tolist(), model.ranks.tolist()
        ([[1, 2, 3], [3, 1, 4]], [0, 1])
        """
        from subwords.models.bpe.merges import scored_merges

        lost = frozenset(special_ids) | ({unk_id} if unk_id is not None else set())
        mergeable = tokens if kind == "bpe" else []
        merges, ranks, parts = scored_merges(mergeable, scores, lost | frozenset(user_ids))
        return cls(
            Vocab.of(tokens),
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

    def extended(self, tokens: Sequence[bytes]) -> BPE:
        """Return a model with more tokens, which get the next ids; no text yields them."""
        size, more = len(self.vocab), len(tokens)
        return replace(
            self,
            vocab=self.vocab.with_more(tokens),
            merges=self.merges + more * (self.merges >= size),  # ids of `parts` move up
            special_ids=self.special_ids | frozenset(range(size, size + more)),
        )

    def grown(
        self, tokens: Sequence[bytes], merges: NDArray[np.int64] = NO_MERGES, scores: Sequence[float] = ()
    ) -> BPE:
        """Return the model with more tokens and the merges that make them, which rank after all others."""
        every = self.vocab.with_more(tokens)
        if self.is_ranked:
            return BPE.from_ranks(every, special_ids=self.special_ids)
        return replace(self, vocab=every, **self._more_merges(merges))

    def with_merges(self, merges: NDArray[np.int64]) -> BPE:
        """Return the model with merges (left id, right id, id) that rank after all others."""
        return replace(self, **self._more_merges(merges))

    def _more_merges(self, merges: NDArray[np.int64]) -> dict[str, Any]:
        ranks = self.ranks
        if ranks is not None:
            ranks = np.concatenate([ranks, ranks.max(initial=-1) + 1 + np.arange(len(merges))])
        return {"merges": np.concatenate([self.merges, merges]), "ranks": ranks}

    def without(self, ids: Collection[int]) -> BPE:
        """Return the model that makes some tokens of no text: they have no merges."""
        gone = np.zeros(len(self.symbols), np.bool_)
        gone[[*ids]] = True
        kept = ~gone[self.merges].any(1)
        ranks = None if self.ranks is None else self.ranks[kept]
        return replace(self, merges=self.merges[kept], ranks=ranks, special_ids=self.special_ids | {*ids})

    def for_text(self, ids: Collection[int]) -> BPE:
        """Return the model whose text can be written without the tokens `ids`, which are special, if it needs them.

        A symbol becomes bytes or unk, after the merges that use it: it is one of `parts`. Without both, text yields it.
        """
        symbols = [i for i in sorted(ids) if self._is_symbol(self.vocab[i])]
        if symbols and (self.byte_level or (self.unk_id is None and self.byte_ids.min() < 0)):
            return replace(self, special_ids=self.special_ids.difference(symbols))
        used = {*self.merges[:, :2].ravel().tolist()}.intersection(symbols) if symbols and not self.marked else ()
        if not used:
            return self
        places = np.arange(len(self.symbols))
        places[sorted(used)] = len(places) + np.arange(len(used))
        merges = np.column_stack([places[self.merges[:, :2]], self.merges[:, 2]])
        return replace(self, merges=merges, parts=(*self.parts, *(self.vocab[i] for i in sorted(used))))

    def _is_symbol(self, token: bytes) -> bool:
        """Whether a token is one byte, or one character, with or without prefix and suffix."""
        token = token.removeprefix(self.prefix).removesuffix(self.suffix)
        return len(token) == 1 if self.byte_level else _code_point(token) is not None

    _id_sets = ("special_ids", "user_ids", "unused_ids", "literal_ids")

    def _moved(self, ids: NDArray[np.int64], origins: NDArray[np.int64], scores: Mapping[int, float]) -> dict[str, Any]:
        size = len(self.vocab)
        places = np.concatenate([ids, np.zeros(len(self.parts), np.int64)])  # parts stay as long as merges use them
        kept = (places[self.merges] >= 0).all(1)
        merges = self.merges[kept]
        used = np.unique(merges[merges >= size])
        places[used] = len(origins) + np.arange(len(used))
        merges, ranks = places[merges], None if self.ranks is None else self.ranks[kept]
        if ranks is not None:
            ranks = merges[:, 2].copy() if self.is_ranked else np.unique(ranks, return_inverse=True)[1].astype(np.int64)
        parts = tuple(self.parts[i - size] for i in used.tolist())
        return {**super()._moved(ids, origins, scores), "merges": merges, "ranks": ranks, "parts": parts}

    def with_spaces(self) -> BPE | None:
        """Return the model with spaces for U+2581; None if words start as bytes or have marks."""
        if self.byte_level or self.words_only or self.marked:
            return None
        return stored("plain", self.digest.encode(), self._with_spaces) if self.is_large else self._with_spaces()

    def _with_spaces(self) -> BPE:
        return replace(
            self, vocab=self.vocab.with_spaces(), parts=tuple(part.replace(SPACE.encode(), b" ") for part in self.parts)
        )

    def by_words(self) -> BPE:
        """Return the model that encodes each word by itself; an unknown symbol has the id after the last token."""
        if self.unk_id is not None or self.knows_all:
            return self
        return replace(self.extended([b"\xff unknown"]), unk_id=len(self.vocab), unknown="error")

    @property
    def is_ranked(self) -> bool:
        """Whether the model is that of a rank file: tokens merge by their ids."""
        return self.byte_level and self.ranks is not None and bool((self.ranks == self.merges[:, 2]).all())

    @property
    def merge_count(self) -> int:
        """The number of merges."""
        return len(self.merges)

    @cached_property
    def ranked_merges(self) -> NDArray[np.int64]:
        """The merges in order: rank, left id, right id, resulting id; int64, shape (m, 4)."""
        ranks = np.arange(len(self.merges)) if self.ranks is None else self.ranks
        return read_only(np.column_stack([ranks, self.merges]))

    def facts(self) -> dict[str, object]:
        """Return what distinguishes this model from others of its family, for people."""
        return {"byte_level": self.byte_level, "merges": len(self.merges)}

    @property
    def marks(self) -> tuple[bytes, bytes]:
        """The prefix and the suffix."""
        return self.prefix, self.suffix

    def without_marks(self, token: bytes) -> bytes:
        """Return the text of a token, without prefix and suffix."""
        return token.removeprefix(self.prefix).removesuffix(self.suffix)

    @property
    def missing_bytes(self) -> list[int]:
        """The bytes without a token, if words or unknown characters become bytes."""
        return np.flatnonzero(self.alphabet < 0).tolist() if self.byte_level else super().missing_bytes

    @cached_property
    def symbols(self) -> Vocab:
        """The tokens, followed by the parts."""
        return self.vocab.with_more(self.parts) if self.parts else self.vocab

    @cached_property
    def alphabet(self) -> NDArray[np.int32]:
        """The id of each byte (256) or code point (0x110000) without prefix and suffix, -1 if it has none."""
        table = np.full(256 if self.byte_level else layout.CODE_POINTS, layout.MISSING, np.int32)
        if self.byte_level and not self.words_only:
            single = np.flatnonzero(self.symbols.sizes == 1)
            single = single[~np.isin(single, list(self.special_ids))]
            table[self.symbols.data[self.symbols.offsets[single]]] = single
            return table
        found = self._spelled(b"", b"")
        table[list(found)] = list(found.values())
        return table

    @cached_property
    def forms(self) -> dict[int, list[int]]:
        """The ids of each byte or code point by its place in a word, -1 for none.

        The place is 0 for the first symbol, 1 for others, and 2 more for the last one.
        """
        found: dict[int, list[int]] = {}
        for place in range(4):
            before, after = self.prefix if place & 1 else b"", self.suffix if place & 2 else b""
            for symbol, index in self._spelled(before, after).items():
                found.setdefault(symbol, [layout.MISSING] * 4)[place] = index
        return found

    def _spelled(self, before: bytes, after: bytes) -> dict[int, int]:
        """Return the ids of the tokens that are a byte or character between `before` and `after`."""
        if self.words_only:
            return {}
        found: dict[int, int] = {}
        marks = len(before) + len(after)
        lengths = np.diff(self.symbols.offsets) - marks
        possible = (lengths >= 1) & (lengths <= (1 if self.byte_level else 4))
        if not marks:  # a token longer than its first byte says is not one character
            widths = WIDTHS[self.symbols.data[self.symbols.offsets[:-1]]]
            possible &= (lengths == 1) if self.byte_level else (lengths == widths)
        ids = np.flatnonzero(possible)
        ids = ids[~np.isin(ids, list(self.special_ids))]
        if not marks and (symbols := self._alone(ids)) is not None:
            return dict(zip(symbols.tolist(), ids.tolist(), strict=True))
        for index in ids.tolist():
            token = self.symbols[index]
            if marks and not (token.startswith(before) and token.endswith(after)):
                continue
            token = token[len(before) : len(token) - len(after)]
            symbol = token[0] if self.byte_level else _code_point(token)
            if symbol is not None:
                found[symbol] = index
        return found

    def _alone(self, ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the byte or code point of tokens as long as their first bytes say; None if one is not UTF-8."""
        starts, data = self.symbols.offsets[ids], self.symbols.data
        if self.byte_level:
            return np.asarray(data[starts], np.int64)
        chosen = data[_ranges(starts, self.symbols.offsets[ids + 1])]
        try:
            return np.frombuffer(chosen.tobytes().decode().encode("utf-32-le"), np.uint32).astype(np.int64)
        except UnicodeDecodeError:
            return None

    @cached_property
    def byte_ids(self) -> NDArray[np.int32]:
        """The id of each byte's fallback token, -1 if it has none."""
        pieces = [b"<0x%02X>" % byte for byte in range(256)]
        ids = self.vocab.find(pieces) if self.byte_fallback and not self.byte_level else {}
        return np.array([ids.get(piece, layout.MISSING) for piece in pieces], np.int32)

    @cached_property
    def space_rule(self) -> Rule:
        """The finest rule that is known to change no id of an unsplit text; () if no rule is known.

        For files without a pre_tokenizer, where each text would be one long word. See `spec/splitter.py`.
        """
        if self.byte_level or self.whole_words or self.marked:
            return ()
        return stored("spaces", self.digest.encode(), self._space_rule) if self.is_large else self._space_rule()

    @property
    def is_large(self) -> bool:
        """Whether what is made of the model is worth keeping on disk."""
        return len(self.vocab) > LARGE_VOCABULARY

    def _space_rule(self) -> Rule:
        falls_back = bool(self.byte_ids.min() >= 0)
        tokens = self.alphabet[[ord(SPACE), ord("\n")]].tolist()
        known = [falls_back or (0 <= i < len(self.vocab) and i not in self.unused_ids) for i in tokens]
        made = np.zeros(len(self.vocab), np.bool_)
        made[self.merges[:, 2]] = True
        results = [self.vocab.joined(made)]
        users = [self.vocab[index] for index in sorted(self.user_ids)]
        return space_rule(results, users, unk_space=not known[0], lines=known[1])

    @property
    def marked(self) -> bool:
        """Whether symbols are spelled with a prefix or a suffix."""
        return bool(self.prefix or self.suffix)

    @cached_property
    def lossless(self) -> bool:
        """Whether decoding restores every text: only if every byte has an id, and none is spelled with a suffix."""
        return self.byte_level and not self.marked and bool((self.alphabet >= 0).all())

    @cached_property
    def knows_all(self) -> bool:
        """Whether every possible symbol has an id, anywhere in a word."""
        if self.marked:
            return self.byte_level and len(self.forms) == 256 and min(map(min, self.forms.values())) >= 0
        return self.lossless or bool(self.byte_ids.min() >= 0)


def first_wrong(symbols: Vocab, merges: NDArray[np.int64], cut: int) -> int:
    """Return the first merge whose result is not its two symbols, the right one without `cut` bytes; -1 for none."""
    spelled, rows = list(symbols), merges.tolist()
    found = (
        row
        for row, (left, right, made) in enumerate(rows)
        if len(spelled[right]) < cut or spelled[left] + spelled[right][cut:] != spelled[made]
    )
    return next(found, -1)


def _ranges(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions from each start to its stop, one range after another."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def _code_point(token: bytes) -> int | None:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None


# ---------------------------------------------------------------------------------------------------------------------
# The last merge of each token: of all pairs that join to it, the only one that ever meets.


def last_parts(vocab: Vocab, arrays: BPEModel) -> NDArray[np.int64]:
    """Return the two symbols of each token before its last merge, shape (n, 2), or -1 if it never is two.

    The model knows every byte. While no merge has crossed the ends of a token's bytes in a text, what happens between
    them is what happens in the token alone. So of the pairs that join to it, only this one ever meets.
    """
    from subwords.kernels.named import last_pairs

    room = max(1, int(vocab.sizes.max(initial=0)))
    keys = np.empty(layout.KEYS + room + layout.MERGE_PADDING + layout.TIED_SCRATCH * room, np.uint64)
    symbols, codes = np.empty(layout.SYMBOL_SCRATCH * room, np.int32), np.empty(layout.PAIR_LANES, np.uint32)
    scratch = BPEScratch(keys, symbols, codes, np.zeros(0, np.uint32), np.zeros(0, np.int32))
    parts = np.empty((len(vocab), 2), np.int64)
    last_pairs(vocab.data, vocab.offsets, np.arange(len(vocab)), arrays, scratch, parts.ravel())
    return parts
