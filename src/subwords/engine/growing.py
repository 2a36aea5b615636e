"""Text that grows: places where a text may be cut whatever follows, and texts that are never encoded twice."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import INVALID, UNCUT
from subwords.normalize.stages import Position
from subwords.spec.splitter import Prefix, Rule, Split
from subwords.spec.token_batch import as_ids
from subwords.spec.unicode import WHITESPACE
from subwords.support.checks import check_integer, encode_text, exact
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.decode.stream import IdDecoder
    from subwords.engine.engine import Engine
    from subwords.normalize.normalizer import NormalizerEngine
    from subwords.spec.added_token import AddedToken

Ids: TypeAlias = NDArray[np.uint32]

# ---------------------------------------------------------------------------------------------------------------------
# ProvedCuts (ALGORITHMS.md, G1).

LOOK = 3  # characters on each side of a cut that prove it, at most
NEAR_PLACES = 256  # characters before the end of a text that are tried one by one
FEW_PLACES = 32  # of these, without a normalizer: kernels then find all places that may be one
FAR_PLACES = 2048  # characters of a text in which kernels look for a cut first
MOST_TRIED = 256  # of these places
MOST_KNOWN = 1 << 16  # places that are remembered by their characters
MOST_GROWERS = 64  # policies with sets of tokens


class Beside(NamedTuple):
    """What the added tokens of one pass forbid of the characters before and after a cut."""

    pairs: frozenset[str]  # side by side in a token
    singles: frozenset[str]  # tokens of one character
    first: frozenset[str]  # of tokens that must be single words
    last: frozenset[str]
    chars: frozenset[str]  # of all tokens
    ends: frozenset[str]  # the last of each token
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
            frozenset("".join(tokens)),
            frozenset(text[-1] for text in tokens),
            any(token.lstrip for token in tokens.values()),
            any(token.rstrip for token in tokens.values()),
        )

    def allow(self, before: str, after: str) -> bool:
        """Whether no token is over a cut between two characters, or at it and reads the character beyond."""
        if before + after in self.pairs or before in self.last or after in self.first:
            return False
        return not (self.lstrip and before in WHITESPACE) and not (self.rstrip and after in WHITESPACE)

    def may_end(self, before: str) -> bool:
        """Whether a token may end with this character, or with whitespace that it strips."""
        return before in self.ends or (self.rstrip and before in WHITESPACE)


class ProvedCuts:
    """Where texts of a tokenizer may be cut, under one policy for special tokens.

    known: False if no cut can be proved for this tokenizer. running: whether sums of scores run across cuts. fresh:
    whether the text after a cut is encoded as a text of its own; otherwise it is encoded after `LOOK` characters before
    it, whose ids are then left out.
    Row: growing, "GPT-2, english": to append 20 characters to 50 KB takes 540 us without it, 21 with it.
    """

    def __init__(self, engine: Engine, special: str | AbstractSet[str]) -> None:
        self._source = engine.encoder.splitter
        self._route = engine.encoder.splitter.route
        self._normalizer = engine.normalizer
        finder = engine.added.finder(special)
        self.fresh = not begins_otherwise(engine.splitter.rule, engine.normalizer)
        self.running = not engine.segmenter.apart
        flags = np.zeros(INVALID + 1, np.uint8) if engine.normalizer is None else engine.normalizer.cut_flags
        self._flags = None if engine.normalizer is None else flags.data
        self.known = not (engine.segmenter.joins or (self.running and finder) or flags[: INVALID + 1].min() >= UNCUT)
        self._literal, self._normalized = Beside.of(finder.literal.tokens), Beside.of(finder.normalized.tokens)
        self._width = 1 if engine.normalizer is None else LOOK  # characters on each side of a place that decide
        self._near: dict[str, bool] = {}  # whether a place is proved by those around it
        self._inside: set[str] = set()  # two characters between which no cut can be proved
        # Of these, two after it and one before it, or two, where the normalizer starts anew before all but the first.
        self._key = (1, 1) if self._flags is None else (1, 2) if not self._flags[ord("e")] else (2, 2)
        self._apart = lru_cache(MOST_KNOWN)(self._is_apart)
        self.inside = lru_cache(MOST_KNOWN)(partial(self._changed, ends=False))  # a part of a text, normalized
        sees_ends = engine.normalizer is not None and engine.normalizer.sees_ends
        self._left = lru_cache(MOST_KNOWN)(self._left_of) if sees_ends else self.inside
        # The first and last letter of a range within which cuts are rare, beside a to z: ideographs, or none.
        apart = not self.known or self._proved(2 * self._width * "\u4e00")
        self._letters = ("", "") if apart else ("\u4e00", "\u9fff")
        # With a normalizer, which takes long, pairs of these are tried only if one that stands for all is a cut.
        self._passes = (False, True) if self._flags is None or self._proved(2 * self._width * "a") else (False,)

    def last(self, text: str, start: int, stop: int) -> int:
        """Return the last proved cut c of text[start:stop], start < c < stop, or `start`; whatever follows text[:stop].

        Nothing before `start` matters either.
        """
        if not self.known:
            return start
        near = NEAR_PLACES if self._normalizer is not None else min(FEW_PLACES, NEAR_PLACES)
        width, first = self._width, max(start, stop - near)
        for in_word in self._passes:  # between such letters cuts are rare: these are tried if there are no others
            if cut := self._first(text, range(stop - width, max(start + width, first) - 1, -1), in_word):
                return cut
        return self._far(text, start, first, stop) if first > start else start

    def _first(self, text: str, places: range, in_word: bool) -> int:
        """Return the first proved cut of some places, or 0; in_word: of those between letters where cuts are rare."""
        near, inside, width, (before, after) = self._near, self._inside, self._width, self._key
        (low, high), tried = self._letters, ""
        for place in places:
            was, now = text[place - 1], text[place]
            is_rare = ("a" <= was <= "z" and "a" <= now <= "z") or (low <= was <= high and low <= now <= high)
            if is_rare is not in_word:
                continue
            key = text[place - before : place + after]
            if key == tried or was + now in inside:  # as in a run of one character
                continue
            found, tried = near.get(key), key
            if self._proved(text[place - width : place + width]) if found is None else found:
                return place
        return 0

    def _proved(self, around: str) -> bool:
        """Whether a text with these characters may be cut in their middle."""
        width, near = self._width, self._near
        if len(near) + len(self._inside) > MOST_KNOWN:
            near.clear()
            self._inside.clear()
        if self._flags is not None:
            pair, begins = around[width - 1 : width + 1], self._begins
            if not begins(pair):
                self._inside.add(pair)
                return False
            outer = begins(around[width - 2 : width]) and begins(around[width : width + 2])
            if outer and self._literal.chars.isdisjoint(around[width - 1 : width + 2]):  # no other characters matter
                found = near.get(pair)
                if found is None:
                    found = near[pair] = self._safe(around[:width], around[width:], alone=True)
                before, after = self._key
                if before > 1 or not self._flags[ord(pair[0])]:
                    near[around[width - before : width + after]] = found
                return found
        if (found := near.get(around)) is None:
            found = near[around] = self._safe(around[:width], around[width:], alone=False)
        return found

    def _begins(self, two: str) -> bool:
        """Whether the normalizer starts anew before the second of two characters."""
        assert self._flags is not None, "only asked with a normalizer"
        needs = self._flags[ord(two[1])]
        return not needs or (needs < UNCUT and not needs & ~self._flags[INVALID + 1 + ord(two[0])])

    def _safe(self, before: str, after: str, *, alone: bool) -> bool:
        """Whether a text with these characters before and after a place may be cut there."""
        if not self._literal.allow(before[-1], after[0]) or (not self.fresh and self._literal.may_end(before[-1])):
            return False
        if self._normalizer is None:
            return self._apart(before, after)
        if alone:
            left, right = self._left(before[-1]), self.inside(after[0])
        else:
            left, right = self._sides(before, after)
        return bool(left and right) and self._apart(left[-1], right[0])

    def _is_apart(self, before: str, after: str) -> bool:
        """Whether the splitter cuts between two characters of normalized text, and no token is there."""
        if not self._normalized.allow(before, after) or (not self.fresh and self._normalized.may_end(before)):
            return False
        return self._route.cuts_between(before, after)

    def _sides(self, before: str, after: str) -> tuple[str, str]:
        """Return normalized text on both sides that no other text changes; empty if it is not known."""
        text, place = before + after, len(before)
        # Whether the normalizer starts anew before each character but the first.
        safe = [False, *(self._begins(text[at - 1 : at + 1]) for at in range(1, len(text)))]
        first, last = place - 1, place + 1
        while first > 0 and not safe[first]:
            first -= 1
        while last < len(text) and not safe[last]:
            last += 1
        if not (safe[place] and first and last < len(text)):
            return "", ""
        if self._literal.pairs or self._literal.singles:  # a token here would begin or end a part of the text
            near = text[first - 1 : last + 1]
            if any(near[at : at + 2] in self._literal.pairs for at in range(len(near) - 1)):
                return "", ""
            if not self._literal.singles.isdisjoint(text[first:last]):
                return "", ""
        return self._left(text[first:place]), self.inside(text[place:last])

    def _left_of(self, text: str) -> str:
        """Return a normalized text, the same whether a text ends there or not; empty if it is not."""
        found = self.inside(text)
        return found if found == self._changed(text, ends=True) else ""

    def _changed(self, text: str, *, ends: bool) -> str:
        """Return the normalized text of a part inside a text."""
        assert self._normalizer is not None, "only asked with a normalizer"
        data = np.frombuffer(_bytes(text), np.uint8)
        found = self._normalizer.apply(data, np.array([0, len(data)], np.int64), Position(False, ends))[0]
        return found.tobytes().decode("utf-8", "surrogateescape")

    def _far(self, text: str, start: int, stop: int, end: int) -> int:
        """Return the last proved cut of text[start:stop] or `start`; kernels find places that may be one."""
        size, width = FAR_PLACES, self._width
        find = self._split_places if self._flags is None else self._new_places
        while True:
            first = max(start, stop - size)
            for tried, place in enumerate(find(text, first, stop), 1):
                if start + width <= place <= end - width and self._proved(text[place - width : place + width]):
                    return place
                if tried == MOST_TRIED:
                    return start
            if first == start:
                return start
            size *= 8

    def _split_places(self, text: str, first: int, stop: int) -> Iterator[int]:
        """Yield the places at which the splitter may cut, last first."""
        at = len(data := np.frombuffer(_bytes(text[first:stop]), np.uint8))
        while (at := self._source.cut(data, at, begins=False)) > 0:
            yield first + len(data[:at].tobytes().decode("utf-8", "surrogateescape"))

    def _new_places(self, text: str, first: int, stop: int) -> Iterator[int]:
        """Yield the places before which the normalizer starts anew, but where cuts are rare or known not to be."""
        codes = np.frombuffer(text[first:stop].encode("utf-32-le", "surrogatepass"), np.uint32)
        all_needs, gives = np.frombuffer(self._flags or b"", np.uint8).reshape(2, -1)
        needs, near = all_needs[codes[1:]], self._near
        anew = (needs < UNCUT) & (needs & ~gives[codes[:-1]] == 0)
        tried = anew.copy()
        for low, high in filter(all, (("a", "z"), self._letters)):
            rare = (codes >= ord(low)) & (codes <= ord(high))
            tried &= ~(rare[1:] & rare[:-1])
        for at in np.flatnonzero(tried)[::-1].tolist():
            whole = 0 < at < len(anew) - 1 and anew[at - 1] and anew[at + 1]
            if not (whole and near.get(text[first + at : first + at + 2]) is False):
                yield first + at + 1


def begins_otherwise(rule: Rule, normalizer: NormalizerEngine | None) -> bool:
    """Whether a text begins or ends otherwise than it goes on."""
    first = next((at for at, step in enumerate(rule) if isinstance(step, Split)), len(rule))
    prefixes = [at < first or step.scheme == "first" for at, step in enumerate(rule) if isinstance(step, Prefix)]
    return any(prefixes) or (normalizer is not None and normalizer.sees_ends)


def _checked_text(text: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"expected text as str, not {type(text).__name__}")
    if not text.isascii():
        encode_text(text)  # raises InputError for a lone surrogate
    return exact(text)


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


class SettledText(NamedTuple):
    """Text up to a proved cut, whose ids are settled, after another block; versions share blocks.

    before: what the text after it depends on. chars, total_ids: how many characters and ids there are up to its end.
    given: its ids were given, not encoded.
    """

    parent: SettledText | None
    text: str
    ids: Ids
    before: Before
    chars: int
    total_ids: int
    given: bool = False

    def then(self, text: str, ids: Ids, before: Before, given: bool = False) -> SettledText:
        """Return the block of the text after this one."""
        return SettledText(self, text, ids, before, self.chars + len(text), self.total_ids + len(ids), given)

    def ids_after(self, block: SettledText) -> list[Ids]:
        """Return the ids of the blocks after one before this one."""
        found, each = [], self
        while each is not block:
            found.append(each.ids)
            assert each.parent is not None, "all blocks begin with ROOT"
            each = each.parent
        return found[::-1]


ROOT = SettledText(None, "", NO_IDS, FRESH, 0, 0)


class Grower:
    """Encodes text in pieces, for one tokenizer and one policy for special tokens; threads may share it."""

    def __init__(self, engine: Engine, decoder: IdDecoder, special: Any) -> None:
        self._engine, self.decoder, self._special = engine, decoder, special
        self.cuts = ProvedCuts(engine, special)
        self._fast = engine.fast_paths.of(special)
        self._count_ids, self.listed = self._fast.count_ids, self._fast.listed

    def encode(self, text: str) -> Ids:
        """Return the ids of a whole text; surrogates stand for bytes that are not UTF-8."""
        if (found := self._fast.array(text)) is not None or (found := self._fast.array_in_pieces(text)) is not None:
            return found
        try:
            return self._engine.encode(text, self._special)
        except InputError:
            return self._engine.encode(_bytes(text), self._special)  # which names the place of an error

    def after(self, before: Before, text: str) -> Ids:
        """Return the ids of a text that continues another."""
        if not text:
            return NO_IDS
        if before is FRESH:
            return self.encode(text)
        if before.total is not None:
            return self._engine.encoder.encode_on(text, before.total)[0]
        if before.text:
            return self.encode(before.text + text)[before.skip :]
        return self._engine.encode_inside(text, self._special) if before.inside else self.encode(text)

    def count(self, text: str) -> int:
        """Return how many ids a whole text has; InputError for a lone surrogate."""
        if (found := self._count_ids(text)) is None and (found := self._fast.count(text)) is None:
            return len(self._engine.encode(text, self._special))
        return found

    def ends(self, text: str) -> Ids | None:
        """Return how many characters of a text have begun up to the end of each id; None if ids have other bytes."""
        return None if self._begins is None else self._begins.take(self.encode(text)).cumsum(dtype=np.uint32)

    @cached_property
    def _begins(self) -> Ids | None:
        """How many characters begin in the bytes of each id."""
        engine, vocab = self._engine, self._engine.model.vocab
        if engine.normalizer is not None or not (engine.model.lossless and engine.splitter.keeps_text):
            return None
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((vocab.data[: vocab.offsets[-1]] & 0xC0) != 0x80)])
        return np.diff(begins[vocab.offsets]).astype(np.uint32)

    def before(self, text: str, start: int, place: int) -> Before:
        """Return what the text after a proved cut of text[start:] depends on, for scores that do not run across it."""
        if self.cuts.fresh or place == start:
            return FRESH
        near = text[max(start, place - LOOK) : place]
        return Before(near, len(self.encode(near)))

    def spans(self, text: str) -> NDArray[np.int64]:
        """Return the characters of each id of a whole text, shape (n, 2)."""
        found = self._engine.spans.find((text,), self._special)
        return (found.spans if len(found.spans) else found.byte_spans).reshape(-1, 2)

    def upto(self, before: Before, text: str, start: int, place: int) -> tuple[Ids, Before]:
        """Return the ids of text[start:place], up to a proved cut, and what the text after it depends on."""
        if self.cuts.running:
            ids, total = self._engine.encoder.encode_on(text[start:place], before.total)
            return ids, Before(total=total)
        return self.after(before, text[start:place]), self.before(text, start, place)

    def final(self, before: Before, text: str) -> int:
        """Return a number of ids of a text that stay whatever follows it."""
        return len(self.after(before, text[: self.cuts.last(text, 0, len(text))]))

    def settled(self, block: SettledText, text: str, least: int = 0, most: int = 1 << 62) -> tuple[SettledText, str]:
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
            else:
                size *= 8
            if stop == whole:  # then no cut comes after it
                break
        return block, text[start:]


class Growers:
    """The growers of a tokenizer by policy, and what is made with them."""

    def __init__(self, engine: Engine, decoder: IdDecoder) -> None:
        self._engine, self._decoder = engine, decoder
        self._found: dict[Any, Grower] = {}

    def __getitem__(self, special: Any) -> Grower:
        """Return the grower; InputError for what is no policy."""
        key = frozenset(special) if not isinstance(special, str) and isinstance(special, AbstractSet) else special
        if not isinstance(key, str | frozenset) or (found := self._found.get(key)) is None:
            found = Grower(self._engine, self._decoder, key)  # refuses other types
            if len(self._found) >= MOST_GROWERS:
                self._found.clear()
            self._found[key] = found
        return found

    def text(self, text: str, special: Any) -> GrowingText:
        """Return a text that grows."""
        return GrowingText._of(self[special]).append(text)

    def stream(self, special: Any) -> EncodeStream:
        """Return a stream."""
        return EncodeStream._of(self[special])


# ---------------------------------------------------------------------------------------------------------------------
# Versions of a text.

OPEN = 1024  # characters at the end of a version that are encoded again for the next one, at most, if there are cuts
BLOCK = 4096  # characters of a piece, at most
DECODED_BEFORE = 64  # ids before given ones with which these are decoded


def first_difference(a: Ids, b: Ids) -> int:
    """Return how many ids at the beginning of two arrays are equal."""
    size = min(len(a), len(b))
    place = (a[:size] != b[:size]).tobytes().find(1)
    return size if place < 0 else place


class GrowingText:
    """A text and its ids, to which text is appended without encoding all of it again; made by `Tokenizer.growing`.

    Immutable: `append` and `edit` return a new version, which shares the storage of this one, so any number of versions
    may continue one text. The ids of each version are `tok.encode(text)`, but for given ids.
    """

    __slots__ = ("_block", "_grower", "_ids", "_kept", "_limit", "_open", "_was")

    _grower: Grower
    _block: SettledText
    _open: str  # the text after the block
    _limit: int  # more open text than this is moved to blocks; 0: OPEN
    _was: tuple[SettledText, str, Ids | None]  # the version before: its block and open text, whose ids may be known
    _ids: Ids | None  # of the open text, if they were asked for
    _kept: int | None

    @classmethod
    def _of(
        cls,
        grower: Grower,
        block: SettledText = ROOT,
        text: str = "",
        limit: int = 0,
        was: tuple[SettledText, str, Ids | None] = (ROOT, "", NO_IDS),
    ) -> GrowingText:
        if len(text) > (limit or OPEN):
            block, text = grower.settled(block, text, OPEN, BLOCK)
            limit = max(OPEN, 2 * len(text))  # so a text without cuts is searched again when it has doubled
        self = cls.__new__(cls)
        self._grower, self._block, self._open, self._limit, self._was = grower, block, text, limit, was
        self._ids = self._kept = None
        return self

    def append(self, text: str = "", *, ids: Iterable[int] | None = None) -> GrowingText:
        """Return the version with more text, or with the text of given ids, which are kept as they are.

        Text after given ids begins a new part, as after an added token. Raises InputError for a text with a lone
        surrogate, and for an id that does not exist.
        """
        was = self._block, self._open, self._ids
        if ids is None:
            text = self._open + _checked_text(text)
            return GrowingText._of(self._grower, self._block, text, self._limit, was)
        if text:
            raise InputError("expected text or ids, not both")
        return GrowingText._of(self._grower, self._given(ids), "", was=was)

    def _given(self, ids: Iterable[int]) -> SettledText:
        block = self._block
        if self._open:
            block = block.then(self._open, self._open_ids, INSIDE)
        stream = self._grower.decoder.stream(self.ids[-DECODED_BEFORE:], None, False)
        given = as_ids(ids).copy()
        return block.then(stream.step(given) + stream.finish(), given.astype(np.uint32), INSIDE, given=True)

    def edit(self, start: int, stop: int, new: str) -> GrowingText:
        """Return the version in which the characters from `start` to `stop` are replaced.

        The text between the blocks around the change is encoded again. Raises InputError for places outside the text
        or before given ids.
        """
        size = self._block.chars + len(self._open)
        check_integer("start", start, 0, size)
        check_integer("stop", stop, start, size)
        new = _checked_text(new)
        after: list[SettledText] = []
        block, end = self._block, self._open
        while block.parent is not None and not block.given and block.chars + LOOK > start:
            after.append(block)
            block = block.parent
        if start < block.chars:
            raise InputError(f"expected a place after given ids, which end at {block.chars}, not {start}")
        after.reverse()
        text = "".join([each.text for each in after]) + end
        at = block.chars
        joined = text[: start - at] + new + text[stop - at :]
        was = self._block, self._open, self._ids
        kept = [number for number, each in enumerate(after) if each.chars - LOOK >= stop]
        if not kept or self._grower.cuts.running:  # then the change changes all sums after it
            return GrowingText._of(self._grower, block, joined, was=was)
        first = kept[0]
        rest = sum(len(each.text) for each in after[first + 1 :]) + len(end)
        block, changed = self._grower.settled(block, joined[: len(joined) - rest], BLOCK, BLOCK)
        block = block.then(changed, self._grower.after(block.before, changed), after[first].before)
        for each in after[first + 1 :]:
            block = block.then(each.text, each.ids, each.before)
        return GrowingText._of(self._grower, block, end, self._limit, was)

    @property
    def _open_ids(self) -> Ids:
        found = self._ids
        if found is None:
            found = self._ids = self._grower.after(self._block.before, self._open)
            found.flags.writeable = False
        return found

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
        return self._block.total_ids + len(self._open_ids)

    @property
    def kept(self) -> int:
        """How many ids at the beginning are those of the version before."""
        return len(self) - len(self.added) if self._kept is None else self._kept

    @property
    def added(self) -> Ids:
        """The ids after the kept ones, uint32, read-only."""
        block, was, before = self._was
        ours, theirs, now = self._block, block, self._open_ids
        while ours is not theirs:
            if ours.total_ids >= theirs.total_ids and ours.parent is not None:
                ours = ours.parent
            else:
                assert theirs.parent is not None, "all blocks begin with ROOT"
                theirs = theirs.parent
        if self._block is not ours:
            now = np.concatenate([*self._block.ids_after(ours), now])
            now.flags.writeable = False
        if self._kept is None:  # kept, and not the array: that would be a second copy of the ids
            if before is None:
                before = self._grower.after(block.before, was)
            if block is not ours:
                before = np.concatenate([*block.ids_after(ours), before])
            self._kept = ours.total_ids + first_difference(before, now)
        return now[self._kept - ours.total_ids :]

    @property
    def final(self) -> int:
        """A number of ids at the beginning that stay, whatever text is appended (ALGORITHMS.md, G2)."""
        return self._block.total_ids + self._grower.final(self._block.before, self._open)

    @property
    def spans(self) -> NDArray[np.int64]:
        """The characters of each id, int64 of shape (n, 2), as `Encoding.spans`: the whole text is encoded again."""
        at, before, parts = 0, NO_IDS, [np.zeros((0, 2), np.int64)]
        for text, ids, given in self._runs():
            spans = parts[0] if given else self._grower.spans(text)
            if len(spans) != len(ids):
                decoded = np.concatenate([before[-DECODED_BEFORE:], ids])
                whole, spans = self._grower.decoder.with_spans(decoded, False)
                spans = (spans[len(spans) - len(ids) :] - (len(whole) - len(text))).clip(0)
            parts.append(spans + at)
            at, before = at + len(text), ids
        return np.concatenate(parts)

    def _runs(self) -> Iterator[tuple[str, Ids, bool]]:
        """Yield each text that is encoded as one, and that of given ids, with their ids, in order."""
        blocks = [self._block.then(self._open, self._open_ids, INSIDE)]
        while (block := blocks[-1].parent) is not None:
            blocks.append(block)
        texts, arrays = list[str](), list[Ids]()
        for block in reversed(blocks[:-1]):
            texts.append(block.text)
            arrays.append(block.ids)
            if block.before.inside:
                yield "".join(texts), np.concatenate(arrays), block.given
                texts, arrays = [], []

    @property
    def drift(self) -> int | None:
        """The first id that encoding the whole text would change; None if there is none: only given ids differ."""
        ids, whole = self.ids, self._grower.encode(self.text)
        place = first_difference(ids, whole)
        return None if place == len(ids) == len(whole) else place

    def __reduce__(self) -> NoReturn:
        raise InputError("a GrowingText cannot be pickled: keep its text and ids, and tok.growing(text) makes it again")

    def __repr__(self) -> str:
        return f"GrowingText({self._block.chars + len(self._open)} characters, {len(self)} ids)"


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
    ([[1142, 266], [3911]], [396])
    """

    _grower: Grower
    _before = FRESH
    _parts: list[str]  # the open text
    _size = _limit = 0  # its characters, and with how many a cut is sought again
    _half = b""  # of a character
    _is_finished = False

    @classmethod
    def _of(cls, grower: Grower) -> EncodeStream:
        self = cls.__new__(cls)
        self._grower, self._parts = grower, []
        return self

    def feed(self, part: str | bytes) -> Ids:
        """Take the next text, or UTF-8 that may end inside a character; return the ids that are now final, uint32.

        Raises InputError as `Tokenizer.encode` does, and after `finish`; the stream then stays as it was.
        """
        if self._is_finished:
            raise InputError("expected no text after finish(): tok.encode_stream() returns a new stream")
        if isinstance(part, str):
            part = _checked_text(part)
            if self._half:
                raise InputError(f"expected the rest of a character after {self._half!r}, as bytes, not str")
            text, half = part, b""
        elif isinstance(part, bytes):
            decoder = getincrementaldecoder("utf-8")("surrogateescape")
            text = decoder.decode(self._half + exact(part))
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
        first = ROOT._replace(before=self._before)
        block, text = self._grower.settled(first, text)
        self._before, self._parts, self._size, self._half = block.before, [text], len(text), half
        self._limit = 2 * len(text) if len(text) > OPEN else 0
        found = block.ids_after(first)
        return found[0] if len(found) == 1 else np.concatenate([NO_IDS, *found])

    def finish(self) -> Ids:
        """Return the ids of the text that waited; none if called again."""
        if self._is_finished:
            return NO_IDS
        rest = "".join(self._parts) + self._half.decode("utf-8", "surrogateescape")
        ids = self._grower.after(self._before, rest)
        self._is_finished = True
        return ids

    def __reduce__(self) -> NoReturn:
        raise InputError("an EncodeStream cannot be copied or pickled: it belongs to one text")

    def __repr__(self) -> str:
        return f"EncodeStream({self._size} characters wait{', finished' if self._is_finished else ''})"
