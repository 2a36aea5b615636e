"""transformers with sanitize_control_tokens=True."""

from __future__ import annotations

from benchmarks.engines.protocol import serve
from benchmarks.engines.transformers import Transformers


class TransformersSanitized(Transformers):
    """The option of 5.20 and later: control tokens that a message spells whole are encoded as text."""

    sanitized = True


if __name__ == "__main__":
    serve("transformers", TransformersSanitized)
