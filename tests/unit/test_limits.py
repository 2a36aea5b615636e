"""Limits of memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import subwords
from commands import run
from inside import LEAST_BLOCK, MOST_BLOCK, TABLES, bytes_of, threads_within
from inside import support_memory as memory
from subwords import InputError, TrainingError


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("2GB", 2 * 10**9), ("2g", 2 * 10**9), ("512 MiB", 512 << 20), ("0.5TB", 10**12 // 2), ("77", 77), (77, 77)],
)
def test_amounts(amount: int | str, expected: int) -> None:
    assert bytes_of(amount) == expected


@pytest.mark.parametrize("amount", ["", "GB", "2 XB", "-1GB", "1e9", 0, -5, True, 1.5, None, "99999999999TB"])
def test_what_is_no_amount(amount: object) -> None:
    with pytest.raises(InputError, match="expected a number of bytes, or an amount such as"):
        bytes_of(amount)  # type: ignore[arg-type]


def test_room_is_what_this_process_does_not_use_yet() -> None:
    room = memory.room_of(1 << 40)
    assert 0 < room < 1 << 40
    held = bytearray(b"x" * (64 << 20))
    assert memory.room_of(1 << 40) < room - (32 << 20)
    del held
    with pytest.raises(InputError, match="expected at least"):
        memory.room_of((1 << 40) - room + memory.LEAST_ROOM // 2)


def test_threads_within() -> None:
    for megabytes in range(130, 3000, 50):
        room = megabytes << 20
        threads, block = threads_within(room, 8)
        assert LEAST_BLOCK <= block <= MOST_BLOCK
        assert threads * TABLES <= room
    assert threads_within(1 << 40, 8) == (8, MOST_BLOCK)
    with pytest.raises(InputError, match="MB of memory besides"):
        threads_within(TABLES, 8)


# ------------------------------------------------------------------ Training within a limit of memory


def test_a_limit_does_not_change_the_tokenizer() -> None:
    texts = ["low lower lowest", "a newer and wider text"] * 3
    for algorithm, size in (("bpe", 270), ("wordpiece", 40), ("unigram", 24)):
        free = subwords.train(texts, algorithm=algorithm, vocab_size=size)  # type: ignore[call-overload]
        bound = subwords.train(texts, algorithm=algorithm, vocab_size=size, memory="64GB")  # type: ignore[call-overload]
        assert bound.spec == free.spec


def test_words_that_do_not_fit_are_refused_with_what_they_need() -> None:
    counts = subwords.count(["low lower lowest"])
    for source in (counts, ["low lower lowest"]):
        with pytest.raises((TrainingError, InputError), match=r"training takes about 0\.07 GB|expected at least"):
            subwords.train(source, vocab_size=300, memory="1MB")
    with pytest.raises(TrainingError, match=r"for 3 distinct words, but memory=1000000 leaves 0\.00 GB"):
        subwords.train(counts, vocab_size=300, memory="1MB")
    with pytest.raises(InputError, match="expected a number of bytes, or an amount"):
        subwords.train(counts, vocab_size=300, memory="much")


@pytest.mark.parametrize("least", [1, 2, 3, 50])
def test_words_that_occur_often_enough(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.corpus.counts.BLOCK", 7)
    words = random.Random(least).choices([*"abcdefgh", "some", "longer", "wörter", "了解"], range(1, 13), k=90)
    counts = subwords.count([" ".join(words)])
    assert list(counts.at_least(least)) == [(word, count) for word, count in counts if count >= least]
    assert counts.at_least(least).provenance == counts.provenance
    with pytest.raises(InputError, match="expected count to be"):
        counts.at_least(0)


def test_the_command(tmp_path: Path) -> None:
    text, counts, tok = tmp_path / "a.txt", tmp_path / "t.json.counts", tmp_path / "t.json"
    text.write_text("low lower lowest " * 9)
    run("count", text, "-o", counts)
    before = counts.read_bytes()
    run("train", counts, "--vocab-size", 270, "--memory", "64GB", "-o", tok)
    assert counts.read_bytes() == before, "counts that the user made stay"
    refused = run("train", counts, "--vocab-size", 270, "--memory", "1MB", "-o", tok, code=1)
    assert "training takes about 0.07 GB" in refused.stderr
    run("train", counts, "--vocab-size", 270, "--workers", 2, "-o", tok, code=2)
