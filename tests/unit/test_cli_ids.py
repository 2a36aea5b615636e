"""Many texts in one file of ids: their bounds are kept, and memory does not grow with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli_process import environment, names, posix, start

import subwords
from commands import json_of, run
from subwords import Tokenizer
from subwords.cli import encoding as ids

LINES = ["a low", "", "lowest price 中文", "<s> é 😀", "", ""]


@pytest.fixture(params=[1, 7, 1 << 22])
def batch(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes are read at a time."""
    monkeypatch.setattr(ids, "_BATCH", request.param)
    return int(request.param)


@pytest.mark.parametrize("form", ["npy", "bin"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.usefixtures("batch")
def test_offsets_keep_the_lines(form: str, dtype: str, tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    out, offsets = tmp_path / "ids", tmp_path / "offsets"
    text = "".join(line + "\n" for line in LINES).encode()
    options = ["--lines", "--format", form, "--dtype", dtype, "--offsets", offsets]
    got = json_of("encode", tok_path, "-o", out, *options, stdin=text)
    batch = tok.encode_batch(LINES)
    assert got == {"texts": len(LINES), "total": len(batch.ids), "saved": str(out)}
    assert np.load(offsets).dtype == np.int64
    assert np.load(offsets).tolist() == batch.offsets.tolist()
    assert (np.load(out) if form == "npy" else np.fromfile(out, dtype)).tolist() == batch.ids.tolist()
    assert run("encode", tok_path, *options, stdin=text).stdout_bytes == out.read_bytes()  # a pipe gets the same
    raw = ["--dtype", dtype] if form == "bin" else []
    assert run("decode", tok_path, out, *raw, "--offsets", offsets).stdout_bytes == text
    assert json_of("decode", tok_path, out, *raw, "--offsets", offsets)["text"] == LINES


@pytest.mark.usefixtures("batch")
def test_lines_do_not_depend_on_how_they_are_read(tok_path: Path, tok: Tokenizer) -> None:
    for text in ("", "a", "a\n", "\n", "\n\n", "low\n\nlower\r\nlowest", "a long line " * 9 + "\n" + "x"):
        ref = text.removesuffix("\n").split("\n") if text else []
        got = run("encode", tok_path, "--lines", stdin=text.encode()).stdout
        assert got == "".join(" ".join(map(str, tok.encode(line))) + "\n" for line in ref)
        assert json_of("encode", tok_path, "--lines", stdin=text.encode())["ids"] == [*map(tok.encode, ref)]
        if all(ref):  # a line without ids is a text without any
            assert run("decode", tok_path, "--lines", stdin=got.encode()).stdout == "".join(f"{x}\n" for x in ref)


def test_offsets_of_texts_given_and_of_one_text_and_of_none(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    out, offsets = tmp_path / "ids.npy", tmp_path / "offsets.npy"
    to = ["-o", out, "--offsets", offsets]
    run("encode", tok_path, "--text", "a low", "--text", "é", *to)
    assert np.load(offsets).tolist() == [0, len(tok.encode("a low")), len(tok.encode("a low")) + 2]
    run("encode", tok_path, *to, stdin=b"a\nlow")
    assert np.load(offsets).tolist() == [0, len(tok.encode("a\nlow"))]
    run("encode", tok_path, "--lines", *to, stdin=b"")
    assert (np.load(offsets).tolist(), np.load(out).tolist()) == ([0], [])
    assert run("decode", tok_path, out, "--offsets", offsets).stdout == ""


@pytest.mark.parametrize("form", ["npy", "bin"])
def test_several_texts_without_offsets_are_refused(form: str, tok_path: Path, tmp_path: Path) -> None:
    out = tmp_path / f"ids.{form}"
    for texts in (["--lines"], ["--text", "a", "--text", "b"]):
        assert "add --offsets FILE" in run("encode", tok_path, "-o", out, *texts, code=2).stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 1, 2], "they go from 0 to 2: do they belong to another file"),
        ([1, 3], "they go from 1 to 3"),
        ([0, 2, 1, 3], "expected offsets of texts, int64, ascending from 0 to 3"),
        ([0.0, 3.0], "found float64 of shape"),
        ([[0, 3]], "of shape (1, 2)"),
        ([], "found float64 of shape (0,)"),
        (None, "in a NumPy file: "),
    ],
)
def test_offsets_of_another_file_are_refused(offsets: object, message: str, tok_path: Path, tmp_path: Path) -> None:
    run("encode", tok_path, "--text", "xyz", "-o", tmp_path / "ids.npy")
    path = tmp_path / "offsets.npy"
    np.save(path, np.array(offsets)) if offsets is not None else path.write_bytes(b"0 1 2")
    stderr = run("decode", tok_path, tmp_path / "ids.npy", "--offsets", path, code=1).stderr
    assert f"{path}: expected offsets of texts, int64" in stderr
    assert message in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode", "x", "--offsets", "o"], "--offsets is for --format npy or bin"),
        (["encode", "x", "-o", "a.npy", "--offsets", "a.npy"], "--offsets and -o name the same file"),
        (["encode", "x", "--temperature", "1"], "--temperature is for --draw"),
        (["encode", "x", "--seed", "0"], "--seed is for --draw"),
        (["encode", "x", "--nbest", "2", "--seed", "0"], "--seed is for --draw"),
        (["decode", "x", "--ids", "1", "--offsets", "o"], "--ids cannot be combined with"),
        (["decode", "x", "--lines", "--offsets", "o"], "use --offsets for NumPy files"),
        (["inspect", "x", "--limit", "3"], "--limit needs --vocab, --merges or --token"),
    ],
)
def test_options_that_do_nothing_are_wrong_usage(arguments: list[str], message: str) -> None:
    assert message in run(*arguments, code=2).stderr


