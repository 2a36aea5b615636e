"""subwords' encoder under the trick of serving engines: drop the last ids, encode from there, check."""

from __future__ import annotations

from typing import Any

from benchmarks.engines.growing import Again, BackOff
from benchmarks.engines.protocol import serve
from benchmarks.engines.subwords import Subwords


class BackingOff(Subwords):
    """It needs to know where ids start, so it encodes with spans."""

    shares_versions = False

    def grower(self, tokenizer: Any) -> Again:
        return BackOff(tokenizer.encode_to_numpy, lambda text: spans_of(tokenizer, text))


def spans_of(tokenizer: Any, text: str) -> tuple[Any, Any]:
    """Return the ids of a text, and where each starts, as arrays."""
    import numpy as np

    encoding = tokenizer(text, template=False, truncation=False, padding=False)
    return np.asarray(encoding.ids, np.uint32), encoding.spans[:, 0]


if __name__ == "__main__":
    serve("subwords", BackingOff)
