"""Fixtures and hooks of all tests: the selection, the markers, the development data."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import subwords
from inside import MODE
from kernel_cache import compile_kernels, is_large
from seeds import SEED, seed_of_run
from selection import Selection
from subwords.machine import web_module

# Tables on disk would hide what makes them, and random patterns would fill the store: `test_stored.py` uses one.
os.environ["SUBWORDS_TABLES"] = "off"
# tiktoken keeps no copy of a test's files: a later test, of another run too, would find them.
os.environ["TIKTOKEN_CACHE_DIR"] = ""

# Files of tests are UTF-8 and have the line ends that the tests write; Windows has others of its own.
_WRITE, _READ = Path.write_text, Path.read_text
Path.write_text = lambda path, data, encoding="utf-8", errors=None, newline="\n": _WRITE(  # type: ignore[method-assign]
    path, data, encoding, errors, newline
)
Path.read_text = lambda path, encoding="utf-8", errors=None: _READ(path, encoding, errors)  # type: ignore[method-assign]

# No deadline: a first example compiles kernels, and a busy machine is no failure. The seed of a change draws the same
# examples each time; with another SUBWORDS_SEED they are random. --hypothesis-profile=sweep: more.
same = seed_of_run() == SEED
settings.register_profile("default", deadline=None, max_examples=25, print_blob=True, derandomize=same)
settings.register_profile("checked", deadline=None, max_examples=8, print_blob=True, derandomize=same)
settings.register_profile("sweep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile("checked" if MODE == "checked" else "default")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of development data: real tokenizer files, corpora, adversarial texts."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the development data in ../shared/data, which is not part of this repository")
    return SHARED_DATA


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out as `shared_data`: texts of our own, and by `small_data.file_of` files that the peers train."""
    from small_data import made_in

    return made_in(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session", params=["small", "shared"])
def data(request: pytest.FixtureRequest) -> Path:
    """`small_data`, then `shared_data`: the same test by what every clone has and by real files."""
    folder: Path = request.getfixturevalue(f"{request.param}_data")
    return folder


@pytest.fixture(scope="session")
def wasm() -> None:
    """The WebAssembly module of the kernels, or else the test is skipped: a wheel has it, and compilers make it."""
    try:
        web_module()
    except subwords.SubwordsError as error:
        if not str(error).startswith("this installation has no WebAssembly module"):
            raise
        pytest.skip(str(error))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Selection(config), "selection")
    if os.environ.get("SUBWORDS_MARKERS") == "1":
        from markers import live_markers

        memory = live_markers()
        config.pluginmanager.register(memory.__enter__(), "markers")
        config.add_cleanup(lambda: memory.__exit__(None, None, None))
    if os.environ.get("SUBWORDS_GUARDS"):
        from guards import guarded_memory

        guarded = guarded_memory(before=os.environ["SUBWORDS_GUARDS"] == "before")
        guarded.__enter__()
        config.add_cleanup(lambda: guarded.__exit__(None, None, None))
    # A shell starts what runs in the background with Ctrl-C ignored, and so would be the programs that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker neighbouring cases, which share fixtures; who is done takes over from the others."""
    if config.option.dist != "load":  # the default of -n
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_finish() -> None:
    gc.freeze()  # the tests themselves live to the end: no need to look at them each time


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if MODE == "compiled" and not hasattr(config, "workerinput") and is_large(config):
        seconds = compile_kernels()
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter and seconds > 5:
            reporter.write_line(f"kernels compiled in {seconds:.0f} s")
