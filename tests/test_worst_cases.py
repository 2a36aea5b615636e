"""Texts that break tokenizers: one endless word, nothing, NULs, invalid bytes, words that never repeat (E5, E6)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import subwords
from building import tokenizer_of
from inside import engine_encoder as states
from seeds import sweep_seed
from small_data import is_small
from subwords import Tokenizer
from subwords.machine import engine_of
from subwords.reference import bpe as reference

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
MILLION = 1_000_000
LIMIT = 5.0  # seconds for a megabyte: hundreds of times what it takes, far below what anything quadratic does


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    subwords.warmup()
    runs = [letter * 40 for letter in ("a", " ", "=", "\n", "0", "ab", "aab", "\0")]
    return subwords.train([OPTICKS.read_text(encoding="utf-8"), *runs * 50], vocab_size=4000, splitter="gpt2")


def fresh(tok: Tokenizer) -> Tokenizer:
    return tokenizer_of(tok.model, tok.splitter)


def fibonacci(length: int) -> bytes:
    a, b = b"a", b"ab"
    while len(b) < length:
        a, b = b, b + a
    return b[:length]


def letters(length: int) -> bytes:
    return bytes(random.Random(1).choices(range(97, 123), k=length))


def marks(length: int) -> bytes:
    return b"e" + "\u0301".encode() * (length // 2)


def apart(length: int) -> bytes:
    """Words of which no two are the same."""
    return b"".join(b" %x" % n for n in range(length // 6))


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "one letter": lambda n: b"a" * n,
    "two letters": lambda n: b"ab" * (n // 2),
    "three letters": lambda n: b"aab" * (n // 3),
    "Fibonacci word": fibonacci,
    "random letters": letters,
    "digits": lambda n: b"1234567890" * (n // 10),
    "punctuation": lambda n: b"=" * n,
    "spaces": lambda n: b" " * n,
    "spaces, then a word": lambda n: b" " * n + b"a",
    "newlines": lambda n: b"\n" * n,
    "no-break spaces": lambda n: "\u00a0".encode() * (n // 2),
    "NULs": lambda n: b"\0" * n,
    "no UTF-8": lambda n: b"\xff\xc3" * (n // 2),
    "marks": marks,
    "emoji": lambda n: "👩\u200d👧".encode() * (n // 11),
    "apostrophes": lambda n: b"'" * n,
    "contractions": lambda n: b"'s'll" * (n // 5),
    "no word twice": apart,
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_megabyte_is_encoded_and_comes_back(tok: Tokenizer, name: str) -> None:
    data = HOSTILE[name](MILLION)
    cold = fresh(tok)
    start = time.perf_counter()
    ids = cold.encode(data)
    taken = time.perf_counter() - start
    assert tok.decode_bytes(ids) == data
    assert taken < LIMIT
    assert cold.encode(data) == ids


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length(tok: Tokenizer, name: str) -> None:
    small, large = HOSTILE[name](MILLION // 4), HOSTILE[name](MILLION)
    for _ in range(3):  # one quiet moment in three is enough
        one, four = (min(seconds(lambda: fresh(tok).encode(data)) for _ in range(2)) for data in (small, large))
        if four < 8 * one + 0.02:
            return
    pytest.fail(f"{len(small)} bytes: {one:.3f} s, {len(large)} bytes: {four:.3f} s")


@pytest.mark.parametrize("name", HOSTILE)
def test_start_of_it_equals_the_reference(tok: Tokenizer, name: str) -> None:
    data = HOSTILE[name](600)
    assert tok.encode(data) == reference.encode(data, [*tok.model.vocab], tok.merges)


@pytest.mark.parametrize("name", ["one letter", "two letters", "random letters", "spaces", "no word twice"])
def test_megabyte_is_trained_on(name: str) -> None:
    text = HOSTILE[name](MILLION).decode()
    start = time.perf_counter()
    got = subwords.train([text], vocab_size=400)
    assert time.perf_counter() - start < LIMIT
    assert got.decode(got.encode(text)) == text


@pytest.mark.parametrize("length", [4, 200])
def test_words_that_never_repeat_do_not_grow_the_table_for_ever(
    tok: Tokenizer, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "MOST_SLOTS", 1 << 12)
    monkeypatch.setattr(states, "MOST_ARENA", 1 << 15)
    hostile = fresh(tok)
    for start in range(0, 60_000, 20_000):
        data = b"".join(b" %0*x" % (length, n) for n in range(start, start + 20_000))
        assert hostile.decode_bytes(hostile.encode(data)) == data
        state = engine_of(hostile).encoder.take()
        assert len(state.slots) <= 4 * (1 << 12)
        assert max(len(state.ids), len(state.arena)) <= 4 * (1 << 15) + 64
        engine_of(hostile).encoder.give(state)


def test_scratch_for_a_huge_word_is_given_back(tok: Tokenizer) -> None:
    used = fresh(tok)
    used.encode(b"a" * MILLION)
    state = engine_of(used).encoder.take()
    assert sum(array.nbytes for array in state.scratch[:2]) < MILLION * 10


def adversarial(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "adversarial").iterdir() if path.suffix in (".txt", ".bin"))


def test_adversarial_files_come_back(tok: Tokenizer, data: Path) -> None:
    files = adversarial(data)
    assert len(files) > (30 if is_small(data) else 80)
    for path in files[sweep_seed() % 3 :: 3]:  # all of them in the next test
        content = path.read_bytes()
        start = time.perf_counter()
        ids = fresh(tok).encode(content)
        assert time.perf_counter() - start < LIMIT, path.name
        assert tok.decode_bytes(ids) == content, path.name


def test_adversarial_files_in_one_batch(tok: Tokenizer, data: Path) -> None:
    contents = [path.read_bytes() for path in adversarial(data)]
    batch = fresh(tok).encode_batch(contents)
    assert [tok.decode_bytes(ids) for ids in batch] == contents


def test_tables_of_distinct_words_are_joined_in_linear_time() -> None:
    # In the order of one table, words filled the front of the other: 2 million took a minute.
    seed = 8
    print(f"seed {seed}")
    signs = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz    ", np.uint8)
    text = signs[np.random.default_rng(seed).integers(0, len(signs), 30_000_000)].tobytes().decode()
    seconds, counts = [], []
    for threads in (1, 2):
        started = time.perf_counter()
        counts.append(subwords.count([text], threads=threads))
        seconds.append(time.perf_counter() - started)
    assert len(counts[0]) == len(counts[1]) > 2_000_000
    assert np.array_equal(counts[0].counts, counts[1].counts)
    assert seconds[1] < 4 * seconds[0] + 1, seconds
