"""Prune: fewer tokens for a tokenizer; those that stay keep their ids, or get new ones without gaps."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords import Tokenizer, TokenizerSpec, WordCounts
from subwords.adapt.adapted import Adapted, kept_origins, rearranged
from subwords.adapt.words import counts_for, parts_of_tokens
from subwords.machine import (
    BPE,
    MOST_COUNTED,
    Inserted,
    Model,
    TokenizerLike,
    Unigram,
    WordPiece,
    best_path,
    family_of,
    longest_match,
    merged,
    pairs_of,
    property_members,
    tokenizer_of,
    word_ids,
    word_symbols,
)
from subwords.support.checks import check_flag, check_integer, check_strings
from subwords.support.errors import InputError
from subwords.support.render import token_text

if TYPE_CHECKING:
    from subwords import Reading
    from subwords.machine import Source


# ---------------------------------------------------------------------------------------------------------------------
# Removing tokens from a vocabulary: which must stay, which are the parts of a token, which replace it.


SPECIAL, ADDED = "a special token", "an added token"  # why tokens stay that are not named


class Removal:
    """The rules of removal for one tokenizer.

    fixed: why a token must stay, by id; SPECIAL and ADDED are no reasons against one that the caller names. needs(i):
    the tokens without which no text yields token i. parts(i, gone): the tokens that replace it after removal, without
    regard to neighbours in a text.
    """

    def __init__(self, spec: TokenizerSpec, *, allow_unknown: bool = False) -> None:
        self.spec, self.model, self.allow_unknown = spec, spec.model, allow_unknown
        self.tokens = list(spec.model.vocab)
        self.fixed = self._fixed()

    def needs(self, index: int) -> Sequence[int]:
        """Return the tokens that are merged to this one."""
        return ()

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the tokens that its text becomes without it and without those that are gone."""
        raise NotImplementedError

    def _fixed(self) -> dict[int, str]:
        spec, model = self.spec, self.model
        found: dict[int, str] = dict.fromkeys(sorted(model.special_ids), SPECIAL)
        found |= {token.id: SPECIAL if token.special else ADDED for token in spec.added_tokens}
        found |= dict.fromkeys(sorted(model.unused_ids), "an unused piece, which takes part in merging")
        found |= dict.fromkeys(sorted(model.user_ids), "a user-defined piece")
        found |= dict.fromkeys(model.byte_ids[model.byte_ids >= 0].tolist(), "a byte of unknown characters")
        found |= {index: f"the token of the role {role!r}" for role, index in spec.roles}
        if model.unk_id is not None:
            found[model.unk_id] = "the unknown token"
        if spec.template is not None:
            pieces = [*spec.template.single, *spec.template.pair]
            inserted = [index for piece in pieces if isinstance(piece, Inserted) for index in piece.ids]
            weak = (SPECIAL, ADDED, None)
            found |= {index: "a token of the template" for index in inserted if found.get(index) in weak}
        return found

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        special = self.model.special_ids
        return {token: i for i, token in enumerate(self.tokens) if token and i not in special}

    @cached_property
    def removable(self) -> list[int]:
        """The tokens that may go, in order of id."""
        return [index for index, token in enumerate(self.tokens) if token and index not in self.fixed]


def removal_of(spec: TokenizerSpec, *, allow_unknown: bool = False) -> Removal:
    """Return the rules of a tokenizer; InputError for families whose tokens cannot be removed.

    allow_unknown: also remove pieces without which text that was known would be unknown; not an option of BPE.
    """
    rules: Removal = family_of(spec.model).tool("prune")(spec, allow_unknown=allow_unknown)
    return rules


