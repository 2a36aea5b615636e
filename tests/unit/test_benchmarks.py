"""The benchmark harness: definitions, records, and the page made of them."""

from __future__ import annotations

import base64
import datetime
import json
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import regex

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package

from benchmarks.__main__ import main
from benchmarks.definition import TASKS, Definition, parse, read_folder
from benchmarks.engines.bytelevel import bytes_to_text, text_to_bytes
from benchmarks.engines.calls import flat
from benchmarks.engines.calls import run as run_call
from benchmarks.engines.chats import END
from benchmarks.engines.chats import run as run_chats
from benchmarks.engines.gigatoken import Gigatoken
from benchmarks.engines.growing import Again, BackOff
from benchmarks.engines.growing import run as run_growing
from benchmarks.engines.limits import run as run_limits
from benchmarks.engines.protocol import (
    ASCII_WORDS,
    Engine,
    NoSuchCallError,
    RefusedError,
    other_text,
    strings_of,
    timed_training,
)
from benchmarks.engines.regex import Regex
from benchmarks.engines.requests import run as run_requests
from benchmarks.engines.subwords import Subwords
from benchmarks.engines.tiktoken import Tiktoken
from benchmarks.engines.tokenizers import Tokenizers
from benchmarks.engines.tokenizers_rc import TokenizersRc
from benchmarks.inputs import LANGUAGES, Inputs, MissingDataError, cut
from benchmarks.page import PAGE, PICTURES, README, RECORDS, TABLES, measured, pages
from benchmarks.process import Launcher, without_folders
from benchmarks.ranks import document_of_ranks, merges_of, read_ranks
from benchmarks.record import caption, latest, save, slug
from benchmarks.report import report
from benchmarks.requests import lengths_table, options_table, requests_table
from benchmarks.run import run
from benchmarks.stats import Summary, ratio, summarize
from benchmarks.summary import SHOWN, summarized
from benchmarks.tables import number, spread, table, times
from benchmarks.verify import difference, round_trips, same_pairs
from benchmarks.wide import MOST_COLUMNS, brief_table, calls_table, encode_table

import subwords
from subwords.reference.bpe import encode_word_ranks

ROOT = Path(__file__).resolve().parents[2]
TOML = """
name = "encode"
title = "Encode"
task = "encode"
rounds = 2
oracle = ["tiktoken"]
peer = "gigatoken"
[parameters]
tokenizer = "trained"
warm = 2
[[cases]]
name = "opticks"
corpus = "opticks"
[[engines]]
name = "subwords"
[[engines]]
name = "gigatoken"
[[engines]]
name = "tiktoken"
bytes = 1000
"""


# ---------------------------------------------------------------- definitions


def test_definitions_of_the_repository_parse_and_have_a_place_on_the_page() -> None:
    found = read_folder(ROOT / "benchmarks" / "definitions")
    assert {one.task for one in found} == set(TASKS)
    assert {one.name for one in found} == {name for _, needed in TABLES.values() for name in needed}
    assert {one.name for one in found} >= set(measured())


def test_fresh_text_is_no_corpus_that_anything_is_trained_on() -> None:
    trained_on = set(LANGUAGES.split("+"))
    found = [one for one in read_folder(ROOT / "benchmarks" / "definitions") if one.task == "encode"]
    corpora = {case.corpus for one in found for case in one.cases}
    assert corpora - trained_on == {corpus for corpus in corpora if corpus.startswith("fresh/")}
    assert corpora & trained_on == {"english"}


def test_words_that_warm_an_engine_are_in_no_text() -> None:
    words = other_text().split()
    assert len(words) == len(set(words)) == ASCII_WORDS + 2500
    assert max(map(len, words)) == 12
    assert " ".join(words[:ASCII_WORDS]).isascii()
    text = (ROOT / "examples" / "opticks.txt").read_text("utf-8")
    assert not [word for word in words if word in text]
    assert other_text() == other_text()


def test_smoke_definitions_cover_every_task_without_development_data() -> None:
    found = read_folder(ROOT / "benchmarks" / "definitions" / "smoke")
    assert {one.task for one in found} == set(TASKS)
    assert {case.corpus for one in found for case in one.cases} == {"opticks"}
    assert {use.name for one in found for use in one.engines} >= {"subwords", "sentencepiece", "rustbpe"}


def test_parse_of_a_definition_gives_all_its_parts() -> None:
    got = parse(TOML, "x.toml")
    assert (got.name, got.rounds, got.oracle, got.timeout) == ("encode", 2, ("tiktoken",), 600.0)
    assert [use.bytes for use in got.engines] == [None, None, 1000]
    assert got.cases[0].bytes is None
    assert parse(TOML.replace('peer = "gigatoken"', 'peer = "fastest"'), "x.toml").peer == "fastest"
    two = parse(TOML.replace('corpus = "opticks"', 'corpus = ["english", "fresh/zh"]'), "x.toml").cases
    assert [(one.name, one.corpus) for one in two] == [("opticks, english", "english"), ("opticks, zh", "fresh/zh")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('task = "encode"', 'task = "fly"', "expected task to be one of"),
        ("rounds = 2", "rounds = 0", "at least one round"),
        ("rounds = 2", "", "a value for 'rounds'"),
        ("rounds = 2", "rounds = 2\nround = 3", "not 'round'"),
        ('peer = "gigatoken"', 'peer = "rustbpe"', "to be among the engines"),
        ('peer = "gigatoken"', 'peer = "bpe9000"', "not 'bpe9000'"),
        ('oracle = ["tiktoken"]', "oracle = []", "expected an oracle"),
        ('name = "tiktoken"', 'name = "gigatoken"', "each engine once"),
        ("[[cases]]", "[cases]", r"at least one \[\[cases\]\]"),
        ("rounds = 2", "rounds 2", "expected TOML"),
    ],
)
def test_parse_of_a_wrong_definition_says_what_was_expected(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse(TOML.replace(old, new, 1), "x.toml")
    assert str(caught.value).startswith("x.toml: ")


# ---------------------------------------------------------------- statistics and tables


def test_summarize_gives_median_and_range() -> None:
    assert summarize([5.0, 1.0, 2.0, 3.0]) == Summary(2.5, 1.0, 5.0, 4)
    assert summarize([]) is None


def test_ratio_is_apart_only_where_ranges_are() -> None:
    fast, slow, wide = summarize([1.0, 1.2]), summarize([2.0, 2.4]), summarize([1.1, 9.0])
    assert ratio(slow, fast) == (2.0, True)
    assert ratio(fast, slow) == (0.5, True)
    found = ratio(wide, fast)
    assert found is not None
    assert not found[1]
    single = summarize([1.0])
    assert ratio(summarize([3.0]), single) == (3.0, False)
    assert ratio(None, fast) is None
    assert ratio(fast, None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.0012345, "0.00123"),
        (0.5, "0.500"),
        (1.0, "1.00"),
        (9.876, "9.88"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
    ],
)
def test_number_has_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_spread_and_times_show_what_is_missing() -> None:
    assert spread(summarize([1.0, 2.0, 4.0])) == "2.00 (1.00–4.00)"
    assert spread(summarize([2.0])) == "2.00"
    assert spread(None) == times(None) == "–"
    assert times((0.5, True)) == "0.500×"
    assert times((1.5, False)) == "≈ 1.50×"


