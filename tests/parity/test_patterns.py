"""Patterns against tiktoken, pre-tokenizers in pairs against HF tokenizers: the same words, and none of them slow."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiktoken.model import MODEL_TO_ENCODING
from tokenizers import Regex, Tokenizer, pre_tokenizers
from tools.fuzz_texts import words_of_tiktoken

from engines import splitter
from inside import ALIASES, PATTERNS, SCRIPTS, categories, first_names, to_pre_tokenizer
from inside import splitter_NAMED as NAMED
from seeds import sweep_seed
from small_data import files_of
from subwords.machine import property_members
from test_fallback import TRICKY

# ------------------------------------------------------------------ tiktoken


@pytest.mark.parametrize(
    "pattern",
    [
        r"[^\p{L}||\p{N}]+|[\s\S]",
        r"(?i)\p{Lu}+|[\s\S]",
        r"(?i)\P{Lu}+|[\s\S]",
        r"(?i:[^a-z])+|[\s\S]",
        r"(?i:ǆ|σ|ﬁ|İ|ı)+|[\s\S]",
        r"(?i:ß|ſs|k)+|[\s\S]",
        r"(?:foo){e<=1}|[\s\S]",
        r"(?:foo){e<=1}|(?<=a)b|[\s\S]",
        r"x{e}|a{|[\s\S]",
        r"[[:alpha:]]+|[[:^ascii:]]+|[\s\S]",
        r"(?i)[[:upper:]]+|[\s\S]",
        r"[a-z~~k]+|[\s\S]",
        r"\h+|\R|[\s\S]",
        r"[^\d\D]|[^\s\P{L}.\p{L}]+|(?<=a)[^\w\W]|[\s\S]",
        r"\<\w|\w\>|[\s\S]",
        r"\bfoo\b|\B.|[\s\S]",
        r"(?m)^.|.$|[\s\S]",
        r"^.|.$|[\s\S]",
        r"(?s).(?<!a)|[\s\S]",
        r"(?i:[^a-z])(?<!x)|[\s\S]",
        r"(.)\1|(?<y>\w)\k<y>|[\s\S]",
        r"(?i)(k)\1|[\s\S]",
        r"(?x) a [b] # comment",
        r"\w+?(?=\d)|[\s\S]",
        r"(?>a+)b|\d++|[\s\S]",
        r"\p{Dash}+(?<!x)|[\s\S]",
    ],
)
def test_words_are_tiktoken_s(pattern: str) -> None:
    seed = 4
    print(f"seed {seed}")
    rng = random.Random(seed)
    pattern = pattern if pattern.endswith("comment") else f"(?:{pattern})"
    pattern = f"{pattern}\n|(?s:.)" if pattern.endswith("comment") else pattern
    made = splitter(pattern)
    for _ in range(40):
        text = "".join(rng.choices(TRICKY, k=rng.randint(1, 8)))
        assert made.split(text) == words_of_tiktoken(pattern, text), text


@pytest.mark.parametrize(
    "pattern", [r"\X", r"a**", r"(?<=a)*b", r"\Qa", r"[[:nope:]](?<=a)", r"\ca", r"(?|a)", r"a|\y"]
)
def test_what_tiktoken_refuses(pattern: str) -> None:
    if pattern not in (r"a**", r"(?<=a)*b", r"(?|a)", r"[[:nope:]](?<=a)"):  # taken here as the package takes it
        with pytest.raises(ValueError, match=r"unsupported|expected"):
            splitter(pattern)
    if pattern != r"[[:nope:]](?<=a)":
        with pytest.raises(ValueError, match="rror"):
            words_of_tiktoken(pattern, "ab")


def test_models_have_the_encodings_that_tiktoken_names() -> None:
    names = {"r50k_base": "r50k", "p50k_base": "p50k", "cl100k_base": "cl100k", "o200k_base": "o200k", "gpt2": "gpt2"}
    names |= {"o200k_harmony": "o200k", "p50k_edit": "p50k"}
    known = [model for model in MODEL_TO_ENCODING if model in ALIASES]
    assert len(known) >= 18
    for model in known:
        assert ALIASES[model] == names[MODEL_TO_ENCODING[model]], model


# ------------------------------------------------------------------ HF tokenizers


@pytest.mark.parametrize(
    "name",
    [
        *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower"),
        *("print", "punct", "space", "upper", "word", "xdigit"),
    ],
)
def test_posix_sets(name: str) -> None:
    changes = np.flatnonzero(np.diff(categories()))  # a set changes where a category does, or within a few blocks
    codes = sorted({*range(0x400), *range(0x2000, 0x2200), *changes.tolist(), *(changes + 1).tolist()})
    text = "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    for pattern in (f"[[:{name}:]]", f"[^[:^{name}:]]"):
        node = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
        peer = pre_tokenizers.Split(Regex(f"[[:{name}:]]+"), "removed", invert=True)
        assert "".join(splitter(node).split(text)) == "".join(piece for piece, _ in peer.pre_tokenize_str(text))


NODES: dict[str, dict[str, Any]] = {
    "bert": {"type": "BertPreTokenizer"},
    "bytes": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True},
    "bytes, prefix": {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True, "trim_offsets": True},
    "bytes alone": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False, "trim_offsets": True},
    "character": {"type": "CharDelimiterSplit", "delimiter": "e"},
    "digits": {"type": "Digits", "individual_digits": True},
    "numbers": {"type": "Digits", "individual_digits": False},
    "length": {"type": "FixedLength", "length": 5},
    "metaspace": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "metaspace, first": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
    "signs": {"type": "Punctuation", "behavior": "Isolated"},
    "signs, before": {"type": "Punctuation", "behavior": "MergedWithPrevious"},
    "text": {"type": "Split", "pattern": {"String": "the"}, "behavior": "MergedWithNext", "invert": False},
    "pattern": {"type": "Split", "pattern": {"Regex": PATTERNS["llama3"]}, "behavior": "Isolated", "invert": False},
    "scripts": {"type": "UnicodeScripts"},
    "words": {"type": "Whitespace"},
    "blanks": {"type": "WhitespaceSplit"},
}


def in_order(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(nodes)}


def check_words(node: dict[str, Any], texts: list[str]) -> None:
    document = {"version": "1.0", "added_tokens": [], "pre_tokenizer": node}
    document |= {"model": {"type": "BPE", "vocab": {}, "merges": []}}
    peer = Tokenizer.from_str(json.dumps(document)).pre_tokenizer
    made = splitter(node)
    mapped = sum(part["type"] == "ByteLevel" for part in node["pretokenizers"])
    for text in texts:
        theirs = [piece for piece, _ in peer.pre_tokenize_str(text)]
        ours = made.split(text)
        if mapped:  # words here are bytes, theirs the characters that stand for bytes
            assert len(ours) == len(theirs), text
        else:
            assert ours == theirs, text


@pytest.mark.rotating(2)
@pytest.mark.parametrize("first", NODES)
def test_no_pair_needs_the_regex_package(first: str) -> None:
    seed = 2
    print(f"seed {seed}")
    rng = random.Random(seed)
    texts = ["".join(rng.choices(TRICKY, k=rng.randint(1, 30))) for _ in range(20)]
    place = [*NODES].index(first)
    for second in [*NODES][place % 3 :: 3]:
        node = in_order(NODES[first], NODES[second])
        made = splitter(node)
        assert made.compiled
        assert made.unicode_version == "16.0"
        if sum("bytes" in name for name in (first, second)) < 2:
            check_words(node, texts)


SCRIPTED = [["scripts"], *([name, "scripts"] for name in ("words", "digits", "metaspace", "signs", "scripts"))]
SCRIPTED += [["scripts", name] for name in ("words", "digits", "metaspace", "length")]


def test_characters_of_every_script_in_pairs() -> None:
    seed = 12
    print(f"seed {seed}")
    rng = random.Random(seed)
    some = [
        chr(code) for name in first_names(SCRIPTS) for code in rng.choices(np.flatnonzero(property_members(name)), k=3)
    ]
    some = [char for char in some if not "\ud800" <= char < "\ue000"]
    texts = [a + b + a for a, b in rng.sample([*itertools.product(some, some)], 1500)]
    texts += ["\u06c5\u05c8", "  a🥰b", " \n文\u0301a\u0301 ー", "".join(some)]
    for names in SCRIPTED:
        check_words(in_order(*(NODES[name] for name in names)), texts if names == ["scripts"] else texts[-300:])


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("names", SCRIPTED, ids=", ".join)
def test_every_character_between_scripts(names: list[str], part: int) -> None:
    rng = random.Random(sweep_seed())
    chars = [chr(code) for code in range(part, 0x110000, 5) if not 0xD800 <= code < 0xE000]
    # Each text takes a tenth of a millisecond: many characters in one, and not all of them alone.
    texts = ["".join(f"a{c}ф{c}{c}文 {c}" for c in chars[at : at + 500]) for at in range(0, len(chars), 500)]
    texts += ["".join(rng.choices(chars, k=rng.randint(2, 8))) for _ in range(4_000)]
    check_words(in_order(*(NODES[name] for name in names)), [*rng.sample(chars, 20_000), *texts])


def test_scripts_of_real_texts(data: Path) -> None:
    for file in ("multilingual", "ja", "hi"):
        text = (data / f"corpora/{file}.txt").read_text("utf-8")[:20_000]
        for names in SCRIPTED:
            check_words(in_order(*(NODES[name] for name in names)), [text])


# ------------------------------------------------------------------ files, copies and threads


def rules_of_files(data: Path) -> list[Any]:
    nodes = [json.loads(file.read_text("utf-8")).get("pre_tokenizer") for file in files_of(data, "tokenizer.json")]
    return [node for node in nodes if node]


def check_identity(rule: Any) -> None:
    made = splitter(rule)
    again = splitter(made.identity)
    text = "Don't 12345 camelCase中文abc\u00a0न्ई naïve!!\n\n  x/y\r\n ò  \t{e}"
    assert again.identity == made.identity
    assert again.split(text) == made.split(text)
    for same in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (same.rule, same.identity, same.split(text)) == (made.rule, made.identity, made.split(text))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("rule", [*NAMED, *NODES.values()], ids=str)
def test_identity_after_use(rule: Any) -> None:
    check_identity(rule)


def test_identity_of_the_rules_of_files(data: Path) -> None:
    rules = rules_of_files(data)
    assert len(rules) > 5
    for rule in rules:
        check_identity(rule)
        check_identity(splitter(to_pre_tokenizer(splitter(rule).rule)))


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "rule", ["gpt2", "bert", "falcon", "metaspace", "tiny-aya", NODES["scripts"], "(?<=a)b|."], ids=str
)
def test_one_splitter_in_many_threads(rule: Any) -> None:
    made = splitter(rule)
    texts = [f"{k} aab's 文字 " * (k % 7 + 1) for k in range(200)]
    alone = splitter(rule)
    ref = [alone.split(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(made.split, texts)] == ref
