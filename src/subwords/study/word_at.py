"""The word (pre-token) around a token of an encoded text, and its steps."""

from __future__ import annotations

from dataclasses import dataclass

from subwords.bpe.model import BPE
from subwords.results.encoding import Encoding
from subwords.study.token_facts import TokenFacts
from subwords.study.word_steps import Lookup, Matches, Merges, Steps, steps_of
from subwords.unigram.model import BYTE_PIECES
from subwords.wordpiece.model import WordPiece

__all__ = ["Word", "word_at"]

MARK = "\u2581"  # SentencePiece's space
_BYTES = {piece: bytes([byte]) for byte, piece in enumerate(BYTE_PIECES)}


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its text after normalization, its tokens first to stop - 1, its steps.

    exact: whether the steps end in the tokens that the text has.
    """

    word: str
    first: int
    stop: int
    ids: list[int]
    steps: Steps
    exact: bool


def word_at(facts: TokenFacts, text: str, encoding: Encoding, place: int) -> Word:
    """Return the word of a token, with its steps."""
    first, stop = _range(facts, encoding, place)
    ids = encoding.ids[first:stop].tolist()
    alone = stop == first + 1 and ids[0] in facts.special and ids[0] != facts.tok.model.unk_id
    if encoding.word_ids[place] is None or alone:
        reason = "An added token: it is put in by the template, or found in the text before any splitting."
        return Word(facts.text(ids[0]), first, stop, ids, Lookup(reason), exact=True)
    word = _spelled(facts, text, encoding, first, stop)
    steps = steps_of(facts, word)
    return Word(word, first, stop, ids, steps, _ends_in(facts, steps, ids))


def _range(facts: TokenFacts, encoding: Encoding, place: int) -> tuple[int, int]:
    words = encoding.word_ids
    first = stop = place
    while first > 0 and words[first - 1] == words[place]:
        first -= 1
    while stop < len(words) and words[stop] == words[place]:
        stop += 1
    model = facts.tok.model
    if not isinstance(model, BPE) or not model.space_rule:
        return first, stop
    # The text is one word, but merges never cross these places.
    starts = [at for at in range(first, stop) if facts.text(int(encoding.ids[at])).startswith(MARK)]
    return max([first, *(at for at in starts if at <= place)]), min([stop, *(at for at in starts if at > place)])


def _spelled(facts: TokenFacts, text: str, encoding: Encoding, first: int, stop: int) -> str:
    """Return the text of a word as the model sees it: its tokens joined, and the source where one is unknown."""
    model = facts.tok.model
    prefix = getattr(model, "prefix", "")
    prefix = prefix.encode() if isinstance(prefix, str) else prefix
    parts: list[bytes] = []
    for place in range(first, stop):
        index = int(encoding.ids[place])
        content = model.vocab[index]
        if index == model.unk_id:
            start, end = encoding.spans[place].tolist()
            # Alone, it may get the space that SentencePiece puts before a text; an unknown run never begins with one.
            content = _normalized(facts, text[start:end]).lstrip(f"{MARK} ").encode()
        elif content in _BYTES and not getattr(model, "byte_level", False):
            content = _BYTES[content]
        elif place > first:
            content = content.removeprefix(prefix)
        parts.append(content)
    suffix = model.suffix if isinstance(model, BPE) else b""
    return b"".join(parts).removesuffix(suffix).decode("utf-8", "surrogateescape")


def _normalized(facts: TokenFacts, text: str) -> str:
    return facts.tok.normalizer.normalize(text) if facts.tok.normalizer else text


def _ends_in(facts: TokenFacts, steps: Steps, ids: list[int]) -> bool:
    """Whether steps give these ids; in a lattice, byte-fallback and unknown characters have separate ids."""
    if isinstance(steps, Lookup):
        return True
    if isinstance(steps, Merges):
        symbols = list(steps.symbols)
        for step in steps.steps:
            symbols[step.at : step.at + 2] = [step.result]
        return _known(symbols) == _without_unk(facts, ids)
    if isinstance(steps, Matches):
        assert isinstance(facts.tok.model, WordPiece)
        found = [match.id for match in steps.matches]
        return ids == ([facts.tok.model.unk_id] if steps.unknown else found)
    best: list[int | None] = [edge.id for edge in steps.edges if 1 in edge.paths]
    if None in best:  # runs of unknown characters are one id, or bytes
        return _known(best) == [i for i in _without_unk(facts, ids) if facts.tok.model.vocab[i] not in _BYTES]
    return best == ids


def _known(ids: list[int | None]) -> list[int]:
    return [index for index in ids if index is not None]


def _without_unk(facts: TokenFacts, ids: list[int]) -> list[int]:
    return [index for index in ids if index != facts.tok.model.unk_id]
