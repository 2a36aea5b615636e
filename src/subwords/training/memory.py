"""How much memory training takes."""

from __future__ import annotations

from subwords.corpus.counts import WordCounts
from subwords.errors import InputError, TrainingError
from subwords.support.limits import room_of

__all__ = ["check_memory", "need_of"]

# Measured on 0.1 to 1.3 million words of 25 languages and code, for BPE, WordPiece and Unigram.
FIXED = 64 << 20  # bytes
PER_SYMBOL = 16  # bytes for each byte of a distinct word, and for its end


def need_of(counts: WordCounts) -> int:
    """Return about how many bytes of memory it takes to train on word counts."""
    return FIXED + PER_SYMBOL * (len(counts.data) + len(counts))


def check_memory(counts: WordCounts, memory: int) -> None:
    """Raise TrainingError if training on these counts takes more than `memory` bytes of this process."""
    need = need_of(counts)
    try:
        room = room_of(memory)
    except InputError:
        room = 0
    if need > room:
        raise TrainingError(
            f"training takes about {need / 10**9:.2f} GB for {len(counts):,} distinct words, but memory={memory} "
            f"leaves {room / 10**9:.2f} GB: allow more, or leave out rare words: counts.at_least(2)"
        )
