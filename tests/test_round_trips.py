"""A tokenizer after pickling, copying, another process, or a file gives the same ids and text, whatever was called.

Every family of models with every decoder that a tokenizer.json or a .model may have. A pickle is the same before and
after use: `datasets` takes it for a fingerprint.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import subwords
from building import read_json as read
from building import read_model
from building import write_json as write
from inside import Kind
from subwords import SubwordsError, Tokenizer
from subwords.machine import PieceType, model_class

TEXT = "the low lower lowest é ☃, <s> the"
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
DECODERS: dict[str, Any] = {
    "none": None,
    "ByteLevel": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "Fuse": {"type": "Fuse"},
    "WordPiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "Metaspace": METASPACE,
    "ByteFallback": {"type": "ByteFallback"},
    "Strip": STRIP,
    "Replace": REPLACE,
    "Replace, regex": {"type": "Replace", "pattern": {"Regex": "▁+"}, "content": " "},
    "of tokens": {"type": "Replace", "pattern": {"Regex": r"\A(?:<s>|low)\z"}, "content": "?"},
    "BPEDecoder": {"type": "BPEDecoder", "suffix": "</w>"},
    "CTC": {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    "Llama's": {"type": "Sequence", "decoders": [REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}, STRIP]},
    "nested": {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [METASPACE]}, {"type": "Fuse"}]},
}
WORDS = ["<unk>", "<s>", "▁", *"thelowrs,", "▁the", "▁low", "lo", "low", "er"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MERGES = [["l", "o"], ["lo", "w"], ["e", "r"]]
SPLIT = {"type": "Split", "pattern": {"Regex": "▁[^▁]*|[^▁]+"}, "behavior": "Isolated", "invert": False}
PREPEND = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def model_of(family: str) -> dict[str, Any]:
    vocab = {word: i for i, word in enumerate(WORDS)}
    if family == "WordPiece":
        fields = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
        return {"type": family, "unk_token": "<unk>", **fields, "vocab": vocab | {"##er": len(vocab)}}
    if family == "Unigram":
        return {"type": family, "unk_id": 0, "vocab": [[word, -1.5 - i / 7] for i, word in enumerate(WORDS)]}
    if family == "BPE, bytes":
        return {"type": "BPE", "byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True, "merges": MERGES} | {
            "vocab": vocab | {byte: len(vocab) + i for i, byte in enumerate(BYTES)}
        }
    return {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": MERGES}


@cache
def of_file(family: str, decoder: str) -> bytes:
    """A tokenizer.json."""
    top: dict[str, Any] = {"version": "1.0", "added_tokens": [{"id": 1, "content": "<s>", **ADDED}]}
    top |= {"normalizer": {"type": "Sequence", "normalizers": PREPEND}, "pre_tokenizer": SPLIT}
    return json.dumps(top | {"decoder": DECODERS[decoder], "model": model_of(family)}).encode()


def of_proto(kind: int, *, byte_fallback: bool) -> Tokenizer:
    message = model_class()()
    message.trainer_spec.model_type, message.trainer_spec.byte_fallback = kind, byte_fallback
    for i, word in enumerate(WORDS):
        message.pieces.add(
            piece=word.encode(), score=-i / 8, type=[PieceType.UNKNOWN, PieceType.CONTROL, PieceType.NORMAL][min(i, 2)]
        )
    for byte in BYTES if byte_fallback else ():
        message.pieces.add(piece=byte.encode(), type=PieceType.BYTE)
    return read_model(message.SerializeToString(), "a.model")


def trained(algorithm: Any, **options: Any) -> Tokenizer:
    return subwords.train([TEXT] * 5, algorithm=algorithm, progress=False, **options)


MAKERS: dict[str, Callable[[], Tokenizer]] = {
    f"{family}: {decoder}": lambda family=family, decoder=decoder: read(of_file(family, decoder), "a.json")  # type: ignore[misc]
    for family, decoder in [
        *product(["Unigram"], DECODERS),
        *product(["BPE, bytes"], [name for name in DECODERS if name != "ByteLevel"]),  # which needs ByteLevel before it
        *product(["BPE", "WordPiece"], ["none", "WordPiece", "Metaspace", "Llama's"]),
    ]
}
MAKERS |= {
    f"model {kind}, {fallback}": lambda kind=kind, fallback=fallback: of_proto(kind, byte_fallback=fallback)  # type: ignore[misc]
    for kind, fallback in product([Kind.UNIGRAM, Kind.BPE, Kind.WORD, Kind.CHAR], [False, True])
}
MAKERS |= {
    "trained BPE": lambda: trained("bpe", vocab_size=270, splitter="gpt2", special_tokens=["<s>"]),
    "trained BPE of characters": lambda: trained("bpe", vocab_size=30, byte_level=False, alphabet="corpus"),
    "trained WordPiece": lambda: trained("wordpiece", vocab_size=60),
    "trained Unigram": lambda: trained("unigram", vocab_size=33),
    "trained Unigram with bytes": lambda: trained("unigram", vocab_size=288, byte_fallback=True),
}
USES: dict[str, Callable[[Tokenizer], Any]] = {
    "encode": lambda tok: tok.encode(TEXT),
    "encode, specials": lambda tok: tok.encode(TEXT, special="allow", template=True),
    "encode_batch": lambda tok: tok.encode_batch([TEXT, ""]).to_lists(),
    "decode": lambda tok: tok.decode(tok.encode(TEXT)),
    "decode, skipping": lambda tok: tok.decode(tok.encode(TEXT, special="allow"), skip_special_tokens=True),
    "decode_bytes": lambda tok: tok.decode_bytes(tok.encode(TEXT)),
    "tokenize": lambda tok: tok.tokenize(TEXT),
    "call": lambda tok: [tok(TEXT).ids.tolist(), list(tok(TEXT, TEXT).tokens), tok(TEXT).spans.tolist()],
    "nbest": lambda tok: tok.nbest("low", 3),
    "sample": lambda tok: tok.sample("low", seed=1),
    "repr": repr,
    "what it is": lambda tok: [tok.vocab_size, dict(tok.vocab), tok.merges, tok.special_tokens, tok.lossless],
    "write": write,
}


def used(tok: Tokenizer, use: str) -> Any:
    with suppress(SubwordsError):  # nbest of BPE; what a format cannot hold
        return USES[use](tok)
    return None


def all_uses(tok: Tokenizer) -> dict[str, Any]:
    return {use: used(tok, use) for use in USES}


WAYS: dict[str, Callable[[Tokenizer], Tokenizer]] = {
    "pickle": lambda tok: pickle.loads(pickle.dumps(tok)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", MAKERS)
def test_pickles_and_copies(name: str) -> None:
    tok = MAKERS[name]()
    before = pickle.dumps(tok)
    for use in USES:
        used(tok, use)
        assert pickle.dumps(tok) == before, use
    ref = all_uses(tok)
    for way, make in WAYS.items():
        again = make(tok)
        for use in USES if way == "pickle" else ("decode", "tokenize", "call"):
            assert used(again, use) == ref[use], way
        assert pickle.dumps(make(again)) == pickle.dumps(again), way


@pytest.mark.parametrize("name", MAKERS)
def test_save_and_load(name: str, tmp_path: Path) -> None:
    tok = MAKERS[name]()
    for suffix in ("json", "model"):
        try:
            tok.save(tmp_path / f"a.{suffix}")
        except SubwordsError:
            continue
        again = subwords.load(tmp_path / f"a.{suffix}")
        ids = tok.encode(TEXT)
        assert again.encode(TEXT) == ids
        every = [*range(tok.vocab_size)]
        for some in (ids, [0, *ids], [1, *ids, 1], every[:20], every[2:]):
            for skip in (False, True):
                ref = tok.decode(some, skip_special_tokens=skip)
                # Bytes that are not UTF-8 are as many U+FFFD in HF as they are, and of a run of bytes all.
                if "\ufffd" not in ref:
                    assert again.decode(some, skip_special_tokens=skip) == ref


def test_another_process() -> None:
    names = ["Unigram: Llama's", "BPE: Metaspace", "WordPiece: WordPiece", "model 1, True", "trained BPE"]
    toks = [MAKERS[name]() for name in names]
    ref = [all_uses(tok) for tok in toks]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for name, tok, expected in zip(names, toks, ref, strict=True):
            ids = expected["encode"]
            assert pool.submit(tok.encode, TEXT).result() == ids, name
            assert pool.submit(tok.decode, ids).result() == expected["decode"], name
            assert pool.submit(tok.tokenize, TEXT).result() == expected["tokenize"], name


def test_a_pickle_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Whatever the order of a set of strings is there."""
    path = tmp_path / "a.model"
    MAKERS["trained Unigram with bytes"]().save(path)
    code = f"import subwords, pickle, zlib; print(zlib.crc32(pickle.dumps(subwords.load({str(path)!r}))))"
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        for env in [_environment(seed) for seed in "12"]
    ]
    assert found[0] == found[1]


def _environment(seed: str) -> dict[str, str]:
    import os

    return os.environ | {"PYTHONHASHSEED": seed}
