"""Every way to encode texts gives the ids, spans and words of the textbook, around every threshold (A4, D4)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import subwords
from strategies import texts as drawn_texts
from subwords import InputError, Padding, Text, Tokenizer, Truncation
from subwords.reference import bpe, normalize, pattern, unigram, wordpiece

pytestmark = pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")

# ------------------------------------------------------------------ tokenizers and texts

WORDS = "low lower lowest it's 2024 newer, widest (naïve) don't END <s low> "
WORDS += "café 文字 かな龜 héé 🙂 über ﬁne ½ e\u0301t Él"
LINES = [f"A line of some words: {WORDS}", "naïve 文字 文字の龜 ĳ", "  spaces\tand\n lines "] * 9
UNKNOWN = {"special_tokens": ["<s>", "<unk>"], "unk_token": "<unk>"}
SPACED: dict[str, Any] = {"byte_level": False, "normalizer": "sentencepiece-unchanged", "splitter": "▁[^▁]*|[^▁]+"}
ORDINARY = ["low", "lowe", "lo", "owe", "文", "ïv"]
MANY = [*ORDINARY, *(f"w{k:x}" for k in range(0, 3000, 10))]  # more than fit one regex


def trained(**options: Any) -> Tokenizer:
    return subwords.train(LINES, **{"vocab_size": 400, "special_tokens": ["<s>"], **options})


MADE: dict[str, Callable[[], Tokenizer]] = {
    "bpe": trained,
    "bpe, gpt2": lambda: trained(splitter="gpt2").with_tokens(["<s>é", "<s><s>"]),
    "bpe, ordinary tokens": lambda: trained().with_tokens(ORDINARY, special=False),
    "bpe, many tokens": lambda: trained().with_tokens(MANY, special=False),
    "bpe, tokens after nfkc": lambda: trained(normalizer="nfkc").with_tokens(
        [*ORDINARY, "fi"], special=False, normalized=True
    ),
    "bpe of characters": lambda: trained(byte_level=False, limit_alphabet=40, fuse_unk=True, **UNKNOWN),
    "bpe, spaces": lambda: trained(limit_alphabet=40, **SPACED, **UNKNOWN),
    "wordpiece": lambda: trained(algorithm="wordpiece", vocab_size=150, special_tokens=["<s>", "[UNK]"]),
    "unigram": lambda: trained(algorithm="unigram", vocab_size=120, **UNKNOWN),
    "unigram, tokens": lambda: trained(algorithm="unigram", vocab_size=120, **UNKNOWN).with_tokens(["<s>é", "<s><s>"]),
    "wordlevel": lambda: trained(algorithm="wordlevel", vocab_size=40, **UNKNOWN),
}
tokenizer_of = cache(lambda name: MADE[name]())
framed_of = cache(lambda name: tokenizer_of(name).with_(template="<s> <s> $A <s>"))

OWN = {"ascii": WORDS.encode("ascii", "ignore").decode() + " <s>", "wide": WORDS + " <s>é <s><s>"}
SIGNS = {
    "ascii": ("", "", ",", ".", "\n", "\t ", "  ", ":", "'s", "!?"),
    "wide": ("", "，", "é", " 🙂", "\u3000", "ﬁ", "\xa0"),
}


@cache
def base(kind: str) -> str:
    """More distinct words than the first table of words has room for."""
    rng, own, words = Random(kind), OWN[kind].split(), list[str]()
    for k in range(300):
        words += [rng.choice(own) + rng.choice(SIGNS[kind]), f"w{k:x}", f"{rng.choice(own)}{k % 97}", "low"]
        words += ["".join(rng.choices("文字の龜かな中、", k=12)), "so"] if kind == "wide" else []
    return " ".join(words) + " "


def text_of(kind: str, size: int, skip: int = 0) -> str:
    """A text of this many bytes; skip: characters at its beginning."""
    unit = base(kind)[skip:].encode() + base(kind).encode()
    data = (unit * (1 + size // len(unit)))[:size]
    text = data.decode("utf-8", "ignore")
    return text + "a" * (size - len(text.encode()))


# ------------------------------------------------------------------ the textbook


class Entries(NamedTuple):
    ids: NDArray[np.int64]
    spans: NDArray[np.int64]  # in characters
    words: NDArray[np.int64]
    count: int  # of the words


def entries_of(rows: Sequence[tuple[int, int, int, int]], count: int) -> Entries:
    array = np.array(rows, np.int64).reshape(-1, 4)
    return Entries(array[:, 0], array[:, 1:3], array[:, 3], count)


@cache
def ranks_of(name: str) -> dict[tuple[bytes, bytes], int]:
    return {pair: rank for rank, pair in enumerate(tokenizer_of(name).merges)}


@cache
def pieces_of(name: str) -> dict[str, float]:
    model = tokenizer_of(name).model
    hidden = model.special_ids
    return {
        token.decode(): score
        for index, (token, score) in enumerate(zip(model.vocab, model.scores.tolist(), strict=True))
        if index not in hidden
    }


def segmented(name: str, word: str) -> Iterator[tuple[int, int, int]]:
    """The ids of a word, and the range of its characters that each comes from."""
    tok = tokenizer_of(name)
    vocab, unk, at = tok.vocab, tok.model.unk_id, 0
    hidden = set(tok.special_tokens.values())
    if name.startswith("wordlevel"):
        found = vocab.get(word.encode())
        yield unk if found is None or found in hidden else found, 0, len(word)
    elif name.startswith("wordpiece"):
        known = {token.decode() for token, index in vocab.items() if index not in hidden}
        for piece in wordpiece.encode_word(word, known, max_chars=tok.model.max_chars):
            if piece == "[UNK]":
                yield unk, 0, len(word)
                return
            size = len(piece) - 2 * (at > 0)
            yield vocab[piece.encode()], at, at + size
            at += size
    elif name.startswith("unigram"):
        known = pieces_of(name)
        path = unigram.best_path(word, known)
        for is_known, run in groupby(path, known.__contains__):
            for piece in run if is_known else ["".join(run)]:
                yield vocab[piece.encode()] if is_known else unk, at, at + len(piece)
                at += len(piece)
    elif tok.model.byte_level:
        chars = [k for k, char in enumerate(word) for _ in char.encode()]  # of each byte
        for token in bpe.encode_word(word.encode(), ranks_of(name)):
            yield vocab[token], chars[at], chars[at + len(token) - 1] + 1
            at += len(token)
    else:
        for is_known, run in groupby(word, lambda char: vocab.get(char.encode(), unk) not in hidden):
            for part in ["".join(run)] if is_known or tok.model.fuse_unk else run:
                tokens = (
                    bpe.encode_word(part.encode(), ranks_of(name), byte_level=False) if is_known else [part.encode()]
                )
                for token in tokens:
                    size = len(token.decode())
                    yield vocab[token] if is_known else unk, at, at + size
                    at += size


def cut(text: str, tokens: dict[str, int]) -> Iterator[tuple[str, int, int | None]]:
    """Text and added tokens in turn, with where they begin; of several that begin at a place, the longest."""
    at = 0
    if tokens:
        for match in re.finditer("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))), text):
            yield text[at : match.start()], at, None
            yield match[0], match.start(), tokens[match[0]]
            at = match.end()
    yield text[at:], at, None


@cache
def of_cell(name: str, text: str, first: bool) -> Entries:
    """A short text; first=False: its entries after a word."""
    if not first:
        whole = of_cell(name, "x" + text, True)
        keep = whole.words > 0
        return Entries(whole.ids[keep], whole.spans[keep] - 1, whole.words[keep] - 1, whole.count - 1)
    spec, rows, number = tokenizer_of(name).spec, list[tuple[int, int, int, int]](), 0
    string, at = normalize.normalize(text, spec.normalizer)
    ends = [place + 1 for place in at]
    if (
        spec.normalizer and type(spec.normalizer[0]).__name__ == "SentencePiece"
    ):  # up to the next: 0 for what it inserts
        ends[:-1] = at[1:]
    for part, begin, index in cut(string, {t.content: t.id for t in spec.added_tokens if t.normalized}):
        if index is not None:
            rows.append((index, at[begin], ends[begin + len(part) - 1], number))
            number += 1
            continue
        for word, (start, _) in pattern.pre_tokenize(part, spec.splitter):
            for token, low, high in segmented(name, word):
                rows.append((token, at[begin + start + low], ends[begin + start + high - 1], number))
            number += 1
    return entries_of(rows, number)


CELL = re.compile("(?<=[a-z]) (?=[a-z])")  # every rule here cuts before this space, whatever is around it


def textbook(name: str, text: str, allowed: Sequence[str] | None = ()) -> Entries:
    """A text of any length; allowed: the special tokens that count, None for all."""
    tokens = {
        token.content: token.id
        for token in tokenizer_of(name).spec.added_tokens
        if not token.normalized and (not token.special or allowed is None or token.content in allowed)
    }
    found, starts, count = list[Entries](), list[int](), 0
    for part, begin, index in cut(text, tokens):
        if index is not None:
            found.append(entries_of([(index, 0, len(part), 0)], 1))
            starts.append(begin)
            continue
        places = [0, *(match.start() for match in CELL.finditer(part)), len(part)]
        for start, stop in pairwise(places):
            found.append(of_cell(name, part[start:stop], start == 0))
            starts.append(begin + start)
    sizes = [len(each.ids) for each in found]
    count = np.cumsum([0, *(each.count for each in found)])
    return Entries(
        np.concatenate([each.ids for each in found]),
        np.concatenate([each.spans for each in found]) + np.repeat(starts, sizes)[:, None],
        np.concatenate([each.words for each in found]) + np.repeat(count[:-1], sizes),
        int(count[-1]),
    )


# ------------------------------------------------------------------ one text

POLICIES: dict[str, tuple[Any, Sequence[str] | None]] = {
    "text": ("text", ()),
    "allow": ("allow", None),
    "set": ({"<s>"}, ["<s>"]),
}


def streamed(tok: Tokenizer, text: str, special: Any) -> list[int]:
    stream, third = tok.encode_stream(special=special), len(text) // 3
    return [*stream.feed(text[:third]), *stream.feed(text[third:].encode()), *stream.finish()]


ONE: dict[str, Callable[[Tokenizer, str, Any], Any]] = {
    "encode": lambda tok, text, special: tok.encode(text, special=special),
    "bytes": lambda tok, text, special: tok.encode(text.encode(), special=special),
    "array": lambda tok, text, special: tok.encode_to_numpy(text, special=special),
    "array, 1 thread": lambda tok, text, special: tok.encode_to_numpy(text, special=special, threads=1),
    "array, 2 threads": lambda tok, text, special: tok.encode_to_numpy(text, special=special, threads=2),
    "array of bytes, 2 threads": lambda tok, text, special: tok.encode_to_numpy(
        text.encode(), special=special, threads=2
    ),
    "call of a list": lambda tok, text, special: tok([text], special=special)[0].ids,
    "batch": lambda tok, text, special: tok.encode_batch([text], special=special)[0],
    "batch of bytes": lambda tok, text, special: tok.encode_batch([text.encode()], special=special, threads=2)[0],
    "growing": lambda tok, text, special: tok.growing(text[:9], special=special).append(text[9:]).ids,
    "stream": streamed,
}


def check_one(name: str, text: str, policies: Sequence[str] = tuple(POLICIES)) -> None:
    tok = tokenizer_of(name)
    for policy in policies:
        special, allowed = POLICIES[policy]
        ref = textbook(name, text, allowed)
        for way, ids in ONE.items():
            assert np.array_equal(np.asarray(ids(tok, text, special), np.int64), ref.ids), (way, policy)
        assert tok.count_tokens(text, special=special) == len(ref.ids)
        if policy != "set" and (len(text) < FAR or name in QUICK):
            found = tok(text, special=special) if policy == "allow" else tok([text, "a"], special=special)[0]
            check_spans(text, found, ref)
    assert tok.encode([Text(text)]) == tok.encode(text) == tok.encode(text, special=set())


def check_spans(text: str, found: subwords.Encoding, ref: Entries) -> None:
    """Byte spans begin and end where spans do, or inside a character."""
    assert np.array_equal(found.ids, ref.ids)
    assert np.array_equal(found.spans, ref.spans)
    assert np.array_equal(found.word_ids, ref.words)
    firsts = np.append(np.cumsum([0, *(len(char.encode()) for char in text)]), [0])  # of each character
    (begins, ends), (starts, stops) = found.byte_spans.T, found.spans.T
    assert (firsts[starts] <= begins).all() and (ends <= firsts[stops]).all()
    filled = ends > begins
    assert (begins < firsts[starts + 1])[filled].all() and (ends > firsts[stops - 1])[filled].all()


SHORT = (0, 1, 3, 17, 256, 257)
HELD = 50_000  # bytes of a text for which a built-in function holds the GIL
FAR = 1 << 17  # from here on, spans of texts with unknown characters or many tokens take seconds
QUICK = ("bpe", "bpe, gpt2", "wordpiece", "unigram", "wordlevel")
ALWAYS = ("bpe, spaces-ascii-524288-1-text", "wordlevel-ascii-1048576-1-text", "[unigram-ascii-4194304-1-text")
LONG = (1 << 14, 60_000, 1 << 16, 250_000, 1 << 18, 750_000, 1 << 19, 1 << 20, 1 << 21, 3 << 20, 1 << 22)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("name", MADE)
def test_short_texts(name: str, kind: str) -> None:
    for size in (*SHORT, HELD, HELD + 1):
        check_one(name, text_of(kind, size, size % 61))


ANY = st.one_of(
    drawn_texts(), st.text(" ▁lowaé文<s>\n", max_size=30), st.sampled_from(["<s>", "<s>low", "a▁b", "ĳ" * 90])
)


@pytest.mark.parametrize("name", MADE)
@given(texts=st.lists(ANY, min_size=1, max_size=4))
def test_any_texts(name: str, texts: list[str]) -> None:
    check_one(name, texts[0])
    tok = tokenizer_of(name)
    for special, allowed in POLICIES.values():
        ref = [textbook(name, text, allowed).ids.tolist() for text in texts]
        assert tok.encode_batch(texts, special=special, threads=2).to_lists() == ref
        assert tok.encode_batch([text.encode() for text in texts], special=special).to_lists() == ref
        start, framed = tok.special_tokens["<s>"], framed_of(name)
        ref = [[start, start, *ids, start] for ids in ref]
        for _ in range(2):  # the first call may make room for what the second one finds
            assert [framed.encode(text, special=special, template=True) for text in texts] == ref
        assert framed.encode_batch(texts, special=special, template=True).to_lists() == ref
        assert framed.count_tokens(texts, special=special, template=True).tolist() == [*map(len, ref)]


@pytest.mark.rotating(150, always=ALWAYS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", LONG)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("name", MADE)
def test_long_texts(name: str, kind: str, size: int, more: int, policy: str) -> None:
    if os.environ.get("SUBWORDS_MARKERS") and size > FAR:
        pytest.skip("each result is searched for the marker: minutes")
    check_one(name, text_of(kind, size + more, size % 61), [policy])


@pytest.mark.parametrize("name", ["bpe, gpt2", "bpe, spaces", "unigram, tokens", "wordpiece"])
def test_a_text_with_few_tokens_that_threads_share(name: str) -> None:
    """Threads cut inside the long text between two tokens."""
    tok, plain = tokenizer_of(name), text_of("ascii", (1 << 22) + (1 << 18)).replace("<s>", "lower")
    places = [0, 9, 1 << 19, 3 << 20, len(plain)]
    text = "<s>".join(["", *(plain[start:stop] for start, stop in pairwise(places)), "", "low"])
    ref = textbook(name, text, None)
    for threads in (1, 2, 3):
        for form in (text, text.encode()):
            assert np.array_equal(tok.encode_to_numpy(form, special="allow", threads=threads), ref.ids)
            batch = tok.encode_batch(["low<s>", form, "<s>"], special="allow", threads=threads)
            assert np.array_equal(batch[1], ref.ids)


@pytest.mark.parametrize("name", ["bpe, spaces", "unigram"])
def test_texts_with_the_sign_for_a_space(name: str) -> None:
    """These need the normalizer, which inserts a space before the text and no part of it."""
    for size in (0, 9, HELD):
        check_one(name, text_of("wide", size) + " ▁low x▁ ▁▁")
    tok, text = tokenizer_of(name), text_of("ascii", 1 << 22) + " ▁low"
    for threads in (1, 2):
        assert np.array_equal(tok.encode_to_numpy(text, threads=threads), textbook(name, text).ids)


# ------------------------------------------------------------------ many texts

SHAPES: dict[str, list[int]] = {  # bytes
    "none": [],
    "one empty": [0],
    "few": [0, 7, 100, 1],
    "more than few": [*range(0, 90, 9)],
    "more than a buffer has": [k % 40 for k in range(1100)],
    "around the limits of short ones": [50_000, 50_001, 0, 250_000, 250_001, 3],
    "around the buffer": [59_999, 0, 60_000, 1, 60_001],
    "one long among short ones": [10] * 9 + [1 << 18, 300_000] + [10] * 9,
    "parts for threads": [50_000] * 12 + [0],
    "long ones": [1 << 20, 0, 1 << 21],
    "one that threads share": [5, (1 << 22) + 9, 5],
    "many": [k % 120 for k in range(5000)],
}
CONTAINERS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "bytes": lambda texts: [text.encode() for text in texts],
    "both": lambda texts: [text.encode() if k % 2 else text for k, text in enumerate(texts)],
    "parts": lambda texts: [[Text(text)] for text in texts],
    "numpy": lambda texts: np.array(texts, str),
    "numpy object": lambda texts: np.array(texts, object),
    "arrow": lambda texts: pytest.importorskip("pyarrow").array(texts, "string"),
    "arrow view": lambda texts: pytest.importorskip("pyarrow").array(texts, "string_view"),
    "pandas": lambda texts: pytest.importorskip("pandas").Series(texts, dtype=str),
    "polars": lambda texts: pytest.importorskip("polars").Series(texts, dtype=pytest.importorskip("polars").String),
}


def check_many(name: str, kind: str, sizes: list[int], containers: Iterable[str], policy: str) -> None:
    tok = tokenizer_of(name)
    texts = [text_of(kind, size, 7 * k % 997) for k, size in enumerate(sizes)]
    special, allowed = POLICIES[policy]
    quick = sum(sizes) < FAR or name in QUICK
    refs = [textbook(name, text, allowed) for text in texts]
    ids = np.concatenate([np.zeros(0, np.int64), *(ref.ids for ref in refs)])
    bounds = np.cumsum([0, *(len(ref.ids) for ref in refs)])
    for container in containers:
        if container == "parts" and special != "text":
            continue
        for threads in (None, 1, 2):
            batch = tok.encode_batch(CONTAINERS[container](texts), special=special, threads=threads)
            assert np.array_equal(batch.ids, ids), (container, policy, threads)
            assert np.array_equal(batch.offsets, bounds), (container, policy, threads)
        counts = tok.count_tokens(CONTAINERS[container](texts), special=special)
        assert np.array_equal(counts, np.diff(bounds)), (container, policy)
        if container not in ("bytes", "both") and quick:
            found = tok(CONTAINERS[container](texts), special=special, padding=False, threads=2)
            assert np.array_equal(np.concatenate([np.zeros(0), *(each.ids for each in found)]), ids)
    if quick:
        for each, ref, text in zip(tok(texts, special=special), refs, texts, strict=True):
            check_spans(text, each, ref)


@pytest.mark.rotating(130, always=("bpe, many tokens-wide-allow-parts for threads",))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("name", MADE)
def test_many_texts(name: str, kind: str, policy: str, shape: str) -> None:
    if os.environ.get("SUBWORDS_MARKERS") and sum(SHAPES[shape]) > FAR:
        pytest.skip("each result is searched for the marker: minutes")
    check_many(name, kind, SHAPES[shape], CONTAINERS, policy)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("name", MADE)
def test_a_few_texts(name: str, kind: str) -> None:
    for shape, policy in (("few", "text"), ("more than few", "allow"), ("around the limits of short ones", "set")):
        check_many(name, kind, SHAPES[shape], ("list", "bytes", "generator", "arrow"), policy)


@pytest.mark.parametrize("policy", ["text", "allow"])
@pytest.mark.parametrize("name", MADE)
def test_files_of_ids(name: str, policy: Any, tmp_path: Path) -> None:
    """A corpus in blocks, and a document that is cut: blocks have 4 MB."""
    texts = [text_of("wide", size, size) for size in (9, 1, 300, 70_000, 20)]
    texts += [text_of("ascii", (1 << 22) + 9)] if name in ("bpe, gpt2", "unigram") and policy == "text" else []
    tok, refs = tokenizer_of(name), [textbook(name, text, POLICIES[policy][1]) for text in texts]
    for threads in (1, 2):
        tok.encode_files(texts, tmp_path / "ids.npy", special=policy, threads=threads, progress=False)
        found = subwords.files.open(tmp_path / "ids.npy")
        assert len(found) == len(refs)
        assert all(np.array_equal(ids, ref.ids) for ids, ref in zip(found, refs, strict=True))
        del found  # Windows replaces no file that is open


@pytest.mark.parametrize("name", MADE)
def test_special_tokens_that_are_an_error(name: str) -> None:
    tok = tokenizer_of(name)
    for size in (0, 30, 40_000):
        text = text_of("wide", size).replace("<", "(")
        for way, ids in ONE.items():
            assert np.array_equal(ids(tok, text, "error"), textbook(name, text).ids), way
            with pytest.raises(InputError, match="special"):
                ids(tok, text + "low<s>é", "error")


# ------------------------------------------------------------------ all fields of an encoding

FIELDS = ("ids", "tokens", "file_tokens", "spans", "byte_spans", "word_ids", "type_ids", "ranges", "overflow")
ENCODINGS: dict[str, Callable[[Tokenizer, str], subwords.Encoding]] = {
    "again": lambda tok, text: tok(text),
    "a list": lambda tok, text: tok([text])[0],
    "among others": lambda tok, text: tok(["low", text, "naïve<s>"])[1],
    "among many, in threads": lambda tok, text: tok(["so " * 60_000, *[text] * 99, "so " * 60_000], threads=2)[7],
    "with policies": lambda tok, text: tok(text, special=set()),
    "trusted parts": lambda tok, text: tok([Text(text)]),
    "cut at more than its length": lambda tok, text: tok(text, truncation=999),
    "from bytes": lambda tok, text: tok([Text(text.encode())]),
}
TEXTS = ["", "low", "  naïve 文字 lowest", "ĳ it's\u0301 \u3000low\n", "<s> unknown 🙂 q"]


def fields(encoding: subwords.Encoding) -> dict[str, Any]:
    values = {name: getattr(encoding, name) for name in FIELDS}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}


@pytest.mark.parametrize("way", ENCODINGS)
@pytest.mark.parametrize("name", MADE)
def test_every_way_to_an_encoding(name: str, way: str) -> None:
    tok = tokenizer_of(name)
    for text in TEXTS:
        expected = fields(tok(text))
        assert fields(ENCODINGS[way](tok, text)) == expected
        assert tok.tokenize(text) == list(expected["tokens"])


# ------------------------------------------------------------------ options of a call


def windows(length: int, most: int, stride: int) -> Iterator[tuple[int, int]]:
    """The pieces of so many ids: each has at most `most`, and begins with the last `stride` of the previous one."""
    start = 0
    while start + most < length:
        yield start, start + most
        start += most - stride
    yield start, length


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", MADE)
def test_truncation_and_padding(name: str, side: Any) -> None:
    """Of what is cut off, pieces that share some ids; then rows of one length."""
    tok, texts = tokenizer_of(name), [text_of("wide", size, size) for size in (0, 3, 40, 111)]
    most, filler = 11, {"direction": side, "pad_id": 0, "pad_token": "x"}
    for special, allowed in (("text", ()), ("allow", None)):
        for stride in (0, 1, 4, most - 1):
            cut = Truncation(most, stride=stride, direction=side)
            for text, found in zip(texts, tok(texts, special=special, truncation=cut, padding=False), strict=True):
                ref = textbook(name, text, allowed)
                pieces = [*windows(len(ref.ids), most, stride)]
                if side == "left":
                    pieces = [(len(ref.ids) - stop, len(ref.ids) - start) for start, stop in pieces]
                padded = tok(text, special=special, truncation=cut, padding=Padding(length=most + 2, **filler))
                for (start, stop), each, row in zip(
                    pieces, (found, *found.overflow), (padded, *padded.overflow), strict=True
                ):
                    assert each.ids.tolist() == ref.ids[start:stop].tolist()
                    assert each.spans.tolist() == ref.spans[start:stop].tolist()
                    real = slice(0, stop - start) if side == "right" else slice(most + 2 - stop + start, None)
                    assert row.ids[real].tolist() == each.ids.tolist()
                    assert row.spans[real].tolist() == each.spans.tolist()
                    assert row.attention_mask[real].all() and row.attention_mask.sum() == stop - start
                    assert len(row) == most + 2


# ------------------------------------------------------------------ modes

PROGRAM = """
import json, sys, subwords
texts = json.load(sys.stdin)
print(json.dumps({
    path: [
        [tok.encode(text, special="allow") for text in texts],
        tok.encode_batch(texts, special="allow").to_lists(),
        tok.encode_batch(texts).to_lists(),
        [each.ids.tolist() for each in tok(texts)],
    ]
    for path in sys.argv[1:]
    for tok in [subwords.load(path)]
}))
"""


def test_kernels_that_are_not_compiled(tmp_path: Path) -> None:
    """Without machine code there are no built-in functions: batches take the general path."""
    texts = [text_of("wide", size, size) for size in (0, 1, 30, 200)] + ["low newer", " <s>low<s> "]
    names = [name for name in MADE if not name.startswith("unigram, ")]
    paths = [str(tmp_path / f"{k}.json") for k in range(len(names))]
    for name, path in zip(names, paths, strict=True):
        tokenizer_of(name).save(path)
    environment = {**os.environ, "SUBWORDS_KERNELS": "interpreted"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *paths]
    done = subprocess.run(command, input=json.dumps(texts), env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for name, path in zip(names, paths, strict=True):
        allowed, plain = ([textbook(name, text, which).ids.tolist() for text in texts] for which in (None, ()))
        assert found[path] == [allowed, allowed, plain, plain], name
