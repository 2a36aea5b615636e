"""Checks of reach: is there a text that yields each token? By the model, through the splitter, after the normalizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from subwords.bpe.model import BPE
from subwords.families import family_of, need
from subwords.normalize.normalizer import NormalizerEngine
from subwords.study.checks.subject import Subject
from subwords.study.finding import Finding

if TYPE_CHECKING:
    from subwords.tokenizer import Tokenizer

__all__ = ["bpe_unreached", "check_reach", "unigram_unreached", "wordlevel_unreached", "wordpiece_unreached"]

ALONE = "\ue000"  # for private use
# Texts around a token. Where one of them yields the token, it is reached.
CONTEXTS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"a{text}",
    lambda text: f"a {text}",
    lambda text: f"{text}a",
    lambda text: f"{text} a",
    lambda text: f"1{text}",
    lambda text: f"{text}1",
    lambda text: f".{text}",
    lambda text: f"{text}.",
    lambda text: f"\n{text}",
    lambda text: f"{text}\n",
    lambda text: f"A{text}a",
    lambda text: f"{text}{text}",
    # No token has this character, so nothing merges across it.
    lambda text: f"{ALONE}{text}",
    lambda text: f"{text}{ALONE}",
    lambda text: f"{ALONE}{text}{ALONE}",
    lambda text: f"a{ALONE}{text}",
)
BESIDE = (
    "aeioubcdfghjklmnpqrstvwxyz0123456789"  # before a continuation of WordPiece, after a token that does not end a word
)


def check_reach(subject: Subject) -> Iterator[Finding]:
    """Yield the tokens that no text yields, with the level at which they are lost."""
    tok, reached, why = subject.tokenizer, subject.reachable, family_of(subject.model).tool("audit")
    for index in subject.ordinary[~reached[subject.ordinary]].tolist():
        yield Finding("unreachable-token", why(subject, index), (index,), (subject.shown(index),))
    ids = [index for index in subject.ordinary[reached[subject.ordinary]].tolist() if _is_text(subject.tokens[index])]
    plain = tok.with_(normalizer=None) if tok.normalizer is not None else tok
    texts = {index: _text_of(subject, index) for index in ids}
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
    pair = f"{subject.quoted(left)} + {subject.quoted(right)}"
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


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text_of(subject: Subject, index: int) -> str:
    """Return the text that a token stands for, without the marks of its model."""
    return subject.model.without_marks(subject.tokens[index]).decode("utf-8", "replace")


def _lost(tok: Tokenizer, texts: dict[int, str], subject: Subject) -> list[int]:
    """Return the ids whose text yields them in none of the contexts."""
    left = np.array([*texts], np.int64)
    before, after = map(bool, subject.model.marks)
    more = [lambda text, start=start: f"{start}{text}" for start in BESIDE] if before else []
    if after:  # a token without it stands before other letters
        more += [lambda text, stop=stop: f"{text}{stop}" for stop in BESIDE]
    for context in (*CONTEXTS, *more):
        if not len(left):
            break
        batch = tok.encode_batch([context(texts[index]) for index in left.tolist()], threads=subject.threads)
        owner = np.repeat(np.arange(len(left)), np.diff(batch.offsets))
        hit = np.zeros(len(left), np.bool_)
        hit[owner[batch.ids == left[owner]]] = True
        left = left[~hit]
    return [int(index) for index in left]
