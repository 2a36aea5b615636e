"""Conversations to ids: `Chat`, what it grows to when it is answered, and batches of conversations with masks."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from subwords import Special, Text, TokenBatch
from subwords.chat.assistant import End, Start
from subwords.chat.conversation import Chatter, Conversation, Options, encoded
from subwords.chat.pieces import Spans, masked
from subwords.chat.plain import messages_of
from subwords.machine import DECODED_BEFORE, TokenBlock, as_ids, batch_of, engine_of, first_difference
from subwords.support.checks import check_choice, check_flag
from subwords.support.errors import InputError
from subwords.support.threads import streamed
from subwords.tokens.formats import MASKED

if TYPE_CHECKING:
    from subwords import Reading
    from subwords.chat.reply import ChatReply, Opening
    from subwords.machine import Tally

_Ids: TypeAlias = NDArray[np.uint32]
AT_ONCE = 256  # conversations that are encoded together
_ROW = frozenset({"messages", "tools", "documents"})


def _check_policy(start: object, end: object) -> None:
    for name, value, choices in (("start", start, ("reply", "turn")), ("end", end, ("token", "line"))):
        if value is not None:
            check_choice(name, value, choices)


class _History(NamedTuple):
    """What comes before the new text of a chat: an earlier chat and the ids of its answer.

    message: the number of the answer. token: the number of the control token that ends its turn, or that comes right
    after it in a template without such tokens; in the new rendering.
    open_end: whether the answer lacks it.
    """

    chat: _Section
    ids: _Ids
    message: int
    token: int
    open_end: bool

    @property
    def stop(self) -> int:
        """How many ids there are."""
        return self.chat.stop + len(self.ids)


class _Section:
    """The text that is encoded for a chat: all of it, or after an answer what comes from its end token on.

    A chat is a chain of them with answers between, so that nothing before the new text is looked at again, unless
    something asks who wrote it.
    """

    def __init__(self, made: Conversation, before: _History | None = None) -> None:
        self.made: Conversation = made
        self.before: _History | None = before
        self.start: int = 0 if before is None else before.stop

    @property
    def stop(self) -> int:
        """How many ids there are up to its end."""
        return self.start + len(self.ids)

    @cached_property
    def _encoded(self) -> list[Text | Special]:
        """The parts that are encoded; those of an end token that the answer has are left out afterwards."""
        return self.made.rendering.parts_from(0 if self.before is None else self.before.token)

    @cached_property
    def _skip(self) -> int:
        return int(self.before is not None and not self.before.open_end)

    @property
    def parts(self) -> list[Text | Special]:
        """The parts of its text."""
        return self._encoded[self._skip :]

    @cached_property
    def ids(self) -> _Ids:
        """Its ids, uint32."""
        return engine_of(self.made.chatter.tok).encode(self._encoded, "text")[self._skip :]

    @cached_property
    def spans(self) -> Spans:
        """The characters of each id, int64 of shape (n, 2), in the rendered text."""
        spans = encoded(self.made.chatter.tok, [self._encoded]).spans
        return spans if self.before is None else (spans + self.made.rendering.found[self.before.token][0])[self._skip :]

    def owners_at(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the owner of each of some characters."""
        rendering = self.made.rendering
        at = np.searchsorted(rendering.stops, places, "right")
        return rendering.owners[np.clip(at, 0, len(rendering.runs) - 1)]

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Which ids have characters of several owners."""
        first, last = self.spans.T
        found: NDArray[np.bool_] = (self.owners_at(first) != self.owners_at(last - 1)) & (first < last)
        return found

    @property
    def typed(self) -> NDArray[np.bool_]:
        """Which ids are text of a caller that spells an added token."""
        return self.made.rendering.typed(self.ids, self.spans)

    @property
    def control(self) -> NDArray[np.bool_]:
        """Which ids are control tokens."""
        return self.made.rendering.controls(self.ids, lambda: self.spans)

    def kept(self) -> _Section:
        """Return the same for the chain of a longer chat: without the messages that others have."""
        if self.before is None:
            return self
        found = _Section(self.made.kept_from(self.before.message + 1), self.before)
        found.__dict__["ids"] = self.ids
        return found


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

    def __init__(self, made: Conversation, before: _History | None = None) -> None:
        self._made, self._last = made, _Section(made, before)

    @property
    def _sections(self) -> list[_Section]:
        """All of them, in order; `before` of each is the answer between it and the one before."""
        found = [self._last]
        while (before := found[-1].before) is not None:
            found.append(before.chat)
        return found[::-1]

    def _joined(self, own: Callable[[_Section], NDArray[Any]], answer: Callable[[_History], NDArray[Any]]) -> Any:
        """Return arrays of one value for each id, joined: of the sections and of the answers between them."""
        found = list[NDArray[Any]]()
        for each in self._sections:
            if each.before is not None:
                found.append(answer(each.before))
            found.append(own(each))
        return found[0] if len(found) == 1 else np.concatenate(found)

    # ------------------------------------------------------------------ ids and text

    @cached_property
    def ids(self) -> _Ids:
        """The ids, uint32."""
        found: _Ids = self._joined(lambda each: each.ids, lambda before: before.ids)
        return found

    @cached_property
    def parts(self) -> tuple[Text | Special, ...]:
        """The text between control tokens, and these: `tok.encode(chat.parts)` gives the ids, but for given ones."""
        if self._last.before is None:
            return self._made.rendering.parts
        found = list[Text | Special]()
        for each in self._sections:
            if each.before is not None:
                _join(found, _parts_of(each.before, self._made, self.ids[: each.before.chat.stop]))
            _join(found, each.parts)
        return (*found,)

    @property
    def text(self) -> str:
        """The text: what the template writes, or after an answer the text of its ids."""
        if self._last.before is None:  # cutting it into parts took a third of the time (chat, Llama 3.1, text)
            return self._made.rendering.text
        return "".join(part.token if isinstance(part, Special) else str(part.text) for part in self.parts)

    @cached_property
    def drift(self) -> int | None:
        """The first id that encoding the text again would change; None if there is none: only given ids differ."""
        if self._last.before is None:
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
    def owners(self) -> NDArray[np.int32]:
        """Who owns the first character of each id: the number of a message, -1 the template, -2 tools and others.

        int32, one per id. Text of the template within the turn of a message is of this message; -1 is outside turns.
        """
        found: NDArray[np.int32] = self._joined(
            lambda each: each.owners_at(each.spans[:, 0]),
            lambda before: np.full(len(before.ids), before.message, np.int32),
        )
        return found

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """The places of ids whose characters have several owners, such as a space and the word after it."""
        return np.flatnonzero(self._joined(lambda each: each.shared, _no))

    @cached_property
    def control(self) -> NDArray[np.bool_]:
        """Which ids are control tokens, bool, one per id: the template wrote these, or the model in an answer."""
        written = self._made.options.control.ids
        found: NDArray[np.bool_] = self._joined(lambda each: each.control, lambda before: np.isin(before.ids, written))
        return found

    @cached_property
    def typed(self) -> NDArray[np.bool_]:
        """Which ids are text of a caller that spells an added token, bool, one per id: perhaps to inject it (H3)."""
        found: NDArray[np.bool_] = self._joined(lambda each: each.typed, _no)
        return found

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """The ids of each message, with the template's text around it, as (start, stop); (0, 0) if it has none."""
        found = list[tuple[int, int]]()
        for each in self._sections:
            if (before := each.before) is not None:
                start = found[before.message][0] if before.message < len(found) else before.chat.stop
                found[before.message :] = [(start, before.stop)]
            starts = each.spans[:, 0]
            for number in range(len(found), each.made.count):
                first, last = each.made.rendering.turn(number)
                at, upto = (int(np.searchsorted(starts, place, "left")) + each.start for place in (first, last))
                found.append((at, upto) if first < last else (0, 0))
        return found

    def mask(self, *, start: Start | None = None, end: End | None = None) -> NDArray[np.bool_]:
        """Return which ids the assistant writes, bool: for a loss on its replies (ALGORITHMS.md, H4).

        start: "reply" begins after the generation prompt, "turn" with it. end: "token" ends with the control token that
        ends the turn, "line" with the newline after it. None for both: the template's `{% generation %}` if it has it,
        else "reply" and "token"; `mask_source` says which. Raises InputError for a reply that the text lacks.
        """
        _check_policy(start, end)
        if self._last.before is not None and (start is not None or end is not None):
            raise InputError("start and end do not apply after an answer: all of its ids are in the mask")

        def own(each: _Section) -> NDArray[np.bool_]:
            after = 0 if each.before is None else each.before.message + 1
            try:
                return masked(each.made.ranges(start, end, after), each.spans)
            except InputError:
                if each is self._last:
                    raise
                told = "a message before the answer has no mask: ask tok.chat(messages).mask() why"
                raise InputError(told) from None

        found: NDArray[np.bool_] = self._joined(own, lambda before: np.ones(len(before.ids), np.bool_))
        return found

    @property
    def mask_source(self) -> str:
        """What `mask()` is found by: "marks" of the template, "turns", or "owners" if a turn has no known beginning."""
        if self._made.rendering.marks:
            return "marks"
        return "owners" if any(each.by == "owners" for each in self._made.replies("reply", "token")) else "turns"

    # ------------------------------------------------------------------ token in, token out

    def reply(self, *, commit: Literal["certain", "earliest"] = "certain") -> ChatReply:
        """Return a reader of the answer to this prompt: its ids become events, then a message; see `ChatReply`.

        commit: "earliest" ends a text at the first tag after which the next field begins, and tells it then: for
        templates whose tags are text, which a text may spell; such an answer is "chosen". Raises InputError for a chat
        that does not end with a prompt, and for a template whose answers cannot be read back: then before the model has
        run.
        """
        from subwords.chat.reply import ChatReply

        if self._made.ends != "prompt":
            raise InputError("expected a chat that ends with a prompt; use tok.chat(messages, prompt=True)")
        check_choice("commit", commit, ("certain", "earliest"))
        return ChatReply(self._opening, self.ids.tolist(), earliest=commit == "earliest")

    @cached_property
    def _opening(self) -> Opening:
        from subwords.chat.reply import opening_of

        return opening_of(self._made)

    def answered(self, ids: Iterable[int] | ChatReply, message: Mapping[str, Any] | None = None) -> Answered:
        """Return the chat with the model's answer: its ids stay as they are, whatever is added.

        ids: what the model wrote after this prompt, with the token that ends the turn or without it; or a finished
        `reply()`, which has the message. message: the same as a message, with `tool_calls` if results follow; after
        `resume=`, the whole message. Raises InputError for a chat without a prompt and for ids that do not exist.
        """
        from subwords.chat.reply import ChatReply

        if isinstance(ids, ChatReply):
            message = ids.message if message is None else message
            ids = ids.ids
        if message is None:
            raise InputError("expected the answer as a message too: chat.answered(ids, message), or chat.reply()")
        if self._made.ends == "whole":
            raise InputError("expected a chat that ends with a prompt; use tok.chat(messages, prompt=True) or resume=")
        given = as_ids(ids).copy()
        self._made.chatter.tok.decode(given.tolist())  # raises InputError
        return Answered(self, given.astype(np.uint32), message)


