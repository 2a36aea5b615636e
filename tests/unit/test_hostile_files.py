"""Files that were found to hang, to fill the memory, or to raise errors that name no place."""

from __future__ import annotations

import contextlib
import json
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from building import read_json, write_json
from inside import formats_sentencepiece_write as write_model
from subwords import FormatError, InputError, Special, SubwordsError, Text, Tokenizer

ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
VOCAB = {text: i for i, text in enumerate(["<unk>", "a", "b", "ab"])}
MODEL: dict[str, Any] = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": VOCAB, "merges": [["a", "b"]]}


def read(**changes: Any) -> Tokenizer:
    return read_json(json.dumps({"model": MODEL, **changes}).encode(), "a.json")


def test_a_gap_between_ids_does_not_hang_the_check_of_merges() -> None:
    vocab = {**VOCAB, **{f"<0x{byte:02X}>": 4 + byte for byte in range(256)}}
    model = {**MODEL, "byte_fallback": True, "vocab": vocab}
    tok = read(model=model, added_tokens=[{"id": 200_000, "content": "<s>", **ADDED}])
    started = time.perf_counter()
    with pytest.raises(FormatError):
        write_model.write_model_file(tok.spec)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("pattern", ["(", r"\1", "[z-a]", r"\p{Nope}", "(?:" * 300 + ")" * 300])
@pytest.mark.parametrize("place", ["normalizer", "pre_tokenizer"])
def test_a_pattern_that_cannot_be_used_is_named_with_its_place(place: str, pattern: str) -> None:
    node: dict[str, Any] = {"type": "Replace", "pattern": {"Regex": pattern}, "content": ""}
    if place == "pre_tokenizer":
        node = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    try:
        read(**{place: node})
    except FormatError as error:
        assert str(error).startswith(f"a.json: {place}")


def padding(**changes: Any) -> dict[str, Any]:
    rest = {"direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>", "pad_to_multiple_of": None}
    return {"strategy": "BatchLongest", **rest, **changes}


def test_padding_that_would_fill_the_memory_is_refused() -> None:
    tok = read(padding=padding(strategy={"Fixed": 10**8}))
    with pytest.raises(InputError, match="padding makes a text of 100000000 tokens, more than 16777216"):
        tok("ab")
    assert tok("ab", padding=False).ids.tolist() == [3]
    cut = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    tok = read(padding=padding(pad_to_multiple_of=10**6), truncation=cut)
    with pytest.raises(InputError, match="padding makes a text of 100000000 tokens"):
        tok("b" * 100)


def test_a_template_of_millions_of_tokens_is_refused() -> None:
    special = {"x": {"id": "x", "ids": [0] * 1000, "tokens": ["<unk>"] * 1000}}
    single = [{"SpecialToken": {"id": "x", "type_id": 0}}] * 100 + [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    with pytest.raises(FormatError, match="template too long: expected at most 65536 inserted tokens"):
        read(post_processor=template)


def test_a_key_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(FormatError, match=r"^a\.json: .*surrogates"):
        read(**{"\ud800": None})


def test_a_prefix_longer_than_the_vocabulary() -> None:
    model = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "#" * 100,
             "max_input_chars_per_word": 100, "vocab": {"<unk>": 0, "a": 1}}  # fmt: skip
    assert read(model=model).encode("a") == [1]


@pytest.mark.parametrize(
    "decoder",
    [
        None,
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Fuse"},
        {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "日"}, "content": "x"},
                                          {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}]},
    ],
)  # fmt: skip
def test_tokens_that_no_bytes_spell_decode_as_in_hf(decoder: Any) -> None:
    top = json.loads(write_json(subwords.train(["a b a b"], vocab_size=258)))
    top["model"]["vocab"]["日本"] = size = len(top["model"]["vocab"])
    top["decoder"] = decoder
    data = json.dumps(top)
    ids = [size, 64, 257, size]
    tok = read_json(data.encode(), "a.json")
    assert tok.decode(ids) == tokenizers.Tokenizer.from_str(data).decode(ids)
    assert "".join([*tok.stream().feed(ids)]) == tok.decode(ids)


class Parts(list[Text | Special]):
    pass


def test_a_list_of_parts_of_another_class() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"])
    parts = Parts([Text("ab"), Special("<s>")])
    assert tok.encode(parts) == tok.encode_batch([parts])[0].tolist() == [257, 0]


def test_shapes_refuse_other_types_as_errors_of_this_package() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    hf, tik = tok.as_hf(), tok.as_tiktoken()
    for call in (
        lambda: hf.enable_truncation("a"),  # type: ignore[arg-type]
        lambda: hf.save(3),  # type: ignore[arg-type]
        lambda: hf.decode_batch(None),  # type: ignore[arg-type]
        lambda: tik.encode("a", disallowed_special=3),  # type: ignore[arg-type]
        lambda: tik.encode("a", disallowed_special={1}),  # type: ignore[arg-type]
        lambda: tik.encode_batch(None),  # type: ignore[arg-type]
        lambda: tik.decode_batch(None),  # type: ignore[arg-type]
        lambda: tik.decode([0], errors=3),  # type: ignore[arg-type]
        lambda: [*tok.stream().feed(None)],  # type: ignore[arg-type]
    ):
        with pytest.raises(SubwordsError):
            call()


