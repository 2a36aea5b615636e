"""Which characters an assistant writes: its replies from after the generation prompt to the end token (H4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from subwords.chat.pieces import Rendering

Start: TypeAlias = Literal["reply", "turn"]
End: TypeAlias = Literal["token", "line"]
ASSISTANT = frozenset({"assistant", "model"})


class Reply(NamedTuple):
    """The characters of a reply. by: "turns" or "owners", what it was found by. end: the number of its end token."""

    start: int
    stop: int
    by: str
    end: int | None


def generation_prompt(plain: Rendering, prompted: Rendering) -> list[str]:
    """Return the units by which a rendering with the generation prompt is longer than the one without."""
    size = len(plain.text)
    same = size if prompted.text.startswith(plain.text) else _common(plain.text, prompted.text)
    start = 0  # after the last token up to which all is the same
    for one, other in zip(plain.found, prompted.found, strict=False):
        if one[:2] != other[:2] or one[1] > same:
            break
        start = one[1]
    before, after = (_units(each, start) for each in (plain, prompted))
    return after[_common(before, after) :]


def _units(rendering: Rendering, start: int = 0, stop: int | None = None) -> list[str]:
    stop = len(rendering.text) if stop is None else stop
    return [rendering.text[first:last] for first, last in rendering.units(start, stop)]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    size = min(len(a), len(b))
    return next((k for k in range(size) if a[k] != b[k]), size)


def reply_of(
    rendering: Rendering, message: int, prompt: Sequence[str], *, start: Start = "reply", end: End = "token", room: int
) -> Reply | None:
    """Return the reply of an assistant's message, or None if nothing of it is in the text.

    prompt: the units of the generation prompt. room: where the text ends without the one in it.
    """
    first, last = rendering.turn(message)
    last = min(last, room)
    if first >= last:
        return None
    content = rendering.content(message, first, last)
    begin, stop = content or (last, first)
    at, by = _after_prompt(rendering, first, begin, last, prompt)
    if at is None:
        at, by = (begin, "owners") if content else (first, "turns")
    tokens = rendering.tokens(max(stop, at), last)
    token = tokens[-1] if tokens else None
    if token is not None:
        stop = rendering.found[token][1]
    else:  # the turn has no end token: all that is in it, but for whitespace of the template at its end
        stop = max(stop, at, first + len(rendering.text[first:last].rstrip()))
    if end == "line" and stop < last and rendering.text[stop] == "\n":
        stop += 1
    return Reply(first if start == "turn" else at, stop, by, token)


def _after_prompt(
    rendering: Rendering, first: int, begin: int, last: int, prompt: Sequence[str]
) -> tuple[int | None, str]:
    """Return where a turn goes on after the generation prompt; None if it does not begin with it.

    begin: the first character of its content.
    """
    if not prompt:  # a token before the content is a header, such as <|assistant|>
        return (None, "") if rendering.tokens(first, min(begin, last)) else (first, "turns")
    units = rendering.units(first, min(begin, last))
    texts = [rendering.text[a:b] for a, b in units]
    if prompt[0] not in texts:
        return None, ""
    skipped = texts.index(prompt[0])
    same = _common(texts[skipped:], prompt)
    return units[skipped + same - 1][1], "turns"
