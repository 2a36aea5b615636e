"""verify: a saved tokenizer in its own library; the first difference is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import TEXT, json_of, run
from inside import PROBES
from small_data import file_of
from subwords import AddedToken, FormatError, InputError, Tokenizer

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


# ------------------------------------------------------------------
# convert: another format with the same ids, or nothing


def test_json_to_ranks_and_back(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    found = subwords.files.convert(tok_path, tmp_path / "x.tiktoken", source=[TEXT])
    assert found.lost == ("splitter", "special_tokens")
    assert (found.path, found.different, found.difference) == (tmp_path / "x.tiktoken", 0, None)
    with pytest.raises(FormatError, match="no splitter"):
        subwords.files.convert(tmp_path / "x.tiktoken", tmp_path / "y.json")
    assert not (tmp_path / "y.json").exists()
    subwords.files.convert(tmp_path / "x.tiktoken", tmp_path / "y.json", splitter="o200k", special_ids={"<s>": 0})
    again = subwords.load(tmp_path / "y.json")
    for special in ("text", "allow"):
        assert again.encode(TEXT, special=special) == tok.encode(TEXT, special=special)


def test_json_to_vocab_and_merges_and_gguf(tmp_path: Path) -> None:
    tok, tok_path = subwords.train([TEXT], vocab_size=270, splitter="gpt2", special_tokens=["<s>"]), tmp_path / "x.json"
    tok.save(tok_path)
    found = subwords.files.convert(tok_path, tmp_path / "vocab.json", source=[TEXT])
    assert (found.lost, found.different) == (("splitter", "special_tokens"), 0)
    assert {path.name for path in tmp_path.iterdir()} == {"vocab.json", "merges.txt", "x.json"}
    again = subwords.load(tmp_path / "merges.txt", special_ids={"<s>": 0})
    assert again.encode(f"{TEXT}<s>", special="allow") == tok.encode(f"{TEXT}<s>", special="allow")
    assert not subwords.files.convert(tok_path, tmp_path / "a.gguf", source=[TEXT]).different


def test_json_to_folder_and_vocab_txt(tmp_path: Path) -> None:
    subwords.train([TEXT], algorithm="wordpiece", vocab_size=60).save(tmp_path / "a.json")
    found = subwords.files.convert(tmp_path / "a.json", f"{tmp_path}/folder/")
    assert (found.same_parts, found.lost, found.different) == (True, (), 0)
    assert subwords.load(tmp_path / "folder") == subwords.load(tmp_path / "a.json")
    assert subwords.files.convert(tmp_path / "folder", tmp_path / "vocab.txt").same_parts
    assert subwords.files.convert(tmp_path / "vocab.txt", tmp_path / "b.json").same_parts
    again = subwords.load(tmp_path / "b.json")
    assert again.encode(TEXT) == subwords.load(tmp_path / "a.json").encode(TEXT)


@pytest.mark.parametrize("changes", [{"normalizer": "lowercase"}, {"normalizer": "bert-cased"}, {"splitter": "gpt2"}])
def test_vocab_txt_states_no_rules(changes: dict[str, Any], tmp_path: Path) -> None:
    tok = subwords.train([TEXT], algorithm="wordpiece", vocab_size=60)
    tok.with_(**changes).save(tmp_path / "a.json")
    with pytest.raises(FormatError, match=r"a vocab\.txt holds tokens only"):
        subwords.files.convert(tmp_path / "a.json", tmp_path / "vocab.txt")
    assert not (tmp_path / "vocab.txt").exists()


def test_model_to_json_and_back(tmp_path: Path) -> None:
    subwords.train([TEXT], algorithm="unigram", vocab_size=40).save(tmp_path / "a.model")
    found = subwords.files.convert(tmp_path / "a.model", tmp_path / "b.json", source=[TEXT])
    assert (found.different, found.lost) == (0, ())
    subwords.files.convert(tmp_path / "b.json", tmp_path / "c.model")
    assert subwords.load(tmp_path / "c.model").encode(TEXT) == subwords.load(tmp_path / "a.model").encode(TEXT)


def test_a_character_map_is_other_ids_in_json(data: Path, tmp_path: Path) -> None:
    source = file_of(data, "t5/spiece.model")
    with pytest.raises(FormatError, match=r"nothing was written, because ids would change: probe .*: token"):
        subwords.files.convert(source, tmp_path / "t5.json")
    assert [*tmp_path.iterdir()] == []
    found = subwords.files.convert(source, tmp_path / "t5.json", allow_different=True)
    assert 0 < found.different < found.texts
    assert found.difference is not None
    assert (tmp_path / "t5.json").exists()


def test_a_flag_without_effect_is_no_reason_to_refuse(tok: Tokenizer, tmp_path: Path) -> None:
    """GPT-2's tokenizer.json marks <|endoftext|> as normalized, and has no normalizer."""
    tok.with_(added_tokens=[AddedToken("<s>", 0, normalized=True)]).save(tmp_path / "a.json")
    assert not subwords.files.convert(tmp_path / "a.json", tmp_path / "a.tiktoken").different
    subwords.load(tmp_path / "a.json").save(tmp_path / "saved.tiktoken")
    assert (tmp_path / "saved.tiktoken").read_bytes() == (tmp_path / "a.tiktoken").read_bytes()
    tok.with_(added_tokens=[AddedToken("<s>", 0, lstrip=True)]).save(tmp_path / "b.json")
    with pytest.raises(FormatError, match="without options"):
        subwords.files.convert(tmp_path / "b.json", tmp_path / "b.tiktoken")


