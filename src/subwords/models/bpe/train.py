"""BPE training: word counts to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.models.bpe.model import BPE
from subwords.models.learning import Step, character_rules, check_words, merge_words
from subwords.models.settings import BPESettings
from subwords.spec.model import NO_MERGES
from subwords.spec.splitter import NAMED, Rule, writes_spaces
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import BYTES, Vocab
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.spec.decoder import Decoder, DecoderStep
    from subwords.spec.normalizer import Steps


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
    workers = thread_count(threads)
    vocab, merges = merge_words(counts, code_ids, base, settings, on_step, rules=rules, threads=workers)
    return model_of(vocab, merges, settings)


def initial_tokens(counts: WordCounts, settings: BPESettings) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the tokens that are not learned, in order of id (B3, B6), and the id of each byte or code point."""
    symbols = _alphabet(counts, settings)
    specials = [token.encode() for token in settings.reserved]
    names = [_name(symbol, settings) for symbol in symbols]
    base = [*specials, *(name for name in names if name not in set(specials))]
    settings.check_room(len(base) - len(specials))
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
    made = _decoder(model, settings, rule, steps) if spaces or as_sentencepiece else None
    return TokenizerSpec.trained(model, settings.special_tokens, splitter=rule, normalizer=steps, decoder=made)


def _decoder(model: BPE, settings: BPESettings, rule: Rule, steps: Steps) -> Decoder | None:
    from subwords.spec import decoder
    from subwords.spec.normalizer import SentencePiece

    fallback: list[DecoderStep] = [decoder.ByteFallback()] if settings.byte_fallback else []
    if (settings.fuse_unk or settings.byte_fallback) and any(isinstance(step, SentencePiece) for step in steps):
        unknown = frozenset() if settings.unk_token is None else frozenset([settings.unk_token])
        control = frozenset(settings.special_tokens) - unknown
        return decoder.SentencePieceDecoder(unknown, control, byte_fallback=settings.byte_fallback)
    if writes_spaces(rule, steps):
        joining = [decoder.ByteDecoder()] if model.byte_level else [*fallback, decoder.Fuse()]
        return decoder.unescaped(rule, steps, joining)
    return decoder.DecoderSequence((*fallback, decoder.Fuse())) if fallback else None


def untrained_bpe(settings: BPESettings) -> BPE:
    """Return a model of the special tokens and one character, or of all bytes."""
    symbols = [bytes([byte]) for byte in range(256)] if settings.byte_level else [b"a"]
    tokens = dict.fromkeys([*(token.encode() for token in settings.reserved), *symbols])
    return model_of(Vocab([*tokens]), NO_MERGES, settings)
