"""Under-trained tokens (V16-V18): all planted rows are found and no other; files of matrices."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subwords
from commands import json_of, run
from subwords import FormatError, InputError, Tokenizer

SIZE, PADDED, WIDTH = 300, 320, 48
NEVER = [0xC0, 0xC1, *range(0xF5, 0x100)]
PLANTED = [65, 131, 257, 263, 280, 299]


@cache
def tok() -> Tokenizer:
    words = "low lower lowest new newer newest wide wider widest " * 9
    return subwords.train(
        [words + " ".join(f"{a}{b}{c}" for a in "abcdef" for b in "ghij" for c in "klm") * 3], vocab_size=SIZE
    )


def vocabulary() -> list[int]:
    """The ids that no text has: bytes that UTF-8 does not have, and padding."""
    assert tok().vocab_size == SIZE
    return [*(tok().vocab[bytes([byte])] for byte in NEVER), *range(SIZE, PADDED)]


def untied(seed: int, planted: list[int]) -> NDArray[np.float64]:
    """Input rows: trained ones are long; the others have what weight decay left of their first values."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(PADDED, WIDTH)) * rng.uniform(0.5, 2, size=(PADDED, 1))
    lost = [*vocabulary(), *planted]
    rows[lost] = rng.normal(size=(len(lost), WIDTH)) * 0.02
    return rows


def tied(seed: int, planted: list[int]) -> NDArray[np.float64]:
    """Output rows: those of unused tokens went against one direction, which the others share a little."""
    rng = np.random.default_rng(seed)
    against = rng.normal(size=WIDTH)
    rows = rng.normal(size=(PADDED, WIDTH)) + 0.2 * against
    lost = [*vocabulary(), *planted]
    rows[lost] = -against * rng.uniform(0.5, 1, size=(len(lost), 1)) + 0.1 * rng.normal(size=(len(lost), WIDTH))
    return rows


def ids(found: Any, rule: str = "undertrained-token") -> list[int]:
    return sorted(one.ids[0] for one in found.findings if one.rule == rule)


@pytest.mark.parametrize("planted", [PLANTED, []])
@pytest.mark.parametrize("seed", range(8))
def test_all_planted_rows_are_found_and_no_other(seed: int, planted: list[int]) -> None:
    by_norm = subwords.study.undertrained(tok(), embeddings=untied(seed, planted))
    by_distance = subwords.study.undertrained(tok(), output=tied(seed, planted))
    both = subwords.study.undertrained(tok(), embeddings=untied(seed, planted), output=tied(seed, planted))
    for found, names in ((by_norm, ["norm"]), (by_distance, ["distance"]), (both, ["norm", "distance"])):
        assert ids(found) == planted
        assert ids(found, "trained-token") == []
        assert [*found.unused] == sorted(vocabulary())
        assert [one.name for one in found.indicators] == names
        assert all(len(one.values) == PADDED and one.threshold for one in found.indicators)


def test_indicators_are_those_of_the_definitions() -> None:
    rows, out = untied(1, PLANTED), tied(1, PLANTED)
    found = subwords.study.undertrained(tok(), embeddings=rows, output=out)
    norm, distance = found.indicators
    known = sorted(vocabulary())
    mean = out[known].mean(axis=0)
    cosine = np.array([row @ mean / (np.linalg.norm(row) * np.linalg.norm(mean)) for row in out])
    np.testing.assert_allclose(norm.values, np.linalg.norm(rows, axis=1), rtol=1e-12)
    np.testing.assert_allclose(distance.values, 1 - cosine, rtol=0, atol=1e-12)
    first, third = np.quantile(norm.values[known], [0.25, 0.75])
    assert norm.threshold == pytest.approx(third + 3 * (third - first), abs=2e-6)


def test_rows_of_zeros_are_untrained() -> None:
    rows = np.random.default_rng(3).normal(size=(PADDED, WIDTH))
    rows[[*vocabulary(), *PLANTED]] = 0
    assert ids(subwords.study.undertrained(tok(), output=rows)) == PLANTED
    assert ids(subwords.study.undertrained(tok(), embeddings=rows)) == PLANTED


def test_an_unreachable_token_with_a_trained_row_is_told() -> None:
    model = tok().model
    more = tok().with_(model=replace(model, vocab=type(model.vocab)([*model.vocab, b"zzz"])))  # type: ignore[type-var]
    found = subwords.study.undertrained(more, embeddings=untied(2, PLANTED))  # row 300 is as short as the padding
    assert ids(found, "trained-token") == []
    rows = untied(2, PLANTED)
    rows[SIZE] = rows[70]
    found = subwords.study.undertrained(more, embeddings=rows)
    assert ids(found, "trained-token") == [SIZE]
    assert ids(found) == PLANTED
    assert found.findings[-1].message == "'zzz' (id 300) is in no text, but its row was trained"


def test_without_known_unused_rows_nothing_is_decided() -> None:
    letters = subwords.train(["ab ab ba"] * 9, vocab_size=5, byte_level=False)
    rows = np.random.default_rng(0).normal(size=(letters.vocab_size, 8))
    found = subwords.study.undertrained(letters, embeddings=rows, output=rows)
    assert (found.findings, found.unused) == ((), ())
    assert "0 rows are known to be unused, 4 are needed" in str(found)
    everywhere = np.random.default_rng(0).normal(size=(PADDED, WIDTH))
    found = subwords.study.undertrained(tok(), embeddings=everywhere)
    assert "rows of half of the tokens that text yields look like the unused ones" in found.notes()[0]
    given = subwords.study.undertrained(tok(), embeddings=untied(4, PLANTED), unused=PLANTED[:2])
    assert ids(given) == PLANTED[2:]


