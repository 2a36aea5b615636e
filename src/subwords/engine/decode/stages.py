"""The steps of decoders for one token whose characters arrive in pieces: each returns what is final."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from subwords.engine.decode.decoding import (
    BYTE_TOKEN,
    CLEANED,
    NOTHING,
    Match,
    Place,
    Token,
    Traced,
    Utf8,
    as_token,
    begins_with_space,
    bytes_of_letters,
    flat_steps,
    is_byte_token,
    join_texts,
    kept_range,
    matches_of,
    piece_bytes,
    replaced,
)
from subwords.spec.decoder import (
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    Fuse,
    Metaspace,
    Replace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    Strip,
    WordPieceDecoder,
)
from subwords.spec.vocab import CHARACTERS, Vocab

# ---------------------------------------------------------------------------------------------------------------------
# The steps of decoders for tokens that arrive one by one; each returns what no later token can change.
#
# These take lists of tokens. After a step that joins all tokens, those of `text_stages` take the characters of the
# only token.

Changed: TypeAlias = Callable[[Token], Token]
LONGEST_RUN = 8  # byte tokens that are told as a state
AT_REST: tuple[bytes, ...] = ()  # the state of a source that holds nothing


class ListStage(ABC):
    """A step that takes tokens and returns tokens.

    held: the bytes that decide, with the next token, what it makes of it; None if more than these may.
    """

    @property
    def held(self) -> bytes | None:
        """The bytes that wait; None if what it does depends on more."""
        return None

    @abstractmethod
    def feed(self, token: Token) -> Iterable[Token]:
        """Take the next token; return those that are final."""

    def finish(self) -> Iterable[Token]:
        """Return what remains after the last token."""
        return ()


# ------------------------------------------------------------------ one token


def apply_token_step(step: Strip | Replace | ReplaceTokens, token: Token) -> Token:
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
    from subwords.split.fallback import find_matches

    return [(start, stop, matching) for start, stop, matching in find_matches(pattern, text)]


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

    @property
    def held(self) -> bytes:
        """No bytes."""
        return b""

    def feed(self, token: Token) -> Iterable[Token]:
        """Return the changed token."""
        return (self._change(token),)


class _FirstDiffers(ListStage):
    """Treats the first token in another way than the others."""

    _is_first = True

    @property
    def held(self) -> bytes | None:
        """No bytes once the first token is over."""
        return None if self._is_first else b""

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

    @property
    def held(self) -> bytes | None:
        """The run."""
        return None if self._is_broken or len(self._data) > LONGEST_RUN else bytes(self._data)

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


class TextStage(ABC):
    """A step that takes the characters of the only token and returns those that are final."""

    @property
    def is_over(self) -> bool:
        """Whether it holds nothing and passes on all that comes; False if unknown."""
        return False

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
        whole = join_texts((self._waiting, text))
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

    @property
    def is_over(self) -> bool:
        """Whether it removes nothing from here on."""
        return not self._left and not self._step.stop

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
        before = join_texts([*self._waiting, text.part(0, kept)])
        self._waiting = [text.part(kept, len(text.text))]
        return before

    def finish(self) -> Traced:
        """Return what remains of the run at the end."""
        run = join_texts(self._waiting)
        return run.part(0, max(0, len(run.text) - self._step.stop))


class Exactly(TextStage):
    """Changes certain whole tokens only; passes text on when it can no longer become one. None changes nothing."""

    def __init__(self, may_become: Callable[[str], bool], change: Changed) -> None:
        self._may_become = may_become
        self._change = change
        self._waiting: Traced | None = NOTHING

    @property
    def is_over(self) -> bool:
        """Whether no token waits to be changed."""
        return self._waiting is None

    def feed(self, text: Traced) -> Traced:
        """Return the characters unless the token may be one of those that change."""
        if self._waiting is None:
            return text
        whole = join_texts((self._waiting, text))
        self._waiting = whole if self._may_become(whole.text) else None
        return whole if self._waiting is None else NOTHING

    def finish(self) -> Traced:
        """Return the token, changed."""
        if not self._waiting or not self._waiting.text:
            return NOTHING
        return join_texts([self._change(as_token(self._waiting))])


class Held(TextStage):
    """Holds all characters back; `change` then changes the whole."""

    def __init__(self, change: Callable[[Traced], Traced]) -> None:
        self._change = change
        self._waiting: list[Traced] = []

    @classmethod
    def of_token(cls, change: Changed) -> Held:
        """Return the stage that changes a token."""
        return cls(lambda whole: join_texts([change(as_token(whole))]))

    def feed(self, text: Traced) -> Traced:
        """Return nothing."""
        self._waiting.append(text)
        return NOTHING

    def finish(self) -> Traced:
        """Return all, changed."""
        return self._change(join_texts(self._waiting))


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
        found, self._waiting = join_texts(self._waiting), []
        return found

    def finish(self) -> Traced:
        """Return the text of the bytes."""
        whole = join_texts(self._waiting)
        utf8 = Utf8("replace")
        return join_texts((utf8.feed_all(bytes_of_letters(whole.text), whole.places), utf8.finish()))


# ---------------------------------------------------------------------------------------------------------------------
# What turns ids, given one by one, into text.


class IdSource(ABC):
    """Turns ids, given one by one, into text; for one text only. `size`: ids are below it."""

    size: int

    @property
    @abstractmethod
    def state(self) -> tuple[bytes, ...] | None:
        """What the text of all later ids depends on, beside these; None if that is not known. See `AT_REST`."""

    def text(self, index: int) -> str:
        """Take the next id; return the text that is final, for callers that need no places."""
        return self.feed(index, (0, 1)).text

    @abstractmethod
    def feed(self, index: int, place: Place) -> Traced:
        """Take the next id; return the text that is final."""

    @abstractmethod
    def finish(self) -> Traced:
        """Return what remains."""


class ByteSource(IdSource):
    """Joins the bytes of the tokens."""

    def __init__(self, vocab: Vocab) -> None:
        self.size = len(vocab)
        self._tokens = vocab.known
        self._utf8 = Utf8("replace")

    @property
    def state(self) -> tuple[bytes, ...]:
        """The incomplete character."""
        return (self._utf8.held,) if self._utf8.held else AT_REST

    def feed(self, index: int, place: Place) -> Traced:
        """Return the complete characters."""
        return self._utf8.feed(self._tokens[index], place)

    def text(self, index: int) -> str:
        """Return the complete characters."""
        return self._utf8.text(self._tokens[index])

    def finish(self) -> Traced:
        """Return U+FFFD for an incomplete character."""
        return self._utf8.finish()


# ---------------------------------------------------------------------------------------------------------------------
# Runs a decoder while tokens arrive.

_LONGEST_BYTE_TOKEN = "<0x00>"


def decode_tokens(decoder: Decoder, tokens: Sequence[str]) -> str:
    """Return the text of tokens, given as a file spells them.

    >>> decode_tokens(WordPieceDecoder(), ["play", "##ing", "well", "."])
    'playing well.'
    >>> decode_tokens(SentencePieceDecoder(byte_fallback=True), ["▁l", "<0xC3>", "<0xA9>", "▁gume"])
    'lé gume'
    """
    source = TokenSource(decoder, ())
    parts = [source.feed_token(token, (at, at + 1)).text for at, token in enumerate(tokens)]
    return "".join([*parts, source.finish().text])


class TokenSource(IdSource):
    """Runs a decoder; `tokens` by id, "" for ids without a token, which give no text."""

    def __init__(self, decoder: Decoder, tokens: Sequence[str]) -> None:
        self.size = len(tokens)
        self._tokens = tokens
        self._lists: list[ListStage] = []
        self._join: _Join = _Fuse()
        self._texts: list[TextStage] = []
        self._add_all(decoder)

    def _add_all(self, decoder: Decoder) -> None:
        if isinstance(decoder, SpaceDecoder):
            self._lists = [SpaceTokens()]
        elif isinstance(decoder, SentencePieceDecoder):
            self._join = _SentencePiece(decoder)
            self._texts = [Held(_Normalized(decoder))] if decoder.steps else []
        else:
            steps = [*flat_steps(decoder)]
            at = next((i for i, step in enumerate(steps) if isinstance(step, Fuse | ByteDecoder)), len(steps))
            splits = at == len(steps) or steps[at] in (Fuse(), ByteDecoder(byte_level=False))
            self._lists = [_list_stage(step, splits=splits and i == at - 1) for i, step in enumerate(steps[:at])]
            if not splits:
                self._join = _Bytes()
            may_be_dropped = False
            for step in steps[at + 1 :]:
                self._texts += _text_stages(step, may_be_dropped)
                may_be_dropped = may_be_dropped or isinstance(step, CTC)

    @property
    def state(self) -> tuple[bytes, ...] | None:
        """What the stages hold."""
        found = [self._join.held]
        for stage in self._texts:
            if not stage.is_over:
                return None
        for each in self._lists:
            found.append(each.held)
        if None in found:
            return None
        return tuple(found) if any(found) else AT_REST  # type: ignore[arg-type]  # without None

    def feed(self, index: int, place: Place) -> Traced:
        """Return the text that is final."""
        return self.feed_token(text, place) if (text := self._tokens[index]) else NOTHING

    def feed_token(self, text: str, place: Place) -> Traced:
        """Take the next token, as a file spells it; return the text that is final."""
        tokens: list[Token] = [Token.of(text, place)]
        for stage in self._lists:
            tokens = [found for token in tokens for found in stage.feed(token)]
        return self._changed(join_texts(map(self._join.feed, tokens)))

    def _changed(self, text: Traced) -> Traced:
        for stage in self._texts:
            if text.text:
                text = stage.feed(text)
        return text

    def finish(self) -> Traced:
        """Return what remains."""
        tokens: list[Token] = []
        for lists in self._lists:
            tokens = [*(found for token in tokens for found in lists.feed(token)), *lists.finish()]
        text = join_texts([*map(self._join.feed, tokens), self._join.finish()])
        for stage in self._texts:
            text = join_texts((stage.feed(text) if text.text else NOTHING, stage.finish()))
        return text


def _list_stage(step: Any, *, splits: bool) -> ListStage:
    match step:
        case Metaspace():
            return MetaspaceTokens(step)
        case WordPieceDecoder():
            return WordPieceTokens(step)
        case BPEDecoder():
            return BPETokens(step, splits=splits)
        case CTC():
            return CTCTokens(step)
        case ByteFallback():
            return ByteTokens()
    return EachToken(lambda token: apply_token_step(step, token))


def _text_stages(step: Any, may_be_dropped: bool) -> list[TextStage]:
    """Return what a step does to the only token, whose characters arrive one by one.

    may_be_dropped: a CTC before has dropped the token if it has no characters.
    """
    match step:
        case Metaspace(replacement, scheme):
            return [Replacer(replacement, " " if scheme == "never" else "")]
        case WordPieceDecoder(_, cleanup):
            return [Replacer(*each) for each in CLEANED] if cleanup else []
        case BPEDecoder(suffix):
            return [Replacer(suffix, "")] if suffix else []
        case CTC():
            return _ctc_stages(step, may_be_dropped)
        case ByteFallback():
            return [Exactly(_may_be_byte, _byte_text)]
        case ByteDecoder(byte_level):
            return [ByteLetters()] if byte_level else []
        case Strip():
            return [Stripper(step)]
        case ReplaceTokens(tokens):
            return [Exactly(_may_be(tokens), lambda token: apply_token_step(step, token))]
        case Replace(pattern, content, regex) if pattern and not regex:
            return [Replacer(pattern, content)]
        case Replace():
            return [Held.of_token(lambda token: apply_token_step(step, token))]
    return []


def _ctc_stages(step: CTC, may_be_dropped: bool) -> list[TextStage]:
    if step.cleanup and not step.word_delimiter_token:
        # It puts spaces everywhere, also into a token without characters.
        return [Held.of_token(lambda token: without_pads(step, token) if token.text or not may_be_dropped else token)]
    cleaning = [*CLEANED, (step.word_delimiter_token, " ")] if step.cleanup else []
    return [Replacer(*each) for each in ((step.pad_token, ""), *cleaning) if each[0]]


def _may_be(tokens: tuple[str, ...]) -> Any:
    return lambda text: any(token.startswith(text) for token in tokens)


def _may_be_byte(text: str) -> bool:
    return BYTE_TOKEN.fullmatch(text + _LONGEST_BYTE_TOKEN[len(text) :]) is not None


def _byte_text(token: Token) -> Token:
    return _run_of(token)[0]


def _run_of(token: Token) -> list[Token]:
    run = ByteTokens()
    return [*run.feed(token), *run.finish()]


# ------------------------------------------------------------------ tokens to characters


class _Join:
    """Joins tokens into characters."""

    @property
    def held(self) -> bytes | None:
        return b""

    def feed(self, token: Token) -> Traced:
        return Traced(token.text, token.places)

    def finish(self) -> Traced:
        return NOTHING


class _Fuse(_Join):
    """Joins the characters of tokens."""


class _Bytes(_Join):
    """Joins the bytes that tokens represent."""

    def __init__(self) -> None:
        self._utf8 = Utf8("replace")

    @property
    def held(self) -> bytes | None:
        return self._utf8.held

    def feed(self, token: Token) -> Traced:
        data = bytes_of_letters(token.text)
        if len(data) == len(token.places):
            return self._utf8.feed_all(data, token.places)
        sizes = [len(char.encode()) for char in token.text]
        places = [place for place, size in zip(token.places, sizes, strict=True) for _ in range(size)]
        return self._utf8.feed_all(data, places)

    def finish(self) -> Traced:
        return self._utf8.finish()


class _SentencePiece(_Join):
    """Joins pieces as SentencePiece does."""

    def __init__(self, decoder: SentencePieceDecoder) -> None:
        self._decoder = decoder
        self._utf8 = Utf8("surrogateescape")
        self._drops = decoder.drops_first or decoder.drops_leading

    @property
    def held(self) -> bytes | None:
        return None if self._drops else self._utf8.held

    def feed(self, token: Token) -> Traced:
        decoder = self._decoder
        # A control piece ends a run of bytes.
        before = self._utf8.finish() if token.text in decoder.control else NOTHING
        data = piece_bytes(decoder, token.text)
        if self._drops and begins_with_space(decoder, token.text):
            data = data[1:]
            self._drops = decoder.drops_leading
        self._drops = self._drops and not data
        return join_texts((before, self._utf8.feed(data, token.place)))

    def finish(self) -> Traced:
        return self._utf8.finish()


class _Normalized:
    """Normalizes the whole text, as a denormalizer of SentencePiece does."""

    def __init__(self, decoder: SentencePieceDecoder) -> None:
        self._steps = decoder.steps

    def __call__(self, whole: Traced) -> Traced:
        from subwords.normalize.normalizer import NormalizerEngine

        data = whole.text.encode()
        of_byte = [i for i, char in enumerate(whole.text) for _ in char.encode()]
        text, origin = NormalizerEngine(self._steps).aligned(np.frombuffer(data, np.uint8))
        starts, stops = origin[:, (text & 0xC0) != 0x80].tolist()
        places = [
            (whole.places[of_byte[start]][0], whole.places[of_byte[max(start, stop - 1)]][1])
            for start, stop in zip(starts, stops, strict=True)
        ]
        return Traced(text.tobytes().decode(), places)
