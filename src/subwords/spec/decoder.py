"""Decoders as plain data: how tokens become text. `engine/decode/` runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from subwords.spec import normalizer as normalizers
from subwords.spec import splitter as splitters
from subwords.spec.splitter import SPACE

if TYPE_CHECKING:
    from subwords.spec.normalizer import Steps as NormalizerSteps


@dataclass(frozen=True, slots=True)
class ByteDecoder:
    """Joins tokens. byte_level: tokens are written in the characters that represent bytes.

    A token with any other character is used literally. Bytes that are not UTF-8 become U+FFFD.

    Source: HF's decoders ByteLevel and Fuse.
    """

    byte_level: bool = True


@dataclass(frozen=True, slots=True)
class WordPieceDecoder:
    """Puts a space before every token, except the first and those that begin with the prefix, which is removed.

    cleanup: removes spaces before punctuation and English contractions, and shortens "do not"; within each token.

    Source: HF's decoder WordPiece.
    """

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True, slots=True)
class SpaceDecoder:
    """Joins tokens with spaces, as HF does for a file without a decoder."""


@dataclass(frozen=True, slots=True)
class SentencePieceDecoder:
    """Joins pieces as SentencePiece does: U+2581 becomes a space, byte pieces their bytes, control pieces nothing.

    unknown: pieces that become `unk_surface`. byte_fallback: `<0x00>` to `<0xFF>` are byte pieces; every byte that is
    not UTF-8 becomes U+FFFD. drops_first: the first U+2581 of the text is dropped. drops_leading: the first U+2581 of
    every piece before any text is dropped. steps: normalization of the text afterwards.

    Source: SentencePiece 0.2.3.
    """

    unknown: frozenset[str] = frozenset()
    control: frozenset[str] = frozenset()
    unk_surface: str = " ⁇ "
    byte_fallback: bool = False
    drops_first: bool = True
    drops_leading: bool = True
    steps: NormalizerSteps = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # Sorted: the order of a set of strings differs between processes.
        shown = sorted(self.unknown), sorted(self.control), self.unk_surface, self.byte_fallback
        return _sentencepiece, (*shown, self.drops_first, self.drops_leading, self.steps)


def _sentencepiece(unknown: list[str], control: list[str], *fields: Any) -> SentencePieceDecoder:
    return SentencePieceDecoder(frozenset(unknown), frozenset(control), *fields)


# ------------------------------------------------------------------ steps: each changes a list of tokens


@dataclass(frozen=True, slots=True)
class Metaspace:
    """Replaces `replacement` by a space; in the first token removes it, unless `prepend_scheme` is "never".

    `split` has no effect in a decoder; it is kept for writing the file.
    """

    replacement: str = "▁"
    prepend_scheme: Literal["always", "first", "never"] = "always"
    split: bool = True


@dataclass(frozen=True, slots=True)
class ByteFallback:
    """Replaces each run of the tokens <0x00> to <0xFF> by its text; by U+FFFD per byte if it is not UTF-8."""


@dataclass(frozen=True, slots=True)
class Fuse:
    """Joins all tokens into one."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Removes a character from the start of every token, up to `start` times, and from its end, up to `stop` times."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces a string, or with `regex` every match of a pattern, within each token."""

    pattern: str
    content: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceTokens:
    """Replaces certain whole tokens by a string; in a file it is a Replace with a regex that matches only these."""

    tokens: tuple[str, ...]
    content: str

    @property
    def pattern(self) -> str:
        """The regex that matches only these tokens."""
        from subwords.spec.oniguruma import escape_literal

        return rf"\A(?:{'|'.join(map(escape_literal, self.tokens))})\z"


@dataclass(frozen=True, slots=True)
class BPEDecoder:
    """Replaces `suffix` by a space within each token, in the last token by nothing."""

    suffix: str = "</w>"


@dataclass(frozen=True, slots=True)
class CTC:
    """Keeps one of equal consecutive tokens, removes `pad_token` within tokens and drops tokens that become empty.

    cleanup: also cleans up each token as `WordPieceDecoder` does, then replaces `word_delimiter_token` by a space.
    """

    pad_token: str = "<pad>"
    word_delimiter_token: str = "|"
    cleanup: bool = True


@dataclass(frozen=True, slots=True)
class DecoderSequence:
    """Applies steps in order and joins the resulting tokens.

    A `ByteDecoder`, like `Fuse`, joins all tokens into one.
    """

    steps: tuple[DecoderStep, ...]


DecoderStep: TypeAlias = (
    ByteDecoder
    | WordPieceDecoder
    | Metaspace
    | ByteFallback
    | Fuse
    | Strip
    | Replace
    | ReplaceTokens
    | BPEDecoder
    | CTC
    | DecoderSequence
)
STEPS: tuple[type, ...] = get_args(DecoderStep)
Decoder: TypeAlias = SpaceDecoder | SentencePieceDecoder | DecoderStep


def replaces_bytes(decoder: Decoder) -> bool:
    """Whether the decoder turns bytes that are not UTF-8 into U+FFFD itself, so that `errors` cannot change it.

    >>> replaces_bytes(DecoderSequence((Fuse(), ByteFallback())))
    True
    """
    match decoder:
        case ByteDecoder(byte_level):
            return byte_level
        case SentencePieceDecoder():
            return decoder.byte_fallback
        case ByteFallback():
            return True
        case DecoderSequence(steps):
            return any(map(replaces_bytes, steps))
    return False


# "fuse" joins tokens with nothing between, "spaces" with spaces, as HF does for a file without a decoder.
NAMED: dict[str, Decoder] = {
    "fuse": ByteDecoder(byte_level=False),
    "byte-level": ByteDecoder(),
    "spaces": SpaceDecoder(),
    "wordpiece": WordPieceDecoder(),
    "metaspace": Metaspace(),
}


# ---------------------------------------------------------------------------------------------------------------------
# Decoders for tokenizers whose normalizer or splitter writes spaces as U+2581.


def writes_prefix(rule: splitters.Rule, steps: normalizers.Steps) -> bool:
    """Whether the normalizer or the splitter inserts U+2581 before a text."""
    for step in (*steps, *rule):
        match step:
            case normalizers.Prepend(text) | splitters.Prefix(text) if text == SPACE:
                return True
            case normalizers.SentencePiece(add_dummy_prefix=True, whitespace_suffix=False):
                return True
    return False


def unescaped(rule: splitters.Rule, steps: normalizers.Steps, joining: Sequence[DecoderStep]) -> DecoderSequence:
    """Return the decoder that joins tokens to one text, writes U+2581 as a space, and removes what was inserted.

    joining: the steps that make one text of the tokens.

    >>> from subwords.spec.decoder import Fuse
    >>> unescaped(splitters.NAMED["metaspace"], (), [Fuse()]).steps[1:]
    (Replace(pattern='▁', content=' ', regex=False), Strip(content=' ', start=1, stop=0))
    """
    suffix = any(isinstance(step, normalizers.SentencePiece) and step.whitespace_suffix for step in steps)
    start, stop = int(writes_prefix(rule, steps)), int(suffix)
    stripped = [Strip(" ", start, stop)] if start or stop else []
    return DecoderSequence((*joining, Replace(SPACE, " "), *stripped))
