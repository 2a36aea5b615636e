"""Normalizers: what `normalizer` takes, what it refuses, and what they say of themselves."""

from __future__ import annotations

import copy
import pickle
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from charsmap import write_charsmap
from engines import normalizer
from inside import Bert, Form, Lowercase, Precompiled, Prepend, SentencePiece, StripAccents, to_normalizer
from inside import normalize_stages as stages
from inside import normalizer_NAMED as NAMED
from inside import normalizer_Replace as Replace
from inside import normalizer_Step as Step
from inside import normalizer_Strip as Strip
from normalizing import in_parts
from subwords import FormatError, InputError
from subwords.machine import NormalizerEngine

EVERY: list[Any] = [
    *NAMED,
    None,
    Bert(False, True, False, False),
    [
        Form("NFKC"),
        Replace("ab", "c"),
        Replace(r"\s+", " ", regex=True),
        Strip(left=False),
        Prepend("▁"),
        StripAccents(),
    ],
]


def array(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_identity_and_pickle_give_it_back(rule: Any) -> None:
    known = normalizer(rule)
    assert normalizer(known) is known
    for again in (normalizer(known.identity), pickle.loads(pickle.dumps(known))):
        assert again.steps == known.steps
        assert again.name == known.name
        assert repr(again) == repr(known)
        assert again.normalize("  Éa ab\t") == known.normalize("  Éa ab\t")


@pytest.mark.parametrize("name", NAMED)
def test_named_ones_say_their_name(name: str) -> None:
    assert (normalizer(name).name, normalizer(name).identity) == (name, name)
    assert normalizer(list(NAMED[name])).name == name
    assert repr(normalizer(name)) == f"Normalizer({name!r})"


def test_identity_of_others_is_their_steps() -> None:
    assert normalizer(None).identity == "none"
    assert normalizer("null").steps == ()
    assert normalizer(Prepend("▁")).identity == '[{"step": "Prepend", "text": "▁"}]'
    assert repr(normalizer(Prepend("▁"))) == 'Normalizer([{"step": "Prepend", "text": "▁"}])'
    assert normalizer("nfc").unicode_version == "9.0"


@pytest.mark.parametrize(
    "rule",
    [
        ["nfd", "lowercase"],
        [Form("NFD"), [Lowercase()]],
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}},
        {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]},
    ],
)
def test_what_a_normalizer_is_made_of(rule: Any) -> None:
    assert normalizer(rule).steps == (Form("NFD"), Lowercase())
    assert normalizer({"normalizer": None}).steps == ()


@pytest.mark.parametrize("rule", [*NAMED, Replace(r"(?<=a)\s+", " ", regex=True), [Prepend("▁"), Replace(" ", "▁")]])
def test_copies_and_threads_after_use(rule: Any) -> None:
    made = normalizer(rule)
    texts = [f" {k} a  Éé ﬁ ế 文字\t" * (k % 5 + 1) for k in range(60)]
    ref = [made.normalize(text) for text in texts]
    made.cut(np.frombuffer(b"a b", np.uint8), 3)
    made.aligned(np.frombuffer(b"a b", np.uint8))
    for same in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), normalizer(made.identity)):
        assert (same.steps, same.identity) == (made.steps, made.identity)
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(same.normalize, texts)] == ref


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        *(("BERT-Uncased", "bert-uncased"), ("bert_cased", "bert-cased"), ("NFC", "nfc"), ("Nfkc", "nfkc")),
        *(("SentencePiece", "sentencepiece"), ("StripAccents", "strip-accents"), ("None", "none")),
    ],
)
def test_name_in_any_spelling(spelled: str, name: str) -> None:
    assert normalizer(spelled).steps == normalizer([spelled]).steps == NAMED[name]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("bert", r"expected a normalizer's name \(none, bert-uncased, .*\), not 'bert'"),
        ('{"type"', "expected a normalizer's name"),
        (3, "expected a normalizer's name .*, a step, a tokenizer.json or a list of these, not int"),
        (b"nfc", "a list of these, not bytes"),
        (Form("NFX"), "expected form to be one of NFC, NFD, NFKC, NFKD, not 'NFX'"),  # type: ignore[arg-type]
        (Replace("(", "", regex=True), r"expected a \) that closes the group at character 0"),
        ("nfx", r"expected a normalizer's name \(none, .*\), not 'nfx'; did you mean 'nf"),
        (Replace("(?P=y)", "", regex=True), r"invalid regex '\(\?P=y\)': unknown group"),
        (Replace("a", "\ud800"), r"character 0 is the lone surrogate U\+D800"),
        (Prepend("a\udfff"), r"character 1 is the lone surrogate U\+DFFF"),
        (Prepend(3), "not int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_normalizer(rule: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        normalizer(rule)


def test_what_is_no_normalizer_in_a_file() -> None:
    with pytest.raises(FormatError, match=r"normalizer.type: expected one of"):
        normalizer({"type": "NFX"})


def test_text_that_is_none() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        normalizer("nfc").normalize("\ud800")
    with pytest.raises(InputError, match="not int"):
        normalizer("nfc").normalize(3)  # type: ignore[arg-type]


def test_pattern_that_takes_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "SECONDS", 0.1)
    slow = normalizer(Replace(r"(?:a+)+b", "", regex=True))
    with pytest.raises(InputError, match=r"pattern too slow: .* took more than 0 s for 80000 characters"):
        slow.normalize("a" * 80_000)


def test_nothing_is_changed_in_place() -> None:
    data = array("Éa  b\t")
    data.flags.writeable = False
    for rule in EVERY:
        normalizer(rule).apply(data, np.array([0, len(data)]))
        normalizer(rule).aligned(data)
    assert data.tobytes() == "Éa  b\t".encode()


