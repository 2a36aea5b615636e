"""What the classes of transformers build beside a vocabulary: their special tokens, rules and templates, as data.

A folder without tokenizer.json is opened by the class itself (`folder.read_with_class`). Beside a tokenizer.json, the
rules here tell whether the class would replace those of the file.

Source: the classes of transformers 5.24, compared in `tests/parity/test_classes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from subwords.formats.hf.component import byte_level
from subwords.formats.json_node import Node, is_unicode
from subwords.spec.splitter import NAMED, SPACE

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")  # in which transformers adds missing tokens

Part: TypeAlias = dict[str, Any]  # of a tokenizer.json


@dataclass
class Given:
    """The options of a class, and the charsmap of a tokenizer.json, in base64; tokens: its special tokens by role."""

    options: Node
    charsmap: str
    tokens: dict[str, str]

    def flag(self, key: str, default: bool) -> bool:
        """Return an option; null is the default."""
        return self.options[key].boolean(default)

    def scheme(self, otherwise: str = "never") -> str:
        """Return when a Metaspace prepends a space."""
        return "always" if self.flag("add_prefix_space", True) else otherwise


# ------------------------------------------------------------------ parts of a tokenizer.json


def _sequence(key: str, *parts: Part | None) -> Part | None:
    known = [part for part in parts if part]
    return {"type": "Sequence", key: known} if known else None


def _normalizers(*parts: Part | None) -> Part | None:
    return _sequence("normalizers", *parts)


def _words(*parts: Part | None) -> Part | None:
    return _sequence("pretokenizers", *parts)


def _replace(content: str, *, text: str = "", regex: str = "") -> Part:
    return {"type": "Replace", "pattern": {"Regex": regex} if regex else {"String": text}, "content": content}


def _precompiled(given: Given) -> Part | None:
    return {"type": "Precompiled", "precompiled_charsmap": given.charsmap} if given.charsmap else None


def _metaspace(scheme: str, *, split: bool = True) -> Part:
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


def _strip(*, left: bool = False, right: bool = False) -> Part:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def _split(pattern: Part, behavior: str, *, invert: bool = False) -> Part:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def _bpe(given: Given, **settings: Any) -> Part:
    return {"type": "BPE", "vocab": {given.tokens.get("unk", "?"): 0}, "merges": [], **settings}


def _rules(model: Part, normalizer: Part | None, pre_tokenizer: Part | None, decoder: Part | None) -> Part:
    return {"model": model, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder}


# ------------------------------------------------------------------ rules


def _wordpiece(given: Given) -> Part:
    unk = given.tokens.get("unk", "?")
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": given.flag("tokenize_chinese_chars", True),
        "strip_accents": given.options["strip_accents"].value,
        "lowercase": given.flag("do_lower_case", True),
    }
    model = {"unk_token": unk, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    model = {"type": "WordPiece", **model, "vocab": {unk: 0}}
    return _rules(
        model, normalizer, {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}
    )


_BYTES = byte_level()  # the decoder
_NFC = {"type": "NFC"}
_DIGITS = {"type": "Digits", "individual_digits": True}
_CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def _of_bytes(given: Given, form: Part | None = None, first: Part | None = None, *, regex: bool = True) -> Part:
    """Byte-level BPE; first: what splits a text before."""
    words = byte_level(add_prefix_space=given.flag("add_prefix_space", False), use_regex=regex)
    return _rules(_bpe(given), form, _words(first, words), _BYTES)


def _qwen(rule: str) -> Rules:
    pattern: Any = NAMED[rule][0]
    return lambda given: _of_bytes(given, _NFC, _split({"Regex": str(pattern.pattern)}, "Isolated"), regex=False)


def _clip(given: Given) -> Part:
    words = _words(_split({"Regex": _CLIP}, "Removed", invert=True), byte_level(add_prefix_space=False))
    normalizer = _normalizers(_NFC, _replace(" ", regex=r"\s+"), {"type": "Lowercase"})
    last = {"type": "Strip", "content": " ", "start": 0, "stop": 1}
    decoder = _sequence("decoders", _BYTES, _replace(" ", text="</w>"), last)
    return _rules(_bpe(given, end_of_word_suffix="</w>"), normalizer, words, decoder)


def _unigram(given: Given, scheme: str, normalizer: Part | None, *, first: Part | None = None) -> Part:
    model = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [[given.tokens.get("unk", "?"), 0.0]]}
    return _rules(model, normalizer, _words(first, _metaspace(scheme)), _metaspace(scheme))


_AT_SPACES = {"type": "WhitespaceSplit"}


def _of_t5(given: Given) -> Part:
    return _unigram(given, "always", _precompiled(given), first=_AT_SPACES)


def _of_albert(given: Given, scheme: str, *, lower: bool, accents: bool) -> Part:
    normalizer = _normalizers(
        _replace('"', text="``"),
        _replace('"', text="''"),
        *([] if accents else [{"type": "NFKD"}, {"type": "StripAccents"}]),
        {"type": "Lowercase"} if given.flag("do_lower_case", lower) else None,
        _precompiled(given),
    )
    return _unigram(given, scheme, normalizer, first=_AT_SPACES)


def _deberta_v2(given: Given) -> Part:
    lower = {"type": "Lowercase"} if given.flag("do_lower_case", False) else None
    normalizer = _normalizers(lower, _replace(" ", regex=r"\s{2,}|[\n\r\t]"), _NFC, _strip(right=True))
    signs = {"type": "Punctuation", "behavior": "Isolated"} if given.flag("split_by_punct", False) else None
    return _unigram(given, given.scheme("first"), normalizer, first=signs)


def _two_spaces(given: Given, otherwise: Part | None = None) -> Part | None:
    return _normalizers(_precompiled(given) or otherwise, _replace(" ", regex=" {2,}"))


def _of_llama(given: Given, scheme: str, *, strips: bool = True) -> Part:
    first = {"type": "Strip", "content": " ", "start": 1, "stop": 0} if strips else None
    decoder = _sequence("decoders", *_FALLBACK, first)
    return _rules(_bpe(given, fuse_unk=True, byte_fallback=True), None, _metaspace(scheme, split=False), decoder)


_FALLBACK = (_replace(" ", text=SPACE), {"type": "ByteFallback"}, {"type": "Fuse"})


def _llama(given: Given) -> Part:
    prefix = given.flag("add_prefix_space", True)
    scheme = ("always" if given.flag("legacy", False) else "first") if prefix else "never"
    return _of_llama(given, scheme, strips=prefix)


def _code_llama(given: Given) -> Part:
    return _of_llama(given, "first" if given.flag("add_prefix_space", True) else "never")


def _gemma(given: Given) -> Part:
    words = _split({"String": " "}, "MergedWithPrevious")
    model = _bpe(given, fuse_unk=True, byte_fallback=True)
    return _rules(model, _replace(SPACE, text=" "), words, _sequence("decoders", *_FALLBACK))


def _nllb(given: Given) -> Part:
    spaces = _metaspace("always")
    return _rules(_bpe(given, fuse_unk=True), _two_spaces(given) if given.charsmap else None, spaces, spaces)


# ------------------------------------------------------------------ templates

# Of a text and of a pair, as words: a role in braces, or $A or $B, and a type id after a colon.
Words: TypeAlias = tuple[str, str]
_BERT_S: Words = ("{cls} $A {sep}", "{cls} $A {sep} $B:1 {sep}:1")
_ROBERTA_S: Words = ("{cls} $A {sep}", "{cls} $A {sep} {sep} $B {sep}")
_BY_ENDS: Words = ("{bos} $A {eos}", "{bos} $A {eos} {eos} $B {eos}")


def _albert_s(given: Given) -> Words | None:
    """Its template is the first to be set: that of the options replaces it."""
    asked = any(given.options[key].value is not None for key in ("add_bos_token", "add_eos_token"))
    return None if asked else _BERT_S


def _whisper_s(given: Given) -> Words:
    language, task = (given.options[key].value for key in ("language", "task"))
    names = ["startoftranscript", *(str(name) for name in (language, task) if name is not None)]
    names += [] if given.flag("predict_timestamps", False) else ["notimestamps"]
    start = " ".join(f"<|{name}|>" for name in names)
    return f"{start} $A {{eos}}", f"{start} $A $B:1 {{eos}}:1"


def _with_language(default: str, *, after: str = "", always: bool = False) -> Callable[[Given], Words]:
    """after: the option that puts the language last."""

    def words(given: Given) -> Words:
        source = given.options["src_lang"]
        name = default if source.value is None else source.string()
        if always or (after and given.flag(after, False)):
            return f"$A {{eos}} {name}", f"$A $B {{eos}} {name}"
        return f"{name} $A {{eos}}", f"{name} $A $B {{eos}}"

    return words


# ------------------------------------------------------------------ the classes

Rules: TypeAlias = Callable[[Given], Part]


class Class(NamedTuple):
    """files: of its vocabulary. tokens: its special tokens where a folder is silent, as "role=token"."""

    files: tuple[str, ...]
    tokens: str
    rules: Rules
    template: Words | Callable[[Given], Words | None] | None = None  # None: that of the file stays


SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model")
_TXT, _PAIR = ("vocab.txt",), ("vocab.json", "merges.txt")
_OF_BERT = "sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]"
_ENDS, _ENDS_OF_BERT = "bos=<s> eos=</s>", "bos=[CLS] eos=[SEP]"
_OF_FAIRSEQ = f"{_ENDS} sep=</s> cls=<s> unk=<unk> pad=<pad> mask=<mask>"
_OF_GPT2 = "unk={0} bos={0} eos={0}".format("<|endoftext|>")
_OF_QWEN2 = "unk={0} eos={0} pad={0}".format("<|endoftext|>")
_OF_COHERE = "unk=<UNK> bos=<BOS_TOKEN> eos=<|END_OF_TURN_TOKEN|> pad=<PAD> cls=<CLS> sep=<SEP> mask=<MASK_TOKEN>"
_OF_CLIP = "unk={0} bos=<|startoftext|> eos={0} pad={0}".format("<|endoftext|>")
# Qwen 1, Kimi, and Marian, whose files are no parts of a tokenizer.json.
OWN = {
    "QWen": (("qwen.tiktoken",), "eos=<|endoftext|> pad=<|endoftext|>"),
    "TikToken": (("tiktoken.model",), "bos=[BOS] eos=[EOS]"),
    "Marian": (("source.spm", "vocab.json"), "eos=</s> unk=<unk> pad=<pad>"),
}
CLASSES: dict[str, Class] = {
    **dict.fromkeys(
        ("Bert", "DistilBert", "Electra", "MobileBert", "LayoutLM", "Lxmert", "SqueezeBert", "ConvBert"),
        Class(_TXT, f"unk=[UNK] {_OF_BERT}", _wordpiece, _BERT_S),
    ),
    "MPNet": Class(_TXT, f"{_ENDS} sep=</s> cls=<s> unk=[UNK] pad=<pad> mask=<mask>", _wordpiece, _ROBERTA_S),
    **dict.fromkeys(("GPT2", "CodeGen"), Class(_PAIR, _OF_GPT2, _of_bytes)),
    "GPTNeoX": Class(_PAIR, f"{_OF_GPT2} pad=<|padding|>", lambda given: _of_bytes(given, _NFC), ("$A", "$A $B:1")),
    "Cohere": Class(_PAIR, _OF_COHERE, lambda given: _of_bytes(given, _NFC, _DIGITS)),
    **dict.fromkeys(("Roberta", "Bart", "LED", "Longformer", "Mvp"), Class(_PAIR, _OF_FAIRSEQ, _of_bytes, _ROBERTA_S)),
    "Deberta": Class(_PAIR, f"{_ENDS_OF_BERT} unk=[UNK] {_OF_BERT}", _of_bytes, _ROBERTA_S),
    "CLIP": Class(_PAIR, _OF_CLIP, _clip, _BY_ENDS),
    "Qwen2": Class(_PAIR, _OF_QWEN2, _qwen("qwen2")),
    "Qwen3_5": Class((), _OF_QWEN2, _qwen("qwen35")),  # beside a tokenizer.json only
    "Whisper": Class(_PAIR, _OF_GPT2, _of_bytes, _whisper_s),
    **dict.fromkeys(
        ("T5", "MT5"), Class(SENTENCEPIECE, "eos=</s> unk=<unk> pad=<pad>", _of_t5, ("$A {eos}", "$A {eos} $B {eos}"))
    ),
    "Albert": Class(
        SENTENCEPIECE,
        f"{_ENDS_OF_BERT} unk=<unk> sep=[SEP] pad=<pad> cls=[CLS] mask=[MASK]",
        lambda given: _of_albert(given, given.scheme(), lower=True, accents=given.flag("keep_accents", False)),
        _albert_s,
    ),
    "XLNet": Class(
        SENTENCEPIECE,
        f"{_ENDS} unk=<unk> sep=<sep> pad=<pad> cls=<cls> mask=<mask>",
        lambda given: _of_albert(given, "always", lower=False, accents=False),
        ("$A {sep} {cls}:2", "$A {sep} $B:1 {sep}:1 {cls}:2"),
    ),
    "BigBird": Class(
        SENTENCEPIECE,
        f"{_ENDS} unk=<unk> pad=<pad> cls=[CLS] sep=[SEP] mask=[MASK]",
        lambda given: _unigram(given, given.scheme(), _normalizers(_strip(), _replace(SPACE, regex=" {2,}"))),
        _BERT_S,
    ),
    "DebertaV2": Class(SENTENCEPIECE, f"{_ENDS_OF_BERT} unk=[UNK] {_OF_BERT}", _deberta_v2, _BERT_S),
    "Pegasus": Class(
        SENTENCEPIECE,
        "pad=<pad> eos=</s> unk=<unk> mask=<mask_2>",
        lambda given: _unigram(given, "always", _two_spaces(given, _replace(" ", regex=r"\n"))),
        ("$A {eos}", "$A $B {eos}"),
    ),
    "XLMRoberta": Class(
        SENTENCEPIECE,
        _OF_FAIRSEQ,
        lambda given: _unigram(given, given.scheme(), _precompiled(given), first=_AT_SPACES),
        _BY_ENDS,
    ),
    "MBart": Class(
        SENTENCEPIECE,
        _OF_FAIRSEQ,
        lambda given: _unigram(given, "always", None, first=_AT_SPACES),
        _with_language("en_XX", always=True),
    ),
    "MBart50": Class(
        SENTENCEPIECE,
        _OF_FAIRSEQ.removeprefix("bos=<s> "),
        lambda given: _unigram(given, "always", _two_spaces(given)),
        _with_language("en_XX"),
    ),
    "Nllb": Class(SENTENCEPIECE, _OF_FAIRSEQ, _nllb, _with_language("eng_Latn", after="legacy_behaviour")),
    **dict.fromkeys(("Llama", "Phi3"), Class(SENTENCEPIECE, f"unk=<unk> {_ENDS}", _llama)),
    "CodeLlama": Class(SENTENCEPIECE, f"unk=<unk> {_ENDS}", _code_llama, ("{bos} $A", "{bos} $A {bos}:1 $B:1")),
    "Gemma": Class(SENTENCEPIECE, "unk=<unk> bos=<bos> eos=<eos> pad=<pad> mask=<mask>", _gemma),
}
# `model_type` of a config.json, where no class is named.
MODEL_TYPES = {
    **dict.fromkeys(("bert", "distilbert", "electra", "convbert", "layoutlm", "squeezebert", "visual_bert"), "Bert"),
    **dict.fromkeys(("roberta", "bart", "longformer", "ibert", "xlm-roberta-xl"), "Roberta"),
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "opt", "codegen", "starcoder2"), "GPT2"),
    **dict.fromkeys(("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl", "qwen3_vl"), "Qwen2"),
    **dict.fromkeys(("t5", "mt5", "switch_transformers"), "T5"),
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma3_text", "recurrent_gemma"), "Gemma"),
    **dict.fromkeys(("clip", "clipseg"), "CLIP"),
    **dict.fromkeys(("nllb", "nllb-moe"), "Nllb"),
    "mpnet": "MPNet",
    "deberta": "Deberta",
    "deberta-v2": "DebertaV2",
    "code_llama": "CodeLlama",
    "albert": "Albert",
    "xlm-roberta": "XLMRoberta",
    "mbart": "MBart",
    "pegasus": "Pegasus",
    "big_bird": "BigBird",
    "xlnet": "XLNet",
    "whisper": "Whisper",
}


def named_class(options: Node, config: Node) -> str:
    """Return the class that a folder names, without "Tokenizer"; "" if it names none that is known here."""
    named = options["tokenizer_class"].value or config["tokenizer_class"].value
    if named is None:
        return MODEL_TYPES.get(str(config["model_type"].value), "")
    short = str(named).removesuffix("Fast").removesuffix("Tokenizer")
    return short if short in CLASSES or short in OWN else ""


def vocabulary_files(name: str, there: Collection[str]) -> list[str]:
    """Return the vocabulary files of a class among those that are there; [] without a class, or if one is missing."""
    wanted = OWN[name][0] if name in OWN else CLASSES[name].files if name else ()
    if wanted is SENTENCEPIECE:
        return [each for each in wanted if each in there][:1]
    return [*wanted] if {*wanted} <= {*there} else []


def special_tokens(name: str, config: Node, special: Node) -> dict[str, str]:
    """Return the special tokens of a class by role: those that its folder names, and its own where that is silent.

    config: tokenizer_config.json. special: special_tokens_map.json, which counts without `added_tokens_decoder`.
    """
    own = dict(word.split("=", 1) for word in (OWN[name][1] if name in OWN else CLASSES[name].tokens).split())
    tables = [config] if config["added_tokens_decoder"].value is not None else [config, special]
    for table in tables:
        keys = {role: f"{role}_token" for role in ROLES if f"{role}_token" in table.object()}
        own |= {role: content_of(table[key]) or "" for role, key in keys.items()}
    return {role: own[role] for role in ROLES if own.get(role)}


def content_of(node: Node) -> str | None:
    """Return the text of a token: a string, or the `content` of an object."""
    value = node["content"].value if isinstance(node.value, dict) else node.value
    if value is not None and not (isinstance(value, str) and is_unicode(value)):
        raise node.wrong("a token: a string, an object with `content`, or null")
    return value or None
