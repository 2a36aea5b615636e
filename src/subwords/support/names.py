"""Names in users' spelling, names of other libraries, and how this package was installed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from subwords.support.errors import MissingName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A word, or several joined by `-`, `.` or spaces. The pattern `a.b` matches too: as a regex it would be rare.
_NAME = re.compile(r"\w+(?:[-. ]+\w+)*")
SHORTEST_NAME = 3  # characters
MOST_NAMES = 3  # names in a suggestion


def _squashed(text: str) -> str:
    return re.sub(r"[-_ ]|(?<=[0-9])\.(?=[0-9])", "", text).lower()


def named(text: str, names: Iterable[str], aliases: Mapping[str, str] | None = None) -> str | None:
    """Return the name that a text spells, directly or by an alias, or None.

    >>> named("GPT_2", ["gpt2", "bert"])
    'gpt2'
    """
    names = (*names, *(aliases or {}).values())
    if text in names:
        return text
    table = {_squashed(alias): name for alias, name in (aliases or {}).items()} | {_squashed(n): n for n in names}
    return table.get(_squashed(text))


def looks_like_name(text: str) -> bool:
    """Whether a text of at least 3 characters has only letters and digits, with `-`, `_`, `.` or spaces between."""
    return len(text) >= SHORTEST_NAME and _NAME.fullmatch(text) is not None


def nearest(text: str, names: Iterable[str]) -> str:
    """Return a "did you mean" suffix with the names most similar to a text, or "" if no name is similar.

    >>> nearest("lama3", ["llama3", "gpt2"])
    "; did you mean 'llama3'?"
    """
    from difflib import get_close_matches

    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(_squashed(name), name)
    found = get_close_matches(_squashed(text), spellings, n=MOST_NAMES, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(spellings[name]) for name in found)}?" if found else ""


# ---------------------------------------------------------------------------------------------------------------------
# Names that users know from other libraries, and what they are called here: only for the messages of errors.

_ROLES = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")

# Of a tokenizer: transformers, HF tokenizers, tiktoken, SentencePiece.
OF_TOKENIZER = {
    **{f"{role}_token_id": f'tok.roles.get("{role}")' for role in _ROLES},
    **{f"{role}_token": f'tok.id_to_token(tok.roles["{role}"])' for role in _ROLES},
    **{f"{role}_id": f'tok.roles.get("{role}")' for role in ("bos", "eos", "unk", "pad")},
    **dict.fromkeys(("from_file", "from_pretrained", "from_str", "from_buffer"), "subwords.load(path)"),
    **dict.fromkeys(("train", "train_from_iterator", "train_new_from_iterator"), "subwords.train(texts, ...)"),
    **dict.fromkeys(("encode_ordinary", "EncodeAsIds", "encode_as_ids"), "tok.encode(text)"),
    **dict.fromkeys(("encode_ordinary_batch", "encode_batch_fast"), "tok.encode_batch(texts)"),
    **dict.fromkeys(("encode_plus", "batch_encode_plus"), "tok(text) or tok(texts)"),
    **dict.fromkeys(("EncodeAsPieces", "encode_as_pieces"), "tok.tokenize(text)"),
    **dict.fromkeys(("DecodeIds", "decode_ids", "convert_tokens_to_string"), "tok.decode(ids)"),
    **dict.fromkeys(("decode_single_token_bytes", "id_to_bytes"), "tok.token_bytes(id)"),
    **dict.fromkeys(
        ("encode_single_token", "convert_tokens_to_ids", "piece_to_id", "PieceToId"), "tok.token_to_id(token)"
    ),
    **dict.fromkeys(("convert_ids_to_tokens", "IdToPiece", "id_to_piece"), "tok.id_to_token(id)"),
    **dict.fromkeys(("get_vocab_size", "GetPieceSize", "get_piece_size"), "tok.vocab_size"),
    **dict.fromkeys(("add_special_tokens", "add_tokens"), "tok.with_tokens(tokens)"),
    **dict.fromkeys(("all_special_tokens", "special_tokens_set", "special_tokens_map"), "tok.special_tokens"),
    "all_special_ids": "tok.special_tokens.values()",
    "apply_chat_template": "tok.chat(messages).ids",
    "batch_decode": "tok.decode_batch(lists)",
    "decode_with_offsets": "tok.decode_with_spans(ids)",
    "eot_token": 'tok.special_tokens["<|endoftext|>"]',
    "enable_padding": "tok(texts, padding=True) or tok.with_(padding=...)",
    "enable_truncation": "tok(text, truncation=512) or tok.with_(truncation=...)",
    "n_vocab": "tok.vocab_size",
    "max_token_value": "tok.vocab_size - 1",
    "post_processor": "tok.template",
    "pre_tokenizer": "tok.splitter",
    "push_to_hub": "tok.save(folder), and the huggingface_hub package",
    "save_pretrained": 'tok.save("folder/")',
    "to_str": "tok.save(path)",
}

OF_MODULE = {
    **dict.fromkeys(("get_encoding", "encoding_for_model"), 'subwords.load("gpt-4o")'),
    **dict.fromkeys(("AutoTokenizer", "SentencePieceProcessor", "from_pretrained", "from_file"), "subwords.load(path)"),
    **dict.fromkeys(("SentencePieceTrainer", "trainers", "models"), "subwords.train(texts, algorithm=...)"),
    **dict.fromkeys(("pre_tokenizers", "PreTokenizer"), "subwords.splitter(name)"),
    "normalizers": "subwords.normalizer(name)",
    "merge": "subwords.adapt.merge(tokenizer, other)",
}


def hint(owner: str, name: str, ours: str) -> MissingName:
    """Return the error for a name of another library."""
    return MissingName(f"{owner} has no {name!r}, which is another library's name: use {ours}")


class WithHints(type):
    """The class of a class with `OtherName`: completion, which lists the class too, shows only names that are there."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in OF_TOKENIZER]


