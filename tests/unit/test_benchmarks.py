"""The benchmark harness: definitions, records, and the page made of them."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package

from benchmarks.coverage import coverage_table
from benchmarks.definition import TASKS, Definition, parse, read_folder
from benchmarks.engines.regex import Regex
from benchmarks.engines.subwords import Subwords
from benchmarks.inputs import LANGUAGES, Inputs
from benchmarks.page import PAGE, PICTURES, README, RECORDS, TABLES, measured, pages
from benchmarks.process import Launcher
from benchmarks.record import latest, save
from benchmarks.report import report
from benchmarks.run import run
from benchmarks.stats import ratio, summarize
from benchmarks.summary import SHOWN, summarized
from benchmarks.verify import difference
from benchmarks.wide import MOST_COLUMNS, web_table

import subwords

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


def test_smoke_definitions_cover_every_task_without_development_data() -> None:
    found = read_folder(ROOT / "benchmarks" / "definitions" / "smoke")
    assert {one.task for one in found} == set(TASKS)
    assert {case.corpus for one in found for case in one.cases} == {"opticks"}
    assert {use.name for one in found for use in one.engines} >= {"subwords", "sentencepiece", "rustbpe"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('task = "encode"', 'task = "fly"', "expected task to be one of"),
        ("rounds = 2", "", "a value for 'rounds'"),
        ("rounds = 2", "rounds = 2\nround = 3", "not 'round'"),
        ('peer = "gigatoken"', 'peer = "rustbpe"', "to be among the engines"),
        ('oracle = ["tiktoken"]', "oracle = []", "expected an oracle"),
        ('name = "tiktoken"', 'name = "gigatoken"', "each engine once"),
    ],
)
def test_parse_of_a_wrong_definition_says_what_was_expected(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse(TOML.replace(old, new, 1), "x.toml")
    assert str(caught.value).startswith("x.toml: ")


# ---------------------------------------------------------------- statistics and tables


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
    assert len(PAGE.read_text("utf-8").splitlines()) <= 495
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


def test_record_is_read_back_as_it_was_summarized(tmp_path: Path) -> None:
    ref = summarized(train_result([4.0, 1.0]))
    path = save(tmp_path, datetime.date(2026, 1, 2), "one", ref)
    assert path.parent.name.startswith("2026-01-02-")
    got = latest(tmp_path)["a"]
    assert report(got) == report(ref)
    assert {key: got[key] for key in ref} == ref
    assert (got["command"], got["date"]) == ("one", "2026-01-02")
    assert got["machine"]["processors"] >= 1


# ---------------------------------------------------------------- inputs and verification


def test_difference_of_ids_names_the_place(tmp_path: Path) -> None:
    for name, ids in {"a": [1, 2, 3], "b": [1, 9, 3], "c": [1, 2]}.items():
        np.save(tmp_path / f"{name}.npy", np.array(ids, np.uint32))
    a, b, c = (tmp_path / f"{name}.npy" for name in "abc")
    assert difference(a, a) is None
    assert difference(b, a) == "different ids at 1: 9, not 2"
    assert difference(c, a) == "different ids: 2, not 3"


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


class Readers(Launcher):
    """Engines that read a file: gigatoken ends at the second text, tiktoken has other ids, tokie reads nothing."""

    def run(self, engine: str, job: Any, *, timeout: float) -> dict[str, Any]:
        if job["task"] == "prepare":
            return {"status": "ok", "versions": {engine: "1.0"}, "seconds": {}}
        if engine == "tokie":
            return {"status": "refused", "message": "no such format"}
        lines = {"read": "x", **{name: f"ids of {name}" for name in job["texts"]}}
        if engine == "tiktoken":
            lines["real/b"] = "others"
        ends = engine == "gigatoken" and "real/b" in job["texts"]
        kept = [f"{name}\t{found}\n" for name, found in lines.items()][: 2 if ends else None]
        Path(job["output"]).write_text("".join(kept), "utf-8")
        return {"status": "crashed", "message": "signal 11"} if ends else {"status": "ok", "seconds": {}}


def test_coverage_counts_texts_whose_ids_match_differ_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "corpora").mkdir(parents=True)
    for name in "abc":
        (tmp_path / "data" / "corpora" / f"{name}.txt").write_bytes(b"Rays of Light\n")
    (tmp_path / "data" / "tokenizers").mkdir()
    (tmp_path / "data" / "tokenizers" / "one.json").write_bytes(b"{}")
    engines = "\n".join(f'[[engines]]\nname = "{name}"' for name in ("subwords", "gigatoken", "tiktoken", "tokie"))
    text = TOML[: TOML.index("[parameters]")].replace("encode", "coverage")
    text += f'[parameters]\nfiles = ["one.json"]\n[[cases]]\nname = "files"\ncorpus = "a+b+c"\n{engines}'
    definition = definition_of(text.replace('oracle = ["tiktoken"]', 'oracle = ["tokie", "subwords"]'))
    launcher = Readers()
    result = summarized(run(definition, Inputs(tmp_path / "data", tmp_path, launcher), launcher))
    rows = {row["name"]: row for row in result["cases"][0]["engines"]}
    assert {name: row.get("values") for name, row in rows.items()} == {
        "subwords": [3, 0, 0, 0, 0, 0],
        "gigatoken": [2, 0, 1, 0, 0, 0],
        "tiktoken": [2, 1, 0, 0, 0, 0],
        "tokie": None,
    }
    assert rows["gigatoken"]["verified"] == "not subwords's: b (refused)"
    assert rows["tokie"]["status"] == "n/a (refused: no such format)"
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in coverage_table(result).splitlines()]
    assert cells[3] == ["gigatoken", "1", "0", "2 / 0 / 1", "0 / 0 / 0"]


class Peers(Launcher):
    """Libraries of JavaScript: kitoken has other ids for the first chunk, tiktoken is twice as slow as hypertok."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def run(self, engine: str, job: Any, *, timeout: float) -> dict[str, Any]:
        if job["task"] == "prepare":
            absent = job["node"] and engine == "tokie"
            return {"status": "not installed"} if absent else {"status": "ok", "versions": {engine: "1.0"}}
        if job["task"] == "ids":
            found = [*map(str, range(len(json.loads(Path(job["strings"]).read_bytes()))))]
            found[1] = "other" if engine == "kitoken" else found[1]
            Path(job["output"]).write_text(json.dumps(found), "utf-8")
            return {"status": "ok", "bytes": 2000}
        self.order.append(engine)
        first = 2.0 if engine == "tiktoken" else 1.0
        passes = {name: [8.0, first, 0.5, 0.1, 0.3] for name in job["texts"]}
        return {"status": "ok", "ready": 0.1, "passes": passes}


