"""Files of ranks: tiktoken's, a token in base64 and its rank, which is its id, on each line; and Mistral's tekken.json.

A rank file has no splitter and no special tokens. Those of OpenAI's files are known by their content; for other files
the caller gives them. A tekken.json has both.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha1, sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from subwords.formats.checks import check_gaps, given_tokens
from subwords.formats.json_node import Node, parse_json, show_json
from subwords.models.bpe.model import BPE, LARGEST_ID
from subwords.models.families import need
from subwords.spec.added_token import AddedToken
from subwords.spec.splitter import ENCODINGS, NAMED, Rule, Split
from subwords.spec.tokenizer import Foreign, TokenizerSpec
from subwords.support.errors import FormatError, InputError

# SHA-256 of OpenAI's files.
_KNOWN = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "r50k_base",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "p50k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base",
}
_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def read_ranks(data: bytes, name: str) -> dict[bytes, int]:
    """Return the rank of every token; `name` is the file's name in messages.

    Raises FormatError, with the line, for a line that is not a token in base64 and a rank, for two tokens of one rank
    or two ranks of one token, and for large gaps between the ranks. An empty token, which Whisper's files have, is a
    rank without a token.

    >>> read_ranks(b"YQ== 0\\nYg== 1\\nYWI= 2\\n", "ab.tiktoken")
    {b'a': 0, b'b': 1, b'ab': 2}
    """
    regular = _regular_ranks(data)
    if regular is not None:
        check_gaps(max(regular.values(), default=0), regular, name, "ranks")
        return regular
    ranks: dict[bytes, int] = {}
    taken: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        where = f"{name}: line {number}"
        token, rank = _parsed(line, where)
        if taken.setdefault(rank, token) is not token:
            raise FormatError(f"{where}: expected an unused rank, not {rank}, the rank of {taken[rank]!r}")
        if token and ranks.setdefault(token, rank) != rank:
            raise FormatError(f"{where}: expected each token once, not {token!r}, which also has rank {ranks[token]}")
    check_gaps(max(ranks.values(), default=0), ranks, name, "ranks")
    return ranks


def _regular_ranks(data: bytes) -> dict[bytes, int] | None:
    """Return the ranks of a file whose lines all are as usual, read at once; None for any other, to read by line."""
    words = data.split()
    tokens, numbers = words[::2], words[1::2]
    lines = b"\n".join(map(b" ".join, zip(tokens, numbers, strict=False)))
    if len(words) % 2 or lines != data.removesuffix(b"\n") or not b"".join(numbers).isdigit():
        return None
    if max(map(len, numbers)) > len(str(LARGEST_ID)):
        return None
    try:
        texts = [a2b_base64(token, strict_mode=True) for token in tokens]
    except Error:
        return None
    ranks = dict(zip(texts, map(int, numbers), strict=True))
    distinct = len(ranks) == len(tokens) == len({*ranks.values()})
    return ranks if distinct and b"" not in ranks and max(ranks.values()) <= LARGEST_ID else None


def _parsed(line: bytes, where: str) -> tuple[bytes, int]:
    token, _, rank = line.partition(b" ")
    try:
        # Python reads a lone "=" as no bytes, and Whisper's files have one.
        text = b"" if token == b"=" else a2b_base64(token, strict_mode=True)
    except Error as error:
        raise FormatError(f"{where}: expected a token in base64, not {token[:40]!r}: {error}") from None
    if not rank.isdigit() or len(rank) > len(str(LARGEST_ID)) or int(rank) > LARGEST_ID:
        raise FormatError(f"{where}: expected a token, a space and a rank up to {LARGEST_ID}, not {line[:60]!r}")
    return text, int(rank)


def read_rank_file(
    data: bytes, name: str, *, splitter: Rule | None = None, special_tokens: Mapping[str, int] | None = None
) -> TokenizerSpec:
    """Return the spec of a rank file; OpenAI's files need no splitter and no special tokens.

    Raises FormatError for a damaged file, an unknown file without a splitter, and a special token whose id is taken.

    Source: tiktoken 0.14, load_tiktoken_bpe.
    """
    ranks = read_ranks(data, name)
    known = _KNOWN.get(sha256(data).hexdigest())
    if splitter is None:
        if known is None:
            free = max(ranks.values(), default=-1) + 1
            raise FormatError(
                f"{name}: a rank file has no splitter and no special tokens, and this is not one of OpenAI's files; "
                f'expected both: load(..., splitter="llama3", special_ids={{"<|end|>": {free}}}), or once "subwords '
                f"convert {Path(name).name} tokenizer.json --splitter llama3 --special-ids "
                f'\'{{"<|end|>": {free}}}\'"'
            )
        splitter = NAMED[ENCODINGS[known].splitter]
    if special_tokens is None:
        special_tokens = ENCODINGS[known].special_tokens if known else {}
    added = given_tokens(special_tokens, {i: text for text, i in ranks.items()}, name)
    return TokenizerSpec(model=_model_of_ranks(ranks, added), splitter=splitter, added_tokens=added)


_QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205)))
_RESERVED = 256  # special tokens of Kimi, of which a folder names some
_MOST_SPECIAL = 100_000


def read_qwen(data: bytes, name: str) -> TokenizerSpec:
    """Return the tokenizer of Qwen 1, whose rules are in code beside its rank file."""
    from subwords.spec.normalizer import Form

    first = max(read_ranks(data, name).values(), default=-1) + 1
    special = {text: first + i for i, text in enumerate(_QWEN)}
    spec = read_rank_file(data, name, splitter=NAMED["qwen2"], special_tokens=special)
    return spec.with_({"normalizer": (Form("NFC"),)})


def read_kimi(data: bytes, name: str, named: Mapping[int, str]) -> TokenizerSpec:
    """Return the tokenizer of Kimi, whose rules are in code beside its rank file; named: special tokens by id."""
    first = max(read_ranks(data, name).values(), default=-1) + 1
    stop = max([first + _RESERVED, *(index + 1 for index in named)])
    if stop > first + _MOST_SPECIAL:
        raise FormatError(f"{name}: expected ids of special tokens below {first + _MOST_SPECIAL}, not {stop - 1}")
    special = {named.get(index) or f"<|reserved_token_{index}|>": index for index in range(first, stop)}
    return read_rank_file(data, name, splitter=NAMED["kimi-k2"], special_tokens=special)


def is_published(data: bytes) -> bool:
    """Whether a rank file is one of OpenAI's, whose splitter and special tokens are known."""
    return sha256(data).hexdigest() in _KNOWN


