"""Build the wheel, with the machine code of all kernels for all targets, into a folder: `dist`, or the one given.

    python -m pip install ".[jit]" --group wheels
    python -m tools.build_wheels [FOLDER] [--code FOLDER]

Two builds of the same sources with the same versions are equal, byte for byte. `--code` takes machine code that
`python -m tools.machine_code` wrote, and compiles none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.build_wheels")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("dist"))
    parser.add_argument("--code", type=Path, help="a folder that tools.machine_code wrote")
    options = parser.parse_args()
    needed = ("hatchling",) if options.code else ("hatchling", "numba", "regex", "ziglang")
    if missing := [name for name in needed if find_spec(name) is None]:
        sys.exit(f'{", ".join(missing)} missing: python -m pip install ".[jit]" --group wheels')
    code = str(options.code.resolve()) if options.code else "build"
    environment = {**os.environ, "SUBWORDS_MACHINE_CODE": code}
    environment.setdefault("SOURCE_DATE_EPOCH", "1577836800")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(options.folder)]
    sys.exit(subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
