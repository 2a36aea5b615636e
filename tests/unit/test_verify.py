"""verify: a saved tokenizer in its own library; the first difference is named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import TEXT, json_of, run
from subwords import Tokenizer
from subwords.compat import comparison
from subwords.compat.comparison import Side, Text, compare, texts_of
from subwords.compat.originals import pattern_of
from subwords.compat.probes import PROBES
from subwords.components.splitter import NAMED
from subwords.errors import CorpusError, FormatError, InputError
from subwords.verify import verify


def unigram() -> Tokenizer:
    return subwords.train([TEXT], algorithm="unigram", vocab_size=40)


def wordpiece() -> Tokenizer:
    return subwords.train([TEXT], algorithm="wordpiece", vocab_size=60)


@pytest.mark.parametrize("name", ["tok.json", "folder/", "tok.tiktoken"])
def test_bpe_in_its_own_libraries(name: str, tok: Tokenizer, corpus_path: Path, tmp_path: Path) -> None:
    if name == "folder/":
        pytest.importorskip("transformers")
    tok.save(f"{tmp_path}/{name}")
    found = subwords.verify(tmp_path / name, [corpus_path], tokenizer=tok, progress=False)
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
    found = subwords.verify(tmp_path / name, [TEXT])
    assert (bool(found), found.special) == (True, special)


def test_a_damaged_export_is_named(tok_path: Path, tmp_path: Path) -> None:
    document = json.loads(tok_path.read_text("utf-8"))
    document["model"]["merges"].pop()  # the last merge makes " lowest" or the like
    (tmp_path / "bad.json").write_text(json.dumps(document), "utf-8")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"nothing here\nnor here\n{TEXT}", "utf-8")
    found = subwords.verify(tmp_path / "bad.json", corpus, tokenizer=tok_path)
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
    assert subwords.verify(tmp_path, [TEXT])
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    config["tokenizer_class"] = "GPT2Tokenizer"  # builds its own pipeline and drops the file's
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    found = subwords.verify(tmp_path)
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
    assert subwords.verify(tmp_path / "cut.json", [TEXT])


def test_an_export_that_cannot_be_loaded(tmp_path: Path, tok: Tokenizer) -> None:
    with pytest.raises(FormatError, match="No such file"):
        subwords.verify(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(FormatError, match=r"tokenizers .* cannot load it"):
        subwords.verify(tmp_path / "broken.json", tokenizer=tok)
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(InputError, match="no library reads"):
        subwords.verify(tmp_path / "merges.txt", tokenizer=tok)
    (tmp_path / "x.tiktoken").write_text("IQ== 0\n")
    with pytest.raises(FormatError, match="no splitter"):
        subwords.verify(tmp_path / "x.tiktoken")
    with pytest.raises(InputError, match="those of the tokenizer"):
        subwords.verify(tmp_path / "x.tiktoken", tokenizer=tok, splitter="gpt2")
    found = subwords.verify(tmp_path / "x.tiktoken", tokenizer=tok).difference
    assert found is not None
    assert "PanicException" in (found.reason or "")  # tiktoken notices missing bytes only in a text


def test_a_missing_library_is_named(tok_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match="needs the package tokenizers: pip install tokenizers"):
        subwords.verify(tok_path)


def test_the_name_is_the_function_whatever_was_imported_first() -> None:
    import importlib

    importlib.reload(importlib.import_module("subwords.verify"))
    assert callable(subwords.verify)
    assert subwords.verify is not None
    assert verify.__name__ == "verify"


def test_patterns_for_tiktoken() -> None:
    assert pattern_of(NAMED["cl100k"]).startswith("'(?i:")
    for rule in ((), NAMED["bert"]):
        with pytest.raises(InputError, match="one pattern"):
            pattern_of(rule)


# --- texts


def test_places_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("é b\nc\n\nlast".encode())
    lines = [Text(text, str(path), line) for line, text in enumerate(["é b\n", "c\n", "\n", "last"], 1)]
    assert [*texts_of([path, path])] == [*lines, *lines]
    assert [*texts_of([path], documents="file")] == [Text("é b\nc\n\nlast", str(path))]
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [text.text for text in texts_of(packed)] == [text.text for text in lines]
    assert [*texts_of(["a\nb", "", "c"])] == [Text("a\nb", "text 0"), Text("", "text 1"), Text("c", "text 2")]
    monkeypatch.setattr(comparison, "_LONGEST", 4)
    cut = [*texts_of([path], documents="file")]
    assert "".join(text.text for text in cut) == "é b\nc\n\nlast"
    for text in cut:  # lines from 1, characters from 0
        before = "é b\nc\n\nlast"[: "".join(each.text for each in cut).index(text.text)]
        assert (text.line, text.character) == (before.count("\n") + 1, len(before) - before.rfind("\n") - 1)
    assert [*texts_of(["ab\ncdefghi"])] == [
        Text("ab\nc", "text 0", 1, 0),
        Text("defg", "text 0", 2, 1),
        Text("hi", "text 0", 2, 5),
    ]


def test_wrong_sources() -> None:
    with pytest.raises(CorpusError, match="no file"):
        [*texts_of("absent.txt")]
    with pytest.raises(InputError, match="text 1: expected str"):
        [*texts_of(["a", 1])]  # type: ignore[list-item]
    with pytest.raises(InputError, match="documents"):
        texts_of(["a"], documents="word")  # type: ignore[arg-type]


# --- comparing


def side(encode: Callable[[list[str]], Any]) -> Side:
    return Side("it", encode, chr, lambda text: range(len(text)))


def code_points(texts: list[str]) -> list[list[int]]:
    return [[*map(ord, text)] for text in texts]


def refusing(texts: list[str]) -> list[list[int]]:
    if any("!" in text for text in texts):
        raise ValueError("no !\nplease")
    return code_points(texts)


def shifted(texts: list[str]) -> list[list[int]]:
    return [[*map(ord, text.replace("x", ""))] for text in texts]


@pytest.mark.parametrize("longest", [1, 1 << 18])
def test_the_first_difference(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_LONGEST", longest)
    texts = [Text(text, "p", 3, 2) for text in ("ab", "c\ndxe", "x")]
    found = compare(texts, side(code_points), side(shifted))
    assert (found.texts, found.tokens, found.different) == (2, 2, 1)
    assert found.difference is not None
    place = found.difference
    assert (place.line, place.character, place.index, place.ours, place.theirs) == (4, 1, 3, (120, "x"), (101, "e"))
    assert (place.before, place.after) == ("c\nd", "xe")
    last = compare(texts[2:], side(code_points), side(shifted)).difference
    assert last is not None
    assert (last.line, last.character, last.ours, last.theirs) == (3, 2, (120, "x"), None)
    assert "missing there" in str(last)
    whole = compare(texts, side(code_points), side(shifted), whole=True)
    assert (whole.texts, whole.different, whole.difference) == (3, 2, place)
    assert (whole + found).different == 3


def test_texts_that_one_of_them_refuses() -> None:
    texts = [Text(text, "p") for text in ("a", "b!", "c")]
    found = compare(texts, side(code_points), side(refusing)).difference
    assert found is not None
    assert (found.reason, found.after) == ("it raises ValueError: no !", "b!")
    assert compare(texts, side(refusing), side(refusing)).difference is None
    assert "it raises" in str(compare(texts, side(refusing), side(code_points)).difference)

    def interrupted(texts: list[str]) -> list[list[int]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(texts, side(code_points), side(interrupted))


# --- the command


def test_command_says_equal(tok_path: Path, corpus_path: Path) -> None:
    got = json_of("verify", tok_path, "--against", corpus_path)
    assert (got["equal"], got["difference"]) == (True, None)
    assert got["texts"] == len(PROBES) + 1 + TEXT.count("\n")
    assert "equal\tyes\n" in run("verify", tok_path).stdout


def test_command_names_the_difference(tok_path: Path, tmp_path: Path) -> None:
    wordpiece().save(tmp_path / "other.json")
    options = ["verify", tmp_path / "other.json", "--tokenizer", tok_path]
    from click.testing import CliRunner

    from subwords.cli import main

    got = CliRunner().invoke(main, [*map(str, options), "--json"])
    assert got.exit_code == 1
    found = json.loads(got.stdout)
    assert found["equal"] is False
    assert found["difference"]["place"] == "probe (empty)"
    assert found["difference"]["theirs"]["token"] == "[CLS]"
    shown = CliRunner().invoke(main, [*map(str, options)])
    assert shown.exit_code == 1
    assert "first difference\tprobe (empty), line 1, character 0" in shown.stdout


def test_command_with_ranks_and_options(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "x.tiktoken")
    given = ["--splitter", "gpt2", "--special-tokens", '{"<s>": 0}']
    assert json_of("verify", tmp_path / "x.tiktoken", *given)["library"].startswith("tiktoken")
    assert "no splitter" in run("verify", tmp_path / "x.tiktoken", code=1).stderr
    for wrong in ("<s>=0", '["<s>"]', '{"<s>": "0"}', "[" * 100_000):
        assert "--special-tokens" in run("verify", "x", "--special-tokens", wrong, code=2).stderr
    assert "No such option" in run("verify", tmp_path, "--nothing", code=2).stderr