def _model_of_ranks(ranks: Mapping[bytes, int], added: tuple[AddedToken, ...]) -> BPE:
    tokens = [b""] * (1 + max([*ranks.values(), *(token.id for token in added)], default=-1))
    for text, rank in ranks.items():
        tokens[rank] = text
    for token in added:
        tokens[token.id] = token.content.encode()
    return BPE.from_ranks(tokens, special_ids=[token.id for token in added])


def write_rank_file(spec: TokenizerSpec) -> bytes:
    """Return the rank file of a byte-level BPE tokenizer, without its splitter and special tokens.

    Raises FormatError if tiktoken would give other ids: it merges by id, lowest first, and does not normalize.
    """
    ids = _ranked(spec)
    return b"".join(b"%s %d\n" % (b2a_base64(text, newline=False), i) for text, i in ids.items())


def _ranked(spec: TokenizerSpec) -> dict[bytes, int]:
    """Return the ids of ordinary tokens; FormatError if merging by id, lowest first, does not make them."""
    others = FormatError("a rank file holds byte-level BPE only; write a .json file")
    model = need(spec.model, BPE, others)
    if not model.byte_level:
        raise others
    if model.marked:
        raise FormatError("a rank file holds no prefix and no suffix of symbols; write a .json file")
    # Without a normalizer, `normalized` changes nothing, but the order in which it finds tokens with it and without.
    normalized = all(token.normalized for token in spec.added_tokens)
    for token in spec.added_tokens:
        for name, value in asdict(AddedToken(token.content, token.id, normalized=normalized)).items():
            if (found := getattr(token, name)) != value:
                told = f"{show_json(token.content)} has {name}={found}; write a .json file"
                raise FormatError(f"tiktoken has special tokens only, without options; {told}")
    if spec.normalizer:
        raise FormatError("a rank file holds no normalizer, and tiktoken has none; write a .json file")
    special = model.special_ids | {token.id for token in spec.added_tokens}
    tokens = list(model.vocab)
    ids = {text: i for i, text in enumerate(tokens) if text and i not in special}
    if missing := [byte for byte in range(256) if bytes([byte]) not in ids]:
        raise FormatError(f"a rank file needs a token for each of 256 bytes; {bytes(missing[:1])!r} has none")
    if model != BPE.from_ranks(tokens, special_ids=model.special_ids):
        _check_order(model, ids)
    return ids


def _check_order(model: BPE, ids: Mapping[bytes, int]) -> None:
    """Raise FormatError unless merging by id is the same as merging by the model's list.

    It is if each token has one merge, in the order of ids, of the two parts that lower ids leave of it: inside a token
    that is made at all, the merges before its last are those of the token alone.
    """
    made = {result: (left, right) for left, right, result in model.merges.tolist()}
    ordered = len(made) == len(model.merges) and bool((np.diff(model.merges[:, 2]) > 0).all())
    for text, i in ids.items():
        if len(text) > 1 and not (ordered and made.get(i) == _last_parts(text, i, ids)):
            raise FormatError(
                f"tiktoken would give other ids: it merges by id, lowest first, which does not make {text!r} (id {i}) "
                f"as this model does; write a .json file"
            )


