"""IdMap: which old ids make up each new id (C1), and embedding_map.json."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from small_data import file_of
from subwords import FormatError, InputError

ONE = "low lower lowest new newer newest wide wider widest"
TWO = "slow slower slowest prism prisms prismatic light lights lighter"


def dense(found: subwords.adapt.IdMap) -> Any:
    """The map as a matrix: a row for each new id, a column for each old one."""
    offsets, ids, weights = found.as_arrays()
    matrix = np.zeros((found.new_size, found.old_size))
    np.add.at(matrix, (np.repeat(np.arange(found.new_size), np.diff(offsets)), ids), weights)
    return matrix


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_same_tokens_and_means_of_parts(algorithm: Any) -> None:
    size = 290 if algorithm == "bpe" else 60 if algorithm == "wordpiece" else 50
    old = subwords.train([ONE] * 9 + [TWO], algorithm=algorithm, vocab_size=size)
    new = subwords.train([TWO] * 9 + [ONE], algorithm=algorithm, vocab_size=size).with_tokens(["<|end|>"])
    found = subwords.adapt.id_map(old, new)
    assert (found.old_size, len(found)) == (old.vocab_size, new.vocab_size)
    made = 0
    for index, token in enumerate(new.model.vocab):
        row = found[index]
        assert math.isclose(sum(row.values()), 1) or not token
        if token in old.vocab:
            assert row == {old.vocab[token]: 1.0}
        elif index not in new.model.special_ids:
            made += 1
            prefix = b"##" if algorithm == "wordpiece" else b""
            parts = [old.model.vocab[i] for i in row]
            inside = [part.removeprefix(prefix) for part in parts]
            assert {*b"".join(inside)} == {*token.removeprefix(prefix)}
            assert all(part.startswith(prefix) for part in parts[1:])
    assert made >= 3


def test_parts_are_weighed_by_how_often_they_occur() -> None:
    old = subwords.train(["ab"], vocab_size=257)
    new = subwords.train(["ab"], vocab_size=256).with_tokens(["aba"], special=False)
    assert subwords.adapt.id_map(old, new)[256] == {256: 0.5, old.vocab[b"a"]: 0.5}
    new = subwords.train(["ab"], vocab_size=256).with_tokens(["aab"], special=False)
    assert subwords.adapt.id_map(old, new)[256] == {old.vocab[b"a"]: 0.5, 256: 0.5}
    new = subwords.train(["ab"], vocab_size=256).with_tokens(["aa"], special=False)
    assert subwords.adapt.id_map(old, new)[256] == {old.vocab[b"a"]: 1.0}


def test_special_tokens_are_told_from_ordinary_ones() -> None:
    tok = subwords.train(["ab ab"], vocab_size=257)
    old = tok.with_tokens(["<pad>"])
    assert subwords.adapt.id_map(old, tok.with_tokens(["<x>", "<pad>"]))[258] == {257: 1.0}
    bare = subwords.train(["x"], vocab_size=256)
    assert subwords.adapt.id_map(tok, bare.with_tokens(["ab"]))[256] == {256: 1.0}  # special here, ordinary there
    assert subwords.adapt.id_map(bare.with_tokens(["<pad>", "ab"]), tok)[256] == {257: 1.0}


@given(st.lists(st.sampled_from([ONE, TWO, "prisms newly", "a widely"]), min_size=3, max_size=3, unique=True))
def test_composed_maps_are_products(texts: list[str]) -> None:
    toks = [subwords.train([text] * 3, vocab_size=264) for text in texts]
    first, second = (subwords.adapt.id_map(a, b) for a, b in pairwise(toks))
    both = first.compose(second)
    assert np.allclose(dense(both), dense(second) @ dense(first))
    assert np.allclose(dense(both).sum(1), 1)
    both.check(toks[0], toks[2])
    with pytest.raises(InputError, match="unrelated maps"):
        second.compose(second)
    with pytest.raises(InputError, match="the map is for another old tokenizer"):
        both.check(toks[1], toks[2])


def test_pruned_and_compacted_twice() -> None:
    tok = subwords.train([ONE] * 9, vocab_size=275)
    first = subwords.adapt.prune(tok, source=[ONE], vocab_size=270, compact=True)
    second = subwords.adapt.extend(first.tokenizer, [TWO] * 9, count=5)
    found = first.id_map.compose(subwords.adapt.id_map(first.tokenizer, second))
    assert len(found) == 275
    for index, token in enumerate([*second.model.vocab][:270]):
        assert found[index] == {tok.vocab[token]: 1.0}
    assert "changed" in repr(found)


def test_files_hold_it(tmp_path: Path) -> None:
    old, new = (subwords.train([text] * 9, vocab_size=270) for text in (ONE, TWO))
    leaf = next(i for i in range(256, 269) if not (new.model.merges[:, :2] == i).any())  # type: ignore[union-attr]
    found = subwords.adapt.id_map(old, subwords.adapt.prune(new, drop=[leaf]).tokenizer)
    assert found[leaf] == {}
    found.save(tmp_path / "embedding_map.json")
    assert subwords.adapt.IdMap.load(tmp_path / "embedding_map.json") == found
    read = json.loads((tmp_path / "embedding_map.json").read_text("utf-8"))
    assert (read["version"], read["old"]["size"], len(read["entries"])) == (1, 270, len(found))
    assert read["new"]["fingerprint"] == found.new_fingerprint
    assert {int(i): w for i, w in zip(*read["entries"][256], strict=True)} == found[256]


GOOD = {
    "version": 1,
    "old": {"size": 3, "fingerprint": "0" * 64},
    "new": {"size": 2, "fingerprint": "f" * 64},
    "entries": [[[0], [1.0]], [[1, 2], [0.5, 0.5]]],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version: expected version 1 of an embedding map, not 2"),
        ({"version": True}, "expected version 1"),
        ({"entries": [[[0], [1.0]]]}, "expected 2 entries, one for each new id, not 1"),
        ({"entries": [[[3], [1.0]], [[], []]]}, r"entries\[0\]: expected old ids below 3, not 3"),
        ({"entries": [[[True], [1.0]], [[], []]]}, "expected old ids below 3, not True"),
        ({"entries": [[[-1], [1.0]], [[], []]]}, "expected old ids below 3, not -1"),
        ({"entries": [[[0], [0.5]], [[], []]]}, r"expected weights with the sum 1, not the sum 0\.5"),
        ({"entries": [[[0, 1], [1.5, -0.5]], [[], []]]}, r"weights above 0 and up to 1, not 1\.5"),
        ({"entries": [[[0], [math.nan]], [[], []]]}, "weights above 0 and up to 1, not nan"),
        ({"entries": [[[0, 0], [0.5, 0.5]], [[], []]]}, "expected distinct ids"),
        ({"entries": [[[0], []], [[], []]]}, "1 ids and 0 weights"),
        ({"entries": [[0, 1], [[], []]]}, r"expected \[ids, weights\]"),
        ({"entries": 5}, "entries: expected an array"),
        ({"old": {"size": -1, "fingerprint": "0" * 64}}, "old.size: expected an integer"),
        ({"old": {"size": 3, "fingerprint": "xyz"}}, "old.fingerprint: expected a SHA-256"),
        ({"new": None}, "new: expected an object"),
    ],
)
def test_damaged_files(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps(GOOD))
    assert subwords.adapt.IdMap.load(path)[1] == {1: 0.5, 2: 0.5}
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(FormatError, match=message):
        subwords.adapt.IdMap.load(path)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot read"):
        subwords.adapt.IdMap.load(tmp_path / "none.json")
    (tmp_path / "x.json").write_bytes(b"\xff")
    with pytest.raises(FormatError, match="expected JSON in UTF-8"):
        subwords.adapt.IdMap.load(tmp_path / "x.json")
    tok = subwords.train(["ab"], vocab_size=257)
    with pytest.raises(InputError, match="missing folder"):
        subwords.adapt.id_map(tok, tok).save(tmp_path / "no" / "map.json")


def test_unrelated_tokenizers() -> None:
    tok = subwords.train([ONE] * 9, vocab_size=270)
    pieces = subwords.train([ONE] * 9, algorithm="unigram", vocab_size=40)
    with pytest.raises(InputError, match="the tokens of one are bytes, those of the other characters"):
        subwords.adapt.id_map(tok, pieces)
    with pytest.raises(InputError, match="expected the new tokenizer to be a Tokenizer, a path or a name, not int"):
        subwords.adapt.id_map(tok, 5)  # type: ignore[arg-type]
    found = subwords.adapt.id_map(tok, tok)
    assert len(found.changed) == 0
    for index in (270, -1, True, "a"):
        with pytest.raises(InputError, match="expected an id from 0 to 269"):
            found[index]  # type: ignore[index]
    with pytest.raises(InputError, match="expected an IdMap"):
        found.compose(tok)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected the new tokenizer to be a Tokenizer, a path or a name, not int"):
        found.check(tok, 5)  # type: ignore[arg-type]
    assert not found.as_arrays().weights.flags.writeable


def test_real_files(data: Path) -> None:
    old = subwords.load(file_of(data, "gpt2/tokenizer.json"))
    new = subwords.load(file_of(data, "roberta/tokenizer.json"))
    found = subwords.adapt.id_map(old, new)
    sums = np.bincount(np.repeat(np.arange(len(found)), np.diff(found.offsets)), found.weights, len(found))
    lengths = np.diff(new.model.vocab.offsets)
    assert np.allclose(sums, lengths > 0)
    for index in range(0, new.vocab_size, 97):
        token = new.model.vocab[index]
        if token in old.vocab and index not in new.model.special_ids:
            assert found[index] == {old.vocab[token]: 1.0}
