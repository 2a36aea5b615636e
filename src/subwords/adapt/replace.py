"""Replace: some tokens of a tokenizer make room for others, learned from a corpus; the size stays the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.adapted import Adapted
from subwords.adapt.counted import counts_for
from subwords.adapt.extend_bpe import Extension, extended_bpe
from subwords.adapt.extend_pieces import extended_pieces
from subwords.adapt.prune import Tokens, chosen_ids
from subwords.adapt.rearranged import rearranged
from subwords.adapt.removal import Removal
from subwords.adapt.removals import removal_of
from subwords.bpe.model import BPE
from subwords.corpus.counts import MOST, WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.errors import InputError, TrainingError
from subwords.learning.limits import Step
from subwords.spec import TokenizerSpec
from subwords.support.checks import check_integer
from subwords.support.threads import thread_count
from subwords.tokenizer import Tokenizer, TokenizerLike, tokenizer_of
from subwords.unigram.model import Unigram
from subwords.wordlevel.model import WordLevel
from subwords.wordpiece.model import WordPiece

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source

__all__ = ["replace"]


def replace(
    tokenizer: TokenizerLike,
    source: Source | WordCounts,
    *,
    number: int | None = None,
    drop: Tokens | None = None,
    scripts: Iterable[str] | None = None,
    keep: Tokens | None = None,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    whole_characters: bool = False,
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Adapted:
    """Return a tokenizer of the same size in which new tokens have the ids of some old ones.

    Defined in ALGORITHMS.md, B9, P5, U6, C2.

    The new tokens are learned from a corpus (see `count`) or from word counts. Those that make room are the `number`
    tokens that the corpus uses least, except those in `keep`; or the tokens `drop`; or those of `scripts`: see `prune`.
    All other ids keep their tokens. A removed token is not learned again. In BPE, a text keeps its ids if none of them
    is removed and the two sides of a new merge are not neighbours in them; in WordPiece and Unigram, if none is removed
    and no word of it holds the string of a new token. The other options are those of `extend`. Raises InputError as
    `prune` and `extend`, TrainingError if the corpus has fewer new tokens than are removed.

    Hazard: the rows of the new ids in a model's embeddings are those of other tokens until `Adapted.id_map` is applied.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> found = subwords.replace(tok, ["slow slower slowest"] * 9, number=2)
    >>> found.tokenizer.vocab_size, tok.tokenize("slow slower"), found.tokenizer.tokenize("slow slower")
    (263, ['s', 'low', ' ', 's', 'low', 'e', 'r'], ['slow', ' slow', 'e', 'r'])
    """
    tokenizer = tokenizer_of(tokenizer)
    model = tokenizer.model
    if isinstance(model, WordLevel):
        raise InputError("tokens of WordLevel tokenizers cannot be replaced: they have no subword tokens")
    removal = removal_of(tokenizer.spec)
    if (number is None) + (drop is None) + (scripts is None) != 2:
        raise InputError("expected one of number, drop and scripts: which tokens make room")
    if keep is not None and number is None:
        raise InputError("keep is an option for number: the tokens to drop are named")
    if number is not None:
        check_integer("number", number, 1, MOST)
    counts = counts_for(tokenizer, source, reading=reading, threads=threads, progress=progress)
    removed = _removed(tokenizer, removal, counts, number, drop, scripts, keep, threads)
    settings = Extension(
        add=len(removed),
        min_frequency=min_frequency,
        tie_break=tie_break,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
    )
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        tokens, merges, scores = _learned(model, removed, counts, settings, thread_count(threads), bar.phase)
    if len(tokens) < len(removed):
        raise TrainingError(
            f"cannot replace {len(removed)} tokens: this corpus has {len(tokens)} new ones; use more text, or replace "
            "fewer"
        )
    return _filled(tokenizer, removed, tokens, merges, scores)


def _removed(
    tokenizer: Tokenizer,
    removal: Removal,
    counts: WordCounts,
    number: int | None,
    drop: Tokens | None,
    scripts: Iterable[str] | None,
    keep: Tokens | None,
    threads: int | None,
) -> list[int]:
    if number is None:
        return chosen_ids(tokenizer, removal, None, drop, scripts, None, None, None, threads=threads, progress=False)
    size = sum(1 for token in removal.tokens if token)
    if number >= size:
        raise InputError(f"cannot replace {number} tokens: there are {size}")
    return chosen_ids(
        tokenizer, removal, keep, None, None, counts, size - number, None, threads=threads, progress=False
    )


def _learned(
    model: BPE | WordPiece | Unigram,
    removed: list[int],
    counts: WordCounts,
    settings: Extension,
    threads: int,
    on_step: Step,
) -> tuple[list[bytes], NDArray[np.int64], list[float]]:
    """Return new tokens, their merges (BPE) and scores (Unigram); removed strings are taken, so not learned again."""
    special, merges = model.special_ids | {*removed}, np.zeros((0, 3), np.int64)
    if isinstance(model, BPE):
        tokens, merges = extended_bpe(_without(model, removed), counts, settings, threads=threads, on_step=on_step)
        return list(tokens), merges, []
    size = len(model.vocab)
    if isinstance(model, WordPiece):
        more = extended_pieces(changed(model, special_ids=special), counts, settings, threads=threads, on_step=on_step)
        return list(more.vocab.after(size)), merges, []
    found = extended_pieces(changed(model, special_ids=special), counts, settings, threads=threads, on_step=on_step)
    return list(found.vocab.after(size)), merges, found.scores[size:].tolist()


def _without(model: BPE, removed: list[int]) -> BPE:
    """Return the model in which no text yields some tokens."""
    gone = np.zeros(len(model.symbols), np.bool_)
    gone[removed] = True
    kept = ~gone[model.merges].any(1)
    ranks = None if model.ranks is None else model.ranks[kept]
    return changed(model, merges=model.merges[kept], ranks=ranks, special_ids=model.special_ids | {*removed})


def _filled(
    tokenizer: Tokenizer, removed: list[int], tokens: list[bytes], merges: NDArray[np.int64], scores: list[float]
) -> Adapted:
    """Return the tokenizer with new tokens at the ids of removed ones; merges: with new ids after the last old one."""
    vocab = tokenizer.model.vocab
    origins = np.where(np.diff(vocab.offsets) > 0, np.arange(len(vocab)), -1)
    origins[removed] = -1
    fresh = dict(zip(removed, tokens, strict=True))
    spec = rearranged(tokenizer.spec, origins, fresh, dict(zip(removed, scores, strict=True)) if scores else None)
    if isinstance(spec.model, BPE) and spec.foreign.sentencepiece is None:
        places = np.concatenate([np.arange(len(vocab)), np.array(removed, np.int64)])
        spec = _with_merges(spec, places[merges])
    return Adapted(Tokenizer(spec), tokenizer, tuple(removed), tuple(removed), _origins=origins)


def _with_merges(spec: TokenizerSpec, merges: NDArray[np.int64]) -> TokenizerSpec:
    """Return the spec with merges that rank after all others."""
    model = spec.model
    assert isinstance(model, BPE)
    ranks = model.ranks
    if ranks is not None:
        ranks = np.concatenate([ranks, ranks.max(initial=-1) + 1 + np.arange(len(merges))])
    return changed(spec, model=changed(model, merges=np.concatenate([model.merges, merges]), ranks=ranks))
