"""Text with every character visible: spaces, control characters, bidi controls and bytes that are not characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

SPACE = "\u2423"  # the open box
CIRCLE = "\u25cc"  # carries a mark that has no character before it
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", " ": SPACE}
CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def visible(text: str) -> str:
    r"""Return a text on one line: a space becomes U+2423, other characters that are not printable are escaped.

    Bytes that are not part of a character are lone surrogates, as the error handler "surrogateescape" makes them.

    >>> print(visible(" caf\xe9\n"), visible("\udcc3"), visible("a\u202eb"))
    ␣café\n \xc3 a\u202eb
    """
    return "".join(map(escape_character, text))


def printable(text: str) -> str:
    r"""Return a text on one line: spaces and backslashes stay, only what is not printable is escaped.

    >>> print(printable("\\s+ or \x1b"))
    \s+ or \x1b
    """
    return "".join(character if character.isprintable() else escape_character(character) for character in text)


def token_text(token: bytes) -> str:
    r"""Return a token as text; bytes that are not a character as \xc3.

    >>> print(token_text(b"caf\xc3"))
    caf\xc3
    """
    return token.decode("utf-8", "backslashreplace")


def text_or_none(token: bytes) -> str | None:
    """Return a token as text; None if it is not whole characters."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def quote(token: bytes) -> str:
    """Return a token for messages: as Python writes a str, or bytes if it is not text."""
    text = text_or_none(token)
    return repr(token if text is None else text)


def as_written(text: str) -> str:
    r"""Return a text of `token_text` in quotes, as Python writes a str; an escaped byte is not escaped again.

    >>> print(as_written("caf\\xc3\n"))
    'caf\xc3\n'
    """
    return re.sub(r"\\\\x(?=[0-9a-f]{2})", r"\\x", repr(text))


def escape_character(character: str) -> str:
    r"""Return how `visible` shows a character.

    >>> print(escape_character("\t"), escape_character("x"), escape_character("\x1b"))
    \t x \x1b
    """
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is not part of a character
    if character.isprintable() and character != SPACE:
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_html(text: str) -> str:
    """Return a text for HTML."""
    from html import escape  # whose table of names takes longer to import than a command to say its version

    return escape(text)


def shorten_visible(text: str, most: int) -> str:
    """Return a visible text of at most about `most` characters; it says how much is left out.

    A mark at the start gets a dotted circle: it would otherwise combine with whatever stands before the text.

    >>> shorten_visible("a long text", 4), shorten_visible("\u0301e", 4)
    ('a␣lo… (7 more)', '◌́e')
    """
    more = len(text) - most
    start = CIRCLE if text and unicodedata.category(text[0]).startswith("M") else ""
    return f"{start}{visible(text[:most])}{f'… ({more} more)' if more > 0 else ''}"


# ---------------------------------------------------------------------------------------------------------------------
# Tokens and facts as HTML: every content escaped, styles inline, no script; readable on light and on dark pages.

# As in the style sheet of the local page, c0 to c7; with black text, the contrast is at least 14:1.
BACKGROUNDS = ("#dbe9ff", "#d8f3dc", "#ffe8cc", "#f5dcf7", "#fdf3bf", "#d3f2f0", "#ffdfdc", "#e4e1fb")
SPECIAL = "#dddddd"
HASHED = 64  # UTF-16 code units of a token that decide its color
_MARK = re.compile(r"\A(?: |\u2581|##)(?=.)", re.DOTALL)
MOST_CHARACTERS = 200  # of one token


@dataclass(frozen=True, slots=True)
class Chip:
    """One token: its text, what is shown when the pointer rests on it, and whether it is special."""

    text: str
    title: str = ""
    special: bool = False


def color_of(token: str) -> int:
    """Return which of eight colors a token has everywhere, with or without the mark of a space or of a continued word.

    >>> color_of(" the") == color_of("the")
    True
    """
    units = _MARK.sub("", token).encode("utf-16-le", "surrogatepass")[: 2 * HASHED]
    found = 7
    for place in range(0, len(units), 2):
        found = (found * 31 + int.from_bytes(units[place : place + 2], "little")) % 2**32
    return (found ^ found >> 7) % len(BACKGROUNDS)


