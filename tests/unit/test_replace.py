"""replace: new tokens at the ids of old ones (B9, C2)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import subwords
from small_data import file_of
from subwords import FormatError, InputError, TrainingError

OLD = "low lower lowest new newer newest wide wider widest"
NEW = "slow slower slowest prism prisms prismatic light lights lighter"


def check(found: subwords.adapt.Adapted, texts: list[str]) -> None:
    old, new, gone = found.old, found.tokenizer, {*found.removed}
    assert new.vocab_size == old.vocab_size
    assert found.added == found.removed
    assert not {new.model.vocab[i] for i in found.added} & {old.model.vocab[i] for i in found.removed}
    assert not [i for i in range(old.vocab_size) if i not in gone and new.model.vocab[i] != old.model.vocab[i]]
    pairs = {(left, right) for left, right, made in new.model.merges.tolist() if made in gone}  # type: ignore[union-attr]
    kinds = set()
    for text in texts:
        before, after = old.encode(text), new.encode(text)
        assert new.decode(after) == old.decode(before)
        same = not gone & {*before} and not any(pair in pairs for pair in pairwise(before))
        kinds.add(same)
        if same:
            assert before == after
    assert kinds == {True, False}
    assert {*found.unreachable} <= {*subwords.adapt.Adapted(old, old).unreachable}
    assert [*found.id_map.changed] == sorted({*found.added} | {i for i, t in enumerate(new.model.vocab) if not t})


def test_new_tokens_take_the_places_of_old_ones() -> None:
    tok = subwords.train([OLD] * 9, vocab_size=285)
    found = subwords.adapt.replace(tok, [NEW] * 9, count=8)
    assert len(found.removed) == 8
    check(found, [*OLD.split(), *NEW.split(), "x y", OLD, NEW])
    assert len(found.tokenizer.encode(NEW)) < len(tok.encode(NEW))
    named = subwords.adapt.replace(tok, [NEW] * 9, drop=found.removed)
    assert named.tokenizer == found.tokenizer
    assert subwords.adapt.replace(tok, subwords.count([NEW] * 9), count=8).tokenizer == found.tokenizer
    for index in found.added:
        assert found.tokenizer.encode(found.tokenizer.decode([index])) == [index]
        row = found.id_map[index]
        assert b"".join(tok.model.vocab[i] for i in tok.encode(found.tokenizer.decode([index]))) != b""
        assert {*row} == {*tok.encode(found.tokenizer.decode([index]))}
        assert abs(sum(row.values()) - 1) < 1e-12


def test_removed_tokens_are_not_learned_again() -> None:
    tok = subwords.train(["low low low"] * 9, vocab_size=259)
    assert [*tok.model.vocab][256:] == [b"lo", b"low", b" low"]
    found = subwords.adapt.replace(tok, ["low low low prism prism"], drop=[" low"])
    assert found.tokenizer.tokenize("low low") == ["low", " ", "low"]


def test_rank_files_hold_it_only_if_ids_are_the_order_of_merges(tmp_path: Path) -> None:
    made = subwords.train([OLD] * 9, vocab_size=275)
    made.save(tmp_path / "old.tiktoken")
    tok = subwords.load(tmp_path / "old.tiktoken", splitter="gpt2", special_ids={})
    leaves = [i for i in range(256, 275) if not (made.model.merges[:, :2] == i).any()]  # type: ignore[union-attr]
    assert leaves[-1] == 274
    last = subwords.adapt.replace(tok, [NEW] * 9, drop=leaves[-1:]).tokenizer
    last.save(tmp_path / "new.tiktoken")
    again = subwords.load(tmp_path / "new.tiktoken", splitter="gpt2", special_ids={})
    assert [again.encode(text) for text in (OLD, NEW)] == [last.encode(text) for text in (OLD, NEW)]
    with pytest.raises(FormatError, match="tiktoken would give other ids"):
        subwords.adapt.replace(tok, [NEW] * 9, drop=leaves[:1]).tokenizer.save(tmp_path / "x.tiktoken")


def test_removed_tokens_are_not_looked_up(tmp_path: Path) -> None:
    subwords.train(["low low low"] * 9, vocab_size=259).save(tmp_path / "old.tiktoken")
    tok = subwords.load(tmp_path / "old.tiktoken", splitter="gpt2", special_ids={})
    found = subwords.adapt.replace(tok, ["low low low prism"] * 9, drop=["lo", "low", " low"])
    assert found.tokenizer.model.vocab[256] == b"ow"  # of the words "low" and " low", which are in letters now
    assert found.tokenizer.tokenize("low") == ["l", "ow"]


def test_clear_errors() -> None:
    tok = subwords.train([OLD] * 9, vocab_size=275)
    with pytest.raises(InputError, match="expected one of count, drop and scripts"):
        subwords.adapt.replace(tok, [NEW])
    with pytest.raises(InputError, match="expected one of count, drop and scripts"):
        subwords.adapt.replace(tok, [NEW], count=2, drop=["low"])
    with pytest.raises(InputError, match="keep is an option for count"):
        subwords.adapt.replace(tok, [NEW], drop=["Ġlowest"], keep=["low"])
    with pytest.raises(InputError, match="cannot replace 500 tokens: there are 275"):
        subwords.adapt.replace(tok, [NEW], count=500)
    with pytest.raises(InputError, match="cannot prune to 175 tokens: 256 tokens cannot be removed"):
        subwords.adapt.replace(tok, [NEW], count=100)
    with pytest.raises(TrainingError, match="cannot replace 3 tokens: this corpus has 1 new ones"):
        subwords.adapt.replace(tok, ["xy"], count=3)
    with pytest.raises(InputError, match="expected counts made with splitter"):
        subwords.adapt.replace(tok, subwords.count([NEW], splitter="bert"), count=3)
    words = subwords.train([OLD] * 9, algorithm="wordlevel", vocab_size=9)
    with pytest.raises(InputError, match="replace needs a BPE, WordPiece or Unigram model; this is WordLevel"):
        subwords.adapt.replace(words, [NEW], count=3)
    pieces = subwords.train([OLD] * 9, algorithm="wordpiece", vocab_size=40)
    with pytest.raises(InputError, match="whole_characters is for BPE"):
        subwords.adapt.replace(pieces, [NEW], count=3, whole_characters=True)
    with pytest.raises(TrainingError, match="cannot replace 3 tokens: this corpus has 0 new ones"):
        subwords.adapt.replace(pieces, ["w"], count=3)


def pieces_keep_their_promises(found: subwords.adapt.Adapted, texts: list[str]) -> None:
    old, new, gone = found.old, found.tokenizer, {*found.removed}
    assert new.vocab_size == old.vocab_size
    assert [i for i in range(old.vocab_size) if new.model.vocab[i] != old.model.vocab[i]] == sorted(gone)
    assert found.added == found.removed
    mark = getattr(new.model, "prefix", "")
    fresh = [new.model.vocab[i].decode().removeprefix(mark or "\0") for i in found.added]
    kinds = set()
    for text in texts:
        before, after = old.encode(text), new.encode(text)
        shown = text if mark else "\u2581" + text.replace(" ", "\u2581")
        same = not gone & {*before} and not any(piece in shown for piece in fresh)
        kinds.add(same)
        assert before == after or not same
        assert new.decode(after) == old.decode(before)
    assert kinds == {True, False}
    assert {*found.unreachable} <= {*subwords.adapt.Adapted(old, old).unreachable} - gone


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_pieces_take_the_places_of_old_ones(algorithm: str, tmp_path: Path) -> None:
    size = {"wordpiece": 50, "unigram": 40}[algorithm]
    letters = "".join(sorted({*OLD, *NEW} - {" "}))
    letters += f" {letters[::-1]}"
    tok = subwords.train([OLD, letters] * 9, algorithm=algorithm, vocab_size=size)
    found = subwords.adapt.replace(tok, [NEW] * 9, count=3)
    assert len(found.added) == 3
    pieces_keep_their_promises(found, [*OLD.split(), *NEW.split(), OLD, NEW])
    assert len(found.tokenizer.encode(NEW)) < len(tok.encode(NEW))
    found.tokenizer.save(tmp_path / "x.json")
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "x.json"))
    for text in (OLD, NEW, *NEW.split()):
        assert theirs.encode(text, add_special_tokens=False).ids == found.tokenizer.encode(text)
    if algorithm == "unigram":
        processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
        found.tokenizer.save(tmp_path / "x.model")
        again = processor(model_file=str(tmp_path / "x.model"))
        assert [again.encode(text) for text in (OLD, NEW)] == [found.tokenizer.encode(text) for text in (OLD, NEW)]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", ["t5/spiece.model", "albert/spiece.model", "bert/bert-base-uncased-tokenizer.json"])
def test_real_pieces(data: Path, tmp_path: Path, name: str) -> None:
    tok = subwords.load(file_of(data, name))
    text = "refractive prismatic spectrometers photolithography " * 9
    found = subwords.adapt.replace(tok, [text], count=5)
    pieces_keep_their_promises(found, [text, "plain words", "photolithography", "refractive", "it was so"])
    if name.endswith(".model"):
        processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
        found.tokenizer.save(tmp_path / "x.model")
        again = processor(model_file=str(tmp_path / "x.model"))
        for one in (text, "plain words", "photolithography"):
            assert again.encode(one) == found.tokenizer.encode(one)


def test_scores_of_new_pieces_differ(shared_data: Path) -> None:
    tok = subwords.load(shared_data / "tokenizers/mistral/tokenizer.model.v1")  # its lowest score is -1e9
    text = " ".join(f"{a}{b}{c}ที่การ" for a in "กขค" for b in "งจฉ" for c in "ชซฌ") * 3
    assert subwords.adapt.replace(tok, [text], count=40).unreachable == ()
    more = subwords.adapt.extend(tok, [text], count=40)
    assert subwords.study.audit(more, rules=["unreachable-token"]).findings == ()
