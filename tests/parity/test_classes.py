"""Classes of transformers: folders that have only the files of a vocabulary, and the rules beside a tokenizer.json."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import formats_hf_classes as classes
from small_data import file_of
from subwords import FormatError, InputError, SubwordsWarning, Tokenizer

transformers = pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

TEXTS = [
    " Hello  wörld HELLO\n\n a, b . c 中文 ''x'' ``y``",
    "<pad> x <s>y</s> </s>z [MASK] <mask>",
    "<extra_id_0> Ａ ﬁ <unk_3> (x-y) 12,000",
    "a▁b \t<|endoftext|> [CLS]en_XX <q>",
    "don't you're é é . ! ' x ' Ça va? हिन्दी 🙂 \u00a0",
    "",
    "  ",
]
LINES = {"vocab.txt": "bert/bert-base-uncased-vocab.txt"}
GPT2 = {"vocab.json": "gpt2/vocab.json", "merges.txt": "gpt2/vocab.bpe"}
CLIP = {"vocab.json": "clip/vocab.json", "merges.txt": "clip/merges.txt"}
LLAMA = {"tokenizer.model": "mistral/tokenizer.model.v1"}
FOLDERS: dict[str, dict[str, str]] = {
    **dict.fromkeys(("Bert", "DistilBert", "Electra", "MPNet"), LINES),
    **dict.fromkeys(("GPT2", "CodeGen", "GPTNeoX", "Cohere", "Qwen2", "Roberta", "Bart", "Deberta", "Whisper"), GPT2),
    "CLIP": CLIP,
    **dict.fromkeys(("Llama", "CodeLlama", "Gemma"), LLAMA),
    "Nllb": {"sentencepiece.bpe.model": "mistral/tokenizer.model.v1"},
    **{name: {"spiece.model": "t5/spiece.model"} for name in ("T5", "Pegasus")},
    **{name: {"sentencepiece.bpe.model": "t5/spiece.model"} for name in ("XLMRoberta", "MBart", "MBart50")},
    **{name: {"spiece.model": "albert/spiece.model"} for name in ("Albert", "BigBird", "XLNet")},
    "DebertaV2": {"spm.model": "albert/spiece.model"},
}
MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": True}
FLAGS = {"lstrip": True, "rstrip": True, "normalized": False, "single_word": False, "special": True}
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "bos": {"add_bos_token": True},
    "prefix": {"add_prefix_space": True},
    "no prefix": {"add_prefix_space": False},
    "more": {"additional_special_tokens": ["<q>", "</s>"]},
    "cased": {"do_lower_case": False},
    "lower": {"do_lower_case": True, "keep_accents": True, "strip_accents": True, "tokenize_chinese_chars": False},
    "old": {"legacy": True, "src_lang": "fr_XX", "legacy_behaviour": True, "split_by_punct": True},
    "mask": {"mask_token": MASK},
    "listed": {"added_tokens_decoder": {"0": {"content": "<s>", **FLAGS}, "999999": {"content": "<q>", **FLAGS}}},
    "ends": {"trim_offsets": False, "task": "transcribe", "predict_timestamps": True},
    "sentinels": {"extra_ids": 5, "offset": 10, "vocab_file": "/etc/passwd"},
}


def folder_of(place: Path, data: Path, name: str, options: dict[str, Any]) -> Path:
    place.mkdir()
    for file, source in FOLDERS[name].items():
        (place / file).write_bytes(file_of(data, source).read_bytes())
    config = {"tokenizer_class": f"{name}Tokenizer", **options}
    (place / "tokenizer_config.json").write_text(json.dumps(config))
    return place


def loaded(place: Path) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return subwords.load(place)


def check(theirs: Any, ours: Tokenizer) -> None:
    for text in TEXTS:
        try:
            expected = theirs(text, return_offsets_mapping=True)
        except Exception:  # an unk token that is not in the vocabulary
            with pytest.raises(InputError):
                ours(text, special="allow")
            continue
        found = ours(text, special="allow")
        assert found.ids.tolist() == expected.input_ids, text
        assert [tuple(span) for span in found.spans.tolist()] == expected["offset_mapping"], text
        assert ours(text, "b c", special="allow").ids.tolist() == theirs(text, "b c").input_ids, text
        assert ours.decode(found.ids) == theirs.decode(expected.input_ids), text
    named = {role: getattr(theirs, f"{role}_token_id") for role in classes.ROLES if getattr(theirs, f"{role}_token")}
    assert ours.roles == named
    assert ours.vocab_size == len(theirs)


OFTEN = tuple(f"small-{name}-none" for name in ("Bert", "GPT2", "T5", "Albert", "Roberta", "CLIP"))


@pytest.mark.rotating(30, always=OFTEN)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_class_with_options(name: str, options: str, data: Path, tmp_path: Path) -> None:
    place = folder_of(tmp_path / "folder", data, name, OPTIONS[options])
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(str(place))
    except Exception:  # a value that the class does not take
        return
    ours = loaded(place)
    check(theirs, ours)
    ours.save(f"{tmp_path}/again/")
    again = subwords.load(tmp_path / "again")
    for text in TEXTS:
        with contextlib.suppress(InputError):
            assert again(text, special="allow").ids.tolist() == ours(text, special="allow").ids.tolist()
    assert again.roles == ours.roles


def test_all_classes_are_compared() -> None:
    same = {"LayoutLM", "Lxmert", "MobileBert", "SqueezeBert", "ConvBert", "LED", "Longformer", "Mvp", "MT5", "Phi3"}
    assert {*classes.CLASSES} == {*FOLDERS} | same | {"Qwen3_5"}  # which reads no vocab.json
    for name in sorted(same - {"MT5"}):
        theirs = getattr(transformers, f"{name}Tokenizer", None)
        same_class = [one for one in FOLDERS if classes.CLASSES[one] is classes.CLASSES[name]]
        others = [getattr(transformers, f"{one}Tokenizer", None) for one in same_class]
        assert theirs is None or any(other and issubclass(theirs, other) for other in others), name


@pytest.mark.parametrize(
    ("model_type", "name"), [("bert", "Bert"), ("roberta", "Roberta"), ("t5", "T5"), ("mt5", "T5")]
)
def test_the_model_s_type_names_a_class(model_type: str, name: str, small_data: Path, tmp_path: Path) -> None:
    place = folder_of(tmp_path / "folder", small_data, name, {})
    expected = loaded(place)
    (place / "tokenizer_config.json").unlink()
    (place / "config.json").write_text(json.dumps({"model_type": model_type}))
    assert loaded(place) == expected


@pytest.mark.parametrize("name", ["Bert", "GPT2", "Llama", "T5"])
def test_files_of_older_folders(name: str, small_data: Path, tmp_path: Path) -> None:
    place = folder_of(tmp_path / "folder", small_data, name, {})
    size = loaded(place).vocab_size
    (place / "added_tokens.json").write_text(json.dumps({"<q>": size, "<img>": size + 1}))
    pad = {"content": "<q>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
    (place / "special_tokens_map.json").write_text(json.dumps({"pad_token": pad, "unk_token": "<img>"}))
    if name == "Bert":  # its unk token is the model's
        (place / "special_tokens_map.json").write_text(json.dumps({"pad_token": pad}))
    check(transformers.AutoTokenizer.from_pretrained(str(place)), loaded(place))


@pytest.mark.filterwarnings("ignore:Recommended")  # with sacremoses, it changes punctuation first
def test_marian_s_two_files(shared_data: Path, tmp_path: Path) -> None:
    for name in ("source.spm", "target.spm", "vocab.json"):
        (tmp_path / name).write_bytes((shared_data / "tokenizers" / "marian-en-mg" / name).read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))
    with pytest.warns(
        SubwordsWarning, match=r"target\.spm is not read: .* 93 pieces of source\.spm have no id in vocab"
    ):
        ours = subwords.load(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    size = len(json.loads((tmp_path / "vocab.json").read_bytes()))
    lines = (shared_data / "corpora" / "english.txt").read_text("utf-8")[:60_000].split("\n")
    for line in [*lines, "</s> x <pad>", "", " a  b ", "Hello"]:
        ids = [ours.roles["unk"] if i >= size else i for i in ours(line, special="allow").ids.tolist()]
        assert ids == theirs(line).input_ids, line
    assert ours.roles == {"eos": 0, "unk": 1, "pad": size - 1}


def ranks(place: Path, count: int = 400) -> dict[bytes, int]:
    tok = subwords.train(["low lower lowest 中文 naïve café 123"] * 9, vocab_size=count, splitter="qwen2")
    tok.save(place.with_suffix(".tiktoken"))
    place.with_suffix(".tiktoken").rename(place)
    return dict(tok.vocab)


MORE = [
    "low lowest",
    "cafe\u0301 123",
    "中文low X's",
    "<|im_start|>low<|im_end|><|extra_204|>",
    "[BOS]low[EOS]<|reserved_token_",
]


def test_a_folder_of_qwen_1(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    found = ranks(tmp_path / "qwen.tiktoken")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "QWenTokenizer"}))
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205))]
    special = {text: len(found) + i for i, text in enumerate(names)}
    rule: Any = subwords.splitter("qwen2").rule[0]
    theirs = tiktoken.Encoding("q", pat_str=rule.pattern, mergeable_ranks=found, special_tokens=special)
    ours = loaded(tmp_path)
    for text in MORE:
        expected = theirs.encode(unicodedata.normalize("NFC", text), allowed_special="all")
        assert ours.encode(text, special="allow") == expected
    assert ours.special_tokens == special


def test_a_folder_of_kimi(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    found = ranks(tmp_path / "tiktoken.model")
    size = len(found)
    listed = {str(size): {"content": "[BOS]", "special": True}, str(size + 1): {"content": "[EOS]", "special": True}}
    config = {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": listed, "bos_token": "[BOS]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    special = {"[BOS]": size, "[EOS]": size + 1}
    special |= {f"<|reserved_token_{i}|>": i for i in range(size + 2, size + 256)}
    rule: Any = subwords.splitter("kimi-k2").rule[0]
    theirs = tiktoken.Encoding("k", pat_str=rule.pattern, mergeable_ranks=found, special_tokens=special)
    ours = loaded(tmp_path)
    for text in [*MORE, f"<|reserved_token_{size + 7}|>x"]:
        assert ours.encode(text, special="allow") == theirs.encode(text, allowed_special="all")
    assert (ours.special_tokens, ours.roles) == (special, {"bos": size, "eos": size + 1})


def test_what_a_class_cannot_use_is_an_error_with_its_place(small_data: Path, tmp_path: Path) -> None:
    for number, (name, options, said) in enumerate(
        (
            ("T5", {"extra_ids": -1}, "extra_ids: expected an integer from 0 to"),
            ("T5", {"extra_ids": 10**9}, "extra_ids: expected an integer from 0 to"),
            ("Bert", {"x": "\ud800"}, "x: expected a value that JSON can represent"),
            ("Roberta", {"add_prefix_space": "no"}, "expected files that RobertaTokenizer of transformers reads: "),
            ("GPT2", {"added_tokens_decoder": {"1": 3}}, "expected files that GPT2Tokenizer of transformers reads: "),
        )
    ):
        place = folder_of(tmp_path / f"{number}", small_data, name, options)
        with pytest.raises(FormatError) as caught:
            subwords.load(place)
        assert said in str(caught.value)
        assert str(place) in str(caught.value)


def test_without_transformers_the_error_names_the_ways(
    small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder_of(tmp_path / "folder", small_data, "GPT2", {})
    monkeypatch.setitem(sys.modules, "transformers", None)
    said = r"expected a tokenizer\.json, or transformers, .* GPT2Tokenizer .*verify.*save_pretrained.*vocab\.json alone"
    with pytest.raises(FormatError, match=said):
        subwords.load(place)
    plain = subwords.load(place / "vocab.json")  # a file has no class
    (place / "tokenizer_config.json").unlink()
    assert subwords.load(place) == plain


def test_a_folder_is_opened_once_and_no_code_and_no_network_is_used(
    small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", None)
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SUBWORDS_TABLES", "on")
    for named in ("evil.Tokenizer", "org/name--evil.Tokenizer"):
        config = {"auto_map": {"AutoTokenizer": [named, named]}, "model_type": "roberta"}
        place = folder_of(tmp_path / named.replace("/", "-"), small_data, "Roberta", config)
        (place / "config.json").write_text(json.dumps(config))
        (place / "evil.py").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
        first = loaded(place)
        with monkeypatch.context() as later:
            later.setattr(transformers.AutoTokenizer, "from_pretrained", None)
            assert loaded(place) == first
    assert not (tmp_path / "ran").exists()


# ------------------------------------------------------------------ a class beside a tokenizer.json

BESIDE: dict[str, dict[str, Any]] = {
    "same": {},
    "eos": {"add_eos_token": True, "add_bos_token": False},
    **{name: OPTIONS[name] for name in ("cased", "lower", "prefix", "no prefix", "old", "bos", "ends")},
    "accents": {"strip_accents": False, "keep_accents": True},
    "legacy": {"legacy": True},
}
CHANGED: dict[str, Any] = {
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Digits", "individual_digits": True},
    "decoder": {"type": "Fuse"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {},
    },
}


@pytest.mark.rotating(12, always=("Bert-cased", "Llama-legacy", "T5-normalizer", "GPT2-same", "Whisper-post_processor"))
@pytest.mark.parametrize("change", [*BESIDE, *CHANGED])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_class_that_builds_other_rules_than_the_file_s_is_named(
    name: str, change: str, small_data: Path, tmp_path: Path
) -> None:
    first = transformers.AutoTokenizer.from_pretrained(str(folder_of(tmp_path / "a", small_data, name, {})))
    first.save_pretrained(str(tmp_path / "b"))
    for file, more in (("tokenizer_config.json", BESIDE), ("tokenizer.json", CHANGED)):
        place, change_of = tmp_path / "b" / file, more.get(change, {})
        parts = json.loads(place.read_bytes()) | ({change: change_of} if more is CHANGED and change_of else change_of)
        place.write_text(json.dumps(parts))
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "b"))
        ids = [(theirs(text).input_ids, theirs(text, "b c").input_ids) for text in TEXTS]
    except Exception:  # a value that the class does not take, or an unk token that is not in the vocabulary
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours = subwords.load(tmp_path / "b")
    assert len(said) < 2
    same = [(ours(t, special="allow").ids.tolist(), ours(t, "b c", special="allow").ids.tolist()) for t in TEXTS] == ids
    same = same and all(ours.decode(one) == theirs.decode(one) for one, _ in ids)
    assert same or 'tokenizer_class="' in str(said[0].message)
    assert not said or change != "same" or name == "CLIP"  # whose decoder is not in its file
    assert {
        role: getattr(theirs, f"{role}_token_id") for role in classes.ROLES if getattr(theirs, f"{role}_token")
    } == (ours.roles)
    assert (len(ours), ours.spec.inputs.padding_side if ours.spec.inputs else None) == (
        len(theirs),
        "left" if theirs.padding_side == "left" else None,
    )
    assert {*ours(["a"]).to_numpy()} == {*theirs(["a"])}


def test_with_a_model_of_another_class_the_file_counts(small_data: Path, tmp_path: Path) -> None:
    """AutoTokenizer keeps the file's rules for a `model_type` whose folders often name a wrong class."""
    place = folder_of(tmp_path / "a", small_data, "Llama", {})
    transformers.AutoTokenizer.from_pretrained(str(place)).save_pretrained(str(tmp_path / "b"))
    changed = json.loads((tmp_path / "b" / "tokenizer.json").read_bytes()) | {"pre_tokenizer": CHANGED["pre_tokenizer"]}
    (tmp_path / "b" / "tokenizer.json").write_text(json.dumps(changed))
    with pytest.warns(
        SubwordsWarning, match=r'LlamaTokenizer" \(transformers replaces pre_tokenizer .*uses this token'
    ):
        subwords.load(tmp_path / "b")
    (tmp_path / "b" / "config.json").write_text(json.dumps({"model_type": "phi3"}))
    ours, theirs = loaded(tmp_path / "b"), transformers.AutoTokenizer.from_pretrained(str(tmp_path / "b"))
    assert [ours(text, special="allow").ids.tolist() for text in TEXTS] == [theirs(text).input_ids for text in TEXTS]


