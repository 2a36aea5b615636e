"""The steps of decoders for tokens that arrive one by one; each returns what no later token can change.

These take lists of tokens. After a step that joins all tokens, those of `text_stages` take the characters of the only
token.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeAlias

from subwords.components.decoder import (
    CTC,
    BPEDecoder,
    Metaspace,
    Replace,
    ReplaceTokens,
    Strip,
    WordPieceDecoder,
)
from subwords.engine.decode.decoding import CLEANED, is_byte_token, kept_range
from subwords.engine.decode.traced import Match, Place, Token, Utf8, as_token, matches_of, replaced

__all__ = [
    "BPETokens",
    "ByteTokens",
    "CTCTokens",
    "Changed",
    "EachToken",
    "ListStage",
    "MetaspaceTokens",
    "SpaceTokens",
    "WordPieceTokens",
    "changed",
    "cleaned",
    "without_pads",
]

Changed: TypeAlias = Callable[[Token], Token]


class ListStage(ABC):
    """A step that takes tokens and returns tokens."""

    @abstractmethod
    def feed(self, token: Token) -> Iterable[Token]:
        """Take the next token; return those that are final."""

    def finish(self) -> Iterable[Token]:
        """Return what remains after the last token."""
        return ()


# ------------------------------------------------------------------ one token


def changed(step: Strip | Replace | ReplaceTokens, token: Token) -> Token:
    """Return the token after a step that looks at each token alone."""
    text, places, place = token
    match step:
        case Strip():
            begin, end = kept_range(step, text)
            return Token(text[begin:end], places[begin:end], place)
        case Replace(pattern, content, regex) if text:
            if pattern and not regex:
                return _with(token, pattern, content)
            return _rewritten(token, _regex_matches(pattern, text), content)
        case ReplaceTokens(tokens, content):
            return Token.of(content, place) if text in tokens else token
    return token


def _regex_matches(pattern: str, text: str) -> list[Match]:
    from subwords.split.fallback import find

    return [(start, stop, matching) for start, stop, matching in find(pattern, text)]


def _rewritten(token: Token, matches: list[Match], content: str) -> Token:
    return Token(*replaced(token, matches, content, token.place), token.place)


def _with(token: Token, pattern: str, content: str) -> Token:
    """Return the token with a string replaced, as by `str.replace`."""
    if pattern not in token.text:
        return token
    if len(pattern) == len(content) == 1:
        return Token(token.text.replace(pattern, content), token.places, token.place)
    return _rewritten(token, matches_of(pattern, token.text), content)


def cleaned(token: Token) -> Token:
    """Return the token with WordPiece's cleanup."""
    for dirty, clean in CLEANED:
        token = _with(token, dirty, clean)
    return token


def without_pads(step: CTC, token: Token) -> Token:
    """Return what CTC makes of a token."""
    token = _with(token, step.pad_token, "")
    return _with(cleaned(token), step.word_delimiter_token, " ") if step.cleanup else token


# ------------------------------------------------------------------ lists of tokens


class EachToken(ListStage):
    """Changes each token alone."""

    def __init__(self, change: Changed) -> None:
        self._change = change

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the changed token."""
        return (self._change(token),)


class _FirstDiffers(ListStage):
    """Treats the first token in another way than the others."""

    _is_first = True

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the changed token."""
        first, self._is_first = self._is_first, False
        return (self._changed(token, first),)

    @abstractmethod
    def _changed(self, token: Token, first: bool) -> Token: ...


class MetaspaceTokens(_FirstDiffers):
    """Replaces a character by a space; in the first token removes it."""

    def __init__(self, step: Metaspace) -> None:
        self._step = step

    def _changed(self, token: Token, first: bool) -> Token:
        removes = first and self._step.prepend_scheme != "never"
        return _with(token, self._step.replacement, "" if removes else " ")


class WordPieceTokens(_FirstDiffers):
    """Puts a space before each token but the first, or removes its prefix."""

    def __init__(self, step: WordPieceDecoder) -> None:
        self._step = step

    def _changed(self, token: Token, first: bool) -> Token:
        text, places, place = token
        prefix = self._step.prefix
        if not first and text.startswith(prefix):
            token = Token(text[len(prefix) :], places[len(prefix) :], place)
        elif not first:
            token = Token(f" {text}", [place, *places], place)
        return cleaned(token) if self._step.cleanup else token


class SpaceTokens(_FirstDiffers):
    """Puts a space before each token but the first."""

    def _changed(self, token: Token, first: bool) -> Token:
        text, places, place = token
        return token if first else Token(f" {text}", [place, *places], place)


class BPETokens(ListStage):
    """Replaces a suffix: a token with one waits for the next token. splits: a token may be returned in two parts."""

    def __init__(self, step: BPEDecoder, *, splits: bool) -> None:
        self._suffix = step.suffix
        self._splits = splits
        self._waiting: list[Token] = []

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the previous token if it waited, and this one if it has no suffix."""
        found = [_with(waiting, self._suffix, " ") for waiting in self._waiting]
        at = token.text.find(self._suffix)
        if at >= 0 and self._splits:
            text, places, place = token
            found.append(Token(text[:at], places[:at], place))
            token = Token(text[at:], places[at:], place)
        if at < 0:
            found.append(token)
        self._waiting = [token] if at >= 0 else []
        return found

    def finish(self) -> Iterable[Token]:
        """Return the last token."""
        return [_with(waiting, self._suffix, "") for waiting in self._waiting]


class CTCTokens(ListStage):
    """Drops repeated tokens and those that become empty."""

    def __init__(self, step: CTC) -> None:
        self._step = step
        self._last: str | None = None

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the token unless it repeats the previous one or becomes empty."""
        repeats, self._last = token.text == self._last, token.text
        kept = token if repeats else without_pads(self._step, token)
        return () if repeats or not kept.text else (kept,)


class ByteTokens(ListStage):
    """Joins runs of byte tokens; a run waits for the next token, unless it can no longer be UTF-8."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._data, self._places = bytearray(), list[Place]()
        self._incomplete = b""  # the start of a character at the end of the run
        self._is_broken = False

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the run that the token ends, and the token."""
        if not is_byte_token(token.text):
            return [*self.finish(), token]
        byte = bytes([int(token.text[3:5], 16)])
        self._data += byte
        self._places.append(token.place)
        try:
            _, used = codecs.utf_8_decode(self._incomplete + byte, "strict", False)
            self._incomplete = (self._incomplete + byte)[used:]
        except UnicodeDecodeError:
            self._is_broken = True
        return self._replacements() if self._is_broken else ()

    def _replacements(self) -> list[Token]:
        found = [Token.of("\ufffd", place) for place in self._places]
        self._data, self._places = bytearray(), []
        return found

    def finish(self) -> Iterable[Token]:
        """Return the run; its bytes as U+FFFD if they are not UTF-8."""
        found: list[Token] = []
        if self._incomplete or self._is_broken:
            found = self._replacements()
        elif self._data:
            whole = Utf8("replace").feed_all(bytes(self._data), self._places)
            found = [as_token(whole)]
        if self._data or self._is_broken or found:
            self._start()
        return found
