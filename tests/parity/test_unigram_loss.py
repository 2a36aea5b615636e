"""The training loss of a Unigram vocabulary, against SentencePiece's and HF's of the same text, size and alphabet (U4).

One judge for all, reference.unigram.nats_per_word: the mean of -ln P(word) under the model's own pieces, their
probabilities made to add up to 1, over all segmentations of a word.
"""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import subwords
from peer_trained import OPTICKS
from strategies import settings_of, train_model
from subwords.reference.unigram import nats_per_word

spm = pytest.importorskip("sentencepiece")

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def ours(counts: subwords.WordCounts, size: int) -> dict[str, float]:
    model = train_model("unigram", counts, settings_of("unigram", vocab_size=size, unk_token=None), threads=2)
    return dict(zip((piece.decode() for piece in model.vocab), model.scores.tolist(), strict=True))


def sentencepieces(lines: list[str], size: int, *, free: bool) -> dict[str, float]:
    """`free`: pieces of several scripts, and of digits and letters, as ours may be."""
    written = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        model_type="unigram",
        vocab_size=size + 1,  # <unk>
        bos_id=-1,
        eos_id=-1,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        max_sentence_length=1 << 24,
        split_by_unicode_script=not free,
        split_by_number=not free,
        num_threads=2,
        minloglevel=2,
    )
    model = spm.SentencePieceProcessor(model_proto=written.getvalue())
    return {model.id_to_piece(i): model.get_score(i) for i in range(len(model)) if not model.is_unknown(i)}


def hf(lines: list[str], size: int) -> dict[str, float]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(lines, trainer)
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    return {piece: score for piece, score in vocabulary if piece != "<unk>"}


def losses(path: Path, size: int, most: int) -> dict[str, float]:
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = [line for line in (line.strip() for line in islice(file, most)) if line]
    counts = subwords.count(lines, splitter=METASPACE)
    words = {word.decode(): count for word, count in counts}
    found = {
        "subwords": ours(counts, size),
        "SentencePiece": sentencepieces(lines, size, free=False),
        "SentencePiece, free": sentencepieces(lines, size, free=True),
        "HF": hf(lines, size),
    }
    alphabet = set("".join(words))
    for name, scores in found.items():
        assert alphabet <= scores.keys(), f"{name} lacks {sorted(alphabet - scores.keys())[:5]}"
    assert len(found["subwords"]) == size
    return {name: nats_per_word(words, scores) for name, scores in found.items()}


def check(path: Path, size: int, most: int) -> None:
    found = losses(path, size, most)
    print(path.name, size, {name: round(loss, 4) for name, loss in found.items()})
    assert found["subwords"] <= min(found.values())


def test_loss_is_the_lowest_on_some_text(shared_data: Path) -> None:
    check(shared_data / "corpora" / "de.txt", 2_000, 3_000)


def test_loss_is_the_lowest_on_a_book() -> None:
    check(OPTICKS, 1_000, 3_000)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "size", "most"),
    [("english.txt", 8_000, 30_000), ("ru.txt", 8_000, 10**9), ("zh.txt", 8_000, 30_000), ("ja.txt", 8_000, 35_000)],
)
def test_loss_is_the_lowest(shared_data: Path, name: str, size: int, most: int) -> None:
    check(shared_data / "corpora" / name, size, most)
