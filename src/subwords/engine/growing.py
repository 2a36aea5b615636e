"""Text that grows: places where a text may be cut whatever follows, and texts that are never encoded twice."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import INVALID, SAFE, SAFE_BEHIND, SOLID
from subwords.normalize.stages import Position
from subwords.spec.splitter import Prefix, Split
from subwords.spec.unicode import WHITESPACE
from subwords.support.checks import check_integer, encode_text
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.engine import Engine
    from subwords.normalize.normalizer import NormalizerEngine
    from subwords.spec.added_token import AddedToken
    from subwords.spec.splitter import Rule
    from subwords.tokenizer import Tokenizer

Ids: TypeAlias = NDArray[np.uint32]

# ---------------------------------------------------------------------------------------------------------------------
# Cuts (ALGORITHMS.md, G1).

LOOK = 3  # characters on each side of a cut that prove it, at most
NEAR = 256  # characters before the end of a text that are tried one by one
FAR = 2048  # characters of a text in which kernels look for a cut first
MOST_TRIED = 256  # of these places
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

    known: False if no cut can be proved for this tokenizer. running: whether sums of scores run across cuts. fresh: whether the text after a cut is encoded as a text of
    its own; otherwise it is encoded after `LOOK` characters before it, whose ids are then left out.
    """

    def __init__(self, engine: Engine, special: str | AbstractSet[str]) -> None:
        self._source = engine.encoder.splitter
        self._route = engine.encoder.splitter.route
        self._normalizer = engine.normalizer
        finder = engine.added.finder(special)
        self.fresh = not begins_otherwise(engine.splitter.rule, engine.normalizer)
        self.running = not engine.segmenter.apart
        self.known = not engine.segmenter.joins and not (self.running and finder)
        self._literal, self._normalized = Beside.of(finder.literal.tokens), Beside.of(finder.normalized.tokens)
        self._width = 1 if engine.normalizer is None else LOOK  # characters on each side of a place that decide
        self._near: dict[str, bool] = {}  # whether a place is proved by those around it
        self._flags = b"" if engine.normalizer is None else engine.normalizer.flags.tobytes()
        self._apart, self._left = lru_cache(MOST_KNOWN)(self._is_apart), lru_cache(MOST_KNOWN)(self._left_of)
        self._right = lru_cache(MOST_KNOWN)(partial(self._changed, ends=False))

    def last(self, text: str, start: int, stop: int) -> int:
        """Return the last proved cut c of text[start:stop], start < c < stop, or `start`; whatever follows text[:stop].

        Nothing before `start` matters either.
        """
        if not self.known:
            return start
        near, width = self._near, self._width
        first = max(start, stop - NEAR)
        for place in range(stop - width, max(start + width, first) - 1, -1):
            around = text[place - width : place + width]
            found = near.get(around)
            if found is None:
                found = self._proved(around)
            if found:
                return place
        return self._far(text, start, first, stop) if first > start else start

    def _proved(self, around: str) -> bool:
        """Whether a text with these characters may be cut in their middle."""
        if len(self._near) > MOST_KNOWN:
            self._near.clear()
        found = self._near[around] = self._safe(around[: self._width], around[self._width :])
        return found

    def _safe(self, before: str, after: str) -> bool:
        """Whether a text with these characters before and after a place may be cut there."""
        if not self._literal.allow(before[-1], after[0]) or (not self.fresh and before[-1] in self._literal.ends):
            return False
        if self._normalizer is None:
            return self._apart(before, after)
        left, right = self._sides(before, after)
        return bool(left and right) and self._apart(left[-1], right[0])

    def _is_apart(self, before: str, after: str) -> bool:
        """Whether the splitter cuts between two characters of normalized text, and no token is there."""
        if not self._normalized.allow(before, after) or (not self.fresh and before in self._normalized.ends):
            return False
        return self._route.cuts_between(_bytes(before), _bytes(after))

    def _sides(self, before: str, after: str) -> tuple[str, str]:
        """Return normalized text on both sides that no other text changes; empty if it is not known."""
        text, place = before + after, len(before)
        flags = [self._flags[INVALID if "\ud800" <= char < "\ue000" else ord(char)] for char in text]
        safe = [0, *(now & SAFE or (now & SAFE_BEHIND and last & SOLID) for last, now in pairwise(flags))]
        first = next((at for at in range(place - 1, 0, -1) if safe[at]), 0)
        last = next((at for at in range(place + 1, len(text)) if safe[at]), 0)
        if not (safe[place] and first and last):
            return "", ""
        # A token here would begin or end a part of the text.
        pairs, near = self._literal.pairs, text[first - 1 : last + 1]
        if any(near[at : at + 2] in pairs for at in range(len(near) - 1)):
            return "", ""
        if not self._literal.singles.isdisjoint(text[first:last]):
            return "", ""
        return self._left(text[first:place]), self._right(text[place:last])

    def _left_of(self, text: str) -> str:
        """Return a normalized text, the same whether a text ends there or not; empty if it is not."""
        found = self._changed(text, ends=False)
        return found if found == self._changed(text, ends=True) else ""

    def _changed(self, text: str, *, ends: bool) -> str:
        """Return the normalized text of a part inside a text."""
        assert self._normalizer is not None, "only asked with a normalizer"
        data = np.frombuffer(_bytes(text), np.uint8)
        found = self._normalizer.apply(data, np.array([0, len(data)], np.int64), Position(False, ends))[0]
        return found.tobytes().decode("utf-8", "surrogateescape")

    def _far(self, text: str, start: int, stop: int, end: int) -> int:
        """Return the last proved cut of text[start:stop] or `start`; kernels find places that may be one."""
        size, width = FAR, self._width
        while True:
            first = max(start, stop - size)
            data = np.frombuffer(_bytes(text[first:stop]), np.uint8)
            at, tried = len(data), 0
            while tried < MOST_TRIED and (at := self._source.cut(data, at, begins=False)) > 0:
                place = first + len(data[:at].tobytes().decode("utf-8", "surrogateescape"))
                if start + width <= place <= end - width and self._proved(text[place - width : place + width]):
                    return place
                tried += 1
            if first == start or tried == MOST_TRIED:
                return start
            size *= 8


