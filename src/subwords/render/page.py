"""Tokens and pages in the style of the local page, whose style sheet they need to be colored; no script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from subwords.render.visible import shortened

__all__ = ["chip", "chips", "page", "panel"]

COLORS = 8  # of the style sheet, c0 to c7
HASHED = 64  # UTF-16 code units of a token that decide its color
MOST_CHARACTERS = 200  # of one token
_MARK = re.compile(r"\A(?: |\u2581|##)(?=.)", re.DOTALL)


def chip(token: str, more: str = "") -> str:
    """Return a token on the background that it has on the local page. more: other classes.

    >>> chip(" the")
    '<span class="chip c4">␣the</span>'
    """
    units = _MARK.sub("", token).encode("utf-16-le", "surrogatepass")[: 2 * HASHED]
    found = 7
    for place in range(0, len(units), 2):
        found = (found * 31 + int.from_bytes(units[place : place + 2], "little")) % 2**32
    classes = f"chip c{(found ^ found >> 7) % COLORS} {more}".strip()
    return f'<span class="{classes}">{escape(shortened(token, MOST_CHARACTERS))}</span>'


def chips(tokens: Iterable[str]) -> str:
    """Return tokens side by side."""
    return " ".join(map(chip, tokens))


def panel(title: str, body: str) -> str:
    """Return a part of a page under a heading; both are HTML."""
    return f'<section class="panel"><h2>{title}</h2>{body}</section>'


def page(title: str, body: str, style: str) -> str:
    """Return a whole page of HTML. title: text. body: HTML. style: a style sheet."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><style>{style}</style></head><body class="written">'
        f"<header><h1>{escape(title)}</h1></header><main>{body}</main></body></html>\n"
    )
