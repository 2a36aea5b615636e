"""Reading and writing a tokenizer.json with a BPE model."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import subwords
from building import read_json as read
from building import tokenizer_of
from building import write_json as write
from inside import tokens_to_text
from subwords import AddedToken, FormatError, InputError, SubwordsWarning, Tokenizer
from subwords.machine import BPE, Vocab

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
TEXTS = [
    "low lower lowest",
    "a<s> b </s>\n\n  it's 12,345 é中😀\x00\x7f",
    "  \t\t x<pad>y",
    "".join(map(chr, range(1, 700))),
    "",
]


def document(**model: Any) -> dict[str, Any]:
    """A character-level file of five tokens; keyword arguments change its model."""
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    merges = [["a", "b"], ["ab", "c"]]
    return {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": vocab, "merges": merges, **model}}


def added(content: str, i: int, **flags: bool) -> dict[str, Any]:
    off = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": i, "content": content, **off, **flags}


def split(regex: str = "a", **changes: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False, **changes}


def pack(value: object) -> bytes:
    return json.dumps(value).encode()


def read_as(value: object) -> Tokenizer:
    return read(pack(value), "a.json")


def byte_document() -> dict[str, Any]:
    texts = tokens_to_text([bytes([byte]) for byte in range(256)])
    value = document(vocab={text: i for i, text in enumerate(texts)} | {"Ġt": 256, "he": 257, "Ġthe": 258})
    value["model"]["merges"] = [["Ġ", "t"], ["h", "e"], ["Ġt", "he"]]
    return {**value, "pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL}


def trained(byte_level: bool = True, **options: Any) -> Tokenizer:
    corpus = ["low lower lowest newer widest é中é中 it's 12 12  12\n\n"] * 9
    options = {"vocab_size": 300 if byte_level else 40, "special_tokens": ["<s>", "</s>"], **options}
    return subwords.train(corpus, byte_level=byte_level, progress=False, **options)


# ------------------------------------------------------------------ reading


def test_merges_may_be_pairs_or_strings_after_a_version_line() -> None:
    ref = read_as(document())
    for merges in (["a b", "ab c"], ["#version: 0.2", "a b", "ab c"], [["a", "b"], "ab c"]):
        assert read_as(document(merges=merges)).merges == ref.merges == ((b"a", b"b"), (b"ab", b"c"))
    assert ref.encode("abcab") == [4, 3]


def test_type_and_version_may_be_absent() -> None:
    value = document()
    del value["version"], value["model"]["type"], value["added_tokens"]
    assert read_as(value).encode("abc") == [4]


def test_merge_that_comes_twice_has_its_last_rank_as_in_hf() -> None:
    value = document(vocab={"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}, merges=["a b", "b c", "a b"])
    ref = tokenizers.Tokenizer.from_str(json.dumps(value))
    got = read_as(value)
    assert got.encode("abc") == ref.encode("abc").ids == [0, 4]
    assert write(got).decode() == ref.to_str(pretty=True)


def test_unknown_characters_are_dropped_without_an_unk_token() -> None:
    theirs = tokenizers.Tokenizer.from_str(json.dumps(document()))
    for text, ref in (("c?a", [2, 0]), ("a?b", [3]), ("??", [])):
        assert read_as(document()).encode(text) == theirs.encode(text).ids == ref


def test_unk_token_stands_for_unknown_characters() -> None:
    for fuse, ref in ((False, [0, 4, 4, 1]), (True, [0, 4, 1])):
        assert read_as(document(unk_token="abc", fuse_unk=fuse, merges=[])).encode("a??b") == ref
    with pytest.raises(InputError, match=r"'\?'"):
        read_as(document(unk_token="<unk>")).encode("a?b")


def test_byte_level_vocabulary_is_read_as_bytes() -> None:
    tok = read_as(byte_document())
    assert tok.model.byte_level
    assert tok.model.vocab[258] == b" the"
    assert tok.encode(" the é\xff".encode("latin-1")) == [258, 32, 0xE9, 0xFF]
    assert tok.lossless


def test_pre_tokenizers_become_splitters() -> None:
    digit = split(r"\d")
    plain = {**BYTE_LEVEL, "use_regex": False}
    old = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    for pre_tokenizer, ref in (
        (BYTE_LEVEL, ["a", "12", " b"]),
        (old, ["a", "12", " b"]),
        ({"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}, ["a", "12", " b"]),
        (plain, ["a12 b"]),
        ({"type": "Sequence", "pretokenizers": [digit, plain]}, ["a", "1", "2", " b"]),
        (digit, ["a", "1", "2", " b"]),
        (None, ["a12 b"]),
    ):
        value = {**byte_document(), "pre_tokenizer": pre_tokenizer, "decoder": None}
        tok = read_as(value)
        assert tok.splitter.split("a12 b") == ref
        assert tok.model.byte_level == ("ByteLevel" in json.dumps(pre_tokenizer))


def test_pattern_that_is_the_name_of_a_rule_is_a_pattern() -> None:
    assert read_as({**document(), "pre_tokenizer": split("gpt2")}).splitter.split("a gpt2") == ["a ", "gpt2"]


def test_added_tokens_keep_the_models_id_or_take_the_files() -> None:
    value = document()
    value["added_tokens"] = [added("abc", 9), added("<s>", 5, special=False), added("é ", 7, lstrip=True)]
    tok = read_as(value)
    assert [(token.content, token.id) for token in tok.added_tokens] == [("abc", 4), ("<s>", 5), ("é ", 7)]
    assert tok.added_tokens[2] == AddedToken("é ", 7, special=True, lstrip=True)
    assert tok.encode("ab<s>é c") == [3, 5, 2]
    assert tok.encode("a é c", special="allow") == [0, 7, 2]
    assert tok.decode([5, 7, 6, 4]) == "<s> é  abc"
    assert tok.vocab_size == 8
    assert tok.model.special_ids == {4, 5, 7}


def test_vocabulary_may_have_holes() -> None:
    tok = read_as(document(vocab={"a": 0, "b": 70, "ab": 3}, merges=[["a", "b"]]))
    assert tok.encode("abb") == [3, 70]
    assert list(tok.model.vocab)[1:4] == [b"", b"", b"ab"]
    assert json.loads(write(tok))["model"]["vocab"] == {"a": 0, "ab": 3, "b": 70}


def test_added_tokens_of_a_byte_level_file_are_literal_text() -> None:
    value = byte_document()
    value["model"]["vocab"] |= {"<é>": 259, "中": 260}
    value["added_tokens"] = [added("<é>", 259), added("中", 260), added(" \n", 261)]
    tok = read_as(value)
    assert [tok.model.vocab[i].decode() for i in (259, 260, 261)] == ["<é>", "中", " \n"]
    assert tok.encode("<é>中 \n", special="allow") == [259, 260, 261]
    assert [tok.spec.spelling_of(index) for index in range(262)] == [*tok.spec.spellings]


def test_added_token_that_is_a_byte_or_merged_keeps_the_bytes_of_the_model() -> None:
    value = byte_document()
    value["added_tokens"] = [added("é", 0xE9), added("Ġthe", 258)]
    tok = read_as(value)
    assert tok.model.vocab[0xE9] == b"\xe9"
    assert tok.model.vocab[258] == b" the"
    assert write(tok) == write(read(write(tok), "again"))


def test_what_encoding_does_not_use_is_kept() -> None:
    value = byte_document()
    kept = {
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": None,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
        "post_processor": {**BYTE_LEVEL, "trim_offsets": False},
    }  # fmt: skip
    tok = read_as({**value, **kept})
    assert (tok.spec.truncation.max_length, tok.spec.padding.length) == (4, 9)
    assert kept.items() <= json.loads(write(tok)).items()
    ref = tokenizers.Tokenizer.from_buffer(pack({**value, **kept}))
    assert write(tok).decode() == ref.to_str(pretty=True)


# ------------------------------------------------------------------ refusing


def changed(path: str, new: object) -> dict[str, Any]:
    value: Any = document()
    *parents, last = path.split(".")
    place = value
    for key in parents:
        place = place[key]
    place[last] = new
    return value


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        ("version", "3.0", r'version: expected "1.0" or "2.0", not "3.0"'),
        ("version", 1.0, r'version: expected "1.0" or "2.0", not 1.0'),
        ("model", None, "model: expected the model of a tokenizer.json, not null"),
        ("model", [], "model: expected the model .*, not an array of 0"),
        ("model.vocab", None, "model.vocab: expected an object, not null"),
        ("model.vocab", [["a", 0.0]], "model.vocab: expected an object, not an array of 1"),
        ("model.vocab.a", True, r'model.vocab\["a"\]: expected an integer from 0 to 2097150, not true'),
        ("model.vocab.a", 0.0, r'model.vocab\["a"\]: .*, not 0.0'),
        ("model.vocab.b", "1", r'model.vocab\["b"\]: .*, not "1"'),
        ("model.vocab.b", None, r'model.vocab\["b"\]: .*, not null'),
        ("model.vocab.b", -1, r'model.vocab\["b"\]: .*, not -1'),
        ("model.vocab.b", 2**31, r'model.vocab\["b"\]: .*, not 2147483648'),
        ("model.vocab.b", 10**30, r'model.vocab\["b"\]: .*, not 1000000'),
        ("model.vocab.b", 2**21 - 2, "model.vocab: expected .* large gaps, not an id of 2097150 among 5 tokens"),
        ("model.vocab.b", 16 * 5 + 2**20 + 1, ".*among 5 tokens"),
        ("model.vocab.b", 4, r'model.vocab\["abc"\]: expected an unused id, not 4, the id of "b"'),
        ("model.vocab.\ud800", 5, r'model.vocab: expected tokens without lone surrogates, not "\\ud800"'),
        ("model.merges", None, "model.merges: expected an array, not null"),
        ("model.merges", {"a": "b"}, "model.merges: expected an array, not an object"),
        ("model.merges", [["a", "b"], ["a"]], r'model.merges\[1\]: expected two tokens, not \["a"\]'),
        ("model.merges", [["a", "b", "c"]], r"model.merges\[0\]: expected two tokens"),
        ("model.merges", [["a", 1]], r'model.merges\[0\]: expected two tokens, not \["a", 1\]'),
        ("model.merges", [[["a"], "b"]], r"model.merges\[0\]: expected two tokens"),
        ("model.merges", [{"a": 1, "b": 2}], r"model.merges\[0\]: expected two tokens, not an object"),
        ("model.merges", [3], r"model.merges\[0\]: expected two tokens, not 3"),
        ("model.merges", ["#version: 0.2", "a  b"], r'model.merges\[1\]: expected two tokens, not \["a", "", "b"\]'),
        ("model.merges", ["a b", "ab"], r'model.merges\[1\]: expected two tokens, not \["ab"\]'),
        ("model.merges", ["a b", "ab x"], r'model.merges\[1\]: .* not \["ab", "x"\]: "x" is not a token'),
        ("model.merges", [["b", "a"]], r'model.merges\[0\]: .* not \["b", "a"\]: "ba" is not a token'),
        ("model.unk_token", 5, "model.unk_token: expected a string, not 5"),
        ("model.fuse_unk", "no", 'model.fuse_unk: expected true or false, not "no"'),
        ("model.ignore_merges", 1, "model.ignore_merges: expected true or false, not 1"),
        ("added_tokens", {}, "added_tokens: expected an array, not an object"),
        ("added_tokens", ["<s>"], r'added_tokens\[0\]: expected an object, not "<s>"'),
        ("added_tokens", [{"id": 5}], r"added_tokens\[0\].content: expected a string, not null"),
        ("added_tokens", [added("\ud800", 5)], r"added_tokens\[0\].content: expected a string without lone surrogates"),
        ("added_tokens", [added("", 5)], "added_tokens: .*content"),
        ("added_tokens", [added("<s>", 5), added("<s>", 6)], "added_tokens: expected distinct tokens, .*5 and 6"),
        ("added_tokens", [added("<s>", 5), added("<t>", 5)], "added_tokens: .*id 5: '<s>' and '<t>' share it"),
        ("added_tokens", [added("<s>", 2)], r'added_tokens\[0\].id: expected a free id, not 2, the id of "c"'),
        ("added_tokens", [added("<s>", -1)], r"added_tokens\[0\].id: expected an integer"),
        ("added_tokens", [added("<s>", 2 * 10**6)], r"added_tokens\[0\].id: expected ids without large gaps"),
        ("added_tokens", [{"id": None, "content": "<s>"}], r"added_tokens\[0\].id: expected an integer from 0"),
        ("added_tokens", [added("<s>", 5, special=3)], r"added_tokens\[0\].special: expected true or false, not 3"),
    ],
)  # fmt: skip
def test_wrong_value_is_named_with_its_place(path: str, new: object, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: {message}"):
        read_as(changed(path, new))


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        ("normalizer", {"type": "Words"}, "normalizer.type: "),
        (
            "normalizer",
            {"type": "Sequence", "normalizers": [{"type": "Words"}]},
            r"normalizer.normalizers\[0\].type: ",
        ),
        ("pre_tokenizer", {"type": "Words"}, "pre_tokenizer.type: expected one of BertPreTokenizer, ByteLevel"),
        ("pre_tokenizer", split(behavior="Dropped"), "pre_tokenizer.behavior: expected one of Isolated, Removed"),
        ("pre_tokenizer", split("("), r"pre_tokenizer: expected supported patterns, not this one"),
        ("pre_tokenizer", "ByteLevel", "pre_tokenizer: expected an object"),
        ("decoder", {"type": "Words"}, 'decoder: "Words" is not supported'),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, BYTE_LEVEL]},
            "pre_tokenizer: expected one ByteLevel, not two",
        ),
        ("model.type", "Words", 'model: "Words" is not supported; expected BPE, WordPiece, Unigram or WordLevel'),
        ("model", {"vocab": {"a": 0}}, "model.unk_token: expected a string, not null"),
        ("model.dropout", 1.5, "model.dropout: expected a number from 0 to 1, or null, not 1.5"),
        ("model.dropout", True, "model.dropout: expected a number from 0 to 1, or null, not true"),
        ("model.continuing_subword_prefix", 1, "model.continuing_subword_prefix: expected a string, not 1"),
        ("model.end_of_word_suffix", "\ud800", "model.end_of_word_suffix: expected a string without lone surrogates"),
    ],
)  # fmt: skip
def test_unsupported_component_is_named(path: str, new: object, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: {message}"):
        read_as(changed(path, new))


def test_tokens_that_no_bytes_spell_are_kept_and_no_text_yields_them() -> None:
    value = byte_document()
    size = max(value["model"]["vocab"].values()) + 1
    value["model"]["vocab"] |= {"a中": size, "▁": size + 1, "ä¸Ń": size + 2, "中": size + 700_000}
    value["decoder"] = BYTE_LEVEL
    tok, peer = read_as(value), tokenizers.Tokenizer.from_str(json.dumps(value))
    for text in ("a中 ▁ä¸Ń", "中", "ab ab"):
        assert tok.encode(text) == peer.encode(text).ids
    ids = [size, 0, size + 1, size + 2, size + 700_000, 1]
    for each in (tok, read(write(tok), "again.json")):
        assert each == tok
        assert each.decode(ids) == peer.decode(ids)
        for token in ("a中", "▁", "ä¸Ń", "中", "x中"):
            assert each.token_to_id(token) == peer.token_to_id(token), token
            assert each.spec.index_of(token) == peer.token_to_id(token), token
    again = tokenizers.Tokenizer.from_str(write(tok).decode())
    assert again.get_vocab() == peer.get_vocab() == tok.get_vocab()


def test_merge_of_tokens_that_no_bytes_spell_is_named() -> None:
    value = byte_document()
    value["model"]["vocab"] |= {"中": 700, "a中": 701}
    value["model"]["merges"].append(["a", "中"])
    with pytest.raises(FormatError, match=r'model.vocab: expected tokens of a byte-level model, not "中" in a merge'):
        read_as(value)


def test_of_a_key_that_comes_twice_the_last_counts_and_a_warning_names_it(tmp_path: Path) -> None:
    data = pack(document()).replace(b'"b": 1', b'"b": 9, "b": 1')
    (tmp_path / "a.json").write_bytes(data)
    with pytest.warns(SubwordsWarning, match=r'a\.json: model\.vocab: "b" is there twice; the last one counts'):
        tok = subwords.load(tmp_path / "a.json")
    assert tok == read(pack(document()), "a.json")


# ------------------------------------------------------------------ writing


@pytest.mark.parametrize("options", [{"byte_level": False}, {"alphabet": "corpus"}])
def test_unknown_symbols_are_refused_before_and_after(options: dict[str, Any]) -> None:
    """Text is never lost silently, but where the file is another's: HF drops what it does not know."""
    tok = subwords.train(["ab ab c"] * 5, vocab_size=6, **options)
    data = write(tok)
    back = read(data, "a.json")
    for each in (tok, back):
        assert each.encode("ab") == tok.encode("ab")
        with pytest.raises(InputError, match="is not in the vocabulary and the model has no unk token"):
            each.encode("aXb")
    assert write(back) == data
    theirs = tokenizers.Tokenizer.from_buffer(data)
    assert read(theirs.to_str().encode(), "a.json").encode("Xab") == theirs.encode("Xab").ids == tok.encode("ab")


