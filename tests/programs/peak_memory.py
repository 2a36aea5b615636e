"""Run a command of the command line in small batches, and print the most memory that the process took, in KB."""

import resource
import sys

from subwords.cli import encoding as ids
from subwords.cli import main

ids._BATCH = 1 << 18
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
