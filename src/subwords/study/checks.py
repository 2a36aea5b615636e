"""The checks of an audit, by part of a tokenizer; each yields findings."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords import TokenBatch
from subwords.adapt.words import ids_of_words, ordinary_ids
from subwords.machine import (
    BPE,
    Inserted,
    NormalizerEngine,
    chat_templates_of,
    chatter_of,
    family_of,
    need,
    property_members,
    segmenter_of,
)
from subwords.study.findings import Finding
from subwords.support.errors import InputError, SubwordsError
from subwords.support.names import nearest
from subwords.support.render import quote, text_or_none, token_text

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.chat.conversation import Chatter, Conversation, Options
    from subwords.machine import Model


# ---------------------------------------------------------------------------------------------------------------------
# What checks look at: a tokenizer, and what several checks need of it.


class Subject:
    """A tokenizer under audit."""

    def __init__(self, tokenizer: Tokenizer, threads: int | None = None) -> None:
        self.tokenizer, self.threads = tokenizer, threads
        self.model: Model = tokenizer.model
        self.tokens = list(self.model.vocab)

    def shown(self, index: int) -> str:
        """Return a token as text; bytes that are not a character as \\xNN."""
        return token_text(self.tokens[index])

    def quoted(self, index: int) -> str:
        """Return a token for messages: as Python writes a str, or bytes if it is not text."""
        return quote(self.tokens[index])

    @cached_property
    def ordinary(self) -> NDArray[np.int64]:
        """The ids that text should yield: with a token, neither special nor added, no bytes for unknown characters."""
        return ordinary_ids(self.tokenizer.spec)

    def word_ids(self, words: list[bytes]) -> TokenBatch:
        """Return the ids of words, by the model alone."""
        return ids_of_words(self.model, words, self.threads)

    @cached_property
    def reachable(self) -> NDArray[np.bool_]:
        """Which ids the model makes of any word; True for all that are not ordinary."""
        return segmenter_of(self.model).reachable(self.tokens, self.ordinary, self.word_ids)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of behavior: round trips, cuts within what readers see as one character, special and added tokens.

PROBES = (
    *("a", " a", "a ", "  a  b", "a\nb", "a\r\n\tb", "\n\n", " ", "", "A", "É", "e\u0301", "ﬁ", "½", "①", "Ω"),
    *("the cat's 3.14% of $1,000!", "naïve façade", "文字を数える", "한국어", "ไทย", "हिन्दी", "עברית", "عربى"),
    *("😀👍🏽👨‍👩‍👧🇩🇪", "\u200b\ufeff", "a\u00a0b", "\x00\x07", "\u2581a", "<0x41>", "##a", "Ġa", "a</w>"),
)
MARKED = ("e\u0301", "n\u0303", "क्षि", "กำ", "ที่", "ข้", "மொ", "שָׁ", "ẹ̀", "বাং", "ខ្មែរ", "မြန်")
EMOJI = ("👍🏽", "👨‍👩‍👧", "🇩🇪", "❤️", "1️⃣")


def check_behavior(subject: Subject, texts: Iterable[str] = ()) -> Iterator[Finding]:
    """Yield texts that do not come back, cuts, and special tokens in the way. texts: of a corpus."""
    yield from _round_trips(subject, [*PROBES, *texts])
    yield from _cuts(subject)
    yield from _special(subject)
    yield from _template_findings(subject)


def _round_trips(subject: Subject, texts: list[str]) -> Iterator[Finding]:
    tok, lossless = subject.tokenizer, subject.tokenizer.lossless
    rule = "round-trip" if lossless else "lossy"
    for text in texts:
        try:
            back = tok.decode(tok.encode(text))
        except SubwordsError as error:
            back = None
            if lossless:
                yield Finding(rule, f"{text!r:.60} cannot be encoded: {error!s:.100}", (), (), text)
        if back is not None and back != text:
            yield Finding(rule, f"{text!r:.60} comes back as {back!r:.60}", (), (), text)


def _cuts(subject: Subject) -> Iterator[Finding]:
    splitter = subject.tokenizer.splitter
    for rule, probes in (("cut-grapheme", MARKED), ("cut-emoji", EMOJI)):
        for probe in probes:
            try:
                words = splitter.split(probe)
            except SubwordsError:
                continue
            if len(words) > 1 and "".join(words) == probe:
                yield Finding(rule, f"{probe!r} is cut to {' '.join(map(ascii, words))}", (), (), probe)


def _special(subject: Subject) -> Iterator[Finding]:
    added = subject.tokenizer.spec.added_tokens
    ordinary = {subject.tokens[index]: index for index in subject.ordinary.tolist()}
    contents = {token.content for token in added}
    for token in added:
        named = (token.id,), (token.content,)
        if token.special and token.content.isalnum():
            yield Finding("plain-special", f"{token.content!r} is an ordinary word, and a special token", *named)
        inside = next((other for other in sorted(contents) if token.content != other and token.content in other), None)
        if inside is not None:
            yield Finding("added-overlap", f"{token.content!r} is part of the added token {inside!r}", *named)
        other = ordinary.get(token.content.encode())
        if other is not None and other != token.id:
            message = f"{token.content!r} is added as {token.id}, and an ordinary token as {other}"
            yield Finding("added-overlap", message, (token.id, other), (token.content,))


def _template_findings(subject: Subject) -> Iterator[Finding]:
    """Yield ids that a template or the padding inserts, and that are not those of their tokens."""
    template, padding = subject.tokenizer.template, subject.tokenizer.spec.padding
    found = list[tuple[str, int, str]]()
    if template is not None:
        pieces = [piece for piece in (*template.single, *template.pair) if isinstance(piece, Inserted)]
        found += [("the template", *one) for piece in pieces for one in zip(piece.ids, piece.tokens, strict=True)]
    if padding is not None:
        found.append(("the padding", *padding.filler))
    for where, index, token in dict.fromkeys(found):
        own = subject.tokens[index] if index < len(subject.tokens) else b""
        if own == token.encode():
            continue
        what = f"the token {subject.quoted(index)}" if own else "no token of this vocabulary"
        message = f"{where} inserts {token!r} as {index}, which is {what}"
        yield Finding("template-token", message, (index,) if own else (), (token, where))


# ---------------------------------------------------------------------------------------------------------------------
# Checks of merges: their order, and whether they are ever used.


def check_merges(subject: Subject) -> Iterator[Finding]:
    """Yield merges that come too early, that are never used, and that make special tokens."""
    if not subject.model.merge_count:
        return
    model = need(subject.model, BPE, "audit of merges")
    size, merges = len(model.symbols), model.merges
    first = np.full(size, -1, np.int64)  # the first merge that makes each token; -1 for tokens that no merge makes
    first[merges[::-1, 2]] = np.arange(len(merges))[::-1]
    alive = np.ones(size, np.bool_)
    alive[: len(subject.tokens)] = subject.reachable
    special = np.zeros(size, np.bool_)
    special[list(model.special_ids)] = True

    def pair(rank: int) -> tuple[str, ...]:
        return tuple(token_text(model.symbols[index]) for index in merges[rank, :2].tolist())

    ranks = np.arange(len(merges))
    single = np.diff(model.symbols.offsets) <= (1 if model.byte_level else 4)
    early = (first[merges[:, :2]] > ranks[:, None]) & ~single[merges[:, :2]]
    # Some files have all pairs that join to a token: one of them in time is enough.
    timely = np.zeros(size, np.bool_)
    timely[merges[~early.any(axis=1), 2]] = True
    for rank in np.flatnonzero(early.any(axis=1) & ~timely[merges[:, 2]]).tolist():
        side = int(np.argmax(early[rank]))
        later, names = int(first[merges[rank, side]]), pair(rank)
        message = f"merge {rank} ({names[0]!r} + {names[1]!r}) needs {names[side]!r}, which merge {later} makes"
        yield Finding("merge-order", message, (), names)
    if model.ranks is None:
        for rank in np.flatnonzero(~alive[merges[:, :2]].all(axis=1)).tolist():
            names = pair(rank)
            lost = names[int(np.argmin(alive[merges[rank, :2]]))]
            yield Finding(
                "dead-merge", f"merge {rank} ({names[0]!r} + {names[1]!r}): {lost!r} is unreachable", (), names
            )
    for rank in np.flatnonzero(special[merges[:, 2]]).tolist():
        index, names = int(merges[rank, 2]), pair(rank)
        message = (
            f"merge {rank} makes the special token {subject.shown(index)!r}; here text does not yield it, in HF it does"
        )
        yield Finding("merged-special", message, (index,), (subject.shown(index),), "".join(names))


# ---------------------------------------------------------------------------------------------------------------------
# Checks of reach: is there a text that yields each token? By the model, through the splitter, after the normalizer.

ALONE = "\ue000"  # for private use
# Texts around a token. Where one of them yields the token, it is reached.
CONTEXTS = (
    *("{}", "a{}", "a {}", "{}a", "{} a", "1{}", "{}1", ".{}", "{}.", "\n{}", "{}\n", "A{}a", "{}{}"),
    # No token has this character, so nothing merges across it.
    *(f"{ALONE}{{}}", f"{{}}{ALONE}", f"{ALONE}{{}}{ALONE}", f"a{ALONE}{{}}"),
)
BESIDE = (
    "aeioubcdfghjklmnpqrstvwxyz0123456789"  # before a continuation of WordPiece, after a token that does not end a word
)


def check_reach(subject: Subject) -> Iterator[Finding]:
    """Yield the tokens that no text yields, with the level at which they are lost."""
    tok, reached, why = subject.tokenizer, subject.reachable, family_of(subject.model).tool("audit")
    for index in subject.ordinary[~reached[subject.ordinary]].tolist():
        yield Finding("unreachable-token", why(subject, index), (index,), (subject.shown(index),))
    ids = [
        index
        for index in subject.ordinary[reached[subject.ordinary]].tolist()
        if text_or_none(subject.tokens[index]) is not None
    ]
    plain = tok.with_(normalizer=None) if tok.normalizer is not None else tok
    texts = {index: subject.model.without_marks(subject.tokens[index]).decode("utf-8", "replace") for index in ids}
    lost = _lost(plain, texts, subject)
    for index in lost:
        message = _why_split(subject, plain, index, texts[index])
        yield Finding("split-token", message, (index,), (subject.shown(index),), texts[index])
    if plain is not tok:
        marked = not subject.model.byte_level  # files of SentencePiece write U+2581 for spaces
        known = {*lost}
        left = {index: text for index, text in texts.items() if index not in known}
        typed = {index: text.replace("\u2581", " ") if marked else text for index, text in left.items()}
        for index in _lost(tok, typed, subject):
            token, text = subject.shown(index), typed[index]
            assert tok.normalizer is not None
            after = NormalizerEngine.of(tok.normalizer).escaped(text)
            yield Finding(
                "normalized-token", f"{token!r}: the normalizer makes {after!r} of it", (index,), (token,), text
            )


def wordpiece_unreached(subject: Subject, index: int) -> str:
    """Return why the model makes a piece of no word."""
    return f"{subject.quoted(index)}: no word was found in which a longer piece does not take its place"


def unigram_unreached(subject: Subject, index: int) -> str:
    """Return why the model makes a piece of no word."""
    return f"{subject.quoted(index)}: other pieces have a greater sum of scores: {_own_ids(subject, index)}"


def bpe_unreached(subject: Subject, index: int) -> str:
    """Return why the model makes a token of no word."""
    token, model = subject.quoted(index), need(subject.model, BPE, "audit")
    if model.marked:
        return f"{token}: its symbols do not merge to it"
    got, made = _own_ids(subject, index), np.flatnonzero(model.merges[:, 2] == index)
    if not len(made):
        return f"{token}: no merge makes it; its text gives {got}"
    left, right, _ = model.merges[int(made[0])].tolist()
    pair = f"{quote(model.symbols[left])} + {quote(model.symbols[right])}"  # characters may have no token
    return f"{token}: merge {int(made[0])} ({pair}) makes it, but earlier merges leave {got}"


def wordlevel_unreached(subject: Subject, index: int) -> str:
    """Return why the model makes a token of no word."""
    return f"{subject.quoted(index)}: its text gives {_own_ids(subject, index)}"


def _own_ids(subject: Subject, index: int) -> str:
    """Return what the model makes of the text of a token."""
    ids = subject.word_ids([subject.tokens[index]]).ids.tolist()
    return " ".join(subject.quoted(one) if one < len(subject.tokens) else "unknown" for one in ids[:8])


def _why_split(subject: Subject, plain: Tokenizer, index: int, text: str) -> str:
    token, words = subject.quoted(index), plain.splitter.split(text)
    if len(words) > 1:
        return f"{token} is cut to {' '.join(map(repr, words[:6]))}"
    ids = plain.encode(text)
    if added := [one for one in subject.tokenizer.spec.added_tokens if one.id in ids]:
        return f"{token} is taken by the added token {added[0].id} {added[0].content!r}"
    got = " ".join(subject.quoted(one) for one in ids[:6])
    return f"{token}: its text gives {got}"


def _lost(tok: Tokenizer, texts: dict[int, str], subject: Subject) -> list[int]:
    """Return the ids whose text yields them in none of the contexts."""
    left = np.array([*texts], np.int64)
    before, after = map(bool, subject.model.marks)
    more = [start + "{}" for start in BESIDE] if before else []
    if after:  # a token without it stands before other letters
        more += ["{}" + stop for stop in BESIDE]
    for context in (*CONTEXTS, *more):
        if not len(left):
            break
        ids, offsets = _encoded(tok, [context.replace("{}", texts[index]) for index in left.tolist()], subject.threads)
        owner = np.repeat(np.arange(len(left)), np.diff(offsets))
        hit = np.zeros(len(left), np.bool_)
        hit[owner[ids == left[owner]]] = True
        left = left[~hit]
    return [int(index) for index in left]


def _encoded(tok: Tokenizer, texts: list[str], threads: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of texts and where those of each begin; a text with an unknown word has none."""
    try:
        batch = tok.encode_batch(texts, threads=threads)
        return batch.ids.astype(np.int64), batch.offsets
    except InputError:  # a model without unk token
        rows = []
        for text in texts:
            row: list[int] = []
            with contextlib.suppress(InputError):
                row = tok.encode(text)
            rows.append(row)
        ends = np.cumsum([0, *map(len, rows)])
        return np.array([index for row in rows for index in row], np.int64), ends


