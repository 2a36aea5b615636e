"""A conversation and its template: the options it is rendered with, the text, and which of it the assistant writes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords import AddedToken, Special, Text, Tokenizer
from subwords.chat.assistant import ASSISTANT, End, Reply, Start, generation_prompt, reply_of
from subwords.chat.owned_text import Record
from subwords.chat.pieces import Control, Rendering, Spans
from subwords.chat.plain import listed, messages_of, other_shapes, variables_of
from subwords.chat.template import MOST_KEPT, ChatTemplate, TemplateInputError, template_of
from subwords.machine import chat_templates_of, engine_of
from subwords.support.errors import InputError, SubwordsWarning
from subwords.support.names import nearest

_ELSEWHERE = {
    "add_generation_prompt": "prompt=True or prompt=False",
    "continue_final_message": 'resume="content"',
    "chat_template": "template=...",
    "conversation": "messages",
    "sanitize_control_tokens": "nothing: typed control tokens are always text",
    "return_assistant_tokens_mask": "chat.mask()",
    **dict.fromkeys(("tokenize", "return_dict", "return_tensors"), "chat.text or chat.ids"),
    **dict.fromkeys(("padding", "truncation", "max_length"), "nothing: pad or cut chat.ids"),
}


class Options(NamedTuple):
    """What a conversation is rendered with, besides its messages."""

    tools: list[Any] | None
    documents: list[Any] | None
    template: ChatTemplate
    control: Control
    trusted: Mapping[str, Sequence[str]]
    variables: Mapping[str, Any]


class Chatter:
    """The templates of a tokenizer, and their control tokens; made once for a tokenizer."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok: Tokenizer = tok
        spec = tok.spec
        config = dict(spec.foreign.config)
        self.templates: dict[str, str] = chat_templates_of(spec)
        self._named_control: list[str] | None = (
            json.loads(config["chat_control_tokens"]) if "chat_control_tokens" in config else None
        )
        contents = {token.id: token.content for token in spec.added_tokens}
        self.roles: dict[str, str] = {role: contents[index] for role, index in tok.roles.items() if index in contents}
        self._control: dict[str, Control] = {}
        self._faults: dict[str, str | None] = {}  # of the generation prompt, by template
        self.formats: dict[tuple[str, str], Any] = {}  # of answers, by template and variables; see reply_format.py

    def options(
        self,
        tools: object,
        documents: object,
        template: str | None,
        trusted: Mapping[str, Iterable[str]] | None,
        variables: Mapping[str, object],
    ) -> Options:
        """Return the checked options of a conversation."""
        for name in variables:
            if name in _ELSEWHERE:
                raise InputError(f"{name} is not a variable of a template; use {_ELSEWHERE[name]}")
        given = listed(tools, "tools")
        made = template_of(self._source(template, has_tools=given is not None))
        found = variables_of(variables, self.roles)
        return Options(
            given, listed(documents, "documents"), made, self._control_of(made), self._trusted(trusted), found
        )

    def _source(self, template: str | None, *, has_tools: bool) -> str:
        """Return the template: that of a name, or the text itself; as transformers does."""
        names = self.templates
        if template is None:
            name = "tool_use" if has_tools and "tool_use" in names else "default"
            if name in names:
                return names[name]
            raise InputError(
                f"expected a chat template named default; this tokenizer has {', '.join(names)}: pass `template`"
                if names
                else "this tokenizer has no chat template: store one, tok.with_(chat_template=...), or pass `template`"
            )
        if not isinstance(template, str):
            raise InputError(f"expected template as a name or as Jinja text, not {type(template).__name__}")
        if template in names:
            return names[template]
        if template and "{" not in template and "\n" not in template:
            known = f"this tokenizer has {', '.join(names) or 'no templates'}{nearest(template, names)}"
            raise InputError(f"unknown chat template {template!r:.60}: {known}")
        return template

    def _control_of(self, template: ChatTemplate) -> Control:
        """Return the control tokens (H3)."""
        if (found := self._control.get(template.source)) is None:
            added, named = self.tok.added_tokens, self._named_control
            if named is not None:
                if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
                    raise InputError(
                        f"expected chat_control_tokens of the tokenizer as a list of str, not {named!r:.60}"
                    )
                tokens = [added.named(content) for content in named]
            else:
                tokens = [
                    token
                    for token in added
                    if token.special or (token.content.strip() and _is_in(token.content, template))
                ]
            if len(self._control) >= MOST_KEPT:
                self._control.clear()
                self._faults.clear()
            control = Control(tokens, self._told(), self._refused(tokens, template), self._unknown)
            self._control[template.source] = control
            return control
        return found

    @cached_property
    def _unknown(self) -> set[int]:
        """The ids that stand for unknown text, whatever their flags."""
        return {*([] if self.tok.model.unk_id is None else [self.tok.model.unk_id]), *self.tok.model.byte_ids.tolist()}

    def _told(self) -> Iterator[AddedToken]:
        """Yield the added tokens and user-defined pieces that make an id `typed` where a caller spells them (H3)."""
        model = self.tok.model
        pieces = (AddedToken(model.vocab[i].decode(), i, special=False) for i in model.user_ids)
        for token in (*pieces, *self.tok.added_tokens):
            if token.content.strip() and token.id not in self._unknown:
                yield token

    def _refused(self, tokens: Iterable[AddedToken], template: ChatTemplate) -> Iterator[int]:
        """Yield the ids of control tokens that text may yield, and that no text of a caller may (A3)."""
        model = self.tok.model
        named = {self.roles[role] for role in self.roles if f"{role}_token" in template.source}
        for token in tokens:
            if token.id in self._unknown:  # which text may yield, but for what the template writes
                never = token.id == model.unk_id and model.knows_all
                if not never and (token.content in named or _is_in(token.content, template)):
                    yield token.id
            elif token.id not in model.special_ids:
                yield token.id

    def _trusted(self, trusted: Mapping[str, Iterable[str]] | None) -> dict[str, list[str]]:
        if trusted is None:
            return {}
        if not isinstance(trusted, Mapping):
            raise InputError(f"expected trusted as a dict of tokens by role, not {type(trusted).__name__}")
        found = {}
        for role, tokens in trusted.items():
            if isinstance(tokens, str) or not isinstance(tokens, Iterable):
                raise InputError(f"expected trusted[{role!r:.40}] as a list of tokens, not {tokens!r:.60}")
            try:
                found[role] = [self.tok.added_tokens.named(token).content for token in tokens]
            except InputError as error:
                raise InputError(f"trusted[{role!r:.40}]: {error}") from None
        return found

    def render(
        self, messages: Sequence[Record], options: Options, *, prompt: bool, stop: int | None = None, first: int = 0
    ) -> Rendering:
        """Return the text of messages; stop: where it ends. first: the first message whose text is needed."""
        variables = {
            **options.variables,
            "messages": [*messages],
            "tools": options.tools,
            "documents": options.documents,
            "add_generation_prompt": prompt,
        }
        try:
            rendering = Rendering(options.template.pieces(variables, first), options.control, stop)
        except TemplateInputError as error:
            advice = None if error.stopped else self._advice(messages, variables, options.template)
            if advice is None:
                raise
            raise TemplateInputError(f"{error}; {advice}", error.line) from error.__cause__
        if options.control.refused:
            self._check(rendering)
        return rendering

    def _check(self, rendering: Rendering) -> None:
        """Raise InputError for text of a caller that yields a control token (A3)."""
        found = encoded(self.tok, [rendering.parts])
        for origin, text, token in rendering.refused(found.ids, found.spans):
            place = f"messages[{origin.message}]" if origin.message >= 0 else "the text of the caller"
            raise InputError(
                f"{place}, {origin.field or 'a field'}: {text!r:.60} would become the control token "
                f"{token.content!r:.60}, id {token.id}: the model gives this text no other id; replace it"
            )

    def _advice(self, messages: Sequence[Record], variables: Mapping[str, Any], template: ChatTemplate) -> str | None:
        """Return what is to be done to messages that a template fails with, if another shape of them helps."""
        for advice, changed in other_shapes(messages):
            with suppress(InputError):
                template.pieces({**variables, "messages": changed})
                return advice
        return None

    def conversation(self, messages: object, options: Options, *, prompt: bool) -> Conversation:
        """Return messages, rendered, with the beginning of the next answer or without it."""
        records = messages_of(messages, options.trusted)
        rendering = self.render(records, options, prompt=prompt)
        return Conversation(self, records, options, rendering, "prompt" if prompt else "whole")

    def check_prompt(self, options: Options, *, prompt: bool) -> None:
        """Warn if a template that does not read add_generation_prompt writes no prompt where one is asked for, or one.

        Others are not rendered for it: a template that reads it has its own reasons.
        """
        source = options.template.source
        if "add_generation_prompt" in source:
            return
        if source not in self._faults:
            self._faults[source] = self.prompt_fault(options._replace(tools=None, documents=None))
        if self._faults[source] == ("lacks" if prompt else "always"):
            has = "does not end with the beginning of the next answer" if prompt else "ends with it all the same"
            told = f"prompt={prompt}: the chat template does not read add_generation_prompt: the text {has}"
            warnings.warn(told, SubwordsWarning, stacklevel=4)

    def prompt_fault(self, options: Options) -> str | None:
        """Return what is wrong with the generation prompt: "lacks" it, "always" has it, or None.

        It is "lacks" only if text comes before a reply that the prompted text does not end with: some templates have no
        generation prompt, and need none. Found once for a template, by four short conversations.
        """
        words = "birch", "cedar", "beech"
        user, reply, other = (
            {"role": role, "content": word} for role, word in zip(("user", "assistant", "user"), words, strict=True)
        )
        try:
            plain, prompted, replied, asked = (
                self.conversation(said, options, prompt=prompt).rendering.text
                for said, prompt in (
                    ([user], False),
                    ([user], True),
                    ([user, reply], False),
                    ([user, reply, other], False),
                )
            )
        except InputError:
            return None
        (before, _, tail), (_, _, more) = replied.partition(words[1]), asked.partition(words[1])
        if plain != prompted or not before.startswith(plain.rstrip()):
            return None
        if before[len(plain.rstrip()) :].strip():
            return "lacks"
        lead = before.partition(words[0])[2]
        same_end = [] != lead.split()[-1:] == tail.split()[-1:]
        return "always" if same_end and not more.startswith(tail.rstrip()) else None

    def resumed(self, messages: Sequence[Record], options: Options, name: str) -> Rendering:
        """Return the text up to the end of a field of the last message."""
        whole = self.render(messages, options, prompt=False)
        owned = whole.owned(len(messages) - 1, name)
        if not owned:
            raise InputError(
                f"expected text of {name!r:.60} in the last message, to resume it; the template shows none"
            )
        return self.render(messages, options, prompt=False, stop=owned[-1][1])


