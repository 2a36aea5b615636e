"""Conversations to token files: ids, masks and segments beside each other, packed, resumed, errors with lines."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from chatting import USUAL, chatting
from seeds import seed_of_run
from subwords import CorpusError, InputError, Reading
from subwords.files import check
from subwords.files import open as opened
from subwords.scale import Run

pytest.importorskip("pyarrow")

SEED = seed_of_run()
WORDS = ["light", "rays", "né", "中文", "<|end|>", "don't", "1234", "\n", "colour and"]
TOOLS = "{% for t in tools or [] %}<|tool|>{{ t | tojson }}<|end|>{% endfor %}" + USUAL
TOK = chatting(template=TOOLS).with_(roles={"pad": "</s>"})
TOOL = {"type": "function", "function": {"name": "find"}}


def dataset(rows: int, most: int = 20) -> list[dict[str, Any]]:
    rng = random.Random(SEED)

    def words() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(most)))

    found: list[dict[str, Any]] = []
    for number in range(rows):
        turns = [
            {"role": role, "content": words()} for _ in range(rng.randrange(1, 4)) for role in ("user", "assistant")
        ]
        found.append({"id": number, "messages": turns, **({"tools": [TOOL]} if number % 5 == 0 else {})})
    return found


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A folder with JSON Lines, and Parquet with tools as text."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    half = len(rows) // 2
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:half]))
    table = {"messages": [row["messages"] for row in rows[half:]]}
    tools = [json.dumps(row["tools"]) if "tools" in row else None for row in rows[half:]]
    parquet.write_table(pa.table({**table, "tools": tools}), folder / "b.parquet", row_group_size=20)
    return folder


def expected_of(rows: list[dict[str, Any]], **options: Any) -> Any:
    return TOK.chats([{key: row[key] for key in row.keys() - {"id"}} for row in rows], **options)


def joined(path: Path) -> list[int]:
    return [number for document in opened(path) for number in document.tolist()]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


@pytest.mark.parametrize("name", ["x.npy", "x.bin", "x.idx", "x.parquet"])
@pytest.mark.parametrize("shards", [None, 900])
def test_ids_and_masks_are_those_of_a_batch(tmp_path: Path, name: str, shards: int | None) -> None:
    rows = dataset(60)
    made = TOK.encode_files(written(tmp_path / "in", rows), tmp_path / name, chat=True, shard_size=shards)
    expected, mask = expected_of(rows)
    ids, masks = opened(tmp_path / name), opened(tmp_path / f"x.mask{Path(name).suffix}")
    assert [document.tolist() for document in ids] == [ids.tolist() for ids in expected]
    assert masks.dtype == np.uint8
    assert [len(document) for document in masks] == [len(document) for document in ids]
    assert joined(tmp_path / f"x.mask{Path(name).suffix}") == mask.astype(int).tolist()
    assert made.contents.masked and len(made.shards) == len(getattr(ids, "files", [ids]))
    assert check(tmp_path / "x.manifest.json") == check(tmp_path / "x.mask.manifest.json") == []
    labels = np.where(np.asarray(joined(tmp_path / f"x.mask{Path(name).suffix}")), joined(tmp_path / name), -100)
    assert TOK.decode(labels[labels >= 0]) == TOK.decode(expected.ids[mask])


def test_sources_that_are_no_files(tmp_path: Path) -> None:
    import pyarrow as pa

    rows = dataset(9)
    TOK.encode_files(rows, tmp_path / "dicts.npy", chat={"end": "line"})
    TOK.encode_files([row["messages"] for row in rows], tmp_path / "lists.npy", chat={"template": USUAL})
    TOK.encode_files(pa.table({"said": [row["messages"] for row in rows]}), tmp_path / "table.npy",
        chat={"template": USUAL}, reading=Reading(text_column="said"))  # fmt: skip
    expected = expected_of(rows, end="line")
    assert joined(tmp_path / "dicts.npy") == expected.tokens.ids.tolist()
    assert joined(tmp_path / "dicts.mask.npy") == expected.mask.astype(int).tolist()
    assert bytes_of(tmp_path)["lists.npy"] == bytes_of(tmp_path)["table.npy"]
    plain = TOK.chats([row["messages"] for row in rows], template=USUAL)
    assert joined(tmp_path / "lists.npy") == plain.tokens.ids.tolist()
    variables: Any = {"template": "{{ name }}{{ messages[0].content }}", "variables": {"name": "light "}}
    TOK.encode_files([[{"role": "user", "content": "rays"}]], tmp_path / "x.npy", chat=variables)
    assert TOK.decode(joined(tmp_path / "x.npy")) == "light rays"


@pytest.mark.parametrize(
    ("run", "pack"),
    [
        (Run(shard_bytes=97), None),
        (Run(shard_bytes=97), 256),
        (Run(shard_bytes=5000), None),
        (Run(shard_bytes=9000, workers=2), 256),
    ],
)
def test_files_are_those_of_one_process(tmp_path: Path, run: Run, pack: int | None) -> None:
    source = written(tmp_path / "in", dataset(12 if run.shard_bytes == 97 else 120))
    options: dict[str, Any] = {"chat": True, "pack": pack, "shard_size": 3000, "shuffle": 5}
    for folder, more in (("whole", {"threads": 2}), ("parts", {"run": run})):
        (tmp_path / folder).mkdir()
        TOK.encode_files(source, tmp_path / folder / "x.npy", **options, **more)
    expected, found = bytes_of(tmp_path / "whole"), bytes_of(tmp_path / "parts")
    names = "x.mask.manifest.json", "x.manifest.json"
    shards = [json.loads(files.pop(name))["shards"] for files in (expected, found) for name in names]
    if pack:
        assert expected.pop("x.segments.manifest.json") and found.pop("x.segments.manifest.json")
    assert found == expected
    assert shards[:2] == shards[2:]
    assert not (tmp_path / "parts" / "x.npy.parts").exists()


# ---------------------------------------------------------------------------------------------------------------------
# Packing.


def best_fit(lengths: list[int], size: int, most: int) -> list[list[int]]:
    """The textbook's: each into the row with the least room that is enough; the numbers of conversations by row."""
    rows: list[tuple[int, int, list[int]]] = []  # room, number, conversations
    done: list[list[int]] = []
    count = 0
    for number, length in enumerate(lengths):
        fitting = [row for row in rows if row[0] >= length]
        if fitting:
            room, place, held = min(fitting)
            rows.remove((room, place, held))
        else:
            if len(rows) == most:
                done.append(min(rows)[2])
                rows.remove(min(rows))
            room, place, held = size, count, []
            count += 1
        if room == length:
            done.append([*held, number])
        else:
            rows.append((room - length, place, [*held, number]))
    return [*done, *(row[2] for row in rows)]