def test_the_shape_adds_a_thousand_tokens_at_once() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    peer = tokenizers.Tokenizer.from_str(write_json(tok).decode())
    names: list[Any] = [f"<{i}>" for i in range(1000)]
    names[5:5] = ["<3>", tokenizers.AddedToken("<x>", lstrip=True), "<7>"]
    shape = tok.as_hf()
    assert shape.add_special_tokens(names) == peer.add_special_tokens(names)
    assert shape.get_vocab() == peer.get_vocab()
    assert shape.add_tokens(["<3>", "new"]) == peer.add_tokens(["<3>", "new"])
    assert shape.get_vocab() == peer.get_vocab()


# ------------------------------------------------------------------ parts that do not fit


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("truncation", 512, "expected truncation as subwords.Truncation or None, not 512"),
        ("padding", True, "expected padding as subwords.Padding or None, not True"),
        ("decoder", "x", r"expected a decoder's name \(.*\), not 'x'"),
        ("added_tokens", 5, "expected added tokens as a list of AddedToken, not int"),
    ],
)
def test_parts_of_wrong_types_are_refused(field: Any, value: Any, message: str) -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    with pytest.raises(InputError, match=message):
        tok.with_(**{field: value})


def test_a_special_token_of_one_character_loses_no_text() -> None:
    top = json.loads(write_json(subwords.train(["axe axe"], vocab_size=258)))
    top["added_tokens"] = [{"id": top["model"]["vocab"]["x"], "content": "x", **ADDED, "single_word": True}]
    data = json.dumps(top)
    tok, peer = read_json(data.encode(), "a.json"), tokenizers.Tokenizer.from_str(data)
    for text in ("axe x", "x", "xx x"):
        assert tok.encode(text, special="allow") == peer.encode(text).ids
        assert tok.decode(tok.encode(text)) == text


def test_an_empty_path_is_refused() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    for call in (lambda: tok.save(""), lambda: subwords.load(""), lambda: subwords.files.convert("", "a.json")):
        with pytest.raises(InputError, match="expected a path, not an empty str"):
            call()


def test_numpy_integers_are_lengths() -> None:
    tok = subwords.train(["ab ab"], vocab_size=259, special_tokens=["<pad>"])
    assert (
        tok("abab", truncation=np.int64(1), padding=np.uint8(3)).ids.tolist()
        == tok("abab", truncation=1, padding=3).ids.tolist()
    )
    with pytest.raises(
        InputError, match="expected truncation as True, False, None, a number of tokens or a Truncation"
    ):
        tok("a", truncation="x")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="pad fewer"):
        tok.encode_batch(["a"]).padded(0, length=2**62)


def test_saving_roles_in_a_json_warns(tmp_path: Any) -> None:
    tok = subwords.train(["ab ab"], vocab_size=259, special_tokens=["<fill>"], roles={"pad": "<fill>"})
    with pytest.warns(subwords.SubwordsWarning, match="a.json does not hold roles: save to a folder"):
        tok.save(tmp_path / "a.json")
    tok.save(f"{tmp_path}/folder/")
    assert subwords.load(tmp_path / "folder").roles == tok.roles


# ------------------------------------------------------------------ too deep, too large, too many

NAMES = ["tokenizer.json", "tekken.json", "vocab.json", "tokenizer_config.json"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("opened", [b"[", b'{"a":', b'{"type":"Sequence","normalizers":['])
def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path, name: str, opened: bytes) -> None:
    subwords.train(["ab ab"], vocab_size=258).save(f"{tmp_path}/")
    begin = b'{"config": {}, "vocab": ' if name == "tekken.json" else b'{"model": '
    path = tmp_path / name
    path.write_bytes(begin + opened * 200_000)
    (tmp_path / "merges.txt").write_text("a b\n")
    with pytest.raises(FormatError, match=rf"{name}: expected"):
        subwords.load(tmp_path if name == "tokenizer_config.json" else path)


@pytest.mark.parametrize("number", ["2097152", "2147483648", "9223372036854775808", "9" * 5000, "1e999", "NaN", "-1"])
def test_ids_beyond_the_largest_are_refused(tmp_path: Path, number: str) -> None:
    """An id takes room in tables, whether it has a token or not."""
    top = json.dumps({"model": {**MODEL, "vocab": {**VOCAB, "ab": 12345}}})
    added = json.dumps({"model": MODEL, "added_tokens": [{"id": 12345, "content": "<s>", **ADDED}]})
    for text in (top, added):
        with pytest.raises(FormatError, match=r"^a\.json: "):
            read_json(text.replace("12345", number).encode(), "a.json")
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    (tmp_path / "x.tiktoken").write_bytes(ranks + b"YWI= " + number.encode() + b"\n")
    with pytest.raises(FormatError, match=r"x\.tiktoken: line 257"):
        subwords.load(tmp_path / "x.tiktoken", splitter="gpt2")


