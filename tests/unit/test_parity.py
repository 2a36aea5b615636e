"""train_parity: each merge is one of the dearest language (B11)."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from strategies import counts_of, word_counts
from subwords import CorpusError, InputError, SubwordsWarning, TrainingError

LETTERS = "abé文"
TEXTS = {
    "en": ["the weather of the other day is better than the rather bitter weather " * 5],
    "de": ["das Wetter des anderen Tages ist besser als das eher bittere Wetter " * 3],
    "ru": ["погода другого дня лучше, чем довольно горькая погода " * 2],
}


@given(word_counts(LETTERS), st.integers(1, 30))
def test_one_language_is_plain_training(words: dict[bytes, int], add: int) -> None:
    counts = counts_of(words or {b"ab": 2})
    options: dict[str, Any] = {"vocab_size": 256 + add, "splitter": "gpt2"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubwordsWarning)
        found = subwords.research.train_parity({"only": counts}, **options)
        twice = subwords.research.train_parity({"one": counts, "two": counts}, **options)
        plain = subwords.train(counts, **options)
    assert found.tokenizer.merges == plain.merges == twice.tokenizer.merges


def test_costs_become_alike() -> None:
    plain = subwords.train([text for texts in TEXTS.values() for text in texts], vocab_size=290)
    found = subwords.research.train_parity(TEXTS, vocab_size=290)

    def costs(tok: subwords.Tokenizer) -> list[float]:
        return [len(tok.encode(texts[0])) / len(texts[0].encode()) for texts in TEXTS.values()]

    def spread(values: list[float]) -> float:
        return max(values) / min(values)

    assert spread(costs(found.tokenizer)) < 1.1 < spread(costs(plain))
    assert [one.after for one in found.languages] == pytest.approx(costs(found.tokenizer))
    assert Counter(found.chosen) == {one.name: one.merges for one in found.languages}
    assert [one.before for one in found.languages] == [1, 1, 1]
    assert found.to_dict()["unit"] == "ids per byte"


def test_parallel_text_ratios_pool_and_window() -> None:
    parallel = {"en": ["the other weather"], "de": ["das andere Wetter"], "ru": ["другая погода"]}
    found = subwords.research.train_parity(TEXTS, vocab_size=290, development=parallel)
    assert [one.after for one in found.languages] == [
        len(found.tokenizer.encode(texts[0])) for texts in parallel.values()
    ]
    dear = subwords.research.train_parity(TEXTS, vocab_size=290, ratios={"ru": 3.0})
    assert dear.languages[2].merges < subwords.research.train_parity(TEXTS, vocab_size=290).languages[2].merges
    hybrid = subwords.research.train_parity(TEXTS, vocab_size=290, pooled=10)
    plain = subwords.train(TEXTS["en"] + TEXTS["de"] + TEXTS["ru"], vocab_size=266)
    assert hybrid.chosen[:10] == (None,) * 10
    assert hybrid.tokenizer.merges[:10] == plain.merges

    def most(**options: Any) -> int:
        turns = subwords.research.train_parity(TEXTS, vocab_size=300, **options).chosen
        return max(max(Counter(turns[k : k + 12]).values()) for k in range(len(turns) - 11))

    ratios = {"ru": 0.1}
    assert most(window=12, window_share=1.5, ratios=ratios) <= 6 < most(ratios=ratios)


def test_saved_and_loaded(tmp_path: Path) -> None:
    tok = subwords.research.train_parity(TEXTS, vocab_size=290, special_tokens=["<s>"]).tokenizer
    for name in ("tokenizer.json", "ranks.tiktoken"):
        tok.save(tmp_path / name)
    again = subwords.load(tmp_path / "tokenizer.json")
    assert again.encode(TEXTS["ru"][0]) == tok.encode(TEXTS["ru"][0])
    assert tok.encode("<s>", special="allow") == [0]


def test_clear_errors() -> None:
    def refused(error: type[Exception], message: str, **options: Any) -> None:
        with pytest.raises(error, match=message):
            subwords.research.train_parity(**{"languages": TEXTS, "vocab_size": 290, **options})

    refused(InputError, "expected a dict of corpora by language", languages=["text"])
    refused(InputError, "names of languages as texts", languages={1: ["text"]})
    refused(CorpusError, "ru: no text to count", languages={**TEXTS, "ru": []})
    empty = subwords.count(["a"]).at_least(2)
    refused(TrainingError, "the text of ru is empty", languages={"en": subwords.count(["ab"]), "ru": empty})
    refused(InputError, "development text of the languages", development={"en": ["a"]})
    refused(InputError, "ratios of the languages", ratios={"fr": 1.0})
    for ratio in (0, -1.0, math.nan, math.inf, True, "1"):
        refused(InputError, "ratio of 'en' to be a positive number", ratios={"en": ratio})
    refused(InputError, "a window of at least 3", window=2)
    refused(InputError, "window_share", window=9, window_share=0.5)
    refused(InputError, "pooled", pooled=-1)
    refused(InputError, "tie_break", tie_break="first")
    refused(InputError, "expected counts made with splitter", languages={"en": subwords.count(["a"], splitter="bert")})
    refused(TrainingError, "vocab_size", vocab_size=100)
    with pytest.warns(SubwordsWarning, match="fewer tokens than asked for"):
        subwords.research.train_parity({"en": ["ab"]}, vocab_size=300)
