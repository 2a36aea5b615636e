"""Write half a file, then be killed or, with `wait` as the second argument, wait for the end of the input."""

import os
import signal
import sys

from subwords.support.files import atomic_write

with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    if len(sys.argv) == 3:
        print("ready", flush=True)
        sys.stdin.read()
    else:
        os.kill(os.getpid(), signal.SIGKILL)