def cut_rows(path: Path) -> list[tuple[list[int], list[int], list[int]]]:
    """The ids, mask and segments of each row."""
    kinds = [[row.tolist() for row in opened(path.with_name(f"x{kind}.npy"))] for kind in ("", ".mask", ".segments")]
    return [*zip(*kinds, strict=True)]


def test_packed_rows_have_whole_conversations(tmp_path: Path) -> None:
    rows = dataset(300)
    expected, mask = expected_of(rows)
    size = max(map(len, expected)) + 7
    made = TOK.encode_files(iter(rows), tmp_path / "x.npy", chat=True, pack=size)
    said = [
        (tuple(document), tuple(part))
        for document, part in zip(
            [ids.tolist() for ids in expected], np.split(mask.astype(int), expected.offsets[1:-1].tolist()), strict=True
        )
    ]
    found = []
    for ids, masks, segments in cut_rows(tmp_path / "x.npy"):
        assert len(ids) == len(masks) == len(segments) == size
        used = sum(place > 0 for place in segments)
        assert segments[:used] == sorted(segments[:used]) and {*segments[:used]} == {*range(1, max(segments) + 1)}
        assert {*ids[used:]} <= {made.contents.pad} and not any(masks[used:]) and not any(segments[used:])
        row = []
        for place in range(1, max(segments) + 1):
            at = [k for k, one in enumerate(segments) if one == place]
            row.append((tuple(ids[k] for k in at), tuple(masks[k] for k in at)))
        found.append(row)
    assert sorted(one for row in found for one in row) == sorted((ids, tuple(map(int, part))) for ids, part in said)
    textbook = best_fit([len(ids) for ids, _ in said], size, 1 << 10)
    assert sorted(sorted(ids for ids, _ in row) for row in found) == sorted(
        sorted(said[number][0] for number in row) for row in textbook
    )
    contents = made.contents
    assert (contents.conversations, contents.split, contents.pack) == (300, 0, size)
    assert contents.padding == len(found) * size - len(expected.ids) < 0.1 * len(expected.ids) + size
    assert contents.pad == TOK.token_to_id("</s>")


