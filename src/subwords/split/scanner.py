"""Splitters: text in, the ends of its words out, by the fastest route that is exact for the rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.split.rules import RULES
from subwords.split.unicode import UNICODE_VERSION, gpt2_classes

if TYPE_CHECKING:
    import regex

__all__ = ["Gpt2Splitter", "Marks", "RegexSplitter", "Splitter", "splitter"]

Bytes = NDArray[np.uint8]

# Words a scan writes at once: small enough that their ends stay in the processor's second cache.
CHUNK_WORDS = 32768
CHUNK_TEXTS = 1024
# Offsets are relative to a chunk and 32 bits wide; a scan that cannot end a word by then says so.
LONGEST_WORD = 2**31
NEAR = 8  # bytes: a blank of three and a character cut after it


class Marks:
    """Reusable room for the word ends of one chunk, owned by one thread at a time."""

    __slots__ = ("ends", "tail", "words")

    def __init__(self, words: int = CHUNK_WORDS) -> None:
        self.ends = np.empty(words + 1, np.uint32)
        self.words = np.empty(CHUNK_TEXTS + 1, np.int64)
        self.tail = np.empty(64, np.uint8)


class Splitter(ABC):
    """A pre-tokenization rule: where the words of a text end.

    Attributes: `name`, the rule's name or None; `pattern`, its regex; `compiled`, whether no regex engine runs.
    """

    name: str | None
    pattern: str
    compiled: bool

    @abstractmethod
    def chunks(self, text: Bytes, start: int, stop: int, marks: Marks) -> Iterator[tuple[int, NDArray[np.uint32], int]]:
        """Yield (base, ends, count): `count` words of text[start:stop] end at base + ends[i]; `ends` is reused."""

    def texts(
        self, text: Bytes, bounds: NDArray[np.int64], marks: Marks
    ) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.int64], bool]]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order.

        Yield (base, ends, words, complete): the next len(words) texts, text i having words[i] words by its end, word j
        ending at base + ends[j]. Where `complete` is False the text goes on in the next item. All is reused.
        """
        for start, stop in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
            yield from self._long_text(text, start, stop, marks)

    def _long_text(
        self, text: Bytes, start: int, stop: int, marks: Marks
    ) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.int64], bool]]:
        words = marks.words[:1]
        words[0] = 0
        if start == stop:
            yield start, marks.ends, words, True
        for base, ends, count in self.chunks(text, start, stop, marks):
            words[0] = count
            yield base, ends, words, base + int(ends[count - 1]) == stop

    def short(self, text: Bytes, marks: Marks) -> int:
        """Split a text shorter than CHUNK_WORDS in one step: write marks.ends and return their number, or -1."""
        return -1

    @abstractmethod
    def cut(self, text: Bytes, at: int) -> int:
        """Return the last place in text[:at] where cutting changes no word whatever follows, or 0 (S4)."""

    @property
    def identity(self) -> str:
        """What makes two splitters the same rule: counts made with one may be trained on with the other."""
        return self.pattern

    @property
    def unicode_version(self) -> str:
        """The version its character classes come from."""
        if self.compiled:
            return UNICODE_VERSION
        import regex

        return f"of regex {regex.__version__}"

    def split(self, text: str) -> list[str]:
        """Return the words of a text.

        >>> import subwords
        >>> subwords.splitter("gpt2").split("Hello, world's end")
        ['Hello', ',', ' world', "'s", ' end']
        """
        data = encode_text(text)
        offsets = [0, *self.byte_ends(data).tolist()]
        return [data[a:b].decode() for a, b in pairwise(offsets)]

    def byte_ends(self, data: bytes) -> NDArray[np.int64]:
        """Return the byte offset where each word of `data` ends, int64; `data` need not be UTF-8 (S2)."""
        text = np.frombuffer(data, np.uint8)
        parts = [ends[:n].astype(np.int64) + base for base, ends, n in self.chunks(text, 0, len(text), Marks())]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class Gpt2Splitter(Splitter):
    """GPT-2's rule by a compiled scanner, exact on every byte sequence."""

    name = "gpt2"
    pattern = RULES["gpt2"]
    compiled = True

    def __init__(self) -> None:
        self._classes = gpt2_classes()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Gpt2Splitter, ()

    @cached_property
    def _split(self) -> Callable[..., int]:
        from subwords.kernels.split_gpt2 import split_gpt2

        return split_gpt2.ready()

    def short(self, text: Bytes, marks: Marks) -> int:
        """Split a short text in one call."""
        return self._split(text, 0, len(text), self._classes, marks.tail, marks.ends)

    def chunks(self, text: Bytes, start: int, stop: int, marks: Marks) -> Iterator[tuple[int, NDArray[np.uint32], int]]:
        """Yield word ends chunk by chunk."""
        ends, tail, classes = marks.ends, marks.tail, self._classes
        while start < stop:
            window = min(stop, start + LONGEST_WORD)
            count = self._split(text, start, window, classes, tail, ends)
            if window < stop:  # what ends near the window's end might go on, and a character may be cut in two there
                count = int(np.searchsorted(ends[:count], LONGEST_WORD - NEAR, side="right"))
                if not count:
                    raise InputError(f"expected words under 2 GiB; the one at byte {start} is longer")
            yield start, ends, count
            start += int(ends[count - 1])

    def texts(
        self, text: Bytes, bounds: NDArray[np.int64], marks: Marks
    ) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.int64], bool]]:
        """Split many texts, hundreds a call where they are short."""
        from subwords.kernels.split_gpt2 import split_gpt2_many

        first = 0
        while first < len(bounds) - 1:
            last = split_gpt2_many(text, bounds, first, self._classes, marks.tail, marks.ends, marks.words)
            if last == first:
                yield from self._long_text(text, int(bounds[first]), int(bounds[first + 1]), marks)
                last += 1
            else:
                yield int(bounds[first]), marks.ends, marks.words[1 : last - first + 1], True
            first = last

    def cut(self, text: Bytes, at: int) -> int:
        """Cut before an ASCII blank that follows an ASCII non-blank: a run of blanks starts a word, always."""
        for width in (256, 65536, at):
            window = text[max(0, at - width) : at]
            blank = (window == 32) | ((window >= 9) & (window <= 13))
            found = np.flatnonzero(blank[1:] & ~blank[:-1] & (window[:-1] < 128))
            if len(found):
                return int(at - len(window) + found[-1] + 1)
        return 0

    def __repr__(self) -> str:
        return "Splitter('gpt2', route: compiled scanner)"


