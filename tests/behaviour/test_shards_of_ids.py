"""Token files in shards: their manifest is what is named and opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import subwords
from commands import json_of
from subwords import files


@pytest.mark.parametrize("form", ["bin", "npy", "megatron", "parquet"])
def test_the_manifest_is_named(form: str, tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=262)
    tok.save(tmp_path / "tok.json")
    text = tmp_path / "a.txt"
    text.write_text("low lower\nlowest\n" * 20, encoding="utf-8")
    name = tmp_path / f"x.{'bin' if form == 'megatron' else form}"
    options = ("--documents", "line", "--format", form, "-o", name)
    made = json_of("tokens", tmp_path / "tok.json", text, *options, "--shard-size", "20")
    manifest = tmp_path / "x.manifest.json"
    assert made["files"] > 1
    assert made["saved"] == str(manifest)
    opened = files.open(manifest)
    assert opened.num_tokens == made["total"] == sum(map(len, opened))
    assert files.open(name).num_tokens == opened.num_tokens  # the name that was asked for means them all
    ids = np.concatenate([*opened])
    del opened  # Windows deletes no file that is open
    whole = json_of("tokens", tmp_path / "tok.json", text, *options)
    assert whole["saved"] == str(name)
    assert np.array_equal(ids, np.concatenate([*files.open(name)]))
