"""BPE training: word counts to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.models.bpe.model import BPE
from subwords.models.learning import Step, character_rules, check_limits, check_room, check_words, merge_words
from subwords.spec import decoder
from subwords.spec.decoder import unescaped, writes_spaces
from subwords.spec.model import NO_MERGES
from subwords.spec.normalizer import SentencePiece, Steps
from subwords.spec.splitter import NAMED, Rule
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import BYTES, Vocab
from subwords.support.checks import check_choice, check_flag, check_token, option
from subwords.support.errors import InputError


@dataclass(frozen=True, kw_only=True)
class BPESettings:
    """The settings of BPE training; see `subwords.train`."""

    vocab_size: int
    byte_level: bool = option(True, "Start from the characters of the corpus instead of bytes.")
    alphabet: Literal["full", "corpus"] = option("full", "Start from all 256 bytes, or from those of the corpus.")
    special_tokens: Sequence[str] = ()
    tie_break: Literal["ids", "first", "bytes"] = option(
        "ids", "Between pairs of equal score: smaller ids, first in the corpus, or smaller bytes."
    )
    min_frequency: int = option(0, "Merge only pairs (unigram: keep only pieces) that occur at least N times.", least=0)
    max_token_length: int | None = option(None, "In bytes; with --character-level, in characters.", least=1)
    limit_alphabet: int | None = option(None, "Start from the N most frequent bytes or characters only.", least=1)
    unk_token: str | None = option(None, "The special token for unknown symbols.", metavar="TOKEN")
    fuse_unk: bool = option(False, "With --character-level: one token for a run of unknown characters.")
    byte_fallback: bool = option(False, "256 tokens for the bytes of unknown characters; bpe: with --character-level.")
    whole_characters: bool = option(False, "Without --character-level: tokens are whole characters or a part of one.")

    def __post_init__(self) -> None:
        check_limits(self)
        check_flag("byte_level", self.byte_level)
        check_choice("alphabet", self.alphabet, ("full", "corpus"))
        for name in ("fuse_unk", "byte_fallback"):
            check_flag(name, getattr(self, name))
            if getattr(self, name) and self.byte_level:
                raise InputError(f"{name} needs byte_level=False: a byte-level model knows every character")
        check_flag("whole_characters", self.whole_characters)
        if self.whole_characters and not self.byte_level:
            raise InputError("whole_characters needs byte_level=True: without it, no token cuts a character")
        if self.fuse_unk and self.unk_token is None:
            raise InputError("fuse_unk needs unk_token: it joins the unknown characters of a run to one")
        if self.unk_token is not None:
            check_token("unk_token", self.unk_token)
            if self.unk_token not in self.special_tokens:
                raise InputError(f"expected unk_token {self.unk_token!r} to be among special_tokens: add it to them")
        if self.byte_level and self.alphabet == "full":
            if single := [token for token in self.special_tokens if len(token.encode()) == 1]:
                raise InputError(f"expected special tokens of more than one byte; {single[0]!r} is in the alphabet")
            if self.limit_alphabet is None:
                check_room(256, self)

    @property
    def cut_out(self) -> tuple[str, ...]:
        """The texts that are removed from the corpus before it is counted."""
        return tuple(self.special_tokens)

    @property
    def reserved(self) -> tuple[str, ...]:
        """The tokens that are not learned: the special ones and, with byte_fallback, one for each byte."""
        return (*self.special_tokens, *(f"<0x{byte:02X}>" for byte in range(256 if self.byte_fallback else 0)))


def train_bpe(
    counts: WordCounts, settings: BPESettings, *, threads: int | None = None, on_step: Step | None = None
) -> BPE:
    """Learn a model from word counts (B1-B8); TrainingError if settings and counts do not fit together.

    `on_step(phase, done, expected)` reports progress. The phases are "indexing" of the words, and "merging", where a
    step is a token.
    """
    check_words(counts)
    base, code_ids = initial_tokens(counts, settings)
    rules = character_rules(base) if settings.whole_characters else None
    limits = replace(settings, special_tokens=settings.reserved, byte_fallback=False)
    vocab, merges = merge_words(counts, code_ids, base, limits, on_step, rules=rules)
    return model_of(vocab, merges, settings)


def initial_tokens(counts: WordCounts, settings: BPESettings) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the tokens that are not learned, in order of id (B3, B6), and the id of each byte or code point."""
    symbols = _alphabet(counts, settings)
    specials = [token.encode() for token in settings.reserved]
    names = [_name(symbol, settings) for symbol in symbols]
    base = [*specials, *(name for name in names if name not in set(specials))]
    check_room(len(base) - len(specials), replace(settings, special_tokens=settings.reserved, byte_fallback=False))
    ids = {name: i for i, name in reversed(list(enumerate(base)))}
    code_ids = np.full(256 if settings.byte_level else layout.CODE_POINTS, layout.MISSING, np.int32)
    code_ids[symbols] = [ids[name] for name in names]
    return base, code_ids


