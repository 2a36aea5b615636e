"""The inputs that fuzzing keeps: each target takes all of its own. And the faults that fuzzing found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools import fuzz

import subwords

MOST = 300_000  # bytes of all kept inputs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_target_takes_its_seeds_and_the_inputs_that_are_kept(name: str) -> None:
    target = fuzz.TARGETS[name]
    for data in [*target.seeds(), *fuzz.inputs(name)]:
        target.run(data)


def test_inputs_are_kept_as_text() -> None:
    for data in (b"", b"a\0b\n", "é\u2028".encode(), bytes(range(256)), b'"\\ \xed\xa0\x80'):
        line = fuzz.written(data)
        assert fuzz.unwritten(line) == data
        assert line.isascii() and "\n" not in line
    files = list(fuzz.KEPT.glob("*"))
    assert {path.stem for path in files} <= {*fuzz.TARGETS, "campaign"}
    assert sum(path.stat().st_size for path in files) < MOST


def test_a_target_sees_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = next(iter(fuzz.TARGETS["streams"].seeds()))
    monkeypatch.setattr(subwords.Tokenizer, "decode", lambda *_, **__: "another text")
    with pytest.raises(AssertionError, match="a stream"):
        fuzz.TARGETS["streams"].run(data)


# ------------------------------------------------------------------ findings


@pytest.mark.parametrize("pattern", [r"\p{N]}", r"[^a\p{N]}]", r"\p{L+}", r"\P{ }}"])
def test_a_property_with_other_signs_is_refused_as_peers_refuse_it(pattern: str) -> None:
    with pytest.raises(subwords.InputError, match="a Unicode property at"):
        subwords.splitter(f"a|{pattern}")


def test_a_damaged_row_group_of_a_token_file_is_a_format_error(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "ids.parquet"
    rows = pyarrow.array([list(range(k, k + 500)) for k in range(9)], pyarrow.list_(pyarrow.uint32()))
    parquet.write_table(pyarrow.table({"input_ids": rows}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = np.zeros(len(data) // 2 - 4, np.uint8).tobytes()
    path.write_bytes(data)
    opened = subwords.files.open(path)
    with pytest.raises(subwords.FormatError, match="row group 0"):
        opened[0]


def test_deeply_nested_json_is_no_rule() -> None:
    subwords.splitter('{"a":' * 1_500)  # a pattern, as other text that is not JSON
    with pytest.raises(subwords.InputError, match="normalizer"):
        subwords.normalizer('{"a":' * 100_000)
