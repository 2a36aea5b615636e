"""`save` and `load` by file and by folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from building import write_json as write
from inside import formats_read
from small_data import file_of, is_small
from subwords import FormatError, InputError, Tokenizer


def trained(**options: Any) -> Tokenizer:
    options = {"vocab_size": 300, "special_tokens": ["<s>", "</s>"], "progress": False, **options}
    return subwords.train(["low lower lowest newer widest é中é中 it's 12 12  12\n\n"] * 9, **options)


def test_save_and_load_by_file_and_by_folder(tmp_path: Path) -> None:
    tok = trained()
    tok.save(tmp_path / "x.json")
    tok.save(tmp_path)
    beside = ["special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*beside, "x.json"]
    for place in (tmp_path / "x.json", str(tmp_path), tmp_path):
        got = subwords.load(place)
        assert got.encode("low <s> lowest") == tok.encode("low <s> lowest")
        assert got.special_tokens == {"<s>": 0, "</s>": 1}


def test_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = trained()
    path = tmp_path / "a.json"
    tok.save(path)
    old = path.read_bytes()

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trained(vocab_size=270).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_save_says_what_name_it_expects(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"ending in \.json, .* \.gguf, \.txt, or vocab\.json, merges\.txt, or a folder .*; not .*a\.bin",
    ):
        trained().save(tmp_path / "a.bin")
    with pytest.raises(FormatError, match=r"hold Unigram and character-level BPE models only"):
        trained().save(tmp_path / "a.model")
    with pytest.raises(InputError, match="none"):
        trained().save(tmp_path / "none" / "a.json")


def test_load_says_what_is_missing_or_unknown(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.json: No such file"):
        subwords.load(tmp_path / "none.json")
    with pytest.raises(FormatError, match=r"a file of a known name in this folder \(tokenizer\.json, .*\); or pass"):
        subwords.load(tmp_path)
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(FormatError, match=r"x is empty; expected a tokenizer file: tokenizer\.json"):
        subwords.load(tmp_path / "x")
    for data in (b"IQ== x\nIg== 1\n", b"\x08\x0e\x0a\x05<unk>"):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(FormatError, match=r"x begins with b.*; expected a tokenizer file: tokenizer\.json"):
            subwords.load(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\x0a\x0e\x0a\x05<unk>")
    with pytest.raises(FormatError, match=r"x: truncated, or not a SentencePiece file \(9 bytes\)"):
        subwords.load(tmp_path / "x")


@pytest.mark.parametrize("path", [None, 123, b"a.json", 2.5, ["a.json"], "a\0.json"])
def test_what_is_no_path_is_an_input_error(path: Any) -> None:
    for function in (subwords.load, trained().save):
        with pytest.raises(InputError, match=r"^expected a path .*, not "):
            function(path)


@pytest.mark.parametrize("folder", ["/sys/kernel", "/proc/1", "/dev/null"])
def test_places_that_nobody_can_write_in_name_the_file_given(folder: str) -> None:
    if not Path(folder).exists():
        pytest.skip(f"needs {folder}")
    with pytest.raises(InputError) as caught:
        trained().save(f"{folder}/a.json")
    assert folder in str(caught.value)
    assert ".tmp" not in str(caught.value)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 300}.json"
    with pytest.raises(InputError, match="File name too long"):
        trained().save(path)
    with pytest.raises(FormatError, match="File name too long"):
        subwords.load(path)


# ------------------------------------------------------------------ real files, and a small copy of each

LOADED = {
    "bert/bert-base-uncased-tokenizer.json": 30522,
    "clip/tokenizer.json": 49408,
    "gpt-neox/tokenizer.json": 50277,
    "gpt2/tokenizer.json": 50257,
    "roberta/tokenizer.json": 50265,
    "phi-2/tokenizer.json": 50295,
    "falcon/tokenizer.json": 65024,
    "phi-3/tokenizer.json": 32011,
    "converted/cl100k_base.tokenizer.json": 100277,
    "converted/qwen3.tokenizer.json": 151669,
}


def ids_in(path: Path) -> set[int]:
    top = json.loads(path.read_text("utf-8"))
    return {*top["model"]["vocab"].values(), *(token["id"] for token in top["added_tokens"])}


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("name", LOADED)
def test_real_file_gives_hf_ids_and_is_written_as_hf_would(name: str, data: Path) -> None:
    path = file_of(data, name)
    tok = subwords.load(path)
    # The ids of HF where it honours those of the file; where it does not, of what is written from here.
    written = write(tok)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    if "cl100k" in name:
        assert theirs.token_to_id("<|endoftext|>") == tok.special_tokens["<|endoftext|>"] - 1  # in the file
        theirs = tokenizers.Tokenizer.from_buffer(written)
    assert tok.vocab_size == (1 + max(ids_in(path)) if is_small(data) else LOADED[name])
    ref = theirs.to_str(pretty=True)
    ref = ref.replace('_prefix": ""', '_prefix": null').replace('_suffix": ""', '_suffix": null')
    if is_small(data) or name.startswith(("bert", "phi-2", "converted")):  # the others leave out a field of ByteLevel
        assert written.decode() == ref
    special = "<|endoftext|> x <mask>\n</s>" + "".join(token.content for token in tok.added_tokens)
    for text in [
        "".join(map(chr, range(1, 700))),
        "low  lower\n\n  it's 12,345 é中😀\x00\x7f",
        special,
        (data / "corpora" / "multilingual.txt").read_text()[:20_000],
    ]:
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, special="allow") == ids
        assert tok.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


def test_a_packed_file_that_is_cut_or_damaged_is_refused(tmp_path: Path) -> None:
    """A part of a vocabulary is another tokenizer, so nothing of it is read."""
    path = tmp_path / "vocab.txt.gz"
    packed = gzip.compress(b"[UNK]\n" + b"".join(b"word%d\n" % n for n in range(5000)))
    for data in (packed[: len(packed) // 2], packed[:-1], packed[:-6] + b"xx" + packed[-4:], packed + b"x" * 20):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"vocab\.txt\.gz: expected a file that gzip can unpack"):
            subwords.load(path)


def test_a_packed_file_unpacks_to_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats_read, "_MOST_UNPACKED", 1 << 20)
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"a\n" * (1 << 20)))
    with pytest.raises(FormatError, match=r"expected at most 1,048,576 bytes when it is unpacked"):
        subwords.load(tmp_path / "vocab.txt.gz")
