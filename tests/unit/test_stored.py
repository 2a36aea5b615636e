"""Tables on disk: equal to those that are made, never stale, never a reason to fail."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import formats_read
from inside import kernels_machine_code as machine_code
from inside import kernels_stored as store
from small_data import file_of
from subwords import FormatError
from without_waiting import at_once

FILES = ("gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "t5/spiece.model", "phi-3/tokenizer.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert machine_code.cache_root is store.cache_root  # it is imported by now: the kernels stay where they are
    monkeypatch.setattr(store, "cache_root", lambda: str(tmp_path / "cache"))
    monkeypatch.setenv(store.SWITCH, "on")
    at_once(monkeypatch)
    return tmp_path / "cache" / store.FOLDER


def made(value: object, times: list[int]) -> object:
    times.append(1)
    return value


def test_a_table_is_made_once() -> None:
    times: list[int] = []
    for _ in range(3):
        found = store.stored("a", b"source", lambda: made((np.arange(3), "x"), times))
        assert found[0].tolist() == [0, 1, 2] and found[1] == "x"
    assert len(times) == 1


def test_an_edit_of_the_package_makes_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    store.stored("a", b"", lambda: 1)
    monkeypatch.setattr(store, "_signature", lambda: b"another")
    assert store.stored("a", b"", lambda: 2) == 2


def test_every_edit_of_a_checkout_is_seen(tmp_path: Path) -> None:
    package = Path(store.KERNELS).parent
    names = {state.rsplit(" ", 2)[0] for state in store._states(str(package))}
    assert names == {str(path) for path in package.rglob("*.py")}
    file = tmp_path / "a.py"
    file.write_text("1")
    before = [*store._states(str(tmp_path))]
    os.utime(file, (1, 1))
    assert [*store._states(str(tmp_path))] != before


def test_the_stamp_of_a_wheel_names_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (store.stamp.__wrapped__() is None) != Path(store.STAMP).exists()  # a checkout has none
    monkeypatch.setattr(store, "KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setattr(store, "STAMP", str(tmp_path / "stamp"))
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.py").write_text("1")
    seen = []
    for name, content in (("b.py", "1"), ("b.py", "2"), ("kernels/a.py", "2"), ("kernels/c.py", "2")):
        (tmp_path / name).write_text(content)
        Path(store.STAMP).write_text(store.stamped())
        seen.append(store.stamp.__wrapped__())
    assert len({package for package, _ in seen}) == 4
    assert [kernels for _, kernels in seen].count(seen[0][1]) == 2


@pytest.mark.parametrize("length", [0, 1, 5, 10, 32, 40, -1])
def test_a_damaged_file_is_made_anew(folder: Path, length: int) -> None:
    store.stored("a", b"", lambda: [*range(99)])
    (file,) = folder.iterdir()
    content = file.read_bytes()
    for damaged in (content[:length], content[:length] + b"!" * (len(content) - len(content[:length]))):
        file.write_bytes(damaged)
        assert store.stored("a", b"", lambda: [3]) == [3]
        assert store.stored("a", b"", lambda: [4]) == [3]


def test_arrays_come_back_as_they_were(folder: Path) -> None:
    several = (np.zeros(0, np.int64), np.ones((3, 5))[:, ::2])
    table = {"a": np.arange(7, dtype=np.uint16), "b": several, "c": np.eye(4).T}
    store.stored("a", b"", lambda: table)
    found = store.stored("a", b"", dict)
    assert (found["a"].tolist(), found["a"].dtype) == ([*range(7)], np.uint16)
    assert [x.tolist() for x in found["b"]] == [x.tolist() for x in several]
    assert found["c"].tolist() == np.eye(4).tolist()
    assert found["a"].ctypes.data % 16 == 0
    assert not found["a"].flags.writeable


def test_what_is_no_data_is_made_each_time(folder: Path) -> None:
    for value in (1, 2):
        assert store.stored("a", b"", lambda value=value: lambda: value)() == value  # type: ignore[misc]
    assert not folder.exists() or not [*folder.iterdir()]


def test_the_store_can_be_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.SWITCH, "off")
    assert [store.stored("a", b"", lambda value=value: value) for value in (1, 2)] == [1, 2]
    assert not folder.exists()


def test_without_a_folder_it_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(store, "cache_root", lambda: str(tmp_path / "file"))  # no folder: nothing can be written there
    assert [store.stored("a", b"", lambda: 1), store.stored("a", b"", lambda: 2)] == [1, 2]
    monkeypatch.setattr(store, "cache_root", lambda: None)
    assert store.stored("a", b"", lambda: 3) == 3


def test_the_oldest_tables_are_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGEST_FOLDER", 9000)
    kinds = store.KINDS.split()[:8]
    for k, kind in enumerate(kinds):
        store.stored(kind, b"", lambda: bytes(2000))
        for file in folder.glob(f"{kind}-*"):
            os.utime(file, (time.time() - 100 + k,) * 2)
    assert {file.name[:-33] for file in folder.iterdir()} == {*kinds[4:]}
    monkeypatch.setattr(store, "LARGEST_TABLE", 1000)
    store.stored("trie", b"", lambda: bytes(2000))
    assert not [*folder.glob("trie*")]


def test_a_loaded_spec_equals_the_one_that_was_read(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats_read, "LEAST_STORED", 0)
    tok = subwords.train(["ab abc été"] * 3, vocab_size=264)
    for name in ("a.json", "a.tiktoken"):
        tok.save(tmp_path / name)
        options = {"splitter": "gpt2", "special_ids": {"<|x|>": 300}} if name == "a.tiktoken" else {}
        first, second = (subwords.load(tmp_path / name, **options) for _ in range(2))  # type: ignore[arg-type]
        assert first == second and first.spec.digest == second.spec.digest
        assert not second.spec.model.merges.flags.writeable and not second.spec.model.vocab.offsets.flags.writeable
        assert first.encode("ab été <|x|>", special="allow") == second.encode("ab été <|x|>", special="allow")
    assert len([*folder.glob("spec-*")]) == 2
    other = subwords.load(tmp_path / "a.tiktoken", splitter="cl100k", special_ids={"<|x|>": 300})
    assert other.splitter.name == "cl100k"
    (tmp_path / "a.json").write_bytes((tmp_path / "a.json").read_bytes()[:-3])
    with pytest.raises(FormatError, match=r"a\.json: expected JSON"):
        subwords.load(tmp_path / "a.json")


PATTERN = r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"


def test_tokenizers_are_the_same_with_and_without(
    data: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inside import models_bpe_model as model
    from inside import models_segmenter as trie
    from inside import route_of, stages_of

    monkeypatch.setattr(formats_read, "LEAST_STORED", 0)
    monkeypatch.setattr(model, "LARGE_VOCABULARY", 0)
    monkeypatch.setattr(trie, "LARGE_VOCABULARY", 0)
    text = "The café costs 12,50 €; 中文 isn't  simple.\n\tİstanbul ﬁne <s>" * 3
    for name in FILES:
        made = []
        for switch in ("off", "on", "on"):
            monkeypatch.setenv(store.SWITCH, switch)
            for cached in (stages_of, route_of):  # as in a new process
                cached.cache_clear()
            tok = subwords.load(file_of(data, name))
            spans = tok(text).spans.tolist()  # type: ignore[union-attr]
            made.append((tok.spec.digest, tok.encode(text), tok.encode(text * 50), spans, repr(tok)))
        assert made[0] == made[1] == made[2], name
    subwords.splitter(PATTERN).split("a")
    found = {file.name.partition("-")[0] for file in folder.iterdir()}
    assert found <= {*store.KINDS.split()} and {"kept", "spec", "route", "stages", "trie"} <= found


# ------------------------------------------------------------------ tables are data

PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.characters() | st.text()
)
HASHED = st.integers() | st.text()
DATA = st.recursive(
    PLAIN | st.frozensets(st.text(max_size=3)) | st.sets(st.integers()) | st.builds(range, st.integers(0, 9)),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(HASHED, inner),
    max_leaves=20,
)


@given(value=DATA)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    found = store.unpacked(memoryview(store.packed(value)))
    assert found == value and types_in(found) == types_in(value)


def types_in(value: object) -> object:
    if isinstance(value, dict):
        return [types_in([*pair]) for pair in value.items()]
    return [type(value), *map(types_in, value)] if isinstance(value, list | tuple) else type(value)


def test_every_class_and_kind_is_listed() -> None:
    """Otherwise such tables are made anew each time, or never deleted."""
    package = Path(store.KERNELS).parent
    for module, names in store.CLASSES.items():
        for name in names.split():
            assert store._class_of(f"{module}.{name}")[0].__name__ == name
    for module in ("added_token", "decoder", "normalizer", "padding", "splitter", "template", "tokenizer"):
        text = (package / "spec" / f"{module}.py").read_text("utf-8")
        made = {*re.findall(r"@dataclass\(.*\)\nclass (\w+)", text)} - {"Text", "Special"}  # of messages
        assert made <= {*store.CLASSES[f"spec.{module}"].split()}, module
    sources = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    assert {*re.findall(r"\b(?:stored|table_name)\(\"([\w-]+)\"", sources)} == {*store.KINDS.split()}


@pytest.mark.parametrize(
    "tree",
    [
        ["os.system", ["true"]],
        ["builtins.eval", ["1"]],
        ["kernels.stored.Folder", ["/", "x"]],
        ["spec.vocab.has_gaps", [1, 2]],
        ["cli.files.Path", ["x"]],
        ["spec.vocab.Vocab.of", [[]]],
        ["array", 3],
        ["tuple"],
        ["range", ["a"]],
        [["tuple", []], []],
        "[" * 100_000,
    ],
)
def test_a_table_names_nothing_but_data(folder: Path, tree: object) -> None:
    """Whoever writes a table chooses the classes of what is in it, from a list, and calls nothing."""
    store.stored("spec", b"", lambda: "mine")
    (file,) = folder.iterdir()
    body = (tree if isinstance(tree, str) else repr([tree, []]).replace("'", '"')).encode()
    file.write_bytes(store.summed(bytearray(store.HEAD.pack(store.MAGIC, 0, 0, len(body)) + body)))
    assert store.stored("spec", b"", lambda: "mine") == "mine"


def test_objects_are_no_arrays() -> None:
    with pytest.raises(TypeError):
        store.packed(np.array([object()]))
    raw = store.packed(np.zeros(3, np.int64)).replace(b"<i8", b"|O8")
    with pytest.raises(TypeError):
        store.unpacked(memoryview(raw))


def test_the_loaders_of_the_cache_import_nothing_that_runs_what_it_reads() -> None:
    package = Path(store.KERNELS).parent
    for name in ("kernels/stored.py", "engine/kept.py", "kernels/machine_code.py"):
        text = (package / name).read_text("utf-8")
        assert not re.search(r"import (pickle|marshal|shelve|dill)|from (pickle|marshal) ", text), name