def test_a_model_that_knows_all_symbols_is_written_as_hf_does() -> None:
    for options in ({}, {"byte_level": False, "unk_token": "<unk>", "special_tokens": ["<unk>"]}):
        tok = subwords.train(["ab ab c"] * 5, vocab_size=300, **options)
        assert b"unknown" not in write(tok)


@pytest.mark.parametrize("splitter", ["gpt2", r"\p{L}+|\s", r"(?s:.+)"])
@pytest.mark.parametrize("byte_level", [True, False])
def test_hf_loads_what_is_written_with_equal_ids_and_text(splitter: str, byte_level: bool) -> None:
    options = {} if byte_level else {"alphabet": "corpus"}
    tok = trained(byte_level, splitter=splitter, **options)
    data = write(tok)
    theirs = tokenizers.Tokenizer.from_buffer(data)
    refuses = '    "unknown": "error",\n'  # which HF ignores: it drops unknown characters
    assert theirs.to_str(pretty=True) == data.decode().replace(refuses, "")
    mine = read(data, "a.json")
    assert write(mine) == data
    assert (refuses in data.decode()) == (not byte_level)
    mine = read(data.replace(b'"unknown": "error"', b'"unknown": "drop"'), "a.json")
    for text in TEXTS:
        ref = theirs.encode(text)
        got = mine.encode(text, special="allow")
        assert got == ref.ids
        assert mine.decode(got) == theirs.decode(ref.ids, skip_special_tokens=False)
        if byte_level:
            assert tok.encode(text, special="allow") == got


