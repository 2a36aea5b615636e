"""The commands `encode` and `decode` on texts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import subwords
from commands import TEXT, json_of, run
from subwords import Tokenizer
from subwords.cli.console import print_token, unshown

# --- encode and decode


def numbers(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids)) + "\n"


def test_encode_prints_ids_of_a_file_of_standard_input_and_of_texts(
    tok_path: Path, tok: Tokenizer, corpus_path: Path
) -> None:
    ref = numbers(tok.encode(TEXT))
    assert run("encode", tok_path, corpus_path).stdout == ref
    assert run("encode", tok_path, stdin=TEXT.encode()).stdout == ref
    assert run("encode", tok_path, "-", stdin=TEXT.encode()).stdout == ref
    got = run("encode", tok_path, "--text", "a low", "--text", "", "--text", "é").stdout
    assert got == numbers(tok.encode("a low")) + "\n" + numbers(tok.encode("é"))


def test_encode_reads_a_long_text_in_parts(
    tok_path: Path, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also characters and ids over the borders of what is read at once."""
    monkeypatch.setattr("subwords.cli.encoding._BATCH", 1 << 12)
    text = (TEXT + "x" * 999) * 30
    path, out = tmp_path / "long.txt", tmp_path / "ids.txt"
    path.write_bytes(text.encode())
    ids = tok.encode(text)
    assert run("encode", tok_path, stdin=text.encode()).stdout == numbers(ids)
    assert json_of("encode", tok_path, path, "-o", out) == {"texts": 1, "total": len(ids), "saved": str(out)}
    assert out.read_text() == numbers(ids)
    path.write_bytes(text.encode() + b"\xff \xe2")
    error = run("encode", tok_path, path, "-o", tmp_path / "none", code=1).stderr
    assert f"byte 0xff at byte {len(text.encode())} of text 0" in error
    assert not (tmp_path / "none").exists()
    run("encode", tok_path, path, "-o", out, "--errors", "replace")
    assert out.read_text() == numbers(tok.encode(text + "\ufffd \ufffd"))


def test_encode_special_tokens_as_told(tok_path: Path) -> None:
    assert run("encode", tok_path, "--text", "<s>").stdout != "0\n"
    assert run("encode", tok_path, "--text", "<s>", "--special", "allow").stdout == "0\n"
    assert "'<s>'" in run("encode", tok_path, "--text", "<s>", "--special", "error", code=1).stderr


def test_encode_tokens_show_what_they_are(tok_path: Path) -> None:
    assert run("encode", tok_path, "--tokens", "--text", "a low\t\\é").stdout == "a ␣low \\t \\\\ \\xc3 \\xa9\n"


def test_encode_says_what_it_saved(tok_path: Path, tmp_path: Path) -> None:
    got = run("encode", tok_path, "--text", "a", "-o", tmp_path / "ids.txt")
    assert got.stdout == "" and got.stderr == f"subwords: texts 1, total 1, saved {tmp_path / 'ids.txt'}\n"
    assert run("encode", tok_path, "--text", "a", "-o", tmp_path / "ids.txt", "-q").stderr == ""
    assert (tmp_path / "ids.txt").read_bytes() == b"65\n"


