"""Counting words: equal to the reference for any blocks, threads and splitter; files of counts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner

import subwords
from engines import splitter
from inside import corpus_count as count
from seeds import sweep_seed
from subwords import CorpusError, FormatError, InputError, Reading, WordCounts
from subwords.cli import main
from subwords.machine import COUNTS_MAGIC, MOST_COUNTED, Provenance, read_blocks
from subwords.reference.bpe import GPT2_PATTERN, count_words

GPT2 = Provenance(GPT2_PATTERN)
SIZES = (1, 2, 3, 4, 5, 7, 13, 64, 1000)
SPECIALS: list[list[str]] = [
    [],
    ["<s>"],
    ["<|", "<|end|>", "<|end|><s>"],
    ["a b", "ab", "aba", " \n"],
    [" <s>", "é<", "\u3000", "   "],
    ["<|a special token longer than most blocks, and longer than the words of this text|>", "tok"],
]
FRAGMENTS = [
    "a", "b", "aba", "it's", "we'll", "x" * 40, "é", "中文", "😀", "e\u0301", "\u0915\u094d\u0937", "12", "٣", "!?",
    "<|end|>", "<s>", "<|", "|>", " ", "  ", "\n", "\r\n", "\t", "\x1c", "\x85", "\u2028", "\u3000", "\xa0", "\u200b",
    "a b", "<|a special token longer than most blocks, and longer than the words of this text|>",
]  # fmt: skip


def counted(
    source: Any,
    *,
    special_tokens: Sequence[str] = (),
    size: int = 1 << 20,
    threads: int = 1,
    documents: Literal["file", "line"] = "file",
    rule: str = "gpt2",
) -> WordCounts:
    blocks = read_blocks(source, Reading(documents=documents), block_size=size)
    return count.count_blocks(blocks, splitter(rule), special_tokens=special_tokens, threads=threads)


def made(words: dict[bytes, int], provenance: Provenance = GPT2) -> WordCounts:
    data = np.frombuffer(b"".join(words), np.uint8)
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return WordCounts(data, offsets, np.array([*words.values()], np.uint64), provenance)


def random_text(rng: random.Random, parts: int) -> str:
    return "".join(rng.choices(FRAGMENTS, k=parts))


# --- counting


def test_files_several_with_unfinished_words_are_separate_documents(tmp_path: Path) -> None:
    parts = ["one wor", "d and <", "s>", "", "\n", " \n", "x"]
    paths = [tmp_path / f"{i}.txt" for i in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(part, newline="")
    ref = count_words(parts, GPT2_PATTERN, ["<s>"])
    for size in SIZES:
        assert list(counted(paths, special_tokens=["<s>"], size=size)) == list(ref.items())


@pytest.mark.parametrize("length", [15, 16, 17, 31, 32, 33, 255, 256, 70_000, 300_000])
def test_words_of_any_length_are_kept_apart_by_their_last_byte(length: int) -> None:
    words = ["a" * (length - 1) + end for end in "abc"]
    got = counted([words[0], words[1], words[0], words[2]])
    assert list(got) == [(words[0].encode(), 2), (words[1].encode(), 1), (words[2].encode(), 1)]


def test_many_distinct_words_keep_the_order_of_first_occurrence() -> None:
    words = [f" {'x' * (i % 37)}{i:x}" for i in range(50_000)]
    for threads in (1, 3):
        got = subwords.count(["".join(words), "".join(reversed(words))], splitter=r" \w+", threads=threads)
        assert [word for word, _ in got] == [word.encode() for word in words]
        assert got.total == 100_000
        assert set(got.counts.tolist()) == {2}


def test_total_and_len_and_repr_say_how_many() -> None:
    got = subwords.count(["so so", "so it"])
    assert (len(got), got.total) == (3, 4)
    assert repr(got).startswith("WordCounts(3 words, 4 in all")


def test_empty_corpus_is_a_corpus_error() -> None:
    with pytest.raises(CorpusError, match="every document is empty"):
        subwords.count(["", ""])


# --- adding


def test_sum_is_the_count_of_both_corpora_as_documents() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for special_tokens in SPECIALS:
        texts = [random_text(rng, rng.randrange(1, 80)) for _ in range(6)]
        whole = counted(texts, special_tokens=special_tokens)
        for cut in range(1, 6):
            parts = [counted(part, special_tokens=special_tokens) for part in (texts[:cut], texts[cut:])]
            got = parts[0] + parts[1]
            assert list(got) == list(whole)
            assert got.provenance == whole.provenance


def test_sum_is_associative_and_leaves_its_parts_alone() -> None:
    a, b, c = (made(words) for words in ({b"x": 1, b"y": 2}, {b"y": 3, b"z": 4}, {b"w": 5, b"x": 6}))
    assert list((a + b) + c) == list(a + (b + c)) == [(b"x", 7), (b"y", 5), (b"z", 4), (b"w", 5)]
    assert list(a) == [(b"x", 1), (b"y", 2)]
    assert list(b) == [(b"y", 3), (b"z", 4)]


def test_sum_with_nothing_is_the_same() -> None:
    some, none = made({b"x": 1, b"yy": 2}), made({})
    assert list(some + none) == list(none + some) == list(some)
    assert list(none + none) == []


def test_sum_of_a_list() -> None:
    a, b, c = (made(words) for words in ({b"x": 1}, {b"x": 2, b"y": 3}, {b"z": 4}))
    assert list(sum([a, b, c])) == list(a + b + c)
    with pytest.raises(InputError, match="expected word counts to add"):
        1 + a


def test_sum_beyond_32_bits_does_not_wrap() -> None:
    got = made({b"x": 2**62, b"y": 2**32 - 1}) + made({b"y": 2**32, b"x": 7})
    assert list(got) == [(b"x", 2**62 + 7), (b"y", 2**33 - 1)]


def test_sum_beyond_63_bits_is_an_input_error() -> None:
    assert (made({b"x": MOST_COUNTED - 1}) + made({b"y": 1})).total == MOST_COUNTED
    with pytest.raises(InputError, match=r"2\*\*63"):
        made({b"x": MOST_COUNTED}) + made({b"x": 1})


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (Provenance(r"\w+"), "splitter"),
        (Provenance(GPT2_PATTERN, normalizer="nfc"), "normalizer"),
        (Provenance(GPT2_PATTERN, unicode="15.0"), "unicode"),
        (Provenance(GPT2_PATTERN, special_tokens=("<s>",)), "special_tokens"),
    ],
)
def test_sum_of_counts_made_differently_names_the_difference(other: Provenance, named: str) -> None:
    with pytest.raises(InputError, match=named):
        made({b"x": 1}) + made({b"x": 1}, other)


def test_training_on_counts_made_differently_names_the_difference() -> None:
    with pytest.raises(InputError, match="splitter"):
        subwords.train(subwords.count(["a b"], splitter=r"\w+"), vocab_size=257)
    with pytest.raises(InputError, match="<s>"):
        subwords.train(subwords.count(["a b"]), vocab_size=257, special_tokens=["<s>"])


# --- files

CASES: dict[str, Callable[[], WordCounts]] = {
    "a corpus": lambda: subwords.count(["it's a cat, a dog 😀\n\n" * 3, "中文 \x00"], special_tokens=["<s>", "é"]),
    "one byte": lambda: made({b"x": 1}),
    "no word": lambda: made({}),
    "not UTF-8": lambda: made({b"\xff\x00": 3, b"\xf0\x9f": MOST_COUNTED - 3}),
    "a long word": lambda: made({b"y" * 100_000: 1, b"z": 2}),
    "odd provenance": lambda: made({b"x": 1}, Provenance('a"\n\udc80\u2028', "é", None, ("", "\x00"))),
}


@pytest.mark.parametrize("case", CASES)
def test_saved_counts_come_back(case: str, tmp_path: Path) -> None:
    ref, path = CASES[case](), tmp_path / "counts.bin"
    ref.save(path)
    got = WordCounts.load(str(path))
    assert list(got) == list(ref)
    assert got.provenance == ref.provenance
    assert (got.data.dtype, got.offsets.dtype, got.counts.dtype) == (np.uint8, np.int64, np.uint64)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_loaded_counts_add_up_train_and_save_like_the_original(tmp_path: Path) -> None:
    ref = subwords.count(["low lower lowest " * 9])
    ref.save(tmp_path / "a.bin")
    got = WordCounts.load(tmp_path / "a.bin")
    assert list(got + got) == list(ref + ref)
    assert subwords.train(got, vocab_size=262).merges == subwords.train(ref, vocab_size=262).merges
    got.save(tmp_path / "b.bin")
    assert (tmp_path / "b.bin").read_bytes() == (tmp_path / "a.bin").read_bytes()
    got.save(tmp_path / "a.bin")  # onto the file it is mapped from
    assert list(got) == list(WordCounts.load(tmp_path / "a.bin")) == list(ref)


def test_loaded_arrays_are_the_mapped_file_and_read_only(tmp_path: Path) -> None:
    subwords.count(["a cat, a dog"]).save(tmp_path / "counts.bin")
    got = WordCounts.load(tmp_path / "counts.bin")
    for array in (got.data, got.offsets, got.counts):
        assert isinstance(array, np.memmap)
        assert not array.flags.owndata
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0
    span = got.data.ctypes.data - got.counts.ctypes.data
    assert 0 < span < (tmp_path / "counts.bin").stat().st_size, "all are views of one mapping"


def test_saving_where_there_is_no_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        made({b"x": 1}).save(tmp_path / "none" / "counts.bin")


def test_missing_file_is_a_corpus_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nothing\.bin"):
        WordCounts.load(tmp_path / "nothing.bin")


def test_file_cut_short_anywhere_is_a_format_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    subwords.count(["a cat, a dog"]).save(path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 3), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=path.name):
            WordCounts.load(path)
    path.write_bytes(whole + b"\x00")
    with pytest.raises(FormatError, match=path.name):
        WordCounts.load(path)


def test_file_with_any_bit_of_its_header_flipped_is_a_format_error(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    subwords.count(["a cat, a dog"], special_tokens=["<s>"]).save(path)
    whole = path.read_bytes()
    end = 32 + int.from_bytes(whole[16:24], "little")
    for place in range(sweep_seed() % 4, 8 * end, 4):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"counts\.bin"):
            WordCounts.load(path)


def saved(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A file whose header is changed and whole."""
    made({b"x": 1, b"yy": 2}).save(path)
    whole = path.read_bytes()
    start = len(COUNTS_MAGIC) + 16
    stop = whole.index(b"}}") + 2
    fields = json.loads(whole[start:stop])
    change(fields)
    import zlib

    body = json.dumps(fields).encode()
    sums = len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(8, "little")
    first = -(-stop // 64) * 64
    padding = bytes(-(start + len(body)) % 64)
    path.write_bytes(COUNTS_MAGIC + sums + body + padding + whole[first:])
    return path


def test_file_with_a_header_written_anew_loads(tmp_path: Path) -> None:
    path = saved(tmp_path / "counts.bin", lambda fields: fields["provenance"].update(unicode="1"))
    assert WordCounts.load(path).provenance.unicode == "1"


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.update(words=-1),
        lambda fields: fields.update(words=1),
        lambda fields: fields.update(words=2**70),
        lambda fields: fields.update(words="many"),
        lambda fields: fields.update(words=float("inf")),
        lambda fields: fields.update(bytes=float("-inf")),
        lambda fields: fields.update(bytes=-(2**62)),
        lambda fields: fields.update(bytes=2),
        lambda fields: fields.pop("bytes"),
        lambda fields: fields.pop("provenance"),
        lambda fields: fields.update(provenance=[]),
        lambda fields: fields["provenance"].pop("splitter"),
        lambda fields: fields["provenance"].update(splitter=3),
        lambda fields: fields["provenance"].update(special_tokens="<s>"),
        lambda fields: fields["provenance"].update(special_tokens=[1]),
        lambda fields: fields["provenance"].update(later="option"),
    ],
)
def test_file_with_an_impossible_header_is_a_format_error(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=r"counts\.bin"):
        WordCounts.load(saved(tmp_path / "counts.bin", change))


