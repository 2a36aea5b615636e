"""extend for WordPiece and Unigram: ids keep their tokens, every new piece is used, as in the textbook (P5, U6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import adapt_extending as extend_pieces
from small_data import file_of
from strategies import counts_of
from subwords import InputError, SubwordsWarning, TrainingError
from subwords.machine import Unigram, Vocab, WordPiece
from subwords.reference.wordpiece import extend_unigram, extend_wordpiece

WORDS = st.dictionaries(st.text("abé", min_size=1, max_size=8), st.integers(1, 30), min_size=1, max_size=8)
OPTICKS = (Path(__file__).parents[2] / "examples" / "opticks.txt").read_text("utf-8")
TEXT, MORE = [OPTICKS[20_000:60_000]], [OPTICKS[200_000:300_000]]


@given(WORDS, st.sets(st.sampled_from(["ab", "##ab", "##bé", "aab", "##aa", "é", "##é"])), st.integers(1, 12))
def test_wordpiece_is_the_textbook(words: dict[str, int], pieces: set[str], add: int) -> None:
    vocab = ["[UNK]", "a", "b", "##a", "##b", *sorted(pieces)]
    model = WordPiece(Vocab([piece.encode() for piece in dict.fromkeys(vocab)]), 0, special_ids=frozenset([0]))
    found = extend_pieces.extend_wordpiece(
        model, counts_of({word.encode(): n for word, n in words.items()}), extend_pieces.Extension(count=add)
    )
    assert [piece.decode() for piece in found.tokens] == extend_wordpiece(words, [*dict.fromkeys(vocab)], add)


@given(WORDS, st.dictionaries(st.sampled_from(["ab", "bé", "aab", "aa", "éb"]), st.integers(100, 900)), st.data())
def test_unigram_is_the_textbook(words: dict[str, int], pieces: dict[str, int], data: st.DataObject) -> None:
    scores = {"a": -3.0, "b": -3.5, "é": -4.0} | {piece: -score / 128 for piece, score in pieces.items()}
    model = Unigram(
        Vocab([b"<unk>", *(piece.encode() for piece in scores)]),
        np.array([0.0, *scores.values()]),
        0,
        special_ids=frozenset([0]),
        running=data.draw(st.booleans()),
    )
    add = data.draw(st.integers(1, 12))
    found = extend_pieces.extend_unigram(
        model, counts_of({word.encode(): n for word, n in words.items()}), extend_pieces.Extension(count=add)
    )
    got = dict(zip((piece.decode() for piece in found.tokens), found.scores, strict=True))
    assert got == extend_unigram(words, scores, add)


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_ids_stay_and_new_ones_are_used(algorithm: Any, tmp_path: Path) -> None:
    tok = subwords.train(TEXT, algorithm=algorithm, vocab_size=300)
    more = subwords.adapt.extend(tok, MORE, count=80, progress=False)
    size = tok.vocab_size
    assert more.vocab_size == size + 80
    assert [more.model.vocab[k] for k in range(size)] == [tok.model.vocab[k] for k in range(size)]
    assert {index for index in more.encode(MORE[0]) if index >= size} == set(range(size, size + 80))
    assert more.count_tokens(MORE[0]) < tok.count_tokens(MORE[0])
    before, after = (
        {f.tokens for f in subwords.study.audit(one).findings if f.severity != "note"} for one in (tok, more)
    )
    assert after <= before
    new = [more.model.vocab[k].decode().removeprefix("##") for k in range(size, size + 80)]
    words = {word.lower() for word in TEXT[0].split() if word.isalpha()}
    kept = [word for word in words if not any(piece in f"\u2581{word}" for piece in new)]
    assert 30 < len(kept) < len(words)
    assert all(more.encode(word) == tok.encode(word) for word in kept)
    more.save(tmp_path / "tokenizer.json")
    assert subwords.load(tmp_path / "tokenizer.json").encode(MORE[0]) == more.encode(MORE[0])


@pytest.mark.rotating(6)
@pytest.mark.parametrize("name", ["t5/spiece.model", "albert/spiece.model", "bert/bert-base-uncased-tokenizer.json"])
def test_real_files(data: Path, tmp_path: Path, name: str) -> None:
    tok = subwords.load(file_of(data, name))
    size, text = tok.vocab_size, MORE[0]
    more = subwords.adapt.extend(tok, [text], count=200, progress=False)
    assert more.vocab_size == size + 200
    rules = ["unreachable-token", "split-token", "normalized-token"]
    before, after = ({f.tokens for f in subwords.study.audit(one, rules=rules).findings} for one in (tok, more))
    assert after <= before
    lines = text.split("\n")[:400]
    got = more.encode_batch(lines).to_lists()
    assert any(index >= size for row in got for index in row)
    if name.endswith(".model"):
        import sentencepiece

        more.save(tmp_path / "more.model")
        assert got == sentencepiece.SentencePieceProcessor(str(tmp_path / "more.model")).encode(lines)
    else:
        import tokenizers

        more.save(tmp_path / "more.json")
        peer = tokenizers.Tokenizer.from_file(str(tmp_path / "more.json"))
        assert got == [one.ids for one in peer.encode_batch(lines, add_special_tokens=False)]


def test_clear_errors() -> None:
    unigram = subwords.train(TEXT, algorithm="unigram", vocab_size=200)
    pieces = subwords.train(TEXT, algorithm="wordpiece", vocab_size=200)
    with pytest.raises(InputError, match="extend needs a BPE, WordPiece or Unigram model; this is WordLevel"):
        subwords.adapt.extend(subwords.train(TEXT, algorithm="wordlevel", vocab_size=9), MORE, count=1)
    with pytest.raises(InputError, match="splitter is for BPE"):
        subwords.adapt.extend(unigram, MORE, count=1, splitter="whitespace")
    with pytest.raises(InputError, match="whole_characters is for BPE"):
        subwords.adapt.extend(pieces, MORE, count=1, whole_characters=True)
    with pytest.raises(InputError, match="max_words is for BPE"):
        subwords.adapt.extend(unigram, MORE, count=1, max_words=2)
    with pytest.raises(TrainingError, match="nothing to add"):
        subwords.adapt.extend(pieces, ["文 字"], count=1)
    with pytest.warns(SubwordsWarning, match="fewer tokens than asked for: 1 instead of 50"):
        assert subwords.adapt.extend(pieces, ["mediumraysrays"], count=50).vocab_size == pieces.vocab_size + 1
