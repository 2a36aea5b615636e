"""Conversations to ids: `Chat`, what it grows to when it is answered, and batches of conversations with masks."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from subwords.chat.assistant import End, Start
from subwords.chat.conversation import Chatter, Conversation, History, Ids, Options
from subwords.chat.pieces import Control, Rendering, Spans
from subwords.chat.plain import messages_of
from subwords.engine.growing import DECODED, first_difference
from subwords.spec.added_token import Special, Text
from subwords.spec.token_batch import TokenBatch, TokenBlock
from subwords.support.checks import check_choice, check_flag
from subwords.support.errors import InputError
from subwords.support.threads import streamed
from subwords.tokenizer import engine_of
from subwords.tokens.formats import MASKED

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading, Tally

AT_ONCE = 256  # conversations that are encoded together
_ROW = frozenset({"messages", "tools", "documents"})


def masked(ranges: Iterable[tuple[int, int]], spans: Spans) -> NDArray[np.bool_]:
    """Return which tokens share a character with a range; spans: of the tokens, int64 of shape (n, 2)."""
    found = np.zeros(len(spans), np.bool_)
    for start, stop in ranges:
        if start < stop:
            first, last = np.searchsorted(spans[:, 1], start, "right"), np.searchsorted(spans[:, 0], stop, "left")
            found[first:last] = True
    return found & (spans[:, 0] < spans[:, 1])


def _check_policy(start: object, end: object) -> None:
    for name, value, choices in (("start", start, ("reply", "turn")), ("end", end, ("token", "line"))):
        if value is not None:
            check_choice(name, value, choices)


class Chat:
    r"""The ids of a conversation, and who wrote them; made by `Tokenizer.chat`. Immutable.

    >>> import subwords
    >>> tok = subwords.load("demo").with_tokens(["<|user|>", "<|bot|>", "<|end|>"])
    >>> tok = tok.with_(chat_template="{% for m in messages %}{{ '<|user|>' if m.role == 'user' else '<|bot|>' }}"
    ...     "{{ m.content }}<|end|>{% endfor %}{{ '<|bot|>' if add_generation_prompt }}")
    >>> chat = tok.chat([{"role": "user", "content": "light<|end|>"}])
    >>> chat.parts[-2:], chat.owners.tolist()[:2]
    ((Special(token='<|end|>'), Special(token='<|bot|>')), [0, 0])
    """

    def __init__(self, made: Conversation, before: History | None = None) -> None:
        self._made, self._before = made, before

    # ------------------------------------------------------------------ ids and text

    @cached_property
    def ids(self) -> Ids:
        """The ids, uint32."""
        if self._before is None:
            return engine_of(self._made.chatter.tok).encode([*self.parts], "text")
        new = engine_of(self._made.chatter.tok).encode(self._new_parts, "text")
        return np.concatenate([self._before.ids, new[not self._before.open_end :]])

    @property
    def _new_parts(self) -> list[Text | Special]:
        """The parts that are encoded: after an answer, from its end token on."""
        assert self._before is not None, "only asked after an answer"
        return self._made.rendering.parts_from(self._before.token)

    @cached_property
    def parts(self) -> tuple[Text | Special, ...]:
        """The text between control tokens, and these: `tok.encode(chat.parts)` gives the ids, but for given ones."""
        if self._before is None:
            return self._made.rendering.parts
        new = self._new_parts[not self._before.open_end :]
        return _joined(self._before.parts, new, self._made.options.control)

    @property
    def text(self) -> str:
        """The text: what the template writes, or after an answer the text of its ids."""
        return "".join(part.token if isinstance(part, Special) else str(part.text) for part in self.parts)

    @cached_property
    def drift(self) -> int | None:
        """The first id that encoding the text again would change; None if there is none: only given ids differ."""
        if self._before is None:
            return None
        again = engine_of(self._made.chatter.tok).encode([*self.parts], "text")
        place = first_difference(self.ids, again)
        return None if place == len(again) == len(self.ids) else place

    @property
    def template(self) -> str:
        """The Jinja template that made the text: a tokenizer may have several."""
        return self._made.options.template.source

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Chat({len(self._made.messages)} messages, {len(self)} ids)"

    # ------------------------------------------------------------------ who wrote what

    @cached_property
    def _spans(self) -> Spans:
        """The characters of each encoded id, int64 of shape (n, 2), in the rendered text."""
        before, rendering = self._before, self._made.rendering
        parts = [*rendering.parts] if before is None else self._new_parts
        found = engine_of(self._made.chatter.tok).spans.find((parts,), "text")
        spans = (found.spans if len(found.spans) else found.byte_spans).reshape(-1, 2)
        if before is None:
            return spans
        return (spans + rendering.found[before.token][0])[not before.open_end :]

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """Who owns the first character of each id: the number of a message, -1 the template, -2 tools and others.

        int32, one per id. Text of the template within the turn of a message is of this message; -1 is outside turns.
        """
        rendering = self._made.rendering
        at = np.minimum(np.searchsorted(rendering.stops, self._spans[:, 0], "right"), len(rendering.runs) - 1)
        found = rendering.owners[at]
        return found if self._before is None else np.concatenate([self._before.owners, found])

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """The places of ids whose characters have several owners, such as a space and the word after it."""
        rendering, spans = self._made.rendering, self._spans
        first, last = (np.searchsorted(rendering.stops, at, "right") for at in (spans[:, 0], spans[:, 1] - 1))
        most = len(rendering.runs) - 1
        differ = rendering.owners[np.minimum(first, most)] != rendering.owners[np.clip(last, 0, most)]
        found = np.flatnonzero(differ & (spans[:, 0] < spans[:, 1]))
        return found if self._before is None else found + len(self._before.ids)

    @cached_property
    def control(self) -> NDArray[np.bool_]:
        """Which ids are control tokens, bool, one per id: the template wrote these, or the model in an answer."""
        tokens = self._made.options.control.tokens.values()
        return np.isin(self.ids, [token.id for token in tokens])

    @cached_property
    def typed(self) -> NDArray[np.bool_]:
        """Which ids are text that spells a control token, bool, one per id: somebody may have tried to inject it."""
        rendering, before = self._made.rendering, self._before
        found = masked(rendering.control.typed(rendering.text, rendering.found), self._spans)
        if before is None:
            return found
        return np.concatenate([before.typed, found])

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """The ids of each message, with the template's text around it, as (start, stop); (0, 0) if it has none."""
        before, starts = self._before, self._spans[:, 0]
        found = [] if before is None else [*before.turns]
        offset = 0 if before is None else len(before.ids)
        for number in range(len(found), len(self._made.messages)):
            first, last = self._made.rendering.turn(number)
            at, upto = (int(np.searchsorted(starts, place, "left")) + offset for place in (first, last))
            found.append((at, upto) if first < last else (0, 0))
        return found

    def mask(self, *, start: Start | None = None, end: End | None = None) -> NDArray[np.bool_]:
        """Return which ids the assistant writes, bool: for a loss on its replies (ALGORITHMS.md, H4).

        start: "reply" begins after the generation prompt, "turn" with it. end: "token" ends with the control token that
        ends the turn, "line" with the newline after it. None for both: the template's `{% generation %}` if it has it,
        else "reply" and "token"; `mask_source` says which. Raises InputError for a reply that the text lacks.
        """
        _check_policy(start, end)
        before = self._before
        if before is None:
            return masked(self._made.ranges(start, end), self._spans)
        if start is not None or end is not None:
            raise InputError("start and end do not apply after an answer: all of its ids are in the mask")
        if before.mask is None:
            raise InputError("a message before the answer has no mask: ask tok.chat(messages).mask() why")
        return np.concatenate([before.mask, masked(self._made.ranges(None, None, before.message + 1), self._spans)])

    @property
    def mask_source(self) -> str:
        """What `mask()` is found by: "marks" of the template, "turns", or "owners" if a turn has no known beginning."""
        if self._made.rendering.marks:
            return "marks"
        return "owners" if any(each.by == "owners" for each in self._made.replies("reply", "token")) else "turns"

    # ------------------------------------------------------------------ token in, token out

    def answered(self, ids: Iterable[int], message: Mapping[str, Any]) -> Answered:
        """Return the chat with the model's answer: its ids stay as they are, whatever is added.

        ids: what the model wrote after this prompt, with the token that ends the turn or without it. message: the same
        as a message, with `tool_calls` if results follow; after `resume=`, the whole message. Raises InputError for a
        chat without a prompt and for ids that do not exist.
        """
        if self._made.ends == "whole":
            raise InputError("expected a chat that ends with a prompt; use tok.chat(messages, prompt=True) or resume=")
        given = np.asarray([*ids] if not isinstance(ids, np.ndarray) else ids, np.int64)
        self._made.chatter.tok.decode(given.tolist())  # raises InputError
        return Answered(self, given.astype(np.uint32), message)