@pytest.mark.parametrize(
    ("offsets", "numbers"),
    [
        ([0, 2, 1, 3], [1, 1, 1]),
        ([0, 1, 1, 3], [1, 1, 1]),
        ([1, 2, 3, 3], [1, 1, 1]),
        ([0, 1, 2, 4], [1, 1, 1]),
        ([0, MOST_COUNTED, -MOST_COUNTED, 3], [1, 1, 1]),
        ([0, MOST_COUNTED, -MOST_COUNTED, -1, 3], [1, 1, 1, 1]),
        ([0, 1, 2, 3], [1, 0, 1]),
        ([0, 1, 2, 3], [2**63, 2**63, 1]),
    ],
)
def test_impossible_arrays_are_a_format_error(offsets: list[int], numbers: list[int], tmp_path: Path) -> None:
    data = np.frombuffer(b"xyz", np.uint8)
    counts = WordCounts(data, np.array([0, *[3] * len(numbers)]), np.array(numbers, np.uint64), GPT2)
    counts.__dict__["offsets"] = np.array(offsets, np.int64)  # which the constructor refuses
    counts.save(tmp_path / "counts.bin")
    with pytest.raises(FormatError, match=r"counts\.bin"):
        WordCounts.load(tmp_path / "counts.bin")


@pytest.mark.parametrize("content", [b"", b"some text\n" * 20, bytes(200), b"PAR1" * 30])
def test_file_of_another_kind_is_a_format_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=path.name):
        WordCounts.load(path)


def test_a_name_of_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dict\(counts\) gives a table its columns"):
        subwords.count(["a b"]).save(tmp_path / "x.parquet")
    said = CliRunner().invoke(main, ["count", "examples/opticks.txt", "-o", str(tmp_path / "x.parquet")])
    assert said.exit_code == 1 and "dict(counts) gives a table" in said.stderr
    assert not [*tmp_path.iterdir()]  # nor was anything counted
