"""explain: the steps of a trace, done again, give the ids of encode, for every family and for hostile text."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from seeds import seed_of_run
from small_data import file_of
from strategies import texts
from subwords import InputError

SEED = seed_of_run()
CORPUS = ["low lower lowest, new newer newest: naïve 文字 wide! ½ ﬁne"] * 9


def family(name: str) -> subwords.Tokenizer:
    made: dict[str, Any] = {
        "bpe": {"vocab_size": 300, "special_tokens": ["<s>"]},
        "characters": {"byte_level": False, "vocab_size": 45, "special_tokens": ["<unk>"], "unk_token": "<unk>"},
        "fused": {
            "byte_level": False,
            "vocab_size": 45,
            "special_tokens": ["<unk>"],
            "unk_token": "<unk>",
            "fuse_unk": True,
        },
        "wordpiece": {"algorithm": "wordpiece", "vocab_size": 60, "normalizer": "bert-uncased"},
        "unigram": {"algorithm": "unigram", "vocab_size": 45},
        "wordlevel": {"algorithm": "wordlevel", "vocab_size": 8},
        "lower": {"vocab_size": 290, "normalizer": ["nfkc", "lowercase"], "splitter": "cl100k"},
    }[name]
    return subwords.train(CORPUS, **made)


NAMES = ["bpe", "characters", "fused", "wordpiece", "unigram", "wordlevel", "lower"]
TOKENIZERS = {name: family(name) for name in NAMES}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", NAMES)
@given(text=texts() | st.text("lowern<s>Ā½ﬁ文 \u0301", max_size=30), special=st.sampled_from(["text", "allow"]))
def test_any_text(name: str, text: str, special: str) -> None:
    tok = TOKENIZERS[name]
    trace = subwords.study.explain(tok, text, special=special)
    assert trace.ids == tok.encode(text, special=special)
    check(trace, tok, text)


def check(trace: Any, tok: subwords.Tokenizer, text: str) -> None:
    """What holds of every trace."""
    merges = {*map(tuple, getattr(tok.model, "merges", np.zeros((0, 3))).tolist())} if trace.words else set()
    found: list[tuple[int, int]] = [word.span for word in trace.words]
    assert all(0 <= start <= stop <= len(text) for start, stop in found)
    assert json.loads(json.dumps(trace.to_dict()))["ids"] == trace.ids
    assert str(trace).startswith(f"{trace.family}, {len(trace.ids)} ids")
    assert "<script" not in trace._repr_html_()
    for part in trace.parts:
        if type(part).__name__ == "Stretch" and tok.normalizer is None:
            assert part.changes == ()
        assert text[slice(*part.span)] == part.text or tok.normalizer is not None
    for word in trace.words:
        segmentation = word.segmentation
        if type(segmentation).__name__ == "Merging":
            assert all((merge.left, merge.right, merge.result) in merges for merge in segmentation.merges)
        if type(segmentation).__name__ == "Lattice":
            assert segmentation.gap is None or segmentation.gap >= -1e-9


def beginnings(data: Path, size: int) -> list[str]:
    """The first bytes of each corpus."""
    found = []
    for path in sorted(data.glob("corpora/*.txt")):
        with path.open("rb") as file:
            found.append(file.read(size).decode("utf-8", "ignore"))
    return found


REAL = [
    *("gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "t5/spiece.model", "mistral/tokenizer.model.v1"),
    *("phi-3/tokenizer.json", "clip/tokenizer.json", "converted/qwen3.tokenizer.json", "t5/tokenizer.json"),
]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", REAL)
def test_real_files(data: Path, name: str) -> None:
    tok, rng = subwords.load(file_of(data, name)), random.Random(SEED)
    corpora = beginnings(data, 200_000)
    for _ in range(12):
        text = rng.choice(corpora)
        at = rng.randrange(len(text))
        text = text[at : at + rng.randrange(80)] + "".join(
            rng.choices("aé中😀\x00 \n▁<s>Ġ'1\u0301\ufffd", k=rng.randrange(9))
        )
        trace = subwords.study.explain(tok, text)
        assert trace.ids == tok.encode(text), text
        check(trace, tok, text)


@pytest.mark.sweep
@pytest.mark.parametrize("name", REAL)
def test_many_texts_of_real_files(data: Path, name: str) -> None:
    tok, rng = subwords.load(file_of(data, name)), random.Random(SEED)
    corpora = beginnings(data, 2_000_000)
    for _ in range(1500):
        text = rng.choice(corpora)
        at = rng.randrange(len(text))
        text = text[at : at + rng.randrange(60)]
        assert subwords.study.explain(tok, text).ids == tok.encode(text), text


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_many_texts(name: str, part: int) -> None:
    tok, rng = TOKENIZERS[name], random.Random(f"{SEED} {part}")
    alphabet = [
        *"lowernsti  ,:!",
        "new",
        "<s>",
        "é",
        "文",
        "½",
        "ﬁ",
        "\u0301",
        "\x00",
        "\n",
        "😀",
        "\u202e",
        "Ā",
        "##",
        "▁",
    ]
    for _ in range(3200):  # 90,000 in all; those of the real files make it more than 100,000
        text = "".join(rng.choices(alphabet, k=rng.randrange(16)))
        assert subwords.study.explain(tok, text).ids == tok.encode(text), text


def only(tok: subwords.Tokenizer, word: str) -> Any:
    (found,) = subwords.study.explain(tok, word).words
    return found.segmentation


def test_merges_are_told_in_order() -> None:
    tok = TOKENIZERS["bpe"]
    found = only(tok, "lowest")
    row = [bytes([byte]) for byte in b"lowest"]
    for merge in found.merges:
        row[merge.place : merge.place + 2] = [tok.model.vocab[merge.result]]
    assert row == [tok.model.vocab[index] for index in tok.encode("lowest")]
    ranks = [merge.rank for merge in found.merges]
    assert ranks == sorted(ranks)


def test_counts_say_what_a_merge_was_worth() -> None:
    counts = subwords.count(CORPUS)
    tok = subwords.train(counts, vocab_size=300)
    merges = subwords.study.explain(tok, "low", counts=counts).words[0].segmentation
    assert type(merges).__name__ == "Merging"
    every = subwords.study.verify_training(tok, counts).counts
    assert [merge.count for merge in merges.merges] == [every[merge.rank] for merge in merges.merges]
    assert f"rank {merges.merges[0].rank}, count {merges.merges[0].count}: " in str(
        subwords.study.explain(tok, "low", counts=counts)
    )
    with pytest.raises(InputError, match="counts need a BPE tokenizer"):
        subwords.study.explain(TOKENIZERS["unigram"], "low", counts=counts)


def test_words_that_are_looked_up_or_unknown() -> None:
    word = TOKENIZERS["wordpiece"]
    assert type(only(word, "low")).__name__ == "Matching"
    assert only(word, "Ω").why == "no piece begins 'ω': the whole word is unknown"
    assert only(word, "lowΩ").why == "no piece begins 'ω' after 3 characters: the whole word is unknown"
    assert only(word, "l" * 101).why == "the word has 101 characters, more than 100 (max_chars)"
    assert type(only(TOKENIZERS["wordlevel"], "Ω")).__name__ == "Unknown"
    whole = TOKENIZERS["bpe"].with_(model=_whole(TOKENIZERS["bpe"].model))
    assert type(only(whole, "low")).__name__ == "Known"


def _whole(model: Any) -> Any:
    from dataclasses import replace

    return replace(model, whole_words=True)


def test_lattice_has_the_best_path_and_the_runner_up() -> None:
    tok = TOKENIZERS["unigram"]
    for text in ("lowest", "newer", "wide"):
        (word,) = subwords.study.explain(tok, text).words
        found = word.segmentation
        assert type(found).__name__ == "Lattice"
        (first, one), (second, two) = tok.nbest(text, 2)
        path = [found.pieces[k].id for k in found.best]
        assert path == first
        assert found.runner_up is not None
        assert found.gap == pytest.approx(one - two)
        assert sum(found.pieces[k].score for k in found.runner_up) == pytest.approx(two)
        if one - two > 1e-9 and len(tok.nbest(text, 3)) > 2 and two - tok.nbest(text, 3)[2][1] > 1e-9:
            assert [found.pieces[k].id for k in found.runner_up] == second


def test_normalizer_added_tokens_and_cuts_are_told() -> None:
    tok = TOKENIZERS["lower"].with_tokens(["<|end|>"])
    trace = subwords.study.explain(tok, "Low ﬁx<|end|>A1", special="allow")
    first, end, last = trace.parts
    assert type(first).__name__ == "Stretch"
    assert type(last).__name__ == "Stretch"
    assert type(end).__name__ == "Added"
    assert [(change.span, change.before, change.after) for change in first.changes] == [
        *[((0, 1), "L", "l"), ((4, 5), "ﬁ", "fi")]
    ]
    assert (end.text, end.span, end.id) == ("<|end|>", (6, 13), tok.token_to_id("<|end|>"))
    assert [(change.span, change.after) for change in last.changes] == [((13, 14), "a")]
    assert [word.text for word in trace.words] == ["low", " fix", "a", "1"]
    assert [trace.alternatives[word.alternative] for word in trace.words if word.alternative is not None] == [
        *[trace.alternatives[1]] * 3,
        trace.alternatives[2],
    ]
    assert [word.step for word in trace.words] == [None, 0, None, 0]


@pytest.mark.parametrize(
    ("rule", "last"),
    [
        ("gpt2", (r" ?[^\s\p{L}\p{N}]+", r"\s+(?!\S)", r"\s+")),
        (r"a\|b|[x|\]]|c(d|e)", (r"a\|b", r"[x|\]]", "c(d|e)")),
        ("bert", ()),
    ],
)
def test_alternatives_of_patterns(rule: str, last: tuple[str, ...]) -> None:
    trace = subwords.study.explain(TOKENIZERS["bpe"].with_(splitter=rule), "a")
    assert trace.alternatives[-3:] == last


def test_large_text_is_refused() -> None:
    with pytest.raises(InputError, match="expected at most 1048576 bytes of text to explain"):
        subwords.study.explain(TOKENIZERS["bpe"], "a" * (1 << 20) + "b")


def test_lone_surrogates_and_bytes() -> None:
    with pytest.raises(InputError):
        subwords.study.explain(TOKENIZERS["bpe"], "a\ud800")
    assert subwords.study.explain(TOKENIZERS["bpe"], b"a\xff").ids == TOKENIZERS["bpe"].encode(b"a\xff")


def test_a_short_text_takes_little_time(data: Path) -> None:
    tok = subwords.load(file_of(data, "gpt2/tokenizer.json"))
    text = "The quick brown fox jumps over the lazy dog, and tokenizes unbelievably well. " * 3

    def counted() -> dict[int, int]:
        found: dict[int, int] = {}
        for i in range(100_000):
            found[i & 4095] = found.get(i & 1023, 0) + 1
        return found

    def least(run: Callable[[], object]) -> float:
        times = []
        for _ in range(9):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        return min(times)

    subwords.study.explain(tok, text)
    # a ratio, as machines differ: 34 ms, 2.8 times as long
    assert least(lambda: subwords.study.explain(tok, text[:200])) < 6 * least(counted)
