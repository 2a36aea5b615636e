"""A folder without tokenizer.json as a class of transformers reads it: as the tokenizer.json that the class would save.

A class gives a vocabulary file its rules, its special tokens and a template, and takes options from
tokenizer_config.json. The functions of `CLASSES` return what a class builds, as parts of a tokenizer.json.

Source: the classes of transformers 5.24, compared in `tests/parity/test_classes.py`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from subwords.formats.hf.vocab_merges import read_merges
from subwords.formats.hf.vocabulary import read_vocab
from subwords.formats.json_node import Node, parse_json, show_json
from subwords.models.bpe.model import LARGEST_ID
from subwords.spec.splitter import NAMED, SPACE
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.errors import FormatError

Pieces = list[tuple[str, float]]

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")  # in which transformers adds missing tokens
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
_MOST_IDS = 100_000  # sentinels of T5, and unused tokens of Pegasus: more is no tokenizer

# mBART's languages, and those that mBART-50 added.
_LANGUAGES = [
    *("ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT", "ja_XX"),
    *("kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN"),
    "zh_CN",
]
_LANGUAGES_50 = [
    *_LANGUAGES,
    *("af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN", "mn_MN"),
    *("mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK"),
    *("xh_ZA", "gl_ES", "sl_SI"),
]


# ------------------------------------------------------------------ what a class is given


@dataclass
class Given:
    """The options of a class and the content of its vocabulary files.

    options: those of tokenizer_config.json and of special_tokens_map.json. files: content by name. tokens: the special
    tokens by role, as text or an object with flags; a class sets its own where the options are silent. more: other
    special tokens. plain: special tokens have no flags, whatever the options say. beside: whether the vocabulary is
    that of a tokenizer.json; only the rules count then. charsmap: of that file, in base64.
    """

    folder: str
    options: Node
    files: Mapping[str, bytes]
    tokens: dict[str, Any] = field(default_factory=dict)
    more: list[Any] = field(default_factory=list)
    plain: bool = False
    beside: bool = False
    charsmap: str = ""

    def has(self, *names: str, flag: bool = False) -> None:
        """Set special tokens that the options do not name: "bos=<s>"; `flag`: spaces before them belong to them."""
        for each in names:
            role, _, text = each.partition("=")
            token = self.options[f"{role}_token"].value if f"{role}_token" in self.options.object() else text
            self.tokens[role] = {"content": token, "lstrip": True} if flag and isinstance(token, str) else token

    def text(self, role: str) -> str:
        """Return the text of a special token; FormatError if there is none."""
        token = self.tokens.get(role)
        found = token.get("content") if isinstance(token, dict) else token
        if not isinstance(found, str) or not found:
            raise self.options[f"{role}_token"].wrong("a token: this class needs one")
        return found

    @property
    def roles(self) -> dict[str, str]:
        """The text of the special tokens by role."""
        return {role: text for role in ROLES if (text := _content(self.tokens.get(role)))}

    def flag(self, key: str, default: bool) -> bool:
        """Return an option; null is the default."""
        return self.options[key].boolean(default)

    def number(self, key: str, default: int) -> int:
        """Return an option that counts tokens; null is the default."""
        node = self.options[key]
        return default if node.value is None else node.integer(_MOST_IDS)

    def vocab_and_merges(self) -> dict[str, Any]:
        """Return the content of vocab.json and merges.txt."""
        if self.beside:
            return {"vocab": {}, "merges": []}
        vocab, merges = self.file("vocab.json"), self.file("merges.txt")
        return {"vocab": read_vocab(parse_json(*vocab)), "merges": read_merges(*merges)}

    def lines(self) -> dict[str, int]:
        """Return the tokens of a vocab.txt."""
        if self.beside:
            return {}
        from subwords.formats.vocab_txt import read_tokens

        texts = read_tokens(*self.file("vocab.txt"), unk=None)
        return {text: i for i, text in enumerate(texts) if text}

    def sentencepiece(self) -> SentencePieceFile:
        """Return what a class takes from a .model file: its control and user-defined pieces become added tokens."""
        if self.beside:
            return SentencePieceFile([("", 0.0), ("", 0.0), (self.text("unk"), 0.0)], [], self.charsmap, 2)
        from subwords.formats.sentencepiece.read import PieceType, parse_model

        name = next(name for name in _SENTENCEPIECE if name in self.files)
        message = parse_model(*self.file(name))
        try:
            pieces = [(piece.piece.decode(), piece.score) for piece in message.pieces]
        except UnicodeDecodeError:
            raise FormatError(f"{self.folder}/{name}: expected pieces in UTF-8") from None
        kinds = (PieceType.CONTROL, PieceType.USER_DEFINED)
        added = [
            {"content": pieces[i][0], "special": piece.type == PieceType.CONTROL, "normalized": False}
            for i, piece in enumerate(message.pieces)
            if piece.type in kinds
        ]
        charsmap = base64.b64encode(message.normalizer_spec.precompiled_charsmap).decode()
        return SentencePieceFile(pieces, added, charsmap, message.trainer_spec.unk_id)

    def file(self, name: str) -> tuple[bytes, str]:
        """Return a vocabulary file, and its name in messages."""
        return self.files[name], f"{self.folder}/{name}"


class SentencePieceFile(NamedTuple):
    """pieces: with scores, by id. added: as entries of `added_tokens`. charsmap: in base64, "" for none."""

    pieces: Pieces
    added: list[dict[str, Any]]
    charsmap: str
    unk_id: int


# ------------------------------------------------------------------ parts of a tokenizer.json


def _sequence(key: str, *parts: dict[str, Any] | None) -> dict[str, Any] | None:
    known = [part for part in parts if part]
    return {"type": "Sequence", key: known} if known else None


def _normalizers(*parts: dict[str, Any] | None) -> dict[str, Any] | None:
    return _sequence("normalizers", *parts)


def _replace(content: str, *, text: str = "", regex: str = "") -> dict[str, Any]:
    pattern = {"Regex": regex} if regex else {"String": text}
    return {"type": "Replace", "pattern": pattern, "content": content}


def _precompiled(charsmap: str) -> dict[str, Any] | None:
    return {"type": "Precompiled", "precompiled_charsmap": charsmap} if charsmap else None


def _byte_level(*, prefix: bool, regex: bool = True) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def _metaspace(scheme: str, *, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


def _at_spaces(scheme: str) -> dict[str, Any] | None:
    return _sequence("pretokenizers", {"type": "WhitespaceSplit"}, _metaspace(scheme))


def _split_regex(pattern: str, behavior: str, *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def _unigram(pieces: Pieces, unk_id: int) -> dict[str, Any]:
    vocab = [list(piece) for piece in pieces]
    return {"type": "Unigram", "unk_id": unk_id, "byte_fallback": False, "vocab": vocab}


def _bpe(**settings: Any) -> dict[str, Any]:
    return {"type": "BPE", **settings}


@dataclass
class WordTemplate:
    """Single and pair as words: a role in braces, or $A or $B, and a type id after a colon."""

    single: str
    pair: str

    def node(self, ids: Mapping[str, int], names: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the post_processor; KeyError for a token without an id. names: the tokens by role in braces."""
        used: dict[str, Any] = {}

        def part(word: str) -> dict[str, Any]:
            name, _, type_id = word.partition(":")
            kind = int(type_id or 0)
            if name.startswith("$"):
                return {"Sequence": {"id": name[1:], "type_id": kind}}
            token = names.get(name, name)
            # As in transformers, a language that the file lacks is unknown.
            index = ids.get(token, ids.get(names.get("{unk}", "")))
            if index is None:
                raise KeyError(token)
            used[token] = {"id": token, "ids": [index], "tokens": [token]}
            return {"SpecialToken": {"id": token, "type_id": kind}}

        single, pair = ([part(word) for word in words.split()] for words in (self.single, self.pair))
        return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": used}


