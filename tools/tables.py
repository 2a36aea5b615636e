"""Make the file of tables that a wheel has: those of the rules and characters that have names.

Usage: `python -m tools.tables FILE`. `tools/machine_code.py` puts it beside the machine code. Two runs write the same
bytes. In a clone, and for other rules, a table is made when it is first needed, and kept in the cache.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from subwords.kernels import stored as store
from subwords.normalize import characters
from subwords.normalize.normalizer import stages_of
from subwords.spec.normalizer import NAMED as NORMALIZERS
from subwords.spec.splitter import NAMED, SPACE, Rule, Split, space_rule
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import SplitterEngine

PACKAGE = Path(store.KERNELS).parent
KINDS = ["characters", "machine", "route", "scanner"]


def main() -> None:
    """Write the file."""
    Path(sys.argv[1]).write_bytes(content())


def content() -> bytes:
    """Return the content of the file."""
    tables = made()
    packed = {name: zlib.compress(tables[name], 9) for name in sorted(tables)}
    places, at = {}, 0
    for name, data in packed.items():
        places[name] = [at, at + len(data)]
        at += len(data)
    head = {"sources": store.digest_folder(str(PACKAGE)), "tables": places}
    return json.dumps(head).encode() + b"\n" + b"".join(packed.values())


def made() -> dict[str, bytes]:
    """Return what is made while all named rules and characters are used, by name."""
    found: dict[str, bytes] = {}

    def write(name: str, table: bytearray, _root: str | None) -> None:
        if name.partition("-")[0] in KINDS:
            found[name] = bytes(table)

    given = {"table_name": store._file_name, "_read_table": _nothing, "_shipped_table": _nothing, "write_table": write}
    with ExitStack() as stack:
        for name, value in {**given, "later": lambda write: write(None)}.items():
            stack.enter_context(patch.object(store, name, value))
        stack.enter_context(patch.dict(os.environ, {store.SWITCH: "on"}))
        for rule in rules():
            engine = SplitterEngine(rule)
            engine.fast_path(SplitBuffers())
            engine.machine  # noqa: B018  # asks for its table
        for name in ("NFD", "NFKD"):
            characters.decompositions(name)
        characters.compositions()
        characters.lowercase()
        for name in ("bert-uncased", "bert-cased"):
            stages_of(NORMALIZERS[name], fused=True)
    return found


def _nothing(_name: str) -> None:
    return None


def rules() -> list[Rule]:
    """Return the rules with names, and those for text with U+2581, which the vocabulary decides, also with spaces."""
    tokens = {"": [SPACE, "a"], "+": [SPACE * 2, "a"]}
    found = [
        space_rule([token.encode() for token in [*given, *after]], lines=lines)
        for given in tokens.values()
        for after in ([f"{SPACE}a"], [f"a{SPACE}"])
        for lines in (False, True)
    ]
    spaced = [
        (replace(step, pattern=step.pattern.replace(SPACE, " ")),) for (step,) in found if isinstance(step, Split)
    ]
    return [*NAMED.values(), (), *found, *spaced]


if __name__ == "__main__":
    main()
