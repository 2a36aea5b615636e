"""An interrupt at any moment of compiling reaches the caller when the kernel is ready."""

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
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        kernel.without_gil()
        time.sleep(60)
        raise AssertionError("the interrupt is lost")
    except KeyboardInterrupt:
        pass
    sender.join()
    assert kernel(3, 4) == 7 + k
