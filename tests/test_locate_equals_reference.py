"""The kernels of `kernels/text/locate.py` equal plain twins, and encodings in bulk those that are made one by one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import subwords
from inside import (
    NO_ROW,
    Filled,
    Frame,
    IdSizes,
    IdWords,
    Origins,
    Placed,
    Row,
    Source,
    Template,
    count_characters,
    cover_text,
    engine_of,
    fill_rows,
    frame_rows,
    keep_ids,
    place_ids,
    truncation_windows,
)
from inside import kernels_layout as layout
from locating import covered_text, framed, kind_of, places, unknown_bytes
from strategies import texts
from subwords import Encoding, EncodingBatch, InputError, Padding, Tokenizer, Truncation

NONE, NO_INTS, NO_BYTES = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8)
Ints = NDArray[np.int64]


def ints(values: Any) -> Ints:
    return np.array([*values], np.int64)


# ------------------------------------------------------------------ kernels and twins


@st.composite
def located(draw: st.DrawFn) -> tuple[list[bytes], list[list[int]], list[list[int]], list[int], tuple[int, int]]:
    """Texts, the lengths of their words, their ids, the sizes of ids, and the marks; often the ids fit."""
    marks = draw(st.sampled_from([(0, 0), (0, 0), (2, 0), (0, 1), (1, 2)]))
    sizes = [0, 1, 2, 3, 4, 5, layout.UNSURE, layout.WHOLE_WORD, layout.UNKNOWN_RUN]
    given = [draw(texts(12)).encode() for _ in range(draw(st.integers(1, 3)))]
    words, ids = [], []
    for text in given:
        cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=3))})
        lengths = [b - a for a, b in pairwise(cuts)]
        row: list[int] = []
        for first, length in zip(cuts, lengths, strict=False):
            left = length
            while left > 0 and draw(st.integers(0, 9)):
                unknown = unknown_bytes(text[first + length - left : first + length]) if draw(st.booleans()) else None
                if unknown is not None:
                    row.append(8)
                    left -= unknown
                    continue
                size = draw(st.integers(1, min(left, 3)))
                row.append(min(5, size + marks[0] * (left < length) + marks[1] * (size == left)))
                left -= size
        if not draw(st.integers(0, 4)):
            row.insert(draw(st.integers(0, len(row))), draw(st.integers(0, 8)))
        words.append(lengths)
        ids.append(row)
    return given, words, ids, sizes, marks


@given(located(), st.booleans(), st.booleans())
def test_places_are_those_of_the_twin(case: Any, apart: bool, mapped: bool) -> None:
    given, words, ids, sizes, marks = case
    text = np.frombuffer(b"".join(given), np.uint8)
    bounds, flat = ints(accumulate(map(len, given), initial=0)), [index for row in ids for index in row]
    ends = np.cumsum([length for row in words for length in row], dtype=np.int64)
    begins = ends - ints(length for row in words for length in row)
    word_ends, id_ends = (ints(accumulate(map(len, rows))) for rows in (words, ids))
    chars = np.empty(len(text) + 1, np.int32)
    assert count_characters(text, chars) == len(text.tobytes().decode())
    bytes_at = np.arange(len(text) + 1) if mapped else np.zeros(1, np.int64)
    out = Placed(
        np.zeros(2 * len(flat), np.int64),
        np.zeros(2 * len(flat), np.int64),
        np.zeros(len(flat), np.int32),
        np.zeros(len(given), np.uint8),
        np.zeros(layout.UNKNOWNS.width * flat.count(8), np.int64),
    )
    start = np.zeros(layout.START.width, np.int64)
    start[layout.START.ends_text] = 1
    kinds = np.full(layout.INVALID + 1, layout.MAY_CONTINUE, np.uint8)
    for char in {*text.tobytes().decode()}:
        kinds[ord(char)] = kind_of(char)
    found = place_ids(
        np.array(flat, np.uint32),
        IdWords(ends.astype(np.uint32), begins if apart else NONE, word_ends, id_ends, text),
        IdSizes(np.array(sizes, np.int32), ints(marks), kinds),
        Origins(bytes_at[:-1], bytes_at[1:], bytes_at[:-1], bytes_at[1:]),
        Source(bounds, chars),
        out,
        start,
    )
    expected = []
    for data, row, some in zip(given, words, ids, strict=True):
        cuts = [*accumulate(row, initial=0)]
        expected.append(places(data, [*pairwise(cuts)], some, sizes, marks))
    assert [bool(flag) for flag in out.odd] == [row is None for row in expected]
    assert found == sum(out.odd.tolist())
    for row, stop, count in zip(expected, id_ends.tolist(), map(len, ids), strict=True):
        if row is not None:
            part = slice(stop - count, stop)
            assert out.byte_spans.reshape(-1, 2)[part].tolist() == [[*place.byte_span] for place in row]
            assert out.spans.reshape(-1, 2)[part].tolist() == [[*place.span] for place in row]
            assert out.words[part].tolist() == [place.word for place in row]
    entries = {
        k: (a, b)
        for k, a, b in out.unknown.reshape(-1, layout.UNKNOWNS.width)[: start[layout.START.next_unknown]].tolist()
    }
    for data, row, begin, stop in zip(expected, ids, bounds.tolist(), id_ends.tolist(), strict=False):
        for k, index in enumerate(row if data is not None else ()):
            if index == 8:
                span = data[k].byte_span
                assert entries[stop - len(row) + k] == (begin + span[0], begin + span[1])


@given(located())
def test_texts_with_more_unknown_ids_than_there_is_room_for_are_odd(case: Any) -> None:
    given, words, ids, sizes, marks = case
    text, flat = np.frombuffer(b"".join(given), np.uint8), [index for row in ids for index in row]
    ends = np.cumsum([length for row in words for length in row], dtype=np.int64).astype(np.uint32)
    word_ends, id_ends = (ints(accumulate(map(len, rows))) for rows in (words, ids))
    bounds, kinds = (
        ints(accumulate(map(len, given), initial=0)),
        np.full(layout.INVALID + 1, layout.CONTINUES_RUN, np.uint8),
    )
    for known in (kinds, kinds[:0]):
        odd, spans = np.zeros(len(given), np.uint8), np.zeros(2 * len(flat), np.int64)
        start = np.zeros(layout.START.width, np.int64)
        place_ids(
            np.array(flat, np.uint32),
            IdWords(ends, NONE, word_ends, id_ends, text),
            IdSizes(np.array(sizes, np.int32), ints(marks), known),
            Origins(NONE, NONE, NONE, NONE),
            Source(bounds, np.zeros(0, np.int32)),
            Placed(spans, NONE, np.zeros(len(flat), np.int32), odd, NONE),
            start,
        )
        assert start[layout.START.next_unknown] == 0
        assert all(flag or 8 not in row for row, flag in zip(ids[:-1], odd.tolist(), strict=False))


@given(texts(12), st.sampled_from([layout.NO_PREFIX, layout.FIRST_PREFIX, layout.EMPTY_PREFIX]), st.data())
def test_ids_cover_a_text_as_in_the_twin(text: str, prefix: int, data: st.DataObject) -> None:
    given, sizes, ids = text.encode(), [layout.UNSURE, 1, 2, 3, 4, 5, 0], []
    left = len(given) + (prefix != layout.NO_PREFIX)
    while left > 0:
        ids.append(data.draw(st.integers(1, min(left, 5))))
        left -= ids[-1]
    if not data.draw(st.integers(0, 4)):
        ids.insert(data.draw(st.integers(0, len(ids))), data.draw(st.integers(0, 6)))
    expected = covered_text(given, ids, sizes, prefix)
    for wide in {True, not text.isascii()}:
        byte_spans, spans = np.zeros(2 * len(ids), np.int64), np.zeros(2 * len(ids) * wide, np.int64)
        arrays = np.array(ids, np.uint32), np.array(sizes, np.int32), np.frombuffer(given, np.uint8)
        assert cover_text(*arrays, prefix, byte_spans, spans) == (expected is not None)
        if expected is not None:
            assert byte_spans.reshape(-1, 2).tolist() == [[*place.byte_span] for place in expected]
            assert not wide or spans.reshape(-1, 2).tolist() == [[*place.span] for place in expected]


@cache
def covering(kind: str) -> Tokenizer:
    """A tokenizer of which `cover` finds the places: without a normalizer or with a form."""
    corpus = ["the cat, naïve Ünï 日本 \u0301a"] * 9
    tok = subwords.train(corpus, vocab_size=280, special_tokens=["<s>", "</s>"])
    tok = tok.with_(normalizer="nfc" if kind == "form" else None)
    return tok.with_(template="<s> $A </s>") if kind == "template" else tok


@pytest.mark.parametrize("kind", ["plain", "template", "form"])
@given(texts(20))
def test_spans_of_known_ids_are_those_of_the_words(kind: str, text: str) -> None:
    tok = covering(kind)
    made, (whole,) = tok(text), tok([text])
    for name in ("byte_spans", "spans"):
        assert getattr(made, name).tolist() == getattr(whole, name).tolist()
        assert not getattr(made, name).flags.writeable
    assert made == whole
    assert text == "" or not text.isascii() or engine_of(tok).cover is not None


PIECE = st.one_of(
    st.tuples(st.integers(0, 2), *[st.integers(0, 1)] * 5),
    st.tuples(st.just(layout.INSERTED), *[st.integers(0, 3)] * 5),
)
RANGE = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(
    st.lists(PIECE, max_size=4),
    st.sampled_from([None, 0, -1]),
    st.lists(st.tuples(RANGE, RANGE, RANGE), max_size=3),
    st.booleans(),
    st.integers(0, 9),
)
def test_rows_are_framed_as_by_the_twin(
    pieces: list[tuple[int, ...]], filled: int | None, fills: list[tuple[tuple[int, int], ...]], wide: bool, length: int
) -> None:
    pieces = [(piece[0], piece[1] % 2, *piece[2:]) for piece in pieces]
    if filled is not None:
        pieces.insert(0 if filled == 0 else len(pieces), (layout.FILLING, 0, 7, 1, 2, layout.SPECIAL))
    row = [(k, (k, k + 1), (9 + k, 10 + k) if wide else (), k, k % 3 - 1) for k in range(6)]
    expected = framed(pieces, fills, row, length, names=2)

    def made(count: int, fill: bool) -> Row:
        sizes = (count, 2 * count, 2 * count if wide else 0, count, count, count, count, count)
        kinds = (np.uint32, np.int64, np.int64, np.int32, np.int32, np.uint32, np.uint8, np.uint8)
        arrays = [np.zeros(n, kind) for n, kind in zip(sizes, kinds, strict=True)]
        if fill:
            for place in range(5):
                arrays[place][:] = np.array([entry[place] for entry in row]).ravel()
        return Row(*arrays)

    slots = ints(number for ranges in fills for a, b in ranges for number in (a, b - a, 0))
    frame = Frame(
        ints(number for piece in pieces for number in piece),
        NONE,
        NONE,
        slots,
        NO_BYTES,
        NO_INTS,
        NO_INTS,
        NO_INTS,
        NO_BYTES,
    )
    out, bounds, ranges = made(sum(map(len, expected)), False), ints([0] * (len(fills) + 1)), ints([0] * 4 * len(fills))
    assert frame_rows(frame, made(6, True), out, length, 2, bounds, ranges) == sum(map(len, expected))
    assert bounds.tolist() == [*accumulate(map(len, expected), initial=0)]
    spans = out.spans.reshape(-1, 2).tolist() if wide else [()] * len(out.ids)
    got = zip(out.ids, out.byte_spans.reshape(-1, 2).tolist(), spans, *out[3:], strict=True)
    rows = [(a, [*b], [*c] if wide else (), *more) for each in expected for a, b, c, *more in each]
    assert [(int(a), b, c, *map(int, more)) for a, b, c, *more in got] == rows


@given(
    st.lists(PIECE, max_size=4),
    st.sampled_from([None, 0, -1]),
    st.lists(st.tuples(RANGE, RANGE), max_size=3),
    st.integers(0, 9),
)
def test_rows_of_ids_are_those_of_the_twin(
    pieces: list[tuple[int, ...]], filled: int | None, fills: list[tuple[tuple[int, int], ...]], length: int
) -> None:
    pieces = [(piece[0] % 2 if piece[0] >= 0 else -1, piece[0] % 2, *piece[2:]) for piece in pieces]
    if filled is not None:
        pieces.insert(0 if filled == 0 else len(pieces), (layout.FILLING, 0, 7, 1, 2, layout.SPECIAL))
    row = [(k, (0, 0), (0, 0), 0, -1) for k in range(6)]
    expected = framed(pieces, fills, row, length, names=0)
    kept = ints(number for ranges in fills for a, b in ranges for number in (a, b - a))
    out = Filled(*[ints([9] * sum(map(len, expected))) for _ in range(4)], ints([0] * (len(fills) + 1)))
    ids = np.arange(6, dtype=np.uint32)
    given = ints(number for piece in pieces for number in piece)
    assert fill_rows(given, ids, 2, kept, length, out) == sum(map(len, expected))
    assert out.bounds.tolist() == [*accumulate(map(len, expected), initial=0)]
    columns = [(entry[0], entry[5], entry[7], entry[6]) for each in expected for entry in each]
    assert [*zip(*(column.tolist() for column in out[:4]), strict=True)] == columns


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3),
    st.booleans(),
    st.builds(
        Truncation,
        st.integers(0, 12),
        st.sampled_from(["longest_first", "only_first", "only_second"]),
        stride=st.integers(0, 3),
        direction=st.sampled_from(["left", "right"]),
    ),
)
def test_ids_are_kept_as_by_truncation(sizes: list[tuple[int, int]], pair: bool, cut: Truncation) -> None:
    strategies, texts = ("longest_first", "only_first", "only_second"), 1 + pair
    rule = (cut.max_length, strategies.index(cut.strategy), cut.stride, cut.direction == "left", 1, pair, 2)
    lengths = [size for column in [*zip(*sizes, strict=True)][:texts] for size in column]
    kept = ints([-1] * (2 * texts * len(sizes) + 1))
    longest = keep_ids(ints(accumulate(lengths, initial=0)), texts, ints(rule), kept)
    rows = []
    for row in sizes:
        try:
            rows.append(truncation_windows(row[:texts], cut, 0))
        except InputError:
            assert longest == -1
            return
    windows = [window[0] for row in rows for window in row]
    if longest == -1:  # nothing is left of a text: the general path does it
        assert any(start == stop for start, stop in windows)
        return
    starts = [sum(lengths[: text * len(sizes) + number]) for number in range(len(sizes)) for text in range(texts)]
    expected = [n for start, (begin, stop) in zip(starts, windows, strict=True) for n in (start + begin, stop - begin)]
    most = max((len(row[0]) * len(row[-1]) if pair else len(row[0]) for row in rows), default=1)
    assert kept.tolist() == [*expected, most]
    assert longest == max((sum(b - a for (a, b), *_ in row) + 2 for row in rows), default=0)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=6),
    st.lists(st.booleans(), min_size=1, max_size=2),
    st.sampled_from(["a", "é"]),
)
def test_spans_are_trimmed_as_by_the_template(rows: list[tuple[int, int, int]], keeps: list[bool], letter: str) -> None:
    tokens = [" " * begun + letter * length + "\u3000" * ended for begun, ended, length in rows]
    text = "".join(tokens)
    cuts = [*accumulate(map(len, tokens), initial=0)]
    byte_cuts = [len(text[:cut].encode()) for cut in cuts]
    spans = np.array([*pairwise(cuts)], np.int64).reshape(-1, 2)
    expected = Template(trims=tuple(keeps)).trimmed(spans, tokens)
    around = [(len(token) - len(token.lstrip()), len(token) - len(token.rstrip())) for token in tokens]
    begun, ended = np.ascontiguousarray(np.array([*around, (0, 0)], np.int32).T)
    count = len(rows)
    ids, none = np.arange(count, dtype=np.uint32), np.zeros(count, np.int32)
    row = Row(
        ids, ints(place for pair in pairwise(byte_cuts) for place in pair), spans.ravel(), none, none, *NO_ROW[5:]
    )
    out = Row(
        ids.copy(), row.byte_spans.copy(), spans.ravel().copy(), none.copy(), none.copy(),
        np.zeros(count, np.uint32), np.zeros(count, np.uint8), np.zeros(count, np.uint8),
    )  # fmt: skip
    frame = Frame(
        ints([0, 0, 0, 0, 0, layout.ATTENDED]), ints([0, count]), ints([0, len(text.encode())]), NONE,
        np.array(keeps, np.uint8), begun, ended, NO_INTS, np.frombuffer(text.encode(), np.uint8),
    )  # fmt: skip
    assert frame_rows(frame, row, out, 0, 0, ints([0, 0]), ints([0, 0])) == count
    assert out.spans.reshape(-1, 2).tolist() == expected.tolist()
    assert out.byte_spans.reshape(-1, 2).tolist() == [
        [len(text[:a].encode()), len(text[:b].encode())] for a, b in expected
    ]


# ------------------------------------------------------------------ in bulk and one by one

LINES = ["A line of some words: low, lower, lowest and it's 2024.", "naïve 文字 ĳ", "  spaces\tand\n lines "] * 9


def trained(normalizer: Any = None, template: Any = None, **options: Any) -> Tokenizer:
    tok = subwords.train(LINES, special_tokens=["<s>", "</s>", "<pad>", "<unk>", "[UNK]"], **options)
    tok = tok.with_(roles={"pad": "<pad>"})
    tok = tok.with_(normalizer=normalizer) if normalizer else tok
    return tok.with_(template=template) if template else tok


# A prefix at the start of the input, which the normalizer may remove.
FIRST = '[{"step": "Prefix", "text": "x", "scheme": "first"}, {"step": "Split", "pattern": " ?\\\\w+"}]'


def trimming(keeps: bool) -> Tokenizer:
    tok = trained(vocab_size=320, template="<s> $A </s>")
    assert tok.template is not None
    return tok.with_(template=Template(tok.template.single, tok.template.pair, (keeps,)))


FAMILIES: dict[str, Callable[[], Tokenizer]] = {
    "bpe": lambda: trained(vocab_size=320),
    "bpe-machine": lambda: trained(vocab_size=320, splitter="llama3"),
    "bpe-steps": lambda: trained(vocab_size=320, splitter="falcon"),
    "bpe-nfkc": lambda: trained(vocab_size=320, normalizer="nfkc", template=("<s> $A </s>", "<s> $A $B </s>")),
    "bpe-trims": lambda: trimming(False),
    "bpe-trims-keeps": lambda: trimming(True),
    "bpe-added": lambda: trained(vocab_size=320, normalizer="lowercase").with_tokens(
        ["low", " of"], special=False, normalized=True
    ),
    "bpe-first": lambda: trained("strip", vocab_size=320).with_(splitter=FIRST),
    "wordpiece": lambda: trained("bert-uncased", "<s> $A </s>", vocab_size=99, algorithm="wordpiece"),
    "unigram": lambda: trained(vocab_size=70, algorithm="unigram"),
    "unigram-unknown": lambda: trained("sentencepiece", vocab_size=50, algorithm="unigram"),
    "unigram-bert": lambda: trained("bert-uncased", vocab_size=50, algorithm="unigram"),
    "wordlevel": lambda: trained(vocab_size=30, algorithm="wordlevel"),
}
made = cache(lambda name: FAMILIES[name]())


@cache
def slow(name: str) -> Tokenizer:
    """A tokenizer that finds no span by the sizes of ids: each word is segmented again."""
    tok = Tokenizer(made(name).spec)
    engine_of(tok).spans._sizes = engine_of(tok).spans._unknown = None
    engine_of(tok).__dict__["cover"] = None
    return tok


def one_by_one(tok: Tokenizer, rows: list[list[str]], truncation: Any, padding: Any, **options: Any) -> list[Encoding]:
    found = [tok(*row, truncation=truncation, padding=False, **options) for row in rows]
    filled = tok._calls.framing(True, truncation, padding).padding
    if filled is None:
        return found
    length = filled.length_for(max(map(len, found)))
    filled = replace(filled, length=length, multiple_of=None)
    return [tok(*row, truncation=truncation, padding=filled, **options) for row in rows]


def check(name: str, rows: list[list[str]], special: str, truncation: Any, padding: Any, threads: int) -> None:
    tok, given = made(name), [list(column) for column in zip(*rows, strict=True)]
    options: Any = {"special": special, "truncation": truncation, "padding": padding}
    try:
        expected = one_by_one(slow(name), rows, **options)
    except InputError as error:
        with pytest.raises(InputError) as caught:
            tok(*given, **options, threads=threads)
        assert str(caught.value).endswith(str(error))
        return
    got = tok(*given, **options, threads=threads)
    assert [*got] == expected
    assert [repr(each) for each in got] == [repr(each) for each in expected]
    assert one_by_one(tok, rows, **options) == expected


PARTS = ["<s>", "low", " of", "a", " ", "é", "LOW"]
GIVEN = st.one_of(texts(8), st.lists(st.sampled_from(PARTS), max_size=5).map("".join))
# A pair has a piece for every combination of the pieces of its texts: small lengths take long.
TRUNCATIONS = st.sampled_from([None, None, 16, Truncation(18, stride=2), Truncation(17, direction="left")])
PADDINGS = st.sampled_from([None, True, 8, Padding(direction="left", multiple_of=4, pad_id=0, pad_token="P")])


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", FAMILIES)
@given(
    rows=st.integers(1, 2).flatmap(lambda n: st.lists(st.lists(GIVEN, min_size=n, max_size=n), min_size=1, max_size=3)),
    special=st.sampled_from(["text", "allow"]),
    truncation=TRUNCATIONS,
    padding=PADDINGS,
)
@example(rows=[["low 文字 of"], [""], ["LOW\u0301 <s>low"]], special="allow", truncation=None, padding=None)
@example(rows=[["low 文字 of", "it's"], ["", "文"]], special="text", truncation=None, padding=True)
def test_encodings_in_bulk_are_those_made_one_by_one(
    name: str, rows: list[list[str]], special: str, truncation: Any, padding: Any
) -> None:
    check(name, rows, special, truncation, padding, threads=1)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_parts_and_chunks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.engine.spans.PART", 40)
    rows = [[line] for line in [*LINES, *LINES, "low " * 2000, "文字" * 900]]
    check(name, rows, "text", None, None, threads=2)


# ------------------------------------------------------------------ the objects


def test_fields_are_made_when_they_are_read_and_stay() -> None:
    tok = made("bpe")
    batch = tok(["low, lower", "naïve"])
    assert isinstance(batch, EncodingBatch)
    assert len(batch) == 2
    first = batch[0]
    assert "tokens" not in vars(first)
    assert first.tokens is first.tokens
    assert batch[0] is first
    assert not first.ids.flags.writeable
    assert not first.spans.flags.writeable
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        first.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        first.ids = np.zeros(1, np.uint32)  # type: ignore[misc]


def test_encodings_from_rows_are_values() -> None:
    tok = made("wordpiece")
    batch = tok(["low, lower", "naïve"], truncation=4)
    same = pickle.loads(pickle.dumps(batch))
    assert same == batch
    assert same[0].overflow == batch[0].overflow != ()
    assert {*batch} == {*same}
    assert batch == EncodingBatch([*same], (0, 1), names=batch.__dict__["_names"])


def test_threads_are_an_option_for_lists() -> None:
    tok = made("bpe")
    with pytest.raises(InputError, match="threads is an option for a list of texts"):
        tok("low", threads=2)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="expected threads to be a positive integer"):
        tok(["low"], threads=0)
    assert len(tok([], threads=2)) == 0


def test_an_error_names_its_text() -> None:
    with pytest.raises(InputError, match="text 1: "):
        made("bpe")(["low", "\ud800"])
    with pytest.raises(InputError, match="text 2: expected text"):
        made("bpe")(["low", "a", 3])  # type: ignore[list-item]