# ---------------------------------------------------------------------------------------------------------------------
# Checks of the vocabulary: characters, duplicates, holes, bytes.

REPEATS = 8
NOT_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))  # bytes that UTF-8 never has
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")
_REPEAT = re.compile(rf"(\S)\1{{{REPEATS - 1},}}")


def check_vocabulary(subject: Subject) -> Iterator[Finding]:
    """Yield what is odd about single tokens and about the vocabulary as a whole."""
    yield from _bytes(subject)
    yield from _duplicates(subject)
    yield from _normalized(subject)
    holes = [index for index, token in enumerate(subject.tokens) if not token]
    for index in holes:
        yield Finding("hole", f"id {index} has no token", (index,), (f"<{index}>",))
    unassigned = property_members("Cn")
    for index in subject.ordinary.tolist():
        yield from _token_findings(subject, index, unassigned)


def _token_findings(subject: Subject, index: int, unassigned: NDArray[np.bool_]) -> Iterator[Finding]:
    token, shown = subject.tokens[index], subject.shown(index)
    named = (index,), (shown,)
    text = text_or_none(token)
    if text is None:
        kind = "partial-character" if _is_part(token) else "crossed-characters"
        what = "is a part of a character" if kind == "partial-character" else "cuts characters in two"
        if len(token) > 1:
            yield Finding(kind, f"{subject.quoted(index)} {what}", *named)
        return
    if not text.isascii() and (newer := [char for char in text if unassigned[ord(char)]]):
        yield Finding("newer-character", f"{shown!r} has U+{ord(newer[0]):04X}, unassigned in Unicode 16.0", *named)
    if len(token) > 1 and (found := _CONTROL.search(text)):
        yield Finding("control-character", f"{shown!r} has U+{ord(found[0]):04X}", *named)
    if found := _REPEAT.search(text):
        begin = f"{shown[:60]!r}{'...' * (len(shown) > 60)}"
        yield Finding("long-repeat", f"{begin} repeats {found[1]!r} {len(found[0])} times", *named)