@pytest.mark.parametrize("form", ["text", "npy", "bin"])
def test_decode_gives_back_every_byte(form: str, tok_path: Path, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    characters = [chr(number) for number in range(0x800)]
    data = "".join(random.Random(seed).choices(characters, k=2000)).encode() + b"\r\n\x00 low\n"
    ids, out = tmp_path / "ids", tmp_path / "out"
    (tmp_path / "text").write_bytes(data)
    if form == "text":
        run("encode", tok_path, "-o", ids, stdin=data)
    else:
        run("tokens", tok_path, tmp_path / "text", "-o", ids, "--format", form, "--dtype", "uint32", "-q")
    dtype = ["--dtype", "uint32"] if form == "bin" else []
    assert run("decode", tok_path, ids, *dtype).stdout_bytes == data
    assert run("decode", tok_path, *dtype, stdin=ids.read_bytes()).stdout_bytes == data
    got = run("decode", tok_path, ids, *dtype, "-o", out)
    assert got.stdout == "" and got.stderr == f"subwords: texts 1, bytes {len(data)}, saved {out}\n"
    assert out.read_bytes() == data


@pytest.mark.parametrize(
    ("stdin", "named"),
    [
        (b"1 x", "x"),
        (b"1 1.5", "1.5"),
        (b"1 -1", "-1"),
        (b"1 282", "282"),
        (b"9" * 30, ""),
        (b"\x93NUMPY\x01", "NumPy"),
        (b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': (" * 10 + b" " * 8, "NumPy"),
    ],
)
def test_decode_of_what_is_no_id_fails(stdin: bytes, named: str, tok_path: Path) -> None:
    assert named in run("decode", tok_path, stdin=stdin, code=1).stderr


# --- inspect


def test_inspect_sums_up(tok_path: Path, tok: Tokenizer) -> None:
    ref = {"model": "bpe", "byte_level": True, "tokens": 282, "merges": 25, "unk_token": None, "splitter": "o200k"}
    ref |= {
        "normalizer": None,
        "special_tokens": {"<s>": 0},
        "lossless": True,
        "longest_token": max(map(len, tok.vocab)),
    }
    assert json_of("inspect", tok_path) == ref
    lines = dict(line.split("\t") for line in run("inspect", tok_path).stdout.splitlines())
    assert (lines["byte_level"], lines["unk_token"], lines["special_tokens"]) == ("yes", "none", "<s>=0")


def test_inspect_of_wordpiece_says_what_its_pieces_are(tmp_path: Path) -> None:
    tok = subwords.train(["hug pug pun bun hugs " * 9], algorithm="wordpiece", vocab_size=16)
    tok.save(tmp_path / "tok.json")  # ##g ##n ##s ##u b h p ##ug ##un hug bun behind five special tokens
    got = json_of("inspect", tmp_path / "tok.json")
    ref = {
        "model": "wordpiece",
        "prefix": "##",
        "longest_word": 100,
        "unk_token": "[UNK]",
        "normalizer": "bert-uncased",
    }
    ref |= {"begin_words": 5, "continue_words": 6, "single_characters": 7, "mean_length": round(17 / 11, 2)}
    assert {key: got[key] for key in ref} == ref


def test_inspect_on_a_text_counts_its_words_and_tokens(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes("Ein schöner Text, one text\n".encode())
    got = json_of("inspect", tok_path, "--source", text)
    ids = tok.encode(text.read_bytes())
    assert got == {"words": 5, "tokens": len(ids), "tokens_per_word": round(len(ids) / 5, 4), "unknown_tokens": 0}
    subwords.train(["hug hugs " * 9], algorithm="wordpiece", vocab_size=12).save(tmp_path / "tok.json")
    text.write_bytes(b"Hugs, hug")
    got = json_of("inspect", tmp_path / "tok.json", "--source", text)
    assert got == {"words": 2, "tokens": 3, "tokens_per_word": 1.5, "unknown_tokens": 1}


def test_inspect_lists_the_vocabulary(tok_path: Path, tok: Tokenizer) -> None:
    rows = [line.split("\t") for line in run("inspect", tok_path, "--vocab").stdout.splitlines()]
    assert {bytes.fromhex(data): int(i) for i, _, data in rows} == tok.vocab
    assert {unshown(token): int(i) for i, token, _ in rows} == tok.vocab
    assert len(run("inspect", tok_path, "--vocab", "--limit", 7).stdout.splitlines()) == 7
    got = json_of("inspect", tok_path, "--vocab")["vocab"]
    assert {bytes.fromhex(entry["bytes"]): entry["id"] for entry in got} == tok.vocab


def test_inspect_lists_the_merges(tok_path: Path, tok: Tokenizer) -> None:
    rows = [line.split("\t") for line in run("inspect", tok_path, "--merges").stdout.splitlines()]
    assert [(unshown(left), unshown(right)) for _, left, right, _, _ in rows] == [*tok.merges]
    assert [int(rank) for rank, *_ in rows] == [*range(25)]
    assert all(tok.vocab[unshown(token)] == int(i) for *_, i, token in rows)
    got = json_of("inspect", tok_path, "--merges", "--limit", 3)["merges"]
    assert [(bytes.fromhex(m["left"]["bytes"]), bytes.fromhex(m["right"]["bytes"])) for m in got] == [*tok.merges[:3]]


def test_inspect_token_shows_the_merges_around_it(tok_path: Path, tok: Tokenizer) -> None:
    low = tok.vocab[b" low"]
    made = [rank for rank, (a, b) in enumerate(tok.merges) if a + b == b" low"]
    part = [rank for rank, pair in enumerate(tok.merges) if b" low" in pair]
    assert made
    assert part
    for wanted in (str(low), " low", "␣low", r"\x20low"):
        got = json_of("inspect", tok_path, "--token", wanted)
        assert (got["id"], got["token"], got["bytes"], got["special"]) == (low, " low", b" low".hex(), False)
        assert [merge["rank"] for merge in got["made_by"]] == made
        assert [merge["rank"] for merge in got["part_of"]] == part
    plain = run("inspect", tok_path, "--token", " low").stdout.splitlines()
    assert [line.split("\t")[0] for line in plain] == [
        "id", "token", "bytes", "special", *["made by"] * len(made), *["part of"] * len(part),
    ]  # fmt: skip
    assert json_of("inspect", tok_path, "--token", r"\xc3")["bytes"] == "c3"
    assert json_of("inspect", tok_path, "--token", "<s>")["special"] is True


def test_shown_tokens_read_back() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    parts = ["␣", " ", "\\", "\\x41", "\\n", "\n", "é", "\u2028", "\U000e0001", "\x85", "😀", "x", "c3"]
    for _ in range(500):
        token = "".join(rng.choices(parts, k=4)).encode() + rng.randbytes(rng.randrange(4))
        got = print_token(token)
        assert unshown(got) == token
        assert got.isprintable()
        assert " " not in got


# ------------------------------------------------------------------
# Unigram on the command line: training, the n best ways to write a text, one drawn by chance, and scores


@pytest.fixture(scope="module")
def unigram_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unigram") / "unigram.json"
    subwords.train(["hug hugs hugging, unhugged bug"] * 9, algorithm="unigram", vocab_size=20).save(path)
    return path


def test_user_defined_pieces_and_models(corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.model"
    run("train", corpus_path, "--algorithm", "unigram", "--vocab-size", 38, "--user-defined", "<sep>", "-o", out)
    assert run("encode", out, "--text", "a<sep>b", "--tokens").stdout.split()[-2] == "<sep>"
    message = run("train", corpus_path, "--vocab-size", 38, "--user-defined", "x", "-o", tmp_path / "a.json", code=2)
    assert "--user-defined is for unigram, not for bpe" in message.stderr
    message = run("train", corpus_path, "--vocab-size", 38, "-o", tmp_path / "a.model", code=2)
    assert "expected a name ending in .json or .tiktoken or .gguf, or a folder" in message.stderr


def test_nbest(unigram_path: Path) -> None:
    tok = subwords.load(unigram_path)
    ref = tok.nbest("hugs", 3)
    lines = run("encode", unigram_path, "--text", "hugs", "--nbest", 3).stdout.splitlines()
    assert lines == [f"{score:.4f}\t{' '.join(map(str, ids))}" for ids, score in ref]
    got = json_of("encode", unigram_path, "--text", "hugs", "--nbest", 3, "--json")
    assert got["nbest"] == [[{"score": score, "ids": ids} for ids, score in ref]]
    got = json_of("encode", unigram_path, "--text", "hugs", "--nbest", 1, "--tokens", "--json")
    assert "".join(got["nbest"][0][0]["tokens"]) == "▁hugs"
    assert "leave out --special" in run("encode", unigram_path, "--nbest", 2, "--special", "allow", code=2).stderr
    bpe = unigram_path.parent / "bpe.json"
    subwords.train(["ab ab"], vocab_size=257).save(bpe)
    assert "--nbest needs a Unigram model" in run("encode", bpe, "--text", "a", "--nbest", 2, code=1).stderr


def test_sample(unigram_path: Path) -> None:
    options = ["encode", unigram_path, "--text", "hugging bug", "--draw", "--temperature", "20"]
    first = run(*options, "--seed", 3).stdout
    assert first == run(*options, "--seed", 3).stdout
    assert len({run(*options, "--seed", seed).stdout for seed in range(20)}) > 3
    best = run("encode", unigram_path, "--text", "hugging bug").stdout
    assert run(*options, "--nbest", 1).stdout == best
    assert "leave out --special" in run(*options, "--special", "allow", code=2).stderr
    assert "byte 0xff at byte 0" in run("encode", unigram_path, "--draw", stdin=b"\xff", code=1).stderr


def test_inspect_shows_scores(unigram_path: Path) -> None:
    tok = subwords.load(unigram_path)
    index = tok.vocab["▁hug".encode()]
    score = round(float(tok.model.scores[index]), 6)  # type: ignore[union-attr]
    assert json_of("inspect", unigram_path, "--token", "▁hug", "--json")["score"] == score
    assert json_of("inspect", unigram_path, "--vocab", "--json")["vocab"][index]["score"] == score
    assert str(score) in run("inspect", unigram_path, "--vocab").stdout
    summary = json_of("inspect", unigram_path, "--json")
    assert summary["model"] == "unigram"
    assert summary["highest_score"] >= score >= summary["lowest_score"]
