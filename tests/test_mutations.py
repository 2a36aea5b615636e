"""Damaged tokenizer files, of every format and family: an error of this package that names the file, or a tokenizer."""

from __future__ import annotations

import base64
import io
import json
import pickle
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import repeat
from typing import Any

import pytest

from building import read_json, read_model, read_vocab, write_json, write_model
from inside import Kind, read_unigram_json, tokens_to_text
from inside import formats_gguf_read as gguf_read
from inside import formats_gguf_write as gguf_write
from inside import formats_hf_folder as folder
from inside import formats_hf_vocab_merges as vocab_merges
from inside import formats_tiktoken as tiktoken
from inside import splitter_NAMED as SPLITTERS
from pipelines import peer_file
from seeds import sweep_seed
from subwords import FormatError, SubwordsError, Tokenizer
from test_round_trips import DECODERS, MAKERS, of_file, of_proto

SEED = 47
TEXT = "the low lowest é ☃\0▁ <s> the  \n"
SAVED = ["trained BPE", "trained WordPiece", "trained Unigram"]
FAMILIES = ["BPE", "BPE, bytes", "Unigram", "WordPiece"]
VALUES: list[Any] = [None, True, -1, 0, 2**64, 1.5, 1e308, "", "a", "▁", "\ud800", [], {}, ["a", 1], {"type": "Fuse"}]


SETTINGS: dict[str, Any] = {
    "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 1},
    "padding": {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": 4,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<s>",
    },
}
SUFFIXED = {
    "type": "BPE",
    "unk_token": "<unk>",
    "end_of_word_suffix": "</w>",
    "continuing_subword_prefix": "##",
    "vocab": {text: i for i, text in enumerate(["<unk>", "t", "##h", "##e</w>", "th", "the</w>", "l", "##ow"])},
    "merges": [["t", "##h"], ["th", "##e</w>"]],
    "fuse_unk": True,
    "dropout": 0.5,
}
WORDS = {"type": "WordLevel", "vocab": {"<unk>": 0, "the": 1, "low": 2}, "unk_token": "<unk>"}
SECOND: dict[str, Any] = {
    "version": "2.0",
    "role_to_token": {"unk": "<unk>"},
    "normalizer": {"type": "MetaspaceNormalizer", "replacement": "▁", "prepend": "always", "drop_whitespace": False},
    "pre_tokenizer": {
        "type": "Split", "pattern": {"String": "▁"}, "behavior": "MergedWithNext", "invert": False,
    },
    "post_processor": {"type": "TemplateProcessing", "single": [{"seq": "A"}, {"ids": [0], "type_id": 1}],
                       "pair": [{"seq": "A"}, {"seq": "B", "type_id": 1}]},
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "model": {
        "type": "BPE", "unk_token": "<unk>", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "continuing_subword_prefix": None, "end_of_word_suffix": None, "byte_level": False,
        "vocab": {"<unk>": 0, "▁": 1, "t": 2, "h": 3, "th": 4}, "merges": [["t", "h"]],
    },
}  # fmt: skip


def files_in_json(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.3:
        data = write_json(MAKERS[rng.choice(SAVED)]())
    elif kind < 0.45:
        top = {"version": "1.0", "model": rng.choice([SUFFIXED, WORDS]), "pre_tokenizer": {"type": "Whitespace"}}
        data = json.dumps({**top, "decoder": {"type": "BPEDecoder", "suffix": "</w>"}}).encode()
    elif kind < 0.55:
        data = json.dumps(SECOND).encode()
    elif kind < 0.75:
        data = next(filter(None, (peer_file(rng) for _ in repeat(0)))).encode()
    else:
        data = of_file(rng.choice(FAMILIES), rng.choice([name for name in DECODERS if name != "ByteLevel"]))
    return json.dumps({**json.loads(data), **SETTINGS}).encode() if rng.random() < 0.3 else data


def vocabularies_in_gguf(rng: random.Random) -> bytes:
    return gguf_write.write_gguf(MAKERS[rng.choice(["trained BPE", "trained WordPiece", "model 1, False"])]().spec)


def read_gguf(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(gguf_read.read_gguf(io.BytesIO(data), name))


def models(rng: random.Random) -> bytes:
    kind = rng.choice([Kind.UNIGRAM, Kind.BPE, Kind.WORD, Kind.CHAR])
    return write_model(of_proto(kind, byte_fallback=rng.random() < 0.3))


def vocabularies(rng: random.Random) -> bytes:
    return b"[UNK]\n[CLS]\n[SEP]\nthe\nlow\n##est\n##er\n" + "é\n☃\n".encode()


BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b" t", b"he", b" the", b"lo", b"low", b"\xc3\xa9"]
VOCAB = json.dumps({text: i for i, text in enumerate(tokens_to_text(TOKENS))}).encode()
MERGES = "#version: 0.2\nĠ t\nh e\nĠt he\nl o\nlo w\nÃ ©\n".encode()


def rank_files(rng: random.Random) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), i) for i, token in enumerate(TOKENS[250:]))


