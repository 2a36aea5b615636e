"""WordLevel training: the most frequent words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from subwords.corpus.counts import WordCounts
from subwords.models.learning import Step, check_words
from subwords.models.settings import WordLevelSettings
from subwords.models.wordlevel.model import WordLevel
from subwords.spec.decoder import Fuse, SpaceDecoder, unescaped
from subwords.spec.normalizer import Steps
from subwords.spec.splitter import Rule, writes_spaces
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError


def train_wordlevel(
    counts: WordCounts, settings: WordLevelSettings, *, threads: int | None = None, on_step: Step | None = None
) -> WordLevel:
    """Keep the most frequent words (L2); TrainingError if vocab_size has no room for the special tokens.

    Ids: special tokens, then words by falling count, equal counts in order of their bytes. Words that are rarer than
    min_frequency, or not UTF-8, are left out.

    Source: HF tokenizers 0.23, WordLevelTrainer.

    >>> import subwords
    >>> counts = subwords.count(["b a b c a"], splitter="whitespace", special_tokens=["<unk>"])
    >>> list(train_wordlevel(counts, WordLevelSettings(vocab_size=3)).vocab)
    [b'<unk>', b'a', b'b']
    """
    check_words(counts)
    specials = [token.encode() for token in settings.special_tokens]
    room = settings.vocab_size - len(specials)
    if room < 0:
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too small for {len(specials)} special tokens: raise vocab_size"
        )
    kept = (word for word in _by_frequency(counts, settings.min_frequency) if word not in specials)
    words = [*islice(filter(_is_text, kept), room)]
    if on_step is not None:
        on_step("indexing", len(words), len(words))
    unk_id = specials.index(settings.unk_token.encode())
    return WordLevel(Vocab([*specials, *words]), unk_id, frozenset(range(len(specials))))


def _by_frequency(counts: WordCounts, least: int) -> Iterator[bytes]:
    """Yield the words that occur `least` times, by falling count, equal counts in order of their bytes."""
    order = np.argsort(counts.counts)[::-1]
    order = order[counts.counts[order] >= np.uint64(least)]
    changes = np.flatnonzero(np.diff(counts.counts[order])) + 1
    for group in np.split(order, changes):
        yield from sorted(counts.data[counts.offsets[i] : counts.offsets[i + 1]].tobytes() for i in group.tolist())


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def assemble_wordlevel(model: WordLevel, settings: WordLevelSettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model; decoding puts a space between words, unless words have spaces."""
    made = unescaped(rule, steps, [Fuse()]) if writes_spaces(rule, steps) else SpaceDecoder()
    return TokenizerSpec.trained(model, settings.special_tokens, splitter=rule, normalizer=steps, decoder=made)


def untrained_wordlevel(settings: WordLevelSettings) -> WordLevel:
    """Return a model of the special tokens and one word."""
    specials = list(settings.special_tokens)
    tokens = dict.fromkeys([*specials, "a"])
    unk_id = specials.index(settings.unk_token)
    return WordLevel(Vocab([token.encode() for token in tokens]), unk_id, frozenset(range(len(specials))))
