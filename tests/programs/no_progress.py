"""Fail if a progress line that is not shown imports rich."""

import sys

from subwords.corpus.progress import progress

with progress(10, "reading") as bar:
    bar.advance(10)
raise SystemExit("rich" in sys.modules)
