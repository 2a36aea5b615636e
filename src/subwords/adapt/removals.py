"""The rules of removal of each family."""

from __future__ import annotations

from subwords.adapt.removal import BPERemoval, Removal
from subwords.adapt.removal_of_pieces import UnigramRemoval, WordPieceRemoval
from subwords.bpe.model import BPE
from subwords.errors import InputError
from subwords.families import family_of
from subwords.spec import TokenizerSpec
from subwords.unigram.model import Unigram
from subwords.wordpiece.model import WordPiece

__all__ = ["removal_of"]


def removal_of(spec: TokenizerSpec, *, allow_unknown: bool = False) -> Removal:
    """Return the rules of a tokenizer; InputError for families whose tokens cannot be removed.

    allow_unknown: also remove pieces without which text that was known would be unknown; not an option of BPE.
    """
    if isinstance(spec.model, BPE):
        if allow_unknown:
            raise InputError("allow_unknown is not an option for BPE, whose bytes and characters always stay")
        return BPERemoval(spec)
    if isinstance(spec.model, Unigram):
        return UnigramRemoval(spec, allow_unknown=allow_unknown)
    if isinstance(spec.model, WordPiece):
        return WordPieceRemoval(spec, allow_unknown=allow_unknown)
    raise InputError(f"expected a BPE, WordPiece or Unigram tokenizer, not {family_of(spec.model).name}")