def test_few_rows_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.tokens.write.MOST_OPEN", 2)
    monkeypatch.setattr("subwords.tokens.write.ROWS_AT_ONCE", 300)
    rows = dataset(80)
    lengths = [*map(len, expected_of(rows).tokens)]
    size = max(lengths)
    made = TOK.encode_files(iter(rows), tmp_path / "x.npy", chat=True, pack=size)
    found = [
        [segments.count(place) for place in range(1, max(segments) + 1)]
        for _, _, segments in cut_rows(tmp_path / "x.npy")
    ]
    assert sorted(map(sorted, found)) == sorted(sorted(lengths[k] for k in row) for row in best_fit(lengths, size, 2))
    assert made.shards[0].documents == len(found)


def test_a_conversation_that_is_longer_than_a_row_is_cut_and_counted(tmp_path: Path) -> None:
    rows = dataset(20, most=90)
    expected, mask = expected_of(rows)
    made = TOK.encode_files(iter(rows), tmp_path / "x.npy", chat=True, pack=50)
    lengths = [*map(len, expected)]
    assert made.contents.split == sum(length > 50 for length in lengths) > 0
    pieces = [
        (tuple(document[at : at + 50]), tuple(part[at : at + 50]))
        for document, part in zip(
            [ids.tolist() for ids in expected], np.split(mask, expected.offsets[1:-1].tolist()), strict=True
        )
        for at in range(0, len(document), 50)
    ]
    found = []
    for ids, masks, segments in cut_rows(tmp_path / "x.npy"):
        for place in range(1, max(segments) + 1):
            at = [k for k, one in enumerate(segments) if one == place]
            found.append((tuple(ids[k] for k in at), tuple(bool(masks[k]) for k in at)))
    assert sorted(found) == sorted((ids, tuple(map(bool, part))) for ids, part in pieces)


# ---------------------------------------------------------------------------------------------------------------------
# Jobs that stop, and what is left of earlier ones.


