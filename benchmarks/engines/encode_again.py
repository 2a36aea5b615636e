"""subwords, which encodes all of a text that grows each time: what growing texts are compared with first."""

from __future__ import annotations

from typing import Any

from benchmarks.engines.growing import Again
from benchmarks.engines.protocol import serve
from benchmarks.engines.subwords import Subwords


class EncodeAgain(Subwords):
    """To arrays, as versions have them."""

    shares_versions = False

    def grower(self, tokenizer: Any) -> Again:
        return Again(tokenizer.encode_to_numpy)


if __name__ == "__main__":
    serve("subwords", EncodeAgain)
