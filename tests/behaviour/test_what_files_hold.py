"""What a file does not hold is refused or said; where a tokenizer is written, one rule says."""

from __future__ import annotations

import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import json_of, run
from subwords import FormatError, InputError, SubwordsWarning, Tokenizer

TEXT = "low lower lowest slow slowly\n" * 40
CHAT = "{{ messages }}"
BERT = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4, "##b": 5, "c": 6}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text(TEXT)
    return tmp_path / "corpus.txt"


def chatty(**options: Any) -> Tokenizer:
    special = ["<|endoftext|>", "<|im_end|>"]
    tok = subwords.train([TEXT], vocab_size=266, special_tokens=special, roles={"eos": "<|im_end|>"}, **options)
    return tok.with_(chat_template=CHAT)


def said(save: Any, path: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save(path)
    assert all(issubclass(one.category, SubwordsWarning) for one in caught)
    return [str(one.message) for one in caught]


# ------------------------------------------------------------------ folders as output

COMMANDS: dict[str, list[str]] = {
    "train": ["train", "CORPUS", "--vocab-size", "266", "--special-token", "<|im_end|>", "--role", "eos=<|im_end|>"],
    "train --algorithm mingram": ["train", "CORPUS", "--algorithm", "mingram", "--vocab-size", "16"],
    "train-parity": [
        "research",
        "train-parity",
        "--language",
        "a=CORPUS",
        "--language",
        "b=CORPUS",
        "--vocab-size",
        "262",
    ],
    "extend": ["adapt", "extend", "TOK", "CORPUS", "--count", "1"],
    "prune": ["adapt", "prune", "TOK", "--drop", "265"],
    "replace": ["adapt", "replace", "TOK", "CORPUS", "--count", "1"],
    "merge": ["adapt", "merge", "TOK", "OTHER"],
    "convert": ["convert", "TOK"],
}


def arguments(command: str, tok: Path, corpus: Path) -> list[str]:
    subwords.train(["zz zz"], vocab_size=257).save(corpus.with_name("other.json"))
    return [
        word.replace("TOK", str(tok))
        .replace("OTHER", str(corpus.with_name("other.json")))
        .replace("CORPUS", str(corpus))
        for word in COMMANDS[command]
    ]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", ["new/", "there", "there/"])
def test_every_command_writes_folders(command: str, place: str, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    chatty().save(f"{tmp_path}/tok/")
    target = f"{tmp_path}/{place}"
    words = arguments(command, tmp_path / "tok", corpus)
    done = run(*words, *([] if command == "convert" else ["-o"]), target)
    assert "warning" not in done.stderr
    assert target in done.stdout or command in ("convert", "train-parity")
    tok = subwords.load(target)
    if not command.startswith("train"):
        assert (tok.roles["eos"], tok.spec.chat_template) == (tok.token_to_id("<|im_end|>"), CHAT)
    if command == "train":
        assert tok.roles["eos"] == tok.token_to_id("<|im_end|>")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("place", "code"), [("none/new/", 1), ("a.bin", 2), ("none/a.json", 1)])
def test_a_place_that_cannot_be_written_is_an_error_before_the_work(
    command: str, place: str, code: int, corpus: Path, tmp_path: Path
) -> None:
    if command == "convert":
        code = 1
    chatty().save(f"{tmp_path}/tok/")
    target = f"{tmp_path}/{place}"
    words = arguments(command, tmp_path / "tok", corpus)
    error = run(*words, *([] if command == "convert" else ["-o"]), target, code=code).stderr
    assert str(tmp_path / "none") in error or "a.bin" in error
    assert "counting" not in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt", "other.json", "tok"]


@pytest.mark.parametrize("command", ["extend", "prune", "replace", "merge"])
def test_a_json_file_loses_roles_and_chat_template_with_one_warning(command: str, corpus: Path, tmp_path: Path) -> None:
    chatty().save(f"{tmp_path}/tok/")
    error = run(*arguments(command, tmp_path / "tok", corpus), "-o", f"{tmp_path}/x.json").stderr
    assert error == (
        "subwords: warning: x.json does not hold chat template and roles: save to a folder to keep everything\n"
    )


# ------------------------------------------------------------------ what formats hold

KINDS: dict[str, tuple[dict[str, Any], str]] = {
    ".json": ({}, "chat template and roles"),
    ".tiktoken": ({}, "splitter, special tokens, chat template and roles: load it with splitter='o200k', "),
    ".gguf": ({"splitter": "gpt2"}, ""),
    "vocab.json": ({"splitter": "gpt2"}, "special tokens, chat template and roles: load it with special_ids="),
    ".model": ({"byte_level": False, "splitter": "sentencepiece", "normalizer": "sentencepiece"}, "chat template"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_format_loses_is_said(kind: str, tmp_path: Path) -> None:
    options, lost = KINDS[kind]
    if kind == ".model":
        tok = subwords.train([TEXT], algorithm="unigram", vocab_size=20).with_(chat_template=CHAT)
    else:
        tok = chatty(**options)
    found = said(tok.save, tmp_path / (kind if kind == "vocab.json" else f"x{kind}"))
    assert len(found) == bool(lost)
    assert lost in "".join(found)
    assert said(tok.save, f"{tmp_path}/folder/") == []
    again = subwords.load(tmp_path / "folder")
    assert (again.encode(TEXT), again.roles, again.spec.chat_template) == (tok.encode(TEXT), tok.roles, CHAT)


SPACES = ["low", " low", "  low  lower ", "low\tlow", "low ▁lower", "\u3000low\u3000 low", "", " "]


@pytest.mark.parametrize(
    "field", ["add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_suffix"]
)
@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
@pytest.mark.parametrize("name", ["x.model", "x.json"])
def test_every_setting_of_a_normalizer_comes_back(
    name: str, algorithm: Any, field: str, value: bool, tmp_path: Path
) -> None:
    """A tokenizer that was not read from a file, with each setting on and off; or HF has no such normalizer."""
    options: dict[str, Any] = {"splitter": "none", "unk_token": "<unk>", "special_tokens": ["<unk>"]}
    options |= {"byte_level": False, "fuse_unk": True} if algorithm == "bpe" else {}
    first = subwords.train([TEXT], algorithm=algorithm, vocab_size=30, normalizer="sentencepiece", **options)
    (step,) = first.spec.normalizer
    tok = first.with_(normalizer=[replace(step, **{field: value})])
    if name == "x.json" and (field, value) in (("escape_whitespaces", False), ("whitespace_suffix", True)):
        with pytest.raises(FormatError, match=r"write a \.model file"):
            tok.save(tmp_path / name)
        return
    for _ in range(2):
        tok.save(tmp_path / name)
        again = subwords.load(tmp_path / name)
        assert again.spec.normalizer == tok.spec.normalizer or name == "x.json"
        assert [again.encode(text) for text in SPACES] == [tok.encode(text) for text in SPACES]
        tok = again


@pytest.mark.parametrize("flag", ["special", "single_word", "lstrip", "rstrip", "normalized"])
@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("name", ["x.json", "folder/"])
def test_every_flag_of_an_added_token_comes_back(name: str, flag: str, value: bool, tmp_path: Path) -> None:
    tok = chatty(normalizer="lowercase").with_tokens(["<x>", "<Y>"], **{flag: value})
    said(tok.save, f"{tmp_path}/{name}")
    again = subwords.load(tmp_path / name)
    assert again.spec.added_tokens == tok.spec.added_tokens
    for text in ("a <x> b", "a<x>b", "<Y> <y>"):
        assert again.encode(text, special="allow") == tok.encode(text, special="allow")


def test_a_rank_file_says_how_to_load_it(tmp_path: Path, corpus: Path) -> None:
    tok = subwords.train([TEXT], vocab_size=262, special_tokens=["<|endoftext|>"], splitter="llama3")
    (message,) = said(tok.save, tmp_path / "x.tiktoken")
    call = message.partition("load it with ")[2].partition("; save")[0]
    call, _, command = call.partition(", or once ")
    assert call == "splitter='llama3', special_ids={'<|endoftext|>': 0}"
    program, *words = shlex.split(command.strip('"'))
    assert program == "subwords"
    assert words[1] == "x.tiktoken"
    again = subwords.load(tmp_path / "x.tiktoken", splitter="llama3", special_ids={"<|endoftext|>": 0})
    assert again.encode(TEXT + "<|endoftext|>", special="allow") == tok.encode(TEXT + "<|endoftext|>", special="allow")
    with pytest.raises(FormatError, match="a rank file has no splitter") as caught:
        subwords.load(tmp_path / "x.tiktoken")
    number = int(str(caught.value).partition('{"<|end|>": ')[2].partition("}")[0])
    more = subwords.load(tmp_path / "x.tiktoken", splitter="llama3", special_ids={"<|end|>": number})
    assert more.encode("<|end|>", special="allow") == [number]
    # What the message says to type makes a file that every command opens.
    where = tmp_path / "x.json"
    run(words[0], tmp_path / words[1], where, *words[3:])
    assert json_of("tokens", where, "--count", corpus)["tokens"] == tok.count_tokens(TEXT)


def test_commands_say_commands(tmp_path: Path, corpus: Path) -> None:
    where = tmp_path / "x.tiktoken"
    warned = run("train", corpus, "--vocab-size", 262, "--special-token", "<s>", "-o", where).stderr
    refused = run("encode", where, corpus, code=1).stderr
    for message in (warned, refused):
        assert ' run "subwords convert x.tiktoken tokenizer.json --splitter ' in message
        assert "load" not in message
        assert "splitter=" not in message


NORMALIZER: dict[str, Any] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
NORMALIZER |= {"strip_accents": None, "lowercase": True}
VARIATIONS: dict[str, dict[str, Any]] = {
    "no normalizer": {"normalizer": None},
    "strip_accents": {"normalizer": NORMALIZER | {"strip_accents": False}},
    "lowercase": {"normalizer": NORMALIZER | {"lowercase": False}},
    "chinese": {"normalizer": NORMALIZER | {"handle_chinese_chars": False}},
    "clean_text": {"normalizer": NORMALIZER | {"clean_text": False}},
    "another normalizer": {"normalizer": {"type": "Lowercase"}},
    "whitespace": {"pre_tokenizer": {"type": "WhitespaceSplit"}},
    "no splitter": {"pre_tokenizer": None},
    "prefix": {"continuing_subword_prefix": "@@"},
    "longest word": {"max_input_chars_per_word": 50},
    "unk": {"unk_token": "a"},
}


def word_piece(path: Path, changes: dict[str, Any]) -> Tokenizer:
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": BERT}
    model["max_input_chars_per_word"] = 100
    model |= {key: value for key, value in changes.items() if key in model}
    special = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    added = [{"id": BERT[text], "content": text, **special} for text in ("[UNK]", "[CLS]", "[SEP]")]
    whole: dict[str, Any] = {"version": "1.0", "truncation": None, "padding": None, "decoder": None}
    whole |= {"post_processor": None}
    whole |= {"added_tokens": added, "normalizer": NORMALIZER, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    path.write_text(
        json.dumps(whole | {key: value for key, value in changes.items() if key in whole} | {"model": model})
    )
    return subwords.load(path)


@pytest.mark.parametrize("name", VARIATIONS)
def test_a_vocab_txt_is_refused_for_other_rules(name: str, tmp_path: Path) -> None:
    tok = word_piece(tmp_path / "t.json", VARIATIONS[name])
    with pytest.raises(
        FormatError, match=r"a vocab.txt holds tokens only; its readers use another .*write a .json file"
    ):
        tok.save(tmp_path / "vocab.txt")
    with pytest.raises(FormatError, match=r"a vocab.txt holds tokens only"):
        subwords.files.convert(tmp_path / "t.json", tmp_path / "vocab.txt")
    assert not (tmp_path / "vocab.txt").exists()


def test_a_vocab_txt_of_bert_s_own_rules(tmp_path: Path) -> None:
    tok = word_piece(tmp_path / "t.json", {})
    (message,) = said(tok.save, tmp_path / "vocab.txt")
    assert message.startswith("vocab.txt does not hold template")  # its readers add [CLS] and [SEP]
    assert subwords.load(tmp_path / "vocab.txt").encode("AB c [SEP]", special="allow") == tok.encode(
        "AB c [SEP]", special="allow"
    )


# ------------------------------------------------------------------ several chat templates


def test_several_chat_templates_stay(tmp_path: Path) -> None:
    chatty().save(f"{tmp_path}/a/")
    more = tmp_path / "a" / "additional_chat_templates"
    more.mkdir()
    (more / "rag.jinja").write_text("R")
    (more / "tool_use.jinja").write_text("T")
    tok = subwords.load(tmp_path / "a")
    assert said(tok.save, f"{tmp_path}/b/") == []
    assert said(tok.save, tmp_path / "a") == []  # into itself
    for folder in ("a", "b"):
        found = {path.name: path.read_text() for path in (tmp_path / folder).rglob("*.jinja")}
        assert found == {"chat_template.jinja": CHAT, "rag.jinja": "R", "tool_use.jinja": "T"}
    assert "additional chat templates" in said(tok.save, tmp_path / "a.json")[0]
    assert "additional_chat_templates" in subwords.files.convert(tmp_path / "a", tmp_path / "c.json").lost
    extended = subwords.adapt.extend(tok, [TEXT], count=1)
    extended.save(f"{tmp_path}/d/")
    assert (tmp_path / "d" / "additional_chat_templates" / "rag.jinja").read_text() == "R"
    with pytest.raises(InputError, match="is a chat template of another tokenizer"):
        chatty().save(tmp_path / "b")
    transformers = pytest.importorskip("transformers")
    there = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "b"))
    assert there.chat_template == tok.to_transformers().chat_template == {"default": CHAT, "rag": "R", "tool_use": "T"}
