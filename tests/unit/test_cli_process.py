"""The command line as a process of its own: exit codes, signals, pipes, terminals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import subwords
from commands import all_commands

SUBWORDS = [sys.executable, "-m", "subwords"]
SOURCE = str(Path(subwords.__file__).resolve().parents[1])
HEAVY = {
    *(
        "numpy",
        "numba",
        "llvmlite",
        "rich",
        "regex",
        "subwords.training.train",
        "subwords.tokenizer",
        "subwords.kernels.jit",
    )
}

posix = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and terminals of POSIX")


def environment(**others: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": SOURCE, "PYTHONUTF8": "1", **others}


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    command = [*SUBWORDS, *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()}
    return subprocess.Popen(command, **{**pipes, **options})  # type: ignore[call-overload, no-any-return]


def finish(*arguments: object, **options: object) -> tuple[int, bytes, bytes]:
    with start(*arguments, **options) as process:
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_help_imports_nothing_heavy() -> None:
    program = Path(__file__).parents[1] / "programs" / "help_imports.py"
    command = [sys.executable, str(program), ",".join(HEAVY), "", "--version", *all_commands()]
    done = subprocess.run(command, env=environment(), check=True, capture_output=True)
    assert done.stderr == b"\n"
    assert done.stdout.count(b"Usage: ") == 1 + len(all_commands())


def test_exit_codes_and_streams(corpus_path: Path, tmp_path: Path) -> None:
    to = ["--vocab-size", 265, "-o", tmp_path / "tok.json"]
    code, out, err = finish("train", corpus_path, *to)
    assert (code, err) == (0, b"")
    assert out.startswith(b"words\t")
    code, out, err = finish("train", tmp_path / "none", *to)
    assert (code, out) == (1, b"")
    assert re.fullmatch(rb"subwords: error: [^\n]*none[^\n]*\n", err)
    code, out, err = finish("train", corpus_path)
    assert (code, out) == (2, b"")
    assert err.startswith(b"Usage: subwords train")
    assert names(tmp_path) == ["corpus.txt", "tok.json"]


@posix
def test_error_is_one_line_whatever_is_in_a_name(tmp_path: Path) -> None:
    for name in ("a\nb", "a\r\x1b[2Jb", "a\u2028b", "[bold]a", os.fsdecode(b"a\xff")):
        code, _, err = finish("count", tmp_path / name, "-o", tmp_path / "counts.bin")
        assert code == 1
        assert err.startswith(b"subwords: error: ")
        assert err.decode().count("\n") == len(err.decode().splitlines()) == 1
        assert b"\x1b" not in err


def test_a_terminal_of_few_characters_shows_every_token(tok_path: Path) -> None:
    options = {"env": environment(PYTHONUTF8="0", PYTHONIOENCODING="latin-1")}
    code, out, err = finish("inspect", tok_path, "--vocab", **options)
    assert (code, err) == (0, b"")
    assert rb"\u2423" in out


@pytest.mark.rotating(2)
@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_reader_that_goes_away_ends_it_quietly(unbuffered: str, tok_path: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("65 " * 200_000)
    files = [["decode", tok_path, tmp_path / "ids.txt"], ["encode", tok_path, tmp_path / "ids.txt"]]
    for arguments in (*files, [*files[1], "--json"]):
        with start(*arguments, env=environment(PYTHONUNBUFFERED=unbuffered)) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_one_line(tok_path: Path, tmp_path: Path) -> None:
    for arguments in (["inspect", tok_path, "--vocab"], ["encode", tok_path, "--text", "a"]):
        for unbuffered in ("", "1"):
            with open("/dev/full", "wb") as full:
                code, _, err = finish(*arguments, stdout=full, env=environment(PYTHONUNBUFFERED=unbuffered))
            assert (code, err) == (1, b"subwords: error: standard output: No space left on device\n")


@posix
def test_output_may_be_a_pipe(tok_path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with start("encode", tok_path, "--text", "a", "-o", tmp_path / "pipe") as process:
        assert (tmp_path / "pipe").read_bytes() == b"65\n"
        assert process.wait(timeout=60) == 0
    assert names(tmp_path) == ["pipe"]


def on_a_terminal(*arguments: object, stream: str) -> str:
    """What the command shows where `stream` is a terminal, without control sequences."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals are a POSIX thing")
    master, slave = pty.openpty()
    shown = bytearray()

    def watch() -> None:
        try:
            while data := os.read(master, 4096):
                shown.extend(data)
        except OSError:  # Linux: the other end was closed
            pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        code, _, _ = finish(*arguments, **{stream: slave, "env": environment(TERM="xterm", COLUMNS="100")})
    finally:
        os.close(slave)
        watcher.join()
        os.close(master)
    assert code == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


ALGORITHMS = {
    "bpe": (["bpe", "--vocab-size", 270], "merging", "14/14 tokens"),
    "bpe that runs out": (["bpe", "--vocab-size", 9000], "merging", "29/29 tokens"),
    "characters": (["bpe", "--character-level", "--vocab-size", 30], "merging", "10/10 tokens"),
    "wordpiece": (["wordpiece", "--vocab-size", 33], "merging", "8/8 tokens"),
    "wordpiece by count": (["wordpiece", "--vocab-size", 33, "--score", "count"], "merging", "8/8 tokens"),
    "wordpiece that runs out": (["wordpiece", "--vocab-size", 9000], "merging", "11/11 tokens"),
    "unigram": (["unigram", "--vocab-size", 38], "estimating", "1/1 steps"),
}


@pytest.mark.rotating(2)
@posix
@pytest.mark.parametrize("name", ALGORITHMS)
def test_bars_name_their_phase_and_end_full(name: str, corpus_path: Path, tmp_path: Path) -> None:
    options, phase, done = ALGORITHMS[name]
    got = on_a_terminal(
        "train", corpus_path, "-o", tmp_path / "tok.json", "--algorithm", *options, stream="stderr"
    ).split("\r")
    bars = [line.strip() for line in got if "━" in line]
    labels = [line.split()[0] for line in bars]
    assert labels[0] == "counting"
    assert labels[-1] == phase
    assert {*labels} <= {"counting", "indexing", "merging", "seeds", "pruning", "estimating"}
    last = {line.split()[0]: line for line in bars}
    for label in ("counting", phase):  # the last of either bar
        assert "╺" not in last[label]
        assert "0:00:00" in last[label]
    assert done in last[phase]
    warned = [line for line in "".join(got).splitlines() if "warning" in line]
    assert len(warned) == ("runs out" in name)


def test_tables_on_a_terminal_show_brackets_as_they_are(tmp_path: Path) -> None:
    subwords.train(["[bold] [/] x"], vocab_size=258, special_tokens=["[bold]", "[/red]"]).save(tmp_path / "tok.json")
    got = on_a_terminal("inspect", tmp_path / "tok.json", "--vocab", "--limit", 2, stream="stdout")
    assert "[bold]" in got
    assert "[/red]" in got


def test_python_m_names_the_program_subwords() -> None:
    assert finish("--help")[1].startswith(b"Usage: subwords [OPTIONS]")