def test_a_second_run_does_only_what_is_missing(tmp_path: Path) -> None:
    source, run = written(tmp_path / "in", dataset(80)), Run(shard_bytes=4000, keep=True)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    TOK.encode_files(source, tmp_path / "a/x.npy", chat=True, run=run)
    marks = sorted((tmp_path / "a/x.npy.parts").glob("*.json"))
    marks[0].unlink()
    times = {mark: mark.stat().st_mtime_ns for mark in marks[1:]}
    before = bytes_of(tmp_path / "a")
    TOK.encode_files(source, tmp_path / "a/x.npy", chat=True, run=run)
    assert {mark: mark.stat().st_mtime_ns for mark in marks[1:]} == times and len(times) > 3
    assert bytes_of(tmp_path / "a") == before
    TOK.encode_files(source, tmp_path / "a/x.npy", chat={"end": "line"}, run=run)  # no part of the other mask is used
    TOK.encode_files(source, tmp_path / "b/x.npy", chat={"end": "line"})
    assert bytes_of(tmp_path / "a")["x.mask.npy"] == bytes_of(tmp_path / "b")["x.mask.npy"] != before["x.mask.npy"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_and_run_again(tmp_path: Path) -> None:
    source = written(tmp_path / "in", dataset(500))
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    TOK.save(f"{tmp_path}/tok/")
    arguments = ["--chat", "--pack", 512, "--shard-size", 20_000, "--shard-bytes", 3000, "-q"]

    def started() -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "subwords", "tokens", tmp_path / "tok", source, *arguments]
        target = [*map(str, program), "-o", str(tmp_path / "killed" / "x.npy")]
        return subprocess.Popen(target, stderr=subprocess.PIPE, text=True, start_new_session=True)

    process, parts, end = started(), tmp_path / "killed/x.npy.parts", time.monotonic() + 60
    while len([*parts.glob("*.json")]) < 3 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [*parts.glob("*.json")] and not (tmp_path / "killed/x.npy").exists()
    process = started()
    assert (process.communicate()[1], process.returncode) == ("", 0)
    run = Run(shard_bytes=50_000)
    TOK.encode_files(source, tmp_path / "whole/x.npy", chat=True, pack=512, shard_size=20_000, run=run)
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")
    assert not parts.exists()


def test_masks_of_earlier_files_of_the_name_are_deleted(tmp_path: Path) -> None:
    rows = dataset(30)
    TOK.encode_files(rows, tmp_path / "x.npy", chat=True, pack=400, shard_size=500)
    TOK.encode_files(["text"], tmp_path / "x.mask.json.npy")
    TOK.encode_files(rows, tmp_path / "x.npy", chat=True)
    kept = ["x.manifest.json", "x.mask.json.manifest.json", "x.mask.json.npy", "x.mask.json.offsets.npy"]
    kept += ["x.mask.manifest.json", "x.mask.npy", "x.mask.offsets.npy", "x.npy", "x.offsets.npy"]
    assert [*bytes_of(tmp_path)] == kept
    TOK.encode_files(["text"], tmp_path / "x.npy")
    assert [*bytes_of(tmp_path)] == [*kept[:4], "x.npy", "x.offsets.npy"]


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be used.

GOOD = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
BAD: dict[str, tuple[object, str]] = {
    "no role": ({"messages": [{"content": "a"}]}, r'expected messages\[0\]\["role"\] as a str, not None'),
    "no messages": ({"text": "a"}, "expected a field 'messages', found 'text'; text_column names another"),
    "no object": (3, "expected an object with messages, or a list of them, not int"),
    "empty": ({"messages": []}, "expected at least one message; the conversation is empty"),
    "tools": ({**GOOD, "tools": "[1"}, "expected tools as JSON: "),
    "a surrogate": ({"messages": [{"role": "user", "content": "\ud800"}]}, r'messages\[0\]\[.content.\]: '),
    "refused": ({"messages": [{"role": "bad", "content": "a"}]}, "the chat template.* refuses this .*: bad role"),
    "left out": ({"messages": [{"role": "assistant", "content": "quiet"}]}, r"messages\[0\] of the assistant is not"),
}  # fmt: skip
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'bad' %}{{ raise_exception('bad role') }}{% endif %}"
    "{% if m.content != 'quiet' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_conversation_is_named_by_file_and_line(tmp_path: Path, kind: str) -> None:
    bad, reason = BAD[kind]
    lines = [json.dumps(row) for row in (GOOD, GOOD, bad, GOOD)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines[:1], "", *lines[1:]]))
    runs: list[dict[str, Any]] = [{}, {"run": Run()}, {"run": Run(shard_bytes=40)}]
    for more in runs[: 3 if kind == "refused" else 1]:
        with pytest.raises(CorpusError, match=rf"a\.jsonl: line 4: {reason}"):
            TOK.encode_files(tmp_path / "a.jsonl", tmp_path / "x.npy", chat={"template": TEMPLATE}, **more)
        assert not [*tmp_path.glob("x*.npy")]
        skipping: Any = {"chat": {"template": TEMPLATE}, "reading": Reading(errors="skip"), **more}
        made = TOK.encode_files(tmp_path / "a.jsonl", tmp_path / "x.npy", **skipping)
        assert made is not None and (made.shards[0].documents, made.contents.skipped) == (3, 1)
        for file in tmp_path.glob("x*.npy"):
            file.unlink()


