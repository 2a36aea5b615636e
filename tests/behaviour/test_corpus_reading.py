"""Corpora as users have them: standard input, byte order marks, files with a wrong name, bytes that are not UTF-8."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

import subwords
from commands import json_of, run

MARK = b"\xef\xbb\xbf"
TEXT = "low lower lowest\nnewer newest\n" * 9


def words(source: object, **options: object) -> dict[bytes, int]:
    return dict(subwords.count(source, reading=subwords.Reading(**options)))  # type: ignore[call-overload, arg-type]


@pytest.mark.parametrize(
    "options", [{}, {"documents": "line"}, {"documents": "line", "errors": "skip"}, {"separator": "\n"}]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_no_text(options: dict[str, object], packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    data = MARK + TEXT.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    plain = tmp_path / "b.txt"
    plain.write_text(TEXT, encoding="utf-8")
    assert words(path, **options) == words(plain, **options)
    inside = tmp_path / "c.txt"
    inside.write_bytes(TEXT.encode() + MARK)
    assert MARK in b"".join(words(inside, **options))  # elsewhere it is a character


def test_byte_order_marks_of_other_readers(tmp_path: Path) -> None:
    path, rows, only = tmp_path / "a.txt", tmp_path / "a.jsonl", tmp_path / "only.txt"
    path.write_bytes(MARK + TEXT.encode())
    rows.write_bytes(MARK + b'{"text": "low lower"}\n')
    only.write_bytes(MARK)
    assert words(rows) == {b"low": 1, b" lower": 1}
    assert words([only, path]) == words([TEXT])
    tok = subwords.train([TEXT], vocab_size=262)
    tok.save(tmp_path / "tok.json")
    tok.encode_files(path, tmp_path / "ids.npy")
    assert np.load(tmp_path / "ids.npy").tolist() == tok.encode(TEXT)
    assert json_of("encode", tmp_path / "tok.json", path)["ids"] == [tok.encode(TEXT)]
    assert json_of("tokens", tmp_path / "tok.json", "--count", path)["tokens"] == len(tok.encode(TEXT))
    path.write_bytes(MARK + b"ab\xff")
    with pytest.raises(subwords.CorpusError, match="0xff at byte 5"):
        subwords.count(path)


@pytest.mark.parametrize("content", ["", "low lower\n", "\ufefflow", "<|endoftext|> é\r\n", "ab " * 3000, "文" * 9000])
def test_a_short_file_has_the_counts_of_a_corpus(tmp_path: Path, content: str) -> None:
    tok = tmp_path / "tok.json"
    subwords.train([TEXT], vocab_size=262, special_tokens=["<|endoftext|>"]).save(tok)
    found = []
    for name in ("a.txt", "a.text"):
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        found.append(json_of("tokens", tok, "--count", tmp_path / name)["files"])
    assert [{**row, "file": ""} for row in found[0]] == [{**row, "file": ""} for row in found[1]]


def test_files_that_are_no_corpus(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    table = tmp_path / "a.parquet"
    table.write_text(TEXT, encoding="utf-8")
    with pytest.raises(subwords.CorpusError, match="expected a Parquet or Arrow file, as its name says"):
        subwords.count(table)
    tok = subwords.train([TEXT], vocab_size=262)
    tok.save(tmp_path / "tok.json")
    tok.to_transformers().save_pretrained(tmp_path / "folder")
    for name in ("tok.json", "folder/tokenizer.json", "folder/tokenizer_config.json"):
        with pytest.raises(subwords.CorpusError, match="expected text, found a tokenizer"):
            subwords.train(tmp_path / name, vocab_size=300)


def test_an_open_file_is_a_source(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(MARK + TEXT.encode())
    with path.open("rb") as file:
        assert words(file) == words([TEXT])
    assert words(io.BytesIO(gzip.compress(TEXT.encode())), documents="line") == words([TEXT], documents="line")
    with pytest.raises(subwords.CorpusError, match="stream: expected UTF-8, got byte 0xff at byte 1"):
        words(io.BytesIO(b"a\xff"))
    assert words(io.BytesIO(b"a\xff"), errors="replace") == {b"a": 1, "\ufffd".encode(): 1}
    with pytest.raises(subwords.InputError, match="leaves out a whole stream"):
        words(io.BytesIO(b"a\xff"), errors="skip")
    with pytest.raises(subwords.CorpusError, match="no text to count"):
        words(io.BytesIO())


def test_standard_input_of_every_command_with_a_corpus(tmp_path: Path) -> None:
    path, tok = tmp_path / "a.txt", tmp_path / "tok.json"
    path.write_text(TEXT, encoding="utf-8")
    shape = ["--vocab-size", "262", "-q"]
    run("train", path, *shape, "-o", tok)
    run("train", "-", *shape, "-o", tmp_path / "stdin.json", stdin=TEXT.encode())
    assert (tmp_path / "stdin.json").read_bytes() == tok.read_bytes()
    run("count", "-", "-q", "-o", tmp_path / "counts", stdin=TEXT.encode())
    assert dict(subwords.WordCounts.load(tmp_path / "counts")) == words([TEXT])
    assert json_of("tokens", tok, "--count", "-", stdin=TEXT.encode())["tokens"] == len(subwords.load(tok).encode(TEXT))
    for command in (
        ("adapt", "extend", tok, "-", "--count", "2", "-o", tmp_path / "e.json"),
        ("study", "evaluate", tok, "-"),
        ("study", "audit", tok, "--source", "-", "--fail-on", "never"),
        ("train", "-", "--algorithm", "mingram", "--vocab-size", "16", "-q", "-o", tmp_path / "m.json"),
        ("study", "explain-training", "-", "--vocab-size", "258"),
    ):
        run(*command, stdin=TEXT.encode())
    error = run("count", "-", path, "-o", tmp_path / "x", stdin=b"a", code=2).stderr
    assert "standard input (-) must be the only source" in error
    error = run("count", "-", "--workers", "2", "-o", tmp_path / "x", stdin=b"a", code=2).stderr
    assert "shards are made of files" in error


def test_invalid_utf8_is_read_in_one_way_by_all_commands(tmp_path: Path) -> None:
    path, tok = tmp_path / "latin1.txt", tmp_path / "tok.json"
    path.write_bytes(TEXT.encode() + "café\n".encode("latin-1"))
    subwords.train([TEXT], vocab_size=262).save(tok)
    commands: list[tuple[object, ...]] = [
        ("train", path, "--vocab-size", "262", "-o", tmp_path / "x.json"),
        ("count", path, "-o", tmp_path / "x.counts"),
        ("tokens", tok, "--count", path),
        ("encode", tok, path, "-o", tmp_path / "o.txt"),
        ("tokens", tok, path, "--format", "npy", "--documents", "line", "-o", tmp_path / "o.npy"),
        ("study", "evaluate", tok, path),
    ]
    for command in commands:
        assert "expected UTF-8, got byte 0xe9 at byte" in run(*command, code=1).stderr, command
        assert not [*tmp_path.glob("o.*")]
    for command in commands:
        run(*command, "--errors", "replace")
    run("encode", tok, path, "--errors", "replace", "-o", tmp_path / "one.txt")
    assert run("decode", tok, tmp_path / "one.txt").stdout == TEXT + "caf\ufffd\n"
    lines = json_of("encode", tok, path, "--lines", "--errors", "skip")["ids"]
    assert len(lines) == TEXT.count("\n")


def test_names_in_any_case_and_sizes_in_thousands(tmp_path: Path) -> None:
    for name in ("BPE", "WordPiece", "Unigram", "WordLevel"):
        options = {"vocab_size": 9 if name == "WordLevel" else 20, "special_tokens": ["[UNK]"], "unk_token": "[UNK]"}
        if name == "BPE":
            options = {"vocab_size": 262}
        one = subwords.train([TEXT], algorithm=name, **options)  # type: ignore[call-overload]
        two = subwords.train([TEXT], algorithm=name.lower(), **options)  # type: ignore[call-overload]
        assert one.vocab == two.vocab
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    run(
        "train",
        path,
        "--vocab-size",
        "262",
        "--algorithm",
        "BPE",
        "--splitter",
        "none",
        "-q",
        "-o",
        tmp_path / "a.json",
    )
    assert subwords.load(tmp_path / "a.json").splitter.split("a b") == ["a b"]
    assert subwords.splitter("none") == subwords.splitter(None)
    assert "262144" not in run("train", path, "--vocab-size", "1k", "-o", tmp_path / "b.json").stderr
    assert "instead of 1000" in run("train", path, "--vocab-size", "1k", "-o", tmp_path / "b.json").stderr
