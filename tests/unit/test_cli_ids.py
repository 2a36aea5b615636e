"""Many texts as lines of ids, in memory that does not grow with them; files of ids; counting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from test_cli_process import environment, names, posix, start

import subwords
from commands import APART, json_of, run
from subwords import Tokenizer
from subwords.cli import encoding as ids
from subwords.cli import main

LINES = ["a low", "", "lowest price 中文", "<s> é 😀", "", ""]


@pytest.fixture(params=[1, 7, 1 << 22])
def batch(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes are read at a time."""
    monkeypatch.setattr(ids, "_BATCH", request.param)
    return int(request.param)


@pytest.mark.parametrize("form", ["npy", "bin"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_decode_reads_token_files_and_their_offsets(form: str, dtype: str, tok_path: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / f"ids.{form}"
    text.write_text("".join(line + "\n" for line in LINES))
    run("tokens", tok_path, text, "--documents", "line", "--dtype", dtype, "-o", out, "-q")
    raw = ["--dtype", dtype] if form == "bin" else []
    offsets = ["--offsets", tmp_path / "ids.offsets.npy"]
    for options in (raw, [*raw, *offsets]):
        assert run("decode", tok_path, out, *options).stdout_bytes == text.read_bytes()
    assert json_of("decode", tok_path, out, *raw, *offsets)["text"] == [f"{line}\n" for line in LINES]


@pytest.mark.parametrize("moved", [["--format", "npy"], ["--dtype", "uint16"], ["--offsets", "o"], ["-o", "a.npy"]])
def test_encode_names_the_command_that_writes_token_files(moved: list[str], tok_path: Path) -> None:
    error = run("encode", tok_path, "--text", "a", *moved, code=2).stderr
    assert f"{moved[0]} " in error and "subwords tokens TOKENIZER FILE -o ids.npy" in " ".join(error.split())


@pytest.mark.usefixtures("batch")
def test_lines_do_not_depend_on_how_they_are_read(tok_path: Path, tok: Tokenizer) -> None:
    for text in ("", "a", "a\n", "\n", "\n\n", "low\n\nlower\r\nlowest", "a long line " * 9 + "\n" + "x"):
        ref = text.removesuffix("\n").split("\n") if text else []
        got = run("encode", tok_path, "--lines", stdin=text.encode()).stdout
        assert got == "".join(" ".join(map(str, tok.encode(line))) + "\n" for line in ref)
        assert json_of("encode", tok_path, "--lines", stdin=text.encode())["ids"] == [*map(tok.encode, ref)]
        if all(ref):  # a line without ids is a text without any
            assert run("decode", tok_path, "--lines", stdin=got.encode()).stdout == "".join(f"{x}\n" for x in ref)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 1, 2], "they go from 0 to 2: do they belong to another file"),
        ([1, 3], "they go from 1 to 3"),
        ([0, 2, 1, 3], "expected offsets of texts, ascending from 0 to 3"),
        ([0.0, 3.0], "found float64 of shape"),
        ([[0, 3]], "of shape (1, 2)"),
        ([], "found float64 of shape (0,)"),
        (None, "expected a NumPy file of integers: its first bytes are different"),
    ],
)
def test_offsets_of_another_file_are_refused(offsets: object, message: str, tok_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([65, 66, 67]))
    path = tmp_path / "offsets.npy"
    np.save(path, np.array(offsets)) if offsets is not None else path.write_bytes(b"0 1 2")
    stderr = run("decode", tok_path, tmp_path / "ids.npy", "--offsets", path, code=1).stderr
    assert f"{path}: expected " in stderr
    assert message in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tokens", "x", "y", "--max", "1", "-o", "a.npy"], "--max writes no file"),
        (["tokens", "x", "y", "--count", "-o", "a.npy"], "--count writes no file"),
        (["tokens", "x", "y", "--dtype", "uint16"], "token files need a name: add -o FILE"),
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
def test_memory_does_not_grow_with_the_lines(tok_path: Path, tmp_path: Path) -> None:
    options = ["encode", tok_path, "--lines", "-o", tmp_path / "ids"]
    few, many = (peak(lines, *options) for lines in (10_000, 130_000))
    assert many < few + 15_000  # 6 MB of lines were 30 MB more when all were held


def test_error_in_a_later_batch_leaves_the_old_file(
    tok_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "_BATCH", 8)
    out = tmp_path / "ids.txt"
    out.write_bytes(b"as it was")
    run("encode", tok_path, "--lines", "--special", "error", "-o", out, stdin=b"a low\n" * 20 + b"<s>\n", code=1)
    assert out.read_bytes() == b"as it was"
    assert names(tmp_path) == ["ids.txt"]


@posix
def test_interrupted_encoding_leaves_the_old_file_and_no_other(tok_path: Path, tmp_path: Path) -> None:
    import signal

    out = tmp_path / "ids"
    out.write_bytes(b"as it was")
    with start("encode", tok_path, "--lines", "-o", out, stdin=subprocess.PIPE) as process:
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


# --- counting


def test_tokens_without_output_prints_the_number_of_ids(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file, line in zip(files, LINES[2:], strict=False):
        file.write_text(line)
    expected = sum(len(tok.encode(line)) for line in LINES[2:4])
    assert run("tokens", tok_path, *files).stdout == f"{expected}\n"
    assert run("tokens", tok_path, stdin=LINES[2].encode()).stdout == f"{len(tok.encode(LINES[2]))}\n"
    assert json_of("tokens", tok_path, *files)["tokens"] == expected
    for how in ([], ["--json"], ["-q"]):
        run("tokens", tok_path, *files, "--max", expected, *how)
        found = CliRunner(**APART).invoke(main, [*map(str, ["tokens", tok_path, *files, "--max", expected - 1, *how])])
        assert (found.exit_code, str(expected) in found.stdout) == (1, True)
        assert found.stderr == f"subwords: error: 2 files: {expected} tokens are 1 more than --max {expected - 1}\n"
    most, sizes = expected - 1, [len(tok.encode(line)) for line in LINES[2:4]]
    run("tokens", tok_path, *files, "--max", most, "--count")
    found = CliRunner(**APART).invoke(main, [*map(str, ["tokens", tok_path, *files, "--max", 1, "--count"])])
    assert found.exit_code == 1
    assert [line.split(": ")[2] for line in found.stderr.splitlines()] == [*map(str, files)]
    assert f"{sizes[1]} tokens are {sizes[1] - 1} more than --max 1" in found.stderr


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
