"""What to do about the parts of a tokenizer that a file does not hold."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from subwords.components.identity import to_text
from subwords.components.splitter import NAMED
from subwords.formats import Target
from subwords.spec import TokenizerSpec

__all__ = ["advice"]

_MOST = 5  # special tokens that are shown
_FOLDER = {"chat_template", "additional_chat_templates", "roles"}  # what only a folder holds


def advice(spec: TokenizerSpec, target: Target, lost: tuple[str, ...]) -> str:
    """Return a warning that names what a file lacks, and says how to keep it."""
    names = [name.replace("_", " ") for name in lost]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    said = f"{target.path.name} does not hold {listed}: "
    options = {name: (python, command) for name, python, command in _options(spec) if name in lost}
    if options:
        calls, commands = zip(*options.values(), strict=True)
        said += (
            f"load it with {', '.join(calls)}, or once "
            f'"subwords convert {shlex.quote(target.path.name)} tokenizer.json {" ".join(commands)}"; '
        )
    other = "a folder" if _FOLDER & {*lost} else "a .json file"
    return f"{said}save to {other} to keep everything"


def _options(spec: TokenizerSpec) -> Iterator[tuple[str, str, str]]:
    """Yield parts, and how Python and the command line give each."""
    name = next((name for name, rule in NAMED.items() if rule == spec.splitter), None) or to_text(spec.splitter)
    yield "splitter", f"splitter={name!r:.300}", f"--splitter {shlex.quote(name):.300}"
    special = {token.content: token.id for token in spec.added_tokens}
    more = ", ..." if len(special) > _MOST else ""
    first = dict([*special.items()][:_MOST])
    shown = ", ".join(f"{text!r}: {index}" for text, index in first.items())
    given = json.dumps(first, ensure_ascii=False).removesuffix("}") + more + "}"
    yield "special_ids", f"special_ids={{{shown}{more}}}", f"--special-ids {shlex.quote(given)}"