def test_table_aligns_columns_and_escapes_bars() -> None:
    got = table(["engine", "s"], [["a|b", "1.5"], ["longer name", "10.25"]])
    ref = "| engine      |     s |\n|:------------|------:|\n| a\\|b        |   1.5 |\n| longer name | 10.25 |"
    assert got == ref


def test_table_with_a_short_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 2 cells, not 1"):
        table(["a", "b"], [["1"]])


# ---------------------------------------------------------------- records and pages


def test_pages_are_those_that_the_records_make() -> None:
    records = measured()
    made = pages(records)
    assert PAGE in made
    found, others = {path.name for path in (ROOT / "benchmarks" / "results").iterdir()}, {PAGE, README, *PICTURES}
    assert found >= {path.name for path in made.keys() - others}
    if len(records) == len(read_folder(ROOT / "benchmarks" / "definitions")):  # tables go when those after them come
        assert found == {path.name for path in made.keys() - others}
        assert set(latest(RECORDS)) == set(records)
    for path, text in made.items():
        assert path.read_text("utf-8") == text, f"{path.name}: run python -m benchmarks page"


def test_page_and_records_are_short() -> None:
    assert len(PAGE.read_text("utf-8").splitlines()) <= 450
    records = [*RECORDS.rglob("*.json")]
    assert records
    assert max(path.stat().st_size for path in records) <= 60_000


def train_result(calls: list[float], name: str = "a") -> dict[str, Any]:
    runs = [{"seconds": {"call": call, "import": 0.5, "process": 2 * call}, "peak_bytes": 10**7} for call in calls]
    runs[0]["processor_seconds"] = 3 * calls[0]
    row = {"name": "subwords", "bytes": 9, "compare": True, "note": "", "whole": True, "runs": runs, "status": "ok"}
    cases = [{"name": "one", "engines": [row | {"verified": "is the oracle"}]}]
    shared = {"title": "t", "task": "train", "peer": "subwords", "rounds": len(calls), "parameters": {}}
    return {"name": name, **shared, "versions": {"x": {"python": "3.11.1"}}, "cases": cases}


@pytest.mark.parametrize(
    ("calls", "shown", "text"),
    [
        ([4.0], 4, "4.00"),
        ([4.0, 1.0], [1, 4], "2.50 (1.00–4.00)"),
        ([4.0, 1.0, 2.0], [1, 2, 4], "2.00 (1.00–4.00)"),
        ([8.0, 1.0, 2.0, 4.0, 3.0], [1, 3, 8], "3.00 (1.00–8.00)"),
    ],
)
def test_summarized_keeps_median_range_and_rounds(calls: list[float], shown: Any, text: str) -> None:
    got = summarized(train_result(calls))
    (row,) = got["cases"][0]["engines"]
    assert row["n"] == len(calls)
    assert row["values"][got["shown"].index("call")] == shown
    assert row["processors"] == 3.0
    assert "runs" not in row
    assert f" {text} |" in report(got)
    assert "- subwords: was asked for 1 thread(s) and kept 3.0 processors busy" in report(got)


def test_record_is_read_back_as_it_was_summarized(tmp_path: Path) -> None:
    ref = summarized(train_result([4.0, 1.0]))
    path = save(tmp_path, datetime.date(2026, 1, 2), "one", ref)
    assert path.parent.name.startswith("2026-01-02-")
    got = latest(tmp_path)["a"]
    assert report(got) == report(ref)
    assert {key: got[key] for key in ref} == ref
    assert (got["command"], got["date"]) == ("one", "2026-01-02")
    assert got["machine"]["processors"] >= 1


def test_latest_record_of_each_definition_counts(tmp_path: Path) -> None:
    for day, name in (1, "a"), (1, "b"), (2, "a"):
        save(tmp_path, datetime.date(2026, 1, day), f"day {day}", summarized(train_result([1.0], name)))
    assert {name: one["command"] for name, one in latest(tmp_path).items()} == {"a": "day 2", "b": "day 1"}


def test_caption_names_every_version_and_the_command() -> None:
    versions = {"x": {"python": "3.11.1", "x": "1.0"}, "y": {"python": "3.12.0"}}
    about = {"cpu": "C", "processors": 2, "system": "S"}
    command = "python -m benchmarks run"
    got = caption({"versions": versions, "rounds": 5, "date": "2026-01-02", "machine": about, "command": command})
    assert got.startswith("2026-01-02, C, 2 processors, S; python 3.11.1 and 3.12.0, x 1.0;")
    assert got.endswith("`python -m benchmarks run`")


def test_slug_is_fit_for_a_file_name() -> None:
    assert slug("AMD EPYC 7B13 64-Core Processor ") == "amd-epyc-7b13-64-core-processor"
    assert slug("()") == "unknown"


# ---------------------------------------------------------------- inputs and verification


def test_cut_keeps_whole_lines_or_whole_characters() -> None:
    assert cut(b"one\ntwo\nthree", 9) == b"one\ntwo\n"
    assert cut("aéé".encode(), 4) == "aé".encode()
    assert cut(b"abc", 0) == b""
    assert cut(b"abc", None) == cut(b"abc", 3) == b"abc"