def begins_otherwise(rule: Rule, normalizer: NormalizerEngine | None) -> bool:
    """Whether a text begins or ends otherwise than it goes on."""
    first = next((at for at, step in enumerate(rule) if isinstance(step, Split)), len(rule))
    prefixes = [at < first or step.scheme == "first" for at, step in enumerate(rule) if isinstance(step, Prefix)]
    return any(prefixes) or (normalizer is not None and normalizer.sees_ends)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# ---------------------------------------------------------------------------------------------------------------------
# The ids of text that continues other text.


class Before(NamedTuple):
    """What the ids of a text depend on, of the text before it.

    text: encoded too; its first `skip` ids are left out. inside: it is another part, as before an added token. total:
    the sum of its scores, for a model whose sums run across words.
    """

    text: str = ""
    skip: int = 0
    inside: bool = False
    total: float | None = None


FRESH, INSIDE = Before(), Before(inside=True)
NO_IDS: Ids = np.zeros(0, np.uint32)


class Block(NamedTuple):
    """Text up to a proved cut, whose ids are settled, after another block; versions share blocks.

    before: what the text after it depends on. chars, count: characters and ids up to its end, with all blocks before
    it. given: its ids were given, not encoded.
    """

    parent: Block | None
    text: str
    ids: Ids
    before: Before
    chars: int
    count: int
    given: bool = False

    def then(self, text: str, ids: Ids, before: Before, given: bool = False) -> Block:  # noqa: FBT001, FBT002
        """Return the block of the text after this one."""
        return Block(self, text, ids, before, self.chars + len(text), self.count + len(ids), given)

    def ids_after(self, block: Block) -> list[Ids]:
        """Return the ids of the blocks after one before this one."""
        found, each = [], self
        while each is not block:
            found.append(each.ids)
            assert each.parent is not None, "all blocks begin with ROOT"
            each = each.parent
        return found[::-1]


ROOT = Block(None, "", NO_IDS, FRESH, 0, 0)


