"""Missing files, pointers of Git LFS, tables of text, and names of folders: every function that opens a path."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import subwords
from subwords import CorpusError, FormatError, InputError, Reading, SubwordsError, study

READERS: dict[str, tuple[Callable[[Any], Any], str, type[SubwordsError]]] = {
    "load": (subwords.load, "a.json", FormatError),
    "load model": (subwords.load, "a.model", FormatError),
    "load gguf": (subwords.load, "a.gguf", FormatError),
    "load vocab.txt": (subwords.load, "vocab.txt", FormatError),
    "load pair": (subwords.load, "vocab.json", FormatError),
    "train": (lambda path: subwords.train(path, vocab_size=260), "a.txt", CorpusError),
    "train too few": (lambda path: subwords.train(path, vocab_size=2), "a.txt", CorpusError),
    "train list": (lambda path: subwords.train([Path(path)], vocab_size=2), "a.txt", CorpusError),
    "count": (subwords.count, "a.txt", CorpusError),
    "count rows": (subwords.count, "a.jsonl", CorpusError),
    "count csv": (subwords.count, "a.csv", CorpusError),
    "count parquet": (subwords.count, "a.parquet", CorpusError),
    "count glob": (subwords.count, "*.none", CorpusError),
    "counts": (subwords.WordCounts.load, "a.counts", CorpusError),
    "encode_files": (lambda path: subwords.load("demo").encode_files(path, f"{path}.npy"), "a.txt", CorpusError),
    "evaluate": (lambda path: study.evaluate("demo", path), "a.txt", CorpusError),
    "evaluate tokenizer": (lambda path: study.evaluate(path, ["a"]), "a.json", FormatError),
    "gold": (lambda path: study.evaluate("demo", ["a"], gold=path), "a.tsv", CorpusError),
    "diff": (lambda path: study.diff("demo", "demo", source=path), "a.txt", CorpusError),
    "verify": (subwords.files.verify, "a.json", FormatError),
    "open": (subwords.files.open, "a.npy", InputError),
    "open bin": (subwords.files.open, "a.bin", InputError),
    "open manifest": (subwords.files.open, "a.manifest.json", InputError),
    "embeddings": (lambda path: study.audit("demo", embeddings=path), "a.npy", FormatError),
}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1\nsize 9\n"


@pytest.mark.parametrize("name", READERS)
def test_missing(name: str, tmp_path: Path) -> None:
    read, file, kind = READERS[name]
    with pytest.raises(kind) as caught:
        read(str(tmp_path / file))
    error = caught.value
    assert isinstance(error, FileNotFoundError) and isinstance(error, SubwordsError), error
    assert str(error) == error.args[0] and str(tmp_path) in str(error).replace("\\\\", "\\")
    assert str(error.filename).startswith(str(tmp_path)) and error.errno == 2
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)


@pytest.mark.parametrize("name", [name for name in READERS if "glob" not in name])
def test_pointers_of_lfs(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    read, file, _ = READERS[name]
    (tmp_path / file).write_text(POINTER)
    if "pair" in name:
        (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    if name in ("train too few", "train list", "gold"):
        return
    with pytest.raises(
        SubwordsError, match="a Git LFS pointer instead of the file; fetch the file itself: git lfs pull"
    ):
        read(str(tmp_path / file))


def test_other_errors_are_not_of_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    for read in (subwords.load, subwords.files.verify):
        with pytest.raises(FormatError) as caught:
            read(tmp_path / "a.json")
        assert not isinstance(caught.value, OSError)
    with pytest.raises(FileNotFoundError, match=r"no file, folder or name 'dmeo' here; did you mean 'demo'"):
        subwords.load("dmeo")
    with pytest.raises(FileNotFoundError, match="no cache has org/none"):
        subwords.load("org/none")
    with pytest.raises(CorpusError, match="no file or folder"):  # within a write of another file
        subwords.load("demo").encode_files([tmp_path / "none.txt"], tmp_path / "ids.npy")
    assert not (tmp_path / "ids.npy").exists()


def test_command_line_names_the_file_first(tmp_path: Path) -> None:
    from subwords.cli import main

    arguments = ["train", str(tmp_path / "none.txt"), "--vocab-size", "100", "-o", str(tmp_path / "a.json")]
    found = CliRunner().invoke(main, arguments)
    assert "no file or folder" in found.output and "too small" not in found.output and found.exit_code == 1


def test_a_name_without_suffix_is_a_folder(tmp_path: Path) -> None:
    tok = subwords.train(["low lower"], vocab_size=260, special_tokens=["<end>"]).with_(roles={"eos": "<end>"})
    tok.save(tmp_path / "dir")
    assert (tmp_path / "dir" / "tokenizer.json").is_file() and subwords.load(tmp_path / "dir") == tok
    (tmp_path / "file").write_text("")
    for name in ("file", "a.bin"):
        with pytest.raises(InputError, match="expected a name ending in"):
            tok.save(tmp_path / name)


# ------------------------------------------------------------------ tables of text

ROWS = ["low lower", 'a "quoted" word', "two\nlines", "", "naïve, with commas", "tab\there"]


def _written(path: Path, delimiter: str, names: list[str]) -> Path:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(names)
    writer.writerows([[str(i), row, "xyz"][: len(names)] for i, row in enumerate(ROWS)])
    data = stream.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.CSV", "a.csv.gz"])
def test_tables_of_text(name: str, tmp_path: Path) -> None:
    path = _written(tmp_path / name, "\t" if ".tsv" in name else ",", ["id", "text", "other"])
    expected = dict(subwords.count(ROWS))
    assert dict(subwords.count(path)) == dict(subwords.count(tmp_path)) == expected
    lines = dict(subwords.count(ROWS, reading=Reading(documents="line")))
    assert dict(subwords.count(path, reading=Reading(documents="line"))) == lines
    assert dict(subwords.count(path, reading=Reading(text_column="other"))) == {b"xyz": len(ROWS)}
    assert dict(subwords.count(path, run=subwords.scale.Run(workers=1))) == expected
    ids = subwords.load("demo").encode_files(path, tmp_path / "ids.npy")
    assert ids.contents is not None and len(subwords.files.open(tmp_path / "ids.npy")) == len(
        [row for row in ROWS if row]
    )
    assert [one.name for one in study.evaluate("demo", path, by="other").groups] == ["xyz"]


def test_tables_of_text_that_are_wrong(tmp_path: Path) -> None:
    path = _written(tmp_path / "a.csv", ",", ["id", "body"])
    with pytest.raises(
        CorpusError, match=r"expected a column 'text', found 'id', 'body'; text_column names another; .* \.txt"
    ):
        subwords.count(path)
    (tmp_path / "b.csv").write_text('id,text\n1,one\n2\n3,"two"\n')
    with pytest.raises(CorpusError, match=r"b.csv: line 3: expected a field 'text', found 1 fields"):
        subwords.count(tmp_path / "b.csv")
    assert dict(subwords.count(tmp_path / "b.csv", reading=Reading(errors="skip"))) == {b"one": 1, b"two": 1}
    (tmp_path / "c.csv").write_bytes(b"text\none\n\xff\ntwo\n")
    with pytest.raises(CorpusError, match="expected UTF-8"):
        subwords.count(tmp_path / "c.csv")
    assert dict(subwords.count(tmp_path / "c.csv", reading=Reading(errors="skip"))) == {b"one": 1, b"two": 1}
    (tmp_path / "d.csv").write_text("text\n" + "a" * 200_000)  # above the limit of module csv
    assert subwords.count(tmp_path / "d.csv").total == 1 and csv.field_size_limit() == 131_072
    (tmp_path / "e.csv").write_text('text\none\n"two\nthree\n')
    with pytest.raises(CorpusError, match=r"e.csv: line 3: expected a quote .*, got the end of the file"):
        subwords.count(tmp_path / "e.csv")
    assert dict(subwords.count(tmp_path / "e.csv", reading=Reading(errors="skip"))) == {b"one": 1}


def test_a_json_array_of_rows(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"text": "low"}, {"text": "lower"}]))
    with pytest.raises(CorpusError, match=r'\(row\["text"\] for row in json.load\(open\(name\)\)\)') as caught:
        subwords.count(tmp_path / "a.json")
    name = tmp_path / "a.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        texts = [*eval(str(caught.value).split("in Python: ")[1].split("; to use")[0], {"json": json, "name": name})]
    assert dict(subwords.count(texts)) == {b"low": 1, b"lower": 1}
