"""Conversations as `chat` and the local page show them: who owns each token, and what another template changes.

Run as a program, it answers the page: a template is a program too, and one without end is stopped with this process.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from threading import Lock, Timer
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subwords import Tokenizer
from subwords.support.errors import InputError
from subwords.support.memory import limit_process

if TYPE_CHECKING:
    from subwords.chat.chat import Chat
    from subwords.chat.reply import ChatReply

TEMPLATE, OTHERS = "template", "tools and variables"
_KEYS = ("messages", "tools", "documents")

# ---------------------------------------------------------------------------------------------------------------------
# A conversation: runs of tokens with one owner, all in the mask or none.


class ChatToken(NamedTuple):
    """One token. text: bytes that are no characters are lone surrogates. typed: text that spells an added token."""

    id: int
    text: str
    control: bool
    typed: bool


class ChatRun(NamedTuple):
    """Tokens with one owner. owner: the number of a message, -1 or -2, as in `Chat.owners`. who: its name."""

    owner: int
    who: str
    trained: bool
    tokens: list[ChatToken]


@dataclass(frozen=True, slots=True)
class ShownChat:
    """A conversation as ids. mask: what a model is trained on; problem: why there is no mask, which is False then."""

    tok: Tokenizer
    chat: Chat
    roles: list[str]
    mask: list[bool]
    problem: str | None

    def runs(self, most: int | None = None) -> Iterator[ChatRun]:
        """Yield the first `most` tokens in runs."""
        chat, vocab = self.chat, self.tok.model.vocab
        columns = (chat.owners, chat.ids, chat.control, chat.typed)
        owners, ids, control, typed = (column[:most].tolist() for column in columns)
        rows = zip(owners, self.mask, ids, control, typed, strict=False)
        for (owner, trained), entries in groupby(rows, key=lambda each: each[:2]):
            tokens = [
                ChatToken(index, vocab[index].decode("utf-8", "surrogateescape"), is_control, is_typed)
                for _, _, index, is_control, is_typed in entries
            ]
            yield ChatRun(owner, self._who(owner), trained, tokens)

    def _who(self, owner: int) -> str:
        return self.roles[owner] if owner >= 0 else TEMPLATE if owner == -1 else OTHERS


def shown_chat(tok: Tokenizer, row: Any, *, template: str | None, prompt: bool, masked: bool = True) -> ShownChat:
    """Return a conversation as ids: messages, or an object of them with tools and documents; as `Tokenizer.chat`."""
    given = row if isinstance(row, dict) else {"messages": row}
    if unknown := sorted(given.keys() - {*_KEYS}):
        raise InputError(f"expected messages, tools and documents, not {unknown[0]!r:.60}")
    messages, tools, documents = (given.get(key) for key in _KEYS)
    chat = tok.chat(messages, tools=tools, documents=documents, prompt=prompt, template=template)  # type: ignore[arg-type]
    roles = [str(message["role"]) for message in messages or ()]
    try:
        mask = chat.mask() if masked else np.zeros(len(chat), np.bool_)
        return ShownChat(tok, chat, roles, mask.tolist(), None)
    except InputError as error:
        return ShownChat(tok, chat, roles, [False] * len(chat), str(error))


def shown_reply(made: ShownChat, answer: str | list[int]) -> tuple[ChatReply, list[tuple[str, str]]]:
    """Return what a model answered to a conversation with a prompt, and its message as rows: a field and its text.

    answer: ids, or text in which control tokens are spelled, with the end token or without it.
    """
    reply, is_text = made.chat.reply(), isinstance(answer, str)
    reply.feed(made.tok.encode(answer, special="allow") if isinstance(answer, str) else answer)
    reply.finish(stopped=is_text)
    message, open = reply.message, reply.open
    rows = [(field, str(message.get(field, ""))) for field in ("reasoning_content", "content")]
    for number, call in enumerate(message.get("tool_calls", ())):
        name, given = call["function"]["name"], call["function"]["arguments"]
        given = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        rows.append((f"call {number}", f"{name} {given}"))
    rows += [] if open is None else [("not finished", f"{open.name} {open.arguments}")]
    return reply, [row for row in rows if row[1]]


# ---------------------------------------------------------------------------------------------------------------------
# What the page asks: a conversation and perhaps another template than the tokenizer's.

MOST_CHARACTERS = 200_000  # of a conversation, of a template, and of the text that is shown
MOST_SHOWN = 5_000  # tokens
MOST_COMPARED = 1_000  # ids between the common beginning and the common end: more are one change


def example(tok: Tokenizer) -> str:
    """Return a conversation to begin with, as JSON: its first message spells a token that ends turns."""
    specials = [token.content for token in tok.added_tokens if token.special]
    typed = tok.roles.get("eos")
    end = next((token.content for token in tok.added_tokens if token.id == typed), (specials or ["<|im_end|>"])[-1])
    said = [("user", f"What is light?{end}"), ("assistant", "Rays."), ("user", "And colour?")]
    rows = (json.dumps({"role": role, "content": text}, ensure_ascii=False) for role, text in said)
    return "[" + ",\n ".join(rows) + "]"


def answer(tok: Tokenizer, request: Mapping[str, Any]) -> dict[str, object]:
    """Return a conversation and the changes that another template makes; "error" and "line" if there is none.

    conversation: JSON. template: Jinja, or None for the tokenizer's. prompt: whether it ends with a prompt. answer:
    what a model wrote after it, or "".
    """
    conversation, template, written = (request.get(name) for name in ("conversation", "template", "answer"))
    for name, value in (("conversation", conversation), ("template", template or ""), ("answer", written or "")):
        if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
            came = f"{len(value):,} characters" if isinstance(value, str) else type(value).__name__
            raise InputError(f'expected "{name}" as a string of at most {MOST_CHARACTERS:,} characters, not {came}')
    prompt = request.get("prompt", False)
    if not isinstance(prompt, bool):
        raise InputError(f'expected "prompt" to be true or false, not {prompt!r:.60}')
    try:
        row = json.loads(conversation or "")
    except (ValueError, RecursionError) as error:
        return {"error": f"expected the conversation as JSON: {error or type(error).__name__}", "line": None}
    try:
        made = shown_chat(tok, row, template=template, prompt=prompt)
        found = {**_drawn(made), "reply": _read(made, written) if written else None}
    except InputError as error:
        own_source = tok.chat_template if template is None else None
        return {"error": str(error), "line": getattr(error, "line", None), "template": own_source}
    if template is None:
        return {**found, "changes": None, "own_error": None}
    try:
        own = shown_chat(tok, row, template=None, prompt=prompt)
    except InputError as error:
        return {**found, "changes": None, "own_error": str(error)}
    return {**found, "own_error": None, **_changes(own, made)}


def _drawn(made: ShownChat) -> dict[str, object]:
    """Return a conversation in the shape that the page draws."""
    chat = made.chat
    runs = [
        {
            "owner": run.owner,
            "who": run.who,
            "trained": run.trained,
            "tokens": [[one.id, one.text, int(one.control), int(one.typed)] for one in run.tokens],
        }
        for run in made.runs(MOST_SHOWN)
    ]
    return {
        "error": None,
        "template": chat.template,
        "tokens": len(chat),
        "left_out": max(0, len(chat) - MOST_SHOWN),
        "control": int(chat.control.sum()),
        "typed": int(chat.typed.sum()),
        "trained": sum(made.mask),
        "mask_source": None if made.problem else chat.mask_source,
        "mask_problem": made.problem,
        "runs": runs,
        "text": chat.text[:MOST_CHARACTERS],
        "text_left_out": max(0, len(chat.text) - MOST_CHARACTERS),
    }


def _read(made: ShownChat, written: str) -> dict[str, object]:
    """Return an answer in the shape that the page draws: its status, or why it cannot be read, and its rows."""
    try:
        reply, rows = shown_reply(made, written)
    except InputError as error:
        return {"status": str(error), "rows": []}
    return {"status": f"The answer is {reply.status}", "rows": rows}


def _changes(own: ShownChat, made: ShownChat) -> dict[str, object]:
    """Return the ids that differ: how many are the same before, then those of both templates and how many they are."""
    before, after, vocab = own.chat.ids.tolist(), made.chat.ids.tolist(), made.tok.model.vocab
    changes = [
        [same, before[start:stop][:MOST_COMPARED], stop - start, after[first:last][:MOST_COMPARED], last - first]
        for same, start, stop, first, last in differences(before, after)
    ]
    named = {index for change in changes for index in (*change[1], *change[3])}
    names = {index: vocab[index].decode("utf-8", "surrogateescape") for index in sorted(named)}
    return {"changes": changes, "names": names, "own_tokens": len(before)}


def differences(before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int, int, int, int]]:
    """Return where two lists of ids differ, in order: how many are the same before it, and its range in both.

    >>> differences([1, 2, 3, 4], [1, 5, 3, 4, 6])
    [(1, 1, 2, 1, 2), (2, 4, 4, 4, 5)]
    """
    from difflib import SequenceMatcher

    size = min(len(before), len(after))
    first = next((k for k in range(size) if before[k] != after[k]), size)
    same_end = next((k for k in range(size - first) if before[-1 - k] != after[-1 - k]), size - first)
    a, b = before[first : len(before) - same_end], after[first : len(after) - same_end]
    codes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(a), 0, len(b))]
    if max(len(a), len(b)) <= MOST_COMPARED:
        codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    found, done = list[tuple[int, int, int, int, int]](), 0
    for kind, start, stop, begin, end in codes:
        if kind != "equal":
            found.append((first + start - done, first + start, first + stop, first + begin, first + end))
            done = first + stop
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The process in which templates of the page run. Its answers are JSON: whatever ran there, nothing of it is executed.

SECONDS = 5.0  # that an answer may take
START_SECONDS = 120.0  # that the process may take to load a tokenizer, and perhaps to compile kernels
MOST_MEMORY = 1 << 30  # bytes that a process may take for its answers
SIZE = 8  # bytes of a length
_ANSWERS = 100_000_000  # bytes of an answer at most


class ChatProcess:
    """Answers requests in a process of its own, which is stopped if it takes too long. Threads may share it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds, self._lock = seconds, Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._tok: Tokenizer | None = None

    def ask(self, tok: Tokenizer, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `answer` to a request; an error if it takes too long. Raises InputError for a wrong request."""
        with self._lock:
            if self._tok is not tok or self._process is None or self._process.poll() is not None:
                self._start(tok)
            try:
                found = self._exchange(json.dumps(dict(request)).encode(), self._seconds)
            except (EOFError, OSError):
                self._stop()
                told = f"the chat template is stopped: it takes more than {self._seconds:g} seconds, or too much memory"
                return {"error": told, "line": None}
        if "refused" in found:
            raise InputError(found["refused"])
        return found

    def close(self) -> None:
        """End the process; another request starts one again."""
        with self._lock:
            self._stop()

    def _start(self, tok: Tokenizer) -> None:
        self._stop()
        command = [sys.executable, "-m", "subwords.study.conversations"]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._exchange(pickle.dumps(tok), START_SECONDS)
        except (EOFError, OSError) as error:
            self._stop()
            raise InputError(f"the process for chat templates does not start: {error}; see standard error") from None
        self._tok = tok

    def _exchange(self, data: bytes, seconds: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        watch = Timer(seconds, process.kill)
        watch.daemon = True
        watch.start()
        try:
            _send(process.stdin, data)
            return dict(json.loads(_received(process.stdout)))
        except (TypeError, ValueError):  # not what this program writes
            raise EOFError from None
        finally:
            watch.cancel()

    def _stop(self) -> None:
        process, self._process, self._tok = self._process, None, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(SIZE, "little") + data)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes:
    head = stream.read(SIZE)
    size = int.from_bytes(head, "little")
    data = stream.read(size) if len(head) == SIZE and size <= _ANSWERS else b""
    if not data:
        raise EOFError
    return data


def answer_requests() -> None:
    """Answer requests until there are none: a tokenizer on standard input, then JSON."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what anything prints is no answer
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        tok: Tokenizer = pickle.loads(_received(requests))
        with suppress(InputError):  # what is needed for any answer is loaded before memory is limited
            answer(tok, {"conversation": '[{"role": "user", "content": "a"}]', "template": "{{ messages[0].content }}"})
        _send(answers, b"{}")
        limit_process(memory=MOST_MEMORY)
        while True:
            request = json.loads(_received(requests))
            limit_process(seconds=4 * SECONDS)  # if nobody is left who stops it
            found: dict[str, object]
            try:
                found = answer(tok, request)
            except InputError as error:
                found = {"refused": str(error)}
            except MemoryError:
                found = {"error": "the chat template is stopped: it takes too much memory", "line": None}
            _send(answers, json.dumps(found).encode())


if __name__ == "__main__":
    answer_requests()