def _is_in(content: str, template: ChatTemplate) -> bool:
    return any(content in text for text in template.literals)


class EncodedParts(NamedTuple):
    """The ids of texts, the characters of each, int64 of shape (n, 2), and where the ids of each text begin."""

    ids: NDArray[np.uint32]
    spans: Spans
    offsets: NDArray[np.int64]


def encoded(tok: Tokenizer, texts: Sequence[Sequence[Text | Special]], threads: int | None = None) -> EncodedParts:
    """Return texts in parts as ids."""
    found = engine_of(tok).spans.find(texts, "text", threads)
    spans = (found.spans if len(found.spans) else found.byte_spans).reshape(-1, 2)
    return EncodedParts(found.ids, spans, found.offsets)


@dataclass(eq=False)
class Conversation:
    """A rendered conversation and which of its characters the assistant writes.

    known_prompt: the units of the generation prompt, if a conversation that began like this one has found them. first:
    the number of the first message in `messages`; those before it are not kept.
    """

    chatter: Chatter
    messages: list[Record]
    options: Options
    rendering: Rendering
    ends: Literal["prompt", "resumed", "whole"]
    known_prompt: list[str] | None = None
    first: int = 0

    @property
    def count(self) -> int:
        """How many messages there are."""
        return self.first + len(self.messages)

    def kept_from(self, first: int) -> Conversation:
        """Return the same without the messages before a number."""
        messages = self.messages[first - self.first :]
        return replace(self, messages=messages, first=first, known_prompt=self.generation_prompt)

    @cached_property
    def generation_prompt(self) -> list[str]:
        """The units of the generation prompt; empty if a template has none, or renders no part of the conversation."""
        if self.known_prompt is not None:
            return self.known_prompt
        first = next((k for k, each in enumerate(self.messages) if each["role"] in ASSISTANT), len(self.messages))
        for messages in (self.messages[: max(first, 1)], self.messages):
            try:
                plain, prompted = (
                    self.chatter.render(messages, self.options, prompt=prompt) for prompt in (False, True)
                )
            except InputError:
                continue
            return generation_prompt(plain, prompted)
        return []

    @cached_property
    def _room(self) -> int:
        """Where the text ends without its generation prompt."""
        size, end = len(self.rendering.text), "".join(self.generation_prompt) if self.ends == "prompt" else ""
        return size - len(end) if end and self.rendering.text.endswith(end) else size

    def reply(self, message: int, start: Start = "reply", end: End = "token") -> Reply | None:
        """Return the characters of a reply."""
        return reply_of(self.rendering, message, self.generation_prompt, start=start, end=end, room=self._room)

    def replies(self, start: Start, end: End, after: int = 0) -> list[Reply]:
        """Return the replies from a message on; InputError for one that the text lacks."""
        found = []
        for number in range(after, self.count):
            message = self.messages[number - self.first]
            if message["role"] in ASSISTANT:
                reply = self.reply(number, start, end)
                if reply is not None:
                    found.append(reply)
                elif message.get("content"):
                    raise InputError(
                        f"messages[{number}] of the assistant is not in the rendered text, so it has no mask: the "
                        "template leaves it out"
                    )
        return found

    def ranges(self, start: Start | None, end: End | None, after: int = 0) -> list[tuple[int, int]]:
        """Return the characters that the assistant writes."""
        if start is None and end is None and self.rendering.marks:
            return self.rendering.marks
        return [(each.start, each.stop) for each in self.replies(start or "reply", end or "token", after)]
