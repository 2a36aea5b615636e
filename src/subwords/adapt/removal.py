"""Removing tokens from a vocabulary: which must stay, which are the parts of a token, which replace it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from subwords.adapt.merge_graph import parts_of_tokens
from subwords.bpe.model import BPE
from subwords.bpe.plain import first_symbols, merged, pairs_of
from subwords.components.template import Inserted
from subwords.errors import InputError
from subwords.families import family_of
from subwords.spec import TokenizerSpec

__all__ = ["BPERemoval", "Removal", "removal_of", "shown"]


def shown(token: bytes) -> str:
    """Return a token for messages."""
    return repr(token.decode("utf-8", "backslashreplace"))


class Removal:
    """The rules of removal for one tokenizer.

    fixed: why a token must stay, by id. needs(i): the tokens without which no text yields token i. parts(i, gone): the
    tokens that replace it after removal, without regard to neighbours in a text.
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
        found: dict[int, str] = {}
        for index in sorted(model.unused_ids):
            found[index] = "an unused piece, which takes part in merging"
        for index in sorted(model.user_ids):
            found[index] = "a user-defined piece"
        for index in sorted(model.special_ids):
            found[index] = "a special token"
        found |= dict.fromkeys(model.byte_ids[model.byte_ids >= 0].tolist(), "a byte of unknown characters")
        found |= {token.id: "a special token" if token.special else "an added token" for token in spec.added_tokens}
        found |= {index: f"the token of the role {role!r}" for role, index in spec.roles}
        if model.unk_id is not None:
            found[model.unk_id] = "the unknown token"
        if spec.template is not None:
            pieces = [*spec.template.single, *spec.template.pair]
            inserted = [index for piece in pieces if isinstance(piece, Inserted) for index in piece.ids]
            found |= {index: "a token of the template" for index in inserted if index not in found}
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
        own = {index: kind for index in sorted(symbols) if 0 <= index < len(self.tokens)}
        return own | super()._fixed()

    def needs(self, index: int) -> Sequence[int]:
        """Return the two tokens of the merge that makes it; () if no merge does."""
        left, right = self._parts[index]
        return (left, right) if left >= 0 else ()

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the two tokens of its merge; of a token that only whole words become, what the merges make."""
        found = self.needs(index)
        if found or self.model.marked:
            return [part for part in found if part < len(self.tokens)]
        symbols = [symbol.id for symbol in first_symbols(self.model, self.tokens[index])]
        made = merged(self._pairs, symbols)
        return [] if made == [index] else [part for part in made if part < len(self.tokens) and part not in gone]

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], tuple[int, int]]:
        return pairs_of(self.model)