def model_of(vocab: Vocab, merges: NDArray[np.int64], settings: BPESettings) -> BPE:
    """Return the model of what was learned."""
    specials = [token.encode() for token in settings.reserved]
    return BPE(
        vocab,
        merges,
        byte_level=settings.byte_level,
        unk_id=None if settings.unk_token is None else specials.index(settings.unk_token.encode()),
        fuse_unk=settings.fuse_unk,
        special_ids=frozenset(range(len(specials))),
        byte_fallback=settings.byte_fallback,
    )


def _name(symbol: int, settings: BPESettings) -> bytes:
    return bytes([symbol]) if settings.byte_level else chr(symbol).encode()


def _alphabet(counts: WordCounts, settings: BPESettings) -> list[int]:
    """Return the initial bytes or code points, in order of id (B3, B6)."""
    from subwords.kernels.named import symbol_weights

    order = np.frombuffer(BYTES, np.uint8) if settings.byte_level else np.arange(layout.CODE_POINTS)
    full = settings.byte_level and settings.alphabet == "full"
    if full and settings.limit_alphabet is None:
        return list(BYTES)
    weights = np.zeros(len(order), np.uint64)
    symbol_weights(counts.data, counts.offsets, counts.counts, int(not settings.byte_level), weights)
    kept = order if full else order[weights[order] > 0]
    if settings.limit_alphabet is not None and settings.limit_alphabet < len(kept):
        # The most frequent ones; the sort is stable, so the earlier symbol wins a tie.
        order = np.argsort(np.iinfo(np.int64).max - weights[kept].astype(np.int64), kind="stable")
        kept = kept[np.sort(order[: settings.limit_alphabet])]
    symbols: list[int] = kept.tolist()
    return symbols


def assemble_bpe(model: BPE, settings: BPESettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model: with the splitter and the normalizer that made the words, and a decoder.

    With fuse_unk or byte_fallback, the splitter "sentencepiece" is replaced by one without its cuts between scripts. No
    merge crosses those: ids are the same, except that runs of unknown characters stay whole, as in SentencePiece.
    """
    spaces, as_sentencepiece = writes_spaces(rule, steps), settings.fuse_unk or settings.byte_fallback
    if as_sentencepiece and rule == NAMED["sentencepiece"]:
        rule = model.space_rule
    fallback: list[decoder.DecoderStep] = [decoder.ByteFallback()] if settings.byte_fallback else []
    made: decoder.Decoder | None = None
    if as_sentencepiece and any(isinstance(step, SentencePiece) for step in steps):
        unknown = frozenset() if settings.unk_token is None else frozenset([settings.unk_token])
        control = frozenset(settings.special_tokens) - unknown
        made = decoder.SentencePieceDecoder(unknown, control, byte_fallback=settings.byte_fallback)
    elif spaces:
        made = unescaped(rule, steps, [decoder.ByteDecoder()] if model.byte_level else [*fallback, decoder.Fuse()])
    elif fallback:
        made = decoder.DecoderSequence((*fallback, decoder.Fuse()))
    return TokenizerSpec.trained(model, settings.special_tokens, rule, steps, made)


def untrained_bpe(settings: BPESettings) -> BPE:
    """Return a model of the special tokens and one character, or of all bytes."""
    symbols = [bytes([byte]) for byte in range(256)] if settings.byte_level else [b"a"]
    tokens = dict.fromkeys([*(token.encode() for token in settings.reserved), *symbols])
    return model_of(Vocab([*tokens]), NO_MERGES, settings)
