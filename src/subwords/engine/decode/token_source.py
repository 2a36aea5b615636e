"""Runs a decoder while tokens arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subwords.components.decoder import (
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
from subwords.engine.decode import text_stages, token_stages
from subwords.engine.decode.decoding import (
    BYTE_TOKEN,
    CLEANED,
    begins_with_space,
    bytes_of_letters,
    flat_steps,
    piece_bytes,
)
from subwords.engine.decode.source import Source
from subwords.engine.decode.traced import NOTHING, Place, Token, Traced, Utf8, joined

__all__ = ["TokenSource", "decode_tokens"]

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


class TokenSource(Source):
    """Runs a decoder; `tokens` by id, "" for ids without a token, which give no text."""

    def __init__(self, decoder: Decoder, tokens: Sequence[str]) -> None:
        self.size = len(tokens)
        self._tokens = tokens
        self._lists: list[token_stages.ListStage] = []
        self._join: _Join = _Fuse()
        self._texts: list[text_stages.TextStage] = []
        self._add_all(decoder)

    def _add_all(self, decoder: Decoder) -> None:
        if isinstance(decoder, SpaceDecoder):
            self._lists = [token_stages.SpaceTokens()]
        elif isinstance(decoder, SentencePieceDecoder):
            self._join = _SentencePiece(decoder)
            self._texts = [text_stages.Held(_Normalized(decoder))] if decoder.steps else []
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

    def feed(self, index: int, place: Place) -> Traced:
        """Return the text that is final."""
        return self.feed_token(text, place) if (text := self._tokens[index]) else NOTHING

    def feed_token(self, text: str, place: Place) -> Traced:
        """Take the next token, as a file spells it; return the text that is final."""
        tokens: list[Token] = [Token.of(text, place)]
        for stage in self._lists:
            tokens = [found for token in tokens for found in stage.feed(token)]
        return self._changed(joined(map(self._join.feed, tokens)))

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
        text = joined([*map(self._join.feed, tokens), self._join.finish()])
        for stage in self._texts:
            text = joined((stage.feed(text) if text.text else NOTHING, stage.finish()))
        return text


def _list_stage(step: Any, *, splits: bool) -> token_stages.ListStage:
    match step:
        case Metaspace():
            return token_stages.MetaspaceTokens(step)
        case WordPieceDecoder():
            return token_stages.WordPieceTokens(step)
        case BPEDecoder():
            return token_stages.BPETokens(step, splits=splits)
        case CTC():
            return token_stages.CTCTokens(step)
        case ByteFallback():
            return token_stages.ByteTokens()
    return token_stages.EachToken(lambda token: token_stages.changed(step, token))


def _text_stages(step: Any, may_be_dropped: bool) -> list[text_stages.TextStage]:
    """Return what a step does to the only token, whose characters arrive one by one.

    may_be_dropped: a CTC before has dropped the token if it has no characters.
    """
    match step:
        case Metaspace(replacement, scheme):
            return [text_stages.Replacer(replacement, " " if scheme == "never" else "")]
        case WordPieceDecoder(_, cleanup):
            return [text_stages.Replacer(*each) for each in CLEANED] if cleanup else []
        case BPEDecoder(suffix):
            return [text_stages.Replacer(suffix, "")] if suffix else []
        case CTC():
            return _ctc_stages(step, may_be_dropped)
        case ByteFallback():
            return [text_stages.Exactly(_may_be_byte, _byte_text)]
        case ByteDecoder(byte_level):
            return [text_stages.ByteLetters()] if byte_level else []
        case Strip():
            return [text_stages.Stripper(step)]
        case ReplaceTokens(tokens):
            return [text_stages.Exactly(_may_be(tokens), lambda token: token_stages.changed(step, token))]
        case Replace(pattern, content, regex) if pattern and not regex:
            return [text_stages.Replacer(pattern, content)]
        case Replace():
            return [text_stages.Held.of_token(lambda token: token_stages.changed(step, token))]
    return []


def _ctc_stages(step: CTC, may_be_dropped: bool) -> list[text_stages.TextStage]:
    if step.cleanup and not step.word_delimiter_token:
        # It puts spaces everywhere, also into a token without characters.
        return [
            text_stages.Held.of_token(
                lambda token: token_stages.without_pads(step, token) if token.text or not may_be_dropped else token
            )
        ]
    cleaning = [*CLEANED, (step.word_delimiter_token, " ")] if step.cleanup else []
    return [text_stages.Replacer(*each) for each in ((step.pad_token, ""), *cleaning) if each[0]]


def _may_be(tokens: tuple[str, ...]) -> Any:
    return lambda text: any(token.startswith(text) for token in tokens)


def _may_be_byte(text: str) -> bool:
    return BYTE_TOKEN.fullmatch(text + _LONGEST_BYTE_TOKEN[len(text) :]) is not None


def _byte_text(token: Token) -> Token:
    return _run_of(token)[0]


def _run_of(token: Token) -> list[Token]:
    run = token_stages.ByteTokens()
    return [*run.feed(token), *run.finish()]


# ------------------------------------------------------------------ tokens to characters


class _Join:
    """Joins tokens into characters."""

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

    def feed(self, token: Token) -> Traced:
        decoder = self._decoder
        # A control piece ends a run of bytes.
        before = self._utf8.finish() if token.text in decoder.control else NOTHING
        data = piece_bytes(decoder, token.text)
        if self._drops and begins_with_space(decoder, token.text):
            data = data[1:]
            self._drops = decoder.drops_leading
        self._drops = self._drops and not data
        return joined((before, self._utf8.feed(data, token.place)))

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
