"""Added tokens, which are matched before the text is split; roles of special tokens; trusted parts of an input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from typing import TypeAlias

from subwords.support.checks import check_token, encode_text, exact
from subwords.support.errors import InputError

FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is matched literally in text, before the model.

    special: matched only if the caller allows it; removed from decoded text on request.
    single_word: not matched next to a letter, digit, mark or underscore.
    lstrip, rstrip: also matches the whitespace before it, after it.
    normalized: matched in the normalized text, between the matches of tokens without this flag, as in HF.

    Source: the `added_tokens` of HF's tokenizer.json.

    >>> AddedToken("<mask>", 7, lstrip=True).special
    True
    """

    content: str
    id: int
    _: KW_ONLY
    special: bool = True
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False


def check_added_tokens(tokens: Iterable[AddedToken]) -> tuple[AddedToken, ...]:
    """Return the tokens as a tuple; InputError for an empty content and for duplicate contents or ids.

    >>> check_added_tokens([AddedToken("<eos>", 5)])[0].id
    5
    """
    try:
        tokens = tuple(tokens)
    except TypeError:
        raise InputError(f"expected added tokens as a list of AddedToken, not {type(tokens).__name__}") from None
    for token in tokens:
        _check_token(token)
    _check_distinct(tokens)
    return tokens


def _check_token(token: AddedToken) -> None:
    if not isinstance(token, AddedToken):
        raise InputError(f"expected an AddedToken, not {token!r:.60}")
    if not isinstance(token.content, str) or not token.content:
        raise InputError(
            f"expected added token content as a non-empty str, not {token.content!r:.60} (id {token.id!r:.60})"
        )
    if not isinstance(token.id, int) or isinstance(token.id, bool) or token.id < 0:
        raise InputError(f"expected added token id >= 0 as an int, not {token.id!r:.60} (token {token.content!r:.60})")
    if any("\ud800" <= character <= "\udfff" for character in token.content):
        raise InputError(f"expected added token without lone surrogates, not {token.content!r:.60} (id {token.id})")


def _check_distinct(tokens: Iterable[AddedToken]) -> None:
    by_content: dict[str, AddedToken] = {}
    by_id: dict[int, AddedToken] = {}
    for token in tokens:
        other = by_content.setdefault(token.content, token)
        if other is not token:
            raise InputError(f"duplicate added token {token.content!r:.60}: it has the ids {other.id} and {token.id}")
        other = by_id.setdefault(token.id, token)
        if other is not token:
            raise InputError(
                f"duplicate added token id {token.id}: {other.content!r:.60} and {token.content!r:.60} share it"
            )


# ---------------------------------------------------------------------------------------------------------------------
# Text and Special: the parts of an input that mixes untrusted text and special tokens.


@dataclass(frozen=True, slots=True)
class Text:
    """Text from anywhere: a special token spelled in it is ordinary text.

    as_text: other added tokens that are ordinary text in it too; without it, added tokens that are not special are
    found. Raises InputError for other types; `encode` raises it for a name that is no added token.

    >>> import subwords
    >>> from subwords import Special, Text
    >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<|end|>"])
    >>> tok.encode([Text("ab"), Special("<|end|>")])
    [257, 0]
    """

    text: str | bytes
    _: KW_ONLY
    as_text: Set[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str | bytes):
            raise InputError(f"expected Text of str or bytes, not {type(self.text).__name__}")
        object.__setattr__(self, "text", exact(self.text))
        if type(self.as_text) is not frozenset:
            if not isinstance(self.as_text, Set):
                raise InputError(f"expected as_text as a set of tokens, not {self.as_text!r:.60}")
            object.__setattr__(self, "as_text", frozenset(self.as_text))


@dataclass(frozen=True, slots=True)
class Special:
    """One added token by its content; see `Text`.

    It takes whitespace beside it in `Text` if the token does so in text (`lstrip`, `rstrip`).

    >>> Special("<|end|>")
    Special(token='<|end|>')
    """

    token: str

    def __post_init__(self) -> None:
        check_token("Special", self.token)


Input: TypeAlias = str | bytes | Sequence[Text | Special]


def input_parts(value: object) -> tuple[Text | Special, ...]:
    """Return the parts of an input that is a list or tuple of Text and Special; InputError for anything else."""
    if isinstance(value, list | tuple):
        for part in value:
            if not isinstance(part, Text | Special):
                raise InputError(
                    f"expected a list of Text and Special as one text, not of {type(part).__name__}; encode_batch "
                    "takes many texts"
                )
        return tuple(value)
    raise InputError(f"expected text (str or bytes) or a list of Text and Special, not {type(value).__name__}")


def input_bytes(value: Input) -> bytes:
    """Return the bytes of a text, or of the joined parts of one."""
    if isinstance(value, bytes):
        return exact(value)
    if isinstance(value, str):
        return encode_text(value)
    return b"".join(input_bytes(part.token if isinstance(part, Special) else part.text) for part in input_parts(value))


# ---------------------------------------------------------------------------------------------------------------------
# Roles of special tokens: which one begins a text, ends it, fills it up, ...

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
