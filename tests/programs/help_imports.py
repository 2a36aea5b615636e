"""Run the command line, and print which of some modules it imported: `help_imports.py MODULES ARGUMENTS...`."""

import sys

from subwords.cli import main

heavy, *arguments = sys.argv[1:]
try:
    main(arguments)
except SystemExit as end:
    assert not end.code
print(*({*heavy.split(",")} & {*sys.modules}), file=sys.stderr)