def test_inputs_are_cut_joined_and_expand_folders(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    for folder in (data / "corpora", data / "adversarial", work):
        folder.mkdir(parents=True)
    (data / "corpora" / "english.txt").write_bytes(b"one\ntwo\n")
    (data / "adversarial" / "b.bin").write_bytes(b"\xff")
    (data / "adversarial" / "a.txt").write_bytes(b"a")
    (data / "adversarial" / "LIST.md").write_bytes(b"no input")
    inputs = Inputs(data, work, Launcher())
    assert inputs.file("english").read_bytes() == b"one\ntwo\n"
    assert inputs.file("english", 5).read_bytes() == b"one\n"
    (data / "fresh").mkdir()
    (data / "fresh" / "english.txt").write_bytes(b"new\nwords\n")
    assert inputs.file("fresh/english", 5).read_bytes() == b"new\n"
    assert inputs.file("fresh/english+english").read_bytes() == b"new\nwords\none\ntwo\n"
    assert inputs.file("fresh/english+english", 12).read_bytes() == b"new\nwords\n"
    assert inputs.file("english", 0).read_bytes() == b""
    got = inputs.cases(parse(TOML.replace('corpus = "opticks"', 'corpus = "adversarial/*"'), "x.toml"))
    assert [(case.name, inputs.file(case.corpus).read_bytes()) for case in got] == [("a.txt", b"a"), ("b.bin", b"\xff")]
    with pytest.raises(MissingDataError, match=r"no corpora/code\.txt"):
        inputs.file("code")
    with pytest.raises(MissingDataError, match="tokenizers/gpt2"):
        inputs.tokenizer("gpt2")


def test_texts_have_tokens_and_tokenizers_keep_them_where_the_name_says_so(tmp_path: Path) -> None:
    (tmp_path / "tokenizers").mkdir()
    document = {"added_tokens": [{"id": 1}], "model": {}}
    (tmp_path / "tokenizers" / "x.json").write_text(json.dumps(document))
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / "a.txt").write_bytes(b"x" * 49_999 + b"\n" + b"y" * 49_999 + b"\n" + b"z\n")
    inputs = Inputs(tmp_path, tmp_path, Launcher())
    assert json.loads(inputs.tokenizer("x").read_bytes())["added_tokens"] == []
    assert json.loads(inputs.tokenizer("x with added tokens").read_bytes()) == document
    text = inputs.file("fresh/a with <t>").read_bytes()
    assert text == (tmp_path / "fresh" / "a.txt").read_bytes()[:100_000] + b"<t>z\n"
    assert inputs.alphabet(tmp_path / "fresh" / "a.txt") == 4


def test_training_takes_the_documents_that_an_engine_has(tmp_path: Path) -> None:
    class Lines(Engine):
        documents = ("line",)
        own_alphabet = True

        def train(self, file: str, output: str, **options: Any) -> None:
            Path(output).write_text(str(options["vocab_size"]))

    job = {"file": "x", "output": str(tmp_path / "o"), "vocab_size": 300, "special_tokens": [], "threads": 1}
    timed_training(Lines(None), job | {"documents": "line", "alphabet": 100})
    assert (tmp_path / "o").read_text() == "144"
    with pytest.raises(RefusedError, match="takes no line as a document"):
        timed_training(Engine(None), job | {"documents": "line", "alphabet": 100})
    with pytest.raises(RefusedError, match="takes no file as a document"):
        timed_training(Lines(None), job)


def test_strings_of_are_spread_and_of_one_length() -> None:
    got = strings_of("".join(map(chr, range(100, 400))), 10, 20)
    assert [len(one) for one in got] == [20] * 10
    assert len(set(got)) == 10
    with pytest.raises(ValueError, match="expected a text of more than"):
        strings_of("short", 10, 20)


def test_bytelevel_letters_and_bytes_are_one_to_one() -> None:
    every = bytes(range(256))
    assert len(set(bytes_to_text(every))) == 256
    assert text_to_bytes(bytes_to_text(every)) == every
    with pytest.raises(UnicodeEncodeError):
        text_to_bytes("日")


def test_difference_of_ids_names_the_place(tmp_path: Path) -> None:
    for name, ids in {"a": [1, 2, 3], "b": [1, 9, 3], "c": [1, 2]}.items():
        np.save(tmp_path / f"{name}.npy", np.array(ids, np.uint32))
    a, b, c = (tmp_path / f"{name}.npy" for name in "abc")
    assert difference(a, a) is None
    assert difference(b, a) == "different ids at 1: 9, not 2"
    assert difference(c, a) == "different ids: 2, not 3"


def test_difference_of_merges_reads_both_ways_of_writing_them(tmp_path: Path) -> None:
    for name, merges in {"a": ["a b", "ab c"], "b": [["a", "b"], ["ab", "c"]], "c": [["a", "b"], ["ab", "d"]]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"model": {"merges": merges}}), "utf-8")
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    assert difference(b, a) is None
    assert difference(c, a) == "different merges at 1: ab d, not ab c"


def test_round_trips_only_where_ids_spell_the_input(tmp_path: Path) -> None:
    text, ids, tokenizer = tmp_path / "t", tmp_path / "i.npy", tmp_path / "t.json"
    text.write_bytes(b"\xff a")
    tokenizer.write_text(
        json.dumps({"model": {"vocab": {bytes_to_text(b"\xff"): 0, bytes_to_text(b" a"): 1}}}), "utf-8"
    )
    for values, ref in ([0, 1], True), ([1, 0], False), ([0, 7], False):
        np.save(ids, np.array(values, np.uint32))
        assert round_trips(ids, tokenizer, text) is ref


# ---------------------------------------------------------------- rules and ranks

SCRIPTS = (
    "It's 12,345.67 (or 3) HTTPServer_v2 at https://a.org/x?y=1 of joe@b.org\r\n\n"
    "  naïve 文字とかな한글 हिन्दी ไทย ١٢٣\t\n "
)


@pytest.mark.parametrize("folder", ["", "smoke"])
def test_rules_of_split_are_compiled_and_mean_the_same_to_both_engines(folder: str) -> None:
    (found,) = [one for one in read_folder(ROOT / "benchmarks" / "definitions" / folder) if one.name == "split"]
    assert {case.parameters["rule"] for case in found.cases} == set(found.parameters["rules"])
    data = (SCRIPTS * 3 + (ROOT / "examples" / "opticks.txt").read_text("utf-8")[:20_000] + SCRIPTS).encode()
    ours, theirs = Subwords(subwords), Regex(regex)
    for name, rule in found.parameters["rules"].items():
        splitter = ours.splitter(rule)
        assert splitter.compiled, name
        got, ref = ours.word_ends(splitter, data), theirs.word_ends(theirs.splitter(rule), data)
        assert got.tolist() == ref.tolist(), name
        assert ours.count_words(splitter, data) == len(got)
        assert theirs.count_words(theirs.splitter(rule), data) <= len(ref)


