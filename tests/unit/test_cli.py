"""The commands `train` and `count`, and the rules of all commands: options, output, exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import json_of, run
from subwords import Tokenizer, WordCounts

# --- help


def test_version_is_the_package_s() -> None:
    assert run("--version").stdout == f"subwords, version {subwords.__version__}\n"


# --- train


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--splitter", r"\w+|\W"], {"splitter": r"\w+|\W"}),
        (["--special-token", "<s>", "--special-token", "<e>"], {"special_tokens": ["<s>", "<e>"]}),
        (["--special-token", "<s>", "--unk-token", "<s>"], {"special_tokens": ["<s>"], "unk_token": "<s>"}),
        (["--character-level"], {"byte_level": False}),
        (["--alphabet", "corpus"], {"alphabet": "corpus"}),
        (["--tie-break", "first"], {"tie_break": "first"}),
        (["--min-frequency", "20"], {"min_frequency": 20}),
        (["--max-token-length", "3"], {"max_token_length": 3}),
        (["--limit-alphabet", "5"], {"limit_alphabet": 5}),
        (["--documents", "line"], {"reading": subwords.Reading(documents="line")}),
        (["--errors", "replace", "--threads", "2", "--quiet"], {"reading": subwords.Reading(errors="replace")}),
    ],
)
def test_train_passes_its_options_on(
    arguments: Sequence[str], options: dict[str, Any], corpus_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "got.json"
    summary = run("train", corpus_path, "--vocab-size", 280, "-o", out, *arguments).stdout
    subwords.train(corpus_path, vocab_size=280, **options).save(tmp_path / "ref.json")
    assert out.read_bytes() == (tmp_path / "ref.json").read_bytes()
    assert (summary == "") == ("--quiet" in arguments)


def test_train_says_what_it_counted_and_learned(corpus_path: Path, tmp_path: Path) -> None:
    got = json_of("train", corpus_path, "--vocab-size", 280, "-o", tmp_path / "tok.json")
    assert got.pop("seconds") > 0
    counts = subwords.count(corpus_path)
    ref = {"words": counts.total, "distinct": len(counts), "tokens": 280, "merges": 24}
    assert got == {**ref, "saved": str(tmp_path / "tok.json")}
    plain = run("train", corpus_path, "--vocab-size", 280, "-o", tmp_path / "tok.json").stdout
    assert dict(line.split("\t") for line in plain.splitlines()).keys() == {*got, "seconds"}


def test_train_in_shards_and_bounded_memory_leaves_only_the_tokenizer(corpus_path: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    run("train", corpus_path, "--vocab-size", 280, "-o", tmp_path / "one.json")
    for how in (["--workers", 2], ["--memory", "64GB"]):
        run("train", corpus_path, "--vocab-size", 280, *how, "-o", tmp_path / "out/tok.json")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["tok.json"]
        assert (tmp_path / "out/tok.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    run("train", corpus_path, "--vocab-size", 280, "--workers", 2, "--keep-parts", "-o", tmp_path / "out/tok.json")
    assert (tmp_path / "out/tok.json.counts").exists()


def test_ranks_say_what_they_wait_for(corpus_path: Path, tok_path: Path, tmp_path: Path) -> None:
    first, last = ("--shard-bytes", 50, "--rank", 0, "--world-size", 2), ("--rank", 1, "--world-size", 2)
    count = ["count", corpus_path, "--documents", "line", "-o", tmp_path / "x.counts"]
    encode = ["tokens", tok_path, corpus_path, "--documents", "line", "--format", "npy", "-o", tmp_path / "x.npy"]
    for command in (count, encode):
        assert run(*command, *first).stdout == "rank\t0\nsaved\tnot yet: waiting for other ranks\n"
        assert json_of(*command, *first) == {"rank": 0, "saved": None}
        assert run(*command, *first, "--quiet").stdout == ""
        assert json_of(*command, *first[:2], *last)["saved"] == str(command[-1])


def test_train_that_runs_out_of_pairs_says_so_on_standard_error(corpus_path: Path, tmp_path: Path) -> None:
    result = run("train", corpus_path, "--vocab-size", 5000, "-o", tmp_path / "tok.json")
    warning = "subwords: warning: fewer tokens than asked for: 285 instead of 5000; no pair is left to merge. "
    assert result.stderr == f"{warning}Train on more text, or lower --vocab-size\n"
    assert run("train", corpus_path, "--vocab-size", 5000, "-o", tmp_path / "tok.json", "-q").stderr == ""


@pytest.mark.parametrize("suffix", [".bin", ".txt"])
def test_train_on_counts_is_train_on_the_text(suffix: str, corpus_path: Path, tmp_path: Path) -> None:
    how = ["--splitter", r"\S+|\s", "--special-token", "<s>"]
    run("train", corpus_path, "--vocab-size", 280, "-o", tmp_path / "ref.json", *how)
    counts = tmp_path / f"counts{suffix}"
    run("count", corpus_path, "-o", counts, *how)
    # The splitter is the one that made the counts.
    run("train", counts, "--vocab-size", 280, "-o", tmp_path / "got.json", "--special-token", "<s>")
    assert (tmp_path / "got.json").read_bytes() == (tmp_path / "ref.json").read_bytes()


# --- count


@pytest.mark.parametrize("suffix", ["", ".bin"])
def test_count_writes_what_the_library_counts(suffix: str, corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / f"counts{suffix}"
    got = json_of("count", corpus_path, "-o", out, "--special-token", "<s>", "--documents", "line")
    ref = subwords.count(corpus_path, special_tokens=["<s>"], reading=subwords.Reading(documents="line"))
    assert list(WordCounts.load(out)) == list(ref)
    assert WordCounts.load(out).provenance == ref.provenance
    assert (got["words"], got["distinct"], got["saved"]) == (ref.total, len(ref), str(out))


def test_count_adds_counts_up(tmp_path: Path) -> None:
    texts = ["a b b", "c b", "a d"]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt").write_text(text)
        run("count", tmp_path / f"{i}.txt", "-o", tmp_path / f"{i}.bin")
    files = [tmp_path / f"{i}.bin" for i in range(3)]
    for count in (1, 2, 3):
        run("count", "--add", *files[:count], "-o", tmp_path / "sum.bin")
        assert list(WordCounts.load(tmp_path / "sum.bin")) == list(subwords.count(texts[:count]))
    run("count", "--add", *files, "-o", files[0])
    assert list(WordCounts.load(files[0])) == list(subwords.count(texts))


def test_count_refuses_counts_as_text_and_options_for_text_with_counts(corpus_path: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a.bin", tmp_path / "b.bin"
    run("count", corpus_path, "-o", a)
    run("count", corpus_path, "-o", b, "--splitter", "x")
    assert "--add" in run("count", a, "-o", tmp_path / "c.bin", code=2).stderr
    assert "--splitter" in run("count", "--add", a, "-o", tmp_path / "c.bin", "--splitter", "x", code=2).stderr
    assert "--special" in run("count", "--add", a, "-o", tmp_path / "c.bin", "--special-token", "x", code=2).stderr
    assert f"{b}: " in run("count", "--add", a, b, "-o", tmp_path / "c.bin", code=1).stderr
    assert "corpus.txt" in run("count", "--add", a, corpus_path, "-o", tmp_path / "c.bin", code=1).stderr
    assert not (tmp_path / "c.bin").exists()


# --- every command


def test_warmup_says_how_long_it_took() -> None:
    assert json_of("warmup").keys() == {"seconds"}
    assert json_of("warmup", "demo").keys() == {"seconds", "cache"}


def test_doctor_says_what_is_there() -> None:
    found = json_of("doctor")
    assert found["ok"] and all(check["ok"] for check in found["checks"].values())
    assert f"subwords {subwords.__version__}" in found["checks"]["packages"]["found"]
    assert "are right" in found["checks"]["self test"]["found"]
    assert "For a report:\nall is well; python: " in run("doctor").stdout


def test_doctor_shows_no_name_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for home, folder, shown in (
        (tmp_path, tmp_path / "c", "~/c, "),
        (tmp_path, tmp_path.with_name(f"{tmp_path.name}a"), f"{tmp_path}a, "),
        (Path("/"), tmp_path / "c", f"{tmp_path}/c, "),
    ):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(folder))
        assert json_of("doctor")["checks"]["cache"]["found"].startswith(shown)


def test_doctor_says_what_is_wrong_and_all_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise ImportError('broken on purpose')")
    paths = os.pathsep.join([str(tmp_path), str(Path(subwords.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "SUBWORDS_CACHE_DIR": str(tmp_path / "file")}
    command = [sys.executable, "-m", "subwords", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    rows = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert [name for state, name, _ in rows if state == "FAILED"] == ["cache", "self test"]
    assert rows[-1][2] == "ImportError: broken on purpose"
    assert "not well; python: " in done.stdout


def test_json_holds_the_results_or_where_they_are(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    ids = tok.encode("é low")
    got = json_of("encode", tok_path, "--text", "é low", "--text", "", "--tokens")
    assert got == {"texts": 2, "total": len(ids), "ids": [ids, []], "tokens": [tok.tokenize("é low"), []]}
    got = json_of("encode", tok_path, "--text", "é low", "-o", tmp_path / "ids.txt")
    assert got == {"texts": 1, "total": len(ids), "saved": str(tmp_path / "ids.txt")}
    assert json_of("decode", tok_path, tmp_path / "ids.txt") == {"texts": 1, "bytes": 6, "text": ["é low"]}
    got = json_of("decode", tok_path, tmp_path / "ids.txt", "-o", tmp_path / "text")
    assert got == {"texts": 1, "bytes": 6, "saved": str(tmp_path / "text")}


@pytest.mark.parametrize(
    ("settings", "code"), [(["--unk-token", "?"], 2), (["--splitter", "("], 1), (["--special-token", ""], 2)]
)
def test_train_settings_that_cannot_be_used_fail_before_the_work(
    settings: list[str], code: int, corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subwords.training.count.count_blocks", lambda *_, **__: pytest.fail("the work was begun"))
    run("train", corpus_path, "--vocab-size", 300, "-o", tmp_path / "x.json", *settings, code=code)


@pytest.mark.parametrize(
    "act",
    [
        lambda bad, tok, out: ["train", bad, "--vocab-size", 300, "-o", out],
        lambda bad, tok, out: ["count", bad, "-o", out],
        lambda bad, tok, out: ["decode", tok, bad, "-o", out],
        lambda bad, tok, out: ["encode", tok, "--text", "<s>", "--special", "error", "-o", out],
    ],
)
def test_failure_leaves_the_old_file_and_no_other(
    act: Callable[[Path, Path, Path], list[object]], tok_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.txt").write_bytes(b"text \xff")
    (tmp_path / "out.json").write_bytes(b"as it was")
    run(*act(tmp_path / "bad.txt", tok_path, tmp_path / "out.json"), code=1)
    assert (tmp_path / "out.json").read_bytes() == b"as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "out.json"]


# --- what saving needs is known before the work


TO_MODEL = ["--algorithm", "unigram", "--vocab-size", 38]


@pytest.mark.parametrize(
    ("name", "options", "absent", "message"),
    [
        ("x.model", TO_MODEL, "google.protobuf", '[files]"'),
        ("x.model", [*TO_MODEL, "--splitter", "gpt2"], None, "expected a splitter that SentencePiece can do without"),
        ("x.model", [*TO_MODEL, "--normalizer", "nfc"], None, "expected SentencePiece's normalizer or none"),
        (
            "x.txt",
            ["--algorithm", "wordpiece", "--vocab-size", 40, "--special-token", "[UNK]", "--special-token", "a\nb"],
            None,
            "expected tokens without line ends",
        ),
    ],
)
def test_tokenizer_that_cannot_be_saved_is_not_trained(
    name: str,
    options: list[object],
    absent: str | None,
    message: str,
    corpus_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from inside import formats_sentencepiece_read as sentencepiece_proto

    sentencepiece_proto.model_class.cache_clear()
    if absent:
        monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.setattr("subwords.training.count.count_blocks", lambda *_, **__: pytest.fail("the work was begun"))
    out = tmp_path / name
    assert message in run("train", corpus_path, *options, "-o", out, code=1).stderr
    assert not out.exists()


def test_every_option_of_train_is_on_the_command_line_and_the_other_way_round() -> None:
    import inspect
    from dataclasses import fields

    from subwords import Reading
    from subwords.cli.corpus import train
    from subwords.machine import ALGORITHMS
    from subwords.scale import Run

    options = {str(parameter.name) for parameter in train.params}
    others = {"source", "progress"}  # there: sources, character_level, quiet
    parameters = {*inspect.signature(subwords.train).parameters} - {"options"}
    parameters |= {name for family in ALGORITHMS.values() for name in family.options}
    parameters |= {field.name for field in fields(Reading)}
    assert parameters - others - {"reading"} == options - {
        *("sources", "output", "quiet", "as_json", "digits"),  # digits: in Python, of splitter
        *({field.name for field in fields(Run)} - {"memory", "threads"}),
    }


def test_train_sets_template_and_roles(corpus_path: Path, tmp_path: Path) -> None:
    target = tmp_path / "framed.json"
    arguments = [
        str(corpus_path),
        "--vocab-size",
        "300",
        "--special-token",
        "<s>",
        "--special-token",
        "<fill>",
        "-q",
        "-o",
        str(target),
    ]
    run("train", *arguments, "--template", "<s> $A", "--template", "<s> $A <s> $B:1", "--role", "pad=<fill>")
    tok = subwords.load(target)
    assert tok.encode("so", template=True)[0] == 0
    assert tok("so", "so").type_ids.tolist()[-1] == 1
    assert "ROLE=TOKEN" in run("train", *arguments, "--role", "pad", code=2).stderr
    assert "tokens that exist" in run("train", *arguments, "--role", "pad=<x>", code=1).stderr


@pytest.mark.parametrize("suffix", [".tiktoken", ".gguf"])
def test_train_writes_ranks_and_gguf(suffix: str, corpus_path: Path, tmp_path: Path) -> None:
    target = tmp_path / f"x{suffix}"
    run("train", corpus_path, "--vocab-size", 300, "-q", "--splitter", "gpt2", "-o", target)
    options: dict[str, Any] = {"splitter": "gpt2", "special_ids": {}} if suffix == ".tiktoken" else {}
    assert subwords.load(target, **options).vocab_size > 256
