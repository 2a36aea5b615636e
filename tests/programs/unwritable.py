"""The warning about a cache that cannot be written is expected."""

from __future__ import annotations

import warnings

warnings.filterwarnings("ignore", "kernel cache cannot be written")
