"""`python -m subwords`: the command line."""

from __future__ import annotations

from subwords.cli import main

if __name__ == "__main__":
    main(prog_name="subwords")