@pytest.mark.parametrize("count", [65_537, 2_000_000, 10**30])
def test_a_tekken_of_millions_of_special_tokens_is_refused(tmp_path: Path, count: int) -> None:
    """A file of 100 bytes for each of 256 tokens would make a name for each of millions."""
    config = {"pattern": "a|b", "num_vocab_tokens": 256, "version": "v3"}
    sizes = {"default_vocab_size": min(count + 256, 2_097_000), "default_num_special_tokens": count}
    vocab = [{"rank": i, "token_bytes": b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)]
    (tmp_path / "tekken.json").write_text(json.dumps({"config": config | sizes, "vocab": vocab}))
    started = time.perf_counter()
    with pytest.raises(FormatError, match=r"tekken\.json: config\.default_num_special_tokens: expected"):
        subwords.load(tmp_path / "tekken.json")
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    ("vocab", "merges"),
    [
        (["a", "b", "ab", "aba"], [["ab", "a"], ["a", "b"], ["ab", "a"]]),  # one before its part, and twice
        (["a", ""], [["a", ""], ["", "a"]]),  # a token of itself
        (["a", "b", "ab"], [["a", "b"]] * 100_000),
        (["a" * 2**k for k in range(15)], [["a" * 2**k] * 2 for k in range(14)]),
        (["a" * k for k in range(1, 1000)], [["a" * k, "a"] for k in range(1, 999)]),
    ],
)
def test_merges_that_go_in_circles_or_grow_end(vocab: list[str], merges: list[list[str]]) -> None:
    model = {"type": "BPE", "vocab": {text: i for i, text in enumerate(vocab)}, "merges": merges}
    try:
        tok = read(model=model)
    except FormatError:
        return
    started = time.perf_counter()
    for text in ("a" * 5000, "ab" * 2500, "ba" * 2500):
        ids = tok.encode(text)
        assert len(ids) <= len(text) and all(0 <= each < len(vocab) for each in ids)
    assert time.perf_counter() - started < 20


BOMBS = ["(a+)+$", "(a|a)*b", "(?:a?){60}a{60}", "(?:(?:a{0,99}){0,99}){0,99}", r"(\w{1,1000}){1000}"]


@pytest.mark.parametrize("pattern", [*BOMBS, "(" * 5000 + ")" * 5000, "a{99999999}"])
def test_a_pattern_that_explodes_is_refused_or_ends(pattern: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    started = time.perf_counter()
    with contextlib.suppress(SubwordsError):
        read(pre_tokenizer=split).encode("a" * 2000)
    assert time.perf_counter() - started < 20


CTC = {"type": "CTC", "pad_token": "<unk>", "word_delimiter_token": "|", "cleanup": False}


def doubled(pattern: str, times: int) -> list[dict[str, object]]:
    return [{"type": "Replace", "pattern": {"String": pattern}, "content": 2 * pattern}] * times


@pytest.mark.parametrize("times", [22, 26, 40])
@pytest.mark.parametrize("first", [[], [{"type": "Fuse"}], [CTC]])
def test_a_decoder_whose_texts_would_fill_the_memory_is_refused(first: list[dict[str, object]], times: int) -> None:
    """Steps that each double a token; where they are applied to the vocabulary, to a whole text, or id by id."""
    tok = read(decoder={"type": "Sequence", "decoders": [*first, *doubled("a", times)]})
    started = time.process_time()
    for call in (tok.decode, tok.decode_bytes, tok.decode_with_spans):
        with pytest.raises(SubwordsError, match="text too long after the decoder"):
            call(tok.encode("a") * 300)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("pattern", ["a", "ab"])
@pytest.mark.parametrize("times", [22, 40, 100])
def test_a_normalizer_whose_texts_would_fill_the_memory_is_refused(pattern: str, times: int) -> None:
    tok = read(normalizer={"type": "Sequence", "normalizers": doubled(pattern, times)})
    started = time.process_time()
    for call in (tok.encode, tok, lambda text: tok.encode_batch([text] * 3)):
        with pytest.raises(SubwordsError, match="text too long after the normalizer"):
            call("abab")
    assert time.process_time() - started < 20


def test_a_long_added_token_is_found_in_linear_time() -> None:
    long = "x" * 1_000_000
    started = time.process_time()
    tok = read(added_tokens=[{"id": 4, "content": long, **ADDED, "special": False}])
    assert tok.encode(f"ab{long}ab") == [*tok.encode("ab"), 4, *tok.encode("ab")]
    assert tok.encode(f"ab{long[1:]}ab") == tok.encode("ab" + "x" * 999_999 + "ab")
    assert time.process_time() - started < 5
