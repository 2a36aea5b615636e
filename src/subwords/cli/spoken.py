"""Messages in the words of the command line: the arguments that they name become the options of the command.

A message names an argument in one of four ways: `name=value`, a name with an underscore, "expected NAME to ..." (as
`support.checks` does), or a name in backticks. Text in quotes is a value of the user and stays unchanged.
"""

from __future__ import annotations

import ast
import re
import shlex

import click

__all__ = ["as_options"]

_MENTION = re.compile(
    r"""(?<![\w./\\-])(?P<set>[a-z]\w*)=(?P<value>"[^"]*"|'[^']*'|\[[^\]]*\]|[\w.+-]*\w)"""
    r"""|(?P<quoted>(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*")"""
    r"""|`(?P<marked>[a-z]\w*)`"""
    r"""|(?<=\bexpected\ )(?P<checked>[a-z]\w*)(?=\ to\b)"""
    r"""|(?<![\w./\\-])(?P<joined>[a-z]+(?:_[a-z]+)+)(?![\w/\\(=]|\.\w)"""
)
# How to load a file in Python, where a command that does it once follows.
_IN_PYTHON = re.compile(r"(?:load it with |load\(\.\.\., ).*?, or once (?=\"subwords )")


def as_options(message: str, command: click.Command) -> str:
    """Return a message of the library with the options of a command instead of the names of arguments.

    >>> @click.command()
    ... @click.option("--text-column")
    ... @click.option("--errors")
    ... def count() -> None: ...
    >>> as_options('text_column names another; errors="skip" leaves it out', count)
    '--text-column names another; --errors skip leaves it out'
    """
    parameters = {str(parameter.name): parameter for parameter in command.params}

    def spoken(match: re.Match[str]) -> str:
        name = match["set"] or match["marked"] or match["checked"] or match["joined"]
        parameter = parameters.get(name) if name else None
        if parameter is None:
            return match[0]
        return _setting(parameter, match["value"]) if match["set"] else _name(parameter)

    return _MENTION.sub(spoken, _IN_PYTHON.sub("run ", message))


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return parameter.human_readable_name.strip("[].")
    return max(parameter.opts, key=len)


def _setting(parameter: click.Parameter, text: str) -> str:
    """Return how an option gets a value of Python."""
    name = _name(parameter)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if isinstance(value, bool) or value is None:
        return name if bool(value) == getattr(parameter, "flag_value", True) else f"no {name}"
    values = value if isinstance(value, list) else [value]
    return " ".join(f"{name} {shlex.quote(str(one))}" for one in values)
