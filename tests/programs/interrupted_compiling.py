"""An interrupt at any moment of compiling reaches the caller at once; the kernel is there afterwards."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time

from forking import kernels

every = kernels(int(sys.argv[1]))
for k, kernel in enumerate(every):

    def send():
        time.sleep(random.uniform(0.02, 0.2))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sent = []
    sender = threading.Thread(target=send)
    try:
        sender.start()
        kernel.without_gil()
        time.sleep(60)
        raise AssertionError("the interrupt is lost")
    except KeyboardInterrupt:
        assert time.monotonic() - sent[0] < 3, "the interrupt waits for the compiler"
    sender.join()
    assert kernel(3, 4) == 7 + k
