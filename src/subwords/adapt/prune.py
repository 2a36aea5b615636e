"""Prune: fewer tokens for a tokenizer; those that stay keep their ids, or get new ones without gaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from subwords.adapt.adapted import Adapted
from subwords.adapt.chosen import all_but, ids_of_tokens, lowest, of_scripts, token_counts, unneeded
from subwords.adapt.counted import counts_for
from subwords.adapt.rearranged import kept_origins, rearranged
from subwords.adapt.removal import Removal, removal_of
from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import InputError
from subwords.support.checks import check_flag, check_integer
from subwords.tokenizer import Tokenizer, TokenizerLike, tokenizer_of

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source

__all__ = ["Tokens", "chosen_ids", "prune"]

Tokens: TypeAlias = Iterable[str | bytes | int]


def prune(
    tokenizer: TokenizerLike,
    *,
    keep: Tokens | None = None,
    drop: Tokens | None = None,
    scripts: Iterable[str] | None = None,
    source: Source | WordCounts | None = None,
    reading: Reading | None = None,
    vocab_size: int | None = None,
    min_count: int | None = None,
    compact: bool = False,
    allow_unknown: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Adapted:
    """Return a tokenizer with fewer tokens, and what became of each id (ALGORITHMS.md, C2).

    Give one of these. drop: tokens to remove. keep: all others are removed, but those that these are made of. scripts:
    removes tokens whose letters are all of these scripts ("Cyrillic", "Hani"). source: removes the tokens that a
    corpus, or word counts, use least, until `vocab_size` tokens are left, or until each of those that may go is used
    `min_count` times; with `keep`, those stay. Tokens are ids, bytes, or str as in `get_vocab` or as text.

    Bytes, characters and special tokens are never removed, nor is a token that a kept token is merged from. Others keep
    their ids; the other ids have no token. compact: ids without gaps instead, in the same order. A text keeps its ids
    if none of them is removed; the text of a removed token becomes what the merges that are left make of it
    (`Adapted.becomes`). allow_unknown: also remove pieces of Unigram and WordPiece without which text becomes unknown.
    Raises InputError for tokens that must stay, sizes that cannot be reached, and counts of another splitter.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> found = subwords.prune(tok, drop=[" lowest"])
    >>> found.removed, found.becomes, found.tokenizer.tokenize("low lowest")
    ((262,), {262: (259, 260)}, ['low', ' lowe', 'st'])

    Source: leaf-based pruning, Purason et al., arXiv 2512.03989.
    """
    tokenizer = tokenizer_of(tokenizer)
    check_flag("compact", compact)
    check_flag("allow_unknown", allow_unknown)
    removal = removal_of(tokenizer.spec, allow_unknown=allow_unknown)
    removed = chosen_ids(
        *(tokenizer, removal, keep, drop, scripts, source, vocab_size, min_count),
        reading=reading,
        threads=threads,
        progress=progress,
    )
    if removed and len(removed) == len(removal.removable):
        raise InputError("these options would remove every learned token; keep at least one")
    origins = kept_origins(tokenizer.model, removed, compact=compact)
    return Adapted(Tokenizer(rearranged(tokenizer.spec, origins)), tokenizer, tuple(removed), _origins=origins)


def chosen_ids(
    tokenizer: Tokenizer,
    removal: Removal,
    keep: Tokens | None,
    drop: Tokens | None,
    scripts: Iterable[str] | None,
    source: Source | WordCounts | None,
    vocab_size: int | None,
    min_count: int | None,
    *,
    reading: Reading | None = None,
    threads: int | None,
    progress: bool | None,
) -> list[int]:
    """Return the ids that the options of `prune` choose, ascending; InputError for options that do not fit together."""
    _check_options(keep=keep, drop=drop, scripts=scripts, source=source, vocab_size=vocab_size, min_count=min_count)
    kept = [] if keep is None else ids_of_tokens("keep", tokenizer, keep)
    if drop is not None:
        return unneeded(removal, ids_of_tokens("drop", tokenizer, drop))
    if scripts is not None:
        return of_scripts(removal, scripts)
    if source is None:
        return all_but(removal, kept)
    size = sum(1 for token in removal.tokens if token)
    if vocab_size is not None:
        check_integer("vocab_size", vocab_size, 1, MOST)
        if vocab_size > size:
            raise InputError(f"expected vocab_size to be at most {size}, the number of tokens, not {vocab_size}")
    else:
        check_integer("min_count", min_count, 1, MOST)
    words = counts_for(tokenizer, source, reading=reading, threads=threads, progress=progress)
    used = token_counts(tokenizer.model, words, threads)
    if vocab_size is not None:
        wanted = size - vocab_size
        found = lowest(removal, used, kept, lambda count, gone: gone < wanted)
        if len(found) < wanted:
            raise InputError(
                f"cannot prune to {vocab_size} tokens: {size - len(found)} tokens cannot be removed: bytes, "
                "characters, special tokens, and tokens that `keep` needs"
            )
    else:
        found = lowest(removal, used, kept, lambda count, gone: count < (min_count or 0))
    return sorted(found)


def _check_options(**given: object) -> None:
    modes = [name for name in ("keep", "drop", "scripts", "source") if given[name] is not None]
    if modes not in (["keep"], ["drop"], ["scripts"], ["source"], ["keep", "source"]):
        came = " and ".join(modes) or "none"
        raise InputError(f"expected one of keep, drop, scripts and source, or keep with source; not {came}")
    limits = [name for name in ("vocab_size", "min_count") if given[name] is not None]
    if "source" in modes and len(limits) != 1:
        raise InputError(f"source needs one of vocab_size and min_count, not {' and '.join(limits) or 'none'}")
    if "source" not in modes and limits:
        raise InputError(f"{limits[0]} needs source: word counts, or a corpus")