class OtherName:
    """An attribute that is not there: reading it raises an AttributeError with our name for it, so `hasattr` is False.

    `__getattr__` on the class would make each call of a method 40 ns slower, a tenth of `encode` of a short text.
    """

    def __init__(self, name: str, ours: str) -> None:
        self.name, self.ours = name, ours

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise hint("Tokenizer", self.name, self.ours)


# ---------------------------------------------------------------------------------------------------------------------
# Small functions instead of modules whose import takes longer than the work: loading a tokenizer needs no other.

Item = TypeVar("Item", bound="np.generic")


def distinct(array: NDArray[Item], *, in_order: bool = False) -> NDArray[Item]:
    """Return the distinct elements in order, as `np.unique`, which imports `numpy.ma` and hashes: 20 times as long.

    in_order: the array is sorted already.

    >>> import numpy as np
    >>> distinct(np.array([[3, 1], [1, 2]])).tolist()
    [1, 2, 3]
    """
    import numpy as np  # the command line's help needs the names above, not NumPy

    ordered = array if in_order else np.sort(array, axis=None)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def is_among(numbers: NDArray[Any], members: Iterable[int] | NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers from 0 on are members, as `np.isin`, which may import `numpy.ma`.

    >>> import numpy as np
    >>> is_among(np.array([[3, 1], [0, 2]]), {2, 3, 9}).tolist()
    [[True, False], [False, True]]
    """
    import numpy as np

    found = np.array([*members], np.int64)
    table: NDArray[np.bool_] = np.zeros(max(numbers.max(initial=0), found.max(initial=0)) + 1, np.bool_)
    table[found] = True
    among: NDArray[np.bool_] = table[numbers]
    return among


def random_bits(count: int) -> int:
    """Return a number of up to 64 unpredictable bits, as `secrets.randbits`.

    >>> 0 <= random_bits(8) < 256
    True
    """
    return int.from_bytes(os.urandom(8), "little") >> 64 - count


# ---------------------------------------------------------------------------------------------------------------------
# The command that installs what an optional feature needs, for the way this package was installed.


def install_hint(extra: str) -> str:
    """Return how to install an extra: from the folder or the wheel that this package came from, or by its name.

    Source: PEP 610, direct_url.json.
    """
    # Only a missing package needs these modules, and they take a while.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        record = distribution("subwords").read_text("direct_url.json")
    except PackageNotFoundError:  # the folder of the sources is on the path
        record = None
    found = json.loads(record) if record else {}
    url = urlsplit(str(found.get("url", "")))
    editable = "-e " if found.get("dir_info", {}).get("editable") else ""
    if url.scheme == "file":
        return f'pip install {editable}"{unquote(url.path)}[{extra}]"'
    from pathlib import Path

    sources = Path(__file__).resolve().parents[3]
    if (sources / "pyproject.toml").is_file():
        return f'pip install -e "{sources}[{extra}]"'
    return f'pip install "subwords[{extra}]"'