class Answered:
    """A chat and the model's answer, to which messages can be added; made by `Chat.answered`."""

    def __init__(self, chat: Chat, ids: Ids, message: Mapping[str, Any]) -> None:
        self._chat, self._ids = chat, ids
        made = chat._made
        kept = made.messages[:-1] if made.ends == "resumed" else made.messages
        self._messages = [*kept, *messages_of([message], made.options.trusted, len(kept))]

    def add(self, *messages: Mapping[str, Any], prompt: bool = True) -> Chat:
        """Return the chat with more messages: the ids so far, then those of the new text.

        Only what is after the answer is encoded, and of what is before it, only what later text depends on is rendered
        again (ALGORITHMS.md, H6); an end token is added if the answer lacks it. Raises InputError if the template ends
        the turn with no control token: then no place is known where new text may begin.
        """
        check_flag("prompt", prompt)
        made, number = self._chat._made, len(self._messages) - 1
        options = made.options
        records = [*self._messages]
        if messages:
            records += messages_of(messages, options.trusted, len(records))
        rendering = made.chatter.render(records, options, prompt=prompt, first=number)
        ends: Literal["prompt", "whole"] = "prompt" if prompt else "whole"
        whole = Conversation(made.chatter, records, options, rendering, ends, made.generation_prompt)
        reply = whole.reply(number)
        if reply is None or reply.end is None:
            raise InputError(
                f"expected a control token at the end of the turn of messages[{number}], where text may be added; "
                "the template writes none: use tok.chat(messages)"
            )
        return Chat(whole, _history(self._chat, self._ids, rendering, number, reply.end))

    def __repr__(self) -> str:
        return f"Answered({len(self._messages)} messages, {len(self._chat) + len(self._ids)} ids)"


