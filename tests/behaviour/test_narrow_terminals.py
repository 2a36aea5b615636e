"""What the command line shows at narrow terminals: help of every command, and tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from subwords.cli import main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def help_of(path: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    context: click.Context | None = None
    command: click.Command = main
    for name in path:
        context = command.context_class(command, info_name="subwords", parent=context)
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return command.get_help(command.context_class(command, info_name=" ".join(path), parent=context))


@pytest.mark.parametrize("path", [*commands(main)], ids=" ".join)
def test_help_fits(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    usual = help_of(path, 80, monkeypatch)
    for columns in (40, 55):
        shown = help_of(path, columns, monkeypatch)
        if "COMMAND" not in usual:  # a list of commands cuts their texts
            assert sorted(re.sub(r"-\s+", "-", shown).split()) == sorted(re.sub(r"-\s+", "-", usual).split())
        for line in shown.splitlines():
            # A word may be longer than a line, and examples are shown as they are.
            assert len(line) <= columns or "subwords" in line or len(line.split()) <= 3, line
        texts = [line for line in shown.splitlines() if line.startswith("      ") and len(line.split()) > 1]
        assert all(len(line) - len(line.lstrip()) <= 12 for line in texts)


def test_first_sentence_of_encode_names_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Turn a text into a line of ids; with --lines, each line of it." in help_of(("encode",), 80, monkeypatch)


def test_tables_do_not_cut_numbers(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    source = tmp_path / "a.txt"
    source.write_text("Rays of light are refracted by a prism.\nThe rays of light.\n" * 20)
    arguments = ["study", "compare", "one=demo", "another=demo", "--source", str(source), "--documents", "line", "-q"]
    shown = {}
    for columns in (60, 200):
        master, slave = pty.openpty()
        environment = os.environ | {"COLUMNS": str(columns), "LINES": "50", "TERM": "dumb"}
        with subprocess.Popen([sys.executable, "-m", "subwords", *arguments], stdout=slave, env=environment) as process:
            os.close(slave)
            data = bytearray()
            try:
                while part := os.read(master, 4096):
                    data += part
            except OSError:  # Linux: the other end was closed
                pass
        os.close(master)
        assert process.returncode == 0
        shown[columns] = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode()).replace("\r", "")
    numbers = {columns: sorted(re.findall(r"\[?\d[\d.,]*\]?", text)) for columns, text in shown.items()}
    assert numbers[60] == numbers[200]
    assert max(map(len, shown[60].splitlines())) <= 60 < max(map(len, shown[200].splitlines()))
