"""The settings of training, one dataclass for each algorithm. They import no NumPy: the command line's help needs them.

Each adds to what `subwords.train` says of its options; a field with a line of help is an option of the command line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from subwords.spec.added_token import BERT_TOKENS
from subwords.support.checks import check_integer, check_options, check_strings, option
from subwords.support.errors import InputError, TrainingError

MOST_LENGTH = 512  # characters


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What all algorithms have."""

    vocab_size: int
    special_tokens: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_options(self)
        # As a tuple, because an iterator can be read only once.
        object.__setattr__(self, "special_tokens", check_strings("special_tokens", self.special_tokens))
        check_integer("vocab_size", self.vocab_size, 1, self.most_tokens)

    @property
    def most_tokens(self) -> int:
        """The largest vocab_size."""
        from subwords.kernels import layout

        return (1 << layout.ID_BITS) - 1  # limit of an entry in the encoder's pair table

    @property
    def cut_out(self) -> tuple[str, ...]:
        """The texts that are removed from the corpus before it is counted."""
        return tuple(self.special_tokens)

    @property
    def users(self) -> tuple[str, ...]:
        """The pieces that are always kept whole."""
        return ()


@dataclass(frozen=True, kw_only=True)
class MergeSettings(TrainingSettings):
    """What algorithms by merges have."""

    tie_break: Literal["ids", "first", "bytes"] = option(
        "ids", "Between pairs of equal score: smaller ids, first in the corpus, or smaller bytes."
    )
    min_frequency: int = option(0, "Merge only pairs (unigram: keep only pieces) that occur at least N times.", least=0)
    max_token_length: int | None = option(None, "In bytes; with --character-level, in characters.", least=1)
    limit_alphabet: int | None = option(None, "Start from the N most frequent bytes or characters only.", least=1)

    def check_room(self, symbols: int) -> None:
        """Raise TrainingError if vocab_size is below the number of alphabet symbols and reserved tokens (B6)."""
        if symbols + len(self.reserved) > self.vocab_size:
            bytes_of = ", or start from the bytes of the corpus alone (alphabet='corpus')"
            raise TrainingError(
                f"vocab_size {self.vocab_size} is too small: the alphabet has {symbols} symbols, and there are "
                f"{len(self.reserved)} special tokens, {symbols + len(self.reserved)} in all. Raise vocab_size, or set "
                f"limit_alphabet{bytes_of * (getattr(self, 'byte_level', False) and symbols == 256)}"
            )

    @property
    def reserved(self) -> tuple[str, ...]:
        """The tokens that are not learned."""
        return tuple(self.special_tokens)


@dataclass(frozen=True, kw_only=True)
class BPESettings(MergeSettings):
    """The settings of algorithm="bpe"."""

    byte_level: bool = option(True, "Start from the characters of the corpus instead of bytes.")
    alphabet: Literal["full", "corpus"] = option("full", "Start from all 256 bytes, or from those of the corpus.")
    unk_token: str | None = option(None, "The special token for unknown symbols.", least=1, metavar="TOKEN")
    fuse_unk: bool = option(False, "With --character-level: one token for a run of unknown characters.")
    byte_fallback: bool = option(False, "256 tokens for the bytes of unknown characters; bpe: with --character-level.")
    whole_characters: bool = option(False, "Without --character-level: tokens are whole characters or a part of one.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fuse_unk", "byte_fallback"):
            if getattr(self, name) and self.byte_level:
                raise InputError(f"{name} needs byte_level=False: a byte-level model knows every character")
        if self.whole_characters and not self.byte_level:
            raise InputError("whole_characters needs byte_level=True: without it, no token cuts a character")
        if self.fuse_unk and self.unk_token is None:
            raise InputError("fuse_unk needs unk_token: it joins the unknown characters of a run to one")
        if self.unk_token is not None and self.unk_token not in self.special_tokens:
            raise InputError(f"expected unk_token {self.unk_token!r} to be among special_tokens: add it to them")
        if self.byte_level and self.alphabet == "full":
            if single := [token for token in self.special_tokens if len(token.encode()) == 1]:
                raise InputError(f"expected special tokens of more than one byte; {single[0]!r} is in the alphabet")
            if self.limit_alphabet is None:
                self.check_room(256)

    @property
    def reserved(self) -> tuple[str, ...]:
        """The tokens that are not learned: the special ones and, with byte_fallback, one for each byte."""
        return (*self.special_tokens, *_byte_pieces(self.byte_fallback))


