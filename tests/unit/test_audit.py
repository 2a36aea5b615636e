"""audit: planted defects are found, each by its rule; a sound tokenizer has none; what is called unreachable is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.gallery import PAGE, page_of

import subwords
from chatting import TEMPLATES, USUAL, chatting
from inside import RULES
from seeds import seed_of_run
from small_data import file_of
from strategies import counts_of, settings_of, train_model, word_counts
from subwords import InputError
from subwords.machine import BPE, Unigram, Vocab

TEXT = "low lower lowest new newer newest wide wider widest " * 9


def trained(**options: Any) -> subwords.Tokenizer:
    return subwords.train([TEXT], **{"vocab_size": 280, **options})


def with_model(tok: subwords.Tokenizer, **changes: Any) -> subwords.Tokenizer:
    return tok.with_(model=replace(tok.model, **changes))  # type: ignore[type-var]


def found(tok: subwords.Tokenizer, *rules: str, **options: Any) -> dict[str, list[tuple[str, ...]]]:
    """The tokens of the findings by rule."""
    result: dict[str, list[tuple[str, ...]]] = {}
    for one in subwords.study.audit(tok, rules=rules or None, **options).findings:
        result.setdefault(one.rule, []).append(one.tokens)
    return result


def test_a_sound_tokenizer_has_no_errors() -> None:
    for options in ({}, {"special_tokens": ["<s>"]}, {"splitter": "o200k"}):
        result = subwords.study.audit(trained(**options))
        assert result.count("error") == 0, str(result)
        assert not result.fails("error")
    assert {*found(trained(splitter="o200k"))} <= {"cut-emoji", "cut-grapheme", "partial-character"}


def with_merge(tok: subwords.Tokenizer, left: bytes, right: bytes, rank: int | None = None) -> subwords.Tokenizer:
    """The tokenizer with one more token, made by a merge at the end or at a rank."""
    model = tok.model
    assert isinstance(model, BPE)
    ids, size = model.vocab.ids, len(model.vocab)
    row = np.array([[ids[left], ids[right], size]])
    place = len(model.merges) if rank is None else rank
    merges = np.concatenate([model.merges[:place], row, model.merges[place:]])
    return with_model(tok, vocab=Vocab([*model.vocab, left + right]), merges=merges)


def test_unreachable_tokens() -> None:
    tok = with_merge(trained(), b"l", b"o")  # it exists, and a token of the same text merges first
    assert ("lo",) in found(tok, "unreachable-token", "duplicate-token")["duplicate-token"]
    left, right = trained().merges[0]  # the two merge first, before a "q" can join the left one
    lost = with_merge(with_merge(trained(), b"q", left), b"q" + left, right)
    a, b = left.decode(), right.decode()
    assert found(lost, "unreachable-token") == {"unreachable-token": [(f"q{a}{b}",)]}
    message = subwords.study.audit(lost, rules=["unreachable-token"]).findings[0].message
    assert f"('q{a}' + '{b}') makes it, but earlier merges leave 'q' '{a}{b}'" in message
    none = trained()
    more = with_model(none, vocab=Vocab([*none.model.vocab, b"zzz"]))
    assert found(more, "unreachable-token") == {"unreachable-token": [("zzz",)]}
    message = subwords.study.audit(more, rules=["unreachable-token"]).findings[0].message
    assert message == "'zzz': no merge makes it; its text gives 'z' 'z' 'z'"


def test_tokens_that_the_splitter_or_the_normalizer_loses() -> None:
    tok = with_merge(trained(), b"w", b" ")
    assert found(tok, "split-token") == {"split-token": [("w ",)]}
    upper = with_merge(trained(normalizer="lowercase"), b"X", b"Y")
    assert ("XY",) in found(upper, "normalized-token")["normalized-token"]
    assert ("a", "A") in found(upper, "same-when-normalized")["same-when-normalized"] or ("A", "a") in found(
        upper, "same-when-normalized"
    )["same-when-normalized"]


def test_characters() -> None:
    tok = with_merge(trained(), b"a", b"\xc3")
    assert found(tok, "crossed-characters") == {"crossed-characters": [("a\\xc3",)]}
    tok = with_merge(trained(), b"\xc3", b"\xa9")
    assert found(with_merge(trained(), b"\xe6", b"\x96"), "partial-character")["partial-character"] == [("\\xe6\\x96",)]
    assert "partial-character" not in found(tok, "partial-character")
    model = trained().model
    odd = [*model.vocab, "\U000323b0".encode(), "a\u202e".encode(), b"========="]
    rules = "newer-character", "control-character", "long-repeat"
    assert found(with_model(trained(), vocab=Vocab(odd)), *rules) == {
        "newer-character": [("\U000323b0",)],
        "control-character": [("a\u202e",)],
        "long-repeat": [("=========",)],
    }


def test_the_vocabulary_as_a_whole() -> None:
    model = trained().model
    assert found(with_model(trained(), vocab=Vocab([*model.vocab, b""])), "hole") == {
        "hole": [(f"<{len(model.vocab)}>",)]
    }
    twice = with_model(trained(), vocab=Vocab([*model.vocab, b"lo"]))
    assert found(twice, "duplicate-token") == {"duplicate-token": [("lo",)]}
    few = subwords.train([TEXT], vocab_size=40, alphabet="corpus")
    assert found(few, "missing-bytes") == {"missing-bytes": [("bytes",)]}
    chars = subwords.train([TEXT], vocab_size=40, byte_level=False)
    assert found(chars, "no-unknown") == {"no-unknown": [("unknown",)]}


def test_merges() -> None:
    tok = trained()
    model = tok.model
    assert isinstance(model, BPE)
    order = [*range(len(model.merges))]
    later = next(k for k in order if {*model.merges[k, :2].tolist()} & {*model.merges[:k, 2].tolist()})
    first = next(k for k in order if model.merges[k, 2] in model.merges[later, :2])
    order[first], order[later] = order[later], order[first]
    swapped = with_model(tok, merges=model.merges[order])
    assert found(swapped, "merge-order")["merge-order"]
    ids = model.vocab.ids
    dead = with_merge(with_model(tok, vocab=Vocab([*model.vocab, b"zz"])), b"zz", b"y")
    assert found(dead, "dead-merge") == {"dead-merge": [("zz", "y")]}
    special = with_model(tok, special_ids=frozenset({ids[b"lo"]}))
    assert found(special, "merged-special") == {"merged-special": [("lo",)]}


def test_special_and_added_tokens() -> None:
    tok = trained().with_tokens(["end", "<|a|>", "x<|a|>"])
    result = found(tok, "plain-special", "added-overlap")
    assert result == {"plain-special": [("end",)], "added-overlap": [("<|a|>",)]}


def test_behavior(monkeypatch: pytest.MonkeyPatch) -> None:
    result = subwords.study.audit(trained(splitter="gpt2"), rules=["cut-grapheme", "cut-emoji"])
    assert {"क्षि", "1️⃣"} <= {one.witness for one in result.findings}
    lower = subwords.study.audit(trained(normalizer="lowercase"), rules=["lossy"])
    assert any(one.witness == "A" and "comes back as 'a'" in one.message for one in lower.findings)
    assert found(trained(), "round-trip") == {}
    monkeypatch.setattr(subwords.Tokenizer, "decode", lambda self, ids: "?")
    assert len(found(trained(), "round-trip")["round-trip"]) > 20


def test_a_corpus_shows_unused_tokens_and_lost_texts() -> None:
    tok = trained(splitter=" ?[a-z]+")
    result = found(tok, "unused-token", source=["low new"])
    assert ("lo",) not in result["unused-token"] or len(result["unused-token"]) < 280
    used = {tok.model.vocab[index] for index in tok.encode("low new")}
    assert {token[0].encode() for token in result["unused-token"]} & used == set()
    lossy = subwords.study.audit(trained(normalizer="lowercase"), ["Some Text\n"], rules=["lossy"])
    assert any(one.witness == "Some Text\n" for one in lossy.findings)


@given(word_counts("ab"), st.integers(1, 12), st.data())
def test_unreachable_is_exact_for_bpe(words: dict[bytes, int], add: int, data: st.DataObject) -> None:
    model = train_model("bpe", counts_of(words), settings_of("bpe", vocab_size=256 + add))
    order = data.draw(st.permutations(range(len(model.merges))))
    model = replace(model, merges=model.merges[list(order)])
    tok = subwords.train(["a"], vocab_size=256, splitter=()).with_(model=model)
    lost = {one.ids[0] for one in subwords.study.audit(tok, rules=["unreachable-token"]).findings}
    yielded = {index for n in range(1, 9) for text in product("ab", repeat=n) for index in tok.encode("".join(text))}
    multi = {*range(256, len(model.vocab))}
    short = {index for index in multi if len(model.vocab[index]) <= 6}
    assert lost & yielded == set()
    assert short - lost <= yielded


@given(st.lists(st.floats(-9, -1), min_size=6, max_size=6))
def test_unreachable_is_exact_for_unigram(scores: list[float]) -> None:
    pieces = [b"<unk>", b"a", b"b", b"ab", b"ba", b"aba"]
    model = Unigram(Vocab(pieces), np.array(scores), 0, special_ids=frozenset({0}))
    base = subwords.train([TEXT], algorithm="unigram", vocab_size=30)
    tok = base.with_(model=model, normalizer=None, splitter=(), template=None, added_tokens=(), decoder=None)
    lost = {one.ids[0] for one in subwords.study.audit(tok, rules=["unreachable-token"]).findings}
    yielded = {index for n in range(1, 8) for text in product("ab", repeat=n) for index in tok.encode("".join(text))}
    assert lost & yielded == set()
    assert {1, 2, 3, 4, 5} - lost <= yielded


CHAT_RULES = [rule for rule in RULES if rule.startswith("chat-")]
REPLACES = TEMPLATES["usual"].replace("m.content", "m.content | replace('[picture]', '<|call|>')")
PLAIN = (  # needs no generation prompt
    "{% for m in messages %}{{ '[INST]' + m.content + '[/INST]' if m.role != 'assistant' else m.content + '<|end|>' }}"
    "{% endfor %}"
)
CHATS = {  # a template, and what is found in it
    "<|x|>": (USUAL.replace("<|end|>", "<|ende|>"), {"chat-literal": ["<|ende|>"], "chat-end": ["end"]}),
    "role": (USUAL.replace("'assistant'", "'bot'").replace("m.role", "m.role ~ 's'"), {
        "chat-literal": ["<|assistants|>", "<|systems|>", "<|users|>"]}),
    "brackets": ("{% for m in messages %}[{{ m.role | upper }}]{{ m.content }}[END]{% endfor %}", {
        "chat-literal": ["[ASSISTANT]", "[END]", "[SYSTEM]", "[USER]"], "chat-prompt": ["prompt"],
        "chat-end": ["end"]}),
    "refused": ("{% if messages[0].role == 'system' %}{{ raise_exception('no <|system|>') }}{% endif %}" + USUAL, {
        "chat-role": ["system"]}),
    "left out": (USUAL.replace("%}<|{{", "if m.role != 'system' %}<|{{"), {"chat-role": ["system"]}),
    "no tools": ("{{ tools and '' }}" + USUAL.replace("%}<|{{", "if m.role != 'tool' %}<|{{"), {"chat-role": ["tool"]}),
    "syntax": ("{% if %}", {"chat-role": ["every role"]}),
    "no end": ("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n{% endfor %}", {
        "chat-prompt": ["prompt"], "chat-end": ["end"]}),
    "always": (USUAL.replace("{% if add_generation_prompt %}", "").replace("{% endif %}", ""), {
        "chat-prompt": ["prompt"]}),
    "no prompt": (USUAL.partition("{% if add")[0], {"chat-prompt": ["prompt"]}),
    "last end": (USUAL.replace("<|end|>", "{{ '<|end|>' if not loop.last }}"), {"chat-end": ["end"]}),
    "json": ("{{ messages | tojson }}", {"chat-mask": ["replies"]}),
    "marks": (USUAL.replace("{{ m.content }}", "{% if m.role == 'user' %}{% generation %}{{ m.content }}"
        "{% endgeneration %}{% else %}{{ m.content }}{% endif %}"), {"chat-mask": ["replies"]}),
    "marks of all": (USUAL.replace("{{ m.content }}", "{% generation %}{{ m.content }}{% endgeneration %}"), {
        "chat-mask": ["replies"]}),
    "replace": (REPLACES, {"chat-replace": ["<|call|>"]}),
    "joined": ("{{ '<|' ~ messages[0].content ~ '|>' }}" + USUAL, {"chat-replace": ["<|call|>"]}),
}  # fmt: skip


def test_sound_chat_templates_have_no_findings() -> None:
    parts = USUAL.replace("{{ m.content }}", "{% for c in m.content %}{{ c.text }}{% endfor %}")
    compared = USUAL.replace("m.content", "m.content.replace('<|think_on|>', '').split('<|off|>')[-1]")
    prose = "{{ tools and 'Call <tools></tools> as <function-name>, not [INST].' }}" + USUAL
    for template in (USUAL, parts, compared, prose, "{{ bos_token }}" + PLAIN):
        assert found(chatting(template=template), *CHAT_RULES) == {}
    for name in ("generation", "tools", "merged"):
        assert found(chatting(template=TEMPLATES[name]), *CHAT_RULES).keys() <= {"chat-prompt"}
    assert found(subwords.load("demo"), *CHAT_RULES) == {}


@pytest.mark.parametrize("name", CHATS)
def test_chat_templates(name: str) -> None:
    template, expected = CHATS[name]
    result = found(chatting(template=template), *CHAT_RULES)
    assert {rule: [tokens[0] for tokens in each] for rule, each in result.items()} == expected
    assert {tokens[-1] for each in result.values() for tokens in each} == {"chat template"}


def test_what_findings_of_chat_templates_say() -> None:
    named = replace(chatting().spec.foreign, chat_templates=(("rag", REPLACES.replace("<|end|>", "<|End|>")),))
    tok = subwords.Tokenizer(replace(chatting().spec, foreign=named))
    messages = {one.rule: one.message for one in subwords.study.audit(tok, rules=CHAT_RULES).findings}
    assert messages == {
        "chat-literal": "the chat template 'rag' writes '<|End|>', which is not an added token: it becomes text; did "
        "you mean '<|end|>' or '<|endoftext|>' or '<|user|>'?",
        "chat-end": "the chat template 'rag' writes no control token at the end of replies",
        "chat-replace": "the chat template 'rag' makes '<|call|>' where a message says '[picture]': here it is text, "
        "elsewhere the token",
    }


def test_chat_templates_without_jinja() -> None:
    program = (
        "import sys, subwords\nsys.modules['jinja2'] = None\n"
        "tok = subwords.train(['a'], vocab_size=256).with_(chat_template='x')\n"
        "try: subwords.study.audit(tok, rules=['chat-end'])\nexcept subwords.InputError as error: print(error)\n"
        "subwords.study.audit(tok, rules=['hole'])\nsubwords.study.audit(tok)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("chat templates need the package jinja2: ")
    assert done.stderr.count("SubwordsWarning: the chat template is not checked: chat templates need the package") == 1


def test_chat_templates_in_use(shared_data: Path) -> None:
    folder = shared_data / "chat_templates"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/chat_templates, which is not part of this repository")
    files = sorted(folder.glob("*.jinja"))[seed_of_run() % 30 :: 30]
    for file in files:
        source = file.read_bytes().decode()
        spelled = re.findall(r"<[|｜]?[a-zA-Z_▁]+[|｜]?>|\[/?[A-Z_]+\]", source)
        tok = chatting(template=source).with_tokens([*dict.fromkeys(spelled)])
        assert len(subwords.study.audit(tok, rules=CHAT_RULES).findings) <= 4, file.name


def test_formats_and_baseline() -> None:
    tok = with_model(trained(), vocab=Vocab([*trained().model.vocab, b"zzz", b"yyy"]))
    result = subwords.study.audit(tok, rules=["unreachable-token"])
    assert result.fails("note")
    with pytest.raises(subwords.InputError, match="unknown severity='never': expected one of error, warning, note"):
        result.fails("never")  # type: ignore[arg-type]
    assert json.loads(json.dumps(result.to_dict()))["error"] == 2
    sarif = json.loads(json.dumps(result.to_sarif()))
    assert sarif["version"] == "2.1.0"
    (run,) = sarif["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["unreachable-token"]
    assert {one["level"] for one in run["results"]} == {"error"}
    accepted = subwords.study.audit(tok, rules=["unreachable-token"], baseline=[result.findings[0].fingerprint])
    assert (len(accepted.findings), accepted.accepted) == (1, 1)
    assert "1 accepted" in str(accepted)
    assert "<script" not in result._repr_html_()
    with pytest.raises(InputError, match="expected rules among"):
        subwords.study.audit(tok, rules=["nothing"])


def test_every_rule_has_a_test_that_finds_it() -> None:
    folder = Path(__file__).parents[1]
    source = "".join(file.read_text("utf-8") for file in (Path(__file__), *folder.glob("behaviour/test_audit*.py")))
    assert [name for name in RULES if f'"{name}"' not in source] == []


@pytest.mark.parametrize("name", ["gpt2/tokenizer.json", "t5/spiece.model", "bert/bert-base-uncased-tokenizer.json"])
def test_real_files(data: Path, name: str) -> None:
    tok = subwords.load(file_of(data, name))
    result = subwords.study.audit(tok)
    for one in result.findings:
        if one.rule == "unreachable-token":
            assert tok.encode(one.tokens[0].replace("\u2581", " ")) != [one.ids[0]]
    assert result.count("error") < 20


def test_the_gallery_is_what_audit_finds(tmp_path: Path) -> None:
    tok = trained()
    tok.save(tmp_path / "x.json")
    errors, warnings, notes = (subwords.study.audit(tok).count(one) for one in ("error", "warning", "note"))
    page = page_of({"small": tmp_path / "x.json"})
    assert f"| small | BPE | {tok.vocab_size} | {errors} | {warnings} | {notes} |" in page
    names = {*re.findall(r"^- `([a-z-]+)`", PAGE.read_text("utf-8"), re.MULTILINE)}
    assert names <= {*RULES}
    assert len(names) > 5