@dataclass
class RobertaTemplate:
    """cls, A, sep; and a pair with two sep in the middle."""

    first: str
    last: str
    trims: bool
    prefix: bool

    def node(self, ids: Mapping[str, int], names: Mapping[str, str]) -> dict[str, Any]:
        """Return the post_processor; KeyError for a token without an id. names: the tokens by role in braces."""
        cls, sep = names[self.first], names[self.last]
        flags = {"trim_offsets": self.trims, "add_prefix_space": self.prefix}
        return {"type": "RobertaProcessing", "sep": [sep, ids[sep]], "cls": [cls, ids[cls]], **flags}


class Parts(NamedTuple):
    """What a class builds."""

    model: dict[str, Any]
    pre_tokenizer: dict[str, Any] | None
    decoder: dict[str, Any] | None
    normalizer: dict[str, Any] | None = None
    template: WordTemplate | RobertaTemplate | None = None  # None: bos and eos, if the options ask for them


_PAIR_OF_BERT = WordTemplate("{cls}:0 $A:0 {sep}:0", "{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1")
_WORDPIECES = {"type": "WordPiece", "prefix": "##", "cleanup": True}
_BYTES = _byte_level(prefix=True)
_BPE_OF_FILES = {"continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False}


# ------------------------------------------------------------------ vocab.txt


def _wordpiece(given: Given, template: WordTemplate | RobertaTemplate) -> Parts:
    unk = given.text("unk")
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": given.flag("tokenize_chinese_chars", True),
        "strip_accents": given.options["strip_accents"].value,
        "lowercase": given.flag("do_lower_case", True),
    }
    model = {"unk_token": unk, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    model = {"type": "WordPiece", **model, "vocab": given.lines()}
    return Parts(model, {"type": "BertPreTokenizer"}, _WORDPIECES, normalizer, template)


def _bert(given: Given) -> Parts:
    """BERT and its relatives."""
    given.has("unk=[UNK]", "sep=[SEP]", "pad=[PAD]", "cls=[CLS]", "mask=[MASK]")
    return _wordpiece(given, _PAIR_OF_BERT)


def _mpnet(given: Given) -> Parts:
    """MPNet."""
    given.has("bos=<s>", "eos=</s>", "sep=</s>", "cls=<s>", "unk=[UNK]", "pad=<pad>")
    given.has("mask=<mask>", flag=True)
    return _wordpiece(given, RobertaTemplate("{cls}", "{sep}", True, False))


# ------------------------------------------------------------------ vocab.json with merges.txt


def _gpt2(given: Given) -> Parts:
    """GPT-2, and CodeGen."""
    end = "<|endoftext|>"
    given.has(f"unk={end}", f"bos={end}", f"eos={end}")
    prefix = given.flag("add_prefix_space", False)
    return Parts(_bpe(**given.vocab_and_merges(), **_BPE_OF_FILES), _byte_level(prefix=prefix), _BYTES)


def _gpt_neox(given: Given) -> Parts:
    """GPT-NeoX."""
    parts = _gpt2(given)
    given.has("pad=<|padding|>")
    return parts._replace(normalizer={"type": "NFC"})


def _cohere(given: Given) -> Parts:
    """Cohere."""
    end = "<|END_OF_TURN_TOKEN|>"
    given.has("unk=<UNK>", "bos=<BOS_TOKEN>", f"eos={end}", "pad=<PAD>", "cls=<CLS>", "sep=<SEP>", "mask=<MASK_TOKEN>")
    prefix = _byte_level(prefix=given.flag("add_prefix_space", False))
    words = _sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, prefix)
    return Parts(_bpe(**given.vocab_and_merges(), **_BPE_OF_FILES), words, _BYTES, {"type": "NFC"})


