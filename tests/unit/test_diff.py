"""diff: each planted change is found and graded, nothing else is; real pairs; the command as a gate."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from commands import json_of, run
from inside import DIFF_RULES
from subwords import AddedToken, InputError, Padding, Tokenizer, Truncation
from subwords.cli import main
from subwords.machine import BPE, Unigram, Vocab

TEXT = "low lower lowest new newer newest wide wider widest " * 9


def trained(**options: Any) -> Tokenizer:
    return subwords.train([TEXT], **{"vocab_size": 280, **options})


def found(a: Tokenizer, b: Tokenizer, **options: Any) -> dict[str, list[tuple[str, ...]]]:
    """The tokens of the findings by rule; those of texts are left out."""
    result: dict[str, list[tuple[str, ...]]] = {}
    for one in subwords.study.diff(a, b, **options).findings:
        result.setdefault(one.rule, []).append(() if one.rule.startswith("other-") else one.tokens)
    return result


def with_model(tok: Tokenizer, **changes: Any) -> Tokenizer:
    return tok.with_(model=replace(tok.model, **changes))  # type: ignore[type-var]


def permuted(tok: Tokenizer, order: list[int]) -> Tokenizer:
    """The tokenizer in which id k is what was order[k]; merges are of the same tokens."""
    model = tok.model
    assert isinstance(model, BPE)
    places = np.argsort(order)
    return with_model(tok, vocab=Vocab([model.vocab[i] for i in order]), merges=places[model.merges])


def swapped(tok: Tokenizer, a: int, b: int) -> Tokenizer:
    order = [*range(tok.vocab_size)]
    order[a], order[b] = order[b], order[a]
    return permuted(tok, order)


def test_equal_tokenizers_have_no_difference(tmp_path: Path) -> None:
    for algorithm, size, name in (*(("bpe", 280, "a.json"), ("wordpiece", 80, "b.json"), ("wordlevel", 9, "c.json")),):
        tok = subwords.train([TEXT], algorithm=algorithm, vocab_size=size)  # type: ignore[call-overload]
        tok.save(tmp_path / name)
        result = subwords.study.diff(tok, tmp_path / name, source=[TEXT, "low"])
        assert (result.findings, bool(result), result.texts, result.different) == ((), False, 2, 0)
        assert str(result) == "no difference; 0 of 2 texts have other ids"


def test_swapped_ids() -> None:
    tok = trained()
    result = subwords.study.diff(tok, swapped(tok, 260, 265))
    a, b = tok.model.vocab[260].decode(), tok.model.vocab[265].decode()
    assert [(one.rule, one.severity) for one in result.findings] == [
        ("other-ids", "error"),
        ("swapped-tokens", "error"),
    ]
    assert result.findings[1].ids == (260, 265)
    assert result.findings[1].message == f"{a!r} and {b!r} have exchanged their ids 260 and 265"
    assert result.fails("error")


def test_moved_merge() -> None:
    tok = trained()
    model = tok.model
    assert isinstance(model, BPE)
    last = [*range(len(model.merges))]
    other = with_model(tok, merges=model.merges[[*last[1:], last[0]]])
    result = subwords.study.diff(tok, other)
    moved = [one for one in result.findings if one.rule == "moved-merge"]
    assert [one.tokens for one in moved] == [tuple(part.decode() for part in tok.merges[0])]
    assert moved[0].severity == "warning"
    assert moved[0].message.endswith(f"has rank {last[-1]} instead of 0")
    assert result.findings[0].rule == "other-ids"  # shown by a text


def test_a_moved_merge_that_no_other_meets_changes_no_id() -> None:
    tok = subwords.train(["ab ab ab cd cd"], vocab_size=258, splitter=r"\w+|\s+")
    model = tok.model
    assert isinstance(model, BPE)
    assert tok.merges == ((b"a", b"b"), (b"c", b"d"))
    assert found(tok, with_model(tok, merges=model.merges[::-1])) == {"moved-merge": [("a", "b")]}


def test_a_text_shows_a_merge_whose_order_matters() -> None:
    """The text is made of the two merges: no token and no tricky text has it."""
    tok = subwords.train(["qx\n" * 9 + "xz\n" * 5], vocab_size=258, splitter=r"\w+")
    model = tok.model
    assert isinstance(model, BPE)
    assert tok.merges == ((b"q", b"x"), (b"x", b"z"))
    other = with_model(tok, merges=model.merges[::-1])
    result = subwords.study.diff(tok, other)
    assert [one.rule for one in result.findings] == ["other-ids", "moved-merge"]
    assert tok.encode("qxz") != other.encode("qxz")
    assert result.findings[0].witness == "qxz"


def test_new_and_gone_merges_and_tokens() -> None:
    small, large = trained(vocab_size=258), trained(vocab_size=259)
    token = large.model.vocab[258].decode()
    merge = tuple(part.decode() for part in large.merges[-1])
    assert found(small, large) == {"other-ids": [()], "new-token": [(token,)], "new-merge": [merge]}
    assert found(large, small) == {"other-ids": [()], "gone-token": [(token,)], "gone-merge": [merge]}


def test_changed_and_moved_tokens() -> None:
    tok = subwords.train([TEXT], algorithm="wordlevel", vocab_size=9)
    tokens = list(tok.model.vocab)
    other = with_model(tok, vocab=Vocab([*tokens[:4], b"zzz", *tokens[5:]]))
    assert found(tok, other)["changed-token"] == [(tokens[4].decode(), "zzz")]
    shifted = with_model(tok, vocab=Vocab([*tokens[:4], b"zzz", *tokens[4:]]))
    result = subwords.study.diff(tok, shifted)
    (moved,) = [one for one in result.findings if one.rule == "moved-tokens"]
    assert moved.ids == (4, 5, 6, 7, 8)
    assert moved.message.endswith("have the ids 5 to 9 instead of 4 to 8")
    twice = with_model(tok, vocab=Vocab([*tokens, tokens[3]]))
    assert found(twice, tok) == {"gone-token": [(tokens[3].decode(),)]}


@settings(max_examples=40, deadline=None)
@given(st.permutations([*range(256, 270)]))
def test_the_findings_of_a_permutation_are_the_permutation(ids: list[int]) -> None:
    """From swapped and moved tokens, the other vocabulary can be made again."""
    tok = trained(vocab_size=270)
    order = [*range(256), *ids]
    new = list(tok.model.vocab)
    for one in subwords.study.diff(tok, permuted(tok, order)).findings:
        if one.rule == "swapped-tokens":
            new[one.ids[0]], new[one.ids[1]] = tok.model.vocab[one.ids[1]], tok.model.vocab[one.ids[0]]
        elif one.rule == "moved-tokens":
            first = int(
                one.message.split(", have the ids ")[1].split()[0]
                if len(one.ids) > 1
                else one.message.split("has the id ")[1].split()[0]
            )
            for k, index in enumerate(one.ids):
                new[first + k] = tok.model.vocab[index]
    assert new == [tok.model.vocab[k] for k in order]


def test_special_tokens_and_their_flags() -> None:
    tok = trained(special_tokens=["<s>", "<e>"])
    flagged = tok.with_(added_tokens=[AddedToken("<s>", 0), AddedToken("<e>", 1, lstrip=True)])
    result = subwords.study.diff(tok, flagged)
    assert [(one.rule, one.severity) for one in result.findings] == [
        ("other-special-ids", "warning"),
        ("changed-added-token", "warning"),
    ]
    assert result.findings[1].message == "'<e>' has lstrip=True"
    plain = tok.with_(added_tokens=[AddedToken("<s>", 0), AddedToken("<e>", 1, special=False)])
    assert found(tok, plain)["other-ids"] == [()]  # found in any text now
    assert found(tok, tok.with_tokens(["<x>"])) == {
        "other-special-ids": [()],
        "new-token": [("<x>",)],
        "changed-added-token": [("<x>",)],
    }
    renamed = trained(special_tokens=["<s>", "<f>"])
    assert found(tok, renamed)["changed-token"] == [("<e>", "<f>")]
    assert "changed-roles" in found(
        trained(special_tokens=["<a>"]), trained(special_tokens=["<a>"]).with_(roles={"bos": "<a>"})
    )


def test_scores() -> None:
    tok = subwords.train([TEXT], algorithm="unigram", vocab_size=30)
    model = tok.model
    assert isinstance(model, Unigram)
    scores = model.scores.copy()
    place = tok.encode("low")[0]
    scores[place] -= 50
    result = subwords.study.diff(tok, with_model(tok, scores=scores))
    assert [(one.rule, one.ids) for one in result.findings] == [("other-ids", ()), ("changed-score", (place,))]
    nearly = model.scores * (1 + 1e-12)
    assert found(tok, with_model(tok, scores=nearly)) == {}


def test_the_pipeline() -> None:
    tok = trained(special_tokens=["<s>"])
    assert found(tok, tok.with_(normalizer="nfc")) == {"other-ids": [()], "changed-normalizer": [("normalizer",)]}
    assert found(tok, tok.with_(splitter="gpt2"))["changed-splitter"] == [("splitter",)]
    assert found(tok, tok.with_(template="<s> $A")) == {"changed-template": [("template",)]}
    spans = tok.spec.template or subwords.train([TEXT], vocab_size=260).with_(template="$A").template
    assert spans is not None
    assert found(tok.with_(template=spans), tok.with_(template=replace(spans, trims=(True,)))) == {
        "changed-spans": [("template",)]
    }
    assert found(tok, tok.with_(padding=Padding(8, pad_token="<s>"))) == {"changed-limits": [("padding",)]}
    assert found(tok, tok.with_(truncation=Truncation(8))) == {"changed-limits": [("truncation",)]}
    model = tok.model
    assert found(tok, with_model(tok, dropout=0.1)) == {"changed-dropout": [("dropout",)]}
    assert found(tok, with_model(tok, whole_words=True))["changed-model"] == [("whole_words",)]
    marked = with_model(tok, special_ids=model.special_ids | {270})
    assert found(tok, marked)["changed-model"] == [("special_ids",)]
    assert found(tok, subwords.train([TEXT], algorithm="unigram", vocab_size=30))["changed-model"] == [("family",)]


def test_decoders() -> None:
    tok = subwords.train([TEXT], algorithm="wordpiece", vocab_size=120)
    assert tok.decoder is not None
    other = tok.with_(decoder=replace(tok.decoder, cleanup=not tok.decoder.cleanup))  # type: ignore[type-var, call-arg]
    rules = found(tok, other)
    assert rules in ({"other-text": [()]}, {"changed-decoder": [("decoder",)]})
    byte_level = trained()
    explicit = byte_level.with_(decoder=subwords.load("demo").decoder)
    if explicit.decoder != byte_level.decoder:
        assert found(byte_level, explicit) == {"changed-decoder": [("decoder",)]}


def test_chat_templates() -> None:
    old = "{% for m in messages %}\n{{ m.content }}\n{% endfor %}"
    new = old.replace("{{ m.content }}", "{{ m.role }}\n{{ m.content }}")
    tok = trained()
    result = subwords.study.diff(tok.with_(chat_template=old), tok.with_(chat_template=new))
    (one,) = result.findings
    assert (one.rule, one.severity) == ("changed-chat-template", "warning")
    assert one.message == "chat_template: 1 lines are new, 0 are gone: +{{ m.role }}"
    assert "+{{ m.role }}" in result.chat_templates["chat_template"].splitlines()
    assert "```diff\n--- a/chat_template\n+++ b/chat_template" in result.to_markdown()
    assert "+{{ m.role }}" in str(result)
    assert found(tok, tok.with_(chat_template=new))["changed-chat-template"] == [("chat_template",)]


def test_named_chat_templates_of_a_folder(tmp_path: Path) -> None:
    trained().with_(chat_template="{{ 1 }}").save(f"{tmp_path}/a/")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for name, text in (("a", "{{ 2 }}"), ("b", "{{ 2 }}\n{{ 3 }}")):
        (tmp_path / name / "additional_chat_templates").mkdir()
        (tmp_path / name / "additional_chat_templates" / "rag.jinja").write_text(text)
    (one,) = subwords.study.diff(tmp_path / "a", tmp_path / "b").findings
    assert (one.rule, one.tokens) == ("changed-chat-template", ("chat_template rag",))
    subwords.files.lock(tmp_path / "a", tmp_path / "x.lock")
    changed = subwords.files.check_lock(tmp_path / "x.lock", tokenizer=tmp_path / "b").changed
    assert changed == ("additional_chat_templates",)


def test_other_spellings_are_compared_by_the_bytes_of_the_text() -> None:
    byte_level = subwords.train(["ab ab"], vocab_size=257)
    letters = subwords.train(["ab ab"], vocab_size=5, byte_level=False)
    result = subwords.study.diff(byte_level, letters)
    assert "spell tokens differently" in str(result)
    assert any(one.rule == "moved-tokens" for one in result.findings)


def test_every_rule_has_a_test_that_finds_it() -> None:
    source = Path(__file__).read_text("utf-8")
    assert [name for name in DIFF_RULES if f'"{name}"' not in source] == []


def test_a_source_says_how_many_texts_differ(tmp_path: Path) -> None:
    tok = trained()
    other = tok.with_(splitter=" ?[a-z]+|[^a-z]+")
    result = subwords.study.diff(tok, other, source=["low", "low  lower", "a\n\nb", "new"])
    assert (result.texts, result.different) == (
        4,
        sum(tok.encode(x) != other.encode(x) for x in ("low  lower", "a\n\nb")),
    )
    assert result.different > 0
    assert "4 texts (the source)" in " ".join(one.message for one in result.findings)
    with pytest.raises(InputError, match="expected other to be a Tokenizer"):
        subwords.study.diff(tok, 5)  # type: ignore[arg-type]


def test_the_command_is_a_gate(tmp_path: Path) -> None:
    tok = trained()
    paths = [tmp_path / name for name in ("a.json", "swapped.json", "chat/", "out.sarif", "out.md")]
    a, bad, chat, sarif, page = paths
    tok.save(a)
    swapped(tok, 260, 265).save(bad)
    tok.with_(chat_template="{{ 1 }}").save(f"{chat}/")
    assert run("diff", a, a, "--fail-on", "note").stdout == "no difference\n"
    assert json_of("diff", a, chat)["warning"] == 1
    run("diff", a, chat)
    for arguments in (["diff", a, bad], ["diff", a, chat, "--fail-on", "warning"]):
        result = CliRunner().invoke(main, [*map(str, arguments), "--sarif", str(sarif), "--markdown", str(page)])
        assert result.exit_code == 1
        assert "(1): " in result.stdout
        assert json.loads(sarif.read_text())["runs"][0]["results"]
        assert page.read_text().startswith("| severity")
    (tmp_path / "t.txt").write_text("low\nnew\n")
    assert json_of("diff", a, bad, "--fail-on", "never", "--source", tmp_path / "t.txt")["texts"] == 1


PAIRS = {
    # The pair, and what is expected: rules that must be found, rules that must not.
    ("gpt2/tokenizer.json", "gpt2/vocab.json"): (
        "changed-added-token",
        "other-ids changed-token new-token moved-merge",
    ),
    ("gpt2/tokenizer.json", "gpt-neox/tokenizer.json"): ("moved-tokens moved-merge other-ids gone-token", ""),
    ("gpt2/tokenizer.json", "phi-2/tokenizer.json"): ("new-token other-ids", "moved-tokens gone-token moved-merge"),
    ("phi-3/tokenizer.json", "mistral/tokenizer.model.v1"): ("moved-tokens new-token changed-normalizer", ""),
    ("phi-3/tokenizer.json", "phi-3/phi-3-mini-tokenizer.json"): (
        "changed-added-token",
        "moved-tokens new-token moved-merge",
    ),
    ("t5/tokenizer.json", "t5/spiece.model"): ("gone-token changed-normalizer", "moved-tokens changed-score"),
    ("converted/cl100k_base.tokenizer.json", "tiktoken/cl100k_base.tiktoken"): (
        "changed-splitter",
        "other-ids moved-tokens moved-merge gone-merge new-merge",
    ),
    ("bert/bert-base-uncased-tokenizer.json", "bert/bert-base-uncased-vocab.txt"): ("", "other-ids"),
}


SLOW = ("phi-3/tokenizer.json", "mistral/tokenizer.model.v1")


@pytest.mark.parametrize(
    "names", [pytest.param(names, marks=[pytest.mark.sweep] * (names == SLOW), id=" ".join(names)) for names in PAIRS]
)
@pytest.mark.rotating(4, always=("spiece", "vocab.txt"))
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
def test_real_pairs(shared_data: Path, names: tuple[str, str]) -> None:
    a, b = (subwords.load(shared_data / "tokenizers" / name) for name in names)
    result = subwords.study.diff(a, b)
    rules = {one.rule for one in result.findings}
    expected, absent = (set(words.split()) for words in PAIRS[names])
    assert expected <= rules
    assert not absent & rules
    for one in result.findings:
        if one.rule == "other-ids":
            assert one.witness is not None
        if one.rule == "changed-token":
            assert a.token_bytes(one.ids[0]) != b.token_bytes(one.ids[0])
