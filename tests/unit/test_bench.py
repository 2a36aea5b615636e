"""bench: other libraries beside us on one file; ids first, then times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import TEXT, run
from subwords import CorpusError, InputError
from subwords.study import bench

pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "tok.json"
    subwords.train([TEXT], vocab_size=280).save(path)
    return path


@pytest.fixture(scope="module")
def found(file: Path) -> Any:
    pytest.importorskip("tiktoken")
    return bench(file, [TEXT], rounds=2, threads=1, progress=False)


def test_every_task_is_measured_for_every_library(found: Any) -> None:
    tasks = {row.task for row in found.rows}
    libraries = {row.library.split()[0] for row in found.rows}
    assert len(tasks) == 10
    assert libraries == {"subwords", "tokenizers", "tiktoken"}
    assert len(found.rows) == 30
    for row in found.rows:
        assert 0 < row.least <= row.median <= row.most
        assert (row.times is None) == row.library.startswith("subwords")


def test_what_is_shared_has_the_figures_and_no_path(found: Any, file: Path) -> None:
    shared = json.dumps(found.to_dict())
    assert str(file.parent) not in shared
    assert "lowest" not in shared
    again = json.loads(shared)
    assert (again["tokenizer"], again["rounds"], again["threads"], again["different"]) == ("tok.json", 2, 1, [])
    assert again["ids"] == sum(map(len, subwords.load(file).encode_batch([*filter(None, TEXT.split("\n"))])))


def test_other_ids_get_no_times(tmp_path: Path) -> None:
    # HF merges in the order of the merges, tiktoken in that of the ids: these two differ.
    tok = subwords.train(["ab"] * 9 + ["bc"] * 8, vocab_size=258)
    assert tok.tokenize("abc") == ["ab", "c"]
    tok.save(tmp_path / "tok.json")
    document = json.loads((tmp_path / "tok.json").read_text("utf-8"))
    document["model"]["vocab"] |= {"ab": 257, "bc": 256}
    (tmp_path / "tok.json").write_text(json.dumps(document), "utf-8")
    got = bench(tmp_path / "tok.json", ["abc bc"], rounds=1, progress=False)
    assert not got
    assert [name.split()[0] for name in got.different] == ["tiktoken"]
    assert "other ids" in got.without[got.different[0]]
    assert {row.library.split()[0] for row in got.rows} == {"subwords", "tokenizers"}


def test_wrong_calls(file: Path) -> None:
    with pytest.raises(InputError, match=r"sentencepiece does not read tok\.json; expected tokenizers or tiktoken"):
        bench(file, [TEXT], against=["sentencepiece"])
    with pytest.raises(InputError, match="unknown against="):
        bench(file, [TEXT], against=["gigatoken"])
    with pytest.raises(InputError, match="expected rounds"):
        bench(file, [TEXT], rounds=0)
    with pytest.raises(CorpusError, match="all lines are empty"):
        bench(file, ["\n \n"])


def test_the_command_prints_one_object(file: Path, tmp_path: Path) -> None:
    texts = tmp_path / "t.txt"
    texts.write_text(TEXT, "utf-8")
    out = run("bench", file, "--texts", texts, "--against", "tokenizers", "--rounds", 1, "--json", "-q").stdout
    assert json.loads(out)["tokenizer"] == "tok.json"
