"""CLIP and GPT-1: vocab.json and merges.txt as transformers loads them; ids, tokens and spans (E7)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from transformers import CLIPTokenizer, OpenAIGPTTokenizer

import subwords
from small_data import file_of, is_small
from strategies import texts
from subwords import FormatError, Tokenizer

Pair = tuple[Tokenizer, tokenizers.Tokenizer]
CLASSES: dict[str, Any] = {"clip": CLIPTokenizer, "openai-gpt": OpenAIGPTTokenizer}


@pytest.fixture(scope="module", params=[*CLASSES])
def folder(data: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of vocab.json and merges.txt."""
    made: Path = tmp_path_factory.mktemp("files") / request.param
    made.mkdir()
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(file_of(data, f"{request.param}/{name}"), made / name)
    if request.param == "clip" and is_small(data):  # HF's trainer adds special tokens beside the model
        vocab = json.loads((made / "vocab.json").read_text("utf-8"))
        new = [token for token in ("<|startoftext|>", "<|endoftext|>") if token not in vocab]
        vocab |= {token: len(vocab) + i for i, token in enumerate(new)}
        (made / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    return made


@pytest.fixture(scope="module")
def pair(folder: Path) -> Pair:
    theirs = CLASSES[folder.name](vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
    return subwords.load(folder), theirs._tokenizer


def check(pair: Pair, text: str) -> None:
    tok, theirs = pair
    ref, got = theirs.encode(text), tok(text, special="allow")
    assert got.ids.tolist() == ref.ids, text[:200]
    assert list(got.file_tokens) == ref.tokens, text[:200]
    assert [*map(tuple, got.spans.tolist())] == ref.offsets, text[:200]
    assert tok.encode(text, special="allow", template=True) == ref.ids, text[:200]


@settings(max_examples=60)
@given(texts())
def test_any_text(pair: Pair, text: str) -> None:
    check(pair, text)
    check(pair, f"Hello {text}<|endoftext|>'s <unk> {text}")


@pytest.mark.rotating(2, always=("small",))
def test_corpora(pair: Pair, data: Path) -> None:
    for path in sorted((data / "corpora").iterdir()):
        text = path.read_bytes()[:6_000].decode("utf-8", "ignore")
        for part in [*text[:1_000].split("\n"), text]:
            check(pair, part)


def test_long_words(pair: Pair) -> None:
    for length in (55, 56, 57, 300, 5_000):
        for letters in ("a", "ab", "the", "é", "x☃"):
            check(pair, letters * length)


def test_saved_and_read_again(pair: Pair, tmp_path: Path) -> None:
    tok, theirs = pair
    tok.save(tmp_path / "tokenizer.json")
    again = subwords.load(tmp_path / "tokenizer.json")
    assert again == tok
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("Hello, wörld! it's <|endoftext|>", "naïve  \n日本 x-y"):
        assert peer.encode(text).ids == theirs.encode(text).ids == again(text, special="allow").ids.tolist()


def test_either_file_will_do_and_special_tokens_may_be_given(folder: Path) -> None:
    tok = subwords.load(folder / "vocab.json")
    assert tok == subwords.load(folder / "merges.txt")
    special = {"<|end|>": len(tok)}
    with_end = subwords.load(folder, special_ids=special, splitter="whitespace-split")
    assert with_end.special_tokens == special
    assert with_end.encode("a<|end|>", special="allow")[-1] == len(tok)


def test_a_tokenizer_json_says_the_same_as_clip_s_two_files(data: Path) -> None:
    if is_small(data):
        pytest.skip("the small tokenizer.json has another template")
    whole = subwords.load(file_of(data, "clip/tokenizer.json")).spec
    parts = subwords.load(file_of(data, "clip/vocab.json")).spec
    for name in ("normalizer", "splitter", "template"):
        assert getattr(whole, name) == getattr(parts, name)
    assert whole.model.vocab == parts.model.vocab


def test_a_cased_vocabulary_keeps_capital_letters(tmp_path: Path) -> None:
    (tmp_path / "merges.txt").write_text("#version: 0.2\nA b</w>\n", "utf-8")
    (tmp_path / "vocab.json").write_text('{"<unk>": 0, "A": 1, "b": 2, "b</w>": 3, "Ab</w>": 4}', "utf-8")
    tok = subwords.load(tmp_path)
    assert tok.tokenize("Ab é") == ["Ab</w>", "<unk>"]
    (tmp_path / "vocab.json").write_text('{"A": 1, "b": 2, "b</w>": 3, "Ab</w>": 4}', "utf-8")
    with pytest.raises(subwords.InputError, match="not in the vocabulary"):
        subwords.load(tmp_path).encode("é")
    (tmp_path / "merges.txt").write_text("b A\n", "utf-8")
    with pytest.raises(FormatError, match=r"merges\.txt: merges\[0\]: expected two tokens whose concatenation"):
        subwords.load(tmp_path)


@pytest.mark.parametrize("name", CLASSES)
def test_decoded_as_in_transformers(data: Path, name: str) -> None:
    if is_small(data):
        pytest.skip("the small files have no class in transformers")
    path = file_of(data, f"{name}/merges.txt")
    peer = CLASSES[name](vocab=str(path.with_name("vocab.json")), merges=str(path))
    tok = subwords.load(path)
    for text in ("Hello world, it's me!", " a  b", "naïve cafés", "", "日本 é"):
        ids = peer.encode(text)
        assert tok.encode(text, template=True) == ids
        for skip in (False, True):
            assert tok.decode(ids, skip_special_tokens=skip) == peer.decode(ids, skip_special_tokens=skip)
