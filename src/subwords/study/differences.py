"""diff: what differs between two tokenizers, graded by what it does to ids, as a gate for changes of a tokenizer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from subwords import Reading, Tokenizer
from subwords.adapt.words import parts_of_tokens
from subwords.interop.verify import ComparedText, Differences, compare_ids, opened_texts, probes, side_of
from subwords.machine import BPE, FLAGS, Slot, family_of, need, reading_of, tokenizer_of
from subwords.study.findings import Finding, Findings, by_severity
from subwords.support.errors import SubwordsError
from subwords.support.render import quote, text_or_none, token_text

if TYPE_CHECKING:
    from subwords import TokenizerSpec
    from subwords.machine import Model, Source, Template, TokenizerLike

SHOWN = 200  # characters of a part in a message
MOST_TRIED = 1 << 12  # texts for merges whose order changed
CHAT_TEMPLATE = "chat_template"


@dataclass(frozen=True)
class Diff(Findings):
    """What `diff` found; true if there is a difference.

    texts: the number of texts that both encoded, those of the source only. different: how many of them have other ids.
    chat_templates: by name, the lines that differ, as `diff -u` writes them.
    """

    texts: int = 0
    different: int = 0
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    spelled: bool = True

    def __bool__(self) -> bool:
        return bool(self.findings)

    def _more(self) -> dict[str, Any]:
        return {"texts": self.texts, "different": self.different, "chat_templates": dict(self.chat_templates)}

    def _head(self) -> str:
        head = super()._head() if self else "no difference"
        return head + (f"; {self.different} of {self.texts} texts have other ids" if self.texts else "")

    def notes(self) -> list[str]:
        """Return how tokens were compared, if the two spell them differently."""
        return (
            [] if self.spelled else ["The two spell tokens differently: they are compared by the bytes of their text."]
        )

    def lines(self, limit: int = 5) -> Iterator[str]:
        """Yield the findings by rule, at most `limit` of each; then the lines of chat templates."""
        yield from super().lines(limit)
        yield from self.notes()
        for text in self.chat_templates.values():
            yield from text.splitlines()

    def to_markdown(self) -> str:
        """Return the findings as a table in Markdown, and the lines of chat templates as code."""
        blocks = [f"```diff\n{text}\n```" for text in self.chat_templates.values()]
        return "\n\n".join([super().to_markdown(), *self.notes(), *blocks])


def diff(
    tokenizer: TokenizerLike,
    other: TokenizerLike,
    *,
    source: Source | None = None,
    reading: Reading | None = None,
    progress: bool | None = None,
) -> Diff:
    """Return what changed from one tokenizer to another: ids, merges, scores, the pipeline, templates.

    Each finding has a rule (docs/studying.md lists them) and a severity. error: an id means another token, or
    a text was found that gives other ids. warning: the part can change ids; no text that shows it was found among the
    fixed tricky texts, the text of every token, and texts made for merges whose order changed. note: neither.
    source: also compare the ids of these texts, with special tokens read as text. Tokens are compared by their bytes;
    if the two spell them differently (bytes and characters, "##"), by the bytes that they add to a text. Equal specs
    (`TokenizerSpec`) with equal chat templates have no findings.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=259)
    >>> found = subwords.study.diff(tok, tok.with_tokens(["<|end|>"], special=False))
    >>> [(one.severity, one.rule) for one in found.findings]
    [('error', 'other-ids'), ('warning', 'new-token'), ('warning', 'changed-added-token')]
    """
    a, b = tokenizer_of(tokenizer), tokenizer_of(other, "other")
    how = reading_of(reading)
    chat = dict(_chat_templates(a.spec, b.spec))
    found = [Finding("changed-chat-template", _chat_message(name, text), (), (name,)) for name, text in chat.items()]
    spelled = a.model.spelling == b.model.spelling
    if a.spec != b.spec:
        found += _spec_findings(_Pair(a, b, spelled))
    texts = Differences(0, 0, None, 0)
    if source is not None:
        with opened_texts(source, how, progress) as corpus:
            texts = _compared(a, b, corpus)
        if texts.difference is not None:
            found.append(_shown("other-ids", texts, "the source"))
    return Diff(by_severity(found), texts.texts, texts.different, chat, spelled)


class _Pair:
    """Two tokenizers, and their tokens by id in one spelling."""

    def __init__(self, a: Tokenizer, b: Tokenizer, spelled: bool) -> None:
        self.a, self.b, self.spelled = a, b, spelled
        self.old, self.new = (list(tok.model.vocab) if spelled else _text_bytes(tok) for tok in (a, b))

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Both."""
        return self.a, self.b


