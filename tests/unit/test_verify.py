"""verify: a saved tokenizer in its own library; the first difference is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import subwords
from commands import TEXT
from inside import PROBES
from subwords import FormatError, InputError, Tokenizer

LINES = subwords.Reading(documents="line")


def unigram() -> Tokenizer:
    return subwords.train([TEXT], algorithm="unigram", vocab_size=40)


def wordpiece() -> Tokenizer:
    return subwords.train([TEXT], algorithm="wordpiece", vocab_size=60)


@pytest.mark.parametrize("name", ["tok.json", "folder/", "tok.tiktoken"])
def test_bpe_in_its_own_libraries(name: str, tok: Tokenizer, corpus_path: Path, tmp_path: Path) -> None:
    if name == "folder/":
        pytest.importorskip("transformers")
    tok.save(f"{tmp_path}/{name}")
    found = subwords.files.verify(tmp_path / name, [corpus_path], other=tok, reading=LINES, progress=False)
    assert found
    assert found.difference is None
    assert found.special == "allow"
    assert found.texts == len(PROBES) + 1 + TEXT.count("\n")  # the probes, one that spells <s>, and the lines
    assert found.library.split()[0] == {"tok.json": "tokenizers", "folder/": "transformers"}.get(name, "tiktoken")


@pytest.mark.parametrize(
    ("name", "make", "special"),
    [("tok.model", unigram, "text"), ("tok.json", unigram, "allow"), ("vocab.txt", wordpiece, "allow")],
)
def test_other_models(name: str, make: Callable[[], Tokenizer], special: str, tmp_path: Path) -> None:
    make().save(tmp_path / name)
    found = subwords.files.verify(tmp_path / name, [TEXT])
    assert (bool(found), found.special) == (True, special)


def test_a_damaged_export_is_named(tok_path: Path, tmp_path: Path) -> None:
    document = json.loads(tok_path.read_text("utf-8"))
    document["model"]["merges"].pop()  # the last merge makes " lowest" or the like
    (tmp_path / "bad.json").write_text(json.dumps(document), "utf-8")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"nothing here\nnor here\n{TEXT}", "utf-8")
    found = subwords.files.verify(tmp_path / "bad.json", corpus, other=tok_path, reading=LINES)
    assert not found
    difference = found.difference
    assert difference is not None
    tok = subwords.load(tok_path)
    assert difference.place == str(corpus)
    line = corpus.read_text("utf-8").split("\n")[difference.line - 1]
    assert line[: difference.character].endswith(difference.before)
    assert f"{line}\n"[difference.character :].startswith(difference.after)
    encoding = tok(f"{line}\n", special="allow")
    assert encoding.spans[difference.index, 0] == difference.character
    assert difference.ours == (encoding.ids[difference.index], encoding.file_tokens[difference.index])
    assert difference.theirs is not None
    assert difference.theirs != difference.ours
    assert f"line {difference.line}, character {difference.character}" in str(difference)


def test_a_folder_that_transformers_changes(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tok = subwords.train([TEXT], vocab_size=280, splitter="o200k")
    tok.save(f"{tmp_path}/")
    assert subwords.files.verify(tmp_path, [TEXT])
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    config["tokenizer_class"] = "GPT2Tokenizer"  # builds its own pipeline and drops the file's
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.warns(subwords.SubwordsWarning, match="GPT2Tokenizer"):
        found = subwords.files.verify(tmp_path)
    assert found.difference is not None
    assert found.difference.place.startswith("probe (")


def test_padding_and_truncation_are_off(tok_path: Path, tmp_path: Path) -> None:
    document = json.loads(tok_path.read_text("utf-8"))
    document["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    document["padding"] = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<s>",
    }
    (tmp_path / "cut.json").write_text(json.dumps(document), "utf-8")
    assert subwords.files.verify(tmp_path / "cut.json", [TEXT])


def test_an_export_that_cannot_be_loaded(tmp_path: Path, tok: Tokenizer) -> None:
    with pytest.raises(FormatError, match="No such file"):
        subwords.files.verify(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(FormatError, match=r"tokenizers .* cannot load it"):
        subwords.files.verify(tmp_path / "broken.json", other=tok)
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(InputError, match="no library reads"):
        subwords.files.verify(tmp_path / "merges.txt", other=tok)
    (tmp_path / "x.tiktoken").write_text("IQ== 0\n")
    with pytest.raises(FormatError, match="no splitter"):
        subwords.files.verify(tmp_path / "x.tiktoken")
    with pytest.raises(InputError, match="those of the tokenizer"):
        subwords.files.verify(tmp_path / "x.tiktoken", other=tok, splitter="gpt2")
    found = subwords.files.verify(tmp_path / "x.tiktoken", other=tok).difference
    assert found is not None
    assert "PanicException" in (found.reason or "")  # tiktoken notices missing bytes only in a text


def test_a_missing_library_is_named(tok_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match=r"needs the package tokenizers: pip install .*\[verify\]"):
        subwords.files.verify(tok_path)