def _is_part(token: bytes) -> bool:
    """Whether bytes are a part of a single character."""
    leads = [place for place, byte in enumerate(token) if byte & 0xC0 != 0x80]
    return len(token) < 4 and (leads in ([0], []))


def _bytes(subject: Subject) -> Iterator[Finding]:
    model = subject.model
    missing = [byte for byte in model.missing_bytes if not (model.byte_level and byte in NOT_UTF8)]
    shown = " ".join(f"0x{byte:02X}" for byte in missing[:8])
    if model.byte_level and not model.words_only:
        if missing and model.unk_id is None:
            yield Finding("missing-bytes", f"{len(missing)} bytes have no token: {shown}", (), ("bytes",))
        return
    known = bool((model.byte_ids >= 0).all())
    if model.byte_fallback and not known:
        yield Finding("missing-bytes", f"{len(missing)} bytes have no token <0xNN>: {shown}", (), ("bytes",))
    if model.unk_id is None and not known:
        yield Finding("no-unknown", "no unknown token, and no tokens for bytes", (), ("unknown",))


def _duplicates(subject: Subject) -> Iterator[Finding]:
    seen: dict[bytes, list[int]] = {}
    for index, token in enumerate(subject.tokens):
        if token:
            seen.setdefault(token, []).append(index)
    for ids in seen.values():
        if len(ids) > 1:
            message = f"{subject.quoted(ids[0])} has the ids {', '.join(map(str, ids))}; text yields one"
            yield Finding("duplicate-token", message, tuple(ids), (subject.shown(ids[0]),))