class Grower:
    """Encodes text in pieces, for one tokenizer and one policy for special tokens; threads may share it."""

    def __init__(self, tok: Tokenizer, special: Any) -> None:
        from subwords.tokenizer import engine_of

        self.tok, self.special = tok, special
        self._engine = engine_of(tok)
        self.cuts = Cuts(self._engine, special)
        self._fast = self._engine.fast_paths[special if isinstance(special, str) else ""].array

    def encode(self, text: str) -> Ids:
        """Return the ids of a whole text; surrogates stand for bytes that are not UTF-8."""
        if (found := self._fast(text)) is not None:
            return found
        try:
            return self.tok.encode_to_numpy(text, special=self.special)
        except InputError:
            data = _bytes(text)  # the engine names the place of an error in it
            return self.tok.encode_to_numpy(data, special=self.special)

    def after(self, before: Before, text: str) -> Ids:
        """Return the ids of a text that continues another."""
        if not text:
            return NO_IDS
        if before.total is not None:
            return self._engine.encoder.encode_on(_bytes(text), before.total)[0]
        if before.text:
            return self.encode(before.text + text)[before.skip :]
        return self._engine.encode_inside(text, self.special) if before.inside else self.encode(text)

    def upto(self, before: Before, text: str, start: int, place: int) -> tuple[Ids, Before]:
        """Return the ids of text[start:place], up to a proved cut, and what the text after it depends on."""
        if self.cuts.running:
            ids, total = self._engine.encoder.encode_on(_bytes(text[start:place]), before.total)
            return ids, Before(total=total)
        ids = self.after(before, text[start:place])
        if self.cuts.fresh:
            return ids, FRESH
        near = text[max(start, place - LOOK) : place]
        return ids, Before(near, len(self.encode(near)))

    def settled(self, block: Block, text: str, least: int = 0, most: int = 1 << 62) -> tuple[Block, str]:
        """Move text after a block to blocks of at most `most` characters, where there are cuts.

        Returns the last block and the rest: at least `least` characters, if the text has as many.
        """
        start, size, whole = 0, most, len(text)
        while whole - start > least:
            stop = min(whole, start + size)
            place = self.cuts.last(text, start, stop)
            if place > start:
                block = block.then(text[start:place], *self.upto(block.before, text, start, place))
                start, size = place, most
            elif stop < whole:
                size *= 8
            else:
                break
        return block, text[start:]


class Growers:
    """The growers of a tokenizer by policy."""

    def __init__(self, tok: Tokenizer) -> None:
        self._tok = tok
        self._found: dict[Any, Grower] = {}

    def __getitem__(self, special: Any) -> Grower:
        """Return the grower; InputError for what is no policy."""
        key = frozenset(special) if isinstance(special, AbstractSet) else special
        if not isinstance(key, str | frozenset) or (found := self._found.get(key)) is None:
            found = Grower(self._tok, key)  # refuses other types
            if len(self._found) >= MOST_GROWERS:
                self._found.clear()
            self._found[key] = found
        return found


# ---------------------------------------------------------------------------------------------------------------------
# Versions of a text.

OPEN = 1024  # characters at the end of a version that are encoded again for the next one, at most, if there are cuts
BLOCK = 4096  # characters of a piece, at most
DECODED = 64  # ids before given ones with which these are decoded




def first_difference(a: Ids, b: Ids) -> int:
    """Return how many ids at the beginning of two arrays are equal."""
    size = min(len(a), len(b))
    differ = (a[:size] != b[:size]).argmax() if size else 0
    return size if not size or a[differ] == b[differ] else int(differ)


class GrowingText:
    """A text and its ids, to which text is appended without encoding all of it again; made by `Tokenizer.growing`.

    Immutable: `append` and `edit` return a new version, which shares the storage of this one, so any number of versions
    may continue one text. The ids of each version are `tok.encode(text)`, but for given ids.
    """

    def __init__(
        self, grower: Grower, block: Block, text: str, limit: int = OPEN, was: tuple[Block, str] = (ROOT, "")
    ) -> None:
        if len(text) > limit:
            block, text = grower.settled(block, text, OPEN, BLOCK)
            limit = max(OPEN, 2 * len(text))  # so a text without cuts is searched again when it has doubled
        self._grower, self._block, self._open, self._limit, self._was = grower, block, text, limit, was

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
            block = block.then(self._open, self._open_ids, INSIDE)
        before = self.ids[-DECODED:]
        stream = tok.stream(prompt=before)
        given = np.fromiter(ids, np.int64) if not isinstance(ids, np.ndarray) else ids
        text = stream.step(given) + stream.finish()
        return block.then(text, given.astype(np.uint32), INSIDE, given=True)

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
        text = "".join([each.text for each in after]) + end
        at = block.chars
        joined = text[: start - at] + new + text[stop - at :]
        was = (self._block, self._open)
        kept = [number for number, each in enumerate(after) if each.chars - LOOK >= stop]
        if not kept or self._grower.cuts.running:  # then the change changes all sums after it
            return GrowingText(self._grower, block, joined, was=was)
        first = kept[0]
        rest = sum(len(each.text) for each in after[first + 1 :]) + len(end)
        block, changed = self._grower.settled(block, joined[: len(joined) - rest], BLOCK, BLOCK)
        block = block.then(changed, self._grower.after(block.before, changed), after[first].before)
        for each in after[first + 1 :]:
            block = block.then(each.text, each.ids, each.before)
        return GrowingText(self._grower, block, end, self._limit, was)

    @cached_property
    def _open_ids(self) -> Ids:
        return self._grower.after(self._block.before, self._open)

    @property
    def ids(self) -> Ids:
        """The ids, uint32: a new array each time."""
        return np.concatenate([*self._block.ids_after(ROOT), self._open_ids])

    @property
    def text(self) -> str:
        """The text: a new string each time."""
        parts, block = [self._open], self._block
        while block.parent is not None:
            parts.append(block.text)
            block = block.parent
        return "".join(reversed(parts))

    def __len__(self) -> int:
        """Return the number of ids."""
        return self._block.count + len(self._open_ids)

    @property
    def kept(self) -> int:
        """How many ids at the beginning are those of the version before."""
        return len(self) - len(self.added)

    @cached_property
    def added(self) -> Ids:
        """The ids after the kept ones."""
        block, was = self._was
        ours, theirs = self._block, block
        while ours is not theirs:
            if ours.count >= theirs.count and ours.parent is not None:
                ours = ours.parent
            else:
                assert theirs.parent is not None, "all blocks begin with ROOT"
                theirs = theirs.parent
        before, now = self._grower.after(block.before, was), self._open_ids
        if block is not ours or self._block is not ours:
            before = np.concatenate([*block.ids_after(ours), before])
            now = np.concatenate([*self._block.ids_after(ours), now])
        return now[first_difference(before, now) :]

    @property
    def final(self) -> int:
        """A number of ids at the beginning that stay, whatever text is appended (ALGORITHMS.md, G2)."""
        before, text = self._block.before, self._open
        place = self._grower.cuts.last(text, 0, len(text))
        return self._block.count + len(self._grower.after(before, text[:place]))

    @property
    def drift(self) -> int | None:
        """The first id that encoding the whole text would change; None if there is none: only given ids differ."""
        ids, whole = self.ids, self._grower.encode(self.text)
        place = first_difference(ids, whole)
        return None if place == len(ids) == len(whole) else place

    def __repr__(self) -> str:
        return f"GrowingText({len(self.text)} characters, {len(self)} ids)"