def test_no_model_is_said() -> None:
    with pytest.raises(InputError, match="no model was given"):
        subwords.study.undertrained(tok())
    with pytest.raises(InputError, match="no model was given: the rule undertrained-token"):
        subwords.study.audit(tok(), rules=["undertrained-token"])
    assert subwords.study.audit(tok(), rules=["hole"]).to_dict()["model"] is False


def test_wrong_matrices_are_refused(tmp_path: Path) -> None:
    rows = untied(0, [])
    wrong = {
        "at least 300 rows": rows[:299],
        "matrix of floats": rows.astype(np.int64),
        "of shape": rows[0],
        "finite numbers; row 7 has": np.where(np.arange(PADDED)[:, None] == 7, np.nan, rows),
    }
    for message, value in wrong.items():
        with pytest.raises(InputError, match=message):
            subwords.study.undertrained(tok(), embeddings=value)
    with pytest.raises(InputError, match="320 and 319 rows"):
        subwords.study.undertrained(tok(), embeddings=rows, output=rows[:319])
    for unused in ([PADDED], [-1], [True], ["a"]):
        with pytest.raises(InputError, match="expected unused as ids below 320"):
            subwords.study.undertrained(tok(), embeddings=rows, unused=unused)  # type: ignore[arg-type]
    (tmp_path / "x.npy").write_bytes(b"no")
    (tmp_path / "y.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': (" * 10 + b" " * 8)
    for name in ("missing.npy", "x.npy", "y.npy"):
        with pytest.raises(FormatError, match=name):
            subwords.study.undertrained(tok(), embeddings=tmp_path / name)


def save_tensors(path: Path, tensors: dict[str, tuple[str, NDArray[Any]]]) -> None:
    """Write a .safetensors file: its own library writes no bfloat16 of NumPy arrays."""
    head, data = dict[str, Any](), b""
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        head[name] = {"dtype": kind, "shape": [*array.shape], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def bfloat16(rows: NDArray[np.float64]) -> NDArray[np.uint16]:
    return (rows.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def test_files_of_every_kind(tmp_path: Path) -> None:
    rows, out = untied(5, PLANTED), tied(5, PLANTED)
    np.save(tmp_path / "rows.npy", rows.astype(np.float16))
    assert ids(subwords.study.undertrained(tok(), embeddings=tmp_path / "rows.npy")) == PLANTED
    pytest.importorskip("safetensors")
    pytest.importorskip("ml_dtypes")
    path = tmp_path / "model.safetensors"
    small = np.zeros((4, 4), np.float32)
    tensors = {
        "model.embed_tokens.weight": ("BF16", bfloat16(rows)),
        "lm_head.weight": ("F16", out.astype(np.float16)),
        "model.layers.0.output.weight": ("F32", small),
        "other": ("F32", rows.astype(np.float32)),
    }
    save_tensors(path, tensors)
    save_tensors(tmp_path / "second.safetensors", {"x": ("F32", small)})
    found = subwords.study.undertrained(tok(), embeddings=path, output=str(path))
    assert ids(found) == PLANTED
    wide = (bfloat16(rows).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    np.testing.assert_allclose(found.indicators[0].values, np.linalg.norm(wide, axis=1), rtol=1e-12)
    assert ids(subwords.study.undertrained(tok(), embeddings=tmp_path)) == PLANTED
    assert ids(subwords.study.undertrained(tok(), embeddings=f"{path}:other")) == PLANTED
    for value, message in ((f"{path}:none", "'none'"), (tmp_path / "second.safetensors", "of none")):
        with pytest.raises(InputError, match=message):
            subwords.study.undertrained(tok(), embeddings=value)
    (tmp_path / "bad.safetensors").write_bytes(b"x" * 40)
    with pytest.raises(FormatError, match=r"bad\.safetensors"):
        subwords.study.undertrained(tok(), embeddings=tmp_path / "bad.safetensors")


def test_a_large_matrix_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"embeddings": untied(6, PLANTED), "output": tied(6, PLANTED)}
    whole = subwords.study.undertrained(tok(), **how)
    monkeypatch.setattr("subwords.study.model_rows.BLOCK", WIDTH * 7)
    assert subwords.study.undertrained(tok(), **how).to_dict() == whole.to_dict()


def test_the_audit_has_them_too(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", untied(7, PLANTED))
    np.save(tmp_path / "out.npy", tied(7, PLANTED))
    tok().save(tmp_path / "tok.json")
    found = subwords.study.audit(tok(), embeddings=tmp_path / "in.npy")
    assert ids(found) == PLANTED
    assert found.to_dict()["model"] is True
    for arguments in (["--embeddings", tmp_path / "in.npy"], ["--output-embeddings", tmp_path / "out.npy"]):
        rows = json_of("study", "audit", tmp_path / "tok.json", *arguments, "--rule", "undertrained-token")
        assert sorted(one["ids"][0] for one in rows["findings"]) == PLANTED
    message = run("study", "audit", tmp_path / "tok.json", "--rule", "undertrained-token", code=1).stderr
    assert "no model was given" in message