def _normalized(subject: Subject) -> Iterator[Finding]:
    if subject.tokenizer.normalizer is None:
        return
    normalizer = NormalizerEngine.of(subject.tokenizer.normalizer)
    groups: dict[str, list[int]] = {}
    for index in subject.ordinary.tolist():
        text = text_or_none(subject.tokens[index])
        if text is not None:
            groups.setdefault(normalizer.escaped(f"x{text}x"), []).append(index)
    for ids in groups.values():
        if len(ids) > 1:
            shown = tuple(map(subject.shown, ids))
            alike = ", ".join(map(repr, shown[:5]))
            yield Finding("same-when-normalized", f"the normalizer makes one text of {alike}", tuple(ids), shown)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of chat templates: what they write for small conversations whose words are known.

# What is a control token wherever it is written; <tools> and the like are markup in prose.
_CONTROL_LIKE = re.compile(
    r"<[|｜][^<>|｜{}%\s]+[|｜]?>|<[^<>|｜{}%\s]+[|｜]>|</?s>|<(?:bos|eos|sop|eop|sep|pad|unk)>"
    r"|<(?:start|begin|beginning|end)_of_\w+>"
)
_BRACKETS = re.compile(r"\[/?\w*[A-Z]{3,}\w*\]")  # those of Mistral are control tokens, those of Llama 2 are text
_BERT = frozenset({"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"})
_INNER = re.compile(r"\w+")
LONGEST_PROBE = 64  # characters of a literal that is said in a message
WORDS = {"system": "amber", "user": "birch", "assistant": "cedar", "tool": "dahlia"}
_SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "description": ""}}, "required": ["name"]}
_TOOL = {"type": "function", "function": {"name": "find", "description": "", "parameters": _SCHEMA}}