def test_words_of_gigatoken_are_those_of_gpt2_alone() -> None:
    pieces = SimpleNamespace(pretokenizer=lambda data: [data[:2], data[2:]])
    engine = Gigatoken(pieces)
    assert engine.word_ends(engine.splitter({"name": "gpt2"}), b"abc").tolist() == [2, 3]
    assert engine.count_words(engine.splitter({"name": "gpt2"}), b"abc") == 2
    with pytest.raises(RefusedError):
        engine.splitter({"name": "o200k"})


def test_words_of_regex_are_matches_and_what_lies_between() -> None:
    engine = Regex(regex)
    rule = engine.splitter({"patterns": [r"\d", "[bé]+"]})
    assert engine.word_ends(rule, "aéb1c2é".encode()).tolist() == [1, 4, 5, 6, 7, 9]
    assert engine.count_words(rule, "aéb1c2é".encode()) == 2
    assert engine.word_ends(rule, b"").tolist() == []


RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"cd": 257, b"bc": 258, b"abcd": 259, b"xyz": 260}


def test_merges_of_ranks_are_the_two_parts_that_lower_ranks_leave() -> None:
    assert list(merges_of(RANKS)) == [(b"a", b"b"), (b"c", b"d"), (b"b", b"c"), (b"ab", b"cd")]


def test_document_of_ranks_gives_the_ids_of_the_ranks(tmp_path: Path) -> None:
    lines = [base64.b64encode(token) + b" %d" % rank for token, rank in reversed(RANKS.items())]
    (tmp_path / "r.tiktoken").write_bytes(b"\n".join(lines) + b"\n")
    assert list(read_ranks(tmp_path / "r.tiktoken").items()) == list(RANKS.items())
    (tmp_path / "r.json").write_text(json.dumps(document_of_ranks(RANKS, "[a-z]+")), "utf-8")
    tok = subwords.load(tmp_path / "r.json")
    for word in ("abcd", "xyz", "bcd", "zbcx"):
        assert tok.encode(word) == encode_word_ranks(word.encode(), RANKS), word


def test_tokenizer_comes_from_any_of_three_places(tmp_path: Path) -> None:
    folder = tmp_path / "tokenizers"
    for name in ("one", "converted", "tiktoken"):
        (folder / name).mkdir(parents=True)
    (folder / "one" / "tokenizer.json").write_text(json.dumps({"added_tokens": [1], "model": {}}), "utf-8")
    (folder / "converted" / "two.tokenizer.json").write_text(json.dumps({"added_tokens": [2], "model": {}}), "utf-8")
    (folder / "tiktoken" / "three.tiktoken").write_bytes(base64.b64encode(b"a") + b" 0\n")
    (folder / "tiktoken" / "specs.json").write_text(json.dumps({"three": {"pat_str": "x+"}}), "utf-8")
    inputs = Inputs(tmp_path, tmp_path, Launcher())
    documents = [json.loads(inputs.tokenizer(name).read_bytes()) for name in ("one", "two", "three")]
    assert [document["added_tokens"] for document in documents] == [[], [], []]
    assert documents[2]["model"]["vocab"] == {"a": 0}
    assert documents[2]["pre_tokenizer"]["pretokenizers"][0]["pattern"] == {"Regex": "x+"}


def test_tiktoken_takes_the_pattern_of_the_file(tmp_path: Path) -> None:
    made = []
    library = SimpleNamespace(Encoding=lambda name, **settings: made.append(settings))
    (tmp_path / "r.json").write_text(json.dumps(document_of_ranks(RANKS, "[a-z]+")), "utf-8")
    Tiktoken(library).load(str(tmp_path / "r.json"))
    assert made == [{"pat_str": "[a-z]+", "mergeable_ranks": RANKS, "special_tokens": {}}]


# ---------------------------------------------------------------- runs