def _history(chat: Chat, ids: Ids, rendering: Rendering, message: int, token: int) -> History:
    """Return what comes before new text: a chat and the ids of its answer."""
    end, start, stop = rendering.found[token][2], len(chat), len(chat) + len(ids)
    mask: NDArray[np.bool_] | None = None
    with suppress(InputError):
        mask = np.concatenate([chat.mask(), np.ones(len(ids), np.bool_)])
    turns = chat.turns
    return History(
        np.concatenate([chat.ids, ids]),
        np.concatenate([chat.owners, np.full(len(ids), message, np.int32)]),
        mask,
        np.concatenate([chat.typed, np.zeros(len(ids), np.bool_)]),
        [*turns[:message], (turns[message][0] if message < len(turns) else start, stop)],
        _joined(chat.parts, [*_parts_of(chat, ids)], rendering.control),
        message,
        token,
        not len(ids) or int(ids[-1]) != end.id,
    )


def _parts_of(chat: Chat, ids: Ids) -> Iterator[Text | Special]:
    """Yield the parts of an answer's ids: control tokens, and the text between them, after the prompt."""
    tok, control = chat._made.chatter.tok, chat._made.options.control
    contents = {token.id: token.content for token in control.tokens.values()}
    before, run = [*chat.ids[-DECODED:].tolist()], list[int]()
    for index in (*ids.tolist(), None):
        if index is not None and index not in contents:
            run.append(index)
            continue
        if run:
            stream = tok.stream(prompt=before[-DECODED:])
            text = stream.step(run) + stream.finish()
            if text:
                yield Text(text, as_text=control.as_text)
            before += run
            run = []
        if index is not None:
            yield Special(contents[index])
            before.append(index)