def _text_bytes(tok: Tokenizer) -> list[bytes]:
    """Return the bytes that each id adds to a text; of added tokens, and of those that add none, those of the name."""
    found = [text or token for text, token in zip(tok.token_table(), tok.model.vocab, strict=True)]
    for token in tok.spec.added_tokens:
        found[token.id] = token.content.encode()
    return found


def _spec_findings(pair: _Pair) -> Iterator[Finding]:
    yield from _token_findings(pair.old, pair.new)
    yield from _added_token_findings(pair)
    tried = _texts_of_tokens(pair)
    if family_of(pair.a.model) is family_of(pair.b.model):
        yield from _model_findings(pair)
        if pair.a.model.merge_count and pair.b.model.merge_count:
            merges = _Merges(pair)
            yield from merges.findings()
            tried += merges.texts()
        if pair.spelled:
            yield from _score_findings(pair)
    else:
        names = " instead of ".join(family_of(tok.model).name for tok in (pair.b, pair.a))
        yield Finding("changed-model", f"the family is {names}", (), ("family",))
    yield from _part_findings(pair)
    yield from _text_findings(pair, tried)


# ---------------------------------------------------------------------------------------------------------------------
# Ids and their tokens.


def _token_findings(old: list[bytes], new: list[bytes]) -> Iterator[Finding]:
    """Yield ids whose tokens changed; tokens that only moved in runs, with the distance."""
    ids, new_ids = ({token: index for index, token in reversed([*enumerate(some)])} for some in (old, new))
    moved = dict[int, int]()
    for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=b"")):
        if before == after:
            continue
        lost, fresh = bool(before) and before not in new_ids, bool(after) and after not in ids
        names = tuple(token_text(token) for token in (before, after) if token)
        if lost and fresh:
            yield Finding(
                "changed-token",
                f"id {index} is {quote(after)} instead of {quote(before)}",
                (index,),
                names,
            )
        elif fresh:
            yield Finding("new-token", f"{quote(after)} is new: id {index}", (index,), (token_text(after),))
        elif lost:
            now = f"; id {index} is {quote(after)}" if after else ""
            yield Finding("gone-token", f"{quote(before)} (id {index}) is gone{now}", (index,), (token_text(before),))
        if before and not lost:
            place = new_ids[before]
            if place < len(old) and old[place] == before:  # one of several ids with this token
                message = f"id {index} is no longer {quote(before)}, which still has the id {place}"
                yield Finding("gone-token", message, (index,), (token_text(before),))
            else:
                moved[index] = place
    swapped = {a: b for a, b in moved.items() if moved.get(b) == a}
    for a, b in swapped.items():
        if a < b:
            message = f"{quote(old[a])} and {quote(old[b])} have exchanged their ids {a} and {b}"
            yield Finding("swapped-tokens", message, (a, b), (token_text(old[a]), token_text(old[b])))
    yield from _moved_runs({a: b for a, b in moved.items() if a not in swapped}, old)


def _moved_runs(moved: dict[int, int], old: list[bytes]) -> Iterator[Finding]:
    """Yield tokens that have other ids, as runs of ids that moved by the same distance."""
    runs = list[list[int]]()
    for index, place in moved.items():
        if runs and index == runs[-1][-1] + 1 and place - index == moved[runs[-1][-1]] - runs[-1][-1]:
            runs[-1].append(index)
        else:
            runs.append([index])
    for run in runs:
        first, last = run[0], run[-1]
        message = f"{quote(old[first])} has the id {moved[first]} instead of {first}"
        if len(run) > 1:
            message = (
                f"{len(run)} tokens, {quote(old[first])} to {quote(old[last])}, have the ids {moved[first]} to "
                f"{moved[last]} instead of {first} to {last}"
            )
        yield Finding("moved-tokens", message, tuple(run), tuple(token_text(old[index]) for index in run))