def _last_parts(text: bytes, own: int, ids: Mapping[bytes, int]) -> tuple[int, ...]:
    """Return the ids that merging by ids below `own` leaves of a token."""
    parts = [text[i : i + 1] for i in range(len(text))]
    while len(parts) > 2:
        joints = [ids.get(a + b, own) for a, b in pairwise(parts)]
        at = min(range(len(joints)), key=joints.__getitem__)
        if joints[at] >= own:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return tuple(ids[part] for part in parts)


def cached_file(encoding: str) -> Path | None:
    """Return where the rank file of an encoding is on this machine; None if it is nowhere."""
    return next((place for place in places_of(encoding) if place.is_file()), None)


def places_of(encoding: str) -> list[Path]:
    """Return where the rank file of an encoding may be: here, in SUBWORDS_VOCABULARIES, in tiktoken's caches.

    tiktoken keeps its downloads in TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR, or data-gym-cache in the temporary folder.
    """
    from subwords.formats.read import own_folders

    ranks = ENCODINGS[encoding].ranks
    key = sha1(_URL.format(ranks).encode(), usedforsecurity=False).hexdigest()
    given = os.environ.get("TIKTOKEN_CACHE_DIR"), os.environ.get("DATA_GYM_CACHE_DIR")
    caches = [Path(folder) for folder in given if folder] + [Path(tempfile.gettempdir(), "data-gym-cache")]
    named = [folder / f"{ranks}.tiktoken" for folder in (Path.cwd(), *own_folders())]
    return [*named, *(folder / key for folder in dict.fromkeys(caches))]


def read_encoding(data: bytes, encoding: str, name: str) -> TokenizerSpec:
    """Return the spec of OpenAI's encoding with this name; FormatError if `data` is not its rank file."""
    published = ENCODINGS[encoding]
    if _KNOWN.get(sha256(data).hexdigest()) != published.ranks:
        raise FormatError(f"{name}: expected OpenAI's {published.ranks}.tiktoken; the content differs: get it again")
    return read_rank_file(data, name, special_tokens=published.special_tokens)


def where_to_get(encoding: str) -> str:
    """Return the advice for a missing rank file of an encoding."""
    ranks = ENCODINGS[encoding].ranks
    return (
        f"download {_URL.format(ranks)} to the file {Path.cwd() / ranks}.tiktoken, or call "
        f"tiktoken.get_encoding({ranks!r}) once, which keeps it"
    )


# ---------------------------------------------------------------------------------------------------------------------
# tekken.json: ranks, a pattern and special tokens, which have the first ids; a rank is an id after them.

# The special tokens of files that list none.
_OLD = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
MOST_SPECIAL = 1 << 16  # Mistral's files have 1,000; each takes a name, though the file need not list it
_FILLER = "<SPECIAL_{}>"
_SPELLED = {"indent": 2, "ascii": False, "delete": False, "end": True}


