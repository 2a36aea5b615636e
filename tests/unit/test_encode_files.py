"""encode_files: the ids of a corpus on disk are those of `encode_batch`, however it is read, cut and threaded."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import subwords
from seeds import seed_of_run
from small_data import file_of
from subwords import InputError, files

SEED = seed_of_run()
FILES = ("gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "t5/spiece.model", "phi-3/tokenizer.json")
WORDS = ["the", "lowest", "né", "中文", "\n", "  ", "1234", "don't", "<|endoftext|>", "😀"]


def small() -> subwords.Tokenizer:
    return subwords.train(["the lowest né 中文 don't"] * 9, vocab_size=280, special_tokens=["<end>", "<begin>"])


def texts_of(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.choice([1, 3, 30, 2000]))) for _ in range(count)]


def rows(path: Path) -> list[list[int]]:
    return [ids.tolist() for ids in files.open(path)]


@pytest.mark.parametrize("name", FILES)
def test_ids_are_those_of_a_batch(data: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tok, texts = subwords.load(file_of(data, name)), texts_of(SEED, 30)
    expected = tok.encode_batch(texts).to_lists()
    made = tok.encode_files(iter(texts), tmp_path / "ids.npy")
    assert rows(tmp_path / "ids.npy") == expected
    for block, threads in ((1 << 12, 1), (1000, 2), (1 << 14, 3)):
        monkeypatch.setattr("subwords.scale.job.BLOCK", block)
        assert tok.encode_files(iter(texts), tmp_path / "ids.npy", threads=threads) == made


@pytest.mark.parametrize("name", FILES)
def test_one_long_document_is_cut_where_no_id_changes(
    data: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok, text = subwords.load(file_of(data, name)), " ".join(texts_of(SEED + 1, 60))
    (tmp_path / "x.txt").write_text(text, "utf-8", newline="")
    monkeypatch.setattr("subwords.scale.job.BLOCK", 10_000)
    tok.encode_files(tmp_path / "x.txt", tmp_path / "ids.npy")
    assert rows(tmp_path / "ids.npy") == [tok.encode(text)]


def test_special_tokens_in_text(tmp_path: Path) -> None:
    tok = small()
    for special in ("text", "allow"):
        tok.encode_files(iter(["the<end>the"]), tmp_path / "ids.npy", special=special)  # type: ignore[arg-type]
        assert rows(tmp_path / "ids.npy") == [tok.encode("the<end>the", special=special)]
    with pytest.raises(InputError):
        tok.encode_files(iter(["the<end>the"]), tmp_path / "ids.npy", special="error")


@pytest.mark.parametrize("form", ["npy", "bin", "megatron", "parquet", "datatrove", "llmc"])
def test_formats_with_ends_shards_and_manifest(tmp_path: Path, form: Any) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    tok, texts = small(), texts_of(SEED + 2, 40)
    expected = [[tok.vocab[b"<begin>"], *ids, tok.vocab[b"<end>"]] for ids in tok.encode_batch(texts).to_lists()]
    made = tok.encode_files(
        iter(texts), tmp_path / "x.bin", format=form, bos="<begin>", eos=tok.vocab[b"<end>"], shard_size=1000
    )
    assert rows(tmp_path / "x.manifest.json") == expected
    assert len(made.shards) > 2
    assert files.check(tmp_path / "x.manifest.json") == []
    told = json.loads((tmp_path / "x.manifest.json").read_text())["contents"]
    assert (told["tokenizer"], told["eos"], told["format"]) == (tok.spec.digest, tok.vocab[b"<end>"], form)


def test_rows_of_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    tok = small()
    (tmp_path / "x.jsonl").write_text('{"body": "the the"}\n{"body": null}\n{"body": "né"}\n')
    made = tok.encode_files(tmp_path, tmp_path / "x.npy", reading=subwords.Reading(text_column="body", errors="skip"))
    assert rows(tmp_path / "x.npy") == [tok.encode("the the"), tok.encode("né")]
    assert made.contents.skipped == 1


def test_no_documents_at_all(tmp_path: Path) -> None:
    made = small().encode_files(iter([""]), tmp_path / "x.npy")
    assert (made.shards[0].documents, rows(tmp_path / "x.npy")) == (0, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eos": "<none>"}, "expected eos to be an id or a token"),
        ({"bos": 10**6}, "expected bos"),
        ({"dtype": "int32"}, "format npy holds ids as uint16 or uint32"),
        ({"format": "hdf5"}, "format"),
        ({"shard_size": 0}, "shard_size"),
        ({"special": "drop"}, "special"),
        ({"reading": "page"}, "reading"),
    ],
)
def test_invalid_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small().encode_files(iter(["a"]), tmp_path / "x.npy", **options)
    assert not [*tmp_path.iterdir()]
