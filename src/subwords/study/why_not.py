"""why_not: why a string is not one token, and what would have to be otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from subwords.components.byte_alphabet import CHARACTERS, tokens_from_text
from subwords.components.model import Model
from subwords.components.space_rule import SPACE
from subwords.errors import InputError
from subwords.render.report import Report, Table
from subwords.study.explain import explain, words_of
from subwords.study.obstacles import Obstacle, obstacle_of
from subwords.study.steps import Added, Stretch, Word
from subwords.study.trace import Trace
from subwords.support.checks import check_string
from subwords.tokenizer import tokenizer_of

if TYPE_CHECKING:
    from subwords.tokenizer import Tokenizer, TokenizerLike

__all__ = ["WhyNot", "why_not"]


@dataclass(frozen=True)
class WhyNot(Report):
    """Why a string is not one token; made by `why_not`. Immutable.

    ids: of the string. tokens: their texts. obstacles: in the order of the pipeline, empty if the string is one token.
    unk_id: the id of unknown text.
    """

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    obstacles: tuple[Obstacle, ...]
    unk_id: int | None = None

    @property
    def id(self) -> int | None:
        """The id of the string, None if it is not one token."""
        return self.ids[0] if not self.obstacles and len(self.ids) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as dicts, lists, strings and numbers, for JSON."""
        return super().to_dict() | {"id": self.id}

    def tables(self) -> list[Table]:
        """Return the obstacles; "ids then": without this one."""
        rows = [
            (one.kind, one.why, one.instead, None if one.ids_then is None else " ".join(map(str, one.ids_then)))
            for one in self.obstacles
        ]
        return [Table(("obstacle", "why", "without it", "ids then"), rows, "Why not one token", "tab:why-not")]

    def lines(self) -> list[str]:
        """Return the answer in words."""
        if self.id is not None:
            return [f"{self.text!r} is one token: {self.id} {self.tokens[0]!r}"]
        named = " ".join(map(repr, self.tokens)) or "nothing"
        lines = [f"{self.text!r} is {self._number(self.ids)}: {named}"]
        for one in self.obstacles:
            lines.append(f"{one.kind}: {one.why}")
            if one.ids_then is not None:
                still = "still " if one.ids_then == self.ids else ""
                lines.append(f"  {one.instead} it would {still}be {self._number(one.ids_then)}")
        return lines

    def _number(self, ids: tuple[int, ...]) -> str:
        number = "one token" if len(ids) == 1 else f"{len(ids)} tokens"
        if self.unk_id not in ids:
            return number
        return "unknown" if len(ids) == 1 else f"{number}, some of them unknown"


def why_not(tokenizer: TokenizerLike, text: str, *, special: Literal["text", "allow"] = "text") -> WhyNot:
    """Return why a string is not one token: what cuts or changes it before the model, and why the model has no token.

    Each obstacle says what would have to be otherwise, and how many tokens the string would be then; this is computed.
    special: as in `Tokenizer.encode`. Raises InputError for an empty string.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> print(subwords.why_not(tok, "lower"))
    'lower' is 2 tokens: 'low' 'er'
    not learned: 'lower' is not in the vocabulary
      with 1 more merge at the end, 'low' + 'er', it would be one token
    >>> subwords.why_not(tok, "low").id
    257
    """
    tokenizer = tokenizer_of(tokenizer)
    check_string("text", text)
    if not text:
        raise InputError("expected a string to explain, not an empty one")
    trace = explain(tokenizer, text, special=special)
    ids = tuple(trace.ids)
    tokens = tuple(trace.tokens[index] for index in ids)
    if len(ids) == 1 and ids[0] != tokenizer.model.unk_id:
        return WhyNot(text, ids, tokens, (), tokenizer.model.unk_id)
    found = [*_added(tokenizer, trace, special), *_spelled(tokenizer, text), *_before(tokenizer, trace)]
    joint = "".join(map(_joint, (part for part in trace.parts if isinstance(part, Stretch))))
    if joint and not any(isinstance(part, Added) for part in trace.parts):
        inner = obstacle_of(tokenizer.model, joint.encode())
        found += [] if inner is None else [inner]
    return WhyNot(text, ids, tokens, tuple(found), tokenizer.model.unk_id)


def _ids(tokenizer: Tokenizer, text: str, special: Literal["text", "allow"] = "text") -> tuple[int, ...]:
    return tuple(tokenizer.encode(text, special=special))


