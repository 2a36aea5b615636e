from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of development data: real tokenizer files, corpora, adversarial texts."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the development data in ../shared/data, which is not part of this repository")
    return SHARED_DATA
