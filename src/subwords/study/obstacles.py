"""why_not: why a string is not one token, and what would have to be otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from subwords import WordCounts
from subwords.machine import (
    BPE,
    CHARACTERS,
    GRAINS,
    SPACE,
    Model,
    Symbol,
    Unigram,
    WordLevel,
    WordPiece,
    family_of,
    segmenter_of,
    tokenizer_of,
    tokens_from_text,
    word_symbols,
)
from subwords.study.explanation import Trace, explain, ids_of_word
from subwords.study.segments import Added, BPEWords, Lattice, Merging, Pair, Span, Stretch, UnigramWords
from subwords.support.checks import check_instance, check_string
from subwords.support.errors import InputError
from subwords.support.render import Written, as_written, text_or_none, token_text
from subwords.support.report import Report, Table

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.machine import TokenizerLike


# ---------------------------------------------------------------------------------------------------------------------
# Obstacles: why a word is not one token of its model, and what it would be without the obstacle.

MOST_REMOVED = 8  # merges that a counterfactual leaves out


@dataclass(frozen=True)
class Obstacle:
    """Something that keeps a string from being one token.

    kind: "added token", "special token", "spelling", "normalizer" or "splitter" before the model; "not learned",
    "shadowed", "lower score", "unknown", "too long" or "no merge" in it. why: one sentence. places: characters of the
    string, if it is cut or changed there. instead: the condition without the obstacle ("if it were in the vocabulary"),
    "" if none is known. ids_then: the ids in that case, computed; None if `instead` is "". Ids beyond the vocabulary
    are those of new tokens. merges: for "shadowed", the ranks of the merges that get in the way.
    """

    kind: str
    why: str
    places: tuple[int, ...] = ()
    instead: str = ""
    ids_then: tuple[int, ...] | None = None
    merges: tuple[int, ...] = ()


def obstacle_of(model: Model, word: bytes) -> Obstacle | None:
    """Return why a word is not one token; None if it is one."""
    found: Obstacle | None = family_of(model).tool("why_not")(model, word)
    return found


def wordlevel_obstacle(model: WordLevel, word: bytes) -> Obstacle | None:
    """Return why a word is not one of the words of a model; None if it is."""
    if word in model.vocab.ids and model.vocab.ids[word] not in model.special_ids:
        return None
    return _not_learned(word, "if it were one of the words", (len(model.vocab),))


def _not_learned(word: bytes, instead: str, then: tuple[int, ...]) -> Obstacle:
    return Obstacle("not learned", f"{as_written(token_text(word))} is not in the vocabulary", (), instead, then)


def _special(model: Model, index: int) -> Obstacle | None:
    if index not in model.special_ids:
        return None
    return Obstacle("special token", f"token {index} is special, unused or a byte: the model never yields it for text")


# ------------------------------------------------------------------ WordPiece


def wordpiece_obstacle(model: WordPiece, word: bytes) -> Obstacle | None:
    """Return why a word is not one piece; None if it is one."""
    size, index = len(word.decode("utf-8", "surrogateescape")), model.vocab.ids.get(word)
    if index is not None and (special := _special(model, index)):
        return special
    if size > model.max_chars:
        longer = replace(model, max_chars=size)
        why = f"it has {size} characters, more than {model.max_chars} (max_chars): the word is unknown"
        return Obstacle("too long", why, (), f"with max_chars={size}", ids_of_word(longer, word))
    if index is not None:
        return None
    longer = replace(model, vocab=model.vocab.with_more([word]))
    return _not_learned(word, "if it were in the vocabulary", ids_of_word(longer, word))


# ------------------------------------------------------------------ Unigram


def unigram_obstacle(model: Unigram, word: bytes) -> Obstacle | None:
    """Return why a word is not one piece; None if it is one."""
    found = UnigramWords(model).segmented(word, [0.0])
    if len(found.best) == 1 and found.pieces[found.best[0]].id is not None:
        return None
    index = model.vocab.ids.get(word)
    if index is not None and (special := _special(model, index)):
        return special
    needed = float(np.floor(found.score * GRAINS + 1) / GRAINS)  # scores are multiples of 1 / GRAINS
    instead = f"with a score of {needed:.4f}"
    if index is None:
        scores = np.append(model.scores, needed)
        changed = replace(model, vocab=model.vocab.with_more([word]), scores=scores)
        return _not_learned(word, f"if it were in the vocabulary {instead}", ids_of_word(changed, word))
    scores = model.scores.copy()
    scores[index] = needed
    own = next(piece.score for piece in found.pieces if piece.id == index)
    why = f"its score is {own:.4f}, and the best path has {found.score:.4f}: {_path(found, word)}"
    return Obstacle("lower score", why, (), instead, ids_of_word(replace(model, scores=scores), word))


def _path(found: Lattice, word: bytes) -> str:
    text = word.decode("utf-8", "surrogateescape")
    parts = (text[found.pieces[k].start : found.pieces[k].stop] for k in found.best)
    return " ".join(repr(part.encode("utf-8", "surrogateescape").decode("utf-8", "replace")) for part in parts)


# ------------------------------------------------------------------ BPE


def bpe_obstacle(model: BPE, word: bytes) -> Obstacle | None:
    """Return why a word is not one token; None if it is one."""
    words, index = BPEWords(model), model.vocab.ids.get(word + model.suffix)
    found = words.segmented(word, [0.0])
    ids = found.replayed()
    if len(ids) == 1 and ids[0] != model.unk_id:
        return None
    if index is not None and (special := _special(model, index)):
        return special
    if index is not None and index in model.unused_ids:
        return Obstacle("special token", f"token {index} is unused: it is split into its parts after merging")
    if not isinstance(found, Merging):
        instead, then = "", None
        if model.words_only:
            instead, then = "if it were in the vocabulary", (len(model.vocab),)
        return Obstacle("unknown", "none of its characters is in the vocabulary", (), instead, then)
    if model.unk_id is not None and model.unk_id in found.symbols:
        return Obstacle("unknown", "the alphabet lacks at least one of its characters")
    return (_unlearned if index is None else _shadowed)(model, words, found, word)


def _unlearned(model: BPE, words: BPEWords, found: Merging, word: bytes) -> Obstacle:
    """Return the obstacle of a word that is not in the vocabulary: more merges would join its tokens."""
    tokens, more = found.left, dict[Pair, Pair]()
    last = len(model.merges) + len(model.symbols) if model.ranks is None else 1 << 40
    new, joint = len(model.symbols), tokens[0]
    for k, token in enumerate(tokens[1:]):
        more[joint, token] = last + k, new + k
        joint = new + k
    names = " + ".join(_name(model, token) for token in tokens)
    number = "1 more merge" if len(tokens) == 2 else f"{len(tokens) - 1} more merges"
    then = words.merging([*word_symbols(model, word)], more=more).left
    return _not_learned(word, f"with {number} at the end, {names},", then)


def _shadowed(model: BPE, words: BPEWords, found: Merging, word: bytes) -> Obstacle:
    """Return the merges that keep a token of the vocabulary from being made."""
    symbols, index = [*word_symbols(model, word)], model.vocab.ids[word + model.suffix]
    needed, ranks = _needed(model, symbols, index), segmenter_of(model).pairs
    if needed is None:
        return Obstacle("no merge", f"token {index} is in the vocabulary, but no merge makes it")

    def named(pair: Pair) -> str:
        return f"{_name(model, pair[0])} + {_name(model, pair[1])}"

    def wrong(now: Merging) -> Pair | None:
        merges = zip(now.merges, now.spans(), strict=True)
        return next(((merge.left, merge.right) for merge, span in merges if span not in needed), None)

    last, first = next(iter(needed.values())), wrong(found)
    own = f"{named(last)} (rank {ranks[last][0]})"
    if first is None:
        return Obstacle("no merge", f"the merge that makes it, {own}, has parts that its text does not become")
    removed, now, other = dict[Pair, int](), found, wrong(found)
    while len(now.left) > 1 and len(removed) < MOST_REMOVED and other and other not in needed.values():
        removed[other] = ranks[other][0]
        now = words.merging(symbols, removed)
        other = wrong(now)
    rank = ranks[first][0]
    why = f"the merge that makes it, {own}, finds no pair: {named(first)} (rank {rank}) comes first"
    if not removed or len(now.left) > 1:
        return Obstacle("shadowed", why, merges=(rank,))
    instead = f"without the merge{'s' * (len(removed) > 1)} {' and '.join(map(named, removed))}"
    return Obstacle("shadowed", why, (), instead, now.left, (*removed.values(),))


def _needed(model: BPE, symbols: Sequence[Symbol], index: int) -> dict[Span, Pair] | None:
    """Return the pairs that make a token, its own first, by the range of symbols that each covers."""
    found, todo = dict[Span, Pair](), [(index, 0, len(symbols))]
    for token, start, stop in todo:
        if stop - start == 1:
            if symbols[start].id != token:
                return None
            continue
        pairs = model.merges[model.merges[:, 2] == token, :2].tolist()
        sized = [(left, right, start + _size(model, left)) for left, right in pairs]
        left, right, middle = next((row for row in sized if row[2] < stop), (0, 0, 0))  # of the lowest rank
        if not middle:
            return None
        found[start, stop] = left, right
        todo += [(left, start, middle), (right, middle, stop)]
    return found


def _size(model: BPE, token: int) -> int:
    """Return the number of symbols of a token."""
    content = model.symbols[token].removeprefix(model.prefix).removesuffix(model.suffix)
    return len(content) if model.byte_level else len(content.decode("utf-8", "surrogateescape"))


def _name(model: BPE, token: int) -> str:
    return as_written(token_text(model.symbols[token]))


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

    def lines(self, written: Written = as_written) -> list[str]:
        """Return the answer in words. written: how a token is written."""
        if self.id is not None:
            return [f"{self.text!r} is one token: {self.id} {written(self.tokens[0])}"]
        named = " ".join(map(written, self.tokens)) or "nothing"
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


def why_not(
    tokenizer: TokenizerLike,
    text: str,
    *,
    special: Literal["text", "allow"] = "text",
    counts: WordCounts | None = None,
) -> WhyNot:
    """Return why a string is not one token: what cuts or changes it before the model, and why the model has no token.

    Each obstacle says what would have to change, and how many tokens the string would be then; this is computed.
    special: as in `Tokenizer.encode`. counts: word counts of a corpus, such as the one it was trained on; a string that
    was not learned then says how often it occurs there. Raises InputError for an empty string.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> print(subwords.study.why_not(tok, "lower"))
    'lower' is 2 tokens: 'low' 'er'
    not learned: 'lower' is not in the vocabulary
      with 1 more merge at the end, 'low' + 'er', it would be one token
    >>> subwords.study.why_not(tok, "low").id
    257
    """
    tokenizer = tokenizer_of(tokenizer)
    check_string("text", text)
    if counts is not None:
        check_instance("counts", counts, WordCounts)
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
        if inner is not None and inner.kind == "not learned" and counts is not None:
            inner = replace(inner, why=f"{inner.why}; {_occurrence(counts, joint.encode())}")
        found += [] if inner is None else [inner]
    return WhyNot(text, ids, tokens, tuple(found), tokenizer.model.unk_id)


def _occurrence(counts: WordCounts, text: bytes) -> str:
    """Return how often a text is a word of counts, and how often it is in a longer one."""
    whole = longer = 0
    for word, count in counts:
        if text in word:
            whole, longer = (whole + count, longer) if word == text else (whole, longer + count)
    times = f"it is a word {whole:,} time{'s' * (whole != 1)} in the counts"
    return f"{times}, and part of other words {longer:,} time{'s' * (longer != 1)}"


def _ids_of_string(tokenizer: Tokenizer, text: str, special: Literal["text", "allow"] = "text") -> tuple[int, ...]:
    return tuple(tokenizer.encode(text, special=special))


def _added(tokenizer: Tokenizer, trace: Trace, special: Literal["text", "allow"]) -> list[Obstacle]:
    text, found = trace.text, list[Obstacle]()
    cut = [part for part in trace.parts if isinstance(part, Added)]
    if cut:
        kept = [token for token in tokenizer.spec.added_tokens if token.id not in {part.id for part in cut}]
        names = ", ".join(f"{part.text!r} at {part.span[0]}" for part in cut)
        instead, then = "without these added tokens", None
        try:
            then = _ids_of_string(tokenizer.with_(added_tokens=kept, template=None), text, special)
        except InputError:
            instead = ""  # the text needs them: the rest has characters that the model does not know
        why = f"it contains {names}, which is cut out before anything else"
        places = tuple(place for part in cut for place in part.span)
        found.append(Obstacle("added token", why, places, instead, then))
    if special == "text" and (own := [token for token in tokenizer.spec.added_tokens if token.content == text]):
        why = f"it is the special token {own[0].id}, but special tokens in a text are read as ordinary text"
        found.append(
            Obstacle("special token", why, (), 'with special="allow"', _ids_of_string(tokenizer, text, special="allow"))
        )
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
        return [] if (meant := text_or_none(content)) is None else [meant]
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
            then = _ids_of_string(tokenizer.with_(normalizer=None), trace.text)
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
        by = ["" if word.alternative is None else f" by {trace.alternatives[word.alternative]}" for word in part.words]
        how = [repr(word.text) + each for word, each in zip(part.words, by, strict=True)]
        why = f"the pattern splits it into {', '.join(how)}"
    else:
        by = [f" (step {step}: {trace.steps[step]:.80})" for step in steps]
        why = f"the splitter cuts it into {' '.join(repr(word.text) for word in part.words)}{''.join(by)}"
    instead = f"without the cut{'s' * (len(places) > 1)} at {', '.join(map(str, places))}"
    try:
        then = ids_of_word(tokenizer.model, _joint(part).encode())
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
