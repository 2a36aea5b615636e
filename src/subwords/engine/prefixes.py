"""Which ids can begin the encoding of a text, and how a text may go on: exact, or refused (X1 to X3)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.encoder import Encoder
from subwords.engine.engine import escaped_prefix
from subwords.engine.fast_path import FastPath
from subwords.engine.growing import ProvedCuts
from subwords.engine.open_words import late_borders, read_borders
from subwords.kernels.layout import CODE_POINTS, REACH
from subwords.spec.normalizer import SentencePiece
from subwords.spec.splitter import NAMED, Split
from subwords.spec.token_batch import as_ids
from subwords.split.splitter import SplitterEngine
from subwords.support.checks import check_integer, encode_text
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.decode.token_table import TokenTable
    from subwords.engine.engine import Engine

Ids: TypeAlias = tuple[int, ...]
SPACE = "▁"
SURROGATES = range(0xD800, 0xE000)
SAVED = 1  # of places, which are at most 0: the saved place, wherever it is
TRIED = 96  # characters of a class, or single characters, that are tried after ids
MOST_TRIED = 1 << 13
NEAR = 64  # characters of a text that is not cut
FEW = 64  # texts that are encoded one by one
BATCH = 16  # tokens that are tried at once, at first
MOST_CONTINUATIONS = 1 << 24
NO_CLASSES = frozenset[int]()


@dataclass(frozen=True)
class PrefixCheck:
    """Whether ids can begin the encoding of a text; true if they can.

    index: that of the first id that cannot follow those before it; None if all can.
    """

    index: int | None

    def __bool__(self) -> bool:
        return self.index is None


@dataclass(frozen=True)
class Continuations:
    """All ways in which the ids of a text with some prefix may begin: the covering tree, by its leaves.

    rows: lists of ids; the bytes of each begin with the prefix, and its last id ends at or after the end of the prefix.
    complete: whether these are all.
    """

    rows: tuple[Ids, ...]
    complete: bool

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Ids]:
        return iter(self.rows)


@dataclass(frozen=True)
class Healing:
    """How a text can go on: the ids that every longer text keeps, how many are taken back, and the bytes that follow.

    ids: a tuple. taken: how many ids at the end are taken back. data: the bytes of these, with which the text goes on.
    """

    ids: Ids
    taken: int
    data: bytes


class SplitWay(NamedTuple):
    """One way to split a text, and its ids. closed: a word ends at its end. paths: classes of characters after it."""

    ids: Ids
    closed: bool
    paths: list[tuple[int, ...]]


class TreeNode(NamedTuple):
    """A beginning of a text with one way to split it: its ids, and the classes before which a word may then begin."""

    ids: Ids
    classes: frozenset[int]


class UndecidedError(Exception):
    """No text is found that ids begin, and there is no proof that there is none."""


def refusal(engine: Engine) -> str | None:
    """Return why nothing is proved for a tokenizer; None if it is supported."""
    segmenter, rule = engine.segmenter, engine.splitter.rule
    if segmenter.unproved is not None:
        return segmenter.unproved
    if segmenter.marks_words:
        return None if rule == NAMED["bert"] else "WordPiece with another splitter than BERT's"
    if engine.model.byte_level and not (segmenter.goes_on and engine.normalizer is None):
        return "byte-level BPE with a normalizer, or without all bytes"
    if not all(isinstance(step, Split) for step in rule):
        return "a splitter that changes text"
    if engine.splitter.machine is None:
        return "a splitter that is not one automaton"
    if not segmenter.apart and max(late_borders(engine.splitter.machine)[0]) > 1:
        return "a model whose scores run across words, with a splitter that looks ahead"
    return None


class Prefixes:
    """Answers for one tokenizer and one policy for special tokens."""

    def __init__(self, engine: Engine, table: TokenTable, special: Any) -> None:
        self._engine, self._table, self._special = engine, table, special
        if (why := refusal(engine)) is not None:
            raise InputError(f"prefixes are not proved for this tokenizer: it has {why}")
        finder = engine.added.finder(special)
        self._added = {token.id: text for text, token in finder.literal.tokens.items()}
        flagged = any(t.single_word or t.lstrip or t.rstrip for t in finder.literal.tokens.values())
        if finder.normalized.tokens or flagged:
            flags = "normalized, single_word, lstrip or rstrip"
            raise InputError(f"prefixes are not proved with added tokens that have {flags}")
        self._finder, model = finder, engine.model
        self.byte_level = model.byte_level
        self._vocab = [*model.vocab]
        for byte, index in enumerate(model.byte_ids.tolist()):
            if index >= 0:
                self._vocab[index] = bytes([byte])
        self._byte_ids = frozenset(index for index in model.byte_ids.tolist() if index >= 0 and not self.byte_level)
        self._by_words = engine.segmenter.marks_words
        if self._by_words:
            return
        machine = engine.splitter.machine
        assert machine is not None, "refused above"
        self._machine, (self._future, self._uses) = machine, late_borders(machine)
        self._late = max(self._future) > 1 or any(self._uses)
        self._known: dict[tuple[int, bool, frozenset[int] | None], dict[frozenset[int], list[tuple[int, ...]]]] = {}
        self._cuts = ProvedCuts(engine, special)
        self._encoder = engine.normalized_encoder
        self._quick = engine.fast_paths["text"].encode
        self._words = Encoder(engine.segmenter, SplitterEngine(()))
        self._quick_word = FastPath(self._words.slot).encode

    # ------------------------------------------------------------------ is_prefix

    def check(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> PrefixCheck:
        """Return whether ids can begin an encoding; see `Tokenizer.is_prefix`."""
        flat = as_ids(ids)
        size = len(self._vocab)
        outside = (flat < 0) | (flat >= size)
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"expected ids from 0 to {size - 1}; ids[{at}] is {flat[at]}")
        row = flat.tolist()
        unknown = self._engine.model.unk_id
        if unknown is not None and unknown in row:
            raise InputError(f"prefixes are not proved with unknown text: ids[{row.index(unknown)}] is the unknown id")
        try:
            return PrefixCheck(self._first_wrong(row))
        except UndecidedError:
            raise InputError(
                "prefixes are not proved for these ids: no text was found that has them, but the normalizer or the "
                "splitter might make them of another one"
            ) from None

    def _first_wrong(self, row: list[int]) -> int | None:
        if self._can_begin(row):
            return None
        low, high, known = 0, len(row), self._shared(row)  # row[:low] can, row[:high] cannot
        if known and self._engine.normalizer is not None and not self._can_begin(row[:known]):
            high, known = known, 0
        start = self._cut_before(row[:known])
        row, low, high, step = row[start:], known - start, high - start, 1
        while low + step < high and self._can_begin(row[: low + step]):  # it is near, as a rule
            low, step = low + step, 2 * step
        high = min(high, low + step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._can_begin(row[:middle]) else (low, middle)
        return start + high - 1

    def _cut_before(self, row: list[int]) -> int:
        """Return how many ids are before the last proved cut of their text, which they are the ids of."""
        if len(row) < NEAR or self._by_words or not self._cuts.fresh or not self._late:
            return 0
        data = self._bytes(row)
        text, _ = _whole_characters(data)
        if text is None:
            return 0
        size = len(text[: self._cuts.last(text, 0, len(text))].encode())
        ends = np.cumsum([len(self._vocab[index]) for index in row])
        return int(np.searchsorted(ends, size, "right")) if size else 0

    def _shared(self, row: list[int]) -> int:
        """Return how many ids at the beginning those of their own text share with them."""
        if self._by_words or self._added.keys() & {*row}:
            return 0
        text, _ = _whole_characters(self._bytes(row))
        found = self._inner(text) if text is not None else []
        return next((k for k, (a, b) in enumerate(zip(row, found, strict=False)) if a != b), min(len(row), len(found)))

    def _can_begin(self, row: Sequence[int]) -> bool:
        """Whether some text has an encoding that begins with these ids; raises UndecidedError."""
        ends = [at for at, index in enumerate(row) if index in self._added] if self._added else []
        if not ends:
            return self._witness(row) is not None
        text, start = "", 0
        for at in ends:
            part = row[start:at]
            found = self._witness(part, whole=True) if part else ""
            if found is None:
                return False
            text, start = text + found + self._added[row[at]], at + 1
        last = self._witness(row[start:]) if start < len(row) else ""
        if last is None:
            return False
        return self._begins(text + last, row) or _undecided()

    def _begins(self, text: str, row: Sequence[int]) -> bool:
        try:
            return bool(self._engine.encode(text, self._special)[: len(row)].tolist() == [*row])
        except InputError:
            return False

    def _witness(self, row: Sequence[int], *, whole: bool = False) -> str | None:
        """Return a text whose encoding begins with these ids, or is them (whole); None if there is none."""
        if not row:
            return ""
        if self._by_words:
            return self._words_witness(row, whole)
        text, half = _whole_characters(self._bytes(row))
        if text is None or (whole and half) or (self._finder and self._finder.literal.occurs(text)):
            return None
        if not self.byte_level and half:
            return self._half_witness(row, text, half)
        undecided = False
        if not half and self._inner(text) == [*row]:
            found = self._lifted(text, row, whole)
            if found is not None:
                return found
            undecided = not self._never_made(text)
        if whole or not (half or self._late):
            return _undecided() if undecided else None
        for each in self._rows(text, half):
            if each.ids != tuple(row):
                continue
            for more in self._after(each, half):
                if (found := self._lifted(text, row, whole, more)) is not None:
                    return found
            undecided = True
        return _undecided() if undecided else None

    def _bytes(self, row: Sequence[int]) -> bytes:
        vocab = self._vocab
        return b"".join([vocab[index] for index in row])

    def _inner(self, text: str) -> list[int]:
        """Return the ids of normalized text."""
        if self._engine.normalizer is None and (quick := self._quick(text)) is not None:
            return quick
        try:
            found: list[int] = self._encoder.encode(text.encode()).tolist()
        except InputError:
            return []
        return found

    def _lifted(self, text: str, row: Sequence[int], whole: bool, more: str | None = None) -> str | None:
        """Return a text that is normalized to this one, then others, and has these ids; None if none is found."""
        normalizer = self._engine.normalizer
        if normalizer is None:
            found = text + (more or "")
            return found if more is None or self._begins(found, row) else None
        bare = text.removeprefix(SPACE)
        texts = [*dict.fromkeys([bare.replace(SPACE, " "), bare, text.replace(SPACE, " "), text])]
        if whole:
            return next((each for each in texts if self._engine.encode(each, self._special).tolist() == [*row]), None)
        for end in ("", *self._singles) if more is None else (more,):
            for each in texts:
                if self._begins(each + end, row):
                    return each + end
        return None

    def _never_made(self, text: str) -> bool:
        """Whether the normalizer escapes all spaces, or begins all text with one, and this text has or lacks one."""
        steps = self._engine.normalizer.steps if self._engine.normalizer else ()
        match steps:
            case (SentencePiece(_, add_dummy_prefix=before, escape_whitespaces=True, whitespace_suffix=False),):
                return " " in text or (before and not text.startswith(SPACE))
        prefix = escaped_prefix(steps)
        return prefix is not None and (" " in text or (bool(prefix) and not text.startswith(SPACE)))

    @cached_property
    def _singles(self) -> list[str]:
        """Characters that are tried after a text: those of the vocabulary, and others."""
        found = [token.decode() for token in self._vocab if len(token) == 1 and 0x20 <= token[0] < 0x7F]
        return [*dict.fromkeys([*found, "a", "1", ".", "中", "\u0378", "\U0010fffd"])][:TRIED]

    def _half_witness(self, row: Sequence[int], text: str, half: bytes) -> str | None:
        """Return a text with an unknown character that begins with the bytes of the last ids."""
        count = len(half)
        known = {token.decode() for token in self._vocab if len(token) <= 4 and _is_character(token)}
        if not self._byte_ids.issuperset(row[-count:]) or (row[:-count] and self._witness(row[:-count]) is None):
            return None
        unknown = [char for char in map(chr, _completions(half)) if char not in known]
        for char in unknown[:: max(1, len(unknown) // TRIED)]:
            if (found := self._lifted(text, row, False, char)) is not None:
                return found
        return _undecided() if unknown and self._inner(text) == [*row[:-count]] else None

    def _words_witness(self, row: Sequence[int], whole: bool) -> str | None:
        """WordPiece: words are joined by spaces."""
        model, words, ids = self._engine.model, list[bytes](), list[list[int]]()
        for index in row:
            token = self._vocab[index]
            if not model.continues(token):
                words.append(b"")
                ids.append([])
            elif not words:
                return None
            words[-1] += model.without_marks(token)
            ids[-1].append(index)
        try:
            text = b" ".join(words).decode()
            if self._engine.encode(text, self._special).tolist() == [*row]:
                return text
            alone = [self._encoder_of_words.encode(word).tolist() for word in words]
        except UnicodeDecodeError:
            return None
        return _undecided() if alone == ids else None

    @cached_property
    def _encoder_of_words(self) -> Any:
        return self._engine.normalized_encoder

    # ------------------------------------------------------------------ splits that texts to come decide

    def _rows(self, text: str, half: bytes) -> Iterator[SplitWay]:
        """Yield the ways to split a text and the bytes of half a character, with their ids."""
        cut = self._cuts.last(text, 0, len(text)) if self._cuts.fresh and len(text) > NEAR else 0
        head = tuple(self._inner(text[:cut])) if cut else ()
        tail = text[cut:]
        borders, state, saved = read_borders(self._machine, tail)
        firsts = frozenset(self._machine.classes[_completions(half)].tolist()) if half else None
        size = len(tail)
        known = {0, *(border for border in borders if 0 < border <= size)}
        ways, needed = list[tuple[list[bytes], bool, list[tuple[int, ...]]]](), dict[bytes, int]()
        for late, paths in self._futures(state, saved is not None, firsts).items():
            places = known | {size + back for back in late if back != SAVED}
            if SAVED in late and saved is not None:
                places.add(saved)
            ends = sorted(place for place in places if 0 <= place <= size)
            closed = size in places and not half
            if closed and len(ends) > 1:
                ends.pop()
            words = [tail[a:b].encode() for a, b in pairwise(ends)] + [tail[ends[-1] :].encode() + half]
            ways.append(([word for word in words if word], closed, paths))
            for word in ways[-1][0]:
                needed.setdefault(word, len(needed))
        encoded = self._encode_words([*needed])
        for words, closed, paths in ways if encoded else ():
            yield SplitWay(head + tuple(index for word in words for index in encoded[needed[word]]), closed, paths)

    def _encode_words(self, words: list[bytes]) -> list[list[int]]:
        if self.byte_level and len(words) <= FEW:
            return [*map(self._encode_word, words)]
        if not words:
            return []
        bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
        try:
            return self._encoder.encode_words(np.frombuffer(b"".join(words), np.uint8), bounds).to_lists()
        except InputError:
            return []

    def _encode_word(self, word: bytes) -> list[int]:
        found = self._quick_word(word.decode()) if _is_text(word) else None
        if found is None:
            found = self._words.encode(word).tolist()  # which makes the next call quick
        return found

    def _futures(
        self, state: int, has_saved: bool, firsts: frozenset[int] | None
    ) -> dict[frozenset[int], list[tuple[int, ...]]]:
        """Return the borders that texts to come put at the end of a text or before: each with classes that do so.

        Places are counted from the end: 0 and less. firsts: the classes of the first character; None: any, or none.
        """
        key = (state, has_saved, firsts)
        if key in self._known:
            return self._known[key]
        machine, found = self._machine, dict[frozenset[int], list[tuple[int, ...]]]()
        end = machine.count
        for first in [*sorted(firsts)] if firsts is not None else [end, *range(end)]:
            waiting = deque([(state, frozenset[int](), SAVED if has_saved else None, tuple[int, ...]())])
            seen = set[tuple[int, frozenset[int], int | None, int]]()
            while waiting:
                at, late, saved, path = waiting.popleft()
                age = len(path)
                for kind in [first] if not path else [end, *range(end)]:
                    places = {age - back for back in range(REACH + 1) if int(machine.borders[at, kind]) >> back & 1}
                    more = late | {place for place in places if place <= 0}
                    if machine.emits[at, kind] and saved is not None and saved <= SAVED and saved != 2:
                        more |= {saved}
                    kept = (age - REACH if age <= REACH else 2) if machine.saves[at, kind] else saved
                    after, longer = int(machine.moves[at, kind]), (*path, kind)
                    open_ = kind != end and (
                        self._future[after] >> age + 1 or (self._uses[after] and kept is not None and kept != 2)
                    )
                    if not open_:
                        found.setdefault(frozenset(more), [])
                        if all(known[0] != first for known in found[frozenset(more)]):
                            found[frozenset(more)].append(longer)
                        continue
                    config = (after, frozenset(more), kept, min(age, REACH + 1))
                    if config not in seen:
                        seen.add(config)
                        waiting.append((after, frozenset(more), kept, longer))
        self._known[key] = found
        return found

    @cached_property
    def _members(self) -> list[NDArray[np.int64]]:
        """The characters of each class, those of ASCII and the rarest first."""
        classes = self._machine.classes[:CODE_POINTS].astype(np.int64)
        classes[SURROGATES.start : SURROGATES.stop] = -1
        model = self._engine.model
        if not (self.byte_level or model.byte_fallback) and model.unk_id is None:  # all others are errors
            known = np.zeros(CODE_POINTS, np.bool_)
            known[[ord(token.decode()) for token in self._vocab if len(token) <= 4 and _is_character(token)]] = True
            classes[~known] = -1
        return [np.flatnonzero(classes == kind) for kind in range(self._machine.count)]

    def _after(self, row: SplitWay, half: bytes) -> Iterator[str]:
        """Yield texts that put the borders of a row, to be tried: none if its word ends anyway."""
        end = self._machine.count
        for path in row.paths:
            if any(kind != end and not len(self._members[kind]) for kind in path):
                continue
            rest = "".join(chr(int(self._members[kind][0])) for kind in path[1:] if kind != end)
            if path[0] == end:
                yield rest
                continue
            codes = self._members[path[0]]
            if half:
                codes = codes[np.isin(codes, _completions(half))]
            most = 1 if row.closed else MOST_TRIED if half else TRIED
            chosen = codes if len(codes) <= most else np.concatenate([codes[: most // 2], codes[-(most + 1) // 2 :]])
            for code in chosen.tolist():
                yield chr(code) + rest
            if not (row.closed or half):
                firsts = {*codes.tolist()}
                yield from (token + rest for token in self._texts if ord(token[0]) in firsts)

    @cached_property
    def _texts(self) -> list[str]:
        """Tokens that are text, the first ones."""
        texts = (token.decode() for token in self._vocab if token and _is_text(token))
        return [*islice(texts, MOST_TRIED)]

    # ------------------------------------------------------------------ continuations

    def continuations(self, prefix: bytes, limit: int) -> Continuations:
        """Return the covering tree of a prefix; see `Tokenizer.continuations`."""
        if not isinstance(prefix, bytes):
            raise InputError(f"expected a prefix as bytes, not {type(prefix).__name__}")
        check_integer("limit", limit, 1, MOST_CONTINUATIONS)
        try:
            rows = list(islice(self._leaves(self._model_bytes(prefix)), limit + 1))
        except UndecidedError:
            raise InputError(
                "continuations are not proved for this prefix: with more text, the splitter might cut it in another way"
            ) from None
        return Continuations(tuple(rows[:limit]), len(rows) <= limit)

    def heal(self, text: str | Iterable[int]) -> Healing:
        """Return which ids stay whatever follows; see `Tokenizer.heal`."""
        if isinstance(text, str):
            row = tuple(self._engine.encode(text, self._special).tolist())
            data = encode_text(text)
        else:
            row = tuple(as_ids(text).tolist())
            data = b""
        start = max((at + 1 for at, index in enumerate(row) if index in self._added), default=0)
        last = row[start:]
        if not isinstance(text, str) or start:
            self.check(last)  # of ids that exist
            data = self._table_bytes(last)
        prefix = self._model_bytes(data) if isinstance(text, str) and not start else self._bytes_in_text(last)
        try:
            kept = self._kept(prefix, last)
        except UndecidedError:
            raise InputError(
                "heal is not proved for this text: with more text, the splitter might cut it in another way"
            ) from None
        return Healing(row[: start + kept], len(last) - kept, self._table_bytes(last[kept:]))

    def _table_bytes(self, row: Sequence[int]) -> bytes:
        return b"".join(self._table[index] for index in row)

    def _bytes_in_text(self, row: Sequence[int]) -> bytes:
        return self._bytes(row).replace(SPACE.encode(), b" ") if self._engine.normalizer else self._bytes(row)

    def _model_bytes(self, prefix: bytes) -> bytes:
        """Return what the model reads of a text that begins with a prefix, with spaces for U+2581."""
        engine = self._engine
        if self._by_words:
            raise InputError("continuations are not proved for WordPiece: one letter may make a whole word unknown")
        if engine.normalizer is None:
            before = b""
        else:
            found = escaped_prefix(engine.normalizer.steps)
            if found is None:
                raise InputError("continuations are not proved with a normalizer that does more than escape spaces")
            before, prefix = found, prefix.replace(SPACE.encode(), b" ")
        if not self.byte_level and _whole_characters(prefix)[1:] != (b"",):
            raise InputError("expected a prefix of whole characters for a model of characters")
        if _whole_characters(prefix)[0] is None:
            raise InputError("expected a prefix in UTF-8, which may end inside a character")
        return before + prefix if prefix else b""

    def _escaped(self, data: bytes) -> bytes:
        return data.replace(b" ", SPACE.encode()) if self._engine.normalizer is not None else data

    def _leaves(self, prefix: bytes) -> Iterator[Ids]:
        """Yield the leaves of the covering tree: those whose last token begins first come first."""
        if not prefix:
            yield ()
            return
        head, prefix, places = self._from_cut(prefix)
        for place in places:
            for node in self._nodes(prefix[:place]):
                for ids in self._longer(prefix, place, node):
                    yield head + ids
        for node in self._nodes(prefix):
            if self._can_begin(node.ids):
                yield head + node.ids

    def _from_cut(self, prefix: bytes) -> tuple[Ids, bytes, list[int]]:
        """Return the ids before the last proved cut, the prefix after it, and the places there: see `_places`."""
        places = self._places(prefix)
        first = places[0] if places else len(prefix)
        text, _ = _whole_characters(prefix[:first])
        if not self._late or not self._cuts.fresh or not text:
            return (), prefix, places
        cut = self._cuts.last(text, 0, len(text))
        size = len(text[:cut].encode())
        return tuple(self._inner(text[:cut])), prefix[size:], [place - size for place in places]

    def _kept(self, prefix: bytes, row: Ids) -> int:
        """Return how many ids at the beginning all leaves share with a row."""
        if not prefix:
            return 0
        head, prefix, places = self._from_cut(prefix)
        if row[: len(head)] != head:
            return _common(head, row)
        row, best = row[len(head) :], len(row) - len(head)
        for node in self._nodes(prefix):
            if (shared := _common(node.ids, row)) < best and self._can_begin(node.ids):
                best = shared
        found = [(_common(node.ids, row), place, node) for place in places for node in self._nodes(prefix[:place])]
        for shared, place, node in sorted(found, key=lambda each: each[:2]):
            if shared < best and next(self._longer(prefix, place, node), None) is not None:
                best = shared
                break
        return len(head) + best

    def _places(self, prefix: bytes) -> list[int]:
        """Return the places of a prefix from where a token may go beyond its end."""
        first = max(0, len(prefix) - self._table.longest + 1)
        places = range(first, len(prefix)) if self.byte_level else _character_places(prefix, first)
        return [place for place in places if self._beyond(prefix[place:])]

    def _beyond(self, data: bytes) -> range:
        """Return the places in the sorted tokens of those that begin with some bytes and are longer."""
        tokens = self._table.trie.tokens
        first = bisect_right(tokens, data)
        if first == len(tokens) or not tokens[first].startswith(data):
            return range(0)
        return range(first, bisect_left(tokens, True, first, key=lambda token: token[: len(data)] > data))

    def _nodes(self, data: bytes) -> list[TreeNode]:
        """Return the ways on which a beginning of a text may be encoded."""
        text, half = _whole_characters(self._escaped(data))
        assert text is not None, "checked"
        if not data:
            return [TreeNode((), NO_CLASSES)]
        if not half and not self._late:
            return [TreeNode(tuple(self._inner(text)), NO_CLASSES)]
        found: dict[Ids, frozenset[int]] = {}
        for row in self._rows(text, half):
            classes = frozenset(path[0] for path in row.paths) if row.closed else NO_CLASSES
            found[row.ids] = found.get(row.ids, NO_CLASSES) | classes
        return [TreeNode(ids, classes) for ids, classes in found.items()]

    def _longer(self, prefix: bytes, place: int, node: TreeNode) -> Iterator[Ids]:
        """Yield the leaves that are the ids of a node and a token that goes beyond the end of the prefix."""
        beyond = self._beyond(prefix[place:])
        ids, tokens = self._table.trie.ids[beyond.start : beyond.stop], self._table.trie.tokens
        places = beyond.start + np.flatnonzero(self._reachable[ids])
        base, size, row = prefix[:place], BATCH, node.ids
        while len(places):
            now, places, size = places[:size], places[size:], 4 * size
            some = ids[now - beyond.start].tolist()
            texts = [self._escaped(base + tokens[at]) for at in now.tolist()]
            whole = [_is_text(text) for text in texts]
            rows = iter(self._encode_all([text for text, is_whole in zip(texts, whole, strict=True) if is_whole]))
            rest = list[int]()
            for index, is_whole in zip(some, whole, strict=True):
                if is_whole and next(rows) == [*row, index]:
                    yield (*row, index)
                elif self._late or not is_whole:
                    rest.append(index)
            for index in self._may_follow(row, rest, node.classes):
                if self._can_begin((*row, index)):
                    yield (*row, index)

    def _may_follow(self, row: Ids, ids: list[int], classes: frozenset[int]) -> list[int]:
        """Return those tokens that stay apart from the last one inside a word, or before which a word may begin."""
        if not row or not ids:
            return ids
        last, tokens = self._vocab[row[-1]], [self._vocab[index] for index in ids]
        found = self._encode_words([last + token for token in tokens])
        if not found:
            return ids
        each = zip(ids, found, tokens, strict=True)
        return [i for i, pair, token in each if pair == [row[-1], i] or not classes.isdisjoint(self._firsts(token))]

    def _firsts(self, token: bytes) -> set[int]:
        """Return the classes that the first character of a token may have; none if it begins inside a character."""
        size = 1 + (token[0] >= 0xC0) + (token[0] >= 0xE0) + (token[0] >= 0xF0)
        text, half = _whole_characters(token[:size])
        codes = [ord(text[0])] if text else _completions(half) if half else []
        return {*self._machine.classes[codes].tolist()}

    def _encode_all(self, texts: list[bytes]) -> list[list[int]]:
        """Return the ids of normalized texts; none for one that has none."""
        if not texts:
            return []
        if len(texts) <= FEW:
            return [self._inner(text.decode()) for text in texts]
        try:
            return self._encoder.encode_batch(texts, 1).to_lists()
        except InputError:
            return [self._inner(text.decode()) for text in texts]

    @cached_property
    def _reachable(self) -> NDArray[np.bool_]:
        """Which ids are what the model makes of their own text: all others are in no encoding."""
        found = np.zeros(len(self._vocab), np.bool_)
        special = self._engine.model.special_ids - self._byte_ids
        words = {index: token for index, token in enumerate(self._vocab) if token and index not in special}
        if self._byte_ids:
            found[[*self._byte_ids]] = True
            words = {index: token for index, token in words.items() if index not in self._byte_ids}
        rows = self._encode_words([*words.values()])
        found[[index for index, row in zip(words, rows, strict=True) if row == [index]]] = True
        return found


def _undecided() -> Any:
    raise UndecidedError


def _common(one: Ids, other: Ids) -> int:
    same = (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(same, min(len(one), len(other)))


def _whole_characters(data: bytes) -> tuple[str | None, bytes]:
    """Return the text of some bytes, and those at the end that begin a character; None for other bytes."""
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        half = data[error.start :]
        if error.end < len(data) or not half or len(half) > 3 or not _completions(half).size:
            return None, b""
        return data[: error.start].decode(), half


def _character_places(data: bytes, first: int) -> list[int]:
    return [place for place in range(first, len(data)) if data[place] >> 6 != 2]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_character(data: bytes) -> bool:
    return _is_text(data) and len(data.decode()) == 1


def _completions(half: bytes) -> NDArray[np.int64]:
    """Return the characters whose UTF-8 begins with some bytes; none if there are none."""
    lead = half[0]
    size = 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 0
    if len(half) >= size or any(byte >> 6 != 2 for byte in half[1:]):
        return np.zeros(0, np.int64)
    low = lead & (0x7F >> size)
    for byte in half[1:]:
        low = low << 6 | byte & 0x3F
    shift = 6 * (size - len(half))
    first, stop = low << shift, (low + 1) << shift
    codes = np.arange(max(first, (0, 0, 0x80, 0x800, 0x10000)[size]), min(stop, CODE_POINTS))
    return codes[(codes < SURROGATES.start) | (codes >= SURROGATES.stop)]
