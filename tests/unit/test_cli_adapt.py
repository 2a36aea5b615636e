"""The commands that change a vocabulary: prune, replace, merge and id-map."""

from __future__ import annotations

from pathlib import Path

import pytest

import subwords
from commands import json_of, run

OLD = "low lower lowest new newer newest wide wider widest\n" * 9
NEW = "slow slower slowest prism prisms prismatic\n" * 9


@pytest.fixture
def made(tmp_path: Path) -> Path:
    subwords.train([OLD], vocab_size=275, special_tokens=["<s>"]).save(tmp_path / "tok.json")
    (tmp_path / "new.txt").write_text(NEW)
    (tmp_path / "old.txt").write_text(OLD)
    return tmp_path


def test_prune_by_a_corpus_or_counts(made: Path) -> None:
    tok = subwords.load(made / "tok.json")
    place = made / "embedding_map.json"
    arguments = ("--vocab-size", 270, "--compact", "--id-map", place, "-o", made / "less.json")
    got = json_of("adapt", "prune", made / "tok.json", "--source", made / "new.txt", *arguments)
    expected = subwords.adapt.prune(tok, source=made / "new.txt", vocab_size=270, compact=True)
    assert (got["tokens"], got["ids"], got["removed"], got["added"]) == (270, 270, 5, 0)
    assert (got["moved"], got["id_map"]) == (len(expected.moved), str(place))
    assert subwords.load(made / "less.json") == expected.tokenizer
    assert subwords.adapt.IdMap.load(place) == expected.id_map
    run("count", made / "new.txt", "--special-token", "<s>", "-o", made / "new.counts")
    run("adapt", "prune", made / "tok.json", "--source", made / "new.counts", *arguments, "-q")
    assert subwords.load(made / "less.json") == expected.tokenizer


def test_prune_by_names(made: Path) -> None:
    tok = subwords.load(made / "tok.json")
    leaves = [i for i in range(257, 275) if not (tok.model.merges[:, :2] == i).any()]  # type: ignore[union-attr]
    names = [tok.model.vocab[i].decode().replace(" ", "␣") for i in leaves]
    (made / "drop.txt").write_text("\n".join(names[1:]) + "\n", "utf-8")
    run(
        "adapt", "prune", made / "tok.json", "--drop", names[0], "--drop-file", made / "drop.txt", "-o", made / "a.json"
    )
    run("adapt", "prune", made / "tok.json", *(part for i in leaves for part in ("--drop", i)), "-o", made / "b.json")
    expected = subwords.adapt.prune(tok, drop=leaves).tokenizer
    assert subwords.load(made / "a.json") == subwords.load(made / "b.json") == expected
    run("adapt", "prune", made / "tok.json", "--keep", names[0], "-o", made / "c.json")
    assert subwords.load(made / "c.json") == subwords.adapt.prune(tok, keep=leaves[:1]).tokenizer


def test_errors_leave_no_file(made: Path) -> None:
    out = made / "x.json"
    for arguments, message in (
        (("--drop", "a"), "it is a byte"),
        (("--drop", "zzz"), "token 'zzz' is not in the vocabulary"),
        (("--drop-file", made / "none.txt"), "cannot read"),
        (("--script", "Klingon"), "expected scripts of Unicode"),
        (("--source", made / "new.txt", "--vocab-size", 100), "cannot prune to 100 tokens"),
    ):
        got = run("adapt", "prune", made / "tok.json", *arguments, "-o", out, "--id-map", made / "x.map", code=1)
        assert message in got.stderr
        assert not out.exists()
        assert not (made / "x.map").exists()
    for usage, message in (
        (("--source", made / "new.txt"), "--source needs --vocab-size or --min-count"),
        ((), "expected one of --drop, --keep, --script and --source"),
    ):
        assert message in run("adapt", "prune", made / "tok.json", *usage, "-o", out, code=2).stderr


def test_replace_keeps_the_size(made: Path) -> None:
    tok = subwords.load(made / "tok.json")
    got = json_of("adapt", "replace", made / "tok.json", made / "new.txt", "--count", 4, "-o", made / "other.json")
    expected = subwords.adapt.replace(tok, made / "new.txt", count=4)
    assert (got["ids"], got["removed"], got["added"]) == (275, 4, 4)
    assert subwords.load(made / "other.json") == expected.tokenizer
    run("adapt", "replace", made / "tok.json", made / "new.txt", "-o", made / "other.json", code=2)


def test_merge_and_id_map(made: Path) -> None:
    other = subwords.train([NEW], vocab_size=270)
    other.save(made / "other.json")
    tok = subwords.load(made / "tok.json")
    got = json_of(
        "adapt", "merge", made / "tok.json", made / "other.json", "-o", made / "both.json", "--id-map", made / "m.json"
    )
    expected = subwords.adapt.merge(tok, other)
    assert (got["added"], got["left_out"]) == (len(expected.added), len(expected.left_out))
    assert subwords.load(made / "both.json") == expected.tokenizer
    ids = json_of("adapt", "id-map", made / "tok.json", made / "both.json", "-o", made / "n.json")
    assert (ids["old_ids"], ids["new_ids"], ids["changed"]) == (275, expected.tokenizer.vocab_size, len(expected.added))
    assert subwords.adapt.IdMap.load(made / "m.json") == subwords.adapt.IdMap.load(made / "n.json") == expected.id_map
    subwords.train([NEW], algorithm="unigram", vocab_size=30).save(made / "unigram.json")
    for command in ("merge", "id-map"):
        got_error = run("adapt", command, made / "tok.json", made / "unigram.json", "-o", made / "y.json", code=1)
        assert "unrelated tokenizers" in got_error.stderr
        assert not (made / "y.json").exists()
