"""Each setting of a folder that changes ids in transformers is used here, or a warning names it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import subwords
from small_data import file_of
from subwords import SubwordsWarning, Tokenizer

TEXTS = ["Hello  wörld HELLO", " a, b . c 中文", "<pad> x <s>y</s> </s>z"]
KEYS: dict[str, Any] = {
    "add_bos_token": True,
    "add_eos_token": True,
    "add_prefix_space": True,
    "additional_special_tokens": ["<q>"],
    "clean_up_tokenization_spaces": True,
    "do_basic_tokenize": False,
    "do_lower_case": True,
    "extra_ids": 5,
    "keep_accents": True,
    "legacy": False,
    "model_max_length": 512,
    "never_split": ["wörld"],
    "padding_side": "left",
    "remove_space": False,
    "split_special_tokens": True,
    "strip_accents": True,
    "tokenize_chinese_chars": False,
    "truncation_side": "left",
}
# Files of a folder without tokenizer.json, by name, and the classes that read them.
FOLDERS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "bert": ({"vocab.txt": "bert/bert-base-uncased-vocab.txt"}, ("BertTokenizer", "")),
    "cased": ({"vocab.txt": "bert/bert-base-cased-vocab.txt"}, ("BertTokenizer",)),
    "gpt2": ({"vocab.json": "gpt2/vocab.json", "merges.txt": "gpt2/vocab.bpe"}, ("GPT2Tokenizer", "RobertaTokenizer")),
    "llama": ({"tokenizer.model": "mistral/tokenizer.model.v1"}, ("LlamaTokenizer",)),
    "t5": ({"spiece.model": "t5/spiece.model"}, ("T5Tokenizer",)),
}


def folder_of(place: Path, data: Path, files: dict[str, str], config: dict[str, Any]) -> Path:
    place.mkdir()
    for name, source in files.items():
        (place / name).write_bytes(file_of(data, source).read_bytes())
    (place / "tokenizer_config.json").write_text(json.dumps(config))
    return place


def loaded(place: Path) -> tuple[Tokenizer, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tok = subwords.load(place)
    assert len(caught) < 2  # one warning for all settings
    assert all(issubclass(one.category, SubwordsWarning) for one in caught)
    return tok, "".join(str(one.message) for one in caught)


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_setting_that_changes_ids_is_used_or_named(kind: str, small_data: Path, tmp_path: Path) -> None:
    check_each_key(kind, small_data, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FOLDERS)
def test_with_real_files(kind: str, shared_data: Path, tmp_path: Path) -> None:
    check_each_key(kind, shared_data, tmp_path)


def check_each_key(kind: str, data: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    files, classes = FOLDERS[kind]
    for name in filter(None, classes):
        bare: dict[str, Any] = {"tokenizer_class": name}
        if kind == "cased":
            bare["do_lower_case"] = False
        place = folder_of(tmp_path / f"{name}-bare", data, files, bare)
        theirs, ours = transformers.AutoTokenizer.from_pretrained(str(place)), loaded(place)
        without = [theirs(text).input_ids for text in TEXTS]
        same = [ours[0](text, special="allow").ids.tolist() for text in TEXTS] == without
        assert same or "tokenizer_class" in ours[1], (name, ours[1])
        for key, value in KEYS.items():
            place = folder_of(tmp_path / f"{name}-{key}", data, files, bare | {key: value})
            try:
                there = transformers.AutoTokenizer.from_pretrained(str(place))
            except Exception:  # a value that the class does not take
                continue
            wanted = [there(text).input_ids for text in TEXTS]
            tok, said = loaded(place)
            got = [tok(text, special="allow").ids.tolist() for text in TEXTS]
            if wanted != without and not (same and got == wanted):
                assert key in said, (name, key, wanted, got)


@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "GPT2Tokenizer"])
def test_beside_a_tokenizer_json(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = subwords.train([" ".join(TEXTS)], vocab_size=270, special_tokens=["<s>", "</s>", "<pad>"])
    tok.save(f"{tmp_path}/bare/")
    config = json.loads((tmp_path / "bare" / "tokenizer_config.json").read_bytes()) | {"tokenizer_class": name}
    for key, value in KEYS.items():
        tok.save(f"{tmp_path}/{key}/")
        (tmp_path / key / "tokenizer_config.json").write_text(json.dumps(config | {key: value}))
        there = transformers.AutoTokenizer.from_pretrained(str(tmp_path / key))
        again, said = loaded(tmp_path / key)
        same = [there(text).input_ids for text in TEXTS] == [
            again(text, special="allow").ids.tolist() for text in TEXTS
        ]
        assert same != (key in said), (key, said)


def test_tokens_of_added_tokens_json_are_added_or_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\n##b\n")
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<pad>": 5, "[SEP]": 2, "<hole>": 9}))
    tok, said = loaded(tmp_path)
    assert "added_tokens.json (<hole> 9)" in said
    assert (tok.vocab_size, tok.encode("a <pad>", special="allow")) == (6, [3, 5])


def test_all_settings_are_in_one_warning(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\n##b\n")
    config = {"tokenizer_class": "FunnelTokenizer", "do_lower_case": False, "strip_accents": True, "never_split": ["a"]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"tokenize_chinese_chars": True}))
    _, said = loaded(tmp_path)
    named = 'tokenizer_class="FunnelTokenizer", never_split=["a"], do_lower_case=false, strip_accents=true; '
    assert named in said
    assert "chinese" not in said
    with pytest.warns(SubwordsWarning, match="do_lower_case=false") as caught:
        subwords.load(tmp_path)
    assert caught[0].filename == __file__  # the line of the user


FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
MARKED = ["a <mask> b", "x<mask> c", "<mask>a  <mask>  b", "<s> a</s> <s>"]


@pytest.mark.parametrize("flag", [*FLAGS, "absent"])
@pytest.mark.parametrize("before", [False, True])
def test_flags_of_added_tokens_decoder_win_over_tokenizer_json(flag: str, before: bool, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = subwords.train(MARKED, vocab_size=260, special_tokens=["<s>", "</s>", "<mask>"], normalizer="lowercase")
    tok.save(f"{tmp_path}/")
    parts = json.loads((tmp_path / "tokenizer.json").read_bytes())
    listed = {}
    for token in parts["added_tokens"]:
        token |= dict.fromkeys(FLAGS, before)
        others = {} if flag == "absent" else {**token, flag: not before}
        listed[str(token["id"])] = {"content": token["content"], "special": True, **others}
    (tmp_path / "tokenizer.json").write_text(json.dumps(parts))
    config = json.loads((tmp_path / "tokenizer_config.json").read_bytes()) | {"added_tokens_decoder": listed}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    theirs, (again, said) = transformers.AutoTokenizer.from_pretrained(str(tmp_path)), loaded(tmp_path)
    assert not said
    for text in MARKED:
        assert again(text, special="allow").ids.tolist() == theirs(text).input_ids, text