def test_bad_rows_of_tables_and_of_text(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"messages": [GOOD["messages"], []]}), tmp_path / "a.parquet", row_group_size=1)
    for more in ({}, {"run": Run(shard_bytes=1)}):
        with pytest.raises(CorpusError, match=r"a\.parquet: row 1: expected at least one message"):
            TOK.encode_files(tmp_path / "a.parquet", tmp_path / "x.npy", chat=True, **more)
    parquet.write_table(pa.table({"text": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(CorpusError, match=r"b\.parquet: expected a column 'messages', found 'text'; text_column names"):
        TOK.encode_files(tmp_path / "b.parquet", tmp_path / "x.npy", chat=True)
    (tmp_path / "c.jsonl").write_text('{"messages": []\n')
    with pytest.raises(CorpusError, match=r"c\.jsonl: line 1: expected a JSON object"):
        TOK.encode_files(tmp_path / "c.jsonl", tmp_path / "x.npy", chat=True)
    (tmp_path / "c.txt").write_text("a")
    for more in ({}, {"run": Run()}):
        with pytest.raises(InputError, match=r"c\.txt: expected rows \(JSON Lines, Parquet or Arrow\), not"):
            TOK.encode_files(tmp_path / "c.txt", tmp_path / "x.npy", chat=True, **more)
    with pytest.raises(CorpusError, match="row 1: expected an object with messages, or a list of them, not str"):
        TOK.encode_files(iter([GOOD, "text"]), tmp_path / "x.npy", chat=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pack": 8}, "pack needs chat=True"),
        ({"chat": True, "pack": 0}, "expected pack"),
        ({"chat": True, "eos": "</s>"}, "eos does not apply to conversations"),
        ({"chat": True, "special": "allow"}, "special does not apply to conversations"),
        ({"chat": True, "reading": Reading(documents="line")}, r"Reading\(documents=\.\.\.\) does not apply"),
        ({"chat": True, "reading": Reading(sample=0.5)}, r"Reading\(sample=\.\.\.\) does not apply"),
        ({"chat": True, "format": "llmc"}, "format llmc holds no masks: expected npy, bin, megatron or parquet"),
        ({"chat": {"prompt": True}}, "expected options of chat among template, trusted, .*, not 'prompt'"),
        ({"chat": {"end": "turn"}}, "unknown end=.turn.: expected one of token, line"),
        ({"chat": {"variables": 3}}, "expected variables as a dict"),
        ({"chat": {"variables": {"a": {3}}}}, "expected options of chat as JSON data"),
        ({"chat": "usual"}, "expected chat as True or as a dict of options, not 'usual'"),
        ({"chat": {"template": "{% if %}"}}, "invalid chat template"),
    ],
)  # fmt: skip
def test_options_that_do_not_apply(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TOK.encode_files([GOOD], tmp_path / "x.npy", **options)
    assert not [*tmp_path.iterdir()]


def test_rows_need_a_token_to_fill_them(tmp_path: Path) -> None:
    tok = subwords.train(["ab"], vocab_size=256)
    with pytest.raises(InputError, match="rows are filled with a token of the role pad or eos"):
        tok.encode_files([GOOD], tmp_path / "x.npy", chat={"template": USUAL}, pack=9)
