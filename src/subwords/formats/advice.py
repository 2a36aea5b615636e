"""What to do about the parts of a tokenizer that a file does not hold."""

from __future__ import annotations

from subwords.components.identity import to_text
from subwords.components.splitter import NAMED
from subwords.formats import Target
from subwords.spec import TokenizerSpec

__all__ = ["advice"]

_MOST = 5  # special tokens that are shown
_FOLDER = {"chat_template", "additional_chat_templates", "roles"}  # what only a folder holds


def advice(spec: TokenizerSpec, target: Target, lost: tuple[str, ...]) -> str:
    """Return a warning that names what a file lacks, and says how to keep it."""
    names = [name.replace("_", " ") for name in lost]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    said = f"{target.path.name} does not hold {listed}: "
    options = [text for name, text in _options(spec).items() if name in lost]
    if options:
        said += f"load it with {', '.join(options)}; "
    other = "a folder" if _FOLDER & {*lost} else "a .json file"
    return f"{said}save to {other} to keep everything"


def _options(spec: TokenizerSpec) -> dict[str, str]:
    name = next((name for name, rule in NAMED.items() if rule == spec.splitter), None) or to_text(spec.splitter)
    special = {token.content: token.id for token in spec.added_tokens}
    shown = ", ".join(f"{text!r}: {index}" for text, index in [*special.items()][:_MOST])
    more = ", ..." if len(special) > _MOST else ""
    return {"splitter": f"splitter={name!r:.300}", "special_tokens": f"special_tokens={{{shown}{more}}}"}
