"""lock: digests of what a tokenizer does, the same in every format; each changed part is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import subwords
from commands import json_of, run
from subwords import AddedToken, FormatError, InputError, Padding, Tokenizer, Truncation
from subwords.cli import main
from subwords.machine import BPE, Unigram, Vocab

TEXT = "low lower lowest new newer newest wide wider widest " * 9


def trained(**options: Any) -> Tokenizer:
    return subwords.train([TEXT], **{"vocab_size": 270, "special_tokens": ["<s>", "<e>"], **options})


def changed(tmp_path: Path, a: Tokenizer, b: Tokenizer) -> tuple[str, ...]:
    subwords.files.lock(a, tmp_path / "tokenizer.lock")
    return subwords.files.check_lock(tmp_path / "tokenizer.lock", tokenizer=b).changed


def test_each_changed_part_is_named(tmp_path: Path) -> None:
    tok = trained()
    model = tok.model
    assert isinstance(model, BPE)
    assert changed(tmp_path, tok, tok) == ()
    assert changed(tmp_path, tok, tok.with_(normalizer="nfc")) == ("normalizer",)
    assert changed(tmp_path, tok, tok.with_(splitter="gpt2")) == ("splitter",)
    assert changed(tmp_path, tok, tok.with_(template="<s> $A")) == ("template",)
    assert changed(tmp_path, tok, tok.with_(padding=Padding(8, pad_id=0))) == ("padding",)
    assert changed(tmp_path, tok, tok.with_(truncation=Truncation(8))) == ("truncation",)
    assert changed(tmp_path, tok, tok.with_(chat_template="{{ 1 }}")) == ("chat_template",)
    assert changed(tmp_path, tok, tok.with_(roles={"bos": "<e>"})) == ("roles",)
    flagged = [AddedToken("<s>", 0), AddedToken("<e>", 1, lstrip=True)]
    assert changed(tmp_path, tok, tok.with_(added_tokens=flagged)) == ("added_tokens",)
    order = [1, 0, *range(2, len(model.merges))]
    assert changed(tmp_path, tok, tok.with_(model=replace(model, merges=model.merges[order]))) == ("merges",)
    assert changed(tmp_path, tok, tok.with_(model=replace(model, whole_words=True))) == ("model",)
    tokens = [*model.vocab, b"zzz"]
    assert changed(tmp_path, tok, tok.with_(model=replace(model, vocab=Vocab(tokens)))) == ("vocabulary",)
    unigram = subwords.train([TEXT], algorithm="unigram", vocab_size=30)
    other = unigram.model
    assert isinstance(other, Unigram)
    assert changed(tmp_path, unigram, unigram.with_(model=replace(other, scores=other.scores - 1))) == ("scores",)


def test_the_digest_is_that_of_the_spec_in_every_format(tmp_path: Path) -> None:
    tok = trained(special_tokens=["<|endoftext|>"], splitter="gpt2")
    for name in ("tok.json", "folder/", "pair/merges.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        tok.save(f"{tmp_path}/{name}")
        given = {"special_ids": {"<|endoftext|>": 0}} if "pair" in name else {}
        assert subwords.files.lock(subwords.load(f"{tmp_path}/{name}", **given)).digest == tok.spec.digest  # type: ignore[arg-type]
    path = tmp_path / "tok.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**dict(reversed(written.items())), "unknown": 1}, indent=4))
    assert subwords.files.lock(path).digest == tok.spec.digest


def test_the_file_is_small_and_readable_and_names_its_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    trained().save(tmp_path / "a" / "tok.json")
    made = subwords.files.lock(tmp_path / "a" / "tok.json", tmp_path / "x.lock")
    found = json.loads((tmp_path / "x.lock").read_text())
    assert (found["tokenizer"], found["vocabulary"], found["special_tokens"]) == (
        "a/tok.json",
        270,
        {"<s>": 0, "<e>": 1},
    )
    assert found["digest"] == made.digest == trained().spec.digest
    assert found["version"] == subwords.__version__
    assert (tmp_path / "x.lock").stat().st_size < 2500
    monkeypatch.chdir(tmp_path / "a")  # the path is seen from the lock, not from here
    assert subwords.files.check_lock(tmp_path / "x.lock")
    named = subwords.files.lock("demo", tmp_path / "x.lock")
    assert named.tokenizer == "demo"
    assert subwords.files.check_lock(tmp_path / "x.lock")


def test_a_change_is_told_in_words(tmp_path: Path) -> None:
    subwords.files.lock(trained(), tmp_path / "x.lock")
    found = subwords.files.check_lock(
        tmp_path / "x.lock", tokenizer=trained(special_tokens=["<s>", "<f>"], vocab_size=271)
    )
    assert not found
    assert found.notes() == [
        "The vocabulary has 271 ids instead of 270.",
        "The special token '<e>' has no id instead of the id 1.",
        "The special token '<f>' has the id 1 instead of no id.",
    ]
    values = json.loads((tmp_path / "x.lock").read_text())
    (tmp_path / "x.lock").write_text(json.dumps(values | {"version": "0.0.1"}))
    later = subwords.files.check_lock(tmp_path / "x.lock", tokenizer=trained(vocab_size=271))
    assert "was written by subwords 0.0.1" in later.notes()[-1]


def test_what_is_no_lock_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    subwords.files.lock(trained(), path)
    values = json.loads(path.read_text())
    with pytest.raises(InputError, match="names no tokenizer"):
        subwords.files.check_lock(path)
    for wrong in (
        {"format": 2},
        {"digest": "x"},
        {"parts": {"model": 5}},
        {"special_tokens": {"<s>": -1}},
        {"family": 1},
    ):
        path.write_text(json.dumps(values | wrong))
        with pytest.raises(FormatError, match=r"x\.lock"):
            subwords.files.check_lock(path, tokenizer=trained())
    path.write_text("[")
    with pytest.raises(FormatError):
        subwords.files.check_lock(path, tokenizer=trained())
    with pytest.raises(FormatError, match="cannot read"):
        subwords.files.check_lock(tmp_path / "missing.lock", tokenizer=trained())


def test_the_command(tmp_path: Path) -> None:
    tok, place = trained(), tmp_path / "tokenizer.lock"
    tok.save(tmp_path / "tok.json")
    assert tok.spec.digest in run("lock", tmp_path / "tok.json", "-o", place).stdout
    assert run("lock", "--check", "-o", place).stdout == "equal\tyes\nchanged\tnothing\n"
    tok.with_(normalizer="nfc").save(tmp_path / "tok.json")
    result = CliRunner().invoke(main, ["lock", "--check", "-o", str(place)])
    assert (result.exit_code, result.stdout) == (1, "equal\tno\nchanged\tnormalizer\n")
    result = CliRunner().invoke(main, ["lock", "--check", "-o", str(place), "--json"])
    assert json.loads(result.stdout)["changed"] == ["normalizer"]
    assert json_of("lock", tmp_path / "tok.json", "-o", place)["vocabulary"] == 270
    assert run("lock", "--check", "-o", place, "-q").exit_code == 0
    assert "expected TOKENIZER" in run("lock", code=2).stderr


PAIRS = (
    # Files of one tokenizer in two formats, and the parts that the formats describe differently.
    ("bert/bert-base-uncased-tokenizer.json", "bert/bert-base-uncased-vocab.txt", set()),
    ("gpt2/tokenizer.json", "gpt2/vocab.json", {"added_tokens", "model", "decoder", "template", "roles"}),
    (
        "converted/cl100k_base.tokenizer.json",
        "tiktoken/cl100k_base.tiktoken",
        {"splitter", "merges", "decoder", "model"},
    ),
)


@pytest.mark.parametrize(("one", "two", "parts"), PAIRS)
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
def test_real_files_in_two_formats(shared_data: Path, tmp_path: Path, one: str, two: str, parts: set[str]) -> None:
    a, b = (subwords.load(shared_data / "tokenizers" / name) for name in (one, two))
    found = changed(tmp_path, a, b)
    assert (found == ()) == (a.spec.digest == b.spec.digest)
    assert "vocabulary" not in found
    assert {*found} <= parts
