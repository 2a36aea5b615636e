"""What the programs that compile kernels of their own, fork or are interrupted have in common."""

from __future__ import annotations

import os
import signal
import time

from subwords.kernels.entry import Kernel
from subwords.kernels.modes import MODE

assert MODE == "compiled"


def kernels(count):
    """Kernels that compile in a fraction of a second."""
    found = []
    for k in range(count):
        scope = {"__name__": "tiny"}
        exec(f"def plus{k}(x, y):\n    return x + y + {k}", scope)
        function = scope[f"plus{k}"]
        function.__annotations__ = {"x": "Int", "y": "Int"}
        found.append(Kernel(f"plus{k}", function))
    return found


def check_child(run, patience=60):
    """Fork; the child runs `run`; it must end."""
    pid = os.fork()
    if not pid:
        try:
            run()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the child hangs")
