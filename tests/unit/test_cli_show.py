"""The command `show`, in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import run
from inside import MOST_CHARACTERS
from subwords import InputError
from subwords.cli.explaining import _start


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("show") / "tok.json"
    subwords.train(["low lower lowest"] * 9, vocab_size=263).save(found)
    return found


@contextmanager
def showing(*arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command without a browser, and its address; it ends at the end of the block."""
    command = [sys.executable, "-m", "subwords", "show", *map(str, arguments), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.kill()


def state_of(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}api/state", timeout=20) as answer:
        found = json.load(answer)
    assert isinstance(found, dict)
    return found


def test_the_page_is_served_until_it_is_interrupted(path: Path) -> None:
    with showing(path, path, "--text", "low <b>", "--port", 0) as (url, process):
        state = state_of(url)
        assert (len(state["tokenizers"]), state["text"]) == (2, "low <b>")
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"<title>subwords show</title>" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_text_file_starts_the_page(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text.md").write_text("lowest\n🙂", "utf-8")
    with showing(path, "--text-file", tmp_path / "text.md", "--port", 0) as (url, _):
        assert state_of(url)["text"] == "lowest\n🙂"


@pytest.mark.parametrize("size", [MOST_CHARACTERS - 1, MOST_CHARACTERS, MOST_CHARACTERS + 1, 5 * MOST_CHARACTERS])
@pytest.mark.parametrize("character", ["a", "é", "🙂"])
def test_a_long_text_file_is_cut_between_characters(tmp_path: Path, size: int, character: str) -> None:
    (tmp_path / "text").write_text("x" + character * (size - 1), "utf-8")
    text, goes_on = _start(tmp_path / "text")
    assert text == ("x" + character * (size - 1))[:MOST_CHARACTERS]
    assert goes_on == (size > MOST_CHARACTERS)


def test_a_text_file_must_be_utf_8(tmp_path: Path) -> None:
    for data in (b"a\xff", b"a" * 2 * MOST_CHARACTERS + b"\xff" + b"a" * MOST_CHARACTERS):
        (tmp_path / "text").write_bytes(data)
        with pytest.raises(InputError, match=r"expected UTF-8 text; byte \d+ is not UTF-8"):
            _start(tmp_path / "text")


def test_wrong_usage_and_files(path: Path, tmp_path: Path) -> None:
    assert "Missing argument" in run("show", code=2).stderr
    assert "expected 1 to 4 tokenizers, not 5" in run("show", *[path] * 5, code=2).stderr
    assert "give one" in run("show", path, "--text", "a", "--text-file", path, code=2).stderr
    assert "none.json" in run("show", tmp_path / "none.json", "--no-browser", code=1).stderr
    assert "none.txt" in run("show", path, "--text-file", tmp_path / "none.txt", "--no-browser", code=1).stderr


def test_a_port_in_use_is_an_error(path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"port {port} cannot be used" in run("show", path, "--port", port, "--no-browser", code=1).stderr