class Answered:
    """A chat and the model's answer, to which messages can be added; made by `Chat.answered`."""

    def __init__(self, chat: Chat, ids: _Ids, message: Mapping[str, Any]) -> None:
        self._chat, self._ids = chat, ids
        made = chat._made
        kept = made.messages[:-1] if made.ends == "resumed" else made.messages
        self._messages = [*kept, *messages_of([message], made.options.trusted, len(kept))]

    def add(self, *messages: Mapping[str, Any], prompt: bool = True) -> Chat:
        """Return the chat with more messages: the ids so far, then those of the new text.

        Only what is after the answer is encoded, and of what is before it, only what later text depends on is rendered
        again (ALGORITHMS.md, H6); an end token is added if the answer lacks it. In some templates, that token begins
        the next turn. Raises InputError if the template writes no such token.
        """
        check_flag("prompt", prompt)
        made, number = self._chat._made, len(self._messages) - 1
        options = made.options
        records = [*self._messages]
        if messages:
            records += messages_of(messages, options.trusted, len(records))
        rendering = made.chatter.render(records, options, prompt=prompt, first=number)
        ends: Literal["prompt", "whole"] = "prompt" if prompt else "whole"
        whole = Conversation(made.chatter, records, options, rendering, ends, made.generation_prompt or None)
        reply = whole.reply(number)
        token = None if reply is None else rendering.token_at(reply.stop) if reply.end is None else reply.end
        if token is None:
            raise InputError(
                f"expected a control token at the end of the turn of messages[{number}] or right after it, where text "
                "may be added; the template writes none: use tok.chat(messages)"
            )
        open_end = not len(self._ids) or int(self._ids[-1]) != rendering.found[token][2].id
        return Chat(whole, _History(self._chat._last.kept(), self._ids, number, token, open_end))

    def __repr__(self) -> str:
        return f"Answered({len(self._messages)} messages, {len(self._chat) + len(self._ids)} ids)"


