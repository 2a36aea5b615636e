"""What a fork waits for, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a POSIX thing")

SLOW = """
import logging, time
from subwords.kernels.forks import BEFORE
time.sleep(0.3)
logging.getLogger("slow")
BEFORE.append(lambda: print("before"))
time.sleep(0.3)
"""
MAIN = """
import os, sys, threading, time
import subwords
import logging  # whose lock this thread takes before the fork waits
interval = sys.getswitchinterval()
threading.Thread(target=lambda: __import__("slow"), daemon=True).start()
time.sleep(0.1)
sys.stdout.reconfigure(line_buffering=True)
child = os.fork()
assert sys.getswitchinterval() == interval
if not child:
    import slow
    print("child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent")
"""


def test_a_fork_waits_for_an_import_and_calls_what_that_import_asks_for(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    path = os.pathsep.join([str(tmp_path), str(Path(subwords.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", MAIN], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stderr, done.stdout.split("\n")) == ("", ["before", "child", "parent", ""])
