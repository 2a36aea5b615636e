"""What WordPiece is given that it should not be: files as HF reads them or refused with their line, prefixes, words."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import InputError, TrainingError

tokenizers = pytest.importorskip("tokenizers")

SCORES = ("likelihood", "course", "count")
TEXT = "##hug hugs a# # ## unhugging, naïve café 文字 ####s " * 5


def peer_of(path: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizers.BertWordPieceTokenizer(str(path)).to_str())


def check(tok: subwords.Tokenizer, peer: tokenizers.Tokenizer, text: str) -> None:
    ref = peer.encode(text, add_special_tokens=False)
    assert tok.encode(text, special="allow") == ref.ids
    ref, got = peer.encode(text), tok(text, special="allow")
    assert (got.ids.tolist(), list(got.file_tokens), got.spans.tolist()) == (
        ref.ids,
        ref.tokens,
        [*map(list, ref.offsets)],
    )
    assert tok.decode(ref.ids) == peer.decode(ref.ids, skip_special_tokens=False)


LINES = ["[UNK]", "[CLS]", "[SEP]", "hug", "##s", "a", "##", "#", "##a", "un", "文"]


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(LINES),
        "\r\n".join(LINES) + "\r\n",
        "\n\n".join(LINES) + "\n\n",
        "\n".join([*LINES, "hug", "##s", "[UNK]", "hug"]) + "\n",
        "\n".join(f"{line} \t" for line in LINES),
    ],
    ids=["no last line end", "CRLF", "blank lines", "duplicates", "blanks behind"],
)
def test_vocabulary_is_read_as_in_hf(data: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(data.encode())
    tok = subwords.load(path)
    for text in (TEXT, "hugs huga", "a" * 100, "a" * 101, "hug" + "s" * 97, "hug" + "s" * 98, "## #", ""):
        check(tok, peer_of(path), text)
    tok.save(tmp_path / "tok.json")
    assert subwords.load(tmp_path / "tok.json").encode(TEXT) == tok.encode(TEXT)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("prefix", ["", "#", "##", "a", "é", "文", " ", "[UNK]"])
def test_any_prefix_that_is_trained_with_is_used_alike_by_hf(prefix: str, score: Any, tmp_path: Path) -> None:
    tok = subwords.train([TEXT], algorithm="wordpiece", vocab_size=60, prefix=prefix, score=score)
    tok.save(tmp_path / "tok.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tok.json"))
    for text in (TEXT, "hugs", "".join(sorted({*TEXT})), "a" * 100, "a" * 101):
        for again in (tok, subwords.load(tmp_path / "tok.json")):
            ref = peer.encode(text, add_special_tokens=False)
            assert again.encode(text) == ref.ids
            assert again.decode(ref.ids) == peer.decode(ref.ids, skip_special_tokens=False)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("special", ["##", "hug", "##s", "#"])
def test_special_token_that_is_the_prefix_or_a_piece(special: str, score: Any, tmp_path: Path) -> None:
    tok = subwords.train([TEXT], algorithm="wordpiece", vocab_size=60, special_tokens=["[UNK]", special], score=score)
    tokens = [token.decode() for token in tok.model.vocab]
    assert tokens[:2] == ["[UNK]", special]
    assert len({*tokens}) == len(tokens)
    tok.save(tmp_path / "tok.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tok.json"))
    for text, parsed in itertools.product((TEXT, "hugs", special, f"{special}{special} x"), ("allow", "text")):
        got = tok.encode(text, special=parsed)
        if parsed == "allow":
            assert got == peer.encode(text, add_special_tokens=False).ids
        else:
            assert 1 not in got


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"score": "gain"}, InputError, r"unknown score='gain': expected one of likelihood, course, count"),
        ({"vocab_size": 9}, TrainingError, r"vocab_size 9 is too small: .* 5 special tokens, \d+ in all"),
        ({"prefix": "\udc80"}, InputError, r"prefix to be a str without lone surrogates"),
        ({"unk_token": "<unk>"}, InputError, r"unk_token '<unk>' to be among special_tokens"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        subwords.train([TEXT], algorithm="wordpiece", **{"vocab_size": 60, **options})
