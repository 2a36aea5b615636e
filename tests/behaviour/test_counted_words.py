"""Training counts exactly the words that encoding sees, whatever stands around them (W3)."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import run

PARTS = [
    "@",
    "218",
    "sentence",
    " ",
    "  ",
    "\n",
    "<s>",
    "[SEP]",
    "ab",
    "AB",
    "Ça",
    "é",
    "▁",
    "東京",
    "don't",
    ".",
    "\u0301",
    "😀",
]
TEXTS = st.lists(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), min_size=1, max_size=5)
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
SETTINGS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 270, "special_tokens": ["<s>"]},
    "bpe-nfkc": {"vocab_size": 270, "special_tokens": ["<s>", "[SEP]"], "normalizer": "nfkc", "splitter": "cl100k"},
    "bpe-metaspace": {"vocab_size": 40, "special_tokens": ["<s>"], "splitter": METASPACE, "byte_level": False},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 50},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 6, "special_tokens": ["<unk>", "[SEP]"]},
    "unigram": {"algorithm": "unigram", "vocab_size": 35},
    "unigram-user": {"algorithm": "unigram", "vocab_size": 35, "user_defined": ["@", "ab", "\n"]},
    "unigram-user-special": {
        "algorithm": "unigram",
        "vocab_size": 35,
        "user_defined": ["218"],
        "special_tokens": ["<s>", "[SEP]"],
    },
    "unigram-user-plain": {
        "algorithm": "unigram",
        "vocab_size": 35,
        "user_defined": ["@"],
        "splitter": "bert",
        "normalizer": None,
    },
    "unigram-user-lowercase": {
        "algorithm": "unigram",
        "vocab_size": 35,
        "user_defined": ["AB", "@"],
        "normalizer": "lowercase",
    },
    "unigram-user-metaspace": {
        "algorithm": "unigram",
        "vocab_size": 35,
        "user_defined": ["@"],
        "splitter": METASPACE,
        "normalizer": None,
    },
}


@cache
def trained(name: str) -> subwords.Tokenizer:
    """A tokenizer of these settings: its splitter and normalizer do not depend on the text."""
    return subwords.train(["a b @218@sentence <s>ab", "218 é 東京 low lower lowest"] * 20, **SETTINGS[name])


def seen(tok: subwords.Tokenizer, texts: list[str]) -> Counter[str]:
    """The words of texts, cut at special tokens as encoding cuts them when it allows these."""
    specials = sorted(tok.special_tokens, key=len, reverse=True)
    words: Counter[str] = Counter()
    for text in texts:
        for part in re.split("|".join(map(re.escape, specials)), text) if specials else [text]:
            words.update(tok.splitter.split(tok.normalizer.normalize(part) if tok.normalizer else part))
    return words


@pytest.mark.filterwarnings("ignore:marks are lost", "ignore:whitespace is lost", "ignore:the normalizer changes user")
@pytest.mark.parametrize("name", SETTINGS)
@given(texts=TEXTS)
def test_words_counted_are_words_seen(name: str, texts: list[str]) -> None:
    options = SETTINGS[name]
    base = {"wordpiece": "bert", "unigram": "sentencepiece", "wordlevel": "whitespace"}
    algorithm = options.get("algorithm", "bpe")
    rules = {"splitter": base.get(algorithm, "o200k")}
    rules["normalizer"] = {"wordpiece": "bert-uncased", "unigram": "sentencepiece"}.get(algorithm)
    rules |= {key: value for key, value in options.items() if key in ("splitter", "normalizer")}
    tok = trained(name)
    counts = subwords.count(
        [*texts, "a b"], special_tokens=[*tok.special_tokens], user_defined=options.get("user_defined", ()), **rules
    )
    words = seen(tok, [*texts, "a b"])
    if algorithm == "unigram" and rules["splitter"] == "sentencepiece":
        # Encoding cuts before spaces only. Training cuts these words once more, where no piece is learned across.
        finer = subwords.splitter(counts.provenance.splitter)
        words = Counter({part: 0 for word in words for part in finer.split(word)})
        for word, times in seen(tok, [*texts, "a b"]).items():
            words.update({part: number * times for part, number in Counter(finer.split(word)).items()})
    assert {word.decode(): times for word, times in counts} == words


@pytest.mark.filterwarnings("ignore:whitespace is lost")
@given(texts=TEXTS)
def test_training_on_counts_is_training_on_text(texts: list[str]) -> None:
    texts = [*texts, "a b @218@sentence low lower lowest"] * 3
    options: dict[str, Any] = {"algorithm": "unigram", "vocab_size": 40, "user_defined": ["@", "ab"]}
    special = ["<unk>", "<s>", "</s>"]
    rules: dict[str, Any] = {"splitter": "sentencepiece", "normalizer": "sentencepiece"}
    counts = subwords.count(texts, special_tokens=special, user_defined=["@", "ab"], **rules)
    try:
        expected = subwords.train(texts, **options)
    except subwords.TrainingError as error:
        with pytest.raises(subwords.TrainingError, match=re.escape(str(error))):
            subwords.train(counts, **options)
        return
    assert subwords.train(counts, **options).vocab == expected.vocab


def test_counts_that_did_not_keep_pieces_whole_are_refused() -> None:
    rules: dict[str, Any] = {"splitter": "sentencepiece", "normalizer": "sentencepiece"}
    counts = subwords.count(["a @b"], special_tokens=["<unk>", "<s>", "</s>"], **rules)
    with pytest.raises(subwords.InputError, match="user-defined piece '@' was not kept whole in these counts"):
        subwords.train(counts, algorithm="unigram", vocab_size=8, user_defined=["@"])


def test_no_piece_after_a_user_defined_one_has_a_prefix() -> None:
    corpus = ["This is a sample @218@sentence and more", "This is @242@another sample @218@sentence"] * 60
    tok = subwords.train(corpus, algorithm="unigram", vocab_size=50, user_defined=["@"])
    assert not {"▁218", "▁242", "▁sentence", "▁another"} & {piece.decode() for piece in tok.vocab}
    assert {"218", "sentence"} <= {piece.decode() for piece in tok.vocab}


def test_user_defined_pieces_on_the_command_line(tmp_path: Path) -> None:
    text, counts = tmp_path / "a.txt", str(tmp_path / "a.bin")
    text.write_text("sample @218@sentence and more " * 60, encoding="utf-8")
    special = [part for token in ("<unk>", "<s>", "</s>") for part in ("--special-token", token)]
    rules = ["--splitter", "sentencepiece", "--normalizer", "sentencepiece", "--user-defined", "@"]
    run("count", text, "-o", counts, *special, *rules)
    shape = ["--algorithm", "unigram", "--vocab-size", "25", "--user-defined", "@"]
    run("train", counts, *shape, "-o", str(tmp_path / "counts.model"))
    run("train", text, *shape, "-o", str(tmp_path / "text.model"))
    run("train", text, *shape, "--workers", "2", "-o", str(tmp_path / "workers.model"))
    files = [(tmp_path / f"{name}.model").read_bytes() for name in ("counts", "text", "workers")]
    assert files[0] == files[1] == files[2]
