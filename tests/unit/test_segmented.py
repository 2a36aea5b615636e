"""segmented: no merge crosses the places of a segmentation (B10)."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import json_of, run
from subwords import CorpusError, InputError, TrainingError

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 9), min_size=1, max_size=6)


Row = list[bytes | None]  # None: a place that no merge crosses
BYTES = subwords.train(["a"], vocab_size=256)


def textbook(words: list[tuple[Row, int]], number: int) -> list[tuple[bytes, bytes]]:
    merges, ids = list[tuple[bytes, bytes]](), {BYTES.model.vocab[k]: k for k in range(256)}
    while len(merges) < number:
        pairs = Counter[tuple[bytes, bytes]]()
        for word, count in words:
            for left, right in itertools.pairwise(word):
                if left is not None and right is not None and left + right not in ids:
                    pairs[left, right] += count
        if not pairs:
            return merges
        best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
        merges.append(best)
        ids[best[0] + best[1]] = len(ids)
        for word, _ in words:
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [best[0] + best[1]]
                at += 1
    return merges


@given(WORDS, st.data())
def test_no_merge_crosses_a_place(words: dict[str, int], data: st.DataObject) -> None:
    corpus = [" ".join([word] * count) for word, count in words.items()]
    cuts = {}
    for word in words:
        if data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(word)))
            cuts[word] = [part for part in (word[:at], word[at:]) if part]
    counts = subwords.count(corpus)
    symbols = list[tuple[Row, int]]()
    for word, number in counts:
        text = word.decode().lstrip(" ")
        parts = cuts.get(text, [text])
        row: Row = [b" "] if word.startswith(b" ") else []
        for k, part in enumerate(parts):
            row += [None] * (k > 0) + [bytes([byte]) for byte in part.encode()]
        symbols.append((row, number))
    if not cuts:
        return
    tok = subwords.train(counts.segmented(cuts), vocab_size=264)
    assert [(left, right) for left, right in tok.merges] == textbook(symbols, 8)


def test_other_words_keep_their_counts_and_their_order() -> None:
    counts = subwords.count(["so undone so undone done"])
    assert list(counts.segmented({"undone": ["un", "done"]})) == [
        (b"so", 1),
        (b" un", 2),
        (b"done", 2),
        (b" so", 1),
        (b" done", 1),
    ]
    marked = subwords.count(["so undone"], splitter="sentencepiece", normalizer="sentencepiece")
    assert dict(marked.segmented({"undone": ["un", "done"]})) == {
        "\u2581so".encode(): 1,
        "\u2581un".encode(): 1,
        b"done": 1,
    }


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("undone done undo " * 9)
    (tmp_path / "gold.tsv").write_text("undone\tun done\nundo\tun do\n")
    run("count", tmp_path / "text.txt", "-o", tmp_path / "a.counts", "--segmentation", tmp_path / "gold.tsv")
    found = subwords.WordCounts.load(tmp_path / "a.counts")
    assert dict(found)[b"done"] == 9
    assert json_of("train", tmp_path / "a.counts", "--vocab-size", 262, "-o", tmp_path / "tok.json")["tokens"] == 262
    message = run("count", tmp_path / "text.txt", "-o", tmp_path / "b", "--segmentation", tmp_path / "text.txt", code=1)
    assert "expected a word, a tab, and its morphemes" in message.stderr


def test_clear_errors(tmp_path: Path) -> None:
    counts = subwords.count(["undone"])
    for wrong, message in (
        ({}, "at least one word"),
        ({"undone": ["un", "do"]}, "parts that join to 'undone'"),
        ({"undone": ["un", "", "done"]}, "a word and its parts as texts"),
        ({"undone": []}, "a word and its parts as texts"),
        ({3: ["3"]}, "a word and its parts as texts"),
        ({"\ud800": ["\ud800"]}, "a word of characters"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            counts.segmented(wrong)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="no word of the corpus is in the segmentation"):
        counts.segmented({"Undone": ["Un", "done"]})
    (tmp_path / "two.tsv").write_text("undone\tun done\nundone\tundo ne\n")
    with pytest.raises(InputError, match="one segmentation of each word, but 'undone' has two"):
        counts.segmented(tmp_path / "two.tsv")
    with pytest.raises(CorpusError, match="cannot read"):
        counts.segmented(tmp_path / "none")