def _byte_pieces(byte_fallback: bool) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in range(256 if byte_fallback else 0)]


def _check_unk(unk_token: str, special_tokens: Sequence[str]) -> None:
    """Raise InputError unless the token for unknown words is a special token."""
    if unk_token not in special_tokens:
        raise InputError(
            f"expected unk_token {unk_token!r} to be among special_tokens: unknown words need an id. "
            f"Add it to special_tokens, or name one of them as unk_token"
        )


@dataclass(frozen=True, kw_only=True)
class WordPieceSettings(MergeSettings):
    """The settings of algorithm="wordpiece"."""

    special_tokens: Sequence[str] = BERT_TOKENS
    score: Literal["likelihood", "course", "count"] = option(
        "likelihood",
        "Merge the pair with the largest gain in likelihood; the largest count(ab)/(count(a) count(b)), for which "
        "--min-frequency should be large; or the largest count.",
    )
    prefix: str = option("##", "Marks pieces that continue a word.", metavar="TEXT")
    unk_token: str = option("[UNK]", "As for bpe.", least=1)
    max_chars: int | None = option(None, "Longer words are unknown: the longest word, at least 100.", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_unk(self.unk_token, self.special_tokens)


@dataclass(frozen=True, kw_only=True)
class PieceSettings(TrainingSettings):
    """What algorithms that train a Unigram model have."""

    unk_token: str | None = option("<unk>", "As for bpe.", least=1)
    byte_fallback: bool = option(False, "As for bpe.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if twice := [token for token, times in Counter(self.reserved).items() if times > 1]:
            raise InputError(f"expected special, byte and user-defined tokens to differ; {twice[0]!r} is given twice")

    @property
    def most_tokens(self) -> int:
        """The largest vocab_size."""
        from subwords.kernels import layout

        return layout.MOST_PIECES

    @property
    def specials(self) -> list[str]:
        """The special tokens; unk_token is added first if it is missing."""
        if self.unk_token is None or self.unk_token in self.special_tokens:
            return [*self.special_tokens]
        return [self.unk_token, *self.special_tokens]

    @property
    def reserved(self) -> list[str]:
        """The tokens that are not learned, in order of id."""
        return [*self.specials, *_byte_pieces(self.byte_fallback), *self.users]


@dataclass(frozen=True, kw_only=True)
class UnigramSettings(PieceSettings):
    """The settings of algorithm="unigram"."""

    user_defined: Sequence[str] = option((), "A piece that is always kept whole. May be repeated.", metavar="PIECE")
    seed_size: int = option(1_000_000, "Number of initial pieces.", least=0)
    shrinking_factor: float = option(0.75, "Share of pieces kept in each round of pruning.", least=0.01, most=0.99)
    sub_iterations: int = option(2, "EM steps per round.", least=1, most=100)
    max_piece_length: int = option(16, "In characters.", least=1, most=MOST_LENGTH)
    min_frequency: int = option(2, "As for bpe.", least=1)
    character_coverage: float = option(1.0, "Share of the text whose characters become tokens.", least=0.01, most=1.0)
    required_chars: str = option("", "Characters that always become tokens.", metavar="TEXT")

    @property
    def users(self) -> tuple[str, ...]:
        """The pieces that are always kept whole."""
        return tuple(self.user_defined)


@dataclass(frozen=True, kw_only=True)
class MingramSettings(PieceSettings):
    """The settings of algorithm="mingram"."""

    seed_factor: float = option(1.1, "Candidates: BPE tokens, this many times the size of the vocabulary.", least=1)


@dataclass(frozen=True, kw_only=True)
class WordLevelSettings(TrainingSettings):
    """The settings of algorithm="wordlevel"."""

    special_tokens: Sequence[str] = ("<unk>",)
    unk_token: str = option("<unk>", "As for bpe.", least=1)
    min_frequency: int = option(0, "As for bpe.", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_unk(self.unk_token, self.special_tokens)

    @property
    def most_tokens(self) -> int:
        """The largest vocab_size."""
        from subwords.models.wordlevel.model import MOST_IDS

        return MOST_IDS