class BPERemoval(Removal):
    """Removal of leaves: tokens that no other token is made of."""

    model: BPE

    def __init__(self, spec: TokenizerSpec, *, allow_unknown: bool = False) -> None:
        if allow_unknown:
            raise InputError("allow_unknown is not an option for BPE, whose bytes and characters always stay")
        if spec.model.words_only:
            raise InputError("expected a BPE model that merges to prune; this one has whole words or characters only")
        super().__init__(spec)
        self._parts = parts_of_tokens(self.model).tolist()

    def _fixed(self) -> dict[int, str]:
        model = self.model
        kind = "a byte" if model.byte_level else "a character"
        if model.marked:
            symbols = {index for row in model.forms.values() for index in row}
        else:
            symbols = {*model.alphabet[model.alphabet >= 0].tolist()}
        return super()._fixed() | {index: kind for index in sorted(symbols) if 0 <= index < len(self.tokens)}

    def needs(self, index: int) -> Sequence[int]:
        """Return the two tokens of the merge that makes it; () if no merge does."""
        left, right = self._parts[index]
        return (left, right) if left >= 0 else ()

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the two tokens of its merge; of a token that only whole words become, what the merges make."""
        found = self.needs(index)
        if found or self.model.marked:
            return [part for part in found if part < len(self.tokens)]
        symbols = [symbol.id for symbol in word_symbols(self.model, self.tokens[index])]
        made = merged(self._pairs, symbols)
        return [] if made == [index] else [part for part in made if part < len(self.tokens) and part not in gone]

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], tuple[int, int]]:
        return pairs_of(self.model)


# ---------------------------------------------------------------------------------------------------------------------
# Which tokens to remove: named ones, all but named ones, those of a script, those of low count.


def ids_of_tokens(name: str, tokenizer: Tokenizer, tokens: object) -> list[int]:
    """Return the ids of tokens given as ids, as bytes, or as str; InputError for others and for no tokens.

    A str is a token as in `get_vocab`, or else its text.
    """
    if isinstance(tokens, str | bytes | bytearray) or not isinstance(tokens, Iterable):
        raise InputError(f"expected {name} to be a list of tokens or ids, not {tokens!r:.60}")
    found = list(dict.fromkeys(_id_of(name, tokenizer, token) for token in tokens))
    if not found:
        raise InputError(f"expected {name} to name a token; it is empty")
    return found


def _id_of(name: str, tokenizer: Tokenizer, token: object) -> int:
    index: int | None
    if isinstance(token, str | bytes):
        index = tokenizer.token_to_id(token)
        if index is None and isinstance(token, str):
            index = tokenizer.token_to_id(token.encode("utf-8", "surrogatepass"))
        if index is None:
            raise InputError(f"{name}: {token!r:.60} is not in the vocabulary")
        return index
    if isinstance(token, bool) or not isinstance(token, int | np.integer):
        raise InputError(f"expected {name} to hold tokens (str, bytes) or ids (int), not {token!r:.60}")
    if not 0 <= token < tokenizer.vocab_size or not tokenizer.model.vocab[int(token)]:
        raise InputError(f"{name}: no token has the id {token}")
    return int(token)


def unneeded(removal: Removal, wanted: Sequence[int]) -> list[int]:
    """Return the ids, ascending; InputError, by name, for those that must stay and those that others are made of."""
    going = {*wanted}
    for index in wanted:
        if reason := _held_by(removal, index):
            raise InputError(f"cannot prune {token_text(removal.tokens[index])!r} (id {index}): it is {reason}")
    for index in removal.removable:
        if index not in going:
            for part in removal.needs(index):
                if part in going:
                    raise InputError(
                        f"cannot prune {token_text(removal.tokens[part])!r} (id {part}): "
                        f"{token_text(removal.tokens[index])!r} (id {index}) is made of it; prune that too"
                    )
    return sorted(going)


def _held_by(removal: Removal, index: int) -> str | None:
    """Return why a token must stay even if the caller names it, None if it may go."""
    spec, reason = removal.spec, removal.fixed.get(index)
    if reason not in (SPECIAL, ADDED):
        return reason
    if name := spec.names_in_chat(spec.spelling_of(index)):
        return f"a token of the chat template {name!r:.60}; tok.with_(chat_template=...) sets another"
    if spec.padding is not None and spec.padding.pad_id == index:
        return "the token of padding; tok.with_(padding=...) sets another"
    return None


def all_but(removal: Removal, kept: Iterable[int]) -> list[int]:
    """Return the removable tokens except the kept ones and their parts."""
    needed, waiting = set[int](), [*kept]
    while waiting:
        index = waiting.pop()
        if index not in needed and index < len(removal.tokens):
            needed.add(index)
            waiting += removal.needs(index)
    return [index for index in removal.removable if index not in needed]


def of_scripts(removal: Removal, scripts: object) -> list[int]:
    """Return the tokens with letters of some scripts only, but those that others are made of.

    Letters are letters and marks that have a script. Characters that a token has a part of only do not count.
    """
    names = check_strings("scripts", scripts)
    letters, members = letters_of(names)
    found = [index for index in removal.removable if _is_of(removal.tokens[index], letters, members)]
    if not found:
        raise InputError(f"nothing to prune: no token has letters of {', '.join(names)} only")
    going = {*found}
    return all_but(removal, (index for index, token in enumerate(removal.tokens) if token and index not in going))


def left_of_scripts(tokens: Iterable[bytes], scripts: Iterable[str]) -> int:
    """Return how many tokens have a letter of some scripts."""
    letters, members = letters_of(tuple(scripts))
    members &= letters
    return sum(any(members[ord(char)] for char in token.decode("utf-8", "ignore")) for token in tokens)


def letters_of(names: tuple[str, ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which code points are letters of any script, and which are of these scripts."""
    members = np.zeros(0x110000, np.bool_)
    if not names:
        raise InputError("expected scripts to name a script; it is empty")
    for script in names:
        try:
            members |= property_members(f"sc={script}")
        except KeyError:
            raise InputError(f"expected scripts of Unicode, such as 'Cyrillic' or 'Hani', not {script!r:.40}") from None
    letters = property_members("L") | property_members("M")
    letters &= ~(property_members("sc=Common") | property_members("sc=Inherited"))
    return letters, members


