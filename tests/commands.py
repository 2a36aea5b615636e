"""Running the command line inside the test."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click
from click.testing import CliRunner, Result

from subwords.cli import main

TEXT = "it's a low, lower, lowest price <s> 中文 😀\n\n" * 9


# Click 8.1 keeps standard error apart only if it is told to; later versions always do.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: object, stdin: bytes = b"", code: int = 0) -> Result:
    result = CliRunner(**APART).invoke(main, [*map(str, arguments)], input=stdin, prog_name="subwords")
    assert result.exit_code == code, (result.output, result.exception)
    if code == 1:
        assert result.stderr.startswith("subwords: error: ")
        assert result.stderr.count("\n") == 1
        assert result.stderr.endswith("\n")
        assert result.stdout == ""
    return result


def all_commands() -> dict[str, click.Command]:
    """All commands by their names, those of groups after the group's name."""
    found: dict[str, click.Command] = {}
    for name, command in main.commands.items():
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": one for inner, one in command.commands.items()}
        else:
            found[name] = command
    return found


def json_of(*arguments: object, stdin: bytes = b"") -> dict[str, Any]:
    out = run(*arguments, "--json", stdin=stdin).stdout
    assert out.count("\n") == 1
    found = json.loads(out)
    assert isinstance(found, dict)
    return found
