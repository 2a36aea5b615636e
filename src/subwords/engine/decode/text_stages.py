"""The steps of decoders for one token whose characters arrive in pieces: each returns what is final."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from subwords.components.byte_alphabet import CHARACTERS
from subwords.components.decoder import Strip
from subwords.engine.decode.decoding import bytes_of_letters
from subwords.engine.decode.token_stages import Changed
from subwords.engine.decode.traced import NOTHING, Traced, Utf8, as_token, joined, matches_of, replaced

__all__ = ["ByteLetters", "Exactly", "Held", "Replacer", "Stripper", "TextStage"]


class TextStage(ABC):
    """A step that takes the characters of the only token and returns those that are final."""

    @abstractmethod
    def feed(self, text: Traced) -> Traced:
        """Take the next characters, at least one; return those that are final."""

    def finish(self) -> Traced:
        """Return what remains after the last character."""
        return NOTHING


class Replacer(TextStage):
    """Replaces a string, which is not empty; the start of an occurrence waits for its end."""

    def __init__(self, pattern: str, content: str) -> None:
        self._pattern, self._content = pattern, content
        self._waiting = NOTHING

    def feed(self, text: Traced) -> Traced:
        """Return the characters with the string replaced."""
        whole = joined((self._waiting, text))
        parts = matches_of(self._pattern, whole.text)
        start, stop, _ = parts.pop()
        kept = next(
            n
            for n in range(min(len(self._pattern) - 1, stop - start), -1, -1)
            if whole.text.endswith(self._pattern[:n])
        )
        self._waiting = whole.part(stop - kept, stop)
        return replaced(whole, [*parts, (start, stop - kept, False)], self._content)

    def finish(self) -> Traced:
        """Return the characters that waited."""
        return self._waiting


class Stripper(TextStage):
    """Removes a character at the start, up to `start` times, and at the end, up to `stop` times."""

    def __init__(self, step: Strip) -> None:
        self._step = step
        self._left = step.start
        self._waiting: list[Traced] = []

    def feed(self, text: Traced) -> Traced:
        """Return the characters before a run that may be the end."""
        if not self._left and not self._step.stop:
            return text
        content = self._step.content
        if self._left:
            run = len(text.text) - len(text.text.lstrip(content))
            cut = min(run, self._left)
            text = text.part(cut, len(text.text))
            self._left = self._left - cut if not text.text else 0
        if not self._step.stop or not text.text:
            return text
        kept = len(text.text.rstrip(content))
        if not kept:
            self._waiting.append(text)
            return NOTHING
        before = joined([*self._waiting, text.part(0, kept)])
        self._waiting = [text.part(kept, len(text.text))]
        return before

    def finish(self) -> Traced:
        """Return what remains of the run at the end."""
        run = joined(self._waiting)
        return run.part(0, max(0, len(run.text) - self._step.stop))


class Exactly(TextStage):
    """Changes certain whole tokens only; passes text on when it can no longer become one. None changes nothing."""

    def __init__(self, may_become: Callable[[str], bool], change: Changed) -> None:
        self._may_become = may_become
        self._change = change
        self._waiting: Traced | None = NOTHING

    def feed(self, text: Traced) -> Traced:
        """Return the characters unless the token may be one of those that change."""
        if self._waiting is None:
            return text
        whole = joined((self._waiting, text))
        self._waiting = whole if self._may_become(whole.text) else None
        return whole if self._waiting is None else NOTHING

    def finish(self) -> Traced:
        """Return the token, changed."""
        if not self._waiting or not self._waiting.text:
            return NOTHING
        return joined([self._change(as_token(self._waiting))])


class Held(TextStage):
    """Holds all characters back; `change` then changes the whole."""

    def __init__(self, change: Callable[[Traced], Traced]) -> None:
        self._change = change
        self._waiting: list[Traced] = []

    @classmethod
    def of_token(cls, change: Changed) -> Held:
        """Return the stage that changes a token."""
        return cls(lambda whole: joined([change(as_token(whole))]))

    def feed(self, text: Traced) -> Traced:
        """Return nothing."""
        self._waiting.append(text)
        return NOTHING

    def finish(self) -> Traced:
        """Return all, changed."""
        return self._change(joined(self._waiting))


class ByteLetters(TextStage):
    """Reads characters that stand for bytes; passes the token on once another character shows that it is text."""

    def __init__(self) -> None:
        self._waiting: list[Traced] = []
        self._is_text = False

    def feed(self, text: Traced) -> Traced:
        """Return nothing while all characters stand for bytes."""
        self._waiting.append(text)
        self._is_text = self._is_text or not CHARACTERS.issuperset(text.text)
        if not self._is_text:
            return NOTHING
        found, self._waiting = joined(self._waiting), []
        return found

    def finish(self) -> Traced:
        """Return the text of the bytes."""
        whole = joined(self._waiting)
        utf8 = Utf8("replace")
        return joined((utf8.feed_all(bytes_of_letters(whole.text), whole.places), utf8.finish()))