def _no(before: _History) -> NDArray[np.bool_]:
    return np.zeros(len(before.ids), np.bool_)


def _parts_of(answer: _History, made: Conversation, prompt: _Ids) -> Iterator[Text | Special]:
    """Yield the parts of an answer's ids: control tokens, and the text between them, after the prompt."""
    tok, control = made.chatter.tok, made.options.control
    contents = {token.id: token.content for token in control.tokens.values()}
    before, run = [*prompt[-DECODED_BEFORE:].tolist()], list[int]()
    for index in (*answer.ids.tolist(), None):
        if index is not None and index not in contents:
            run.append(index)
            continue
        if run:
            stream = tok.stream(prompt=before[-DECODED_BEFORE:])
            text = stream.step(run) + stream.finish()
            if text:
                yield Text(text, as_text=control.as_text)
            before += run
            run = []
        if index is not None:
            yield Special(contents[index])
            before.append(index)


def _join(parts: list[Text | Special], more: Iterable[Text | Special]) -> None:
    """Append the parts of the text that follows; text beside text becomes one part."""
    for part in more:
        if parts and isinstance(last := parts[-1], Text) and isinstance(part, Text):
            parts[-1] = Text(f"{last.text!s}{part.text!s}", as_text=part.as_text)
        else:
            parts.append(part)


