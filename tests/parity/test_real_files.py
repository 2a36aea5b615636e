"""Every tokenizer.json of the development data, and a small one of each kind: all that HF tokenizers says of a text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tokenizers

import subwords
from building import read_json
from peer_trained import HF, hf_file, lines
from pipelines import texts
from seeds import sweep_seed
from small_data import file_of
from subwords import Tokenizer

FILES = (
    "bert/bert-base-uncased-tokenizer.json",
    "clip/tokenizer.json",
    "converted/cl100k_base.tokenizer.json",
    "converted/qwen3.tokenizer.json",
    "falcon/tokenizer.json",
    "gpt-neox/tokenizer.json",
    "gpt2/tokenizer.json",
    "phi-2/tokenizer.json",
    "phi-3/phi-3-mini-tokenizer.json",
    "phi-3/tokenizer.json",
    "roberta/tokenizer.json",
    "t5/tokenizer.json",
)
SHORT = (
    *("\x0b\x85", "\x0b\t", "\U0008a291", " <mask> x", "a</s> b", "<s>a", "<unk>\u2603", "-------", "a\u2581"),
    *("\u2581\u2581", "[CLS] a [SEP]", " [MASK]x", "\u0301a", "don't I'M", "\ufb01 \u00bd \u212b", "\r\n\r\n  x"),
    "\u2009 x\u3000y",
)


def check(tok: Tokenizer, peer: tokenizers.Tokenizer, documents: list[str]) -> None:
    # HF gives added tokens other ids than one of the files says: COMPATIBILITY.md.
    moved = [token.content for token in tok.added_tokens if peer.token_to_id(token.content) != token.id]
    documents = [text for text in documents if not any(content in text for content in moved)]
    for text, ref in zip(documents, peer.encode_batch(documents), strict=True):
        got = tok(text, special="allow")
        assert got.ids.tolist() == ref.ids, text[:99]
        assert list(got.file_tokens) == ref.tokens, text[:99]
        assert [*map(tuple, got.spans.tolist())] == ref.offsets, text[:99]
        assert (list(got.word_ids), got.type_ids.tolist()) == (ref.word_ids, ref.type_ids), text[:99]
        assert got.special_tokens_mask.tolist() == ref.special_tokens_mask, text[:99]
        assert tok.encode(text, special="allow", template=True) == ref.ids, text[:99]
        for skip in (False, True):
            assert tok.decode(ref.ids, skip_special_tokens=skip) == peer.decode(ref.ids, skip), text[:99]


def parts_of_files(folder: Path, size: int) -> list[str]:
    files = sorted(path for kind in ("corpora", "adversarial") for path in (folder / kind).glob("*.*"))
    found = []
    for path in files:
        if path.suffix in (".txt", ".bin"):
            with path.open("rb") as stream:
                found.append(stream.read(size).decode("utf-8", "ignore"))
    return found


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("name", FILES)
def test_everything_about_a_text(data: Path, name: str) -> None:
    path = file_of(data, name)
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_file(str(path))
    check(tok, peer, [*SHORT, *texts(random.Random(1), 20), *parts_of_files(data, 100)])


@pytest.mark.sweep
@pytest.mark.parametrize("name", FILES)
def test_everything_about_many_texts(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / name
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_file(str(path))
    check(tok, peer, [*texts(random.Random(sweep_seed()), 1000), *parts_of_files(shared_data, 6_000)])
    for text in parts_of_files(shared_data, 20_000_000)[sweep_seed() % 10 :: 10]:
        for at in range(0, len(text), 1 << 20):
            part = text[at : at + (1 << 20)]
            assert tok.encode(part, special="allow") == peer.encode(part, add_special_tokens=False).ids, part[:99]


@pytest.mark.parametrize("kind", HF)
def test_everything_about_a_text_by_a_file_that_hf_trained(kind: str) -> None:
    data = hf_file(kind)
    tok, peer = read_json(data, kind), tokenizers.Tokenizer.from_buffer(data)
    check(tok, peer, [*SHORT, *texts(random.Random(1), 30), *lines()[:40], *lines()[-4:]])
