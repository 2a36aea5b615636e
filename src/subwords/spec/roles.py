"""Roles of special tokens: which one begins a text, ends it, fills it up, ..."""

from __future__ import annotations

from collections.abc import Iterable

from subwords.spec.added_token import AddedToken
from subwords.support.errors import InputError

ROLES = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")
BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

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


def checked_roles(roles: object, size: int) -> tuple[tuple[str, int], ...]:
    """Return pairs of a role and an id in the order of ROLES; InputError for others, and for ids not below `size`.

    >>> checked_roles((("pad", 1), ("bos", 0)), 2)
    (('bos', 0), ('pad', 1))
    """
    found: dict[str, int] = {}
    for pair in roles if isinstance(roles, tuple) else (roles,):
        role, index = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, pair)
        index = int(index) if hasattr(index, "__index__") and not isinstance(index, bool) else None
        if role not in ROLES or role in found or index is None or not 0 <= index < size:
            raise InputError(
                f"expected roles: each of {', '.join(ROLES)} at most once, with an id below {size}, not {pair!r:.80}"
            )
        found[str(role)] = index
    return tuple((role, found[role]) for role in ROLES if role in found)
