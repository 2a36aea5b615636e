"""Random answers, written by chat templates and read back.

`python tests/replies.py FOLDER COUNT [text]` does it for all templates; "text": thinking and tool tags are no tokens.
The counts say what reading gave: the status, and whether the message is the one that was written ("right"), or another
one that has the same ids, so no reader can tell ("alike": the template strips or cuts), or differs only in whitespace
at the ends of fields ("stripped"), or is "wrong".
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import subwords
from subwords import Special, SubwordsError, Text, Tokenizer

__all__ = ["QUESTION", "TOOLS", "joined", "tagged", "written_and_read"]

Message = dict[str, Any]

QUESTION = [{"role": "user", "content": "Weather?"}]
_TYPES = {
    "city": "string",
    "note": "string",
    "days": "integer",
    "ratio": "number",
    "deep": "array",
    "opts": "object",
    "flag": "boolean",
}


def _tool(name: str, types: dict[str, str]) -> Message:
    entries = {key: {"type": type_, "description": "d"} for key, type_ in types.items()}
    schema = {"type": "object", "properties": entries, "required": []}
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}


TOOLS = [_tool("weather", _TYPES), _tool("now", {})]
_WORDS = (
    *(
        "hello",
        "Zürich",
        "你好 世界",
        '"quoted"',
        "it's",
        "a\\nb",
        "line\nbreak",
        "\n\n",
        "<b>x</b>",
        '{"a": 1}',
        "[1, 2]",
    ),
    *("a > b < c", "👩‍👩‍👧", "}", "tab\there", "$x=1", "</x>", "true", "5", "{'k': None}", "end."),
)
_VARIABLES: tuple[dict[str, Any], ...] = (
    {},
    {"enable_thinking": True, "thinking": True},
    {"enable_thinking": False, "thinking": False},
)
_IS_TAG = re.compile(r"</?[a-z_:]+>")


def tagged(folder: Path, *, as_tokens: bool) -> Tokenizer:
    """A tokenizer with the control tokens of all templates; as_tokens: thinking and tool tags too."""
    name = "converted/qwen3.tokenizer.json" if as_tokens else "gpt-neox/tokenizer.json"
    tok = subwords.load(folder / "tokenizers" / name)
    lines = (folder / "chat_templates" / "INDEX.md").read_text("utf-8").splitlines()
    names = {each.replace("\\|", "|") for line in lines if line[:2] == "| " for each in re.findall(r"`([^`]+)`", line)}
    names = {each for each in names if each[0] in "<[" and "{" not in each}
    names |= {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>"}
    names |= {"<|tool>", "<tool|>", "｜DSML｜", "<seed:tool_call>", "</seed:tool_call>", "[TOOL_CALLS]", "<s>", "</s>"}
    names |= {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}
    if not as_tokens:
        names = {each for each in names if not _IS_TAG.fullmatch(each) or each in ("<s>", "</s>")}
    have = {token.content for token in tok.added_tokens}
    return tok.with_tokens(sorted(names - have)).with_(roles={"bos": "<s>", "eos": "</s>"})


def _text(rng: random.Random, tags: list[str], most: int = 4) -> str:
    """Words, and in a third of the texts a tag of the template."""
    words = [rng.choice(_WORDS) for _ in range(rng.randint(1, most))]
    if tags and rng.random() < 0.35:
        words.insert(rng.randrange(len(words) + 1), rng.choice(tags))
    return rng.choice(" \n ").join(words)


def _value(rng: random.Random, tags: list[str], key: str) -> Any:
    usual = ["5", "true", "", " padded ", "null", "1.5"]
    return {
        "city": lambda: _text(rng, tags, 2),
        "note": lambda: rng.choice(usual) if rng.random() < 0.4 else _text(rng, tags),
        "days": lambda: rng.randint(-5, 99),
        "ratio": lambda: rng.choice([1.5, -0.25, 3, 1e-9]),
        "deep": lambda: [{"x": 1.5}, None, True, _text(rng, tags, 2)],
        "opts": lambda: {"a": {"b": [_text(rng, tags, 1), {}]}, 'é"': False},
        "flag": lambda: rng.random() < 0.5,
    }[key]()


def _message(rng: random.Random, shape: Any, tags: list[str]) -> Message:
    """A random answer of what a template shows."""
    count = rng.choice((0, 0, 1, 1, 2, 3)) if shape.tools else 0
    message: Message = {"role": "assistant", "content": ""}
    if count == 0 or rng.random() < 0.5:
        message["content"] = _text(rng, tags, 6)
    if (shape.reasoning or shape.cut) and rng.random() < 0.5:
        message["reasoning_content"] = _text(rng, [] if shape.cut else tags)
    calls = []
    for number in range(count):
        keys = [] if rng.random() < 0.15 else rng.sample([*_TYPES], rng.randint(0, 4))
        given: Any = {key: _value(rng, tags, key) for key in keys}
        given = json.dumps(given, ensure_ascii=False) if shape.arguments == "text" else given
        function = {"name": "weather" if keys else rng.choice(("weather", "now")), "arguments": given}
        calls.append({"id": f"qid{number:06d}", "type": "function", "function": function})
    return message | ({"tool_calls": calls} if calls else {})


def _fields(message: Message, *, strip: bool) -> Any:
    """What counts of a message: texts, names and arguments."""

    def text(value: Any) -> Any:
        value = value[0]["text"] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        return value.strip() if strip and isinstance(value, str) else value

    calls = []
    for call in message.get("tool_calls", ()):
        given = call["function"]["arguments"]
        given = json.loads(given) if isinstance(given, str) else given
        given = {key: value.strip() if strip and isinstance(value, str) else value for key, value in given.items()}
        calls.append((call["function"]["name"], json.dumps(given, sort_keys=True)))
    return text(message.get("reasoning_content", "")), text(message["content"]), calls


def joined(events: list[Any]) -> list[tuple[str, int | None, str]]:
    """Events, the pieces of a field as one."""
    found: list[tuple[str, int | None, str]] = []
    for kind, text, number in events:
        if found and found[-1][:2] == (kind, number) and kind not in ("name", "key"):
            found[-1] = (kind, number, found[-1][2] + text)
        else:
            found.append((kind, number, text))
    return found


def _read(chat: Any, ids: list[int], cuts: list[int]) -> tuple[Any, list[tuple[str, int | None, str]]]:
    reply, events, at = chat.reply(), list[Any](), 0
    for cut in [*cuts, len(ids)]:
        events += reply.feed(ids[at:cut])
        at = cut
    events += reply.finish()
    return reply, joined(events)


def _contradicts(reply: Any, events: list[tuple[str, int | None, str]]) -> bool:
    told: dict[str, list[str]] = {"reasoning": [], "content": [], "name": []}
    for kind, _, text in events:
        told.setdefault(kind, []).append(text)
    reasoning, content, calls = _fields(reply.message, strip=False)
    names = [name for name, _ in calls]
    more = told["name"][len(names) :]
    return (
        ("".join(told["reasoning"]), "".join(told["content"])) != (reasoning, content)
        or told["name"][: len(names)] != names
        or len(more) > (reply.open is not None)
    )


def _of_model(reply: Any, message: Message) -> str | None:
    """The units that a model writes for a message after the prompt; None if the message cannot follow it."""
    turn = reply._turns.answer(message)
    prompt, cut, reasoning = reply._turns.prompt, reply._learned.cut, message.get("reasoning_content")
    if cut and reasoning:  # as models write what these templates leave out
        base = next(text for text, kind in reply._learned.edges["start"] if kind == "content")
        opened = prompt.rstrip().endswith(cut[1])
        if not turn.startswith(base) or not (opened or prompt == base):
            return None
        return ("" if opened else cut[1] + "\n") + f"{reasoning}\n{cut[0]}\n\n{turn[len(base) :]}"
    if reply._skip:
        return None if reasoning else turn[reply._skip :]
    return turn[len(prompt) :] if turn.startswith(prompt) else None


def _chat_of(tok: Tokenizer, source: str) -> tuple[Any, Any, dict[str, Any]]:
    """The shape of answers and the chat, by the variables with which a template shows the most."""
    found: dict[tuple[bool, ...], Any] = {}
    for variables in _VARIABLES if "thinking" in source else _VARIABLES[:1]:
        try:
            shape = tok.reply_format(template=source, **variables)
            options = {"tools": TOOLS if shape.tools else None, "template": source, **variables}
            as_parts = [{**QUESTION[0], "content": [{"type": "text", "text": "Weather?"}]}]
            try:
                chat = tok.chat(QUESTION, **options)
                reply = chat.reply()
            except SubwordsError:
                chat = tok.chat(as_parts, **options)
                reply = chat.reply()
        except SubwordsError as error:
            found.setdefault((False, False, False), error)
            continue
        found.setdefault((True, shape.reasoning, not reply._skip), (shape, chat, options))
    best = found[max(found)]
    if isinstance(best, Exception):
        raise best
    return best


def written_and_read(tok: Tokenizer, source: str, count: int, seed: int, splits: int = 0) -> Counter[str]:
    """What reading gave for random answers of a template; InputError if it is refused. splits: of one answer."""
    shape, chat, options = _chat_of(tok, source)
    rng, counts = random.Random(seed), Counter[str]()
    tags = sorted({tag for _, text, _ in shape.steps for tag in re.findall(r"<[^<>\s]+>|\[/?[A-Z_]+\]", text)})
    tags += sorted({text.replace("<number>", "0") for _, text, _ in shape.steps if text.strip()})
    for number in range(count):
        message = _message(rng, shape, tags)
        reply = chat.reply()
        try:
            units = _of_model(reply, message)
        except SubwordsError:
            counts["template raises"] += 1
            continue
        if units is None:
            counts["not after this prompt"] += 1
            continue
        ids = [*tok.encode([*_parts(reply, units)])] if units else []
        cuts = [*range(len(ids))] if number % 3 == 0 else []
        reply, events = _read(chat, ids, cuts)
        for at in range(splits if number == 0 else 0):
            few = sorted(random.Random(at).sample(range(len(ids)), min(len(ids), 1 + at % 3)))
            other, others = _read(chat, ids, few)
            counts["splits"] += 1
            same = (other.status, other.message, others) == (reply.status, reply.message, events)
            counts["splits that differ"] += not same
        counts["contradicted"] += _contradicts(reply, events)
        counts[f"{reply.status} {_judged(tok, reply, message, options)}"] += 1
    return counts


def _judged(tok: Tokenizer, reply: Any, message: Message, options: dict[str, Any]) -> str:
    """Whether a message is the one that was written, or has its ids, or differs in whitespace at the ends of fields."""
    if _fields(reply.message, strip=False) == _fields(message, strip=False):
        return "right"
    if isinstance(reply.message["content"], list):
        message = message | {"content": [{"type": "text", "text": message["content"]}]}
    found = (tok.chat([*QUESTION, each], prompt=False, **options).ids.tolist() for each in (reply.message, message))
    with suppress(SubwordsError):
        if next(found) == next(found):
            return "alike"
    return "stripped" if _fields(reply.message, strip=True) == _fields(message, strip=True) else "wrong"


def _parts(reply: Any, units: str) -> Iterator[Text | Special]:
    contents = reply._learned.alphabet.contents
    as_text = reply._turns._options.control.as_text
    for part in re.split(r"([\ud800-\udfff])", units):
        if part:
            yield Special(contents[part]) if part in contents else Text(part, as_text=as_text)


def _main(folder: Path, count: int, *, as_tokens: bool, some: str = "") -> None:
    tok, total, parsers = tagged(folder, as_tokens=as_tokens), Counter[str](), 0
    files = [each for each in sorted((folder / "chat_templates").glob("*.jinja")) if some in each.stem]
    for file in files:
        try:
            counts = written_and_read(tok, file.read_text("utf-8"), count, 7, splits=40)
        except SubwordsError as error:
            print(f"{file.stem}: {error!s:.150}", flush=True)
            continue
        parsers, total = parsers + 1, total + counts
        print(f"{file.stem}: {dict(sorted(counts.items()))}", flush=True)
    print(f"{parsers} of {len(files)}: {dict(sorted(total.items()))}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), as_tokens="text" not in sys.argv, some="".join(sys.argv[4:]))