class RegexSplitter(Splitter):
    """Any other pattern, by the `regex` package: exact and slow. Text between matches is a word of its own."""

    name = None
    compiled = False

    def __init__(self, pattern: str) -> None:
        import regex

        self.pattern = pattern
        try:
            self._regex: regex.Pattern[str] = regex.compile(pattern)
        except regex.error as error:
            names = ", ".join(RULES)
            raise InputError(f"expected a splitter's name ({names}) or a regex; {pattern!r}: {error}") from None

    def chunks(self, text: Bytes, start: int, stop: int, marks: Marks) -> Iterator[tuple[int, NDArray[np.uint32], int]]:
        """Yield word ends of the whole text in one chunk after another."""
        # surrogateescape makes each invalid byte a character of no class (S2).
        string = text[start:stop].tobytes().decode("utf-8", "surrogateescape")
        bounds = np.array(self._bounds(string), np.int64)
        if not string.isascii():
            widths = [len(string[a:b].encode("utf-8", "surrogateescape")) for a, b in pairwise(bounds)]
            bounds = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
        for first in range(0, len(bounds) - 1, CHUNK_WORDS):
            part = bounds[first : first + CHUNK_WORDS + 1]
            yield start + int(part[0]), (part[1:] - part[0]).astype(np.uint32), len(part) - 1

    def _bounds(self, string: str) -> list[int]:
        bounds = [0]
        for match in self._regex.finditer(string):
            for bound in match.span():
                if bound > bounds[-1]:
                    bounds.append(bound)
        if len(string) > bounds[-1]:
            bounds.append(len(string))
        return bounds

    def cut(self, text: Bytes, at: int) -> int:
        """Never cut: nothing is known about the pattern."""
        return 0

    def __repr__(self) -> str:
        return f"Splitter({self.pattern!r}, route: regex package)"


def splitter(rule: str | Splitter) -> Splitter:
    r"""Return the splitter of a rule's name or of a regex.

    >>> import subwords
    >>> subwords.splitter(r"\w+|\W").split("no, no")
    ['no', ',', ' ', 'no']
    """
    if isinstance(rule, Splitter):
        return rule
    if not isinstance(rule, str):
        raise InputError(f"expected a splitter's name or a regex, not {type(rule).__name__}")
    for name, pattern in RULES.items():
        if rule in (name, pattern):
            return {"gpt2": Gpt2Splitter}[name]()
    return RegexSplitter(rule)


def encode_text(text: str) -> bytes:
    """Return the UTF-8 bytes of a text; a lone surrogate is an InputError that says where."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"expected text that UTF-8 can hold; character {error.start} is the lone surrogate "
            f"U+{ord(text[error.start]):04X}"
        ) from None
    except AttributeError:
        raise InputError(f"expected text (str or bytes), not {type(text).__name__}") from None