def read_tekken(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a tekken.json; no template: callers of Mistral's library say whether they want bos and eos.

    Ranks above `default_vocab_size` are no tokens; they are kept, and written again. Raises FormatError, with the
    place, for what Mistral's library refuses.

    Source: mistral-common 1.13, Tekkenizer.
    """
    top = parse_json(data, name)
    config = top["config"]
    size = config["default_vocab_size"].integer(LARGEST_ID)
    count = config["default_num_special_tokens"].integer(min(size, MOST_SPECIAL))
    special = _special_of(top["special_tokens"], count)
    listed = [_token_of(entry, number) for number, entry in enumerate(top["vocab"].items())]
    if len(listed) < size - count:
        raise config["default_vocab_size"].wrong(f"at most {count + len(listed)}, all tokens of this file")
    tokens = [text.encode() for text in special] + listed[: size - count]
    taken: dict[bytes, int] = {}
    for index, text in enumerate(tokens[count:]):
        if taken.setdefault(text, index) != index:
            raise top["vocab"].wrong("distinct tokens", f"{text!r:.60} as {taken[text]} and {index}")
    try:
        from subwords.split.splitter import Splitter

        rule = Splitter((Split(config["pattern"].string()),)).rule
    except InputError as error:
        raise config["pattern"].wrong("a supported pattern", f"this one: {error}") from None
    return TokenizerSpec(
        model=BPE.from_ranks(tokens, special_ids=range(count)),
        splitter=rule,
        added_tokens=tuple(AddedToken(text, index) for index, text in enumerate(special)),
        foreign=Foreign(tekken=_kept(top, data, listed[size - count :])),
    )


def _special_of(node: Node, count: int) -> list[str]:
    """Return the special tokens in order of id: those of the file, and names for the ids that are left."""
    found = [*_OLD] if node.value is None else [entry["token_str"].string() for entry in node.items()]
    for number, entry in enumerate([] if node.value is None else node.items()):
        if entry["rank"].integer(LARGEST_ID) != number:
            raise entry["rank"].wrong(f"{number}, its place")
        if len(entry["token_str"].string().encode()) < 2:
            raise entry["token_str"].wrong("a special token of more than one byte: text needs the others")
    found += [_FILLER.format(index) for index in range(len(found), count)]
    if len(found) > count:
        raise node.wrong(f"at most {count} special tokens", f"{len(found)}")
    if len({*found}) < len(found):
        twice = next(text for text in found if found.count(text) > 1)
        raise node.wrong("distinct special tokens", f"{show_json(twice)} twice")
    return found


def _token_of(entry: Node, number: int) -> bytes:
    try:
        token = a2b_base64(entry["token_bytes"].string(), strict_mode=True)
    except (Error, ValueError):
        raise entry["token_bytes"].wrong("bytes in base64") from None
    if entry["rank"].value != number:
        raise entry["rank"].wrong(f"{number}, its place")
    if number < 256 and token != bytes([number]):
        raise entry["token_bytes"].wrong(f"the byte {number}: the first 256 tokens are the bytes in order")
    if not token:
        raise entry["token_bytes"].wrong("a token")
    return token


def _kept(top: Node, data: bytes, rest: list[bytes]) -> tuple[str, ...]:
    """Return what is written again: the file without its tokens, how it is spelled, and the tokens without an id."""
    head = {key: top[key].value if key != "vocab" else [] for key in top.object()}
    found = re.match(rb"\{\r?\n( *)", data)
    spelled = {
        "indent": len(found[1]) if found else None,
        "ascii": data.isascii(),
        "delete": b"\\u007f" in data,
        "end": data.endswith(b"\n"),
    }
    return (
        Node(top.file, "", head).verbatim(),
        json.dumps(spelled),
        *(b2a_base64(text, newline=False).decode() for text in rest),
    )


def write_tekken(spec: TokenizerSpec) -> bytes:
    """Return the tekken.json of a byte-level BPE tokenizer; what was read of such a file is written again.

    Raises FormatError for what Mistral's library would read otherwise: ids of special tokens that are not the first
    ones, tokens for bytes that are not in order, and what a rank file cannot hold.
    """
    ids = _ranked(spec)
    step = spec.splitter[0] if len(spec.splitter) == 1 else None
    if not isinstance(step, Split) or step != Split(step.pattern):
        raise FormatError("a tekken.json has one pattern, whose matches are words; write a .json file")
    special = [token.content for token in sorted(spec.added_tokens, key=lambda token: token.id)]
    count = len(special)
    if [token.id for token in spec.added_tokens] != [*range(count)]:
        raise FormatError("a tekken.json has the special tokens first: expected ids from 0 on without other tokens")
    if [*ids.values()] != [*range(count, count + len(ids))] or [*ids][:256] != [bytes([byte]) for byte in range(256)]:
        raise FormatError("a tekken.json has the bytes in order after the special tokens, and no id without a token")
    kept = spec.foreign.tekken
    head: dict[str, Any] = json.loads(kept[0]) if kept else {"config": {"version": "v3"}}
    spelled: dict[str, Any] = json.loads(kept[1]) if kept else _SPELLED
    size = count + len(ids)
    rest = [a2b_base64(text) for text in kept[2:]] if head["config"].get("default_vocab_size") == size else []
    head["config"] |= {
        "pattern": step.pattern,
        "num_vocab_tokens": len(ids) + len(rest),
        "default_vocab_size": size,
        "default_num_special_tokens": count,
    }
    head["vocab"] = [_entry(text, rank) for rank, text in enumerate([*ids, *rest])]
    listed = head.get("special_tokens")
    known = {entry["token_str"]: entry for entry in listed or []}
    own = count
    while own > len(known) and special[own - 1] == _FILLER.format(own - 1):
        own -= 1
    if listed is not None or special[:own] != [*_OLD]:
        entries = ({"rank": rank, "token_str": text} for rank, text in enumerate(special[:own]))
        head["special_tokens"] = [{"is_control": True} | known.get(entry["token_str"], {}) | entry for entry in entries]
    text = json.dumps(head, indent=spelled["indent"], ensure_ascii=spelled["ascii"])
    if spelled["delete"]:
        text = text.replace("\x7f", "\\u007f")
    return text.encode() + (b"\n" if spelled["end"] else b"")


def _entry(text: bytes, rank: int) -> dict[str, Any]:
    try:
        shown: str | None = text.decode()
    except UnicodeDecodeError:
        shown = None
    return {"rank": rank, "token_bytes": b2a_base64(text, newline=False).decode(), "token_str": shown}