def _added_token_findings(pair: _Pair) -> Iterator[Finding]:
    """Yield added tokens that are new, gone, or have other flags; their ids are compared with all others."""
    old, new = ({token.content: token for token in tok.spec.added_tokens} for tok in pair.tokenizers)
    for content in dict.fromkeys((*old, *new)):
        before, after = old.get(content), new.get(content)
        told = ""
        if before is None or after is None:
            told = "is a new added token" if before is None else "is no longer an added token"
        elif flags := [name for name in FLAGS if getattr(before, name) != getattr(after, name)]:
            told = ", ".join(f"has {name}={getattr(after, name)}" for name in flags)
        if told:
            index = after.id if after is not None else before.id if before is not None else 0
            yield Finding("changed-added-token", f"{content!r} {told}", (index,), (content,))


# ---------------------------------------------------------------------------------------------------------------------
# The model: its settings, the order of its merges, its scores.

_APART = ("vocab", "merges", "ranks", "scores", "parts", "literal_ids")  # compared elsewhere, or follow from others


def _model_findings(pair: _Pair) -> Iterator[Finding]:
    """Yield the settings of models of one family that differ."""
    same = {index for index, (before, after) in enumerate(zip(pair.old, pair.new, strict=False)) if before == after}
    values = pair.b.model.values
    for name, before in pair.a.model.values.items():
        after = values[name]
        if isinstance(before, frozenset):  # of ids
            if changed := sorted((before ^ after) & same):
                told = [f"{quote(pair.new[index])} is {'' if index in after else 'not '}in it" for index in changed]
                more = f" and {len(told) - 5} more" if len(told) > 5 else ""
                yield Finding("changed-model", f"{name}: {', '.join(told[:5])}{more}", tuple(changed), (name,))
        elif name not in _APART and before != after:
            rule = "changed-dropout" if name == "dropout" else "changed-model"
            yield Finding(rule, f"{name} is {after!r:.60} instead of {before!r:.60}", (), (name,))


def _score_findings(pair: _Pair) -> Iterator[Finding]:
    """Yield pieces of both whose scores differ, as 32-bit floats: files write them with more or fewer digits."""
    ids = pair.b.model.vocab.ids
    for index, token in enumerate(pair.old):
        place = ids.get(token) if token else None
        if place is None:
            continue
        before, after = pair.a.model.score(index), pair.b.model.score(place)
        if before is not None and after is not None and np.float32(before) != np.float32(after):
            message = f"{quote(token)} has the score {after:.6g} instead of {before:.6g}"
            yield Finding("changed-score", message, (place,), (token_text(token),))


_Merge = tuple[bytes, bytes]


class _Merges:
    """The merges of two models in order, as bytes; of models with many merges for a token, those that are used."""

    def __init__(self, pair: _Pair) -> None:
        self._pair, self._moved = pair, list[_Merge]()
        self._models = tuple(need(tok.model, BPE, "diff of merges") for tok in pair.tokenizers)
        a, b = self._models
        self.old, self.new = list[_Merge](), list[_Merge]()
        if a.is_ranked and b.is_ranked:
            return  # merges and their ranks follow from the ids of tokens
        if (a.ranks is None) == (b.ranks is None):
            self.old, self.new = map(_written_merges, self._models)
        # Ranks of SentencePiece and tiktoken: all pairs that join to a token are merges, and one of them is used.
        many = a.ranks is not None or b.ranks is not None
        if many and not (self.old and self.old == self.new):
            self.old, self.new = map(_used_merges, self._models)

    def findings(self) -> Iterator[Finding]:
        """Yield merges that are new, gone, or in another order among those of both."""
        if self.old == self.new:
            return
        old, new = ({merge: rank for rank, merge in enumerate(some)} for some in (self.old, self.new))
        both = [merge for merge in self.old if merge in new]
        kept = {both[k] for k in _longest_rise([new[merge] for merge in both])}
        self._moved = [merge for merge in both if merge not in kept]
        for merge in self._moved:
            message = f"merge {_joined(merge)} has rank {new[merge]} instead of {old[merge]}"
            yield Finding("moved-merge", message, (), tuple(map(token_text, merge)))
        for rule, where, told, other in (("gone-merge", old, "is gone", new), ("new-merge", new, "is new", old)):
            for merge, rank in where.items():
                if merge not in other:
                    yield Finding(
                        rule, f"merge {_joined(merge)} (rank {rank}) {told}", (), tuple(map(token_text, merge))
                    )

    def texts(self) -> list[ComparedText]:
        """Return texts in which a moved merge meets one that it was before and is now after, or the other way round."""
        return [*islice(self._meetings(), MOST_TRIED)]

    def _meetings(self) -> Iterator[ComparedText]:
        old, new = ({merge: rank for rank, merge in enumerate(some)} for some in (self.old, self.new))
        firsts, seconds = dict[bytes, list[_Merge]](), dict[bytes, list[_Merge]]()
        for merge in old:
            if merge in new and self._moved:
                firsts.setdefault(merge[0], []).append(merge)
                seconds.setdefault(merge[1], []).append(merge)
        for merge in self._moved:
            after = [(merge, one, merge[0] + b"".join(one)) for one in firsts.get(merge[1], ())]
            before = [(merge, one, b"".join(one) + merge[1]) for one in seconds.get(merge[0], ())]
            for one, other, word in (*after, *before):
                if (old[one] < old[other]) != (new[one] < new[other]):
                    text = _text_of(self._pair.a.model, word)
                    if text is not None:
                        yield ComparedText(text, f"the merges {_joined(one)} and {_joined(other)}")


