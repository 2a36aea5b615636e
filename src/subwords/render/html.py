"""Tokens and facts as HTML: every content escaped, styles inline, no script; readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from subwords.render.visible import shortened

__all__ = ["Chip", "chips", "facts"]

# With black text, the contrast is at least 14:1; the page's own colors do not matter.
BACKGROUNDS = ("#cfe8ff", "#d9f2d0", "#ffe3c2", "#f3d6f5", "#fff3b0")
SPECIAL = "#dddddd"
MOST_CHARACTERS = 200  # of one token


@dataclass(frozen=True, slots=True)
class Chip:
    """One token: its text, what is shown when the pointer rests on it, and whether it is special."""

    text: str
    title: str = ""
    special: bool = False


def chips(tokens: Iterable[Chip], *, left_out: int = 0) -> str:
    """Return tokens side by side, each with a background color; `left_out` more are counted at the end.

    >>> chips([Chip("<b>", "id 7")]).partition(" title=")[2]
    '"id 7">&lt;b&gt;</span></div>'
    """
    marks = [_chip(token, place) for place, token in enumerate(tokens)]
    if left_out:
        marks.append(f"<span>and {left_out} more</span>")
    return f'<div style="font-family:monospace;line-height:1.8">{" ".join(marks)}</div>'


def _chip(token: Chip, place: int) -> str:
    color = SPECIAL if token.special else BACKGROUNDS[place % len(BACKGROUNDS)]
    # Isolated: a right-to-left token does not reorder its neighbours.
    style = f"background:{color};color:#000;padding:1px 2px;border-radius:3px;unicode-bidi:isolate"
    title = f' title="{escape(token.title)}"' if token.title else ""
    return f'<span style="{style}"{title}>{escape(shortened(token.text, MOST_CHARACTERS))}</span>'


def facts(rows: Sequence[tuple[str, str]], *, caption: str) -> str:
    """Return names and values as a table; a value is HTML, a name and the caption are text.

    >>> facts([("model", "bpe")], caption="Tokenizer").count("<td")
    1
    """
    cell = "text-align:left;vertical-align:top;padding:2px 8px"
    body = "".join(
        f'<tr><th scope="row" style="{cell}">{escape(name)}</th><td style="{cell}">{value}</td></tr>'
        for name, value in rows
    )
    caption_style = "text-align:left;font-weight:bold;padding:2px 8px"
    return f'<table><caption style="{caption_style}">{escape(caption)}</caption><tbody>{body}</tbody></table>'