def _is_of(token: bytes, letters: NDArray[np.bool_], members: NDArray[np.bool_]) -> bool:
    codes = np.fromiter(map(ord, token.decode("utf-8", "ignore")), np.int64)
    codes = codes[letters[codes]]
    return bool(len(codes)) and bool(members[codes].all())


def token_counts(model: Model, counts: WordCounts, threads: int | None) -> NDArray[np.int64]:
    """Return how often each token occurs in words with counts."""
    batch, found = word_ids(model, counts, threads), np.zeros(len(model.vocab) + 1, np.int64)
    np.add.at(found, batch.ids, np.repeat(counts.counts.astype(np.int64), np.diff(batch.offsets)))
    return found[:-1]


def lowest(
    removal: Removal, counts: NDArray[np.int64], kept: Iterable[int], more: Callable[[int, int], bool]
) -> list[int]:
    """Return the tokens that go, in order: always the one of lowest count, of equal ones that of the largest id.

    Defined in ALGORITHMS.md, C2.

    A token is removed only if it is not a part of another one. Its count is added to the counts of its parts.
    more: whether to remove another one, by the count of the next token and the number of removed ones.
    """
    own, gone, order = counts.tolist(), set[int](), list[int]()
    users = [0] * len(removal.tokens)
    stays = {*kept}
    removable = [index for index in removal.removable if index not in stays]
    may_go = {*removable}
    for index in removal.removable:
        for part in removal.needs(index):
            if part < len(users):
                users[part] += 1
    heap = [(own[index], -index) for index in removable if not users[index]]
    heapify(heap)
    while heap:
        count, index = heap[0][0], -heap[0][1]
        if index in gone or count != own[index]:
            heappop(heap)  # it is there again, with its count of now
            continue
        if not more(count, len(order)):
            break
        heappop(heap)
        gone.add(index)
        order.append(index)
        for part in removal.parts(index, gone):
            own[part] += count
            if count and part in may_go and not users[part]:
                heappush(heap, (own[part], -part))
        for part in removal.needs(index):
            if part < len(users):
                users[part] -= 1
                if not users[part] and part in may_go:
                    heappush(heap, (own[part], -part))
    return order


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

    Bytes and characters are never removed, nor is a token that a kept token is merged from; special and added tokens
    only if `drop` names them, unless a role, template, padding or chat template does. Others keep their ids; the other
    ids have no token. compact: ids without gaps instead, in the same order. A text keeps its ids if none of them is
    removed; the text of a removed token becomes what the merges that are left make of it (`Adapted.becomes`).
    allow_unknown: also remove pieces of Unigram and WordPiece without which text becomes unknown.
    Raises InputError for tokens that must stay, sizes that cannot be reached, and counts of another splitter.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> found = subwords.adapt.prune(tok, drop=[" lowest"])
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
    if removed and {*removal.removable} <= {*removed}:
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
        check_integer("vocab_size", vocab_size, 1, MOST_COUNTED)
        if vocab_size > size:
            raise InputError(f"expected vocab_size to be at most {size}, the number of tokens, not {vocab_size}")
    else:
        check_integer("min_count", min_count, 1, MOST_COUNTED)
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
        came = f"not {' and '.join(modes)}" if modes else "none was given"
        raise InputError(f"expected one of keep, drop, scripts and source, or keep with source; {came}")
    limits = [name for name in ("vocab_size", "min_count") if given[name] is not None]
    if "source" in modes and len(limits) != 1:
        came = "not both" if limits else "none was given"
        raise InputError(f"source needs one of vocab_size and min_count; {came}")
    if "source" not in modes and limits:
        raise InputError(f"{limits[0]} needs source: word counts, or a corpus")


