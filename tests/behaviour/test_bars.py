"""Progress bars tell the truth: no speed of what was done before, no question marks, no standing still."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

import subwords
from in_shards import count_to
from subwords.scale import Run


class Terminal(io.StringIO):
    """A terminal in place of standard error."""

    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in place of standard error; in the test itself, because pytest replaces it after fixtures."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def lines_of(stream: Terminal) -> list[str]:
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return [line.strip() for line in shown.replace("\r", "\n").splitlines() if line.strip()]


def test_no_question_marks_while_the_amount_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    subwords.train((text for text in ["low lower lowest " * 50] * 20), vocab_size=262)
    lines = lines_of(terminal)
    assert any(line.startswith("counting") for line in lines)
    assert not [line for line in lines if "?" in line]
    assert any(re.search(r"[0-9]+/[0-9]+ tokens", line) for line in lines), lines


def test_what_an_earlier_run_did_has_no_speed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = terminal_of(monkeypatch)
    files = []
    for number in range(4):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text("low lower lowest " * 20_000, encoding="utf-8")
    run = Run(shard_bytes=1, keep=True)
    count_to(files, tmp_path / "a.counts", run=run)
    terminal.seek(0)
    terminal.truncate(0)
    count_to(files, tmp_path / "a.counts", run=run)  # all is done
    last = [line for line in lines_of(terminal) if line.startswith("shards")][-1]
    assert "1.4/1.4 MB" in last
    assert not re.search(r"[0-9] .?B/s", last)