def check_chat(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the chat templates; InputError without jinja2, if there are any."""
    if not chat_templates_of(subject.tokenizer.spec):
        return
    chatter = chatter_of(subject.tokenizer)
    from subwords.chat.limits import one_budget

    with one_budget():
        found = [one for name in chatter.templates for one in _ChatCheck(chatter, name).findings()]
    yield from found


class _Shape(NamedTuple):
    """How conversations are given: templates differ in what they take.

    in_parts: content as a list of parts. tools: always. as_text: arguments of calls.
    """

    in_parts: bool
    tools: bool
    as_text: bool


class _ChatCheck:
    """A chat template under audit."""

    def __init__(self, chatter: Chatter, name: str) -> None:
        self._chatter, self._name, self._shape = chatter, name, _Shape(False, False, False)
        self._trusted = set[str]()  # what was rendered, of the template and of roles

    def _finding(self, rule: str, message: str, *tokens: str) -> Finding:
        where = "chat template" if self._name == "default" else f"chat template {self._name!r:.40}"
        return Finding(rule, f"the {where} {message}", (), (*tokens, where))

    def findings(self) -> Iterator[Finding]:
        """Yield all findings."""
        try:
            options = self._chatter.options(None, None, self._name, None, {})
        except InputError as error:
            yield self._finding("chat-role", f"does not run: {error}", "every role")
            return
        least = dict[_Shape, list[Finding]]()
        for shape in product((False, True), repeat=3):
            self._shape = _Shape(*shape)
            least[self._shape] = [*self._roles(options)]
            if not least[self._shape]:
                break
        self._shape = min(least, key=lambda shape: len(least[shape]))
        yield from least[self._shape]
        yield from self._literals(options)
        yield from self._prompt(options)
        yield from self._replies(options)
        yield from self._made(options)

    def _literals(self, options: Options) -> Iterator[Finding]:
        own = {token.content for token in self._chatter.tok.added_tokens}
        written = options.template.written | self._trusted
        brackets = {text for text in own if _BRACKETS.fullmatch(text)} - _BERT
        has_any = any(token in text for text in written for token in own) or "_token" in options.template.source
        for pattern in (_CONTROL_LIKE, _BRACKETS) if brackets or not has_any else (_CONTROL_LIKE,):
            for token in sorted({found for text in written for found in pattern.findall(text)} - own):
                message = f"writes {token!r}, which is not an added token: it becomes text{nearest(token, own)}"
                yield self._finding("chat-literal", message, token)

    # ------------------------------------------------------------------ roles

    def _said(self, role: str, text: str | None = None, **entries: Any) -> dict[str, Any]:
        text = WORDS[role] if text is None else text
        return {"role": role, "content": [{"type": "text", "text": text}] if self._shape.in_parts else text, **entries}

    def _asked(self, options: Options) -> dict[str, list[dict[str, Any]]]:
        """Return a conversation for each role that a template should know."""
        user, reply = self._said("user"), self._said("assistant")
        asked = {"user": [user], "assistant": [user, reply, user], "system": [self._said("system"), user]}
        if options.template.takes_tools:
            function = {"name": "find", "arguments": '{"name": "elder"}' if self._shape.as_text else {"name": "elder"}}
            call = {"id": "abcdefghi", "type": "function", "function": function}
            called = self._said("assistant", "", tool_calls=[call])
            asked["tool"] = [user, called, self._said("tool", name="find", tool_call_id=call["id"]), reply]
        return asked

    def _render(
        self, messages: list[dict[str, Any]], options: Options, *, prompt: bool = False, tools: bool = False
    ) -> Conversation:
        if tools or self._shape.tools:
            options = self._chatter.options([_TOOL], None, self._name, None, {})
        return self._chatter.conversation(messages, options, prompt=prompt)

    def _roles(self, options: Options) -> Iterator[Finding]:
        for role, messages in self._asked(options).items():
            try:
                rendering = self._render(messages, options, prompt=True, tools=role == "tool").rendering
            except InputError as error:
                yield self._finding("chat-role", f"cannot render a message of the role {role!r}: {error}", role)
                continue
            self._trusted.update(rendering.trusted())
            if WORDS[role] not in rendering.text:
                yield self._finding("chat-role", f"leaves out what a message of the role {role!r} says", role)

    # ------------------------------------------------------------------ replies

    def _prompt(self, options: Options) -> Iterator[Finding]:
        fault = self._chatter.prompt_fault(options)
        if fault is not None:
            has = "the beginning of the answer is missing" if fault == "lacks" else "it is there always"
            yield self._finding("chat-prompt", f"ignores add_generation_prompt: {has}", "prompt")

    def _replies(self, options: Options) -> Iterator[Finding]:
        words = "cedar", "cypress"
        users = self._said("user"), self._said("user", "beech")
        first, second = (self._said("assistant", word) for word in words)
        try:
            made = self._render([users[0], first, users[1], second], options)
        except InputError:  # a finding of roles
            return
        text = made.rendering.text
        if not all(word in text for word in words):  # as above
            return
        try:
            shown = "".join(text[start:stop] for start, stop in made.ranges(None, None))
        except InputError as error:
            yield self._finding("chat-mask", f"hides the replies: {error}", "replies")
            return
        kind = "marks ({% generation %})" if made.rendering.marks else "replies, as they are found,"
        if lost := [word for word in words if word not in shown]:
            what = "all replies" if lost == [*words] else "the first reply" if lost == [words[0]] else "the last reply"
            yield self._finding("chat-mask", f"writes a text whose {kind} lack {what}", "replies")
        elif WORDS["user"] in shown or "beech" in shown:
            yield self._finding("chat-mask", f"writes a text whose {kind} have what the user says", "replies")
        ends = [reply is not None and reply.end is not None for reply in (made.reply(1), made.reply(3))]
        if not all(ends):
            which = "replies" if not any(ends) else "the last reply" if ends[0] else "replies but the last one"
            yield self._finding("chat-end", f"writes no control token at the end of {which}", "end")

    # ------------------------------------------------------------------ tokens made of what messages say

    def _made(self, options: Options) -> Iterator[Finding]:
        """Say single literals of the template, and words that are within control tokens; look for new tokens."""
        control = options.control
        said = list[str]()
        if "replace" in options.template.source:
            said += sorted({text.strip() for text in options.template.literals if 0 < len(text) <= LONGEST_PROBE})
        inner = {_INNER.sub("", token): found[0] for token in control.tokens if (found := _INNER.search(token))}
        said += [word for marks, word in inner.items() if marks]
        shown = set[str]()
        for word in said:
            if not word:
                continue
            messages = [
                self._said("user", word, name=word),
                self._said("assistant", word, name=word),
                self._said("user", word, name=word),
            ]
            try:
                rendering = self._render(messages, options).rendering
            except InputError:
                continue
            trusted = {start for start, _, _ in rendering.found}
            for start, _, token in rendering.spelled():
                content = token.content
                if start not in trusted and content not in word and content not in shown:
                    shown.add(content)
                    message = f"makes {content!r} where a message says {word!r}: here it is text, elsewhere the token"
                    yield self._finding("chat-replace", message, content)