# ---------------------------------------------------------------------------------------------------------------------
# Removal of pieces of Unigram and WordPiece: no piece is made of others, but characters must stay known.


class UnigramRemoval(Removal):
    """Any piece may go whose characters are other pieces, or bytes."""

    model: Unigram

    def _fixed(self) -> dict[int, str]:
        found = super()._fixed()
        if self.allow_unknown or (self.model.byte_fallback and bool((self.model.byte_ids >= 0).all())):
            return found
        for token, index in self._ids.items():
            text = token.decode("utf-8", "surrogateescape")
            lost = next(
                (c for c in text if len(text) == 1 or c.encode("utf-8", "surrogateescape") not in self._ids), ""
            )
            if lost:
                found.setdefault(index, f"a piece without which the character {lost!r} would be unknown")
        return found

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the pieces of the greatest sum of scores that spell it; [] if none do."""
        scores, ids = self._scores, self._ids

        def score_of(piece: bytes) -> float | None:
            found = ids.get(piece, index)
            return None if found == index or found in gone else scores[found]

        return [ids[piece] for piece in best_path(self.tokens[index], score_of, self._longest)[0]]

    @cached_property
    def _scores(self) -> list[float]:
        scores: list[float] = self.model.path_scores.tolist()
        return scores

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._ids), default=1)


class WordPieceRemoval(Removal):
    """Any piece may go whose characters are pieces themselves, in the same places: at the beginning and inside."""

    model: WordPiece

    def __init__(self, spec: TokenizerSpec, *, allow_unknown: bool = False) -> None:
        super().__init__(spec, allow_unknown=allow_unknown)
        if allow_unknown:
            return
        # A shorter match may end inside the piece after it, whose other characters then are matched by themselves.
        for index in self._ids.values():
            if self._prefix and self.tokens[index].startswith(self._prefix) and (lost := self._lost(index)):
                raise InputError(
                    f"pruning could make words with {token_text(self.tokens[index])!r} unknown, for lack of the piece "
                    f"{lost!r}; allow_unknown=True prunes anyway"
                )

    def _fixed(self) -> dict[int, str]:
        found = super()._fixed()
        if self.allow_unknown:
            return found
        for index in self._ids.values():
            pieces = [*self._characters(index)]
            if len(pieces) == 1:
                found.setdefault(index, "the piece of a character, without which words would be unknown")
            elif lost := self._lost(index):
                found.setdefault(index, f"needed, for lack of the piece {lost!r}, for words that would be unknown")
        return found

    def _characters(self, index: int) -> Iterator[str]:
        """Yield the pieces of the characters of a piece."""
        text, prefix = self.tokens[index].decode("utf-8", "replace"), self.model.prefix
        inside = bool(prefix) and text.startswith(prefix) and len(text) > len(prefix)
        for place, char in enumerate(text.removeprefix(prefix) if inside else text):
            yield (prefix if inside or place else "") + char

    def _lost(self, index: int) -> str:
        return next((piece for piece in self._characters(index) if piece.encode() not in self._ids), "")

    @cached_property
    def _prefix(self) -> bytes:
        return self.model.prefix.encode()

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the longest matches that spell it; [] if none do."""
        return longest_match(_Left(self._ids, gone, index), self._prefix, self.tokens[index], index)


class _Left(dict[bytes, int]):
    """Pieces but those that are gone, looked up in the dict of all."""

    def __init__(self, every: dict[bytes, int], gone: Container[int], without: int) -> None:
        self._every, self._gone, self._without = every, gone, without

    def get(self, piece: bytes, default: int = -1) -> int:  # type: ignore[override]
        found = self._every.get(piece, default)
        return default if found in self._gone else found
