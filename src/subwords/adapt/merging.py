"""Merge: a tokenizer gets the tokens of another one; its own ids stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords import Tokenizer, TokenizerSpec
from subwords.adapt.adapted import Adapted, rearranged
from subwords.adapt.id_maps import check_alphabets
from subwords.adapt.words import ids_of_words
from subwords.machine import BPE, FLAGS, Model, TokenizerLike, Vocab, WordPiece, family_of, merged, need, tokenizer_of
from subwords.support.errors import InputError


def merge(tokenizer: TokenizerLike, other: TokenizerLike, *, threads: int | None = None) -> Adapted:
    """Return the first tokenizer with the tokens of the second one as well; all its ids keep their tokens.

    Defined in ALGORITHMS.md, C3.

    New tokens get the next ids, in the order in which `other` makes them. For BPE, each of them has one merge, which
    ranks after all others: of the two tokens that all earlier merges leave of its text. So text yields each new token.
    A token is left out if earlier merges leave more than two parts of it: no text could produce it
    (`Adapted.left_out`), unless words that are tokens are looked up. A text keeps its ids unless the two sides of a new
    merge are neighbours in these ids, or it has a character or a whole word that only `other` knows. Special and added
    tokens of `other` come last, with their flags. `id_map` says which old ids make up the new ones;
    `subwords.adapt.id_map(second, merged.tokenizer)` does so for the second tokenizer.

    BPE and WordPiece only. Raises InputError for tokenizers of different families, alphabets, splitters or normalizers,
    and if `other` has nothing new.

    >>> import subwords
    >>> first = subwords.train(["low lower lowest"] * 9, vocab_size=260)
    >>> second = subwords.train(["new newer newest"] * 9, vocab_size=260)
    >>> found = subwords.adapt.merge(first, second)
    >>> found.added, found.tokenizer.tokenize("low new")
    ((260, 261, 262, 263), ['low', ' new'])
    """
    tok_a, tok_b = tokenizer_of(tokenizer, "the first tokenizer"), tokenizer_of(other, "the second tokenizer")
    _check_related(tok_a, tok_b)
    spec, left_out = family_of(tok_a.model).tool("merge")(tok_a.spec, tok_b.model, threads)
    spec, more = _with_added(spec, tok_b.spec)
    size, vocab = len(tok_a.model.vocab), tok_a.model.vocab
    if len(spec.model.vocab) == size:
        raise InputError("nothing to merge: the first tokenizer already has every usable token of the second")
    origins = np.full(len(spec.model.vocab), -1, np.int64)
    origins[:size] = np.where(np.diff(vocab.offsets) > 0, np.arange(size), -1)
    added = tuple(range(size, len(origins)))
    return Adapted(Tokenizer(spec), tok_a, (), added, (*left_out, *more), origins)


def _check_related(tok_a: Tokenizer, tok_b: Tokenizer) -> None:
    check_alphabets(tok_a, tok_b)
    families = [family_of(tok.model).name for tok in (tok_a, tok_b)]
    if families[0] != families[1]:
        raise InputError(f"expected two tokenizers of one family to merge, not {families[0]} and {families[1]}")
    if tok_a.splitter != tok_b.splitter:
        raise InputError(
            f"unrelated tokenizers: expected one splitter, not {tok_a.splitter.shown} and {tok_b.splitter.shown}; "
            "tokens that cross the first splitter's cuts could never be used"
        )
    if tok_a.spec.normalizer != tok_b.spec.normalizer:
        names = [tok.normalizer.shown if tok.normalizer else "none" for tok in (tok_a, tok_b)]
        raise InputError(f"unrelated tokenizers: expected one normalizer, not {names[0]} and {names[1]}")


def merge_wordpiece(spec: TokenizerSpec, other: WordPiece, _threads: int | None) -> tuple[TokenizerSpec, list[bytes]]:
    """Return the spec with the pieces of another model as well; none is left out."""
    known = {*spec.model.vocab}
    return _appended(spec, spec.model.grown([token for token in _ordinary(other) if token not in known])), []


def _ordinary(model: Model) -> list[bytes]:
    """Return the tokens that text yields, in order of id."""
    lost = {*model.special_ids, model.unk_id}
    return [token for index, token in enumerate(model.vocab) if token and index not in lost]


def _appended(spec: TokenizerSpec, model: Model) -> TokenizerSpec:
    """Return the spec with a model that has more tokens; in a tokenizer.json, these stand in the model."""
    return replace(spec, model=model, foreign=replace(spec.foreign, model_size=None))


def merge_bpe(spec: TokenizerSpec, other: BPE, threads: int | None) -> tuple[TokenizerSpec, list[bytes]]:
    """Return the spec with the tokens of another model as well, and those that no text would yield."""
    model = need(spec.model, BPE, "merge")
    for one in (model, other):
        if one.words_only or one.parts or one.unused_ids or one.marked:
            raise InputError("merge does not support BPE models with prefix, suffix, words_only, parts or unused_ids")
    symbols, wanted = _new_tokens(model, other)
    base = [*model.vocab, *symbols]
    start = replace(model, vocab=Vocab(base), whole_words=False, ranks=None if model.is_ranked else model.ranks)
    rows = ids_of_words(start, wanted, threads).to_lists()
    tokens, merges, left_out = _one_more_merge(rows, wanted, len(base))
    if model.whole_words:  # words that are tokens are looked up
        tokens, left_out = [*tokens, *left_out], []
    if spec.foreign.sentencepiece is not None:
        more = [*symbols, *tokens]
        origins = np.concatenate([np.arange(len(model.vocab)), np.full(len(more), -1)])
        return rearranged(spec, origins, dict(enumerate(more, len(model.vocab)))), left_out
    return _appended(spec, model.grown([*symbols, *tokens], merges)), left_out


def _new_tokens(model: BPE, other: BPE) -> tuple[list[bytes], list[bytes]]:
    """Return the symbols that only the other model has, and its other new tokens, in order of its merges."""
    known = {*model.vocab}
    lost = {*other.special_ids, *other.user_ids, other.unk_id, *other.byte_ids.tolist()}
    fresh = [i for i, token in enumerate(other.vocab) if token and token not in known and i not in lost]
    alone = {*other.alphabet[other.alphabet >= 0].tolist()}
    places = np.full(len(other.vocab), len(other.merges))
    places[other.merges[::-1, 2]] = np.arange(len(other.merges))[::-1]
    wanted = sorted((i for i in fresh if i not in alone), key=lambda i: (int(places[i]), i))
    return [other.vocab[i] for i in fresh if i in alone], [other.vocab[i] for i in wanted]


def _one_more_merge(
    rows: Sequence[Sequence[int]], wanted: Sequence[bytes], size: int
) -> tuple[list[bytes], NDArray[np.int64], list[bytes]]:
    """Return the tokens that one merge more makes, these merges, and the tokens that are left.

    rows: the ids that the old merges leave of each token.
    """
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    tokens, waiting, before = list[bytes](), [*zip(wanted, map(list, rows), strict=True)], -1
    while len(waiting) != before:  # what is left may be made of tokens that came after it
        before, left = len(waiting), list[tuple[bytes, list[int]]]()
        for token, row in waiting:
            found = merged(pairs, row)
            if len(found) == 2:
                pairs[found[0], found[1]] = len(pairs), size + len(tokens)
                tokens.append(token)
            else:
                left.append((token, found))
        waiting = left
    merges = np.array([(*pair, made) for pair, (_, made) in pairs.items()], np.int64).reshape(-1, 3)
    return tokens, merges, [token for token, _ in waiting]


def _with_added(spec: TokenizerSpec, other: TokenizerSpec) -> tuple[TokenizerSpec, list[bytes]]:
    """Return the spec with the added tokens of another one, and those that are ordinary tokens here."""
    own, left_out = {token.content for token in spec.added_tokens}, list[bytes]()
    for token in other.added_tokens:
        if token.content in own:
            continue
        if spec.index_of(token.content) is not None:
            left_out.append(token.content.encode())
            continue
        spec = spec.with_tokens([token.content], {name: getattr(token, name) for name in FLAGS})
    return spec, left_out
