"""WordPiece training at the door: settings, the model it makes, progress (P1)."""

from __future__ import annotations

from typing import Any

import pytest

from inside import models_learning as merging
from inside import models_wordpiece_train as train
from strategies import counts_of, settings_of
from subwords import InputError, SubwordsError, TrainingError

WORDS = {b"hug": 10, b"pug": 5, b"pun": 12, b"bun": 4, b"hugs": 5}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 0}, InputError, r"vocab_size to be an integer from 1"),
        ({"vocab_size": "300"}, InputError, r"vocab_size to be an integer .* not '300'"),
        ({"score": "bpe"}, InputError, r"unknown score='bpe': expected one of likelihood, course, count"),
        ({"tie_break": "last"}, InputError, r"unknown tie_break='last': expected one of ids, first, bytes"),
        ({"min_frequency": -1}, InputError, r"min_frequency to be an integer from 0"),
        ({"max_token_length": 0}, InputError, r"max_token_length to be an integer from 1"),
        ({"limit_alphabet": True}, InputError, r"limit_alphabet to be an integer from 1 .* not True"),
        ({"max_chars": -1}, InputError, r"max_chars to be an integer from 1"),
        ({"prefix": None}, InputError, r"prefix to be a str, not NoneType"),
        ({"prefix": "\ud800"}, InputError, r"prefix to be a str without lone surrogates"),
        ({"special_tokens": ["[PAD]"]}, InputError, r"unk_token '\[UNK\]' to be among special_tokens.* Add it"),
        ({"unk_token": "?"}, InputError, r"unk_token '\?' to be among special_tokens"),
        ({"vocab_size": 11}, TrainingError, "vocab_size 11 is too small: .* 7 symbols.* 5 special .*limit_alphabet$"),
    ],
)
def test_setting_that_cannot_be_used_is_refused(
    options: dict[str, Any], error: type[SubwordsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        train.train_wordpiece(counts_of(WORDS), settings_of("wordpiece", **{"vocab_size": 20, **options}))


def test_empty_corpus_is_refused() -> None:
    with pytest.raises(TrainingError, match="no words to learn from"):
        train.train_wordpiece(counts_of({}), settings_of("wordpiece", vocab_size=20))


@pytest.mark.parametrize("score", ["likelihood", "course", "count"])
def test_counts_too_big_for_64_bits_are_refused(score: Any) -> None:
    with pytest.raises(TrainingError, match=r"exceeds 2\*\*32 symbols or 2\*\*63 pairs"):
        train.train_wordpiece(counts_of({b"ab": 2**62, b"cd": 1}), settings_of("wordpiece", vocab_size=30, score=score))


def test_model_carries_the_settings() -> None:
    settings = settings_of(
        "wordpiece",
        vocab_size=12,
        special_tokens=["<s>", "?", "x"],
        unk_token="?",
        prefix="@",
        max_chars=50,
        score="count",
    )
    model = train.train_wordpiece(counts_of(WORDS), settings)
    assert (model.unk_id, model.prefix, model.max_chars, model.special_ids) == (1, "@", 50, {0, 1, 2})
    assert list(model.vocab) == [b"<s>", b"?", b"x", b"@g", b"@n", b"@s", b"@u", b"b", b"h", b"p", b"@ug", b"@un"]


@pytest.mark.parametrize("score", ["likelihood", "course", "count"])
def test_bytes_that_are_no_utf8_part_words(score: Any) -> None:
    model = train.train_wordpiece(
        counts_of({b"ab\xffcd": 3, b"\xfe": 1}), settings_of("wordpiece", vocab_size=30, score=score)
    )
    assert {*model.vocab} - {*list(model.vocab)[:5]} == {b"a", b"##b", b"##c", b"##d", b"ab", b"##cd"}


@pytest.mark.parametrize("score", ["likelihood", "course", "count"])
def test_words_without_pairs(score: Any) -> None:
    model = train.train_wordpiece(counts_of({b"a": 3, b"b": 1}), settings_of("wordpiece", vocab_size=30, score=score))
    assert list(model.vocab)[5:] == [b"a", b"b"]


@pytest.mark.parametrize("score", ["likelihood", "course"])
def test_steps_name_their_phase_and_end_full(score: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "BETWEEN_LOOKS", 2)
    for vocab_size in (18, 500):
        steps: list[tuple[str, int, int]] = []
        settings = settings_of("wordpiece", vocab_size=vocab_size, score=score)
        model = train.train_wordpiece(counts_of(WORDS), settings, on_step=lambda *step: steps.append(step))
        assert steps[:2] == [("indexing", 0, 1), ("indexing", 1, 1)]
        assert {phase for phase, _, _ in steps[2:]} == {"merging"}
        assert {total for _, _, total in steps[2:-1]} <= {vocab_size - 12}
        assert steps[-1] == ("merging", len(model.vocab) - 12, len(model.vocab) - 12)
