"""`tok.as_tiktoken()` and tiktoken's own Encoding: one test body for both."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

import subwords
from shapes import TEXTS, check_same
from small_data import file_of
from strategies import texts
from subwords import InputError

SPECIAL = {"<s>": 258, "<|endoftext|>": 259, "<t>": 262}
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"\xc3\xa9": 260}
PATTERN = r"\w+|\s+|[^\w\s]+"


@pytest.fixture(scope="module")
def enc(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    """With unused ids: 257 and 261."""
    return tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens=SPECIAL)


@pytest.fixture(scope="module")
def shape(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import base64

    path = tmp_path_factory.mktemp("ranks") / "x.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in RANKS.items()))
    return subwords.load(path, splitter=PATTERN, special_ids=SPECIAL).as_tiktoken("x")


CALLS: list[Callable[[Any], Any]] = [
    *(lambda e, text=text: e.encode_ordinary(text) for text in (*TEXTS, "a<s>b", 5, b"ab", None, "a\ud800b")),
    *(lambda e, text=text: e.encode(text) for text in (*TEXTS, "a<s>b", 5, b"ab", "a\ud800b", "\ud83d\ude00")),
    *(lambda e, text=text: e.encode_to_numpy(text) for text in ("", "abé", "<s>", "a\ud800b", 5)),
    *(
        lambda e, allowed=allowed: e.encode("a<s>b <t> <|endoftext|>", allowed_special=allowed, disallowed_special=())
        for allowed in ("all", {"<s>"}, frozenset({"<t>"}), {"<zz>"}, set(), ["<s>"], "<s>", ())
    ),
    lambda e: e.encode("a<s>b", allowed_special={"<s>"}),
    lambda e: e.encode("a<s>b<|endoftext|>", allowed_special={"<s>"}),
    lambda e: e.encode("a<s>b", disallowed_special={"<s>"}),
    lambda e: e.encode("a<s>b", disallowed_special=["b"]),
    lambda e: e.encode("a<s>b", disallowed_special=("x", "")),
    lambda e: e.encode("a<s>b", disallowed_special={"x"}),
    lambda e: e.encode("a<s>b", disallowed_special=None),
    lambda e: e.encode_to_numpy("a<s>b", allowed_special="all"),
    lambda e: e.encode_batch(["ab", "<s>", ""], allowed_special="all"),
    lambda e: e.encode_batch(["ab", "<s>"]),
    lambda e: e.encode_batch(["ab", "<s>"], disallowed_special=(), num_threads=1),
    lambda e: e.encode_batch(["ab", 5]),
    lambda e: e.encode_batch([]),
    lambda e: e.encode_ordinary_batch(["ab", "<s>", "é\ud800"]),
    lambda e: e.encode_ordinary_batch("ab"),
    lambda e: e.encode_ordinary_batch(["ab"], num_threads=0),
    *(lambda e, token=token: e.encode_single_token(token) for token in ("ab", b"ab", "<s>", "zz", b"", "", b"\xc3", 5)),
    *(
        lambda e, i=i: e.decode_single_token_bytes(i)
        for i in (0, 256, 257, 258, 262, 263, -1, 1 << 31, 1 << 32, 1 << 70, "a", 1.5, None, np.uint32(97))
    ),
    *(
        lambda e, ids=ids: [e.decode_bytes(ids), e.decode(ids), e.decode_tokens_bytes(ids)]
        for ids in (
            *([], [97, 256, 258], (97,), np.array([97, 256], np.uint32), [0xC3], [0xC3, 0xA9, 260], [257], [97, 261]),
            *([300], [-1], [1 << 40], "ab", b"ab", None, [1.5], ["a"], [None], {97}),
        )
    ),
    lambda e: e.decode_bytes(i for i in [97]),
    lambda e: e.decode([0xC8, 97], errors="strict"),
    lambda e: e.decode([0xC8, 97], errors="ignore"),
    lambda e: e.decode([0xC8, 97], "backslashreplace"),
    lambda e: e.decode([0xC8], errors="unknown"),
    *(
        lambda e, ids=ids: e.decode_with_offsets(ids)
        for ids in ([], [97, 0xC3, 0xA9, 98], [260, 258], [0xF0, 0x9F, 0x98, 0x80, 97], [0xC3, 97], [257])
    ),
    lambda e: e.decode_batch([[97], [256, 258], []]),
    lambda e: e.decode_batch([[97], [0xC3]], errors="strict"),
    lambda e: e.decode_bytes_batch([[97], [256]], num_threads=2),
    lambda e: e.decode_bytes_batch([[97], [257]]),
    lambda e: e.token_byte_values(),
    lambda e: [e.eot_token, e.special_tokens_set, e.n_vocab, e.max_token_value, e.name, repr(e)],
    lambda e: [e.is_special_token(i) for i in (0, 257, 258, 262, 999)],
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_same_calls(number: int, enc: tiktoken.Encoding, shape: Any) -> None:
    check_same(CALLS[number], enc, shape)


@given(
    text=texts(),
    extra=st.lists(st.sampled_from([*SPECIAL, "<", ">", "a"]), max_size=4),
    allowed=st.sets(st.sampled_from([*SPECIAL])),
)
def test_any_text(enc: tiktoken.Encoding, shape: Any, text: str, extra: list[str], allowed: set[str]) -> None:
    text = "".join([text, *extra])
    check_same(lambda e: e.encode(text, allowed_special=allowed), enc, shape)
    check_same(lambda e: e.encode(text, allowed_special=allowed, disallowed_special=()), enc, shape)
    check_same(lambda e: e.decode_with_offsets(e.encode_ordinary(text)), enc, shape)


def test_the_surface_is_that_of_tiktoken(shape: Any) -> None:
    missing = {"encode_with_unstable"}
    names = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")}
    assert {name for name in dir(type(shape)) if not name.startswith("_")} == names - missing
    for name in names - missing:
        theirs, ours = getattr(tiktoken.Encoding, name), getattr(type(shape), name)
        if inspect.isfunction(theirs):
            kinds = [
                [(each.name, each.kind, each.default if each.default != set() else frozenset()) for each in signature]
                for signature in (inspect.signature(kind).parameters.values() for kind in (theirs, ours))
            ]
            assert kinds[0] == kinds[1], name


def test_an_assertion_becomes_a_type_error(shape: Any) -> None:
    """tiktoken asserts, which `python -O` skips."""
    with pytest.raises(TypeError):
        shape.is_special_token("a")


def test_it_survives_pickling(shape: Any) -> None:
    again = pickle.loads(pickle.dumps(shape))
    assert again.encode("a<s>b", allowed_special="all") == shape.encode("a<s>b", allowed_special="all")
    assert again.name == "x"


@pytest.mark.parametrize("name", ["r50k_base"])
def test_rank_files(name: str, data: Path) -> None:
    import base64

    path = file_of(data, f"tiktoken/{name}.tiktoken")
    pattern = json.loads(file_of(data, "tiktoken/specs.json").read_text())[name]["pat_str"]
    ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in path.read_bytes().splitlines()}
    special = {"<|endoftext|>": len(ranks)}
    theirs = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    ours = subwords.load(path, splitter=pattern, special_ids=special).as_tiktoken(name)
    check_same(lambda e: e.encode_batch([*TEXTS, "a<|endoftext|>"], allowed_special="all"), theirs, ours)
    check_same(lambda e: e.decode_batch(e.encode_ordinary_batch(TEXTS)), theirs, ours)
    check_same(lambda e: [e.token_byte_values(), e.n_vocab, e.eot_token], theirs, ours)


def test_what_tiktoken_cannot_be() -> None:
    tok = subwords.train(["ab ab"], vocab_size=257)
    with pytest.raises(InputError, match="without normalizer"):
        tok.with_(normalizer="nfc").as_tiktoken()
    with pytest.raises(InputError, match="'<x>' is not"):
        tok.with_tokens(["<x>"], special=False).as_tiktoken()
    with pytest.raises(InputError, match="byte-level BPE; this is WordPiece"):
        subwords.train(["ab ab"], algorithm="wordpiece", vocab_size=20).as_tiktoken()
