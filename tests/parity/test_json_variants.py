"""Every component and every variant of a tokenizer.json that HF reads: the same ids, tokens, offsets and text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import tokenizers

from building import read_json, write_json
from charsmap import write_charsmap
from inside import tokens_to_text
from pipelines import quiet
from subwords import FormatError, Tokenizer

TEXTS = (
    *(
        "",
        " ",
        "a",
        "Hello,  Wörld! it's 123",
        "  a\tb\n\nc ",
        "é e\u0301 ﬁ ½ Å",
        "日本語 テスト",
        "x▁y ▁",
        "don't-stop_now",
    ),
    *("\u0001\u200b\ufeffa", "ÀÉ\u0300", "a" * 12, "😀👩‍👩‍👧 x", "a.b..c?!", "١٢٣ 4५", "<s>a</s>", "\x00\ufffd\x85"),
)
LETTERS = sorted({char for text in TEXTS for char in text} | set("abcdefghijklmnopqrstuvwxyz0123456789▁ĠÃ©"))
BYTE_LETTERS = tokens_to_text([bytes([byte]) for byte in range(256)])
LETTERS = sorted({*LETTERS, *BYTE_LETTERS})
VOCAB = {text: i for i, text in enumerate(["<unk>", "<s>", "</s>", *LETTERS, "ab", "##a", "it"])}
MODEL: dict[str, Any] = {"type": "BPE", "unk_token": "<unk>", "vocab": VOCAB, "merges": [["a", "b"], ["i", "t"]]}
BYTE_MODEL = MODEL | {"vocab": {text: i for i, text in enumerate(["<unk>", "<s>", "</s>", *BYTE_LETTERS, "ab", "it"])}}
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def file(**parts: Any) -> dict[str, Any]:
    """A file with some parts; its model has all letters, or those of bytes if it is byte-level."""
    is_byte_level = '"ByteLevel"' in json.dumps(parts.get("pre_tokenizer"))
    model = BYTE_MODEL if is_byte_level else MODEL
    added = [{"id": i, "content": text, **FLAGS} for i, text in enumerate(["<unk>", "<s>", "</s>"])]
    return {"version": "1.0", "added_tokens": added, "model": model} | parts


def pack(value: Any) -> bytes:
    return json.dumps(value).encode()


def compare(tok: Tokenizer, peer: tokenizers.Tokenizer) -> None:
    for text in TEXTS:
        with quiet():
            ref = peer.encode(text)
        got = tok(text, special="allow")
        assert got.ids.tolist() == ref.ids, text
        assert list(got.file_tokens) == ref.tokens, text
        assert [*map(tuple, got.spans.tolist())] == ref.offsets, text
        assert (list(got.word_ids), got.type_ids.tolist()) == (ref.word_ids, ref.type_ids), text
        for skip in (False, True):
            assert tok.decode(ref.ids, skip_special_tokens=skip) == peer.decode(ref.ids, skip_special_tokens=skip), text


def check(value: Any) -> Tokenizer:
    """Read a file as HF does, also after it is written."""
    tok, peer = read_json(pack(value), "a.json"), tokenizers.Tokenizer.from_buffer(pack(value))
    compare(tok, peer)
    written = write_json(tok)
    compare(read_json(written, "b.json"), tokenizers.Tokenizer.from_buffer(written))
    return tok


# ------------------------------------------------------------------ every component

CHARSMAP = base64.b64encode(write_charsmap({"ﬁ": "fi", "½": "1/2", "\t": " ", "e\u0301": "é", "x": ""})).decode()
BERT = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
NORMALIZERS: list[dict[str, Any]] = [
    {"type": "BertNormalizer", **BERT},
    {"type": "BertNormalizer", **BERT, "strip_accents": False, "clean_text": False},
    {"type": "BertNormalizer", **BERT, "lowercase": False, "handle_chinese_chars": False},
    *({"type": kind} for kind in ("ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents")),
    {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Prepend", "prepend": ""},
    {"type": "Prepend", "prepend": "ab c"},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"},
    {"type": "Replace", "pattern": {"String": ".."}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": "▁"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Strip", "strip_left": False, "strip_right": False},
    {"type": "Sequence", "normalizers": []},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}]}]},
    {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "ByteLevel"}]},
]  # fmt: skip
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
PRE_TOKENIZERS: list[dict[str, Any]] = [
    {"type": "BertPreTokenizer"},
    BYTES,
    BYTES | {"add_prefix_space": False},
    BYTES | {"use_regex": False},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False},
    {"type": "CharDelimiterSplit", "delimiter": "-"},
    {"type": "CharDelimiterSplit", "delimiter": "é"},
    {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False},
    {"type": "FixedLength", "length": 1},
    {"type": "FixedLength", "length": 4},
    {"type": "FixedLength"},
    METASPACE,
    METASPACE | {"prepend_scheme": "first", "split": False},
    METASPACE | {"prepend_scheme": "never", "replacement": "_"},
    {"type": "Punctuation"},
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    *(SPLIT | {"behavior": behavior, "invert": invert} for behavior in BEHAVIORS for invert in (False, True)),
    SPLIT | {"pattern": {"Regex": r"\p{L}+|\d{1,2}"}},
    SPLIT | {"pattern": {"String": ""}},
    *({"type": kind} for kind in ("UnicodeScripts", "Whitespace", "WhitespaceSplit")),
    {"type": "Sequence", "pretokenizers": []},
    {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]}, SPLIT]},
]
PLAIN = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
PAIR = [*PLAIN, {"Sequence": {"id": "B", "type_id": 1}}]
TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": PLAIN,
    "pair": PAIR,
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
}
CLASSIFIED = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
ROBERTA = {**CLASSIFIED, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
OFFSETS = [{"trim_offsets": trims, "add_prefix_space": at} for trims in (False, True) for at in (False, True)]
POST_PROCESSORS: list[dict[str, Any]] = [
    CLASSIFIED,
    *(ROBERTA | flags for flags in OFFSETS),
    *(BYTES | flags for flags in OFFSETS),
    TEMPLATE,
    {"type": "Sequence", "processors": []},
    {"type": "Sequence", "processors": [BYTES, {"type": "Sequence", "processors": [TEMPLATE]}]},
]  # fmt: skip


def components() -> Iterator[Any]:
    for slot, nodes in (
        ("normalizer", NORMALIZERS),
        ("pre_tokenizer", PRE_TOKENIZERS),
        ("post_processor", POST_PROCESSORS),
    ):
        for i, node in enumerate(nodes):
            yield pytest.param(slot, node, id=f"{slot} {i} {node['type']}")


@pytest.mark.rotating(2, always=("normalizer",))
@pytest.mark.parametrize(("slot", "node"), [*components()])
def test_component(slot: str, node: dict[str, Any]) -> None:
    check(file(**{slot: node, "decoder": BYTES}))
    if slot == "post_processor":
        check(file(post_processor=node, pre_tokenizer=BYTES))


def test_normalizer_to_bytes_for_a_model_of_byte_letters() -> None:
    """The model sees letters; with the ByteLevel decoder, text comes back."""
    tok = check(
        file(normalizer={"type": "ByteLevel"}, decoder=BYTES, pre_tokenizer=SPLIT | {"pattern": {"String": "Ġ"}})
    )
    for text in TEXTS:
        assert tok.decode(tok.encode(text)) == text
    assert tok.tokenize("é a") == ["Ã", "©", "Ġ", "a"]


# ------------------------------------------------------------------ variants

UNIGRAM = {"vocab": [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], *([char, -3.5] for char in LETTERS)], "unk_id": 0}
WORDPIECE = {
    "unk_token": "<unk>",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 5,
    "vocab": VOCAB | {f"##{char}": len(VOCAB) + i for i, char in enumerate("bcdefghij")},
}


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: part for key, part in value.items() if key not in keys}


VARIANTS: dict[str, dict[str, Any]] = {
    "no version": without(file(), "version"),
    "only a model": {"model": without(MODEL, "unk_token")},
    "unknown keys": file(model={**MODEL, "remark": {}}, decoder={"type": "Fuse", "remark": []}),
    "untagged BPE": file(model=without(MODEL, "type")),
    "untagged BPE with a prefix of null": file(model={**without(MODEL, "type"), "continuing_subword_prefix": None}),
    "untagged WordPiece": file(model=WORDPIECE),
    "untagged WordPiece, merges: null": file(model={**WORDPIECE, "merges": None}),
    "WordPiece, merges: null": file(model={"type": "WordPiece", **WORDPIECE, "merges": None}),
    "untagged Unigram": file(model=UNIGRAM),
    "untagged Unigram, merges: null": file(model={**UNIGRAM, "merges": None}),
    "Unigram without byte_fallback": file(model={"type": "Unigram", **UNIGRAM}),
    "merges as strings": file(model={**MODEL, "merges": ["a b", "i t"]}),
    "merges with a version": file(model={**MODEL, "merges": ["#version: 0.2", "a b", "i t"]}),
    "BPE with nulls": file(model=MODEL | dict.fromkeys(("dropout", "fuse_unk", "byte_fallback", "ignore_merges"))),
    "BPE with empty affixes": file(model={**MODEL, "continuing_subword_prefix": "", "end_of_word_suffix": ""}),
    "untagged BertNormalizer": file(normalizer=BERT),
    "Bert without strip_accents": file(normalizer={"type": "BertNormalizer", **without(BERT, "strip_accents")}),
    "normalizer Bert": file(normalizer={"type": "Bert", **BERT}),
    "untagged Strip": file(normalizer={"strip_left": True, "strip_right": False}),
    "another type of Strip": file(normalizer={"type": "StripNormalizer", "strip_left": False, "strip_right": True}),
    "untagged Sequence": file(normalizer={"normalizers": [{"prepend": "▁"}, {"type": "NFD"}]}),
    "untagged Replace": file(normalizer={"pattern": {"String": "a"}, "content": "b", "prepend": "c"}),
    "untagged Prepend": file(normalizer={"type": None, "prepend": "▁"}),
    "tagged before told by fields": file(normalizer={"type": "Lowercase", "strip_left": True, "strip_right": True}),
    "Metaspace of 2020": file(
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"},
        decoder={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"},
    ),
    "Metaspace of 2024": file(
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "first"},
        decoder={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "first"},
    ),
    "Metaspace without prefix": file(
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never"},
        decoder={"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never"},
    ),
    "Metaspace, split: null": file(pre_tokenizer={"type": "Metaspace", "replacement": "▁", "split": None}),
    "T5": file(
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}, decoder=METASPACE
    ),
    "ByteLevel without use_regex": file(
        pre_tokenizer=without(BYTES, "use_regex"),
        decoder=without(BYTES, "use_regex"),
        post_processor=without(BYTES, "use_regex"),
    ),
    "Llama 3": file(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [SPLIT | {"pattern": {"Regex": r"\p{L}+|\p{N}{1,3}"}}, BYTES | {"use_regex": False}],
        },
        post_processor={"type": "Sequence", "processors": [BYTES, TEMPLATE]},
        decoder=BYTES,
    ),
    "untagged BertProcessing": file(post_processor=without(CLASSIFIED, "type")),
    "another type of BertProcessing": file(post_processor={**CLASSIFIED, "type": "Foo"}),
    "BertProcessing that is RobertaProcessing": file(post_processor={**ROBERTA, "type": "BertProcessing"}),
    "RobertaProcessing that is BertProcessing": file(post_processor=without(ROBERTA, "add_prefix_space")),
    "untagged TemplateProcessing": file(post_processor=without(TEMPLATE, "type")),
    "untagged BPEDecoder": file(decoder={"suffix": "b"}),
    "decoder BPE": file(decoder={"type": "BPE", "suffix": "b"}),
    "untagged WordPiece decoder": file(decoder={"prefix": "##", "cleanup": True}),
    "untagged CTC": file(decoder={"pad_token": "a", "word_delimiter_token": "▁", "cleanup": False}),
    "untagged Strip decoder": file(decoder={"content": "a", "start": 1, "stop": 0}),
    "untagged Replace decoder": file(decoder={"pattern": {"Regex": "[aeiou]"}, "content": "-"}),
    "no decoder": file(decoder=None),
    "truncation without direction": file(
        truncation={"max_length": 99, "strategy": "LongestFirst", "stride": 0}, padding=None
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_variant(name: str) -> None:
    check(VARIANTS[name])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "two spaces in a merge": (file(model={**MODEL, "merges": ["a  b"]}), r"model.merges\[0\]"),
    "another version": (file(version="3.0"), r'version: expected "1.0" or "2.0"'),
    "Metaspace that contradicts itself": (
        file(pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}),
        "pre_tokenizer.prepend_scheme",
    ),
    "Metaspace, prepend_scheme: null": (file(pre_tokenizer=METASPACE | {"prepend_scheme": None}), "prepend_scheme"),
    "Delimiter": (file(pre_tokenizer={"type": "Delimiter", "delimiter": "-"}), "pre_tokenizer.type"),
    "Digits without a field": (file(pre_tokenizer={"type": "Digits"}), "individual_digits"),
    "untagged pre-tokenizer": (file(pre_tokenizer={"individual_digits": True}), "pre_tokenizer.type"),
    "untagged Metaspace decoder": (file(decoder={"replacement": "▁", "prepend_scheme": "always"}), "decoder"),
    "a step without a type": (file(decoder={"type": "Sequence", "decoders": [{}, METASPACE]}), r"decoders\[0\]"),
    "untagged Sequence of decoders": (file(decoder={"decoders": []}), "decoder"),
    "untagged ByteLevel post-processor": (file(post_processor=without(BYTES, "type")), "post_processor"),
    "untagged Precompiled": (file(normalizer={"precompiled_charsmap": CHARSMAP}), "normalizer.type"),
    "pattern without a kind": (file(normalizer={"type": "Replace", "pattern": "a", "content": ""}), "pattern"),
    "two kinds of pattern": (
        file(normalizer={"type": "Replace", "pattern": {"String": "a", "Regex": "b"}, "content": ""}),
        "pattern",
    ),
    "template in text form": (file(post_processor={**TEMPLATE, "single": "<s> $A"}), "post_processor.single"),
    "charsmap: null": (file(normalizer={"type": "Precompiled", "precompiled_charsmap": None}), "precompiled_charsmap"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_hf_refuses(name: str) -> None:
    value, place = REFUSED[name]
    with pytest.raises(FormatError, match=rf"^a\.json: .*{place}"):
        read_json(pack(value), "a.json")
    with quiet(), pytest.raises(BaseException, match=r"."):  # a panic of HF's is no Exception
        tokenizers.Tokenizer.from_buffer(pack(value))


# ------------------------------------------------------------------ ids of added tokens


def added(content: str, index: int, **flags: bool) -> dict[str, Any]:
    return {"id": index, "content": content, **FLAGS, **flags}


def test_ids_of_added_tokens_that_disagree_with_the_model() -> None:
    """A token of the model has the model's id, in HF and here; others have the file's id here, the next ones in HF."""
    size = len(VOCAB)
    value = file(added_tokens=[added("ab", size + 3), added("<x>", size), added("<y>", size + 1)])
    tok = check(value)
    assert tok.token_to_id("ab") == VOCAB["ab"]
    assert [tok.token_to_id(text) for text in ("<x>", "<y>")] == [size, size + 1]
    value = file(added_tokens=[added("<x>", size + 100)])
    tok, peer = read_json(pack(value), "a.json"), tokenizers.Tokenizer.from_buffer(pack(value))
    assert (tok.token_to_id("<x>"), peer.token_to_id("<x>")) == (size + 100, size)
    assert tok.decode([size + 100]) == "<x>"
    # What is written means the same to HF.
    assert tokenizers.Tokenizer.from_buffer(write_json(tok)).token_to_id("<x>") == size + 100
    with pytest.raises(FormatError, match=r"added_tokens\[0\].id: expected a free id, not 3"):
        read_json(pack(file(added_tokens=[added("<x>", 3)])), "a.json")


# ------------------------------------------------------------------ version 2.0

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MARKED = {"type": "Split", "pattern": {"String": "▁"}, "behavior": "MergedWithNext", "invert": False}


def new_file(**parts: Any) -> dict[str, Any]:
    model = {**MODEL, "byte_level": False}
    return {**file(), "version": "2.0", "role_to_token": None, "model": model} | parts


def delimited(prepend: Any = "always", drops: bool = False) -> dict[str, Any]:
    return {"type": "MetaspaceNormalizer", "replacement": "▁", "prepend": prepend, "drop_whitespace": drops}


FLAT = {
    "type": "TemplateProcessing",
    "single": [{"ids": [1]}, {"seq": "A"}],
    "pair": [{"ids": [1], "type_id": 0}, {"seq": "A"}, {"ids": [2, 2]}, {"seq": "B", "type_id": 1}],
}
NAMED = {
    "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
    "</s></s>": {"id": "</s></s>", "ids": [2, 2], "tokens": ["</s>", "</s>"]},
}
NEW: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": (new_file(), file()),
    "byte level": (
        new_file(
            model={**BYTE_MODEL, "byte_level": True},
            pre_tokenizer=SPLIT | {"pattern": {"Regex": GPT2}},
            decoder={"type": "ByteLevel"},
        ),
        file(pre_tokenizer=BYTES | {"add_prefix_space": False}, decoder=BYTES),
    ),
    "byte level, unsplit": (
        new_file(model={**BYTE_MODEL, "byte_level": True}, decoder={"type": "ByteLevel"}),
        file(pre_tokenizer=BYTES | {"add_prefix_space": False, "use_regex": False}, decoder=BYTES),
    ),
    **{
        f"Metaspace, {scheme}": (
            new_file(normalizer=delimited(scheme), pre_tokenizer=MARKED, decoder=without(METASPACE, "split")),
            file(pre_tokenizer=METASPACE | {"prepend_scheme": scheme}, decoder=METASPACE),
        )
        for scheme in ("always", "first", "never")
    },
    "Metaspace, whole": (
        new_file(normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, delimited()]}),
        file(normalizer={"type": "NFKC"}, pre_tokenizer=METASPACE | {"split": False}),
    ),
    "T5": (
        new_file(normalizer=delimited(drops=True), pre_tokenizer=MARKED),
        file(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}),
    ),
    "template": (
        new_file(post_processor=FLAT),
        file(
            post_processor={
                "type": "TemplateProcessing",
                "single": PLAIN,
                "pair": [*PLAIN, {"SpecialToken": {"id": "</s></s>", "type_id": 0}}, PAIR[-1]],
                "special_tokens": NAMED,
            }
        ),
    ),
    "Unigram": (
        new_file(model={"type": "Unigram", **UNIGRAM, "byte_fallback": False}),
        file(model={"type": "Unigram", **UNIGRAM}),
    ),
}


@pytest.mark.parametrize("name", NEW)
def test_version_2_is_what_version_1_writes_otherwise(name: str) -> None:
    new, old = NEW[name]
    tok, peer = read_json(pack(new), "a.json"), tokenizers.Tokenizer.from_buffer(pack(old))
    assert tok == read_json(pack(old), "b.json")
    compare(tok, peer)
    compare(read_json(write_json(tok), "c.json"), tokenizers.Tokenizer.from_buffer(write_json(tok)))
    got, ref = tok("ab", "c"), peer.encode("ab", "c")
    assert (got.ids.tolist(), got.type_ids.tolist()) == (ref.ids, ref.type_ids)


def test_roles_of_version_2() -> None:
    tok = read_json(pack(new_file(role_to_token={"bos": "</s>", "pad_token": "ab"})), "a.json")
    assert tok.roles == {"bos": 2, "pad": VOCAB["ab"]}
    assert b"role_to_token" not in write_json(tok)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"model": without(MODEL, "type") | {"byte_level": True}}, "model.type: expected the type"),
        ({"model": MODEL}, "model.byte_level: expected true or false"),
        ({"model": {**MODEL, "byte_level": False, "dropout": None}}, "model.dropout: null is not supported"),
        ({"model": {**MODEL, "byte_level": False, "merges": ["a b"]}}, "model.merges: expected pairs"),
        ({"pre_tokenizer": METASPACE}, 'pre_tokenizer: "Metaspace" is not supported'),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTES]}}, r"pretokenizers\[0\]: \"ByteLevel\""),
        ({"normalizer": BERT}, "normalizer.type: expected a string"),
        ({"normalizer": delimited(True)}, "normalizer.prepend: expected one of always, first, never, not true"),
        ({"normalizer": delimited("first", drops=True), "pre_tokenizer": MARKED}, "normalizer.drop_whitespace"),
        ({"normalizer": delimited(drops=True)}, "normalizer.drop_whitespace"),
        ({"normalizer": {"type": "Sequence", "normalizers": [delimited(), {"type": "NFC"}]}}, r"normalizers\[0\]: "),
        (
            {"normalizer": delimited(), "added_tokens": [added("<x>", 999, normalized=True)]},
            r"added_tokens\[0\].normalized: expected false",
        ),
        ({"post_processor": TEMPLATE}, r"post_processor.single\[0\]: expected either seq or ids"),
        ({"post_processor": CLASSIFIED}, 'post_processor: "BertProcessing" is not supported'),
        ({"post_processor": {**FLAT, "single": [{"ids": [99999]}]}}, r"ids\[0\]: expected the id of a token"),
        ({"post_processor": {**FLAT, "single": [{"ids": []}]}}, "expected at least one id"),
        ({"post_processor": {**FLAT, "single": [{"seq": "C"}]}}, "expected one of A, B"),
        ({"role_to_token": {"teacher": "<s>"}}, "role_to_token.teacher: .* not supported; expected the roles bos"),
        ({"role_to_token": {"bos": "<none>"}}, "role_to_token.bos: expected a token of the vocabulary"),
        ({"decoder": {"type": "Sequence", "decoders": [{"suffix": "a"}]}}, r"decoders\[0\].type: expected a string"),
    ],
)  # fmt: skip
def test_what_version_2_does_not_allow(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: .*{message}"):
        read_json(pack(new_file(**parts)), "a.json")


def test_hf_writes_these_defaults() -> None:
    """The tables above have every type that HF's classes write."""
    shown = {node["type"] for node in (*NORMALIZERS, *PRE_TOKENIZERS, *POST_PROCESSORS)}
    for module in (tokenizers.normalizers, tokenizers.pre_tokenizers, tokenizers.processors):
        names = {name for name in dir(module) if name[0].isupper() and isinstance(getattr(module, name), type)}
        assert names - {"Normalizer", "PreTokenizer", "PostProcessor"} - shown <= {
            *("NormalizedString", "PreTokenizedString", "Encoding", "Tuple", "Union", "List", "Regex")
        }
