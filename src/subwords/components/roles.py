"""Roles of special tokens: which one begins a text, ends it, fills it up, ..."""

from __future__ import annotations

from collections.abc import Iterable

from subwords.components.added_token import AddedToken

__all__ = ["ROLES", "roles_by_name"]

ROLES = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")

_NAMES = {
    "bos": ("<s>", "<|begin_of_text|>", "<|startoftext|>", "<bos>"),
    "eos": ("</s>", "<|endoftext|>", "<|end_of_text|>", "<eos>"),
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]", "<|pad|>"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("<mask>", "[MASK]"),
}


def roles_by_name(tokens: Iterable[AddedToken]) -> tuple[tuple[str, int], ...]:
    """Return the role and the id of each special token whose name is the usual one of a role.

    >>> roles_by_name([AddedToken("[PAD]", 0), AddedToken("<x>", 1)])
    (('pad', 0),)
    """
    ids = {token.content: token.id for token in tokens if token.special}
    found = ((role, next((ids[name] for name in names if name in ids), None)) for role, names in _NAMES.items())
    return tuple((role, index) for role, index in found if index is not None)
