"""The same merges and the same ids as HF tokenizers (B7)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from tokenizers import decoders, models, pre_tokenizers, trainers

import subwords
from building import read_json
from inside import tokens_to_text
from small_data import file_of
from strategies import texts
from subwords import Tokenizer
from subwords.machine import tokens_from_text

OPTICKS = Path(__file__).parents[2] / "examples" / "opticks.txt"
LANGUAGES = ("zh", "ja", "ko", "ar", "hi", "th", "ru", "de", "fr", "es", "tr", "vi", "my")
real_files = pytest.mark.parametrize("data", ["shared"], indirect=True)

train: Any = partial(subwords.train, splitter="gpt2")  # the rule of the peer's ByteLevel


def lines_of(text: str) -> list[str]:
    """As a corpus of lines gives them: cut behind line feeds and nowhere else."""
    *whole, last = text.split("\n")
    return [*(line + "\n" for line in whole), last]


def trained_by_peer(documents: Iterable[str], vocab_size: int, **options: Any) -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    peer.train_from_iterator(
        documents, trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False, **options)
    )
    return peer


def check_training(tok: Tokenizer, peer: tokenizers.Tokenizer) -> None:
    model = json.loads(peer.to_str())["model"]
    ref = [tuple(tokens_from_text(pair)) for pair in model["merges"]]
    assert [*tok.merges] == ref
    specials = [token.content.encode() for _, token in sorted(peer.get_added_tokens_decoder().items())]
    texts = sorted(model["vocab"], key=model["vocab"].__getitem__)[len(specials) :]
    assert list(tok.model.vocab) == [*specials, *tokens_from_text(texts)]


@pytest.fixture(scope="module")
def opticks() -> str:
    return OPTICKS.read_text(encoding="utf-8")


# ------------------------------------------------------------------ training


@pytest.mark.parametrize("vocab_size", [500, 2000])
def test_text_as_one_document(opticks: str, vocab_size: int) -> None:
    check_training(train([opticks], vocab_size=vocab_size), trained_by_peer([opticks], vocab_size))


@pytest.mark.parametrize("vocab_size", [500, 2000])
def test_lines_as_documents(opticks: str, vocab_size: int) -> None:
    peer = trained_by_peer(lines_of(opticks), vocab_size)
    check_training(train(OPTICKS, vocab_size=vocab_size, reading=subwords.Reading(documents="line")), peer)
    check_training(train(iter(lines_of(opticks)), vocab_size=vocab_size), peer)


@pytest.mark.parametrize("options", [{"min_frequency": 40}, {"min_frequency": 2}, {"special_tokens": ["<s>", "[PAD]"]}])
def test_training_options(opticks: str, options: dict[str, Any]) -> None:
    text = opticks[:100_000]
    check_training(train([text], vocab_size=1500, **options), trained_by_peer([text], 1500, **options))


@pytest.mark.parametrize("longest", [2, 4, 9])
def test_longest_token_of_the_peer_is_shorter_than_its_limit(opticks: str, longest: int) -> None:
    text = opticks[:100_000]
    peer = trained_by_peer([text], 1500, max_token_length=longest + 1)
    check_training(train([text], vocab_size=1500, max_token_length=longest), peer)


@given(texts(12))
def test_training_on_any_text(text: str) -> None:
    if text:
        check_training(train(iter([text]), vocab_size=300), trained_by_peer([text], 300))


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("language", LANGUAGES)
def test_training_in_other_scripts(data: Path, language: str) -> None:
    text = (data / "corpora" / f"{language}.txt").read_bytes()[:100_000].decode("utf-8", "ignore")
    check_training(train([text], vocab_size=1000), trained_by_peer([text], 1000))


@pytest.mark.sweep
@pytest.mark.parametrize("vocab_size", [8000, 32_000])
@pytest.mark.parametrize("corpus", ["english", "multilingual", "code"])
def test_training_on_whole_corpora(shared_data: Path, corpus: str, vocab_size: int) -> None:
    path = shared_data / "corpora" / f"{corpus}.txt"
    with path.open(encoding="utf-8", newline="\n") as lines:
        peer = trained_by_peer(lines, vocab_size)
    check_training(train(path, vocab_size=vocab_size, reading=subwords.Reading(documents="line")), peer)
    if corpus != "english":
        text = path.read_bytes().decode()
        check_training(train(path, vocab_size=vocab_size), trained_by_peer([text], vocab_size))


# ------------------------------------------------------------------ llama.cpp


def test_vectors_worked_out_by_hand() -> None:
    """In the form of llama.cpp's: a text and its ids. Bytes have the ids of their values, token 256 + n is merge n."""
    merges = ["l o", "lo w", "Ġ low", "e r", "Ġ Ġ", "' s", "1 2", "Ã ©", "Ċ Ċ"]
    chars = list(tokens_to_text([bytes([byte]) for byte in range(256)]))
    tokens = [*chars, *(merge.replace(" ", "") for merge in merges)]
    top = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}
    top["decoder"] = top["pre_tokenizer"] | {"trim_offsets": True}
    tok = read_json(json.dumps(top | {"model": model}).encode(), "a.json")
    vectors = {
        "lower": [257, 259],
        "low low": [257, 258],
        "  low": [32, 258],  # the last of two spaces belongs to the word
        "low   \n\n": [257, 260, 32, 264],
        "it's 1212": [105, 116, 261, 32, 262, 262],
        "é\u2009": [263, 0xE2, 0x80, 0x89],
        "": [],
        "\x00 ": [0, 32],
    }
    for text, ids in vectors.items():
        assert tok.encode(text) == ids, text
        assert tok.decode(ids) == text


@real_files
def test_gpt2_vectors_of_llama_cpp(data: Path) -> None:
    gpt2 = subwords.load(file_of(data, "gpt2/tokenizer.json"))
    stem = data / "vectors" / "ggml-vocab-gpt-2.gguf"
    documents = Path(f"{stem}.inp").read_bytes().split(b"\n__ggml_vocab_test__\n")[:-1]
    ref = [[*map(int, line.split())] for line in Path(f"{stem}.out").read_text().splitlines()]
    assert len(ref) == len(documents) > 40
    assert [gpt2.encode(text) for text in documents] == ref