def test_transformers_loads_what_is_written(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = trained()
    tok.save(tmp_path / "tokenizer.json")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in TEXTS:
        ids = tok.encode(text, special="allow")
        assert theirs(text, add_special_tokens=False)["input_ids"] == ids
        assert theirs.decode(ids) == tok.decode(ids) == text


def test_hf_trained_files_are_read_and_written_unchanged() -> None:
    for byte_level in (True, False):
        theirs = tokenizers.Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>", fuse_unk=True))
        theirs.pre_tokenizer = (
            pre_tokenizers.ByteLevel(add_prefix_space=False)
            if byte_level
            else pre_tokenizers.Split(tokenizers.Regex(r"\s"), "isolated")
        )
        theirs.decoder = decoders.ByteLevel() if byte_level else decoders.Fuse()
        trainer = trainers.BpeTrainer(vocab_size=290, show_progress=False, special_tokens=["<unk>", "<s>"])
        theirs.train_from_iterator(["low lower lowest é中é中 " * 5], trainer)
        theirs.add_tokens([tokenizers.AddedToken("lowé", lstrip=True), tokenizers.AddedToken("  ", normalized=False)])
        data = theirs.to_str(pretty=True).encode()
        tok = read(data, "a.json")
        assert write(tok) == data
        for text in [*TEXTS, "lowé   lowé"]:
            assert tok.encode(text, special="allow") == theirs.encode(text).ids


def test_random_small_models_give_hf_ids() -> None:
    seed = 4
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(200):
        tokens, merges = list("abcd"), []
        for _ in range(rng.randrange(12)):
            left, right = rng.choice(tokens), rng.choice(tokens)
            merges.append([left, right])
            if left + right not in tokens:
                tokens.append(left + right)
        tokens += [token for token in ("<u>", "<s>") if rng.random() < 0.5]
        ids = rng.sample(range(len(tokens) + 3), len(tokens))
        options = {"fuse_unk": rng.random() < 0.5, "unk_token": "<u>" if "<u>" in tokens else None}
        value = document(vocab=dict(zip(tokens, ids, strict=True)), merges=merges, **options)
        value["added_tokens"] = [added(token, 0) for token in ("<u>", "<s>") if token in tokens]
        theirs, mine = tokenizers.Tokenizer.from_str(json.dumps(value)), read_as(value)
        again = tokenizers.Tokenizer.from_buffer(write(mine))
        for _ in range(10):
            text = "".join(rng.choices("abcdabcdx<s>", k=rng.randrange(12)))
            assert mine.encode(text, special="allow") == theirs.encode(text).ids == again.encode(text).ids, (
                value,
                text,
            )


def test_whole_word_that_no_merge_reaches_is_taken_at_once() -> None:
    value = document(vocab={"a": 0, "b": 1, "d": 2, "bad": 3}, merges=[], ignore_merges=True)
    ref = tokenizers.Tokenizer.from_str(json.dumps(value))
    assert read_as(value).encode("bad") == ref.encode("bad").ids == [3]


def test_text_does_not_yield_a_special_token_that_merges_reach() -> None:
    value = document()
    value["added_tokens"] = [added("abc", 4)]
    assert read_as(value).encode("abc") == [3, 2]


def test_whole_words_become_ignore_merges() -> None:
    model = BPE.from_ranks([b"a", b"b", b"ab", b"abb", b"zz"])
    tok = tokenizer_of(model, subwords.splitter("gpt2"))
    value = json.loads(write(tok))
    assert value["model"]["ignore_merges"] is True
    assert value["model"]["merges"] == [["a", "b"], ["ab", "b"]]
    assert read_as(value).model.whole_words


def test_added_tokens_that_hf_would_number_otherwise_stand_in_the_vocabulary() -> None:
    value = document()
    value["added_tokens"] = [added("<s>", 5), added("<t>", 6)]
    assert "<s>" not in json.loads(write(read_as(value)))["model"]["vocab"]
    value["added_tokens"] = [added("<s>", 5), added("<t>", 7)]
    data = write(read_as(value))
    assert json.loads(data)["model"]["vocab"] == {**document()["model"]["vocab"], "<s>": 5, "<t>": 7}
    theirs = tokenizers.Tokenizer.from_buffer(data)
    assert theirs.token_to_id("<t>") == 7
    assert theirs.encode("ab<t><s>").ids == [3, 7, 5]


@pytest.mark.parametrize(
    ("tokens", "merges", "message"),
    [([b"a", b"a"], [], "'a' is id 0 and id 1"), ([b"\xff"], [], r"b'\\xff': it is not UTF-8")],
)
def test_what_the_format_cannot_hold_is_refused(tokens: list[bytes], merges: list[list[int]], message: str) -> None:
    import numpy as np

    model = BPE(Vocab(tokens), np.array(merges, np.int64).reshape(-1, 3), byte_level=False)
    with pytest.raises(FormatError, match=message):
        write(tokenizer_of(model, subwords.splitter("gpt2")))


def test_merge_into_a_special_token_with_a_blank_is_refused() -> None:
    import numpy as np

    model = BPE(Vocab([b"a", b" ", b"a "]), np.array([[0, 1, 2]]), special_ids=frozenset({2}))
    tok = tokenizer_of(model, subwords.splitter("gpt2"), added_tokens=[AddedToken("a ", 2)])
    with pytest.raises(FormatError, match="'a' and 'Ġ' would make 'a '"):
        write(tok)


def test_a_special_token_that_a_file_would_spell_otherwise(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (tmp_path / "merges.txt").write_text("a b\n")
    (tmp_path / "special_tokens_map.json").write_text('{"pad_token": "\\u0120"}')
    with pytest.raises(FormatError, match="cannot hold the token 'Ġ': there it spells b' '"):
        subwords.load(tmp_path).save(tmp_path / "tokenizer.json")
