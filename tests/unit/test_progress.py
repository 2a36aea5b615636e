"""Progress bars."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inside import corpus_progress
from subwords.machine import NOTICES, progress

pty = pytest.importorskip("pty", reason="pseudo-terminals are a POSIX thing")


def shown_on_a_terminal(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> str:
    """What appears on a terminal in place of standard error while `run` runs, without the control sequences."""
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
    with os.fdopen(slave, "w") as stream, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "stderr", stream)
        run()
    watcher.join()
    os.close(master)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_progress_on_a_terminal_shows_bytes_and_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(4_000_000, "reading [x]") as bar:
            for _ in range(4):
                bar.advance(1_000_000)

    last = shown_on_a_terminal(run, monkeypatch).strip().splitlines()[-1]
    assert "reading [x]" in last
    assert "4.0/4.0 MB" in last
    assert "B/s" in last
    assert "0:00:00" in last


def test_progress_without_a_total_shows_what_was_done_and_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(None, "reading") as bar:
            bar.advance(5_000)

    frames = shown_on_a_terminal(run, monkeypatch).split("\r")
    assert "0 bytes" in frames[1]
    assert "?" not in frames[1]
    assert "5.0/5.0 kB" in frames[-2]


def test_progress_leaves_standard_output_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        before = sys.stdout
        with progress(10, "reading"):
            assert sys.stdout is before
            print("a result")

    assert "a result" not in shown_on_a_terminal(run, monkeypatch)
    assert capfd.readouterr().out == "a result\n"


def test_progress_ends_when_the_body_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with pytest.raises(KeyError, match="mine"), progress(10, "reading"):
            raise KeyError("mine")

    assert "reading" in shown_on_a_terminal(run, monkeypatch)
    for thread in threading.enumerate():
        if "Refresh" in type(thread).__name__:  # told to stop; it may be about to
            thread.join(5)
            assert not thread.is_alive()


def test_progress_switched_off_on_a_terminal_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(10, "reading", enabled=False) as bar:
            bar.advance(10)

    assert shown_on_a_terminal(run, monkeypatch) == ""


def test_progress_away_from_a_terminal_is_silent_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    with progress(10, "reading") as bar:
        bar.advance(10)
    assert capfd.readouterr() == ("", "")
    with progress(10, "reading", enabled=True) as bar:
        bar.advance(10)
    out, err = capfd.readouterr()
    assert out == ""
    assert "10/10 bytes" in err


def test_progress_without_standard_error_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress(10, "reading") as bar:
        bar.advance(10)


def test_progress_not_shown_does_not_import_rich() -> None:
    program = Path(__file__).parents[1] / "programs" / "no_progress.py"
    assert subprocess.run([sys.executable, program], stderr=subprocess.PIPE, check=False).returncode == 0


def test_compiling_is_said_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(1000, "training", unit="tokens") as bar:
            monkeypatch.setattr(NOTICES, "busy", 1)
            time.sleep(0.3)  # the bar is drawn ten times a second
            monkeypatch.setattr(NOTICES, "busy", 0)
            bar.advance(1000)

    lines = shown_on_a_terminal(run, monkeypatch).replace("\r", "\n").splitlines()
    labels = [line.split("  ")[0].split(" \u2501")[0] for line in lines if line.strip()]
    assert any(label.startswith("compiling kernels, once") for label in labels)
    assert labels[-1].startswith("training")


# ------------------------------------------------------------------ logs


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr(corpus_progress.time, "monotonic", lambda: now[0])
    with progress(200_000_000, "encoding") as bar:
        for _ in range(100):
            now[0] += 1
            bar.advance(1_000_000)
        assert not bar.shown
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and lines[0] == "subwords: encoding: 30.0 MB of 200.0 MB, 1.0 MB/s, 0:02:50 left"
    with progress(None, "counting") as bar:
        now[0] += 31
        bar.advance(62_000_000)
    assert capsys.readouterr().err == "subwords: counting: 62.0 MB, 2.0 MB/s\n"
    with progress(None, "indexing", unit="tokens") as bar:
        bar.phase("indexing", 0, 1)
        bar.phase("merging", 0, 64_000)
        now[0] += 40
        bar.phase("merging", 4_000, 64_000)
    assert capsys.readouterr().err == "subwords: merging: 4,000 tokens of 64,000 tokens, 100 tokens/s, 0:10:00 left\n"
    with progress(9, "reading", enabled=False) as bar:
        now[0] += 100
        bar.advance(3)
    with (
        progress(9, "reading") as bar,
        monkeypatch.context() as patch,
    ):  # a short run says nothing, nor one without stderr
        bar.advance(3)
        patch.setattr(sys, "stderr", None)
        now[0] += 100
        bar.advance(3)
    assert capsys.readouterr().err == ""