def _joined(
    before: Sequence[Text | Special], after: Sequence[Text | Special], control: Control
) -> tuple[Text | Special, ...]:
    """Return the parts of two texts, one after the other, as those of one text."""
    if before and after and isinstance(last := before[-1], Text) and isinstance(first := after[0], Text):
        return (*before[:-1], Text(f"{last.text!s}{first.text!s}", as_text=control.as_text), *after[1:])
    return (*before, *after)


def chat(chatter: Chatter, messages: object, options: Options, *, prompt: bool | None, resume: str | None) -> Chat:
    """Return a conversation as ids; see `Tokenizer.chat`."""
    if prompt is not None:
        check_flag("prompt", prompt)
    if resume is None:
        return Chat(chatter.conversation(messages, options, prompt=prompt is None or prompt))
    if prompt:
        raise InputError("expected prompt=True or resume=, not both: one begins a message, the other goes on with it")
    if not isinstance(resume, str):
        raise InputError(f'expected resume as the key of a field, such as "content", not {resume!r:.60}')
    records = messages_of(messages, options.trusted)
    return Chat(Conversation(chatter, records, options, chatter.resumed(records, options, resume), "resumed"))


# ---------------------------------------------------------------------------------------------------------------------
# Many conversations.


class ChatBatch(NamedTuple):
    """The ids of many conversations. tokens: flat ids and offsets. mask: bool, one per id, as `Chat.mask` gives it."""

    tokens: TokenBatch
    mask: NDArray[np.bool_]


def batch(
    chatter: Chatter,
    conversations: Iterable[Any],
    given: Mapping[str, Any],
    *,
    prompt: bool,
    start: Start | None,
    end: End | None,
    threads: int | None,
) -> ChatBatch:
    """Return many conversations as ids with masks; see `Tokenizer.chats`."""
    if isinstance(conversations, str | bytes | Mapping) or not isinstance(conversations, Iterable):
        raise InputError(f"expected many conversations, not {type(conversations).__name__}")
    _check_policy(start, end)
    check_flag("prompt", prompt)
    renderer = _Renderer(chatter, given, prompt, start, end)
    rows, batches, done = iter(conversations), list[ChatBatch](), 0
    while some := [*islice(rows, AT_ONCE)]:
        made = list[_Rendered]()
        for number, row in enumerate(some, done):
            try:
                made.append(renderer.render(row))
            except InputError as error:
                raise InputError(f"conversation {number}: {error}") from None
        batches.append(_encoded(chatter, made, threads))
        done += len(some)
    tokens, masks = TokenBatch.join([each.tokens for each in batches]), [each.mask for each in batches]
    return ChatBatch(tokens, np.concatenate([np.zeros(0, np.bool_), *masks]))


class _Rendered(NamedTuple):
    """A conversation as `encode` takes it, and the characters that the assistant writes."""

    parts: list[Text | Special]
    ranges: list[tuple[int, int]]


class _Renderer:
    """Renders conversations of a batch: messages, or a dict of them with tools and documents."""

    def __init__(
        self, chatter: Chatter, given: Mapping[str, Any], prompt: bool, start: Start | None, end: End | None
    ) -> None:
        self._chatter, self._given, self._prompt, self._policy = chatter, given, prompt, (start, end)
        self._plain = chatter.options(**given)

    def render(self, row: Any) -> _Rendered:
        """Return a conversation."""
        options = self._plain
        if isinstance(row, Mapping):
            _check_keys(row)
            if row.get("tools") is not None or row.get("documents") is not None:
                own = {key: row[key] for key in row.keys() - {"messages"}}
                options = self._chatter.options(**{**self._given, **own})
            row = row.get("messages")
        made = self._chatter.conversation(row, options, prompt=self._prompt)
        return _Rendered([*made.rendering.parts], made.ranges(*self._policy))


