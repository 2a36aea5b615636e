"""Tokens in a terminal, each on a colored background."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from subwords.render.visible import shortened

__all__ = ["colored", "uses_color"]

# Of the 256 colors of terminals: light backgrounds, on which black has a contrast of at least 8:1.
BACKGROUNDS = (153, 194, 223, 225, 229, 159)
MOST_CHARACTERS = 200  # of one token


def uses_color(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to write colors to a stream: a terminal, unless NO_COLOR is set; FORCE_COLOR writes them anywhere.

    >>> import io
    >>> uses_color(io.StringIO(), {}), uses_color(io.StringIO(), {"FORCE_COLOR": "1"})
    (False, True)
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def colored(tokens: Iterable[str], *, color: bool) -> str:
    r"""Return tokens side by side, each with a background color; without `color`, separated by spaces on one line.

    Whitespace is visible, and control characters are escaped: a token cannot move the cursor or turn the direction of
    text. With colors, a new line begins after a token that ends in a line feed.

    >>> colored(["a", " b", "\x1b[2J"], color=False)
    'a ␣b \\x1b[2J'
    >>> colored(["a"], color=True)
    '\x1b[38;5;16;48;5;153ma\x1b[0m'
    """
    shown = [(token.endswith("\n"), shortened(token, MOST_CHARACTERS)) for token in tokens]
    if not color:
        return " ".join(text for _, text in shown)
    painted = (
        f"\x1b[38;5;16;48;5;{BACKGROUNDS[place % len(BACKGROUNDS)]}m{text}\x1b[0m{chr(10) if ends else ''}"
        for place, (ends, text) in enumerate(shown)
    )
    return "".join(painted).removesuffix("\n")
