"""The warning about a cache that cannot be used is expected."""

from __future__ import annotations

import warnings

warnings.filterwarnings("ignore", "kernel cache cannot be used")
