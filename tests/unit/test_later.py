"""Tables are written after the first answer, by the end at the latest; who kills the process loses only them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import subwords
from inside import kernels_entry as entry

pytestmark = pytest.mark.skipif(not entry.available(), reason="kept files are for the fast path")

# Kernels come from where they are, and tables go to another folder.
APART = """
import json, os, sys
from pathlib import Path
import subwords, subwords.kernels.machine_code
from subwords.kernels import stored
stored.cache_root = lambda: sys.argv[1]
"""
FIRST = f"""{APART}
def kept():
    return len([*Path(sys.argv[1]).glob("tables/kept-*")])

tok = subwords.load("demo")
ids = tok.encode("Rays of Light")
print(kept())
"""
ENDS = {
    "as usual": ("", 1),
    "by an error": ("raise SystemExit(0)", 1),
    "at once": ("os._exit(0)", 0),
    "after a pause": ("stored.later._thread.join(); os._exit(0)", 1),
    "after a fork": (
        "import threading\npid = os.fork()\nassert threading.active_count() == 1 and kept() == 1\n"
        "assert tok.encode('Rays of Light') == ids\nos._exit(os.waitpid(pid, 0)[1] if pid else 0)",
        1,
    ),
    "after a write that fails": ("stored.later(lambda root: 1 / 0)", 1),
}


def run(program: str, cache: Path, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(cache), *args],
        env={**os.environ, "SUBWORDS_TABLES": "on"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The kernels that write a table: a process that ends compiles none."""
    run(FIRST + ENDS["after a pause"][0], tmp_path_factory.mktemp("first"))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.usefixtures("compiled")
def test_the_first_answer_does_not_wait(tmp_path: Path, end: str) -> None:
    if "fork" in end and not hasattr(os, "fork"):
        pytest.skip("this system has no forks")
    program, expected = ENDS[end]
    cache = tmp_path / "cache"
    # Flushed: os._exit would lose it.
    assert run(FIRST.replace("print(kept())", "print(kept(), flush=True)") + program, cache).split() == ["0"]
    assert len([*cache.glob("tables/kept-*")]) == expected


SHARED = f"""{APART}
import subwords.engine.kept, subwords.formats.read, atexit, grp, pwd, threading
from subwords.kernels import entry
subwords.warmup(), entry.api(), stored.table_name("spec", b"")  # another user may not be able to read them
os.setgroups([]), os.setgid(5002), os.setuid(5002)
tok = subwords.load(sys.argv[2])
print("_kept" in vars(tok), *tok.encode("Rays of Light"))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be two users")
def test_all_users_read_a_cache_that_root_made_ahead() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        cache, path = folder / "cache", folder / "tokenizer.json"
        run(f"{APART}\nsubwords.load('demo').save(sys.argv[2])\nsubwords.warmup(sys.argv[2])", cache, str(path))
        path.chmod(0o644)
        before = sorted(cache.glob("tables/*"))
        assert len([each for each in before if each.name.startswith("kept-")]) == 1
        subprocess.run(["chmod", "-R", "go+rX", str(cache)], check=True)
        found, *ids = run(SHARED, cache, str(path)).split()
        assert found == "True" and [*map(int, ids)] == subwords.load("demo").encode("Rays of Light")
        assert sorted(cache.glob("tables/*")) == before
    finally:
        shutil.rmtree(folder)
