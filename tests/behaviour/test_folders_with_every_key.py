"""Each setting of a folder that changes ids in transformers is used here, or a warning names it."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import formats_hf_classes as classes
from inside import formats_hf_settings as settings
from small_data import file_of
from subwords import InputError, SubwordsWarning, Tokenizer

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
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


# ------------------------------------------------------------------ beside a tokenizer.json

# Every key that transformers 5 reads, with a value that it does not have without the key; None: it changes nothing.
NAMED = {"lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
TOKEN = {"__type": "AddedToken", "content": "<mask>", **NAMED}
BESIDE: dict[str, Any] = KEYS | {
    **{f"{role}_token": TOKEN for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")},
    **{f"{key}_token": f"<{key}>" for key in ("image", "prefix", "middle", "suffix", "eot", "fill")},
    "added_tokens_decoder": {"270": {"content": "<mask>", **NAMED, "special": True}},
    "chat_template": "{{ messages }}",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True,
    "extra_special_tokens": ["<q>", TOKEN],
    "fix_mistral_regex": True,
    "language": "en",
    "legacy_behaviour": True,
    "mask_token_sent": "<sent>",
    "max_len": 3,
    "model_input_names": ["input_ids", "token_type_ids"],
    "model_max_length": 3,
    "model_specific_special_tokens": {"image_token": "<q>"},
    "offset": 3,
    "pad_token_type_id": 3,
    "predict_timestamps": True,
    "return_token_type_ids": True,
    "split_by_punct": True,
    "src_lang": "fr_XX",
    "task": "transcribe",
    "tgt_lang": "fr_XX",
    "tokenizer_padding": {
        "length": 9,
        "direction": "left",
        "pad_to_multiple_of": None,
        "pad_token": "<pad>",
        "pad_type_id": 0,
        "pad_id": 2,
    },
    "tokenizer_truncation": {"max_length": 2, "direction": "left", "stride": 0, "strategy": "longest_first"},
    "trim_offsets": False,
    "unk_id": 3,
    "use_default_system_prompt": True,
}
# What has nothing to do with ids and text, or is no key of the file: arguments of a call in Python, and paths.
ELSEWHERE = """
    auto_map backend chat_control_tokens errors fast_tokenizer_files files_loaded gguf_file init_inputs max_length
    merges merges_file name_or_path normalizer_file pad_to_multiple_of post_processor processor_class response_schema
    response_template stride tokenizer tokenizer_class tokenizer_file tokenizer_object truncation_strategy verbose vocab
    vocab_file is_local local_files_only args kwargs self