class FakeLauncher(Launcher):
    """Answers as engines would: subwords right, gigatoken with another id, tiktoken as the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def run(self, engine: str, job: Any, *, timeout: float) -> dict[str, Any]:
        if job["task"] == "prepare":
            return {"status": "ok", "versions": {engine: "1.0"}, "seconds": {}}
        self.order.append(engine)
        ids = [1, 2, 4 if engine == "gigatoken" else 3]
        np.save(job["output"], np.array(ids, np.uint32))
        seconds = {"load": 0.1, "fresh": 0.2, "warm": [0.1, 0.3]}
        return {"status": "ok", "seconds": seconds, "peak_bytes": 10**8, "digest": str(ids)}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[FakeLauncher, Inputs]:
    launcher = FakeLauncher()
    inputs = Inputs(tmp_path / "data", tmp_path, launcher)
    monkeypatch.setattr(inputs, "tokenizer", lambda name: tmp_path / name)
    return launcher, inputs


def definition_of(text: str) -> Definition:
    return parse(text, "x.toml")


def test_run_interleaves_rounds_and_drops_what_differs(fake: tuple[FakeLauncher, Inputs]) -> None:
    launcher, inputs = fake
    result = run(definition_of(TOML.replace("bytes = 1000", "rounds = 1")), inputs, launcher)
    assert launcher.order == ["subwords", "gigatoken", "tiktoken", "subwords"]
    rows = {row["name"]: row for row in result["cases"][0]["engines"]}
    assert rows["subwords"]["verified"] == "same as tiktoken"
    assert len(rows["subwords"]["runs"]) == 2
    assert rows["gigatoken"]["status"] == "n/a (different ids at 2: 4, not 3; oracle tiktoken)"
    assert rows["gigatoken"]["runs"] == []


def test_run_asks_the_oracle_about_each_slice(fake: tuple[FakeLauncher, Inputs]) -> None:
    launcher, inputs = fake
    result = run(definition_of(TOML), inputs, launcher, rounds=1)
    assert launcher.order == ["subwords", "gigatoken", "tiktoken", "tiktoken"]
    assert [row["verified"] for row in result["cases"][0]["engines"]] == ["same as tiktoken", "no", "is the oracle"]


def test_run_asks_the_oracle_anew_for_every_case(fake: tuple[FakeLauncher, Inputs]) -> None:
    launcher, inputs = fake
    second = '[[cases]]\nname = "again"\ncorpus = "opticks"\n[[engines]]\nname = "subwords"'
    text = TOML.replace('[[engines]]\nname = "subwords"', second)
    run(definition_of(text), inputs, launcher, rounds=1)
    assert launcher.order == 2 * ["subwords", "gigatoken", "tiktoken", "tiktoken"]


def test_split_report_names_rates_and_words() -> None:
    def row(name: str, warm: float, status: str, verified: str) -> dict[str, Any]:
        seconds = {"build": 0.25, "rebuild": 0.001, "cold": 2 * warm, "warm": [warm]}
        runs = [{"seconds": seconds, "peak_bytes": 1}, {"seconds": seconds, "peak_bytes": 1}] if status == "ok" else []
        shared = {"bytes": 10**6, "whole": True, "note": "", "compare": True, "verified": verified}
        return {"name": name, "status": status, "runs": runs, **shared}

    wrong = row("gigatoken", 0.02, "n/a (different words at 3: 1, not 2; oracle regex)", "no")
    rows = [row("subwords", 0.002, "ok", "same as regex"), row("regex", 0.5, "ok", "is the oracle"), wrong]
    cases = [{"name": "one", "engines": rows}]
    result = {"name": "s", "title": "t", "task": "split", "peer": "regex", "parameters": {}, "cases": cases}
    got = report(summarized(result))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in got.splitlines() if line.startswith("|")]
    assert lines[0][-1] == "words"
    assert lines[2][3:] == ["250 (250–250)", "500 (500–500)", "250×", "250×", "same as regex"]
    assert lines[3][3:] == ["1.00 (1.00–1.00)", "2.00 (2.00–2.00)", "1", "1", "is the oracle"]
    assert lines[4][1:] == 6 * ["n/a"] + ["n/a (different words at 3: 1, not 2; oracle regex)"]


def test_report_shows_losers_and_missing_engines(fake: tuple[FakeLauncher, Inputs]) -> None:
    launcher, inputs = fake
    got = report(summarized(run(definition_of(TOML), inputs, launcher)))
    lines = {line.split("|")[1].strip(): line for line in got.splitlines() if line.startswith("| ")}
    assert "different ids at 2" in lines["gigatoken"]
    assert "n/a" in lines["gigatoken"]
    assert "same as tiktoken" in lines["subwords"]
    assert any(name.startswith("tiktoken, first 0.00") for name in lines)


def adversarial_row(name: str, cold: float, warm: float, status: str = "ok") -> dict[str, Any]:
    seconds = {"cold": cold, "warm": [warm]}
    runs = [{"bytes": 2000, "seconds": seconds, "baseline": {"bytes": 1000, "cold": 0.001, "warm": [0.0005]}}]
    return {"name": name, "status": status, "bytes": 2000, "note": "", "runs": runs if status == "ok" else []}


def test_adversarial_report_names_what_is_over_the_limit() -> None:
    wrong = adversarial_row("gigatoken", 0, 0, "n/a (different ids at 3: 1, not 2; oracle tiktoken)")
    cases = [
        {"name": "fine.txt", "engines": [adversarial_row("subwords", 0.004, 0.001), wrong]},
        {
            "name": "hard.txt",
            "engines": [adversarial_row("subwords", 0.03, 0.001), adversarial_row("gigatoken", 0.002, 0.1)],
        },
    ]
    parameters = {"smallest": 1000, "limit": 10, "worst": 1}
    result = {"name": "a", "title": "t", "task": "adversarial", "parameters": parameters, "cases": cases}
    got = report(summarized(result))
    assert "all files within 10 times English: no: hard.txt." in got
    cells = ["hard.txt", "15,000 (15.0×)", "500 (1.00×)", "1,000 (1.00×)", "50,000 (100×)"]
    assert "| fine.txt" not in got
    assert "- gigatoken, fine.txt: n/a (different ids at 3: 1, not 2; oracle tiktoken)" in got
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in got.splitlines() if line.startswith("|")]
    assert cells in rows
    assert rows[2] == ["subwords", "2", "1", "2", "15.0×", "1.00×", "0", "0"]
    assert rows[3] == ["gigatoken", "1", "1", "0", "1.00×", "100×", "1", "0"]


def test_peer_that_is_the_fastest_is_found_for_each_case_and_column() -> None:
    def row(name: str, fresh: float, again: float, compare: bool = True) -> dict[str, Any]:
        runs = [{"seconds": {"load": 1.0, "fresh": fresh, "warm": [again]}, "peak_bytes": 1}] * 2
        shared = {"bytes": 10**6, "whole": True, "note": "", "compare": compare, "verified": "same", "status": "ok"}
        return {"name": name, "runs": runs, **shared}

    rows = [row("subwords", 1, 1), row("gigatoken", 2, 8), row("tiktoken", 4, 4), row("rustbpe", 0.1, 0.1, False)]
    cases = [{"name": "one", "engines": rows}]
    result = {"name": "e", "title": "t", "task": "encode", "peer": "fastest", "parameters": {}, "cases": cases}
    kept = summarized(result)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report(kept).splitlines() if line[:1] == "|"]
    assert lines[0][3:5] == ["fresh, times the fastest other", "remembered, times the fastest other"]
    assert [line[3:5] for line in lines[2:]] == [["2.00×", "4.00×"], ["1", "0.500×"], ["0.500×", "1"], ["–", "–"]]
    wide = encode_table(kept).splitlines()[2]
    assert [cell.strip() for cell in wide.split("|")[1:4]] == ["one", "1.00 (1.00–1.00)", "2.00×"]
    brief = brief_table([kept], ["X"]).splitlines()[2]
    assert [cell.strip() for cell in brief.split("|")[3:5]] == ["2.00×", "0.500 (0.500–0.500), gigatoken"]
    again = encode_table(kept).splitlines()[-1]
    assert [cell.strip() for cell in again.split("|")[2:5]] == [
        "1.00 (1.00–1.00)",
        "4.00×",
        "0.250 (0.250–0.250), tiktoken",
    ]


# ---------------------------------------------------------------- calls


class FakeEngine(Engine):
    """Encodes characters, and has two calls."""

    reads = (".json",)

    def load(self, path: str) -> Any:
        return []

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return np.array([*map(ord, data.decode())], np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return [*map(ord, text)]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Any]:
        def encode(text: str) -> list[int]:
            tokenizer.append(text)
            return [ord(text[0]), *([len(tokenizer)] if self.library == "forgets" else [])]

        return {"encode": encode, "decode_batch": lambda lists: ["".join(map(chr, ids)) for ids in lists]}


JOB = {"tokenizer": "x.json", "threads": 1, "count": 3, "length": 2, "warm": 2, "enough": 9.0, "of": "lines"}


def test_calls_time_a_new_object_and_then_the_same_again(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("abcdefghijk", "utf-8")
    job = JOB | {"file": str(tmp_path / "text"), "output": str(tmp_path / "ids.npy")}
    answer = run_call(FakeEngine(None), job | {"call": "encode"})
    assert len(answer["seconds"]["again"]) == 2
    assert answer["seconds"]["fresh"] > 0
    assert np.load(job["output"]).tolist() == [3, 1, ord("a"), 1, ord("d"), 1, ord("g")]
    answer = run_call(FakeEngine(None), job | {"call": "decode_batch", "of": "batch", "fresh": False})
    assert set(answer["seconds"]) == {"again"}
    assert np.load(job["output"]).tolist() == flat([["ab", "de", "gh"]]).tolist()
    for cold in "load", "first_pass":
        answer = run_call(FakeEngine(None), job | {"call": cold})
        assert 0 < answer["seconds"]["fresh"] < answer["seconds"]["total"]
    with pytest.raises(NoSuchCallError, match="has no spans"):
        run_call(FakeEngine(None), job | {"call": "spans"})
    with pytest.raises(NoSuchCallError, match=r"does not load \.model"):
        run_call(FakeEngine(None), job | {"call": "load", "tokenizer": "x.model"})
    with pytest.raises(RuntimeError, match="another result than the first"):
        run_call(FakeEngine("forgets"), job | {"call": "encode"})


@pytest.mark.parametrize("new", [False, True])
def test_requests_are_met_once_and_have_a_cost_for_each_size(tmp_path: Path, new: bool) -> None:
    text = "".join(chr(0x4E00 + place) for place in range(20_000))  # three bytes a letter, no letter twice
    (tmp_path / "text").write_text(text, "utf-8")
    objects: list[list[str]] = []

    class Remembers(FakeEngine):
        def load(self, path: str) -> Any:
            objects.append([])
            return objects[-1]

        def calls(self, tokenizer: Any, threads: int) -> dict[str, Any]:
            return super().calls(tokenizer, threads) | {"array": lambda text: [0]}

    job = {"file": str(tmp_path / "text"), "output": str(tmp_path / "ids.npy"), "tokenizer": "x.json", "new": new}
    job |= {"sizes": [1_001, 4_000], "least": 12_000, "texts": 2, "call": "encode"}
    answer = run_requests(Remembers(None), job)
    assert set(answer["seconds"]) == {"1001", "4000", "1001 wall", "4000 wall"}
    assert min(answer["seconds"].values()) > 0
    met = [one for each in objects for one in each if one in text]
    assert "".join(met) == text[: sum(map(len, met))]
    assert [*map(len, met)] == [333] * 19 + [1333] * 5
    assert len(objects) == (3 if new else 1)
    blocks = [flat([[ord(one[0])] for one in some]) for some in (met[:19], met[19:])]
    assert np.load(job["output"]).tolist() == np.concatenate(blocks).tolist()
    with pytest.raises(ValueError, match="expected a text of at least"):
        run_requests(Remembers(None), job | {"least": 10**6})
    with pytest.raises(NoSuchCallError, match="has no count"):
        run_requests(Remembers(None), job | {"call": "count"})
    assert "4000 encode" in run_requests(Remembers(None), job | {"also": "encode"})["seconds"]
    with pytest.raises(RuntimeError, match="another result than the first"):
        run_requests(Remembers(None), job | {"also": "array"})


LISTS = ("1000 encode", "4000 encode")


def test_requests_tables_show_losses_and_what_they_come_to() -> None:
    def result(name: str, costs: dict[str, list[float]], own: float = 1.0) -> dict[str, Any]:
        def row(engine: str, scale: list[float]) -> dict[str, Any]:
            seconds = dict(zip(("300", "1000", "4000"), scale, strict=True)) | {
                "1000 encode": 30.0,
                "4000 encode": 30.0,
            }
            runs = [{"seconds": seconds, "peak_bytes": 1}] * 2
            shared = {"bytes": 9, "whole": True, "note": "", "compare": True, "verified": "same", "status": "ok"}
            return {"name": engine, "runs": runs, **shared}

        ours = [own * cost for cost in (20.0, 10.0, 12.0)]
        cases = [{"name": case, "engines": [row("subwords", ours), row("x", cost)]} for case, cost in costs.items()]
        about = {"task": "requests", "peer": "fastest", "title": "t", "parameters": {"sizes": [300, 1000, 4000]}}
        return summarized({"name": name, "cases": cases, **about})

    def cells(text: str) -> list[list[str]]:
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]

    costs = {"T, en": [10.0, 20.0, 24.0], "U, en": [40.0, 40.0, 36.0]}
    got = cells(requests_table([result("requests", costs), result("requests_lists", costs, 2.0)]))
    assert got[2][1:4] == ["**0.500**, en 0.3 KB", "2.00", "1 of 3"]
    assert got[3][4:] == ["1.00, en 0.3 KB", "1.50", "0 of 3"]
    assert got[4][:3] == ["all", "**0.500**, en 0.3 KB", "2.00"]
    assert got[7] == ["T, en", "**0.500** / **0.250**", "2.00 / ≈1.00", "2.00 / ≈1.00"]
    assert cells(options_table(result("o", {"T, count, en": costs["T, en"]})))[2] == ["T, en", "**0.500** / 2.00"]
    found = cells(lengths_table(result("l", {"T, en": costs["T, en"]})))
    assert found[2][:3] == ["T, en", "20.0", "10.0"]
    assert found[2][-2:] == ["**1.20** (4 KB over 1 KB) / 1.00 (4 KB over 1 KB)", "2.75, at most 3.00"]


class FakeChats(FakeEngine):
    """Each character is an id; "<" is a control token. With `library` "trusts", what a message says is one too."""

    def chat(self, job: dict[str, Any], template: str) -> dict[str, Any]:
        def encoded(messages: Any, options: Any) -> list[int]:
            if template == "refuses":
                raise RefusedError("no")
            body = [[1, *map(ord, each["content"])] for each in messages]
            return [7 if self.library == "trusts" and index == ord("<") else index for row in body for index in row]

        def mask(messages: Any) -> tuple[list[int], list[bool]]:
            ids = [encoded([each], {}) for each in messages]
            marks = [[each["role"] == "assistant"] * len(row) for each, row in zip(messages, ids, strict=True)]
            return [*chain.from_iterable(ids)], [*chain.from_iterable(marks)]

        return {
            "ids": encoded,
            "mask": mask,
            "decode": lambda ids: "".join(map(chr, ids)),
            "history": lambda messages: encoded(messages, {}),
            "append": lambda before, ids, said, then: [*before, *ids, *encoded([then], {})],
        }


@pytest.mark.parametrize(("library", "injected"), [(None, 0), ("trusts", 1)])
def test_chats_are_counted_and_timed(tmp_path: Path, library: str | None, injected: int) -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    data = {
        "templates": {"x": "", "y": "refuses", "z": "{% generation %}"},
        "plain": [[said, {}], [said[:1], {}]],
        "hostile": [[[{"role": "user", "content": "<a>"}], {}]],
        "masked": said,
        "control_ids": [1, 7],
        "letters": [98],
    }
    (tmp_path / "text").write_text("abcdefghijk" * 9, "utf-8")
    job = {"chats": str(tmp_path / "chats"), "file": str(tmp_path / "text"), "output": str(tmp_path / "ids.npy")}
    for templates in (["x", "y", "z"], ["x"]):
        chosen = {**data, "templates": {name: data["templates"][name] for name in templates}}  # type: ignore[index]
        (tmp_path / "chats").write_text(json.dumps(chosen), "utf-8")
        answer = run_chats(FakeChats(library), job | {"messages": 5, "length": 4, "passes": 2})
        counts, most = answer["counts"], len(templates)
        assert (counts["pairs"], counts["rendered"]) == (2 * most, 2 * min(most, 2))
        assert (counts["hostile"], counts["injected"]) == (min(most, 2), min(most, 2) * injected)
        assert (counts["replies"], counts["masks"], counts["marked"]) == (1, 1, int(most > 1))
        assert (counts["answers"], counts["kept"]) == (min(most, 2), min(most, 2))
        assert set(answer["seconds"]) == (set() if most > 1 else {"ids", "append_short", "append_long"})
    assert np.load(job["output"]).tolist() == [1, ord("a"), 1, ord("b"), END, 1, ord("a"), END]
    np.save(tmp_path / "other.npy", np.array([1, END, 1, ord("a"), END], np.uint32))
    assert same_pairs(tmp_path / "other.npy", Path(job["output"]), END) == "1 of 2 the same"


def test_conversations_of_the_repository_are_read(tmp_path: Path) -> None:
    definition = next(one for one in read_folder(ROOT / "benchmarks" / "definitions" / "smoke") if one.task == "chat")
    inputs = Inputs(tmp_path, tmp_path, Launcher())
    found = inputs.chats({**definition.parameters, "tokenizer": "trained"})
    data = json.loads(Path(found["chats"]).read_text("utf-8"))
    assert len(data["templates"]) == 20
    assert (len(data["plain"]), len(data["hostile"])) == (7, 4)
    tok = subwords.load(found["tokenizer"])
    assert {tok.token_to_id(name) for name in ("<|im_end|>", "[INST]", "</s>")} <= {*data["control_ids"]}
    assert [tok.id_to_token(index) for index in data["letters"]] == [*"rays"]


def test_flat_results_are_equal_where_their_values_are() -> None:
    assert flat([[1, 2], []]).tolist() == flat([np.array([1, 2]), np.array([])]).tolist() == [2, 2, 1, 2, 0]
    assert flat([[1], [2]]).tolist() != flat([[1, 2]]).tolist()
    assert flat(["é", 7][:1]).tolist() == [1, 2, 0xC3, 0xA9]
    assert flat([3, 4]).tolist() == [2, 3, 4]


def test_two_libraries_of_one_name_are_told_by_their_version() -> None:
    for kind, version in (TokenizersRc, "0.23.3"), (Tokenizers, "1.0.0-rc.3"):
        with pytest.raises(ModuleNotFoundError, match="is another engine here") as caught:
            kind(SimpleNamespace(__version__=version))
        assert caught.value.name == "tokenizers"
        kind(SimpleNamespace(__version__="1.0" if kind is TokenizersRc else "0.23"))


def test_calls_table_has_a_dash_for_a_call_that_is_not_there() -> None:
    def row(name: str, again: float, status: str = "ok") -> dict[str, Any]:
        runs = [{"seconds": {"fresh": 2 * again, "again": [again]}, "peak_bytes": 1}] if status == "ok" else []
        shared = {"bytes": 10**6, "whole": True, "note": "", "compare": True, "verified": "same", "status": status}
        return {"name": name, "runs": runs, **shared}

    rows = [row("subwords", 1e-6), row("gigatoken", 3e-6), row("tiktoken", 0, "no such call")]
    wrong = [row("subwords", 1e-6), row("gigatoken", 0, "n/a (different ids)")]
    cases = [{"name": "call, µs", "engines": rows}, {"name": "other, ms", "engines": wrong}]
    result = {"name": "c", "title": "t", "task": "calls", "peer": "fastest", "parameters": {}, "cases": cases}
    got = calls_table([summarized(result)])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in got.splitlines() if line[:1] == "|"]
    assert lines[2] == ["call, µs", "2.00 / 1.00", "≈ 3.00× / ≈ 3.00×", "6.00 / 3.00", "–"]
    assert lines[3] == ["other, ms", "0.00200 / 0.00100", "– / –", "n/a", ""]
    assert "gigatoken, other, ms: n/a (different ids)" in got


# ---------------------------------------------------------------- texts that grow


def test_backing_off_encodes_the_end_and_checks_it() -> None:
    def spans(text: str) -> tuple[Any, Any]:
        """Pairs of equal letters are an id each, from the left; so it depends on the place of a cut."""
        starts, at = list[int](), 0
        while at < len(text):
            starts.append(at)
            at += 2 if text[at : at + 2] in ("aa", "bb") else 1
        ends = [*starts[1:], len(text)]
        return np.array([int.from_bytes(text[a:b].encode()) for a, b in zip(starts, ends, strict=True)]), np.array(
            starts
        )

    asked = list[str]()
    backing = BackOff(lambda text: spans(text)[0], lambda text: (asked.append(text), spans(text))[1])
    version = backing.append(backing.begin("x" * 20 + "aab"), "bc")
    assert version.ids.tolist() == spans("x" * 20 + "aabbc")[0].tolist()
    assert asked == ["x" * 20 + "aab", "x" * 6 + "aabbc"]
    assert version.starts.tolist() == spans(version.text)[1].tolist()
    other = backing.begin("a" * 9)._replace(ids=np.array([1] * 9), starts=np.arange(9))  # ids that are not its own
    assert backing.tail(other, "a") is None
    unchecked = backing.tail(other, "a", check=False)
    assert unchecked is not None
    assert len(unchecked.ids) == 6
    assert backing.append(other, "a").ids.tolist() == spans("a" * 10)[0].tolist()
    assert backing.cache()("aab").tolist() == spans("aab")[0].tolist()


def test_texts_that_grow_are_compared_before_they_are_timed(tmp_path: Path) -> None:
    class Wrong(Again):
        is_whole = False

        def ids(self, version: Any) -> Any:
            return [*version.ids, 0]

    class Grows(FakeEngine):
        def grower(self, tokenizer: Any) -> Again:
            return (Wrong if self.library == "wrong" else Again)(lambda text: self.encode_list(tokenizer, text))

    (tmp_path / "text").write_text("abcde fghi " * 11_000, "utf-8")
    job = {"file": str(tmp_path / "text"), "tokenizer": "x.json", "enough": 0.0, "output": str(tmp_path / "ids.npy")}
    answer = run_growing(Grows(None), job)
    assert set(answer["seconds"]) == {
        *("append", "thousand", "chat", "chat_once", "hit", "new"),
        *("fresh_append", "fresh_thousand", "fresh_chat", "fresh_once"),
    }
    assert np.load(job["output"])[:3].tolist() == [ord("a"), ord("b"), ord("c")]
    with pytest.raises(RuntimeError, match="an append gave other ids than the whole text"):
        run_growing(Grows("wrong"), job)


def test_limits_of_a_tokenizer_are_proved_and_reached(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low lower lowest " * 200, "utf-8")
    subwords.train(["low lower lowest"], vocab_size=270).save(tmp_path / "t.json")
    job = {"file": str(tmp_path / "text"), "tokenizer": str(tmp_path / "t.json"), "count": 4}
    counts = run_limits(Subwords(subwords), job | {"what": "places"})["counts"]
    assert counts["over"] == 0
    assert 0 < counts["needed_most"] <= counts["open_most"] <= 3
    totals = run_limits(Subwords(subwords), job | {"what": "totals"})["counts"]
    assert totals["letter_end_16384"] < 3
    with pytest.raises(NoSuchCallError):
        run_limits(FakeEngine(None), job)


def full_record(definition: Definition) -> dict[str, Any]:
    """What a run of a definition gives where everything went well."""
    names = (*SHOWN[definition.task], "process")
    one = dict.fromkeys(names, 0.5) | {"warm": [0.5], "cold": 0.5, "fresh": 0.5}
    one |= dict.fromkeys(("thousand", "fresh_once", "chat_once", "new", "whole"), 0.25)
    one |= dict.fromkeys(("fresh_append", "fresh_thousand", "fresh_stream", "fresh_whole"), 0.25)
    runs = [{"seconds": one, "peak_bytes": 1, "bytes": 1, "baseline": one | {"bytes": 1}, "resident_bytes": {"new": 1}}]
    runs[0] |= {"counts": dict.fromkeys(SHOWN["limits"], 2), "bytes_per_id": {"version": 8.0}}
    cases = []
    for case in definition.cases:
        uses = [use for use in definition.engines if not case.engines or use.name in case.engines]
        shared = {"bytes": 10**4, "whole": True, "verified": "same", "status": "ok", "runs": runs * 2}
        rows = [{"name": use.name, "note": use.note, "compare": use.compare, **shared} for use in uses]
        cases.append({"name": case.name, "engines": rows})
    about = {"versions": {"x": {"python": "3.11.1"}}, "rounds": 2, "parameters": definition.parameters, "cases": cases}
    found = {key: getattr(definition, key) for key in ("name", "title", "task", "peer")}
    written = {"date": "2026-01-02", "machine": {"cpu": "C", "processors": 2, "system": "S"}, "command": "c"}
    return summarized({**found, **about}) | written


def test_page_with_every_table_is_short() -> None:
    found = {one.name: full_record(one) for one in read_folder(ROOT / "benchmarks" / "definitions")}
    made = pages(found)
    lines = made[PAGE].splitlines()
    assert len(lines) <= 455  # adversarial files may add lines
    assert max(line.replace("\\|", "").count("|") for line in lines if line[:1] == "|") - 1 <= MOST_COLUMNS
    assert "Not measured" not in made[PAGE]
    assert "<!-- table" not in made[PAGE]
    assert {path.stem for path in made} == {*found, PAGE.stem, README.stem, *(path.stem for path in PICTURES)}


def test_page_without_a_record_says_what_is_missing() -> None:
    got = pages({})[PAGE]
    assert "Not measured since this table was defined: split." in got
    assert "<!-- table" not in got


def test_run_without_the_data_is_skipped(tmp_path: Path) -> None:
    launcher = FakeLauncher()
    text = TOML.replace('corpus = "opticks"', 'corpus = "english"')
    result = run(definition_of(text), Inputs(tmp_path / "none", tmp_path, launcher), launcher)
    assert "skipped" in result
    assert "skipped: no corpora/english.txt" in report(result)


def test_launcher_with_an_engine_that_is_no_module_says_so() -> None:
    got = Launcher().run("no_such_engine", {"task": "prepare"}, timeout=60)
    assert got["status"] == "crashed"
    assert "No module named" in got["message"]
    assert str(ROOT) not in got["message"]


def test_without_folders_leaves_the_last_part_of_a_path() -> None:
    assert without_folders("no /a/b-c/d.txt and C:\\x\\y.py, 3/4 or a / b") == "no d.txt and y.py, 3/4 or a / b"


def test_main_with_an_unknown_name_says_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="expected --only to be one of"):
        main(["run", "--only", "nothing"])
    with pytest.raises(SystemExit):
        main(["run", "--python", "gigatoken"])
    assert "expected ENGINE=PATH" in capsys.readouterr().err