# ---------------------------------------------------------------------------------------------------------------------
# Ids of a text that arrives in pieces.


class EncodeStream:
    """Ids of a text that arrives in pieces, as soon as they are final; made by `Tokenizer.encode_stream`, for one text.

    The ids that `feed` and `finish` return join to `tok.encode(text)`. In memory are only the text since the last cut
    that is proved (ALGORITHMS.md, G1), and what is fed.

    >>> import subwords
    >>> tok = subwords.load("demo")
    >>> stream = tok.encode_stream()
    >>> [stream.feed(part).tolist() for part in ("Rays of li", "ght are")], stream.finish().tolist()
    ([[1402], [270, 445]], [346])
    """

    def __init__(self, grower: Grower) -> None:
        self._grower = grower
        self._before = FRESH
        self._parts: list[str] = []  # the open text
        self._size = self._limit = 0  # its characters, and with how many a cut is sought again
        self._half = b""  # of a character
        self._is_finished = False

    def feed(self, part: str | bytes) -> Ids:
        """Take the next text, or UTF-8 that may end inside a character; return the ids that are now final, uint32.

        Raises InputError as `Tokenizer.encode` does, and after `finish`; the stream then stays as it was.
        """
        if self._is_finished:
            raise InputError("expected no text after finish(): tok.encode_stream() returns a new stream")
        if isinstance(part, str):
            if not part.isascii():
                encode_text(part)
            if self._half:
                raise InputError(f"expected the rest of a character after {self._half!r}, as bytes, not str")
            text, half = part, b""
        elif isinstance(part, bytes):
            decoder = getincrementaldecoder("utf-8")("surrogateescape")
            text = decoder.decode(self._half + part)
            half = decoder.getstate()[0]
        else:
            raise InputError(f"expected str or bytes, not {type(part).__name__}")
        size = self._size + len(text)
        if size < self._limit:
            self._parts.append(text)
            self._size, self._half = size, half
            return NO_IDS
        if self._size:
            text = "".join([*self._parts, text])
        place = self._grower.cuts.last(text, 0, size)
        if place:
            ids, self._before = self._grower.upto(self._before, text, 0, place)
            text, size = text[place:], size - place
        self._parts, self._size, self._half = [text], size, half
        self._limit = 2 * size if size > OPEN else 0
        return ids if place else NO_IDS

    def finish(self) -> Ids:
        """Return the ids of the text that waited; none if called again."""
        if self._is_finished:
            return NO_IDS
        rest = "".join(self._parts) + self._half.decode("utf-8", "surrogateescape")
        ids = self._grower.after(self._before, rest)
        self._is_finished = True
        return ids

    def __repr__(self) -> str:
        return f"EncodeStream({self._size} characters wait{', finished' if self._is_finished else ''})"