def _joined(merge: _Merge) -> str:
    return " + ".join(map(quote, merge))


def _written_merges(model: BPE) -> list[_Merge]:
    tokens = list(model.symbols)
    return [(tokens[left], tokens[right]) for left, right, _ in model.merges.tolist()]


def _used_merges(model: BPE) -> list[_Merge]:
    """Return the merge that makes each token, in order of rank."""
    tokens, parts = list(model.symbols), parts_of_tokens(model)
    ranks = {(left, right): rank for rank, left, right, _ in reversed(model.ranked_merges.tolist())}
    pairs = [(left, right) for left, right in parts.tolist() if (left, right) in ranks]
    return [(tokens[left], tokens[right]) for left, right in sorted(pairs, key=ranks.__getitem__)]


def _longest_rise(numbers: Sequence[int]) -> list[int]:
    """Return the places of a longest rising subsequence of distinct numbers.

    >>> _longest_rise([3, 0, 1, 4, 2])
    [1, 2, 4]
    """
    ends, places, before = list[int](), list[int](), list[int]()
    for place, number in enumerate(numbers):
        at = bisect_left(ends, number)
        before.append(places[at - 1] if at else -1)
        ends[at : at + 1], places[at : at + 1] = [number], [place]
    found, place = list[int](), places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


# ---------------------------------------------------------------------------------------------------------------------
# The pipeline, templates, roles.


def _part_findings(pair: _Pair) -> Iterator[Finding]:
    a, b = pair.a.spec, pair.b.spec
    for name in ("normalizer", "splitter"):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            yield Finding(f"changed-{name}", f"{name}: {_changed_steps(before, after)}", (), (name,))
    if a.decoder != b.decoder:
        message = f"decoder: {b.decoder!r:.{SHOWN}} instead of {a.decoder!r:.{SHOWN}}"
        yield _decoded_otherwise(pair) or Finding("changed-decoder", message, (), ("decoder",))
    if a.template != b.template:
        before, after = map(_described, (a.template, b.template))
        rule = "changed-spans" if before == after else "changed-template"
        message = "other spans" if before == after else f"{after} instead of {before}"
        yield Finding(rule, f"template: {message}", (), ("template",))
    limits = [("changed-limits", name) for name in ("padding", "truncation", "inputs")]
    for rule, name in (*limits, ("changed-roles", "roles")):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            yield Finding(rule, f"{name}: {after!r:.{SHOWN}} instead of {before!r:.{SHOWN}}", (), (name,))


def _changed_steps(before: Sequence[Hashable], after: Sequence[Hashable]) -> str:
    """Return which steps are gone and which are new."""
    gone, new = ([step for step in some if step not in other] for some, other in ((before, after), (after, before)))
    told = [
        f"{word} {', '.join(f'{step!r:.{SHOWN}}' for step in some)}"
        for word, some in (("without", gone), ("with", new))
        if some
    ]
    return "; ".join(told) or "the same steps, in another order or number"


