"""The line on standard error while kernels are compiled."""

from __future__ import annotations

import io
import sys

import pytest
from test_progress import shown_on_a_terminal

from inside import Notices, progress

LINE = "subwords: compiling kernels for this processor, once: about 10 s ..."


def test_terminal_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = Notices()

    def run() -> None:
        notices.compile()
        notices.compile()

    assert shown_on_a_terminal(run, monkeypatch).splitlines() == [LINE]
    assert notices.compiling


def test_line_goes_above_a_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(10, "reading") as bar:
            bar.advance(5)
            Notices().compile()
            bar.advance(5)

    lines = [line.strip() for line in shown_on_a_terminal(run, monkeypatch).replace("\r", "\n").splitlines()]
    assert lines.count(LINE) == 1
    assert "10/10 bytes" in [line for line in lines if line][-1]


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise ValueError("I/O operation on closed file")


def test_the_line_is_written_to_files_and_notebooks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    notices = Notices()
    notices.compile()
    notices.compile()
    assert stream.getvalue() == f"{LINE}\n"


@pytest.mark.parametrize("stream", [None, Closed()], ids=["none", "closed"])
def test_a_missing_stream_is_no_error(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    Notices().compile()


def test_nothing_is_said_beside_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = Notices()
    notices.shown = True
    assert shown_on_a_terminal(notices.compile, monkeypatch) == ""
