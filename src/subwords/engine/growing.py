"""Text that grows: places where a text may be cut whatever follows, and texts that are never encoded twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import INVALID, SAFE, SAFE_BEHIND, SOLID
from subwords.normalize.stages import Position
from subwords.spec.unicode import WHITESPACE
from subwords.support.checks import check_integer, encode_text
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.engine import Engine
    from subwords.normalize.normalizer import NormalizerEngine
    from subwords.spec.added_token import AddedToken
    from subwords.tokenizer import Tokenizer

    Ids = NDArray[np.uint32]

# ---------------------------------------------------------------------------------------------------------------------
# Cuts (ALGORITHMS.md, G1).

LOOK = 3  # characters on each side of a cut that prove it, at most
NEAR = 256  # characters before the end of a text that are tried one by one
FAR = 2048  # characters of a text in which kernels look for a cut first
MOST_KNOWN = 1 << 16  # places that are remembered by their characters
MOST_GROWERS = 64  # policies with sets of tokens


class Beside(NamedTuple):
    """What the added tokens of one pass forbid of the characters before and after a cut."""

    pairs: frozenset[str]  # side by side in a token
    singles: frozenset[str]  # tokens of one character
    first: frozenset[str]  # of tokens that must be single words
    last: frozenset[str]
    ends: frozenset[str]  # the last characters of all tokens
    lstrip: bool
    rstrip: bool

    @classmethod
    def of(cls, tokens: Mapping[str, AddedToken]) -> Beside:
        """Return it for tokens by their text."""
        words = [text for text, token in tokens.items() if token.single_word]
        return cls(
            frozenset(a + b for text in tokens for a, b in pairwise(text)),
            frozenset(text for text in tokens if len(text) == 1),
            frozenset(text[0] for text in words),
            frozenset(text[-1] for text in words),
            frozenset(text[-1] for text in tokens),
            any(token.lstrip for token in tokens.values()),
            any(token.rstrip for token in tokens.values()),
        )

    def allow(self, before: str, after: str) -> bool:
        """Whether no token is over a cut between two characters, or at it and reads the character beyond."""
        if before + after in self.pairs or before in self.last or after in self.first:
            return False
        return not (self.lstrip and before in WHITESPACE) and not (self.rstrip and after in WHITESPACE)


class Cuts:
    """Where texts of a tokenizer may be cut, under one policy for special tokens.

    known: False if no cut can be proved for this tokenizer. fresh: whether the text after a cut is encoded as a text of
    its own; otherwise it is encoded after `LOOK` characters before it, whose ids are then left out.
    """

    def __init__(self, engine: Engine, special: str | AbstractSet[str]) -> None:
        self._source = engine.encoder.splitter
        self._splitter = engine.normalized_encoder.splitter
        self._normalizer = engine.normalizer
        self.known = engine.segmenter.apart and not engine.segmenter.joins
        self.fresh = engine.normalizer is None or not engine.normalizer.sees_ends
        finder = engine.added.finder(special)
        self._literal, self._normalized = Beside.of(finder.literal.tokens), Beside.of(finder.normalized.tokens)
        self._near: dict[tuple[str, str, bool], bool] = {}

    def last(self, text: str, start: int, stop: int, *, begins: bool) -> int:
        """Return the last proved cut c of text[start:stop], start < c < stop, or `start`; whatever follows text[:stop].

        begins: whether a text begins at `start`.
        """
        if not self.known:
            return start
        for place in range(stop - 1, max(start, stop - NEAR), -1):
            if self._proved(text, start, place, stop, begins):
                return place
        return self._far(text, start, max(start, stop - NEAR), stop, begins) if stop - start > NEAR else start

    def _proved(self, text: str, start: int, place: int, stop: int, begins: bool) -> bool:
        if self._normalizer is None:
            key = (text[place - 1], text[place], False)
        else:
            first = max(start, place - LOOK)
            key = (text[first:place], text[place : min(stop, place + LOOK)], begins and first == start)
        found = self._near.get(key)
        if found is None:
            if len(self._near) > MOST_KNOWN:
                self._near.clear()
            found = self._near[key] = self._safe(*key)
        return found

    def _safe(self, before: str, after: str, begins: bool) -> bool:
        """Whether a text with these characters before and after a place may be cut there."""
        if not self._literal.allow(before[-1], after[0]) or (not self.fresh and before[-1] in self._literal.ends):
            return False
        if self._normalizer is not None:
            sides = self._sides(self._normalizer, before, after, begins)
            if sides is None:
                return False
            before, after = sides
        if not self._normalized.allow(before[-1], after[0]):
            return False
        if not self.fresh and before[-1] in self._normalized.ends:
            return False
        left, right = _bytes(before), _bytes(after[0])
        return self._splitter.cut(np.frombuffer(left + right, np.uint8), len(left) + len(right)) == len(left)

    def _sides(self, normalizer: NormalizerEngine, before: str, after: str, begins: bool) -> tuple[str, str] | None:
        """Return normalized text on both sides that no other text changes; None if it is not known."""
        text, place = before + after, len(before)
        flags = normalizer.flags[[min(_code(char), INVALID) for char in text]].tolist()
        pairs, singles = self._literal.pairs, self._literal.singles

        def safe(at: int) -> bool:
            return bool(flags[at] & SAFE or (flags[at] & SAFE_BEHIND and flags[at - 1] & SOLID))

        if not safe(place):
            return None
        first = next((at for at in range(place - 1, 0, -1) if safe(at)), 0 if begins else -1)
        last = next((at for at in range(place + 1, len(text)) if safe(at)), -1)
        if first < 0 or last < 0:
            return None
        # A token here would begin or end a part of the text.
        if any(a + b in pairs for a, b in pairwise(text[max(0, first - 1) : last + 1])):
            return None
        if not singles.isdisjoint(text[first:last]):
            return None
        at_start = begins and first == 0
        left = _normalized(normalizer, text[first:place], Position(at_start, False))
        if not left or left != _normalized(normalizer, text[first:place], Position(at_start, True)):
            return None
        right = _normalized(normalizer, text[place:last], Position(False, False))
        return (left, right) if right else None

    def _far(self, text: str, start: int, stop: int, end: int, begins: bool) -> int:
        """Return the last proved cut of text[start:stop]; kernels find places that may be one."""
        size = FAR
        while True:
            first = max(start, stop - size)
            data = np.frombuffer(_bytes(text[first:stop]), np.uint8)
            at = len(data)
            while (at := self._source.cut(data, at, begins=begins and first == start)) > 0:
                place = first + len(data[:at].tobytes().decode("utf-8", "surrogateescape"))
                if place > start and self._proved(text, start, place, end, begins):
                    return place
            if first == start:
                return start
            size *= 8


def _code(char: str) -> int:
    return INVALID if 0xD800 <= ord(char) < 0xE000 else ord(char)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _normalized(normalizer: NormalizerEngine, text: str, part: Position) -> str:
    data = np.frombuffer(_bytes(text), np.uint8)
    found = normalizer.apply(data, np.array([0, len(data)], np.int64), part)[0]
    return found.tobytes().decode("utf-8", "surrogateescape")


# ---------------------------------------------------------------------------------------------------------------------
# The ids of text that continues other text.


class Before(NamedTuple):
    """What the ids of a text depend on, of the text before it.

    text: encoded too; its first `skip` ids are left out. begins: whether a text begins here. inside: and there is
    other text before it, as after an added token.
    """

    text: str = ""
    skip: int = 0
    begins: bool = False
    inside: bool = False


START, INSIDE, FRESH = Before(begins=True), Before(begins=True, inside=True), Before()
NO_IDS: Ids = np.zeros(0, np.uint32)


class Piece(NamedTuple):
    """Text up to a proved cut, its ids, and what the text after it depends on."""

    text: str
    ids: Ids
    before: Before


class Grower:
    """Encodes text in pieces, for one tokenizer and one policy for special tokens; threads may share it."""

    def __init__(self, tok: Tokenizer, special: Any) -> None:
        from subwords.tokenizer import engine_of

        self.tok, self.special = tok, special
        self._engine = engine_of(tok)
        self.cuts = Cuts(self._engine, special)

    def encode(self, text: str) -> Ids:
        """Return the ids of a whole text; surrogates stand for bytes that are not UTF-8."""
        try:
            return self.tok.encode_to_numpy(text, special=self.special)
        except InputError:
            data = _bytes(text)  # the engine names the place of an error in it
            return self.tok.encode_to_numpy(data, special=self.special)

    def after(self, before: Before, text: str) -> Ids:
        """Return the ids of a text that continues another."""
        if not text:
            return NO_IDS
        if before.text:
            return self.encode(before.text + text)[before.skip :]
        return self._engine.encode_inside(text, self.special) if before.inside else self.encode(text)

    def before(self, text: str, start: int, place: int) -> Before:
        """Return what the text after a proved cut depends on; the text may have been read from `start` on."""
        if self.cuts.fresh:
            return FRESH
        near = text[max(start, place - LOOK) : place]
        return Before(near, len(self.encode(near)))

    def pieces(self, before: Before, text: str, least: int, most: int) -> Iterator[Piece]:
        """Yield pieces of at most `most` characters, where there are cuts, until less than `least` characters remain."""
        start, size = 0, most
        while len(text) - start > least:
            stop = min(len(text), start + size)
            place = self.cuts.last(text, start, stop, begins=before.begins)
            if place == start:
                if stop == len(text):
                    return
                size *= 8
                continue
            part = text[start:place]
            ids, before = self.after(before, part), self.before(text, start, place)
            yield Piece(part, ids, before)
            start, size = place, most


class Growers(dict[Any, Grower]):
    """The growers of a tokenizer by policy."""

    def __init__(self, tok: Tokenizer) -> None:
        super().__init__()
        self._tok = tok

    def __missing__(self, special: Any) -> Grower:
        if len(self) >= MOST_GROWERS:
            self.clear()
        self[special] = grower = Grower(self._tok, special)
        return grower


# ---------------------------------------------------------------------------------------------------------------------
# Versions of a text.

OPEN = 1024  # characters at the end of a version that are encoded again for the next one, at most, if there are cuts
BLOCK = 4096  # characters of a piece, at most
DECODED = 64  # ids before given ones with which these are decoded


class Block(NamedTuple):
    """Text whose ids are settled; versions share blocks. given: its ids were given, not encoded."""

    parent: Block | None
    piece: Piece
    chars: int  # up to its end, with all blocks before it
    count: int  # ids up to its end
    given: bool = False

    def then(self, piece: Piece, *, given: bool = False) -> Block:
        """Return the block of the next piece."""
        return Block(self, piece, self.chars + len(piece.text), self.count + len(piece.ids), given)


ROOT = Block(None, Piece("", NO_IDS, START), 0, 0)


class GrowingText:
    """A text and its ids, to which text is appended without encoding all of it again; made by `Tokenizer.growing`.

    Immutable: `append` and `edit` return a new version, which shares the storage of this one, so any number of versions
    may continue one text. The ids of each version are `tok.encode(text)`, but for given ids.
    """

    __slots__ = ("_block", "_found", "_grower", "_limit", "_open", "_was")

    def __init__(
        self, grower: Grower, block: Block, text: str, limit: int = OPEN, was: tuple[Block, str] = (ROOT, "")
    ) -> None:
        if len(text) > limit:
            for piece in grower.pieces(block.piece.before, text, OPEN, BLOCK):
                block, text = block.then(piece), text[len(piece.text) :]
            limit = max(OPEN, 2 * len(text))  # so a text without cuts is searched again when it has doubled
        self._grower, self._block, self._open, self._limit, self._was = grower, block, text, limit, was
        self._found: Ids | None = None

    def append(self, text: str = "", *, ids: Iterable[int] | None = None) -> GrowingText:
        """Return the version with more text, or with the text of given ids, which are kept as they are.

        Text after given ids begins a new part, as after an added token. Raises InputError for a text with a lone
        surrogate, and for an id that does not exist.
        """
        was = (self._block, self._open)
        if ids is None:
            encode_text(text)
            return GrowingText(self._grower, self._block, self._open + text, self._limit, was)
        if text:
            raise InputError("expected text or ids, not both")
        return GrowingText(self._grower, self._given(ids), "", was=was)

    def _given(self, ids: Iterable[int]) -> Block:
        tok, block = self._grower.tok, self._block
        if self._open:
            block = block.then(Piece(self._open, self._open_ids, INSIDE))
        before = self.ids[-DECODED:]
        stream = tok.stream(prompt=before)
        given = np.fromiter(ids, np.int64) if not isinstance(ids, np.ndarray) else ids
        text = stream.step(given) + stream.finish()
        return block.then(Piece(text, given.astype(np.uint32), INSIDE), given=True)

    def edit(self, start: int, stop: int, new: str) -> GrowingText:
        """Return the version in which the characters from `start` to `stop` are replaced.

        The text between the blocks around the change is encoded again. Raises InputError for places outside the text
        or before given ids.
        """
        check_integer("start", start, 0, len(self.text))
        check_integer("stop", stop, start, len(self.text))
        encode_text(new)
        after: list[Block] = []
        block, end = self._block, self._open
        while block.parent is not None and block.chars + LOOK > start and not block.given:
            after.append(block)
            block = block.parent
        if start < block.chars:
            raise InputError(f"expected a place after given ids, which end at {block.chars}, not {start}")
        after.reverse()
        text = "".join([each.piece.text for each in after]) + end
        at = block.chars
        joined = text[: start - at] + new + text[stop - at :]
        was = (self._block, self._open)
        kept = [number for number, each in enumerate(after) if each.chars - LOOK >= stop]
        if not kept:
            return GrowingText(self._grower, block, joined, was=was)
        first = kept[0]
        rest = sum(len(each.piece.text) for each in after[first + 1 :]) + len(end)
        changed = joined[: len(joined) - rest]
        for piece in self._grower.pieces(block.piece.before, changed, BLOCK, BLOCK):
            block, changed = block.then(piece), changed[len(piece.text) :]
        last = after[first].piece.before
        block = block.then(Piece(changed, self._grower.after(block.piece.before, changed), last))
        for each in after[first + 1 :]:
            block = block.then(each.piece)
        return GrowingText(self._grower, block, end, self._limit, was)

    @property
    def _open_ids(self) -> Ids:
        if self._found is None:
            self._found = self._grower.after(self._block.piece.before, self._open)
        return self._found

    def _ids_after(self, block: Block | None) -> list[Ids]:
        found, each = [self._open_ids], self._block
        while each is not block and each.parent is not None:
            found.append(each.piece.ids)
            each = each.parent
        return found[::-1]

    @property
    def ids(self) -> Ids:
        """The ids, uint32: a new array each time."""
        return np.concatenate(self._ids_after(None))

    @property
    def text(self) -> str:
        """The text: a new string each time."""
        parts, block = [self._open], self._block
        while block.parent is not None:
            parts.append(block.piece.text)
            block = block.parent
        return "".join(reversed(parts))

    def __len__(self) -> int:
        """Return the number of ids."""
        return self._block.count + len(self._open_ids)

    @property
    def kept(self) -> int:
        """How many ids at the beginning are those of the version before."""
        block, text = self._was
        ours, theirs = self._block, block
        while ours is not theirs:
            if ours.count >= theirs.count and ours.parent is not None:
                ours = ours.parent
            else:
                assert theirs.parent is not None, "all blocks begin with ROOT"
                theirs = theirs.parent
        was = GrowingText(self._grower, block, text, len(text))
        before, now = np.concatenate(was._ids_after(ours)), np.concatenate(self._ids_after(ours))
        size = min(len(before), len(now))
        differ = np.flatnonzero(before[:size] != now[:size])
        return ours.count + (int(differ[0]) if len(differ) else size)

    @property
    def added(self) -> Ids:
        """The ids after the kept ones."""
        return self.ids[self.kept :]

    @property
    def final(self) -> int:
        """A number of ids at the beginning that stay, whatever text is appended (ALGORITHMS.md, G2)."""
        before, text = self._block.piece.before, self._open
        place = self._grower.cuts.last(text, 0, len(text), begins=before.begins)
        return self._block.count + len(self._grower.after(before, text[:place]))

    @property
    def drift(self) -> int | None:
        """The first id that encoding the whole text would change; None if there is none: only given ids differ."""
        ids, whole = self.ids, self._grower.encode(self.text)
        size = min(len(ids), len(whole))
        differ = np.flatnonzero(ids[:size] != whole[:size])
        if len(differ):
            return int(differ[0])
        return None if len(ids) == len(whole) else size

    def __repr__(self) -> str:
        return f"GrowingText({len(self.text)} characters, {len(self)} ids)"