def chat(chatter: Chatter, messages: object, options: Options, *, prompt: bool | None, resume: str | None) -> Chat:
    """Return a conversation as ids; see `Tokenizer.chat`."""
    if prompt is not None:
        check_flag("prompt", prompt)
    if resume is None:
        chatter.check_prompt(options, prompt=prompt is None or prompt)
        return Chat(chatter.conversation(messages, options, prompt=prompt is None or prompt))
    if prompt:
        raise InputError("expected prompt=True or resume=, not both: prompt begins a message, resume continues one")
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
            if unknown := sorted(map(str, row.keys() - _ROW)):
                raise InputError(f"expected the keys messages, tools and documents, not {unknown[0]!r:.60}")
            if row.get("tools") is not None or row.get("documents") is not None:
                own = {key: row[key] for key in row.keys() - {"messages"}}
                options = self._chatter.options(**{**self._given, **own})
            row = row.get("messages")
        made = self._chatter.conversation(row, options, prompt=self._prompt)
        return _Rendered([*made.rendering.parts], made.ranges(*self._policy))


def _encoded(chatter: Chatter, made: Sequence[_Rendered], threads: int | None) -> ChatBatch:
    """Return the ids of conversations, and which of them the assistant writes."""
    found = encoded(chatter.tok, [each.parts for each in made], threads)
    spans = found.spans
    bounds = found.offsets.tolist()
    masks = [masked(each.ranges, spans[bounds[k] : bounds[k + 1]]) for k, each in enumerate(made)]
    return ChatBatch(batch_of(found.ids, found.offsets), np.concatenate([np.zeros(0, np.bool_), *masks]))


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
