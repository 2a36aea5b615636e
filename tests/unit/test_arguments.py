"""Every public function of training and counting, every argument, wrong types and values: it works or says why not."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import models_families as families
from inside import training_train
from strategies import settings_of
from subwords import InputError, SubwordsError, WordCounts
from subwords.machine import ALGORITHMS

TEXTS = ["hug pug pun bun hugs " * 9]
COUNTS = subwords.count(TEXTS)
WRONG = [
    *(None, True, 0, -1, 3, 10**30, 1.5, float("nan"), float("inf"), "", "x", "nope", "\0", "\ud800", "a" * 300),
    *(b"x", bytearray(b"x"), [], ["x"], [1], [None], ["x", "x"], [[]], ["\ud800"], (), {}, {"a": 1}, {"type": 3}),
    *({1}, {"x"}, frozenset(), object(), object, len, lambda: None, iter(["x"]), np.int64(3), np.array([1, 2]), 1j),
]
QUICK = {"splitter": subwords.splitter("gpt2"), "normalizer": None}  # the default rules take 0.1 s to make
SIZES = {"bpe": 262, "wordpiece": 16, "unigram": 12, "wordlevel": 5}


def parameters(function: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def allowed(call: Callable[[], object], what: str) -> bool:
    """Whether a call works; any error but ours fails the test."""
    try:
        call()
    except SubwordsError as error:
        assert str(error), what
        return False
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return True


@pytest.mark.filterwarnings("ignore:words of more than 100 characters")  # splitter=None
@pytest.mark.parametrize("algorithm", families.FAMILIES)
@pytest.mark.parametrize("name", [name for name in parameters(subwords.train) if name != "options"])
def test_train_takes_an_argument_or_says_why_not(algorithm: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for value in WRONG:
        options = {"source": TEXTS, "algorithm": algorithm, "vocab_size": SIZES[algorithm], **QUICK, name: value}
        allowed(lambda: subwords.train(**options), f"{name}={value!r}")


@pytest.mark.parametrize("name", parameters(subwords.count))
def test_count_takes_an_argument_or_says_why_not(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for value in WRONG:
        allowed(lambda: subwords.count(**{"source": TEXTS, name: value}), f"{name}={value!r}")


def test_word_counts_take_an_argument_or_say_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fields = {name: getattr(COUNTS, name) for name in parameters(WordCounts)}
    for value in WRONG:
        works = [
            allowed(lambda: COUNTS + value, f"+ {value!r}"),
            allowed(lambda: COUNTS.check(value), f"check {value!r}"),
            *(
                allowed(lambda: WordCounts(**{**fields, name: value}), f"{name}={value!r}")
                for name in fields
                if name != "text_bytes" and (name != "documents" or value is not None)
            ),
        ]
        assert not any(works), value
        allowed(lambda: COUNTS.save(value), f"save {value!r}")
        allowed(lambda: WordCounts.load(value), f"load {value!r}")


def test_iterators_of_special_tokens_are_read_once() -> None:
    assert settings_of("bpe", vocab_size=300, special_tokens=iter(["<s>"])).special_tokens == ("<s>",)  # type: ignore[arg-type]
    settings = settings_of("unigram", vocab_size=30, user_defined=iter(["ab"]))  # type: ignore[arg-type]
    assert settings.reserved == ["<unk>", "ab"]
    assert subwords.train(TEXTS, vocab_size=262, special_tokens=iter(["<s>"])).special_tokens == {"<s>": 0}  # type: ignore[arg-type]


# --- options of other algorithms


TYPES = {
    "bpe": training_train.BPEOptions,
    "wordpiece": training_train.WordPieceOptions,
    "unigram": training_train.UnigramOptions,
    "mingram": training_train.MingramOptions,
    "wordlevel": training_train.WordLevelOptions,
}
# What the settings of every algorithm have.
EVERYWHERE = {"vocab_size", "special_tokens", "unk_token"}
COMMON = {*training_train.CommonOptions.__annotations__} - EVERYWHERE
OPTIONS = {name: {*kind.__annotations__} - COMMON - EVERYWHERE for name, kind in TYPES.items()}


def test_every_algorithm_has_types() -> None:
    assert {*TYPES} == {*ALGORITHMS}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_options_that_editors_see_are_the_settings_of_the_algorithm(algorithm: str) -> None:
    told = {name: TYPES[algorithm].__annotations__[name].__forward_arg__ for name in OPTIONS[algorithm]}
    fields = {one.name: one.type for one in dataclasses.fields(ALGORITHMS[algorithm].settings)}
    assert {name: kind.removesuffix(" | None") for name, kind in told.items()} == {
        name: kind.removesuffix(" | None") for name, kind in fields.items() if name not in EVERYWHERE
    }
    assert [name for name in fields if name not in (subwords.train.__doc__ or "")] == []


@pytest.mark.parametrize("algorithm", families.FAMILIES)
@pytest.mark.parametrize("name", sorted({name for options in OPTIONS.values() for name in options}))
def test_option_of_another_algorithm_is_refused_even_with_its_default(algorithm: Any, name: str) -> None:
    owner = ALGORITHMS[training_train.families_with(name)[0]]
    default = next(field.default for field in dataclasses.fields(owner.settings) if field.name == name)
    options: dict[str, Any] = {"algorithm": algorithm, "vocab_size": SIZES[algorithm], **QUICK}
    if algorithm in training_train.families_with(name):
        default = next(
            field.default for field in dataclasses.fields(families.FAMILIES[algorithm].settings) if field.name == name
        )
        subwords.train(TEXTS, **options, **{name: default})
        return
    for value in [default, "nope", 9, -5]:
        if value is None:  # not given
            subwords.train(TEXTS, **options, **{name: value})
            continue
        *others, last = training_train.families_with(name)
        owners = f"{', '.join(others)} and {last}" if others else last
        message = f"`{name}` is for {owners}, not for {algorithm}: leave it out"
        with pytest.raises(InputError, match=message):
            subwords.train(TEXTS, **options, **{name: value})


def test_option_that_no_algorithm_has_is_refused() -> None:
    with pytest.raises(InputError, match="'vocabsize' is not an option of train; bpe has vocab_size, "):
        subwords.train(TEXTS, vocab_size=300, vocabsize=9)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="; did you mean 'min_frequency'"):
        subwords.train(TEXTS, vocab_size=300, min_freq=9)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"byte_level": False, "alphabet": "full"}, 'alphabet="full" needs bytes, byte_level=True'),
        (
            {"source": COUNTS, "reading": subwords.Reading(documents="line")},
            "`reading` applies to text, but these are word counts",
        ),
        ({"source": COUNTS, "reading": subwords.Reading()}, "`reading` applies to text"),
        ({"source": COUNTS, "threads": "x"}, "expected threads to be a positive integer"),
        ({"algorithm": "unigram", "vocab_size": 12, "min_frequency": 0}, "min_frequency to be an integer from 1"),
        ({"algorithm": "unigram", "vocab_size": 12, "unk_token": ""}, "unk_token to be a non-empty str, not ''"),
        ({"algorithm": "wordpiece", "vocab_size": 16, "unk_token": ""}, "unk_token to be a non-empty str, not ''"),
        ({"threads": 10**6}, "threads to be a positive integer up to 1024"),
        ({"progress": "no"}, "progress to be True or False, not 'no'"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        subwords.train(**{"source": TEXTS, "vocab_size": 262, **options})
