"""Forks at many moments while a thread imports, loads or compiles; every child trains and ends."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time

import subwords

WORK = {
    "warmup": lambda: subwords.warmup(progress=False),
    "train": lambda: subwords.train(["hug hugs"] * 9, vocab_size=258, progress=False),
}

delay = float(sys.argv[-1])
threading.Thread(target=WORK[sys.argv[-2]], daemon=True).start()
time.sleep(delay)
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(120, exit=True)
    subwords.train(["hug hugs"] * 9, vocab_size=258, progress=False)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
os._exit(0)
