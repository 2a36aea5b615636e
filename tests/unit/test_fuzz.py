"""The inputs that fuzzing keeps: each target takes all of its own. And the faults that fuzzing found."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from tools import campaign, fuzz

import subwords
from inside import Kind
from inside import kernels_stored as store
from seeds import seed_of_run
from small_data import file_of
from subwords.cli import main
from subwords.machine import PieceType, model_class, sources_digest

MOST = 300_000  # bytes of all kept inputs
MOST_SEEDS = 15  # of a target at a time: those of `programs`, 345, take minutes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_target_takes_its_seeds_and_the_inputs_that_are_kept(name: str) -> None:
    target = fuzz.TARGETS[name]
    seeds = [*target.seeds()]
    chosen = Random(seed_of_run()).sample(seeds, min(len(seeds), MOST_SEEDS))
    for data in [*chosen, *fuzz.inputs(name)]:
        target.run(data)


def test_inputs_are_kept_as_text() -> None:
    for data in (b"", b"a\0b\n", "é\u2028".encode(), bytes(range(256)), b'"\\ \xed\xa0\x80'):
        line = fuzz.written(data)
        assert fuzz.unwritten(line) == data
        assert line.isascii() and "\n" not in line
    files = list(fuzz.KEPT.glob("*"))
    assert {path.stem for path in files} <= {*fuzz.TARGETS, "campaign"}
    assert sum(path.stat().st_size for path in files) < MOST


def test_a_target_sees_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = next(iter(fuzz.TARGETS["streams"].seeds()))
    monkeypatch.setattr(subwords.Tokenizer, "decode", lambda *_, **__: "another text")
    with pytest.raises(AssertionError, match="a stream"):
        fuzz.TARGETS["streams"].run(data)


FILES = ["gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "t5/spiece.model", "t5/tokenizer.json"]


@pytest.mark.parametrize("name", FILES)
def test_a_campaign_compares_every_path(name: str, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for peer in ("sentencepiece", "tokenizers"):
        pytest.importorskip(peer)
    monkeypatch.setattr(campaign, "FEW", 100)
    manifest: dict[str, Any] = {"paths": {}, "different": 0, "renamed": 0, "examples": []}
    rows = campaign.compared(file_of(small_data, name), small_data, 1)
    for _ in range(16):
        campaign.add(manifest, next(rows))
    assert manifest["different"] == 0, manifest["examples"]
    assert {"batch", "list", "array", "growing", "stream", "threads", "kept", "long"} <= {*manifest["paths"]}
    assert manifest["paths"]["batch"]["texts"] == 1600
    assert manifest["library"].startswith("sentencepiece" if name.endswith(".model") else "tokenizers")


@pytest.mark.usefixtures("wasm")
def test_a_campaign_compares_in_node(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    if (node := shutil.which("node")) is None:
        pytest.skip("needs node")
    monkeypatch.setattr(campaign, "FEW", 100)
    row = next(campaign.compared(file_of(small_data, FILES[0]), None, 1, node))
    assert "web" in row["paths"] and not row["differ"]


def test_texts_of_a_campaign_are_many_and_differ(small_data: Path) -> None:
    maker = campaign.Maker(campaign.GROUPS, 3)
    texts = maker.texts(3000, 5)
    assert len(texts) == 3000
    assert len({*texts}) > 2500
    assert "" in texts and len({*"".join(texts)}) > 300
    assert maker.texts(3000, 5) != texts
    assert campaign.Maker(campaign.GROUPS, 3).texts(3000, 5) == texts
    kept, changed = (maker.windows("Rays of Light " * 90, 50, 20, changed=changed) for changed in (False, True))
    assert len(kept) == len(changed) == 50
    assert "".join(kept) in "Rays of Light " * 90 and "".join(changed) not in "Rays of Light " * 90


def test_a_campaign_names_a_difference(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(campaign, "FEW", 100)
    rows = campaign.compared(file_of(small_data, FILES[0]), None, 1)
    assert next(rows)["differ"] == []
    encode = subwords.Tokenizer.encode
    monkeypatch.setattr(subwords.Tokenizer, "encode", lambda self, text, **how: [*encode(self, text, **how), 7])
    found = next(rows)["differ"]
    assert len(found) == 100
    assert found[0]["path"] == "list" and found[0]["ids"] == [*found[0]["not"], 7]


def test_a_manifest_becomes_evidence(small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    path, record = file_of(small_data, FILES[0]), tmp_path / "evidence.json"
    manifest = campaign.manifest_of(tmp_path, path, sources_digest())
    counts = {"batch": {"texts": 7, "characters": 90}, "list": {"texts": 3, "characters": 10}}
    manifest |= {"paths": counts, "library": "tokenizers 9", "family": "BPE", "date": "2026-01-02"}
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "gpt2-tokenizer.json.json").write_text(json.dumps(manifest), "ascii")
    assert campaign.manifest_of(tmp_path / "one", path, sources_digest()) == manifest
    assert campaign.manifest_of(tmp_path / "one", path, "other kernels")["paths"] == {}
    assert campaign.totals(tmp_path / "one")["BPE"] == Counter(batch=7, list=3, texts=10, characters=100)
    for module in ("tools.campaign", "subwords.interop.evidence"):
        monkeypatch.setattr(f"{module}.RECORD", record)
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    page = tmp_path / "COMPATIBILITY.md"
    page.write_text(f"before\n{campaign.BEGIN}\nold\n{campaign.END}\nafter\n")
    campaign.write_evidence(tmp_path / "one")
    assert "| BPE | 1 | 10 | 100 | list: 3 | 0 |\n" in page.read_text() and "old" not in page.read_text()
    found = subwords.files.evidence(path)
    assert found and (found.texts, found.characters, found.library) == (10, 100, "tokenizers 9")
    monkeypatch.setattr("subwords.interop.evidence.sources_digest", lambda: "other kernels")
    assert not subwords.files.evidence(path) and subwords.files.evidence(path).texts == 10
    assert not subwords.files.evidence(Path(__file__))
    result = CliRunner().invoke(main, ["verify", str(path), "--evidence"])
    assert (result.exit_code, result.stdout.splitlines()[0].split()) == (1, ["covered", "no"])


def test_the_table_of_the_campaign_is_that_of_the_record() -> None:
    """The sentence of README too: it says no more millions than there are."""
    rows = json.loads(campaign.RECORD.read_bytes())
    page, readme = ((campaign.ROOT / name).read_text("utf-8") for name in ("COMPATIBILITY.md", "README.md"))
    assert page.partition(campaign.BEGIN)[2].partition(campaign.END)[0] == campaign.table_of(rows)
    found = re.search(r"\[(\d+) million more\]\(\S+\), (\d+) other", readme)
    assert found and int(found[1]) == sum(row["texts"] for row in rows) // 10**6
    assert int(found[2]) == sum(row["different"] for row in rows)


# ------------------------------------------------------------------ findings


@pytest.mark.parametrize("pattern", [r"\p{N]}", r"[^a\p{N]}]", r"\p{L+}", r"\P{ }}"])
def test_a_property_with_other_signs_is_refused_as_peers_refuse_it(pattern: str) -> None:
    with pytest.raises(subwords.InputError, match="a Unicode property at"):
        subwords.splitter(f"a|{pattern}")


def test_a_damaged_row_group_of_a_token_file_is_a_format_error(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "ids.parquet"
    rows = pyarrow.array([list(range(k, k + 500)) for k in range(9)], pyarrow.list_(pyarrow.uint32()))
    parquet.write_table(pyarrow.table({"input_ids": rows}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = np.zeros(len(data) // 2 - 4, np.uint8).tobytes()
    path.write_bytes(data)
    opened = subwords.files.open(path)
    with pytest.raises(subwords.FormatError, match="row group 0"):
        opened[0]


def test_deeply_nested_json_and_lone_surrogates_are_no_rule() -> None:
    subwords.splitter('{"a":' * 1_500)  # a pattern, as other text that is not JSON
    with pytest.raises(subwords.InputError, match="normalizer"):
        subwords.normalizer('{"a":' * 100_000)
    with pytest.raises(subwords.InputError, match="character 0 is the lone surrogate"):
        subwords.normalizer('[{"step": "SentencePiece", "user_symbols": ["\\ud800"]}]').normalize("a")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows", b"\r\\\v "),  # a vertical tab makes a row, which is no JSON
        ("corpus", bytes.fromhex("fdfb00 00000000ee00ade69687e5adddee")),  # a block that is one character, and a cap
    ],
)
def test_what_was_found(name: str, data: bytes) -> None:
    fuzz.TARGETS[name].run(data)


def test_a_row_group_with_fewer_documents_than_it_says_is_a_format_error(tmp_path: Path, monkeypatch: Any) -> None:
    from pyarrow import parquet

    path = tmp_path / "ids.parquet"
    parquet.write_table(pyarrow.table({"input_ids": [[1, 2], [3]]}), path)
    opened = subwords.files.open(path)
    read = parquet.ParquetFile.read_row_group
    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", lambda *args, **how: read(*args, **how).slice(0, 1))
    with pytest.raises(subwords.FormatError, match="expected 2 documents in row group 0, found 1"):
        opened[1]


def test_a_column_whose_name_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "ids.parquet"
    parquet.write_table(pyarrow.table({"input_ids": [[1, 2], [3]], "text": ["a", "b"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"input_ids", b"input\xff\xeb\xfes"))
    for read in (subwords.files.open, subwords.count, subwords.WordCounts.load):
        with pytest.raises((subwords.FormatError, subwords.CorpusError), match="parquet"):
            read(path)


def test_a_manifest_names_no_file_with_a_lone_surrogate(tmp_path: Path) -> None:
    subwords.load("demo").encode_files(["low"], tmp_path / "ids.npy")
    (path,) = tmp_path.glob("*.manifest.json")
    path.write_text(path.read_text("utf-8").replace('"ids.npy"', r'"\ud800.npy"'), "utf-8")
    with pytest.raises(subwords.FormatError, match="names of files beside the manifest"):
        subwords.files.check(path)


def test_a_kept_file_without_the_zeros_at_its_end_is_not_used() -> None:
    for size in (64, 1 << 16):
        content = bytes(k % 256 for k in range(size)) + bytes(16)
        assert store.checksum(bytearray(content), 8) != store.checksum(bytearray(content[:-4]), 8)


def test_an_unreachable_token_of_a_character_without_a_token_is_told(tmp_path: Path) -> None:
    made = model_class()()
    made.trainer_spec.model_type = Kind.BPE
    made.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    for at, piece in enumerate(("▁low", "▁lower", "l", "o", "w", "r", "▁lowe")):
        made.pieces.add(piece=piece.encode(), score=-at)
    (tmp_path / "a.model").write_bytes(made.SerializeToString())
    found = [each.message for each in subwords.study.audit(subwords.load(tmp_path / "a.model")).findings]
    assert any("('▁low' + 'e') makes it" in message for message in found)