def _added(tokenizer: Tokenizer, trace: Trace, special: Literal["text", "allow"]) -> list[Obstacle]:
    text, found = trace.text, list[Obstacle]()
    cut = [part for part in trace.parts if isinstance(part, Added)]
    if cut:
        kept = [token for token in tokenizer.spec.added_tokens if token.id not in {part.id for part in cut}]
        names = ", ".join(f"{part.text!r} at {part.span[0]}" for part in cut)
        instead, then = "without these added tokens", None
        try:
            then = _ids(tokenizer.with_(added_tokens=kept, template=None), text, special)
        except InputError:
            instead = ""  # the text needs them: the rest has characters that the model does not know
        why = f"it contains {names}, which is cut out before anything else"
        places = tuple(place for part in cut for place in part.span)
        found.append(Obstacle("added token", why, places, instead, then))
    if special == "text" and (own := [token for token in tokenizer.spec.added_tokens if token.content == text]):
        why = f"it is the special token {own[0].id}, but special tokens in a text are read as ordinary text"
        found.append(Obstacle("special token", why, (), 'with special="allow"', _ids(tokenizer, text, special="allow")))
    return found


def _spelled(tokenizer: Tokenizer, text: str) -> list[Obstacle]:
    """Return the obstacle of a string that is spelled as tokenizer files spell a token."""
    model = tokenizer.model
    token = text.encode()
    if model.continues(token) and token in model.vocab.ids:
        prefix = model.marks[0].decode()
        why = f"token {model.vocab.ids[token]} continues a word: {prefix!r} is not part of its text"
        return [Obstacle("spelling", why)]
    for meant in _meant(model, text):
        ids = tokenizer.encode(meant)
        if len(ids) == 1 and ids[0] != model.unk_id:
            why = f"this is how a file spells token {ids[0]}, whose text is {meant!r}"
            return [Obstacle("spelling", why, (), f"as {meant!r}", tuple(ids))]
    return []


def _meant(model: Model, text: str) -> list[str]:
    """Return the texts that someone may mean who copies a token from a tokenizer's file."""
    if model.byte_level:
        if text.isascii() or not CHARACTERS.issuperset(text):
            return []
        (content,) = tokens_from_text([text])
        try:
            return [content.decode()]
        except UnicodeDecodeError:
            return []
    if SPACE in text and text.strip(SPACE):
        return [text.replace(SPACE, " ").removeprefix(" "), text.replace(SPACE, " ")]
    return []


def _before(tokenizer: Tokenizer, trace: Trace) -> list[Obstacle]:
    """Return what the normalizer and the splitter do to the string."""
    found = list[Obstacle]()
    parts = [part for part in trace.parts if isinstance(part, Stretch)]
    if changes := [change for part in parts for change in part.changes]:
        names = ", ".join(f"{change.before!r} to {change.after!r} at {change.span[0]}" for change in changes)
        instead, then = "without the normalizer", None
        try:
            then = _ids(tokenizer.with_(normalizer=None), trace.text)
        except InputError:
            instead = ""  # the rest has characters that the model does not know
        places = tuple(change.span[0] for change in changes)
        found.append(Obstacle("normalizer", f"the normalizer changes {names}", places, instead, then))
    for part in parts:
        if len(part.words) > 1:
            found.append(_cut(tokenizer, trace, part))
    return found


def _cut(tokenizer: Tokenizer, trace: Trace, part: Stretch) -> Obstacle:
    places = tuple(word.span[0] for word in part.words[1:])
    steps = sorted({word.step for word in part.words if word.step is not None})
    if len(trace.alternatives) > 1:
        how = [_by(word, trace) for word in part.words]
        why = f"the pattern splits it into {', '.join(how)}"
    else:
        by = [f" (step {step}: {trace.steps[step]:.80})" for step in steps]
        why = f"the splitter cuts it into {' '.join(repr(word.text) for word in part.words)}{''.join(by)}"
    instead = f"without the cut{'s' * (len(places) > 1)} at {', '.join(map(str, places))}"
    try:
        then = words_of(tokenizer.model).segmented(_joint(part).encode(), [0.0]).replayed()
    except InputError:
        return Obstacle("splitter", why, places)
    return Obstacle("splitter", why, places, instead, then)


def _joint(part: Stretch) -> str:
    """Return the words of a stretch as one, with the text between them if the splitter drops it."""
    places, at = list[int](), 0
    for word in part.words:
        at = part.normalized.find(word.text, at)
        if at < 0:
            return "".join(word.text for word in part.words)
        places.append(at)
        at += len(word.text)
    return part.normalized[places[0] : at] if places else ""


def _by(word: Word, trace: Trace) -> str:
    """Return a word and the alternative of the pattern that matched it."""
    return repr(word.text) + ("" if word.alternative is None else f" by {trace.alternatives[word.alternative]}")