def chips(tokens: Iterable[Chip], *, left_out: int = 0) -> str:
    """Return tokens side by side, each with a background color; `left_out` more are counted at the end.

    >>> chips([Chip("<b>", "id 7")]).partition(" title=")[2]
    '"id 7">&lt;b&gt;</span></div>'
    """
    marks = [_chip(token) for token in tokens]
    if left_out:
        marks.append(f"<span>and {left_out} more</span>")
    return f'<div style="font-family:monospace;line-height:1.8">{" ".join(marks)}</div>'


def _chip(token: Chip) -> str:
    color = SPECIAL if token.special else BACKGROUNDS[color_of(token.text)]
    # Isolated: a right-to-left token does not reorder its neighbours.
    style = f"background:{color};color:#000;padding:1px 2px;border-radius:3px;unicode-bidi:isolate"
    title = f' title="{escape_html(token.title)}"' if token.title else ""
    return f'<span style="{style}"{title}>{escape_html(shorten_visible(token.text, MOST_CHARACTERS))}</span>'


def facts(rows: Sequence[tuple[str, str]], *, caption: str) -> str:
    """Return names and values as a table; a value is HTML, a name and the caption are text.

    >>> facts([("model", "bpe")], caption="Tokenizer").count("<td")
    1
    """
    cell = "text-align:left;vertical-align:top;padding:2px 8px"
    body = "".join(
        f'<tr><th scope="row" style="{cell}">{escape_html(name)}</th><td style="{cell}">{value}</td></tr>'
        for name, value in rows
    )
    caption_style = "text-align:left;font-weight:bold;padding:2px 8px"
    return f'<table><caption style="{caption_style}">{escape_html(caption)}</caption><tbody>{body}</tbody></table>'


# ---------------------------------------------------------------------------------------------------------------------
# Tokens and pages in the style of the local page, whose style sheet they need to be colored; no script.


def chip(token: str, more: str = "") -> str:
    """Return a token on the background that it has on the local page. more: other classes.

    >>> chip(" the")
    '<span class="chip c4">␣the</span>'
    """
    classes = f"chip c{color_of(token)} {more}".strip()
    return f'<span class="{classes}">{escape_html(shorten_visible(token, MOST_CHARACTERS))}</span>'


def page_chips(tokens: Iterable[str]) -> str:
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
        f'<title>{escape_html(title)}</title><style>{style}</style></head><body class="written">'
        f"<header><h1>{escape_html(title)}</h1></header><main>{body}</main></body></html>\n"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Tokens in a terminal, each on a colored background.

# The colors of the local page, of the 256 of terminals: black has a contrast of at least 8:1 on them.
ANSI_BACKGROUNDS = (153, 194, 223, 225, 229, 195, 224, 189)


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
    tokens = list(tokens)
    shown = [(token.endswith("\n"), shorten_visible(token, MOST_CHARACTERS)) for token in tokens]
    if not color:
        return " ".join(text for _, text in shown)
    painted, before = [], -1
    for token, (ends, text) in zip(tokens, shown, strict=True):
        found = color_of(token)
        if found == before:  # nothing else parts it from its neighbour
            found = (found + 1) % len(ANSI_BACKGROUNDS)
        painted.append(f"\x1b[38;5;16;48;5;{ANSI_BACKGROUNDS[found]}m{text}\x1b[0m{chr(10) if ends else ''}")
        before = -1 if ends else found
    return "".join(painted).removesuffix("\n")


Written = Callable[[str], str]  # how a token is written: as Python does, or on a background


def painted(token: str) -> str:
    r"""Return a token as Python writes it, on the background that it has on the local page.

    >>> painted("a\n")
    "\x1b[38;5;16;48;5;229m'a\\n'\x1b[0m"
    """
    return f"\x1b[38;5;16;48;5;{ANSI_BACKGROUNDS[color_of(token)]}m{token!r}\x1b[0m"