def test_options_that_the_input_or_the_model_does_not_have(tok_path: Path, tmp_path: Path) -> None:
    for option in ("--draw", "--nbest=2"):  # even where there is no text
        assert "needs a Unigram model" in run("encode", tok_path, "--lines", option, code=1).stderr
    np.save(tmp_path / "ids.npy", np.array([65], np.uint32))
    stderr = run("decode", tok_path, tmp_path / "ids.npy", "--dtype", "uint32", code=1).stderr
    assert "leave out --dtype" in stderr
    stderr = run("decode", tok_path, "--offsets", tmp_path / "ids.npy", stdin=b"65 66", code=1).stderr
    assert "standard input: --offsets is for NumPy files and raw ids" in stderr


# --- whole or not at all, in bounded memory

PEAK = Path(__file__).parents[1] / "programs" / "peak_memory.py"


def peak(lines: int, *arguments: object) -> int:
    """The most memory, in KB, that encoding so many lines from standard input took."""
    command = [sys.executable, str(PEAK), *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        block = b"it's a low, lower, lowest price, and a lower one too\n" * 10_000
        for _ in range(lines // 10_000):
            process.stdin.write(block)
        process.stdin.close()
        return int(process.stderr.read().split()[-1])  # after what is said about compiling


@posix
@pytest.mark.parametrize("form", ["text", "npy"])
def test_memory_does_not_grow_with_the_lines(form: str, tok_path: Path, tmp_path: Path) -> None:
    offsets = ["--offsets", tmp_path / "offsets.npy"] if form == "npy" else []
    options = ["encode", tok_path, "--lines", "--format", form, *offsets, "-o", tmp_path / "ids"]
    few, many = (peak(lines, *options) for lines in (10_000, 130_000))
    assert many < few + 15_000  # 6 MB of lines were 30 MB more when all were held


def test_error_in_a_later_batch_leaves_the_old_files(
    tok_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "_BATCH", 8)
    out, offsets = tmp_path / "ids.npy", tmp_path / "offsets.npy"
    for path in (out, offsets):
        path.write_bytes(b"as it was")
    options = ["--lines", "--special", "error", "-o", out, "--offsets", offsets]
    run("encode", tok_path, *options, stdin=b"a low\n" * 20 + b"<s>\n", code=1)
    assert [path.read_bytes() for path in (out, offsets)] == [b"as it was"] * 2
    (tmp_path / "folder").mkdir()
    run("encode", tok_path, *options[:-1], tmp_path / "folder", stdin=b"a low\n", code=1)
    assert out.read_bytes() == b"as it was"
    assert names(tmp_path) == ["folder", "ids.npy", "offsets.npy"]


@posix
@pytest.mark.parametrize("form", ["text", "npy"])
def test_interrupted_encoding_leaves_the_old_files_and_no_other(form: str, tok_path: Path, tmp_path: Path) -> None:
    import signal

    out, offsets = tmp_path / "ids", tmp_path / "offsets"
    out.write_bytes(b"as it was")
    to = ["--lines", "--format", form, "-o", out, *(["--offsets", offsets] if form != "text" else [])]
    with start("encode", tok_path, *to, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for _ in range(8):
            process.stdin.write(b"it's a low, lower, lowest price\n" * 40_000)  # the pipe is full: it is at work
        process.send_signal(signal.SIGINT)
        process.stdin.close()  # a signal that comes just before a read waits for the read's end
        assert process.wait(timeout=20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"subwords: interrupted\n"
    assert out.read_bytes() == b"as it was"
    assert names(tmp_path) == ["ids"]


@posix
def test_npy_may_go_to_a_pipe(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    to = ["--format", "npy", "-o", tmp_path / "pipe", "--offsets", tmp_path / "offsets.npy"]
    with start("encode", tok_path, "--text", "a low", "--text", "é", *to) as process:
        (tmp_path / "ids.npy").write_bytes((tmp_path / "pipe").read_bytes())
        assert process.wait(timeout=60) == 0
    assert np.load(tmp_path / "ids.npy").tolist() == [*tok.encode("a low"), *tok.encode("é")]


@posix
def test_reader_that_goes_away_is_not_an_error_of_the_offsets(tok_path: Path, tmp_path: Path) -> None:
    there, here = os.pipe()
    os.close(there)
    to = ["--format", "bin", "--offsets", tmp_path / "offsets.npy"]
    with start("encode", tok_path, *to, stdin=subprocess.PIPE, stdout=here) as process:
        _, err = process.communicate(b"a low price " * 200_000)
    os.close(here)
    assert (process.returncode, err) == (1, b"")
    assert names(tmp_path) == []


def test_sampling_draws_on_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = subwords.train(["hug hugs hugging, unhugged bug"] * 9, algorithm="unigram", vocab_size=20)
    tok.save(tmp_path / "tok.json")
    options = ["encode", tmp_path / "tok.json", "--lines", "--draw", "--temperature", "inf", "--seed", 4]

    def drawn() -> Iterator[str]:
        for size in (4, 1 << 22):
            monkeypatch.setattr(ids, "_BATCH", size)
            yield run(*options, stdin=b"hugging\n" * 9).stdout

    first, second = drawn()
    assert first == second
    assert len({*first.splitlines()}) > 1