"""


def test_the_table_has_every_key_that_transformers_reads() -> None:
    transformers = pytest.importorskip("transformers")
    base = transformers.tokenization_utils_base.PreTrainedTokenizerBase
    backend = transformers.PreTrainedTokenizerFast
    found = {*base.SPECIAL_TOKENS_ATTRIBUTES}
    for function in (base.__init__, base._from_pretrained, backend.__init__, backend._patch_mistral_regex):
        source = inspect.getsource(function)
        found |= {*re.findall(r'kwargs\.(?:pop|get|setdefault)\(\s*"(\w+)"', source)}
        found |= {*re.findall(r'"(\w+)" (?:not )?in (?:init_)?kwargs', source)}
    for name in classes.CLASSES:
        if kind := getattr(transformers, f"{name}Tokenizer", None):
            found |= {*inspect.signature(kind.__init__).parameters}
    assert {key for key in found if not key.startswith("_")} <= BESIDE.keys() | {*ELSEWHERE.split()}


LONG = "Hello wörld a, b . c HELLO"


def answers(tok: Any) -> dict[str, Any]:
    """What a tokenizer of transformers gives."""
    found = {"ids": [tok(text).input_ids for text in TEXTS], "pairs": [tok(text, LONG).input_ids for text in TEXTS]}
    found["text"] = [tok.decode(ids) for ids in found["ids"]]
    found["roles"] = {role: i for role in ROLES if (i := getattr(tok, f"{role}_token_id")) is not None}
    found["size"], found["arrays"] = len(tok), {*tok(LONG)}
    found["cut"] = tok(LONG, truncation=True).input_ids if tok.model_max_length < 1e9 else None
    found["padded"] = {name: [*map(list, rows)] for name, rows in tok(TEXTS, padding=True).items()}
    return found


def our_answers(tok: Tokenizer, roles: Iterable[str]) -> dict[str, Any]:
    found = {"ids": [tok(text, special="allow").ids.tolist() for text in TEXTS]}
    found["pairs"] = [tok(text, LONG, special="allow").ids.tolist() for text in TEXTS]
    found: dict[str, Any] = found | {"text": [tok.decode(ids) for ids in found["ids"]]}
    found |= {
        "roles": {role: tok.roles.get(role) for role in roles},
        "size": len(tok),
        "arrays": {*tok([LONG]).to_numpy()},
    }
    found["cut"] = None
    with contextlib.suppress(InputError):
        found["cut"] = tok(LONG, special="allow", truncation=True).ids.tolist()
    rows = tok(TEXTS, special="allow", padding=True)
    found["padded"] = {name: column.tolist() for name, column in rows.to_numpy().items()}
    return found


@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "GPT2Tokenizer", "LlamaTokenizer", "GPTNeoXTokenizer"])
def test_beside_a_tokenizer_json(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    special = ["<s>", "</s>", "<pad>"]
    tok = subwords.train([" ".join(TEXTS)], vocab_size=270, special_tokens=special, splitter="gpt2")
    tok.save(f"{tmp_path}/bare/")
    config = json.loads((tmp_path / "bare" / "tokenizer_config.json").read_bytes()) | {"tokenizer_class": name}
    for key, value in {"": None, **BESIDE}.items():
        tok.save(f"{tmp_path}/{key or 'none'}/")
        place = tmp_path / (key or "none")
        given = {other: config[other] for other in config if other != "model_max_length" or key != "max_len"}
        (place / "tokenizer_config.json").write_text(json.dumps(given | ({key: value} if key else {})))
        there = transformers.AutoTokenizer.from_pretrained(str(place))
        again, said = loaded(place)
        assert again.roles["pad"] == there.pad_token_id
        wanted = answers(there)
        got = our_answers(again, wanted["roles"])
        if "tokenizer_class" in said:
            assert (name, key) == (
                "GPT2Tokenizer",
                "add_prefix_space",
            ) or name == "GPTNeoXTokenizer"  # whose normalizer is NFC
            continue
        differing = {part for part in wanted if wanted[part] != got[part]}
        assert not differing or key in said, (key, said, differing, wanted, got)
        if key and not differing:
            assert key not in said or key in UNNEEDED, (key, said)
        if name == "PreTrainedTokenizerFast" and not differing:
            again.save(f"{tmp_path}/saved/")
            third = transformers.AutoTokenizer.from_pretrained(f"{tmp_path}/saved")
            for copy in (third, again.to_transformers()):
                assert answers(copy) == wanted, key


# Settings that are named although they change nothing in this folder.
UNNEEDED = {"fix_mistral_regex", "tokenizer_padding", "tokenizer_truncation", "split_special_tokens"}
WAYS: dict[str, Any] = {
    "a role": lambda token: ({"mask_token": token}, {}),
    "a role of the map": lambda token: ({}, {"mask_token": token}),
    "additional": lambda token: ({"additional_special_tokens": ["<r>", token]}, {}),
    "extra": lambda token: ({"extra_special_tokens": [token, "<r>"]}, {}),
    "extra by name": lambda token: ({"extra_special_tokens": {"x_token": token, "y_token": "<r>"}}, {}),
    "by name": lambda token: ({"image_token": token, "pad_token": "<r>"}, {}),
    "by name in the map": lambda token: ({}, {"image_token": token, "pad_token": "<r>"}),
    "extra of the map": lambda token: ({"extra_special_tokens": ["<r>"]}, {"extra_special_tokens": [token]}),
    "both": lambda token: ({"mask_token": "<r>", "additional_special_tokens": [token]}, {"mask_token": token}),
}
FORMS: dict[str, Any] = {
    "str": lambda content: content,
    "object": lambda content: {"content": content},
    **{
        flag: (lambda flag: lambda content: {"content": content, "normalized": False, flag: True})(flag)
        for flag in ("lstrip", "rstrip", "normalized", "single_word")
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_flags_of_a_token_wherever_it_is_named(way: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    texts = ["a <mask> b", "x<mask> c", "<MASK>a  <mask>  b", "<s> a</s> <s>", "a<r> <r>b ab <ab> ab"]
    tok = subwords.train(texts, vocab_size=270, special_tokens=["<s>", "</s>"], normalizer="lowercase")
    for content in ("<mask>", "</s>", "ab"):  # new, an added token, one of the vocabulary
        for form, make in FORMS.items():
            place = tmp_path / f"{content.strip('</>')}-{form}"
            tok.save(f"{place}/")
            made = make(content)
            config, special = WAYS[way](made if isinstance(made, str) else {"__type": "AddedToken", **made})
            if isinstance(made, dict):
                special = {key: made if isinstance(value, dict) else value for key, value in special.items()}
                if "extra_special_tokens" in special:
                    special["extra_special_tokens"] = [made]
            kept = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
            (place / "tokenizer_config.json").write_text(json.dumps(kept))
            (place / "special_tokens_map.json").write_text(json.dumps(special))
            theirs, (ours, said) = transformers.AutoTokenizer.from_pretrained(str(place)), loaded(place)
            assert not said
            for text in texts:
                assert ours(text, special="allow").ids.tolist() == theirs(text).input_ids, (form, content, text)
            assert len(ours) == len(theirs)
            assert theirs.mask_token_id in (None, ours.roles.get("mask"))  # else that of the usual name
            assert theirs.pad_token_id in (None, ours.roles.get("pad"))


def test_the_classes_of_transformers_are_known() -> None:
    transformers = pytest.importorskip("transformers")
    auto = importlib.import_module("transformers.models.auto.tokenization_auto")
    backends = {"TokenizersBackend", "MistralCommonBackend"}
    assert {kind for kind, name in auto.TOKENIZER_MAPPING_NAMES.items() if name in backends} == settings._OF_BACKEND
    base, fast = transformers.tokenization_utils_base.PreTrainedTokenizerBase, transformers.PreTrainedTokenizerFast
    for name in sorted(filter(None, {*auto.TOKENIZER_MAPPING_NAMES.values()} | backends)):
        kind = auto.tokenizer_class_from_name(name)
        if not (inspect.isclass(kind) and issubclass(kind, base)) or name in backends:
            continue
        short = name.removesuffix("Fast").removesuffix("Tokenizer")
        builds = not issubclass(kind, fast) or "__init__" in vars(kind)
        known = short in classes.CLASSES or short in settings._BUILDING
        assert known == builds or short == "ConvBert", name  # which is a BERT that keeps the file's rules
        assert (kind.padding_side == "left") == (short in settings._TO_THE_LEFT), name
        assert tuple(kind.model_input_names) == settings._NAMES.get(short, settings._PAIR), name


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