def read_rank_file(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(tiktoken.read_rank_file(data, name, splitter=SPLITTERS["gpt2"], special_tokens={"<s>": 5000}))


def read_merges(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(vocab_merges.read_vocab_merges((VOCAB, "vocab.json"), (data, name)))


def read_vocab_json(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(vocab_merges.read_vocab_merges((data, name), (MERGES, name)))


def configs(rng: random.Random) -> bytes:
    names = {"bos_token": "<s>", "eos_token": {"content": "a"}, "pad_token": None, "model_max_length": 512}
    return json.dumps({**names, "chat_template": [{"name": "default", "template": "{{ m }}"}], "x": [{}]}).encode()


def read_config(data: bytes, name: str) -> Tokenizer:
    spec = MAKERS["trained BPE"]().spec
    tok = Tokenizer(
        folder.read_folder_files(
            spec, {"tokenizer_config.json": data, "special_tokens_map.json": data}, name, complete=True
        )
    )
    with suppress(FormatError):
        folder.write_folder_files(tok.spec)
    return tok


def tekkens(rng: random.Random) -> bytes:
    entries = [{"rank": i, "token_bytes": base64.b64encode(token).decode()} for i, token in enumerate(TOKENS)]
    config = {"pattern": r"\w+|\W", "default_vocab_size": len(TOKENS) + 20, "default_num_special_tokens": 21}
    others = {f"k{i}": i for i in range(300)}  # nothing reads them
    return json.dumps({"config": {**config, "version": "v3"}, "vocab": entries, "image": others}).encode()


def read_tekken(data: bytes, name: str) -> Tokenizer:
    tok = Tokenizer(tiktoken.read_tekken(data, name))
    with suppress(FormatError):
        assert tiktoken.read_tekken(tiktoken.write_tekken(tok.spec), name) == tok.spec
    return tok


def unigrams(rng: random.Random) -> bytes:
    pieces = [["<unk>", 0.0], ["▁", -2.5], ["▁the", -1.0], ["l", -3.0], ["ow", -2.0], ["é", -4.0]]
    return json.dumps({"type": "Unigram", "unk_id": 0, "vocab": pieces}).encode()


FORMATS: dict[str, tuple[Callable[[random.Random], bytes], Callable[[bytes, str], Tokenizer]]] = {
    "a.json": (files_in_json, read_json),
    "a.model": (models, read_model),
    "a.txt": (vocabularies, read_vocab),
    "a.tiktoken": (rank_files, read_rank_file),
    "merges.txt": (lambda _: MERGES, read_merges),
    "vocab.json": (lambda _: VOCAB, read_vocab_json),
    "folder": (configs, read_config),
    "a.gguf": (vocabularies_in_gguf, read_gguf),
    "tekken.json": (tekkens, read_tekken),
    "unigram.json": (unigrams, lambda data, name: Tokenizer(read_unigram_json(data, name))),
}


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes changed, put in, taken away, or taken from elsewhere in the file."""
    for _ in range(rng.randint(1, 3)):
        at, width = rng.randrange(len(data) + 1), rng.choice([0, 1, 1, 2, 5, 40])
        other = rng.randrange(len(data) + 1)
        new = rng.choice(
            [b"", rng.randbytes(1), rng.randbytes(width), data[other : other + width], data[at : at + 1] * 2]
        )
        data = data[:at] + new + data[at + width :]
    return data


def changed(rng: random.Random, data: bytes) -> bytes:
    """A value somewhere in JSON exchanged for another, or for one from elsewhere."""
    top = json.loads(data)
    places: list[tuple[Any, Any]] = []
    nodes = [top]
    while nodes:
        node = nodes.pop()
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                nodes.append(node[key])
    named = [place for place in places if isinstance(place[1], str) and not place[1].startswith("<0x")]
    for _ in range(rng.randint(1, 2)):
        node, key = rng.choice(rng.choice([places, named]))
        other, there = rng.choice(named)
        node[key] = rng.choice([*VALUES, other[there] if other[there] is not top else None])
    with suppress(ValueError, RecursionError):
        return json.dumps(top).encode()
    return data


def check(read: Callable[[bytes, str], Tokenizer], data: bytes, name: str) -> bool:
    """Whether it is still a tokenizer; if so everything about it works, or is refused."""
    try:
        tok = read(data, name)
    except FormatError as error:
        assert str(error).startswith(name)
        return False
    for use in (
        lambda: tok.decode(tok.encode(TEXT, special="allow", template=True)),
        lambda: tok.decode([*range(min(tok.vocab_size, 300))]),
        lambda: tok.encode_batch([TEXT, ""]),
        lambda: tok(TEXT).tokens,
        lambda: tok([TEXT, "the"], [TEXT, ""], special="allow", padding=True),
        lambda: tok.decode_with_spans([*range(min(tok.vocab_size, 300))]),
        lambda: tok.sample("the", seed=1),
        lambda: gguf_write.write_gguf(tok.spec),
        lambda: tok.nbest("the", 2),
        lambda: read_json(write_json(tok), "again").encode(TEXT),
        lambda: read_model(write_model(tok), "again").encode(TEXT),
    ):
        with suppress(SubwordsError):
            use()
    ids, stream = [*range(min(tok.vocab_size, 300))], tok.stream()
    assert "".join([*stream.feed(ids)]) + stream.finish() == tok.decode(ids)
    assert pickle.loads(pickle.dumps(tok)).vocab_size == tok.vocab_size
    assert repr(tok)
    return True


IN_JSON = ("a.json", "vocab.json", "folder", "tekken.json", "unigram.json", "class")


def run(name: str, seed: int, count: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    make, read = FORMATS[name]
    alive = 0
    for k in range(count):
        data = make(rng)
        data = changed(rng, data) if name in IN_JSON and k % 3 else damaged(rng, data)
        try:
            alive += check(read, data, name)
        except Exception:
            print(f"file {k} of seed {seed}: {data!r:.3000}")
            raise
    assert 0 < alive < count


@pytest.mark.parametrize("name", FORMATS)
def test_some_damaged_files(name: str) -> None:
    run(name, SEED, 60 if name in ("a.json", "a.model") else 20)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("part", range(2))
def test_many_damaged_files(name: str, part: int) -> None:
    run(name, 2 * sweep_seed() + part, 1000 if name in ("a.json", "a.model") else 150)


def test_scores_beyond_32_bits() -> None:
    top = json.loads(of_file("Unigram", "none"))
    top["normalizer"], top["model"]["vocab"][3][1] = None, -1e308
    tok = read_json(json.dumps(top).encode(), "a.json")
    assert tok.decode(tok.encode("the"))
    with pytest.raises(FormatError, match="expected finite scores"):
        write_model(tok)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_cut_off_anywhere(name: str) -> None:
    make, read = FORMATS[name]
    data = of_file("Unigram", "Llama's") if name == "a.json" else make(random.Random(SEED)).rstrip(b"\0")
    for size in range(1, len(data), 1 + len(data) // 60):
        whole = check(read, data[:size], name)
        assert not (whole and name in (*IN_JSON, "a.gguf")), size