def test_web_times_libraries_in_turn_and_compares_those_whose_ids_are_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = "\n".join(f'[[engines]]\nname = "{name}"' for name in ("hypertok", "tiktoken", "kitoken", "tokie"))
    text = TOML[: TOML.index("[parameters]")].replace("encode", "web").replace("gigatoken", "fastest")
    text += '[parameters]\ntokenizer = "trained"\nchunks = 40\nenough = 1.0\ntexts = { english = "opticks" }\n'
    text += f'[[cases]]\nname = "one"\ncorpus = "opticks"\nbytes = 50_000\n{engines}'
    launcher = Peers()
    inputs = Inputs(tmp_path / "data", tmp_path, launcher)
    monkeypatch.setattr(inputs, "tokenizer", lambda name: tmp_path / name)
    result = summarized(run(definition_of(text), inputs, launcher))
    assert launcher.order == ["hypertok", "tiktoken", "kitoken"] * 2
    rows = {row["name"]: row for row in result["cases"][0]["engines"]}
    assert rows["tokie"]["status"] == "not installed"
    assert rows["kitoken"]["verified"] == "other ids than tiktoken: 1 of 40 chunks"
    found = dict(zip(SHOWN["web"], rows["kitoken"]["values"], strict=True))
    assert (found["lines"], found["lines_again"], found["kb"], found["exact"]) == ([1, 1], [0.3, 0.3], [2, 2], [39, 39])
    assert found["code"] is None
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in web_table(result).splitlines()]
    assert lines[2][0] == "hypertok"
    assert lines[2][1].endswith("(2.00× / ≈ 1.00×)")
    assert (lines[4][4], lines[4][-1]) == ("1,000", "39.0")
    assert lines[5][1:] == ["not installed"] * 7


