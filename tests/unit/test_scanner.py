"""Splitters: what makes one, what it says of itself, what it refuses."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from engines import splitter
from inside import ALIASES, PATTERNS
from inside import split_finders as finders
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from strategies import FRAGMENTS
from subwords import FormatError, InputError
from subwords.machine import ByteChars, Prefix, Split, SplitterEngine

TEXT = "It's 12 o'clock, 文字 & naïve  words\n " + "".join(FRAGMENTS)

MASKS, MACHINE = "compiled masks", "compiled automaton"
STEPS, REGEX = "compiled automata, step by step", "regex package"
# A rule not named here is one machine.
ROUTES = {
    **dict.fromkeys(("gpt2", "gpt-neox", "r50k", "p50k", "cl100k", "llama3", "qwen2", "o200k", "tekken"), MASKS),
    **dict.fromkeys(("metaspace", "superbpe", "tiny-aya"), STEPS),
    **dict.fromkeys(("deepseek-llm", "chameleon"), REGEX),
}


def in_words(rule: Any) -> list[str]:
    return splitter(rule).split(TEXT)


# ------------------------------------------------------------------ what makes a splitter


def test_rule_in_every_form() -> None:
    ref = in_words("whitespace")
    node = {"type": "Whitespace"}
    forms = [node, {"pre_tokenizer": node, "model": None}, [node], ["whitespace"], NAMED["whitespace"]]
    forms += [json.dumps(node), Split(r"\w+|[^\w\s]+", "removed", True), splitter("whitespace")]
    for form in forms:
        assert splitter(form).rule == NAMED["whitespace"], form
        assert in_words(form) == ref
    made = splitter("whitespace")
    assert splitter(made) is made


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        *(("GPT2", "gpt2"), ("GPT-2", "gpt2"), ("gpt_2", "gpt2"), ("Llama3", "llama3"), ("LLaMA-3", "llama3")),
        *(("BERT", "bert"), ("Qwen2", "qwen2"), ("Qwen3", "qwen2"), ("GPT-4o", "o200k"), ("gpt-4o-mini", "o200k")),
        *(("gpt-3.5-turbo", "cl100k"), ("GPT-4", "cl100k"), ("gpt-4.1", "o200k"), ("DeepSeek V3", "deepseek-v3")),
        *(("Whitespace_Split", "whitespace-split"), ("WhitespaceSplit", "whitespace-split"), ("T5", "t5")),
        *((alias, name) for alias, name in ALIASES.items()),
    ],
)
def test_name_in_any_spelling(spelled: str, name: str) -> None:
    assert splitter(spelled).rule == splitter([spelled.upper()]).rule == NAMED[name]


def test_literals_are_still_patterns() -> None:
    node = {"type": "Split", "pattern": {"String": "gpt2"}, "behavior": "Isolated", "invert": False}
    for rule, text in ((node, "gpt2"), ("(?:bert)", "bert"), ("ab", "ab"), ("...", "abc"), (Split("null"), "null")):
        made = splitter(rule)
        assert made.split(f"{text}!") == [text, "!"]
        assert splitter(made.identity).split(f"{text}!") == [text, "!"]


def test_steps_of_a_list_follow_each_other() -> None:
    made = splitter(["digits", {"type": "Punctuation", "behavior": "Isolated"}, r"\s+"])
    assert made.rule == (*NAMED["digits"], *NAMED["punctuation"], Split(r"\s+"))
    assert made.split("in 12,5 s") == ["in", " ", "12", ",", "5", " ", "s"]
    assert splitter([]).rule == splitter(None).rule == splitter({"pre_tokenizer": None}).rule == ()
    assert splitter([]).split("left whole") == ["left whole"]


def test_what_models_read_is_no_step() -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    made = splitter(byte_level)
    assert made.rule == (Split(PATTERNS["gpt2"]), ByteChars())
    assert (made.name, made.identity, made.route.name) == ("gpt2", splitter("gpt2").identity, MASKS)
    assert made.split(TEXT) == in_words("gpt2")


# ------------------------------------------------------------------ what it says of itself


@pytest.mark.parametrize("name", NAMED)
def test_route_of_a_named_rule(name: str) -> None:
    made = splitter(name)
    assert made.route.name == ROUTES.get(name, MACHINE)
    assert made.compiled == (made.route.name != REGEX)
    assert NAMED[made.name or ""] == NAMED[name]
    assert repr(made) == f"Splitter({made.name!r}, route: {made.route.name})"
    assert made.unicode_version == "16.0"


@pytest.mark.parametrize(
    ("rule", "ref"),
    [
        (r"\w+|\W", r"Splitter(\w+|\W, route: compiled automaton)"),
        (r"(?<=a)b", "Splitter((?<=a)b, route: regex package)"),
        (r"a*", "Splitter(a*, route: regex package)"),
        (r"(?:a+)+?b", "Splitter((?:a+)+?b, route: regex package)"),
        (f"(?:{PATTERNS['r50k']})", f"Splitter((?:{PATTERNS['r50k']}), route: compiled masks)"),
        (None, "Splitter(null, route: compiled automaton)"),
    ],
)
def test_route_of_a_pattern(rule: Any, ref: str) -> None:
    assert repr(splitter(rule)) == ref
    assert "".join(in_words(rule)) == TEXT


@pytest.mark.parametrize("name", NAMED)
def test_identity_makes_the_same_splitter(name: str) -> None:
    made = splitter(name)
    again = splitter(made.identity)
    assert again.rule == made.rule
    assert again.identity == made.identity


@pytest.mark.parametrize("rule", [r"\s+|\S+", ["digits", "gpt2"], [Split("a", "contiguous"), Replace(" ", "_")], None])
def test_identity_of_a_rule_without_a_name(rule: Any) -> None:
    made = splitter(rule)
    assert made.name is None
    assert splitter(made.identity).identity == made.identity
    assert splitter(made.identity).split(TEXT) == made.split(TEXT)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "deepseek-v3", "falcon", "metaspace", "tiny-aya"])
def test_pickled(name: str) -> None:
    made = splitter(name)
    ref = made.split(TEXT)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(made, protocol))
        assert (copy.rule, copy.name, copy.identity, copy.split(TEXT)) == (made.rule, made.name, made.identity, ref)


def test_in_a_new_process() -> None:
    made = [splitter(name) for name in ("gpt2", "llama3", "bert", "superbpe")]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(words_elsewhere, made) == [each.split(TEXT) for each in made]


def words_elsewhere(made: SplitterEngine) -> list[str]:
    return made.split(TEXT)


# ------------------------------------------------------------------ what it takes


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "bert", "metaspace", "falcon", "tiny-aya"])
def test_empty_text(name: str) -> None:
    made = splitter(name)
    assert made.split("") == []
    for spans in (made.spans(""), made.byte_spans(b"")):
        assert spans.shape == (0, 2)
        assert spans.dtype == np.int64
    assert made.byte_spans(b"")[:, 1].tolist() == []
    assert made.cut(np.zeros(0, np.uint8), 0) == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_bytes_of_any_kind(kind: Any) -> None:
    for name in ("gpt2", "cl100k", "bert"):
        data = TEXT.encode() + b"\xff\xc3"
        assert np.array_equal(splitter(name).byte_spans(kind(data)), splitter(name).byte_spans(data))


def test_places_of_words_that_cut_characters() -> None:
    made = splitter("falcon")
    assert made.split("a1234ò") == ["a", "123", "4", "\ufffd", "\ufffd"]
    assert made.spans("a1234ò").tolist() == [[0, 1], [1, 4], [4, 5], [5, 6], [5, 6]]
    assert made.byte_spans("a1234ò".encode()).tolist() == [[0, 1], [1, 4], [4, 5], [5, 6], [6, 7]]


def test_places_of_words_that_lack_text() -> None:
    assert splitter("bert").spans(" é, 文 ").tolist() == [[1, 2], [2, 3], [4, 5]]
    assert splitter("metaspace").spans("é  文").tolist() == [[0, 1], [1, 2], [2, 4]]


# ------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("(", r"expected a \) that closes the group at character 0"),
        ("a(?<=", r"expected a \) that closes the group at character 1"),
        ("[z-a]", "expected a range in ascending order at character 1, got z-a"),
        ("a{3,2}", r"expected a quantifier whose minimum is not above its maximum at character 1, got \{3,2\}"),
        (r"\p{Nope}", r"expected a Unicode property at character 0, got \\p\{Nope\}"),
        ("*a", "expected an item to repeat"),
        (r"(?<=a+)(?P<x>b)(?P=y)", r"invalid regex '\(\?<=a\+\).*: unknown group"),
        ("cl1000k_base", "expected a splitter's name or a regex, not 'cl1000k_base'; did you mean 'cl100k"),
        ("Llama", r"expected a splitter's name or a regex, not 'Llama'; did you mean 'llama.* Names are gpt2"),
        ("New York", r"not 'New York'\. Names are .* at this text itself, write it as a group: \(\?:New York\)"),
        ("a.b", r"write it as a group: \(\?:a\\\.b\)"),
        ("日本語", "expected a splitter's name or a regex"),
        ("\ud800+", r"character 0 is the lone surrogate U\+D800"),
        (Split("a", "isolate"), "expected behavior to be one of isolated, .*, not 'isolate'"),  # type: ignore[arg-type]
        (Prefix("a", "never"), "expected scheme to be always or first, not 'never'"),  # type: ignore[arg-type]
        (Replace("ab", "c"), "expected Replace to have one character each"),
        (5, r"expected a splitter's name \(gpt2, .*\), a regex, .* not int"),
        (b"gpt2", "not bytes"),
        (["gpt2", 5], "not int"),
    ],
)
def test_what_is_no_rule_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splitter(rule)


def test_what_is_no_pre_tokenizer_is_refused() -> None:
    with pytest.raises(FormatError, match=r"pre_tokenizer\.type: expected one of BertPreTokenizer"):
        splitter({"type": "Words"})


def test_pattern_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finders, "SECONDS", 0.2)
    made = splitter("(?:(?:a|a)+)+(?<!a)")
    assert not made.compiled
    assert made.split("aab aa") == ["aab aa"]
    with pytest.raises(InputError, match=r"pattern too slow: .* took more than 0 s for 5000 characters"):
        made.split("a" * 5000)


def test_run_that_must_end_somewhere_is_tried_once() -> None:
    # From each of its characters, it would take minutes.
    blanks = "\u2003" * 200_000
    assert splitter("deepseek-llm").split(f"a{blanks}7\n{blanks}") == ["a", blanks, "7", "\n", blanks]


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "bert", "tiny-aya"])
def test_text_that_is_none_is_refused(name: str) -> None:
    made = splitter(name)
    for call in (made.split, made.spans):
        with pytest.raises(InputError, match=r"character 1 is the lone surrogate U\+D800"):
            call("a\ud800")
        with pytest.raises(InputError, match="expected str, not bytes; byte_spans takes bytes"):
            call(b"a")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="expected str, not NoneType"):
            call(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected bytes, not str"):
        made.byte_spans("a")  # type: ignore[arg-type]


def test_rule_of_a_file_that_no_engine_takes(tmp_path: Path) -> None:
    tok = subwords.train(["a b"], vocab_size=257, splitter=r"\S+|\s")
    tok.save(tmp_path / "tok.json")
    top = json.loads((tmp_path / "tok.json").read_text("utf-8"))
    top["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": "(?<=a"}
    (tmp_path / "bad.json").write_text(json.dumps(top), "utf-8")
    with pytest.raises(FormatError, match=r"bad.json: pre_tokenizer: expected supported patterns"):
        subwords.load(tmp_path / "bad.json")
