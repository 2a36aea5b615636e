from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from kernel_cache import compile_kernels, is_large
from selection import Selection
from subwords.kernels.jit import MODE

# No deadline: a first example compiles kernels, and a busy machine is no failure. --hypothesis-profile=sweep: more.
settings.register_profile("default", deadline=None, max_examples=100, print_blob=True)
settings.register_profile("checked", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("sweep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile("checked" if MODE == "checked" else "default")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of development data: real tokenizer files, corpora, adversarial texts."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the development data in ../shared/data, which is not part of this repository")
    return SHARED_DATA


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Selection(config), "selection")
    # Cases take from a millisecond to half a minute: few at a time keep all workers busy to the end.
    if getattr(config.option, "maxschedchunk", 0) is None:
        config.option.maxschedchunk = 4


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if MODE == "compiled" and not hasattr(config, "workerinput") and is_large(config):
        seconds = compile_kernels()
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter and seconds > 5:
            reporter.write_line(f"kernels compiled in {seconds:.0f} s")
