"""Show the help of commands, and print which of some modules that imported: `help_imports.py MODULES COMMANDS...`."""

import sys

from subwords.cli import main

heavy, *commands = sys.argv[1:]
for command in commands:
    try:
        main([*command.split(), "--help"])
    except SystemExit as end:
        assert not end.code
print(*({*heavy.split(",")} & {*sys.modules}), file=sys.stderr)