def _roberta(given: Given) -> Parts:
    """RoBERTa, and BART."""
    given.has("bos=<s>", "eos=</s>", "sep=</s>", "cls=<s>", "unk=<unk>", "pad=<pad>", "mask=<mask>")
    prefix, trims = given.flag("add_prefix_space", False), given.flag("trim_offsets", True)
    model = _bpe(**given.vocab_and_merges(), **_BPE_OF_FILES)
    return Parts(model, _byte_level(prefix=prefix), _BYTES, template=RobertaTemplate("{cls}", "{sep}", trims, prefix))


def _deberta(given: Given) -> Parts:
    """DeBERTa."""
    given.has("bos=[CLS]", "eos=[SEP]", "sep=[SEP]", "cls=[CLS]", "unk=[UNK]", "pad=[PAD]", "mask=[MASK]")
    prefix = given.flag("add_prefix_space", False)
    model = _bpe(**given.vocab_and_merges(), **_BPE_OF_FILES)
    template = WordTemplate("{cls} $A {sep}", "{cls} $A {sep} {sep} $B {sep}")
    return Parts(model, _byte_level(prefix=prefix), _BYTES, template=template)


def _clip(given: Given) -> Parts:
    """CLIP."""
    start, end = "<|startoftext|>", "<|endoftext|>"
    given.has(f"unk={end}", f"bos={start}", f"eos={end}", f"pad={end}")
    model = _bpe(**given.vocab_and_merges(), **_BPE_OF_FILES, unk_token=given.text("unk"))
    model["end_of_word_suffix"] = "</w>"
    pattern = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    words = _sequence("pretokenizers", _split_regex(pattern, "Removed", invert=True), _byte_level(prefix=False))
    normalizer = _normalizers({"type": "NFC"}, _replace(" ", regex=r"\s+"), {"type": "Lowercase"})
    decoder = _sequence(
        "decoders", _BYTES, _replace(" ", text="</w>"), {"type": "Strip", "content": " ", "start": 0, "stop": 1}
    )
    return Parts(model, words, decoder, normalizer, RobertaTemplate("{bos}", "{eos}", False, False))