def _described(template: Template | None) -> str:
    """Return what a template makes of a text and of a pair; the same for templates that give the same ids and types."""
    if template is None:
        return "none"
    shown = []
    for pieces in (template.single, template.pair):
        words = [
            f"${piece.text}"
            if isinstance(piece, Slot)
            else " ".join(f"{token}={index}" for token, index in zip(piece.tokens, piece.ids, strict=True))
            for piece in pieces
        ]
        shown.append(
            " ".join(
                f"{word}:{piece.type_id}" if piece.type_id else word for word, piece in zip(words, pieces, strict=True)
            )
        )
    return " | ".join(shown)


def _decoded_otherwise(pair: _Pair) -> Finding | None:
    """Return the first ids of a probe, with tokens that both have, that the two decode to other texts."""
    same = [before == after and bool(before) for before, after in zip(pair.old, pair.new, strict=False)]
    for probe in probes(()):
        with suppress(SubwordsError):
            ids = [index for index in pair.a.encode(probe.text) if index < len(same) and same[index]]
            before, after = (tok.decode(ids) for tok in pair.tokenizers)
            if before != after:
                message = f"the ids of {probe.place} give {after!r:.60} instead of {before!r:.60}"
                return Finding("other-text", message, tuple(ids), (), probe.text)
    return None


def _chat_templates(a: TokenizerSpec, b: TokenizerSpec) -> Iterator[tuple[str, str]]:
    """Yield the names of the chat templates that differ, and their lines that do."""
    old, new = (_named_templates(spec) for spec in (a, b))
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            lines = unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
            yield name, "\n".join(lines)


def _named_templates(spec: TokenizerSpec) -> dict[str, str]:
    own = {} if spec.chat_template is None else {CHAT_TEMPLATE: spec.chat_template}
    return own | {f"{CHAT_TEMPLATE} {name}": text for name, text in spec.foreign.chat_templates}


def _chat_message(name: str, text: str) -> str:
    """Return how many lines of a chat template differ, and the first one."""
    lines = text.splitlines()[2:]
    new, gone = ([line for line in lines if line.startswith(sign)] for sign in "+-")
    first = next(iter([*new, *gone]), "only the ends of lines")
    return f"{name}: {len(new)} lines are new, {len(gone)} are gone: {first.strip():.80}"


# ---------------------------------------------------------------------------------------------------------------------
# Texts that show a difference.


def _text_of(model: Model, token: bytes) -> str | None:
    """Return the text that a token stands for; None if it is not whole characters."""
    text = text_or_none(model.without_marks(token))
    return text if text is None or model.byte_level else text.replace("\u2581", " ")


def _texts_of_tokens(pair: _Pair) -> list[ComparedText]:
    """Return the text of every token of either."""
    found = dict[str, ComparedText]()
    for tok in pair.tokenizers:
        for index, token in enumerate(tok.model.vocab):
            text = _text_of(tok.model, token) if token else None
            if text:
                found.setdefault(text, ComparedText(text, f"the text of token {index}"))
    return [*found.values()]


def _text_findings(pair: _Pair, tried: list[ComparedText]) -> Iterator[Finding]:
    """Yield a text that has other ids, and one that spells an added token and has other ids where these are found."""
    added = dict.fromkeys(token.content for tok in pair.tokenizers for token in tok.spec.added_tokens)
    every = probes(added)
    found = _compared(*pair.tokenizers, [*every, *tried])
    if found.difference is not None:
        yield _shown("other-ids", found, "the tricky texts and those of tokens")
    spelled = every[len(probes(())) :]
    plain = [text for text in spelled if _compared(*pair.tokenizers, [text]).difference is None]
    found = _compared(*pair.tokenizers, plain, "allow")
    if found.difference is not None:
        yield _shown("other-special-ids", found, "the texts that spell an added token")


def _compared(
    a: Tokenizer, b: Tokenizer, texts: Iterable[ComparedText], special: Literal["text", "allow"] = "text"
) -> Differences:
    return compare_ids(texts, side_of(a, "the first", special), side_of(b, "the second", special), whole=True)


def _shown(rule: str, found: Differences, which: str) -> Finding:
    assert found.difference is not None
    message = f"{found.different} of {found.texts} texts ({which}): {found.difference}"
    return Finding(rule, message, (), (which,), found.difference.before + found.difference.after)