def test_what_is_lost_is_named(tmp_path: Path) -> None:
    tok = subwords.train([TEXT], vocab_size=280, special_tokens=["<a>", "<b>"])
    tok.with_(chat_template="{{ x }}", roles={"bos": "<a>"}).save(f"{tmp_path}/folder/")
    assert subwords.files.convert(tmp_path / "folder", tmp_path / "a.json").lost == ("chat_template", "roles")
    assert subwords.files.convert(tmp_path / "folder", f"{tmp_path}/other/").lost == ()


def test_the_old_file_stays_if_ids_would_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subwords.train([TEXT], vocab_size=280).save(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("as it was")
    other = subwords.train([TEXT], vocab_size=270)
    # What is read again is another tokenizer.
    monkeypatch.setitem(subwords.files.convert.__globals__, "load", lambda *_, **__: other)
    with pytest.raises(FormatError, match="ids would change"):
        subwords.files.convert(tmp_path / "a.json", tmp_path / "b.json")
    assert (tmp_path / "b.json").read_text() == "as it was"


def test_wrong_arguments(tok_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="are the same"):
        subwords.files.convert(tok_path, tok_path)
    with pytest.raises(InputError, match="ending in"):
        subwords.files.convert(tok_path, tmp_path / "x.bin")
    with pytest.raises(FormatError, match="Unigram and character-level"):
        subwords.files.convert(tok_path, tmp_path / "x.model")
    with pytest.raises(InputError, match="splitter is for files without one"):
        subwords.files.convert(tok_path, tmp_path / "x.json", splitter="gpt2")
    with pytest.raises(InputError, match="allow_different"):
        subwords.files.convert(tok_path, tmp_path / "x.json", allow_different=1)  # type: ignore[arg-type]
    assert [*tmp_path.iterdir()] == []


def test_command(tok_path: Path, tok: Tokenizer, corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.tiktoken"
    got = json_of("convert", tok_path, out, "--source", corpus_path)
    assert got["saved"] == str(out)
    assert (got["different"], got["difference"], got["lost"]) == (0, None, ["splitter", "special_tokens"])
    back = ["convert", out, tmp_path / "y.json", "--splitter", "o200k", "--special-ids", json.dumps({"<s>": 0})]
    assert "saved\t" in run(*back).stdout
    assert subwords.load(tmp_path / "y.json").encode(TEXT) == tok.encode(TEXT)
    assert "are the same" in run("convert", tok_path, tok_path, code=1).stderr
    assert "no splitter" in run("convert", out, tmp_path / "z.json", code=1).stderr


def test_command_allows_differences(small_data: Path, tmp_path: Path) -> None:
    source = file_of(small_data, "t5/spiece.model")
    assert "nothing was written" in run("convert", source, tmp_path / "a.json", code=1).stderr
    assert "first difference\tprobe" in run("convert", source, tmp_path / "a.json", "--allow-different").stdout