def _qwen2(given: Given, rule: str = "qwen2") -> Parts:
    """Qwen2 and Qwen3."""
    end = "<|endoftext|>"
    given.has(f"unk={end}", "bos=", f"eos={end}", f"pad={end}")
    given.plain = True
    prefix = given.flag("add_prefix_space", False)
    words = _sequence(
        "pretokenizers",
        _split_regex(_pattern(rule), "Isolated"),
        _byte_level(prefix=prefix, regex=False),
    )
    return Parts(_bpe(**given.vocab_and_merges(), **_BPE_OF_FILES), words, _BYTES, {"type": "NFC"})


def _whisper(given: Given) -> Parts:
    """Whisper."""
    end = "<|endoftext|>"
    given.has(f"unk={end}", f"bos={end}", f"eos={end}")
    model = _bpe(**given.vocab_and_merges(), **_BPE_OF_FILES)
    words = _byte_level(prefix=given.flag("add_prefix_space", False))
    names = ["<|startoftranscript|>"]
    language, task = (given.options[key].value for key in ("language", "task"))
    names += [f"<|{language}|>"] if language is not None else []
    names += [f"<|{task}|>"] if task is not None else []
    names += [] if given.flag("predict_timestamps", False) else ["<|notimestamps|>"]
    # transformers writes a token that is not there as the unk token.
    known = {_content(token) for token in _listed(given.options["added_tokens_decoder"])} | model["vocab"].keys()
    start = " ".join(name if name in known else "{unk}" for name in names)
    return Parts(model, words, _BYTES, template=WordTemplate(f"{start} $A {{eos}}", f"{start} $A $B:1 {{eos}}:1"))


def _pattern(name: str) -> str:
    step = NAMED[name][0]
    return str(step.pattern)  # type: ignore[union-attr]


# ------------------------------------------------------------------ SentencePiece: Unigram


def _t5(given: Given) -> Parts:
    """T5 and mT5, with sentinels."""
    given.has("eos=</s>", "unk=<unk>", "pad=<pad>")
    count, file = given.number("extra_ids", 100), given.sentencepiece()
    sentinels = [f"<extra_id_{i}>" for i in range(count)]
    given.more += [*file.added, *sentinels]
    pieces = [*file.pieces, *((text, 0.0) for text in reversed(sentinels))]
    template = WordTemplate("$A {eos}", "$A {eos} $B {eos}")
    decoder = _metaspace("always")
    return Parts(_unigram(pieces, 2), _at_spaces("always"), decoder, _precompiled(file.charsmap), template)


def _without_accents(given: Given, file: SentencePieceFile, *, lower: bool, accents: bool) -> dict[str, Any] | None:
    return _normalizers(
        _replace('"', text="``"),
        _replace('"', text="''"),
        *([] if accents else [{"type": "NFKD"}, {"type": "StripAccents"}]),
        {"type": "Lowercase"} if given.flag("do_lower_case", lower) else None,
        _precompiled(file.charsmap),
    )


def _albert(given: Given) -> Parts:
    """ALBERT."""
    given.has("bos=[CLS]", "eos=[SEP]", "unk=<unk>", "sep=[SEP]", "pad=<pad>", "cls=[CLS]", "mask=[MASK]")
    file = given.sentencepiece()
    given.more += file.added
    normalizer = _without_accents(given, file, lower=True, accents=given.flag("keep_accents", False))
    scheme = "always" if given.flag("add_prefix_space", True) else "never"
    # Its template is the first to be set: that of the options replaces it.
    asked = any(given.options[key].value is not None for key in ("add_bos_token", "add_eos_token"))
    words = _at_spaces(scheme)
    return Parts(_unigram(file.pieces, 1), words, _metaspace(scheme), normalizer, None if asked else _PAIR_OF_BERT)


def _xlnet(given: Given) -> Parts:
    """XLNet."""
    given.has("bos=<s>", "eos=</s>", "unk=<unk>", "sep=<sep>", "pad=<pad>", "cls=<cls>")
    given.has("mask=<mask>", flag=True)
    file = given.sentencepiece()
    given.more += file.added
    normalizer = _without_accents(given, file, lower=False, accents=False)
    template = WordTemplate("$A:0 {sep}:0 {cls}:2", "$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2")
    return Parts(_unigram(file.pieces, file.unk_id), _at_spaces("always"), _metaspace("always"), normalizer, template)


def _big_bird(given: Given) -> Parts:
    """BigBird."""
    given.has("bos=<s>", "eos=</s>", "unk=<unk>", "pad=<pad>", "cls=[CLS]", "sep=[SEP]")
    given.has("mask=[MASK]", flag=True)
    file = given.sentencepiece()
    given.more += file.added
    scheme = "always" if given.flag("add_prefix_space", True) else "never"
    normalizer = _normalizers(
        {"type": "Strip", "strip_left": False, "strip_right": False}, _replace(SPACE, regex=" {2,}")
    )
    model = _unigram(file.pieces, _index(given, file.pieces, 100))
    return Parts(model, _metaspace(scheme), _metaspace(scheme), normalizer, _PAIR_OF_BERT)