# ---------------------------------------------------------------- texts that grow


def full_record(definition: Definition) -> dict[str, Any]:
    """What a run of a definition gives where everything went well."""
    names = (*SHOWN[definition.task], "process")
    one = dict.fromkeys(names, 0.5) | {"warm": [0.5], "cold": 0.5, "fresh": 0.5}
    one |= dict.fromkeys(("thousand", "fresh_once", "chat_once", "new", "whole"), 0.25)
    one |= dict.fromkeys(("fresh_append", "fresh_thousand", "fresh_stream", "fresh_whole"), 0.25)
    runs = [{"seconds": one, "peak_bytes": 1, "bytes": 1, "baseline": one | {"bytes": 1}, "resident_bytes": {"new": 1}}]
    runs[0] |= {
        "counts": dict.fromkeys((*SHOWN["limits"], *SHOWN["coverage"], *SHOWN["web"]), 2),
        "bytes_per_id": {"version": 8.0},
    }
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
    assert len(lines) <= 495  # adversarial files may add lines
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


# ---------------------------------------------------------------- training

WORDPIECE = """
name = "train_wordpiece"
title = "Train"
task = "train"
rounds = 2
oracle = ["tokenizers"]
peer = "subwords"
[parameters]
vocab_size = 3
special_tokens = ["[UNK]"]
score = "count"
threads = 1
sample = 100
[[cases]]
name = "opticks"
corpus = "opticks"
[[engines]]
name = "subwords"
"""


class FakeTrainer(Launcher):
    """Saves one vocabulary after the other; what engines make of the file is in `read`."""

    def __init__(self, vocabs: list[dict[str, int]], read: dict[str, str]) -> None:
        super().__init__()
        self.vocabs, self.read = vocabs, read

    def run(self, engine: str, job: Any, *, timeout: float) -> dict[str, Any]:
        if job["task"] == "train":
            Path(job["output"]).write_text(json.dumps({"model": {"vocab": self.vocabs.pop(0)}}))
        elif job["task"] == "encode":
            assert Path(job["file"]).stat().st_size <= 100
            return {"status": "ok", "digest": self.read[engine]} if engine in self.read else {"status": "refused"}
        return {"status": "ok", "versions": {engine: "1.0"}, "seconds": {"call": 1.0}, "peak_bytes": 1}


RIGHT = {"[UNK]": 0, "a": 1, "##b": 2}


@pytest.mark.parametrize(
    ("vocabs", "read", "status", "verified"),
    [
        ([RIGHT, RIGHT], {"tokenizers": "x", "subwords": "x"}, "ok", "as requested; same ids in tokenizers, subwords"),
        ([RIGHT, RIGHT], {"subwords": "x"}, "ok", "as requested; same ids in subwords"),
        ([RIGHT, RIGHT], {}, "n/a (no engine loads it)", "no"),
        ([RIGHT, RIGHT], {"tokenizers": "x", "subwords": "y"}, "n/a (different ids: tokenizers and subwords)", "no"),
        ([{"[UNK]": 0, "a": 1}], {"subwords": "x"}, "n/a (2 tokens, not 3)", "no"),
        ([RIGHT, {"[UNK]": 0, "a": 2, "##b": 1}], {"subwords": "x"}, "n/a (another result in a later round)", None),
    ],
)
def test_run_of_a_vocabulary_that_nothing_need_equal(
    tmp_path: Path, vocabs: list[dict[str, int]], read: dict[str, str], status: str, verified: str | None
) -> None:
    launcher = FakeTrainer(vocabs, read)
    result = run(parse(WORDPIECE, "x.toml"), Inputs(tmp_path / "data", tmp_path, launcher), launcher)
    (row,) = result["cases"][0]["engines"]
    assert row["status"] == status
    assert len(row["runs"]) == (2 if status == "ok" else 0)
    if verified:
        assert row["verified"] == verified
        assert (verified if status == "ok" else status) in report(summarized(result))
