"""Sources of a corpus: files, folders, globs and iterables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from subwords import CorpusError, InputError, SubwordsWarning
from subwords.machine import read_blocks, source_size


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = ["b.txt", "a.md", "sub/c.TEXT"]
    for name in [*text, "sub/.hidden.txt", ".git/d.txt", "e.py", "sub/txt", "f.txt.bak", "g.log"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def names(source: object, folder: Path) -> list[str]:
    return [Path(block.name).relative_to(folder).as_posix() for block in read_blocks(source)]  # type: ignore[arg-type]


def test_folder_reads_visible_text_files_sorted(folder: Path) -> None:
    ref = ["a.md", "b.txt", "sub/c.TEXT"]
    assert names(folder, folder) == ref
    assert names(str(folder), folder) == ref


def test_files_of_a_folder_that_are_not_read_are_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.csv", "README.md"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.warns(SubwordsWarning, match=r"1 of its files, such as b\.csv, are not read: those like README"):
        assert names(tmp_path, tmp_path) == ["README.md", "a.txt"]
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "x"}\n')
    with pytest.warns(SubwordsWarning, match=r"2 of its files, such as a\.txt, are not read: those like c\.jsonl"):
        assert names(tmp_path, tmp_path) == ["c.jsonl"]
    assert names(f"{tmp_path}/*.txt", tmp_path) == ["a.txt"]


def test_folder_without_text_says_what_was_looked_for(folder: Path) -> None:
    with pytest.raises(CorpusError, match=r"\.git2: no corpus .*\.txt, \.text, \.md, \.jsonl"):
        (folder / ".git2").mkdir()
        read_blocks(folder / ".git2")


def test_folder_that_begins_with_a_dot_is_read_when_named(folder: Path) -> None:
    assert names(folder / ".git", folder) == [".git/d.txt"]


def test_glob_is_sorted_and_reads_any_suffix(folder: Path) -> None:
    assert names(f"{folder}/*", folder) == ["a.md", "b.txt", "e.py", "f.txt.bak", "g.log"]
    assert names(f"{folder}/**/*t", folder) == ["b.txt", "sub/txt"]
    assert names(folder / "*.log", folder) == ["g.log"]


def test_glob_without_match_raises(folder: Path) -> None:
    with pytest.raises(CorpusError, match="no file matches the glob "):
        read_blocks(f"{folder}/*.zip")


def test_name_with_glob_characters_is_taken_literally_where_it_exists(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_bytes(b"x")
    (tmp_path / "a1.txt").write_bytes(b"y")
    assert names(f"{tmp_path}/a[1].txt", tmp_path) == ["a[1].txt"]


def test_file_named_explicitly_is_read_whatever_its_suffix(folder: Path) -> None:
    assert names(folder / "e.py", folder) == ["e.py"]
    assert names([folder / "sub", folder / "e.py", folder / "*.md"], folder) == ["sub/c.TEXT", "e.py", "a.md"]
    assert names((path for path in [folder / "g.log"]), folder) == ["g.log"]


@pytest.mark.parametrize("missing", ["no/such.txt", "", "a text of many words. " * 300, "with\0zero"])
def test_str_that_names_nothing_hints_at_a_list(missing: str) -> None:
    with pytest.raises(CorpusError, match=r"no file or folder .*\[text\]"):
        read_blocks(missing)


def test_missing_path_in_a_list_raises_at_the_call(folder: Path) -> None:
    with pytest.raises(CorpusError, match="no file or folder"):
        read_blocks([folder / "a.md", folder / "nope.txt"])


def test_list_of_names_of_existing_files_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match="each of the 2 texts is the name of an existing file"):
        read_blocks(["a.md", "b.txt"])
    assert [block.data for block in read_blocks(["a.md", "b.txt", "text"])] == [b"a.mdb.txttext"]
    assert [block.data for block in read_blocks(iter(["a.md"]))] == [b"a.md"]


def test_mixing_paths_and_texts_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"got str 'a text' at item 1; do not mix"):
        read_blocks([folder / "a.md", "a text"])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"text 1: expected str.*do not mix"):
        list(read_blocks(["a text", folder / "a.md"]))  # type: ignore[list-item]


@pytest.mark.parametrize("source", [5, None, b"bytes", bytearray(b"x"), {"text": "a"}, 1.5])
def test_source_of_another_type_is_refused(source: object) -> None:
    with pytest.raises(InputError, match=f"source: expected a path.*got {type(source).__name__}"):
        read_blocks(source)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root and Windows read every folder")
def test_unreadable_folder_raises(folder: Path) -> None:
    (folder / "sub").chmod(0)
    try:
        with pytest.raises(CorpusError, match="sub: cannot read folder"):
            read_blocks(folder)
    finally:
        (folder / "sub").chmod(0o700)


def test_source_size_adds_the_bytes_on_disk(folder: Path) -> None:
    assert source_size(folder) == len("a.md" + "b.txt" + "sub/c.TEXT")
    assert source_size([folder / "a.md", folder / "e.py"]) == 8
    assert source_size(f"{folder}/*.log") == 5
    with pytest.raises(CorpusError, match="no file or folder"):
        source_size(folder / "nope")


def test_source_size_is_unknown_for_texts_and_pipes(tmp_path: Path) -> None:
    texts = iter(["a", "b"])
    assert source_size(texts) is None
    assert list(texts) == ["a", "b"]
    assert source_size(["a"]) is None
    assert source_size([]) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert source_size(tmp_path / "pipe") is None
