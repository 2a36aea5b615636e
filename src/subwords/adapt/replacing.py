"""Replace: some tokens of a tokenizer make room for others, learned from a corpus; the size stays the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from subwords import Tokenizer, WordCounts
from subwords.adapt.adapted import Adapted, rearranged
from subwords.adapt.extending import Extension, NewTokens
from subwords.adapt.pruning import Removal, Tokens, chosen_ids, removal_of
from subwords.adapt.words import counts_for
from subwords.machine import MOST_COUNTED, TokenizerLike, family_of, tokenizer_of
from subwords.machine import progress as progress_line
from subwords.support.checks import check_integer, check_token, refuse_given
from subwords.support.errors import InputError, TrainingError
from subwords.support.names import nearest
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords import Reading
    from subwords.machine import Source


def replace(
    tokenizer: TokenizerLike,
    source: Source | WordCounts | Mapping[str, str],
    *,
    count: int | None = None,
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

    The new tokens are learned from a corpus (see `count`) or from word counts. Those that make room are the `count`
    tokens that the corpus uses least, except those in `keep`; or the tokens `drop`; or those of `scripts`: see `prune`.
    All other ids keep their tokens. A removed token is not learned again. In BPE, a text keeps its ids if none of them
    is removed and the two sides of a new merge are not neighbours in its ids; in WordPiece and Unigram, if none is
    removed and no word of it holds the string of a new token. The other options are those of `extend`. A dict of texts
    instead of a corpus, `{"<|reserved_0|>": "<|im_start|>"}`, gives added tokens other texts, also in template and
    roles. Raises InputError as `prune` and `extend`, TrainingError if the corpus has fewer new tokens than are removed.

    Hazard: the rows of the new ids in a model's embeddings are those of other tokens until `Adapted.id_map` is applied.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> found = subwords.adapt.replace(tok, ["slow slower slowest"] * 9, count=2)
    >>> found.tokenizer.vocab_size, tok.tokenize("slow slower"), found.tokenizer.tokenize("slow slower")
    (263, ['s', 'low', ' ', 's', 'low', 'e', 'r'], ['slow', ' slow', 'e', 'r'])
    """
    tokenizer = tokenizer_of(tokenizer)
    if _is_renaming(source):
        refuse_given("new texts of added tokens", count=count, drop=drop, scripts=scripts, keep=keep, reading=reading)
        return _renamed(tokenizer, source)
    model = tokenizer.model
    learn = family_of(model).tool("extend", "replace")
    removal = removal_of(tokenizer.spec)
    if (count is None) + (drop is None) + (scripts is None) != 2:
        raise InputError("expected one of count, drop and scripts, which choose the tokens to replace")
    if keep is not None and count is None:
        raise InputError("keep is an option for count: the tokens to drop are named")
    if count is not None:
        check_integer("count", count, 1, MOST_COUNTED)
    counts = counts_for(tokenizer, source, reading=reading, threads=threads, progress=progress)
    removed = _removed(tokenizer, removal, counts, count, drop, scripts, keep, threads)
    settings = Extension(
        count=len(removed),
        min_frequency=min_frequency,
        tie_break=tie_break,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
    )
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        # The removed strings are still in the vocabulary, so that they are not learned again.
        found: NewTokens = learn(
            model.without(removed), counts, settings, threads=thread_count(threads), on_step=bar.phase
        )
    if len(found.tokens) < len(removed):
        raise TrainingError(
            f"cannot replace {len(removed)} tokens: this corpus has {len(found.tokens)} new ones; use more "
            "text, or replace fewer"
        )
    return _filled(tokenizer, removed, found)


def _is_renaming(source: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(source, Mapping) and bool(source) and all(isinstance(text, str) for text in source.values())


def _renamed(tokenizer: Tokenizer, texts: Mapping[str, str]) -> Adapted:
    """Return the tokenizer with other texts of added tokens, which keep their ids."""
    known = {token.content for token in tokenizer.added_tokens}
    for old, new in texts.items():
        check_token("the text of an added token", new)
        if old not in known:
            raise InputError(f"cannot rename {old!r:.60}: it is not an added token{nearest(str(old), known)}")
    added = [changed(token, content=texts.get(token.content, token.content)) for token in tokenizer.added_tokens]
    return Adapted(tokenizer.with_(added_tokens=added), tokenizer, _origins=np.arange(tokenizer.vocab_size))


def _removed(
    tokenizer: Tokenizer,
    removal: Removal,
    counts: WordCounts,
    count: int | None,
    drop: Tokens | None,
    scripts: Iterable[str] | None,
    keep: Tokens | None,
    threads: int | None,
) -> list[int]:
    if count is None:
        return chosen_ids(tokenizer, removal, None, drop, scripts, None, None, None, threads=threads, progress=False)
    size = sum(1 for token in removal.tokens if token)
    if count >= size:
        raise InputError(f"cannot replace {count} tokens: there are {size}")
    return chosen_ids(tokenizer, removal, keep, None, None, counts, size - count, None, threads=threads, progress=False)


def _filled(tokenizer: Tokenizer, removed: list[int], found: NewTokens) -> Adapted:
    """Return the tokenizer with new tokens at the ids of removed ones."""
    vocab = tokenizer.model.vocab
    origins = np.where(np.diff(vocab.offsets) > 0, np.arange(len(vocab)), -1)
    origins[removed] = -1
    fresh, scores = dict(zip(removed, found.tokens, strict=True)), dict(zip(removed, found.scores, strict=False))
    spec = rearranged(tokenizer.spec, origins, fresh, scores or None)
    if spec.foreign.sentencepiece is None:
        ids = np.concatenate([np.arange(len(vocab)), np.array(removed, np.int64)])  # of tokens as they were learned
        spec = changed(spec, model=spec.model.with_merges(ids[found.merges]))
    return Adapted(Tokenizer(spec), tokenizer, tuple(removed), tuple(removed), _origins=origins)
