"""Rows of JSON: the kernel gives the texts that json gives, and leaves to Python only what it may. Sums of words."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise

import numpy as np
import pytest

from inside import field_texts, sum_words
from inside import kernels_layout as layout
from inside import rows_DEEPEST as DEEPEST
from seeds import seed_of_run
from subwords.reference import text as reference

SEED = seed_of_run()
LETTERS = 'ab"\\/\n\t\r\b\f é中😀\x00\x1f{}[],:'
DAMAGE = [bytes([byte]) for byte in b'"\\{}[],:0eE+-.tnu\n \x00']


def read(data: bytes, name: str = "text") -> list[bytes | None]:
    """The texts of all rows; None for those that the kernel does not decide."""
    out, ends = np.full(len(data) + layout.LANES, 7, np.uint8), np.full(data.count(b"\n") + 1, -7, np.int64)
    counters, undecided = np.zeros(3, np.int64), set[int]()
    arguments = np.frombuffer(data, np.uint8), np.frombuffer(name.encode(), np.uint8), out, ends, counters
    while (status := field_texts(*arguments)) != layout.DONE:
        assert status == layout.UNKNOWN
        at, written, count = counters.tolist()
        undecided.add(count)
        ends[count] = written
        counters[layout.JSON_ROW.at], counters[layout.JSON_ROW.width] = data.find(b"\n", at) + 1 or len(data), count + 1
    count = int(counters[layout.JSON_ROW.width])
    assert counters[layout.JSON_ROW.written] == (ends[count - 1] if count else 0)
    places = pairwise([0, *ends[:count].tolist()])
    return [None if i in undecided else out[a:b].tobytes() for i, (a, b) in enumerate(places)]


def any_value(rng: random.Random, depth: int = 0) -> object:
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return rng.choice([0, 1, -3, 2.5, 1e10, -1e-7, 12345678901234567890, True, False, None])
    if kind < 6:
        return "".join(rng.choices(LETTERS, k=rng.choice([0, 3, 70, 200])))
    if kind == 6:
        return [any_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return any_row(rng, depth + 1)


def any_row(rng: random.Random, depth: int = 0) -> dict[str, object]:
    return {"".join(rng.choices("abtexts", k=rng.randrange(5))): any_value(rng, depth) for _ in range(rng.randrange(4))}


def any_rows(rng: random.Random) -> bytes:
    lines = list[str]()
    for _ in range(rng.randrange(1, 6)):
        items = [*any_row(rng).items(), ("text", any_value(rng))]
        rng.shuffle(items)
        separators = rng.choice([(",", ":"), (", ", ": "), (" ,\t", " :\r ")])
        line = json.dumps(dict(items), ensure_ascii=rng.random() < 0.5, separators=separators)
        lines.append(line + rng.choice(["\n", "\r\n", "  \n", "\n\n", "\n \t\n"]))
    data = "".join(lines).encode()
    return data.rstrip(b"\n") if rng.random() < 0.3 else data


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randrange(1, 4)):
        at, more = rng.randrange(len(data)), rng.choice([b"", rng.choice(DAMAGE)])
        data = data[:at] + more + data[at + rng.randrange(2) :]
    return data


def test_random_rows() -> None:
    rng = random.Random(SEED)
    for _ in range(400):
        data = any_rows(rng)
        assert read(data) == reference.field_texts(data, "text"), data


def test_damaged_rows() -> None:
    rng, decided = random.Random(SEED), 0
    for _ in range(1500):
        data = damaged(any_rows(rng), rng)
        try:
            data.decode()
        except UnicodeDecodeError:
            continue
        expected, found = reference.field_texts(data, "text"), read(data)
        assert len(found) == len(expected), data
        # What the kernel decides is so; what it does not decide is damaged, or rare: a name that occurs twice, or with
        # an escape.
        for text, sound in zip(found, expected, strict=True):
            assert text is None or text == sound, data
            decided += text is not None
    assert decided > 500


@pytest.mark.parametrize(
    "row",
    [
        *(
            '{"text":"x"}',
            ' \t{"text" : "x" }\r',
            '{"a":[],"text":"x"}',
            '{"a":{},"text":"x","b":[{"c":[1,{"d":null}]}]}',
        ),
        *('{"a":-0.5e+10,"text":"x"}', '{"a":0E0,"text":"x"}', '{"a":1.25,"b":true,"c":false,"text":"x"}'),
        *('{"text":"\\u00e9\\ud83d\\ude00\\"\\\\\\/\\b\\f\\n\\r\\t"}', '{"text":"\\uD83D\\uDE00"}', '{"text":""}'),
        *('{"textt":"y","tex":"y","text":"x"}', '{"":{"text":"y"},"text":"x"}', '{"text":"' + "é" * 99 + '"}'),
        '{"a":' + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1) + ',"text":"x"}',
    ],
)
def test_sound_rows_are_decided(row: str) -> None:
    assert read(row.encode()) == reference.field_texts(row.encode(), "text") != [None]


@pytest.mark.parametrize(
    "row",
    [
        *(
            '{"text":"x"',
            '{"text":"x"}}',
            '{"text":"x"},',
            '{"text":"x",}',
            '{"text" "x"}',
            "{text:1}",
            "{}",
            "[]",
            '"x"',
        ),
        *(
            '{"a":01,"text":"x"}',
            '{"a":1.,"text":"x"}',
            '{"a":.5,"text":"x"}',
            '{"a":1e,"text":"x"}',
            '{"a":-,"text":"x"}',
        ),
        *('{"a":[1,],"text":"x"}', '{"a":[1 2],"text":"x"}', '{"a":[1}],"text":"x"}', '{"a":{"b"},"text":"x"}'),
        *('{"a":tru,"text":"x"}', '{"a":nul', '{"a":"\x01","text":"x"}', '{"text":"\t"}', '{"text":"\\x41"}'),
        *('{"text":"\\u12"}', '{"text":"\\u00g0"}', '{"text":"\\ud800"}', '{"text":"\\ude00\\ud83d"}', '{"text":null}'),
        *(
            '{"text":1}',
            '{"text":["x"]}',
            '{"id":1}',
            '{"a":[,1],"text":"x"}',
            '{"a":{,},"text":"x"}',
            "{",
            '{"',
            '{"text"',
        ),
        *(
            '{"text":',
            '{"text":"',
            '{"text":"\\',
            '{"text":"\\u',
            "-",
            "\ufeff{}",
            '\x0b{"text":"x"}',
            '{"text":"x"}\x00',
        ),
    ],
)
def test_unsound_rows_are_left_to_python(row: str) -> None:
    assert read(row.encode()) == reference.field_texts(row.encode(), "text") == [None]
    around = b'{"text":"a"}\n' + row.encode() + b'\n{"text":"b"}'
    assert read(around) == [b"a", None, b"b"]


@pytest.mark.parametrize(
    "row",
    [
        *('{"te\\u0078t":"x"}', '{"text":"x","text":"y"}', '{"a":NaN,"text":"x"}', '{"a":-Infinity,"text":"x"}'),
        '{"a":' + "[" * DEEPEST + "[]" + "]" * DEEPEST + ',"text":"x"}',
    ],
)
def test_rare_rows_are_left_to_python(row: str) -> None:
    assert reference.field_texts(row.encode(), "text") != [None]
    assert read(row.encode()) == [None]


def test_other_names() -> None:
    data = '{"é中":"x","":"y","a b":"z"}'.encode()
    assert [read(data, name) for name in ("é中", "", "a b", "c")] == [[b"x"], [b"y"], [b"z"], [None]]


def test_nothing_but_whitespace() -> None:
    assert [read(data) for data in (b"", b"\n", b" \t\r\n\n ", b"\r")] == [[], [], [], []]


@pytest.mark.parametrize(
    "row", [b"[" * 1000, b'{"a":' * 1000, b'{"text":"' + b"\\" * 1000, b'{"a":"b",' * 1000, b"\\u" * 500]
)
def test_time_is_linear(row: bytes) -> None:
    def seconds(data: bytes) -> float:
        start = time.perf_counter()
        field_texts(*arguments(data))
        return time.perf_counter() - start

    def arguments(data: bytes) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
        sizes = np.empty(len(data) + layout.LANES, np.uint8), np.empty(data.count(b"\n") + 1, np.int64)
        return np.frombuffer(data, np.uint8), np.frombuffer(b"text", np.uint8), *sizes, np.zeros(3, np.int64)

    small, large = row * 20, row * 640
    for _ in range(5):  # one quiet moment in five is enough
        if seconds(large) < 32 * 4 * max(seconds(small), 20e-6):
            return
    pytest.fail(f"32 times the row takes {seconds(large) / seconds(small):.0f} times as long")


def test_sums_of_words() -> None:
    """Of the words of a kept file: see `engine/kept.py`."""
    words = np.random.default_rng(5).integers(0, 1 << 32, 3000, np.uint32)
    for count in (0, 1, 7, 2999, 3000):
        expected = sum(word * (2 * k + 1) for k, word in enumerate(words[:count].tolist())) % (1 << 64)
        assert sum_words(words, count) % (1 << 64) == expected
    changed = words.copy()
    changed[[5, 2000]] = words[[2000, 5]]
    assert sum_words(changed, 3000) != sum_words(words, 3000)
