"""The error for a symbol that has no id: the encoder finds the symbol, the engine its place in the caller's text."""

from __future__ import annotations

from subwords.errors import InputError

__all__ = ["MOST_SHOWN", "TextError", "UnknownSymbolError", "character_at", "shortened"]

MOST_SHOWN = 40  # characters of a text in a message


class UnknownSymbolError(InputError):
    """A symbol without an id, in a model without an unk token.

    shown: the symbol as a message has it. text: the symbol; empty if it is one byte. begin, stop: where it is in the
    text of the words. The message has no place: the words may be of changed text, or of many texts.
    """

    def __init__(self, shown: str, text: str, begin: int, stop: int) -> None:
        super().__init__(shown, text, begin, stop)
        self.shown, self.text, self.begin, self.stop = shown, text, begin, stop

    def __str__(self) -> str:
        return self.told("")

    def told(self, place: str) -> str:
        """Return the message with a place, such as " at byte 3"."""
        return f"{self.shown}{place} is not in the vocabulary and the model has no unk token"

    def moved(self, by: int) -> UnknownSymbolError:
        """Return the same error for a text with more bytes before it."""
        return UnknownSymbolError(self.shown, self.text, self.begin + by, self.stop + by)


class TextError(InputError):
    """The error of one text among many: `number` is its place among them, `message` the error of the text alone."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(number, message)
        self.number, self.message = number, message

    def __str__(self) -> str:
        return f"text {self.number}: {self.message}"


def character_at(word: bytes, at: int) -> str:
    """Return the character that begins at a byte of a word; empty for an invalid byte."""
    lead = word[at]
    try:
        return word[at : at + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)].decode()
    except UnicodeDecodeError:
        return ""


def shortened(text: str) -> str:
    """Return a text as messages quote it."""
    return repr(text) if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]!r}..."