def test_every_other_byte_of_an_array() -> None:
    data = np.frombuffer("ÉaÉb".encode("utf-16-le"), np.uint8)[::2].copy().repeat(2)[::2]
    assert normalizer("lowercase").apply(data, np.array([0, len(data)]))[0].tobytes() == b"\xc9a\xc9b"


def test_places_of_what_is_put_in_and_left_out() -> None:
    text, origin = normalizer([Bert(), Prepend("▁")]).aligned(array("\0中É"))
    assert text.tobytes().decode() == "▁ 中 e"
    assert origin.tolist() == [[1] * 8 + [4], [4] * 8 + [6]]


def test_a_megabyte_of_anything_is_quick() -> None:
    for text in ("\u0301\u0323" * 250_000, "中" * 330_000, "각" * 330_000, "e\u0323\u0301" * 200_000, "\0" * 1_000_000):
        for name in NAMED:
            known = normalizer(name)
            known.normalize("é")
            start = time.perf_counter()
            known.normalize(text)
            assert time.perf_counter() - start < 2, (name, text[:2])


def test_normalizers_are_made_by_their_steps_alone() -> None:
    assert NormalizerEngine((Lowercase(),)).normalize("ÀΣ") == "àσ"
    assert normalizer(None).normalize("À") == "À"


# ------------------------------------------------------------------ SentencePiece's


def test_sentencepiece_by_name() -> None:
    known = normalizer("sentencepiece")
    assert known.normalize(" a\n b\u3000\u2028 c▁\t") == "▁a▁b▁c"
    assert known.identity == "sentencepiece"
    assert normalizer(["sentencepiece"]).name == "sentencepiece"


@pytest.mark.parametrize(
    "steps",
    [
        (SentencePiece(),),
        (SentencePiece(write_charsmap({"ﬁ": "fi"}), False, True, False, True, ("<x>", "é")), Lowercase()),
        (Precompiled(write_charsmap({"a": "b"})), Prepend("▁"), Replace(" ", "▁")),
    ],
)
def test_identity_of_steps_that_no_tokenizer_json_has(steps: tuple[Step, ...]) -> None:
    known = normalizer(steps)
    assert normalizer(known.identity).steps == steps
    assert pickle.loads(pickle.dumps(known)).steps == steps
    assert len(repr(known)) < 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"step": "Prepend"}]', "missing 1 required positional argument: 'text'"),
        ('[{"step": "Nope"}]', "Nope"),
        ('[{"step": "SentencePiece", "charsmap": "A"}]', "charsmap|base64|padding|characters"),
        ('[{"step": "SentencePiece", "add_dummy_prefix": 1}]', "add_dummy_prefix is 1"),
        ('[{"step": "SentencePiece", "user_symbols": [1]}]', "user_symbols"),
        ('[{"step": "Prepend", "text": "a", "more": 1}]', "more"),
        ('[{"step": "Prepend", "text": "a"}', "delimiter"),
    ],
)
def test_a_damaged_identity(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        normalizer(text)


def test_no_tokenizer_json_holds_all_that_sentencepiece_does() -> None:
    for step in (SentencePiece(user_symbols=("<x>",)), SentencePiece(whitespace_suffix=True)):
        with pytest.raises(FormatError, match=r"write a \.model file"):
            to_normalizer((step,))
    with pytest.raises(FormatError, match="expected one of Bert"):
        normalizer({"type": "SentencePiece"})


def test_parts_of_a_text() -> None:
    known = normalizer([Strip(), Prepend("▁"), Replace(" ", "▁")])
    text = b"  some words, and more of them  "
    at = known.cut(np.frombuffer(text, np.uint8), 20)
    assert text[:at].endswith(b" m")
    assert known.sees_ends
    assert in_parts(known, text, [2, at]) == "▁some▁words,▁and▁more▁of▁them".encode()


@pytest.mark.parametrize(
    "rule", ["nfkc", "sentencepiece", "bert-uncased", [Replace("a", "b" * 70)], [Prepend("▁▁"), Replace("a", "é")]]
)
def test_growth(rule: Any) -> None:
    known = normalizer(rule)
    for text in ("a", "ﷺ", " ", "a b ", "\u3000", "İ", "中中", "aaaaaaaa"):
        assert len(known.normalize(text).encode()) <= known.growth * len(text.encode())


def test_the_whitespace_of_sentencepiece_is_the_map_of_that_rule() -> None:
    from charsmap import write_charsmap
    from inside import WHITE_SPACE, SentencePiece
    from inside import normalizer_NAMED as NAMED

    made = write_charsmap({chr(code): " " for code in sorted(WHITE_SPACE) if chr(code) != " "})
    assert NAMED["sentencepiece"] == (SentencePiece(made),)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_what_keeps_says_is_so(form: str) -> None:
    one = NormalizerEngine((Form(form),))
    every = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x1FFFF), *range(0x2F700, 0x2FB00), 0xE0001]]
    kept = [*filter(one.keeps, every)]
    assert len(kept) > 110_000
    for text in ("\n".join(kept), "".join(kept)):
        data = np.frombuffer(text.encode(), np.uint8)
        if one.keeps(text):
            assert one.apply(data, np.array([0, len(data)]))[0].tobytes() == data.tobytes()
    rng = random.Random(11)
    marks = [char for char in every if 0x300 <= ord(char) < 0x370 or 0x591 <= ord(char) < 0x5C0] + [
        "\U0001e4ec",
        "\u0897",
    ]
    for _ in range(3000):
        text = "".join(rng.choice(marks if rng.random() < 0.6 else "aeÅΩ가각़क") for _ in range(5))
        if one.keeps(text):
            assert one.normalize(text) == text