@pytest.mark.parametrize(
    ("name", "files", "said"),
    [
        ("M2M100", ["sentencepiece.bpe.model", "vocab.json"], "this class writes no tokenizer.json"),
        ("Speech2Text", ["sentencepiece.bpe.model", "vocab.json"], "this class writes no tokenizer.json"),
        ("Camembert", ["sentencepiece.bpe.model"], "it writes a tokenizer.json, which can be loaded here"),
        ("Wav2Vec2CTC", ["vocab.json"], "the ids are given by its code in transformers"),
        ("CTRL", ["vocab.json", "merges.txt"], "the ids are given by its code in transformers"),
        ("Phobert", ["vocab.txt"], "PhobertTokenizer is not supported"),
    ],
)
def test_a_class_whose_ids_are_in_no_file_is_refused(
    name: str, files: list[str], said: str, small_data: Path, tmp_path: Path
) -> None:
    source = {"vocab.json": "gpt2/vocab.json", "merges.txt": "gpt2/vocab.bpe", "vocab.txt": LINES["vocab.txt"]}
    for file in files:
        (tmp_path / file).write_bytes(file_of(small_data, source.get(file, "t5/spiece.model")).read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{name}Tokenizer"}))
    with pytest.raises(FormatError, match=f"{tmp_path}: {name}Tokenizer is not supported") as caught:
        subwords.load(tmp_path)
    assert said in str(caught.value)
