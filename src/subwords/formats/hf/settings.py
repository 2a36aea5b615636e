"""The settings of a folder: its class in transformers, what a model takes, and what is not used here.

Source: transformers 5.24, compared in `tests/behaviour/test_folders_with_every_key.py`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from subwords.formats.hf import classes
from subwords.formats.hf.tokenizer_json import spec_from
from subwords.formats.json_node import Node
from subwords.spec.normalizer import Bert, Precompiled, Prepend
from subwords.spec.padding import LONGEST_LENGTH, SIDES, ModelInputs
from subwords.spec.splitter import Prefix
from subwords.spec.template import Slot, Template
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.errors import FormatError

# ---------------------------------------------------------------------------------------------------------------------
# The class that AutoTokenizer chooses.

BACKEND = "PreTrainedTokenizerFast"  # it builds no rules: those of the tokenizer.json count
_BACKENDS = ("PreTrained", "PreTrainedTokenizerBase", "TokenizersBackend", "Bloom")  # the same, without "Tokenizer"


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# Values of `model_type` for which it chooses the backend, whatever class a folder names.
_OF_BACKEND = _words(
    "EvollaModel flex_olmo aria beam bigbird_pegasus canary glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe",
    "glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared",
    "kimi_k25 kimi_linear kosmos-2 mimo_v2_flash minicpm_ocr minicpmv4_6 minicpmv4_7 ministral ministral3 mistral",
    "mistral3 mistral_large4 mixtral nemo_speechlm nystromformer olmo2 olmo3 olmo_hybrid omniasr pegasus_x",
    "persimmon pix2struct pixtral pocket_tts stablelm umt5 voxtral voxtral_realtime xlm-roberta-xl arctic chatlm",
    "ernie4_5 ernie4_5_moe fuyu h2ovl_chat hyperclovax hyperclovax_vlm internlm2 internlm3 iquestcoder jamba llava",
    "llava_next minicpm3 minicpmv minimax_m2 modernbert modernbert-decoder molmo molmo2 nemotron nvfp4 opencua",
    "openvla paddleocr_vl phi3 phi3_v phimoe step3_vl vipllava cohere_asr camembertv2-base smolvlm",
)
# Classes of transformers with rules of their own, which are not known here.
_BUILDING = _words(
    "Barthez Bartpho BertGeneration BertJapanese BertLegacy Bertweet BioGpt Blenderbot BlenderbotSmall ByT5 CTRL",
    "Camembert Canine Clvp Cpm CpmAnt DPRContextEncoder DPRQuestionEncoder DPRReader Dia Esm Esmc FSMT",
    "FastSpeech2Conformer Flaubert Funnel GPTNeoXJapanese GPTSw3 Herbert Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke",
    "M2M100 MLuke Marian MarkupLM Mgpstr MyT5 Nougat OpenAIGPT PLBart Perceiver Phobert Pop2Piano ProphetNet Reformer",
    "RemBert RoCBert RoFormer SeamlessM4T Siglip Siglip2 Speech2Text SpeechT5 Splinter Tapas Tipsv2 Udop VideoPrism",
    "Vits Wav2Vec2CTC Wav2Vec2PhonemeCTC XGLM XLM",
)
# Those among them whose ids are not in the files that are read here: they are numbered by code or another file, or the
# text is split by code. The first ones write a tokenizer.json.
_WRITING = _words("Barthez Camembert LayoutXLM MLuke SeamlessM4T XGLM")
_NUMBERING = _WRITING | _words(
    "Bartpho BertJapanese Bertweet BioGpt BlenderbotSmall CTRL CpmAnt Esm FSMT FastSpeech2Conformer Flaubert",
    "GPTNeoXJapanese M2M100 PLBart Phobert Speech2Text Vits Wav2Vec2CTC Wav2Vec2PhonemeCTC XLM",
)
_TO_THE_LEFT = _words("CodeLlama Cohere Gemma Llama Phi3 Siglip2 XLNet")
_PAIR, _TYPES = ("input_ids", "attention_mask"), ("input_ids", "token_type_ids", "attention_mask")
_TYPES_LAST = ("input_ids", "attention_mask", "token_type_ids")
_NAMES = {
    **dict.fromkeys(_words("Bert Electra MobileBert LayoutLM Lxmert SqueezeBert ConvBert"), _TYPES),
    **dict.fromkeys(_words("DPRContextEncoder DPRQuestionEncoder MarkupLM"), _TYPES),
    **dict.fromkeys(_words("Deberta DebertaV2 Canine LayoutLMv2 Tapas"), _TYPES_LAST),
    "FNet": ("input_ids", "token_type_ids"),
    "LayoutLMv3": ("input_ids", "attention_mask", "bbox"),
}


def chosen_class(config: Node, model_config: Node, *, byte_level: bool = False) -> str:
    """Return the class that AutoTokenizer chooses, without "Tokenizer"; "" if a folder names none.

    Those that keep the rules of a tokenizer.json are `BACKEND`. byte_level: whether that has a byte-level model.
    """
    kind, given = str(model_config["model_type"].value or ""), config["tokenizer_class"].value
    named = str(given or model_config["tokenizer_class"].value or "")
    if kind in _OF_BACKEND and named and config["auto_map"].value is None:
        return BACKEND
    if not named:
        return BACKEND if kind in _OF_BACKEND else classes.MODEL_TYPES.get(kind, "")
    short = named.removesuffix("Fast").removesuffix("Tokenizer")
    return BACKEND if short in _BACKENDS or (short == "Llama" and byte_level) else short


def check_readable(folder: str, config: Node, model_config: Node) -> None:
    """Raise FormatError for a class to whose ids the files of a folder without tokenizer.json do not lead."""
    name = chosen_class(config, model_config)
    if name in _NUMBERING:
        way = "with .save_pretrained(...) it writes a tokenizer.json, which can be loaded here"
        raise FormatError(
            f"{folder}: {name}Tokenizer is not supported: the ids are given by its code in transformers, not by the "
            f"files here; AutoTokenizer.from_pretrained(...) has them"
            + (f", and {way}" if name in _WRITING else ", and this class writes no tokenizer.json")
        )


def inputs_of(config: Node, name: str, spec: TokenizerSpec) -> ModelInputs:
    """Return what the model takes; FormatError, with the place, for what is none of it. name: of the class."""
    length = _length(config)
    sides = {key: _side(config[key]) for key in ("padding_side", "truncation_side")}
    if spec.padding is None and name in _TO_THE_LEFT:
        sides["padding_side"] = sides["padding_side"] or "left"
    names = tuple([node.string() for node in _items(config["model_input_names"])])
    names = names or (_NAMES.get(name, _PAIR) if name else spec.model.input_names)
    if name == "CodeGen" and config["return_token_type_ids"].boolean(False):
        names = (*names, "token_type_ids")
    if spec.truncation is not None and length == spec.truncation.max_length:
        length = None
    usual = sorted(names) == sorted(spec.model.input_names)
    return ModelInputs(length, **sides, names=() if usual else names)  # type: ignore[arg-type]


def inputs_as_config(spec: TokenizerSpec, no_limit: int) -> dict[str, Any]:
    """Return the same as keys of a tokenizer_config.json; what transformers has without a key is left out."""
    inputs, cut = spec.inputs or ModelInputs(), spec.truncation
    length = inputs.max_length if inputs.max_length is not None else cut.max_length if cut else no_limit
    found: dict[str, Any] = {"model_max_length": length}
    found |= {key: side for key in ("padding_side", "truncation_side") if (side := getattr(inputs, key))}
    names = inputs.names or spec.model.input_names
    return found | ({} if names == _PAIR else {"model_input_names": list(names)})


def used_keys(config: Node) -> set[str]:
    """Return the keys of a tokenizer_config.json that `inputs_as_config` writes again."""
    found = {"padding_side", "truncation_side", "model_input_names"}
    return found | ({"model_max_length", "max_len"} if _length(config) is not None else set())


def _length(config: Node) -> int | None:
    """Return the longest input; None for none: transformers writes 1e30, and cuts to no other number than this."""
    key = "model_max_length" if "model_max_length" in config.object() else "max_len"
    value = config[key].value
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise config[key].wrong("a number of tokens")
    return int(value) if value is not None and 0 < value <= LONGEST_LENGTH and value == int(value) else None


def _side(node: Node) -> str | None:
    return None if node.value is None else str(node.choice(SIDES))


def _items(node: Node) -> list[Node]:
    return [] if node.value is None else [*node.items()]


# ---------------------------------------------------------------------------------------------------------------------
# Settings that change ids in transformers, and that are not used here.

_PLAIN = {"", "PreTrainedTokenizer", "PreTrainedTokenizerBase", "TokenizersBackend"}  # they build no pipeline
# Classes whose pipeline is the one with which a vocab.txt, and vocab.json with merges.txt, are read here.
_BERT = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"}
_SAME = {"WordPiece": _BERT, "BPE": {"GPT2Tokenizer", "CLIPTokenizer", "OpenAIGPTTokenizer"}}
# The value that changes nothing; any other value changes ids with some class.
_NEUTRAL: dict[str, Any] = {
    "add_bos_token": False,
    "add_eos_token": False,
    "do_basic_tokenize": True,
    "extra_ids": 0,
    "keep_accents": False,
    "legacy": True,
    "never_split": [],
    "remove_space": True,
    "sp_model_kwargs": {},
    "split_special_tokens": False,
    "src_lang": None,
    "tgt_lang": None,
}
# What is not used beside a tokenizer.json either.
_CLEANING = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_NEVER = ("split_special_tokens", "fix_mistral_regex", "tokenizer_padding", "tokenizer_truncation", _CLEANING)
_BERT_S = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def unused(spec: TokenizerSpec, config: Mapping[str, Any], added: Mapping[str, Any], *, complete: bool) -> list[str]:
    """Return the settings of tokenizer_config.json and the tokens of added_tokens.json that a spec does not have.

    complete: whether the spec is that of a tokenizer.json, which says all the rest itself.
    """
    found = [f"{key}={json.dumps(value)}" for key, value in _settings(spec, config, complete=complete)]
    missing = [f"{content} {index}" for content, index in added.items() if spec.index_of(content) != index]
    return [*found, *([f"added_tokens.json ({', '.join(missing[:5])})"] if missing else [])]


def _settings(spec: TokenizerSpec, config: Mapping[str, Any], *, complete: bool) -> Iterator[tuple[str, Any]]:
    name = str(config.get("tokenizer_class") or "").removesuffix("Fast")
    if complete:
        for key in _NEVER:
            cleans = config.get("clean_up_tokenization_spaces") and spec.model.merge_count is not None
            if config.get(key) and (key != _CLEANING or cleans):
                yield key, config[key]
        return
    if name not in _PLAIN | _SAME.get(type(spec.model).__name__, set()):
        yield "tokenizer_class", config["tokenizer_class"]
    for key, neutral in _NEUTRAL.items():
        if config.get(key, neutral) not in (neutral, None):
            yield key, config[key]
    if config.get("add_prefix_space", _has_prefix(spec)) != _has_prefix(spec):
        yield "add_prefix_space", config["add_prefix_space"]
    yield from _of_bert(spec, config, name)


def _of_bert(spec: TokenizerSpec, config: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    step = next((step for step in spec.normalizer if isinstance(step, Bert)), None)
    if step is None:
        if config.get("do_lower_case"):
            yield "do_lower_case", True
        return
    given = ({"do_lower_case": True} if name in _BERT else {}) | {key: config[key] for key in _BERT_S if key in config}
    for key, value in given.items():
        if value is not None and value != getattr(step, _BERT_S[key]):
            yield key, value


def _has_prefix(spec: TokenizerSpec) -> bool:
    """Whether a space is inserted before a text."""
    prepends = any(isinstance(step, Prepend) or getattr(step, "add_dummy_prefix", False) for step in spec.normalizer)
    return prepends or any(isinstance(step, Prefix) for step in spec.splitter)


# ---------------------------------------------------------------------------------------------------------------------
# A class that builds its own rules beside a tokenizer.json: what it takes from there is the vocabulary.

_OPTIONS = ("add_prefix_space", "do_lower_case", "keep_accents", "legacy", "strip_accents", "tokenize_chinese_chars")
_PARTS = {"normalizer": "normalizer", "splitter": "pre_tokenizer", "decoder": "decoder"}


def built(name: str, options: Node, own: Mapping[str, str], spec: TokenizerSpec) -> str:
    """Return a text that names the rules of a tokenizer.json that a class replaces.

    It is "" if the class keeps the rules of the file, or builds the same. options: of tokenizer_config.json. own: the
    special tokens of the class by role. spec: that of the tokenizer.json.
    """
    if name in _BUILDING:
        return f'tokenizer_class="{name}Tokenizer" (transformers may replace the rules of the tokenizer.json)'
    if name not in classes.CLASSES or name == "ConvBert":  # which has no code of its own
        return ""
    step = next((step for step in spec.normalizer if isinstance(step, Precompiled)), None)
    charsmap = "" if step is None else base64.b64encode(step.charsmap).decode()
    given, kind = classes.Given(options, charsmap, {**own}), classes.CLASSES[name]
    try:
        other = spec_from(Node(options.file, "", kind.rules(given)))
        words = kind.template(given) if callable(kind.template) else kind.template
    except FormatError:  # options that the class cannot use
        return ""
    changed = [part for field, part in _PARTS.items() if getattr(spec, field) != getattr(other, field)]
    changed += ["model"] if _differs(spec, other) else []
    if words and not (name == "Albert" and spec.template):  # the file's is set after the class's
        changed += ["post_processor"] if _other_template(words, own, spec) else []
    if not changed:
        return ""
    values = options.object()
    said = [f"{key}={json.dumps(values[key])}" for key in _OPTIONS if key in values]
    what = f"transformers replaces {', '.join(changed)} of the tokenizer.json" + (
        f": {', '.join(said)}" if said else ""
    )
    return f'tokenizer_class="{name}Tokenizer" ({what})'


def _differs(spec: TokenizerSpec, other: TokenizerSpec) -> bool:
    """Whether a class makes another model of the same vocabulary."""
    a, b = spec.model, other.model
    if type(a) is not type(b):
        return True
    names = {"byte_fallback", "fuse_unk", "ignore_merges", "marks", "byte_level", "max_chars"}
    return any(getattr(a, each, None) != getattr(b, each, None) for each in names)


def _other_template(words: classes.Words, own: Mapping[str, str], spec: TokenizerSpec) -> bool:
    """Whether a class sets another template than that of the file."""

    def index(word: str) -> int | None:
        text = own.get(word[1:-1]) if word.startswith("{") else word
        return spec.index_of(text) if text else None

    def piece(word: str) -> tuple[object, int]:
        name, _, type_id = word.partition(":")
        if name.startswith("$"):
            return name[1:], int(type_id or 0)
        found = index(name)
        # As in transformers, a language that the file lacks is unknown.
        return (index("{unk}") if found is None else found,), int(type_id or 0)

    single, pair = ([piece(word) for word in text.split()] for text in words)
    if any(what == (None,) for what, _ in single + pair):
        return False
    there = spec.template or Template()
    found = [
        [(each.text if isinstance(each, Slot) else each.ids, each.type_id) for each in there.pieces(is_pair)]
        for is_pair in (False, True)
    ]
    return found != [single, pair]
