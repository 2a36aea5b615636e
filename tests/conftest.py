from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a first example compiles kernels, and a busy machine is no failure. --hypothesis-profile=sweep: more.
settings.register_profile("default", deadline=None, max_examples=150, print_blob=True)
settings.register_profile("sweep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile("default")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of development data: real tokenizer files, corpora, adversarial texts."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the development data in ../shared/data, which is not part of this repository")
    return SHARED_DATA


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the larger sweeps out unless the marker expression (-m) speaks of them."""
    if "sweep" not in config.getoption("markexpr"):
        for item in items:
            if "sweep" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="a larger sweep: run with -m sweep"))
