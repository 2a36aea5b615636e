"""count, train and warmup at the door: what they refuse and how they say it, and that warming up misses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import KERNELS, every_address_kernel
from subwords import CorpusError, InputError, SubwordsError, SubwordsWarning, TrainingError

SOURCE = Path(subwords.__file__).parents[1]

NOT_READY = Path(__file__).parents[1] / "programs" / "kernels_not_ready.py"


def test_warmup_leaves_no_kernel_to_compile() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, NOT_READY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"algorithm": "word"},
            InputError,
            "unknown algorithm='word': expected one of bpe, wordpiece, unigram, wordlevel, mingram",
        ),
        ({"user_defined": ["x"]}, InputError, r"`user_defined` is for unigram, not for bpe"),
        ({"special_tokens": "<s>"}, InputError, r"to be a list of str, not the str '<s>'"),
        ({"special_tokens": ["<s>", ""]}, InputError, r"special_tokens\[1\] to be a non-empty str"),
        ({"special_tokens": ["<s>", "a", "<s>"]}, InputError, r"'<s>' occurs twice"),
        ({"special_tokens": ["\ud800"]}, InputError, r"special_tokens\[0\] to be a str without lone surrogates"),
        ({"unk_token": "<unk>"}, InputError, r"unk_token '<unk>' to be among special_tokens"),
        ({"splitter": "("}, InputError, r"expected a \) that closes the group"),
        ({"splitter": 3}, InputError, r"a splitter's name .*, a regex, .* not int"),
        ({"tie_break": "last"}, InputError, r"unknown tie_break='last': expected one of ids, first, bytes"),
        ({"vocab_size": 0}, InputError, r"vocab_size to be an integer from 1"),
        ({"vocab_size": "300"}, InputError, r"vocab_size to be an integer .* not '300'"),
        ({"min_frequency": -1}, InputError, r"min_frequency to be an integer from 0"),
        ({"threads": 0}, InputError, r"threads to be a positive integer"),
        ({"documents": "line"}, InputError, r"pass reading=Reading\(documents=\.\.\.\)"),
        (
            {"vocab_size": 255},
            TrainingError,
            r"vocab_size 255 is too small: .* 256 symbols.* 0 special tokens, 256 in all",
        ),
    ],
)
def test_option_that_cannot_be_used_is_refused(
    options: dict[str, Any], error: type[SubwordsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        subwords.train(["a text"], **{"vocab_size": 260, **options})


@pytest.mark.parametrize("source", [[], [""], iter(["", ""])])
def test_corpus_without_text_is_refused(source: Any, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^no text to count"):
        subwords.count(source)
    (tmp_path / "a.txt").touch()
    with pytest.raises(CorpusError, match=r"a\.txt: no text to count: every document is empty"):
        subwords.train(tmp_path / "a.txt", vocab_size=300)


def test_counts_that_hold_a_special_token_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"'<s>' was not removed from these counts: count with special_tokens=\['<s>'\]"
    ):
        subwords.train(subwords.count(["a<s>b"]), vocab_size=260, special_tokens=["<s>"])


def test_counts_of_another_splitter_are_refused() -> None:
    with pytest.raises(InputError, match="expected counts made with splitter"):
        subwords.train(subwords.count(["a b"], splitter=r"\w|\W"), vocab_size=260)


def test_counts_without_more_special_tokens_than_asked_for_are_trained_on() -> None:
    counts = subwords.count(["ab<s>ab<t>"], special_tokens=["<s>", "<t>"])
    got = subwords.train(counts, vocab_size=258, special_tokens=["<t>"])
    assert got.special_tokens == {"<t>": 0}
    assert got.merges == ((b"a", b"b"),)


# --- fewer tokens than asked for


@pytest.mark.parametrize(
    ("options", "numbers", "why"),
    [
        ({}, "260 instead of 300", "no pair is left to merge. Train on more text, or lower vocab_size"),
        (
            {"min_frequency": 3},
            "257 instead of 300",
            "no pair is left to merge that occurs 3 times (min_frequency). Train on more text, or lower "
            "vocab_size or min_frequency",
        ),
        (
            {"min_frequency": 2, "max_token_length": 2},
            "257 instead of 300",
            "no pair is left to merge that occurs 2 times (min_frequency) and that gives a token of at most "
            "2 symbols (max_token_length). Train on more text, or lower vocab_size or min_frequency",
        ),
    ],
)
def test_train_warns_of_fewer_tokens_at_the_line_that_calls_it(options: dict[str, Any], numbers: str, why: str) -> None:
    with pytest.warns(SubwordsWarning) as found:
        tok = subwords.train(["abc abc ab"], vocab_size=300, **options)
    assert [str(entry.message) for entry in found] == [f"fewer tokens than asked for: {numbers}; {why}"]
    assert found[0].filename == __file__
    assert f"{tok.vocab_size} instead of 300" in str(found[0].message)


@pytest.mark.parametrize("score", ["likelihood", "course", "count"])
def test_wordpiece_warns_too(score: Any) -> None:
    with pytest.warns(SubwordsWarning, match="fewer tokens than asked for: 1[0-9] instead of 300"):
        subwords.train(["hug hugs"], algorithm="wordpiece", vocab_size=300, score=score)


@pytest.mark.filterwarnings("error")
def test_as_many_tokens_as_asked_for_are_no_warning() -> None:
    subwords.train(["abc abc ab"], vocab_size=260)
    subwords.train(["hug hugs"], algorithm="wordpiece", vocab_size=10)
    subwords.train(["hug hugs hugs"], algorithm="unigram", vocab_size=9)


def test_warmup_shows_a_bar_where_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    subwords.warmup(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    count = len(KERNELS) + len(every_address_kernel())
    assert f"{count}/{count} steps" in err
    assert "kernels" in err
    subwords.warmup()
    subwords.warmup(progress=False)
    assert capfd.readouterr() == ("", "")


# ------------------------------------------------------------------ template and roles


def test_template_and_roles_are_set_in_training() -> None:
    tokens = ["<s>", "</s>", "<fill>"]
    tok = subwords.train(
        ["ab ab"], vocab_size=260, special_tokens=tokens, template="<s> $A </s>", roles={"pad": "<fill>"}
    )
    assert tok.roles == {"bos": 0, "eos": 1, "pad": 2}
    assert tok.encode("ab", template=True) == [0, *tok.encode("ab"), 1]
    assert tok(["", "ab"], padding=True)[0].file_tokens == ("<s>", "</s>", "<fill>")
    plain = subwords.train(["ab ab"], vocab_size=9, algorithm="wordpiece", template=None)
    assert plain.template is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": "<x> $A"}, "expected a template of tokens that exist, not '<x>'"),
        ({"template": 3}, "expected a template such as"),
        ({"roles": {"pad": "<x>"}}, "expected roles with tokens that exist, not 'pad': '<x>'"),
        ({"roles": {"start": "<s>"}}, "expected roles: each of bos, eos"),
        ({"roles": ["<s>"]}, "expected roles as a dict of tokens by role, not list"),
    ],
)
def test_wrong_templates_and_roles_fail_before_the_training(options: dict[str, Any], message: str) -> None:
    def endless() -> Iterator[str]:
        raise AssertionError("the corpus was read")
        yield ""

    with pytest.raises(subwords.InputError, match=message):
        subwords.train(endless(), vocab_size=300, special_tokens=["<s>"], **options)


# --- rules that cut letters from their marks


def cut_marks_said(texts: Any, **options: Any) -> str | None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        subwords.train(texts, vocab_size=257, progress=False, **options)
    found = [str(one.message) for one in caught if str(one.message).startswith("letters are cut from their marks")]
    return found[0] if found else None


def test_new_bpe_keeps_letters_and_marks_together() -> None:
    hindi = ["हिन्दी में लिखा हुआ पाठ"] * 9
    assert subwords.train(hindi, vocab_size=280).splitter.name == "o200k"
    assert {*subwords.count(hindi)} == {*subwords.count(hindi, splitter="o200k")}
    assert subwords.research.train_parity({"hi": hindi}, vocab_size=280).tokenizer.splitter.name == "o200k"
    assert cut_marks_said(hindi) is None
    message = cut_marks_said(hindi, splitter="gpt2")
    assert message is not None
    assert "splitter 'gpt2' begins about 44 % of the words with a combining mark (DEVANAGARI" in message
    assert message.endswith('splitter="o200k" keeps them together')
    assert cut_marks_said(subwords.count(hindi, splitter="cl100k"), splitter="cl100k")
    assert cut_marks_said(hindi, splitter="qwen35") is None
    assert cut_marks_said(hindi, splitter="cl100k", algorithm="wordlevel")
    assert cut_marks_said(["A cafe\u0301 of 1️⃣ kind. " + "Plain English words here. " * 50] * 9, splitter="gpt2") is None
    assert cut_marks_said(["光の屈折、" * 200 + "か\u3099"], splitter="gpt2") is None
    with pytest.warns(SubwordsWarning, match="hi: letters are cut from their marks"):
        subwords.research.train_parity({"en": ["some text"], "hi": hindi}, vocab_size=280, splitter="gpt2")


@given(st.lists(st.text("aé文 1.ािनक\u0301\u1031\u093f\U00011302", max_size=9), min_size=1), st.integers(1, 300))
def test_share_of_cut_marks_is_that_of_the_words(texts: list[str], plain: int) -> None:
    texts = [*texts, " a" * plain]
    words = [word for text in texts for word in subwords.splitter("gpt2").split(text)]
    share = sum(unicodedata.category(word[0]) in ("Mn", "Mc") for word in words) / len(words)
    message = cut_marks_said(texts, splitter="gpt2")
    assert (message is not None) == (share >= 0.01)
    assert message is None or f" {100 * share:.2g} % " in message


def test_counts_of_another_rule_name_both() -> None:
    with pytest.raises(InputError, match="expected counts made with splitter 'o200k', not 'gpt2': count again"):
        subwords.train(subwords.count(["a b"], splitter="gpt2"), vocab_size=257)
