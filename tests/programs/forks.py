"""A thread compiles kernels; this one forks; the child wants the first kernel and the last one."""

from __future__ import annotations

import random
import sys
import threading
import time

from forking import check_child, kernels

every = kernels(int(sys.argv[1]))
kernels(1)[0].without_gil()  # the compiler is there from here on


def compile_all():
    for kernel in every:
        kernel.without_gil()


def child():
    assert every[0](3, 4) == 7
    assert every[-1](3, 4) == 6 + len(every)


thread = threading.Thread(target=compile_all)
thread.start()
forks = 0
while thread.is_alive():
    check_child(child)
    forks += 1
    time.sleep(random.uniform(0, 0.02))
compile_all()
assert forks
print(forks)