def _encoded(chatter: Chatter, made: Sequence[_Rendered], threads: int | None) -> ChatBatch:
    """Return the ids of conversations, and which of them the assistant writes."""
    found = engine_of(chatter.tok).spans.find([each.parts for each in made], "text", threads)
    spans = (found.spans if len(found.spans) else found.byte_spans).reshape(-1, 2)
    bounds = found.offsets.tolist()
    masks = [masked(each.ranges, spans[bounds[k] : bounds[k + 1]]) for k, each in enumerate(made)]
    return ChatBatch(TokenBatch(found.ids, found.offsets), np.concatenate([np.zeros(0, np.bool_), *masks]))


def _check_keys(row: Mapping[Any, Any]) -> None:
    if unknown := sorted(map(str, row.keys() - _ROW)):
        raise InputError(f"expected the keys messages, tools and documents, not {unknown[0]!r:.60}")


# ---------------------------------------------------------------------------------------------------------------------
# A dataset of conversations.


class ChatOptions(TypedDict, total=False):
    """Options of `Tokenizer.chats`, for the conversations of a dataset."""

    template: str
    trusted: Mapping[str, Iterable[str]]
    start: Literal["reply", "turn"]
    end: Literal["token", "line"]
    variables: Mapping[str, Any]


class Dataset:
    """Encodes rows with conversations. key: the field of the messages."""

    def __init__(self, chatter: Chatter, options: ChatOptions, key: str) -> None:
        if unknown := sorted(map(str, options.keys() - ChatOptions.__annotations__.keys())):
            known = ", ".join(ChatOptions.__annotations__)
            raise InputError(f"expected options of chat among {known}, not {unknown[0]!r:.60}")
        if not isinstance(variables := options.get("variables", {}), Mapping):
            raise InputError(f"expected variables as a dict, not {type(variables).__name__}")
        start, end = options.get("start"), options.get("end")
        _check_policy(start, end)
        given: dict[str, Any] = {"tools": None, "documents": None, "template": options.get("template")}
        given |= {"trusted": options.get("trusted"), "variables": variables}
        self._chatter, self._key = chatter, key
        self._renderer = _Renderer(chatter, given, False, start, end)

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields that are read of each row."""
        return (self._key, "tools", "documents")

    def blocks(
        self, rows: Iterable[tuple[object, Any]], reading: Reading, tally: Tally, threads: int
    ) -> Generator[TokenBlock, None, None]:
        """Yield the ids of rows, marked with `MASKED`; CorpusError with the place of one that cannot be encoded."""

        def encode(made: list[_Rendered]) -> TokenBlock:
            tokens, mask = _encoded(self._chatter, made, 1)
            return TokenBlock(np.where(mask, tokens.ids | MASKED, tokens.ids), tokens.offsets[1:])

        return streamed(encode, self._batches(rows, reading, tally), threads, window=2 * threads)

    def _batches(self, rows: Iterable[tuple[object, Any]], reading: Reading, tally: Tally) -> Iterator[list[_Rendered]]:
        made = list[_Rendered]()
        for place, row in rows:
            try:
                made.append(self._renderer.render(self._given(row)))
            except InputError as error:
                tally.refused(f"{place}: {error}", reading.errors)
            if len(made) == AT_ONCE:
                yield made
                made = []
        if made:
            yield made

    def _given(self, row: Any) -> Any:
        """Return messages, tools and documents of a row; tools and documents may be text in JSON, as tables need it."""
        if isinstance(row, list):
            return row
        if not isinstance(row, Mapping):
            raise InputError(f"expected an object with messages, or a list of them, not {type(row).__name__}")
        if self._key not in row:
            found = ", ".join(map(repr, [*row][:20])) or "none"
            raise InputError(f"expected a field {self._key!r}, found {found}; text_column names another")
        given = {"messages": row[self._key]}
        for name in ("tools", "documents"):
            value = row.get(name)
            if isinstance(value, str):
                try:
                    value = json.loads(value)
                except ValueError as error:
                    raise InputError(f"expected {name} as JSON: {error}") from None
            given[name] = value or None
        return given
