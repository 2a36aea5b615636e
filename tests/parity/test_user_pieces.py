"""User-defined pieces of a .model file, written to tokenizer.json: all libraries give the same ids."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

import subwords
from peer_trained import lines
from subwords import FormatError, Tokenizer

USERS = ["[INST]", "[DOC_1]", "[DOC_12]"]
BITS = (
    "[INST]",
    "[DOC_1]",
    "[DOC_12]",
    "[REFERENCE_DOC_1]",
    "<0x41>",
    "<0",
    "<",
    "0x",
    " ",
    "  ",
    "\n",
    "▁",
    "é",
    "[DO",
    "a",
)


def made(**options: object) -> bytes:
    stream = io.BytesIO()
    options = {"byte_fallback": True, "normalization_rule_name": "identity", "user_defined_symbols": USERS, **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()),
        model_writer=stream,
        model_type="bpe",
        vocab_size=700,
        remove_extra_whitespaces=False,
        minloglevel=2,
        **options,
    )
    return stream.getvalue()


def check(file: Path, folder: Path) -> None:
    tok = subwords.load(file)
    tok.save(folder / "x.json")
    again, peer = subwords.load(folder / "x.json"), tokenizers.Tokenizer.from_file(str(folder / "x.json"))
    origin = sentencepiece.SentencePieceProcessor(model_file=str(file))
    bits = [text for text in BITS if text not in tok.special_tokens]  # which HF finds in all texts
    rng, pool = random.Random(1), "".join(lines())
    for _ in range(400):
        parts = (rng.choice(bits) if rng.random() < 0.6 else pool[(i := rng.randrange(900)) : i + 5] for _ in range(6))
        text = "".join(parts)
        ids = origin.encode(text)
        assert ids == tok.encode(text) == again.encode(text) == peer.encode(text).ids, text
        assert again.decode(ids) == peer.decode(ids, skip_special_tokens=False) == tok.decode(ids), text


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("falls_back", [True, False])
def test_pieces_become_words(prefix: bool, falls_back: bool, tmp_path: Path) -> None:
    (tmp_path / "x.model").write_bytes(made(add_dummy_prefix=prefix, byte_fallback=falls_back))
    check(tmp_path / "x.model", tmp_path)


def test_mistral(shared_data: Path, tmp_path: Path) -> None:
    check(shared_data / "tokenizers" / "mistral" / "mistral_instruct_tokenizer_240323.model.v3", tmp_path)


def test_what_would_change_ids_is_refused(tmp_path: Path) -> None:
    def load(**options: object) -> Tokenizer:
        (tmp_path / "x.model").write_bytes(made(**options))
        return subwords.load(tmp_path / "x.model")

    with pytest.raises(FormatError, match=r"no normalizer that keeps user-defined pieces, such as '\[INST\]'"):
        load(normalization_rule_name="nmt_nfkc").save(tmp_path / "x.json")
    with pytest.raises(FormatError, match="no normalizer that keeps user-defined pieces, such as 'a b'"):
        load(user_defined_symbols=["a b"]).save(tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
