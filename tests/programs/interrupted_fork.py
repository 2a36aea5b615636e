"""A fork waits for a kernel; meanwhile comes an interrupt, which Python would lose: it runs `before` as a callback."""

from __future__ import annotations

import os
import signal
import threading
import time

from forking import check_child, kernels
from subwords.kernels import guard

started = threading.Event()


def slow():
    started.set()
    time.sleep(0.5)


guard.hold_forks()
threading.Thread(target=guard.undisturbed, args=(slow,)).start()
started.wait()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    check_child(lambda: kernels(1)[0].without_gil())
    time.sleep(60)
    raise AssertionError("the interrupt is lost")
except KeyboardInterrupt:
    pass
check_child(lambda: kernels(1)[0].without_gil())
