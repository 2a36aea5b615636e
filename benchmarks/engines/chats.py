"""Conversations to ids by chat templates: the same ids, injections, masks, answers that keep their ids, and seconds.

An engine's `chat` gives functions by these names, for one template; those that it lacks are absent:

- ids: a conversation to a list of ids. text: to the rendered text.
- mask: a conversation to (ids, for each whether the assistant writes it).
- history: a conversation to what `append` needs of it.
- append: that, the ids of an answer, it as a message, and a next message, to the ids of all, with those of the answer
  as they are. An engine that cannot do this renders and encodes the whole conversation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engines.protocol import Engine, digest_and_save, strings_of, timed

__all__ = ["run"]

Answer = dict[str, Any]
Functions = dict[str, Callable[..., Any]]
END = 2**32 - 1  # after the ids of each pair
REFUSED = 2**32 - 2  # a conversation that the template refuses
OTHER_BRACKETS = str.maketrans("<>|[]", "\u2039\u203a\u00a6\u27e6\u27e7")
SHORT, LONG = 10, 200  # messages of a conversation that is answered


def run(engine: Engine, job: Answer) -> Answer:
    """Return counts of pairs of a template and a conversation, and seconds of long conversations."""
    import numpy as np

    data = json.loads(Path(job["chats"]).read_text("utf-8"))
    control = {*data["control_ids"]}
    counts: Answer = dict.fromkeys(COUNTED, 0)
    found: list[int] = []
    functions = []
    for name, source in data["templates"].items():
        with suppress(Exception):  # one that is no valid Jinja
            functions.append((name, source, engine.chat(job, source)))
    for _, source, chat in functions:
        for messages, options in data["plain"]:
            found += [*(_ids(chat, messages, options) or [REFUSED]), END]
        counts["pairs"] += len(data["plain"])
        for messages, options in data["hostile"]:
            _count_injection(chat, messages, options, control, counts)
        _count_mask(chat, data["masked"], source, counts)
        _count_answer(chat, data["masked"], data["letters"], counts)
    counts["rendered"] = counts["pairs"] - found.count(REFUSED)
    seconds = _seconds(functions[0][2], data["letters"], job) if len(functions) == 1 else {}
    ids = np.array(found, np.uint32)
    return {"seconds": seconds, "counts": counts, **digest_and_save(ids, job.get("output"))}


COUNTED = ("pairs", "hostile", "injected", "replies", "masks", "marked", "marked_masks", "answers", "kept")


def _ids(chat: Functions, messages: Any, options: Answer) -> list[int] | None:
    """Return the ids; None where the template refuses the conversation."""
    with suppress(Exception):
        return [*chat["ids"](messages, options)]
    return None


def _count_injection(chat: Functions, messages: Any, options: Answer, control: set[int], counts: Answer) -> None:
    """Count a pair with more control tokens than the same conversation has in brackets that no token has."""
    typed, plain = _ids(chat, messages, options), _ids(chat, _harmless(messages), _harmless(options))
    if typed is not None and plain is not None:
        counts["hostile"] += 1
        counts["injected"] += sum(each in control for each in typed) > sum(each in control for each in plain)


def _harmless(value: Any) -> Any:
    if isinstance(value, dict):
        return {_harmless(key): _harmless(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_harmless, value)]
    return value.translate(OTHER_BRACKETS) if isinstance(value, str) else value


def _count_mask(chat: Functions, messages: Any, source: str, counts: Answer) -> None:
    """Count whether a mask has what the assistant says, and nothing of the others."""
    if _ids(chat, messages, {}) is None:
        return
    is_marked = "generation %}" in source.replace("-%}", "%}")
    counts["marked" if is_marked else "replies"] += 1
    with suppress(Exception):
        ids, mask = chat["mask"](messages)
        text = chat["decode"]([index for index, one in zip(ids, mask, strict=True) if one])
        right = all((each["content"] in text) == (each["role"] == "assistant") for each in messages)
        counts["marked_masks" if is_marked else "masks"] += right


def _count_answer(chat: Functions, messages: Any, letters: list[int], counts: Answer) -> None:
    """Count whether an answer of one token for each letter keeps these ids when a message follows."""
    said, then = {"role": "assistant", "content": "rays"}, {"role": "user", "content": "Why?"}
    if _ids(chat, [messages[0], said, then], {}) is None:
        return
    counts["answers"] += 1
    with suppress(Exception):
        before = _ids(chat, messages[:1], {"add_generation_prompt": True}) or []
        found = chat["append"](chat["history"](messages[:1]), letters, said, then)
        counts["kept"] += [*found][: len(before) + len(letters)] == [*before, *letters]


def _seconds(chat: Functions, letters: list[int], job: Answer) -> Answer:
    """Return seconds for conversations of lines of a text; a first pass is not timed: all have met the words."""
    lines = strings_of(Path(job["file"]).read_text("utf-8"), job["messages"], job["length"])
    talk = [{"role": ("user", "assistant")[at % 2], "content": line.strip()} for at, line in enumerate(lines)]
    seconds: Answer = {}
    for name in ("text", "ids"):
        if name in chat:
            seconds[name] = [_timed(job, chat[name], talk, {})]
    said, then = {"role": "assistant", "content": "rays"}, {"role": "user", "content": "Why?"}
    for name, size in (("short", SHORT), ("long", LONG)):
        part = [*_repeated(talk, size - 1)]
        if "append" in chat:
            before = chat["history"](part)
            seconds[f"append_{name}"] = [_timed(job, chat["append"], before, letters, said, then)]
        elif "ids" in chat:
            seconds[f"append_{name}"] = [_timed(job, chat["ids"], [*part, said, then], {"add_generation_prompt": True})]
    return seconds


def _repeated(talk: list[Answer], size: int) -> Iterator[Answer]:
    """Yield messages in turn; the last of `talk` is the user's, and left out."""
    return (talk[at % (len(talk) - 1)] for at in range(size))


def _timed(job: Answer, function: Callable[..., Any], *arguments: Any) -> float:
    function(*arguments)
    return median(timed(function, *arguments)[0] for _ in range(job["passes"]))