def _deberta_v2(given: Given) -> Parts:
    """DeBERTa v2 and v3."""
    given.has("bos=[CLS]", "eos=[SEP]", "unk=[UNK]", "sep=[SEP]", "pad=[PAD]", "cls=[CLS]", "mask=[MASK]")
    file = given.sentencepiece()
    given.more += file.added
    normalizer = _normalizers(
        {"type": "Lowercase"} if given.flag("do_lower_case", False) else None,
        _replace(" ", regex=r"\s{2,}|[\n\r\t]"),
        {"type": "NFC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    )
    scheme = "always" if given.flag("add_prefix_space", True) else "first"
    signs = {"type": "Punctuation", "behavior": "Isolated"} if given.flag("split_by_punct", False) else None
    words = _sequence("pretokenizers", signs, _metaspace(scheme))
    model = _unigram(file.pieces, _index(given, file.pieces, file.unk_id))
    return Parts(model, words, _metaspace(scheme), normalizer, _PAIR_OF_BERT)


def _pegasus(given: Given) -> Parts:
    """Pegasus."""
    given.has("pad=<pad>", "eos=</s>", "unk=<unk>", "mask=<mask_2>")
    options, file = given.options, given.sentencepiece()
    # The names of the two masks in the file are those of the options; without options, another order.
    masks = [options["mask_token"].value or "<mask_1>", options["mask_token_sent"].value or "<mask_2>"]
    unused = [f"<unk_{i}>" for i in range(2, max(2, given.number("offset", 103)))]
    sentence = options["mask_token_sent"].value or "<mask_1>"
    if sentence not in [_content(token) for token in file.added]:
        given.more += [sentence]
    given.more += unused
    first = [(text, 0.0) for text in (given.text("pad"), given.text("eos"), *dict.fromkeys(map(_content, masks)))]
    pieces = [*first, *((text, -100.0) for text in unused), *file.pieces[2:]]
    normalizer = _normalizers(_precompiled(file.charsmap) or _replace(" ", regex=r"\n"), _replace(" ", regex=" {2,}"))
    model = _unigram(pieces, _index(given, pieces, -1))
    template = WordTemplate("$A {eos}", "$A $B {eos}")
    return Parts(model, _metaspace("always"), _metaspace("always"), normalizer, template)


def _shifted(given: Given, file: SentencePieceFile, *last: str) -> Pieces:
    """Return fairseq's vocabulary: four special tokens, the pieces without the file's first three, and more tokens."""
    first = [given.text(role) for role in ("bos", "pad", "eos", "unk")]
    return [*((text, 0.0) for text in first), *file.pieces[3:], *((text, 0.0) for text in last)]


_ROLES_OF_FAIRSEQ = ("bos=<s>", "eos=</s>", "sep=</s>", "cls=<s>", "unk=<unk>", "pad=<pad>")


def _xlm_roberta(given: Given) -> Parts:
    """XLM-RoBERTa."""
    given.has(*_ROLES_OF_FAIRSEQ, "mask=<mask>")
    file = given.sentencepiece()
    given.more += file.added
    pieces = _shifted(given, file, given.text("mask"))
    scheme = "always" if given.flag("add_prefix_space", True) else "never"
    template = WordTemplate("{bos} $A {eos}", "{bos} $A {eos} {eos} $B {eos}")
    return Parts(_unigram(pieces, 3), _at_spaces(scheme), _metaspace(scheme), _precompiled(file.charsmap), template)


def _mbart(given: Given) -> Parts:
    """mBART."""
    given.has(*_ROLES_OF_FAIRSEQ)
    given.has("mask=<mask>", flag=True)
    file = given.sentencepiece()
    given.more += [*_LANGUAGES, *file.added]
    pieces = _shifted(given, file, *_LANGUAGES, given.text("mask"))
    language = _language(given, "en_XX")
    template = WordTemplate(f"$A {{eos}} {language}", f"$A $B {{eos}} {language}")
    return Parts(_unigram(pieces, 3), _at_spaces("always"), _metaspace("always"), None, template)


def _mbart50(given: Given) -> Parts:
    """mBART-50."""
    given.has("eos=</s>", "sep=</s>", "cls=<s>", "unk=<unk>", "pad=<pad>")
    given.has("mask=<mask>", flag=True)
    file = given.sentencepiece()
    given.more += [*file.added, *_LANGUAGES_50]
    first = [given.text(role) for role in ("cls", "pad", "eos", "unk")]
    last = [*_LANGUAGES_50, given.text("mask")]
    pieces = [*((text, 0.0) for text in first), *file.pieces[3:], *((text, 0.0) for text in last)]
    normalizer = _normalizers(_precompiled(file.charsmap), _replace(" ", regex=" {2,}"))
    language = _language(given, "en_XX")
    template = WordTemplate(f"{language} $A {{eos}}", f"{language} $A $B {{eos}}")
    return Parts(_unigram(pieces, 3), _metaspace("always"), _metaspace("always"), normalizer, template)


def _language(given: Given, default: str) -> str:
    node = given.options["src_lang"]
    return default if node.value is None else node.string()


def _index(given: Given, pieces: Pieces, otherwise: int) -> int:
    """Return the id of the unk token, which the classes look for as a piece with score 0."""
    text = given.text("unk")
    found = next((i for i, piece in enumerate(pieces) if piece == (text, 0.0)), otherwise)
    if not 0 <= found < len(pieces):
        raise FormatError(f"{given.folder}: expected {show_json(text)}, the unk token, as a piece with score 0")
    return found


# ------------------------------------------------------------------ SentencePiece: BPE


def implied_merges(ids: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return merges for a vocabulary without any: all pairs that join to a token, by the id of that token.

    Ties: the pair with the shorter left token, then the shorter right one.

    >>> implied_merges({"a": 0, "b": 1, "ab": 2})
    [('a', 'b')]
    """
    found = []
    for token, index in ids.items():
        pairs = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        pairs = sorted((pair for pair in pairs if pair[0] in ids and pair[1] in ids), key=lambda pair: ids[pair[0]])
        found += [(index, len(left), len(right), left, right) for left, right in pairs]
    found.sort(key=lambda entry: entry[:3])
    return [entry[3:] for entry in found]


def _merged(pieces: Pieces) -> dict[str, Any]:
    ids = {text: i for i, (text, _) in enumerate(pieces)}
    return {"vocab": ids, "merges": [list(pair) for pair in implied_merges(ids)]}


_FALLBACK = (_replace(" ", text=SPACE), {"type": "ByteFallback"}, {"type": "Fuse"})
_NO_FIRST_SPACE = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def _llama(given: Given) -> Parts:
    """Llama."""
    given.has("unk=<unk>", "bos=<s>", "eos=</s>")
    file = given.sentencepiece()
    given.more += file.added
    prefix = given.flag("add_prefix_space", True)
    scheme = ("always" if given.flag("legacy", False) else "first") if prefix else "never"
    decoder = _sequence("decoders", *_FALLBACK, _NO_FIRST_SPACE if prefix else None)
    return Parts(
        _bpe(**_merged(file.pieces), fuse_unk=True, byte_fallback=True), _metaspace(scheme, split=False), decoder
    )


def _code_llama(given: Given) -> Parts:
    """Code Llama."""
    infill = ("prefix=▁<PRE>", "middle=▁<MID>", "suffix=▁<SUF>", "eot=▁<EOT>", "fill=<FILL_ME>")
    given.has("unk=<unk>", "bos=<s>", "eos=</s>", *infill)
    file = given.sentencepiece()
    given.more += file.added
    scheme = "first" if given.flag("add_prefix_space", True) else "never"
    model = _bpe(**_merged(file.pieces), fuse_unk=True, byte_fallback=True, unk_token=given.text("unk"))
    decoder = _sequence("decoders", *_FALLBACK, _NO_FIRST_SPACE)
    return Parts(model, _metaspace(scheme, split=False), decoder)


def _gemma(given: Given) -> Parts:
    """Gemma."""
    given.has("unk=<unk>", "bos=<bos>", "eos=<eos>", "pad=<pad>", "mask=<mask>")
    file = given.sentencepiece()
    given.more += file.added
    model = _bpe(**_merged(file.pieces), fuse_unk=True, byte_fallback=True, unk_token=given.text("unk"))
    words = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    return Parts(model, words, _sequence("decoders", *_FALLBACK), _replace(SPACE, text=" "))


def _nllb(given: Given) -> Parts:
    """NLLB."""
    given.has(*_ROLES_OF_FAIRSEQ)
    token = given.options["mask_token"].value if "mask_token" in given.options.object() else "<mask>"
    flags = {"lstrip": True, "normalized": True, "special": True}
    given.tokens["mask"] = {"content": token, **flags} if isinstance(token, str) else token
    file = given.sentencepiece()
    given.more += file.added
    first = [given.text(role) for role in ("bos", "pad", "eos", "unk")]
    # The merges are those of the file's ids.
    ids = {text: i for i, text in enumerate(dict.fromkeys([*first, *(text for text, _ in file.pieces)]))}
    merges = _merged(file.pieces)["merges"]
    model = _bpe(vocab=ids, merges=merges, unk_token=given.text("unk"), fuse_unk=True, byte_fallback=False)
    normalizer = _normalizers(_precompiled(file.charsmap), _replace(" ", regex=" {2,}")) if file.charsmap else None
    language = _language(given, "eng_Latn")
    old = given.flag("legacy_behaviour", False)
    single, pair = (
        (f"$A {{eos}} {language}", f"$A $B {{eos}} {language}")
        if old
        else (f"{language} $A {{eos}}", f"{language} $A $B {{eos}}")
    )
    return Parts(model, _metaspace("always"), _metaspace("always"), normalizer, WordTemplate(single, pair))


# ------------------------------------------------------------------ files that are no parts of a tokenizer.json


def of_own_code(name: str, given: Given) -> TokenizerSpec:
    """Return the tokenizer of a folder of `OWN`."""
    if name == "Marian":
        from subwords.formats.sentencepiece.read import read_marian

        given.has("eos=</s>", "unk=<unk>", "pad=<pad>")
        ids = read_vocab(parse_json(*given.file("vocab.json")))
        for role, text in given.roles.items():
            if text not in ids:
                raise given.options[f"{role}_token"].wrong("a token of vocab.json", show_json(text))
        return read_marian(*given.file("source.spm"), ids, given.roles)
    from subwords.formats.tiktoken import read_kimi, read_qwen

    (file,) = OWN[name]
    if name == "QWen":
        given.has("eos=<|endoftext|>", "pad=<|endoftext|>")
        return read_qwen(*given.file(file))
    given.has("bos=[BOS]", "eos=[EOS]")
    listed = _by_key(given.options["added_tokens_decoder"])
    return read_kimi(*given.file(file), {int(key): _content(token) for key, token in listed.items() if key.isdecimal()})


# ------------------------------------------------------------------ the classes, and what is common to them

_SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model")
_TXT, _PAIR = ("vocab.txt",), ("vocab.json", "merges.txt")
# Qwen 1, Kimi, and Marian, whose files are no parts of a tokenizer.json.
OWN = {"QWen": ("qwen.tiktoken",), "TikToken": ("tiktoken.model",), "Marian": ("source.spm", "vocab.json")}

Recipe = Callable[[Given], Parts]
CLASSES: dict[str, tuple[Recipe, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("Bert", "DistilBert", "Electra", "MobileBert", "LayoutLM", "Lxmert", "SqueezeBert", "ConvBert"), (_bert, _TXT)
    ),
    "MPNet": (_mpnet, _TXT),
    **dict.fromkeys(("GPT2", "CodeGen"), (_gpt2, _PAIR)),
    "GPTNeoX": (_gpt_neox, _PAIR),
    "Cohere": (_cohere, _PAIR),
    **dict.fromkeys(("Roberta", "Bart", "LED", "Longformer", "Mvp"), (_roberta, _PAIR)),
    "Deberta": (_deberta, _PAIR),
    "CLIP": (_clip, _PAIR),
    "Qwen2": (_qwen2, _PAIR),
    "Qwen3_5": (partial(_qwen2, rule="qwen35"), ()),  # beside a tokenizer.json only
    "Whisper": (_whisper, _PAIR),
    **dict.fromkeys(("T5", "MT5"), (_t5, _SENTENCEPIECE)),
    "Albert": (_albert, _SENTENCEPIECE),
    "XLNet": (_xlnet, _SENTENCEPIECE),
    "BigBird": (_big_bird, _SENTENCEPIECE),
    "DebertaV2": (_deberta_v2, _SENTENCEPIECE),
    "Pegasus": (_pegasus, _SENTENCEPIECE),
    "XLMRoberta": (_xlm_roberta, _SENTENCEPIECE),
    "MBart": (_mbart, _SENTENCEPIECE),
    "MBart50": (_mbart50, _SENTENCEPIECE),
    "Nllb": (_nllb, _SENTENCEPIECE),
    **dict.fromkeys(("Llama", "Phi3"), (_llama, _SENTENCEPIECE)),
    "CodeLlama": (_code_llama, _SENTENCEPIECE),
    "Gemma": (_gemma, _SENTENCEPIECE),
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


def class_options(config: Node, special: Node, added: Node) -> Node:
    """Return the options of a class: those of tokenizer_config.json, and of the two files of older folders."""
    options = {key: value for key, value in config.object().items() if key != "tokenizer_class"}
    if not options.get("extra_special_tokens") and "additional_special_tokens" in options:
        options["extra_special_tokens"] = options.pop("additional_special_tokens")
    if config["added_tokens_decoder"].value is None:
        for key, value in special.object().items():
            options[key] = value | {"special": True} if isinstance(value, dict) and "content" in value else value
        named = {_content(options.get(f"{role}_token")) for role in ROLES}
        more = options.get("extra_special_tokens")
        named |= {_content(token) for token in more} if isinstance(more, list) else set()
        listed = {}
        for content in added.object():
            index, is_special = added[content].integer(LARGEST_ID), content in named
            listed[str(index)] = {"content": content, "normalized": not is_special, "special": is_special}
        options["added_tokens_decoder"] = listed
    return Node(config.file, "", options)


def vocabulary_files(name: str, there: Collection[str]) -> list[str]:
    """Return the vocabulary files of a class among those that are there; [] without a class, or if one is missing."""
    wanted = OWN.get(name) or (CLASSES[name][1] if name else ())
    if wanted is _SENTENCEPIECE:
        return [each for each in wanted if each in there][:1]
    return [*wanted] if {*wanted} <= {*there} else []


def as_tokenizer_json(name: str, given: Given) -> Node:
    """Return the tokenizer.json that a class would save; FormatError, with the place, for what it cannot use."""
    parts = CLASSES[name][0](given)
    vocab = parts.model["vocab"]
    ids: dict[str, int] = dict(vocab) if isinstance(vocab, dict) else {text: i for i, (text, _) in enumerate(vocab)}
    added, size = [], len(vocab)
    for entry in _all_tokens(given):
        index = ids.setdefault(entry["content"], size)
        size += index == size
        added.append({"id": index, **entry})
    names = {f"{{{role}}}": text for role in given.tokens if (text := _content(given.tokens[role]))}
    template = parts.template or _ends(given)
    try:
        post = template.node(ids, names) if template else None
    except KeyError as error:
        raise given.options.wrong(f"the token {error} of the template of {name}Tokenizer", "none") from None
    top = {
        "version": "1.0",
        "added_tokens": sorted(added, key=lambda entry: entry["id"]),
        "normalizer": parts.normalizer,
        "pre_tokenizer": parts.pre_tokenizer,
        "post_processor": post,
        "decoder": parts.decoder,
        "model": parts.model,
    }
    return Node(given.folder, "", top)


def _ends(given: Given) -> WordTemplate | None:
    """Return the template of the options `add_bos_token` and `add_eos_token`; None without both."""
    default = given.tokens.get("fill") is not None  # CodeLlama's
    bos = given.flag("add_bos_token", default) and _content(given.tokens.get("bos"))
    eos = given.flag("add_eos_token", False) and _content(given.tokens.get("eos"))
    if not bos and not eos:
        return None
    first, last = "{bos}:%d " if bos else "", " {eos}:%d" if eos else ""
    single, second = (f"{first}${text}:%d{last}".replace("%d", kind) for text, kind in (("A", "0"), ("B", "1")))
    return WordTemplate(single, f"{single} {second}")


def _content(token: Any) -> str:
    return str((token.get("content") if isinstance(token, dict) else token) or "")


def _by_key(decoder: Node) -> dict[str, dict[str, Any]]:
    if decoder.value is None:
        return {}
    keys = sorted(decoder.object(), key=lambda key: (len(key), key))
    return {key: decoder[key].object() for key in keys}


def _listed(decoder: Node) -> list[dict[str, Any]]:
    return [*_by_key(decoder).values()]


def _all_tokens(given: Given) -> Iterator[dict[str, Any]]:
    """Yield the added tokens in the order in which transformers adds them, each once."""
    listed = {_content(token): token for token in _listed(given.options["added_tokens_decoder"])}
    options = given.options.object()
    extra = options.get("extra_special_tokens") or options.get("additional_special_tokens")
    others = {key.removesuffix("_token"): value for key, value in options.items() if key.endswith("_token")}
    others = {role: value for role, value in others.items() if isinstance(value, str | dict)}
    given.tokens |= {role: value for role, value in others.items() if role in ROLES and role not in given.tokens}
    order = [token for role in ROLES if (token := given.tokens.get(role))]
    order += [token for role, token in (others | given.tokens).items() if role not in ROLES and token]
    order += extra.values() if isinstance(extra, dict) else []
    named = set(map(_content, order))
    more = extra if isinstance(extra, list) else given.more
    again = named | set(map(_content, more))
    # The last one decides on the flags, but for those that are listed.
    found = {_content(token): token for token in [*listed.values(), *order, *more]} | listed
    for content, token in found.items():
        flags = token if isinstance(token, dict) else {"special": True}
        special = content in named or bool(flags.get("special", False))
        flags = {"special": True} if given.plain and content in again else flags
        entry = {flag: bool(flags.get(flag, False)) for flag in _FLAGS}
        if flags.get("normalized") is None:
            entry["normalized"] = not special
        if content:
            yield {"content": content, **entry, "special": special}
