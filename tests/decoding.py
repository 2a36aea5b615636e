"""Random decoders as a tokenizer.json writes them, and random tokens that tell them apart."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import tokenizers
from hypothesis import strategies as st
from tokenizers import models

from pipelines import quiet

FUSE, FALLBACK, CTC, METASPACE, WORDPIECE, SUFFIX, BYTES = (
    {"type": "Fuse"},
    {"type": "ByteFallback"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
)


def strip(content: str, start: int, stop: int) -> dict[str, Any]:
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def steps_of(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": [*nodes]}


LLAMA = steps_of(replace("▁", " "), FALLBACK, FUSE, strip(" ", 1, 0))

PARTS = (
    *("▁", "a", "b", "ab", "aab", " ", "é", "中", "�", "Ġ", "Ã", "©", "ä", "Ń", "x."),
    *("<0xE4>", "<0xB8>", "<0xAD>", "<0x41>", "<0xff>", "<0xF0>", "<0x9F>", "<0xFG>", "<0x+F>", "<0x4", "<0xEF>"),
    *("<0xBF>", "<0xBD>", "<0xC3>", "<0xA9>", "</w>", "<pad>", "|", "##", " .", " ?", " n't", " 'm", " do not", " ' "),
    *("n't", " 's", "'", "</", "w>", "<pa", "d>", "do", " not", "aa", "aabaab", "<s>"),
)
tokens = st.one_of(st.sampled_from(PARTS), st.lists(st.sampled_from(PARTS), max_size=4).map("".join))
token_lists = st.lists(tokens, max_size=9)

texts = st.sampled_from(["▁", "a", "ab", "aab", " ", "</w>", "", "é", "<pad>", "aa", "ba", "�"])
characters = st.sampled_from(["▁", "a", " ", "é", "b", "�"])
counts = st.sampled_from([0, 0, 1, 2, 9])


def _node(kind: str, **fields: Any) -> Any:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


steps = st.one_of(
    _node("BPEDecoder", suffix=st.sampled_from(["</w>", "</w>", "a", "", "ab"])),
    _node("ByteFallback"),
    _node("ByteLevel", add_prefix_space=st.booleans(), trim_offsets=st.booleans(), use_regex=st.booleans()),
    _node("CTC", pad_token=texts, word_delimiter_token=st.sampled_from(["|", "a", "", "ab"]), cleanup=st.booleans()),
    _node("Fuse"),
    _node(
        "Metaspace",
        replacement=characters,
        prepend_scheme=st.sampled_from(["always", "first", "never"]),
        split=st.booleans(),
    ),
    _node("Replace", pattern=texts.map(lambda text: {"String": text}), content=texts),
    _node(
        "Replace",
        pattern=st.sampled_from(
            ["a+|▁", "b*", r"\A(?:ab|▁|<0x41>|<s>)\z", r"\A(?:a.|b+)\z", "^a|b$", r"\s+", "(?=a)"]
        ).map(lambda text: {"Regex": text}),
        content=texts,
    ),
    # HF panics where the end of a token is too short: not here.
    _node("Strip", content=characters, start=counts, stop=st.just(0)),
    _node("WordPiece", prefix=st.sampled_from(["##", "", " ", "▁", "a"]), cleanup=st.booleans()),
)
decoder_nodes = st.recursive(
    steps,
    lambda inner: st.lists(inner, max_size=4).map(lambda nodes: {"type": "Sequence", "decoders": nodes}),
    max_leaves=6,
)


@cache
def _base() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    return found


def peer_decoder(node: Any) -> Any:
    """HF's decoder of a node."""
    return tokenizers.Tokenizer.from_str(json.dumps(_base() | {"decoder": node})).decoder


def peer_decode(decoder: Any, given: list[str]) -> str | None:
    """HF's text of tokens; None where it panics."""
    with quiet():
        try:
            text: str = decoder.decode(given)
        except BaseException as error:  # a panic is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return None
    return text
