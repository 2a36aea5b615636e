"""GGUF files: damaged ones, what they say beside tokens, and what is refused when writing."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

import subwords
from gguf_files import BOOL, FLOAT32, INT32, STRING, UINT32, gguf_bytes
from inside import normalizer_NAMED as NORMALIZERS
from llama_cpp import keys_of, tokenizer_of
from subwords import AddedToken, FormatError, InputError, SubwordsWarning, Tokenizer
from subwords.machine import Inserted, Slot, Template

PRE = "tokenizer.ggml."
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def entries(**changes: Any) -> list[tuple[str, int, Any]]:
    """A small llama file; a change of None leaves a key out."""
    tokens = ["<unk>", "<s>", "</s>", *BYTES, "▁", "a", "b", "▁a", "▁ab", "ab", "<|x|>", "[PAD266]"]
    found: dict[str, tuple[int, Any]] = {
        "model": (STRING, "llama"),
        "tokens": (STRING, tokens),
        "scores": (FLOAT32, [0.0] * 259 + [-4.0, -5.0, -6.0, -2.0, -3.0, -1.0, 0.0, 0.0]),
        "token_type": (INT32, [2, 3, 3, *[6] * 256, *[1] * 6, 4, 5]),
    }
    found |= changes
    return [(f"{PRE}{key}", *value) for key, value in found.items() if value is not None]


def load(path: Path, more: list[tuple[str, int, Any]], **options: Any) -> Tokenizer:
    path.write_bytes(gguf_bytes(more))
    return subwords.load(path, **options)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.gguf"


def test_a_small_file(file: Path) -> None:
    tok = load(file, [*entries(), ("tokenizer.chat_template", STRING, "{{ x }}"), (f"{PRE}eos_token_id", UINT32, 2)])
    assert tok.tokenize("ab a") == ["▁ab", "▁a"]
    assert tok.tokenize("é") == ["▁", "<0xC3>", "<0xA9>"]
    assert tok.tokenize("a<|x|>a") == ["▁a", "<|x|>", "▁a"]
    assert tok.encode("a", template=True) == [1, 262]  # llama.cpp adds bos unless the file says otherwise
    assert tok.decode(tok.encode("ab é")) == "ab é"
    assert (tok.roles, tok.spec.chat_template) == ({"eos": 2}, "{{ x }}")
    assert tok.vocab_size == 267 and b"[PAD266]" not in tok.vocab
    assert load(file, entries(add_space_prefix=(BOOL, False))).tokenize("ab") == ["ab"]
    assert load(file, entries(add_bos_token=(BOOL, False))).template is None


def test_the_last_of_equal_tokens_counts_and_a_warning_names_them(file: Path) -> None:
    tokens = entries()[1][2]
    again = [*tokens[:-1], "ab"]  # in place of [PAD266]
    types = [*entries()[3][2][:-1], 1]
    scores = [*entries()[2][2][:-1], -1.0]
    changes = {"tokens": (STRING, again), "token_type": (INT32, types), "scores": (FLOAT32, scores)}
    said = r'tokens: "ab" has the ids 264 and 266; the last of equal tokens counts; ids left without a token: 1'
    with pytest.warns(SubwordsWarning, match=said):
        tok = load(file, entries(**changes, add_space_prefix=(BOOL, False)))
    assert (tok.encode("ab"), tok.vocab_size) == ([266], 267)
    assert tok.encode("ab") == tokenizer_of(keys_of(file.read_bytes()))("ab")
    assert subwords.study.audit(tok).findings


def test_recognized_by_content_and_without_options(file: Path) -> None:
    load(file, entries())
    other = file.with_name("model")
    other.write_bytes(file.read_bytes())
    assert subwords.load(other) == subwords.load(file)
    with pytest.raises(InputError, match="splitter is for files without one"):
        subwords.load(file, splitter="gpt2")


def test_tensors_are_not_read(file: Path) -> None:
    """A file of gigabytes, most of them a hole."""
    load(file, entries())
    with file.open("r+b") as stream:
        stream.seek(8)
        stream.write(struct.pack("<Q", 3))
        stream.seek(0, os.SEEK_END)
        stream.truncate(8 << 30)
    assert subwords.load(file).tokenize("ab") == ["▁ab"]


# ------------------------------------------------------------------ damage


HUGE = struct.pack("<Q", 1 << 62)


def header(version: int = 3, count: int = 1) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, count)


def key(text: str, kind: int) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode() + struct.pack("<I", kind)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "header: truncated: expected 4 more bytes, not 0"),
        (header(version=1), "expected GGUF version 2 or 3, not 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "is big-endian"),
        (header(count=1 << 40), "expected at most 65536 keys"),
        (header(), "key 0: truncated"),
        (header() + HUGE, "key 0: expected a key of at most 65535 bytes"),
        (header() + key("tokenizer.x", 8) + HUGE, '"tokenizer.x": truncated: expected 4611686018427387904 more bytes'),
        (header() + key("general.x", 8) + HUGE, '"general.x": truncated'),
        (header() + key("general.x", 13), "expected a type of value from 0 to 12, not 13"),
        (header() + key("general.x", 9) + struct.pack("<IQ", 9, 1), "not of type 9"),
        (header() + key("general.x", 9) + struct.pack("<IQ", 8, 1 << 40), "expected at most 0 strings"),
        (header() + key("tokenizer.x", 9) + struct.pack("<IQ", 12, 1 << 60), "truncated"),
        (header(count=2) + 2 * (key("a", 7) + b"\1"), "expected distinct keys"),
    ],
)
def test_damage_is_named(data: bytes, message: str, file: Path) -> None:
    file.write_bytes(data)
    with pytest.raises(FormatError, match=r"x\.gguf: ") as caught:
        subwords.load(file)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, r"ggml\.model: expected one of gpt2, llama, t5, bert, not none"),
        ({"model": (STRING, "rwkv")}, r'expected one of gpt2, llama, t5, bert, not "rwkv"'),
        ({"model": (UINT32, 7)}, r"expected a string, not 7"),
        ({"model": (STRING, "gpt2"), "pre": (STRING, "kimi-k2")}, r'pre: expected one of gpt-2, .*, not "kimi-k2"'),
        ({"model": (STRING, "gpt2")}, r"merges is missing"),
        ({"tokens": None}, r"tokens is missing; expected an array of strings"),
        ({"tokens": (STRING, [b"\xff"])}, r"tokens: expected UTF-8, not b'\\xff' at index 0"),
        ({"tokens": (INT32, [1])}, r"tokens: expected an array of strings, not an array of 1 values of type 5"),
        ({"scores": None}, r"scores is missing"),
        ({"scores": (FLOAT32, [0.0])}, r"scores: expected a value for each of 267 tokens, not 1"),
        ({"scores": (FLOAT32, [float("nan")] * 267)}, r"finite scores, not nan of token 0"),
        ({"token_type": (FLOAT32, [1.0] * 267)}, r"expected an array of type 5"),
        ({"eos_token_id": (UINT32, 267)}, r"eos_token_id: expected an id below 267, not 267"),
        ({"eos_token_id": (STRING, "x")}, r"expected an id below 267, not the string"),
        ({"add_bos_token": (UINT32, 1)}, r"expected true or false, not 1"),
        ({"tokens": (STRING, ["a"]), "scores": (FLOAT32, [0.0]), "token_type": None}, r"a token for each of 256 bytes"),
        ({"model": (STRING, "t5"), "precompiled_charsmap": (INT32, [1])}, r"precompiled_charsmap: expected an array"),
        ({"model": (STRING, "t5"), "precompiled_charsmap": (1, [1, 2, 3])}, r"precompiled_charsmap: "),
    ],
)
def test_wrong_values_are_named(changes: dict[str, Any], message: str, file: Path) -> None:
    with pytest.raises(FormatError, match=rf"x\.gguf: .*{message}"):
        load(file, entries(**changes))


# ------------------------------------------------------------------ writing


def trained(**options: Any) -> Tokenizer:
    options = {"vocab_size": 300, "progress": False, "special_tokens": ["<s>", "</s>"], **options}
    if options.get("algorithm", "bpe") == "bpe":
        options.setdefault("splitter", "gpt2")
    return subwords.train(["low lower lowest newer widest ab abc"] * 9, **options)


FRAMED = Template((Inserted("<s>", (0,), ("<s>",)), Slot("A"), Inserted("</s>", (1,), ("</s>",))))


def test_roles_flags_and_chat_template(file: Path) -> None:
    tok = trained().with_(template=FRAMED, chat_template="{{ y }}", roles={"bos": "<s>", "eos": "</s>", "pad": "</s>"})
    tok.save(file)
    keys = keys_of(file.read_bytes())
    assert [keys[f"{PRE}{name}_token_id"] for name in ("bos", "eos", "padding")] == [0, 1, 1]
    assert (keys[f"{PRE}add_bos_token"], keys[f"{PRE}add_eos_token"]) == (True, True)
    assert keys["tokenizer.chat_template"] == "{{ y }}" and keys[f"{PRE}token_type"][:3] == [3, 3, 1]
    again = subwords.load(file)
    assert (again.roles, again.spec.chat_template) == (tok.roles, tok.spec.chat_template)
    assert again.encode("low", template=True) == tok.encode("low", template=True)


def test_ids_without_a_token(file: Path) -> None:
    spec = trained(special_tokens=[]).spec
    model = spec.model.extended([b"", b"<|end|>"])  # type: ignore[union-attr]
    tok = Tokenizer(spec.with_({"model": model, "added_tokens": (AddedToken("<|end|>", len(model.vocab) - 1),)}))
    tok.save(file)
    keys = keys_of(file.read_bytes())
    hole = len(model.vocab) - 2
    assert (keys[f"{PRE}tokens"][hole], keys[f"{PRE}token_type"][hole]) == (f"[PAD{hole}]", 5)
    again = subwords.load(file)
    assert (again.vocab_size, again.vocab, again.added_tokens) == (tok.vocab_size, tok.vocab, tok.added_tokens)


def added(**flags: bool) -> Tokenizer:
    return trained().with_tokens(["<m>"], **flags)


REFUSED: dict[str, tuple[Any, str]] = {
    "normalizer": (lambda: trained(normalizer="nfc"), "no normalizer for byte-level BPE"),
    "splitter": (lambda: trained(splitter="o200k"), "has no pre-tokenizer for this splitter"),
    "lstrip": (lambda: added(lstrip=True), '"<m>" has lstrip'),
    "normalized": (lambda: added(normalized=True).with_(normalizer="nfc"), "does not find tokens in normalized text"),
    "overlap": (lambda: trained().with_tokens(["<ab", "abc"]), 'would find "abc" in the text "<abc"'),
    "template": (lambda: trained().with_(template=Template((Slot("A"), Slot("A")))), "templates that add one token"),
    "bos": (lambda: trained().with_(template=FRAMED, roles={"bos": "</s>"}), "expected the bos token in the template"),
    "unknown bytes": (lambda: trained(alphabet="corpus", vocab_size=40), "a token for each of 256 bytes"),
    "characters": (lambda: trained(byte_level=False, vocab_size=40), "needs a token for each of 256 bytes"),
    "user-defined": (
        lambda: trained(algorithm="unigram", vocab_size=30, user_defined=["low"]),
        "no user-defined pieces",
    ),
    "nmt": (
        lambda: trained(algorithm="unigram", vocab_size=30, normalizer="nfkc"),
        "expected SentencePiece's normalizer",
    ),
    "prefix": (
        lambda: trained(algorithm="wordpiece", vocab_size=60, special_tokens=None, prefix="@"),
        'expected the prefix "##"',
    ),
    "no frame": (lambda: trained(algorithm="wordpiece", vocab_size=50, special_tokens=["[UNK]"]), "always adds BERT's"),
    "bert": (
        lambda: trained(algorithm="wordpiece", vocab_size=60, special_tokens=None, normalizer="lowercase"),
        "has BERT's normalizer only",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_llama_cpp_would_do_differently_is_refused(case: str, file: Path) -> None:
    make, message = REFUSED[case]
    with pytest.raises(FormatError) as caught:
        make().save(file)
    assert message in str(caught.value)
    assert not file.exists()


def test_tokens_that_overlap_only_in_runs_are_written(file: Path) -> None:
    tok = trained().with_tokens(["  ", "   ", "    "], special=False)
    tok.save(file)
    again = subwords.load(file)
    for n in range(1, 12):
        assert again.encode("a" + " " * n + "b") == tok.encode("a" + " " * n + "b")


def test_merges_decide_whether_whole_words_make_a_difference(file: Path) -> None:
    """llama.cpp takes a whole word at once with some pre-tokenizers only."""
    tok = trained(splitter="qwen2")
    whole = tok.with_(model=subwords.load(_ranks(tok, file), splitter="qwen2", special_ids=tok.special_tokens).model)
    assert whole.model.whole_words  # type: ignore[union-attr]
    whole.save(file)
    assert subwords.load(file).encode("lower ab") == whole.encode("lower ab")


def _ranks(tok: Tokenizer, file: Path) -> Path:
    place = file.with_suffix(".tiktoken")
    tok.save(place)
    return place


def test_a_named_normalizer_that_llama_cpp_has(file: Path) -> None:
    tok = trained(algorithm="unigram", vocab_size=40)
    assert tok.spec.normalizer == NORMALIZERS["sentencepiece"]
    tok.save(file)
    assert subwords.load(file).encode("low  lower") == tok.encode("low lower")


@pytest.mark.parametrize("pre", ["lfm2", "llama-bpe", "tekken"])
def test_a_pre_tokenizer_that_implies_bos(pre: str, tmp_path: Path) -> None:
    from inside import tokens_to_text

    tokens = (STRING, tokens_to_text([bytes([byte]) for byte in range(256)]))
    bpe: dict[str, Any] = {"model": (STRING, "gpt2"), "pre": (STRING, pre), "tokens": tokens, "scores": None}
    bpe |= {"token_type": (INT32, [1] * 256), "merges": (STRING, [])}
    with pytest.raises(
        FormatError, match=rf"bos_token_id: expected an id, because {pre} adds bos unless .*add_bos_token"
    ):
        load(tmp_path / "a.gguf", entries(**bpe))
    assert load(tmp_path / "a.gguf", entries(**bpe, add_bos_token=(BOOL, False))).template is None
    with pytest.raises(
        FormatError, match=r"add_bos_token: expected tokenizer.ggml.bos_token_id with it, not no such key"
    ):
        load(tmp_path / "a.gguf", entries(**bpe, add_bos_token=(BOOL, True)))
