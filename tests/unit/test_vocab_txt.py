"""vocab.txt of BERT, against HF tokenizers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tokenizers import models

from building import read_vocab
from inside import formats_vocab_txt as vocab_txt
from small_data import file_of
from subwords import FormatError

END = b"[UNK]\n"
LINES = [
    *("a", "##b", "", " ", "a ", "a\t", " a", "a b", "a\u3000", "\u2028", "\x85", "a\x1c", "\x1c", "\x00", "é", "😀"),
    *("\ufeffa", "[UNK] ", "a\x0b", "\x0c", "中\xa0", "\u200b", "##"),
]


def peer_ids(path: Path, data: bytes) -> dict[str, int]:
    path.write_bytes(data)
    return models.WordPiece.read_file(str(path))


def ids(tokens: list[str]) -> dict[str, int]:
    """As HF has them, a blank line aside, which there is a token that no text yields."""
    return {token: i for i, token in enumerate(tokens) if token}


@pytest.mark.parametrize(
    ("data", "ref"),
    [
        (b"[UNK]\na", ["[UNK]", "a"]),
        (b"[UNK]\na\n", ["[UNK]", "a"]),
        (b"[UNK]\r\na\r\n", ["[UNK]", "a"]),
        (b"[UNK]\n\na\n\n\n", ["[UNK]", "", "a", "", ""]),
        (b"\n[UNK]\n", ["", "[UNK]"]),
        (b"a\n[UNK]\nb\na\n", ["", "[UNK]", "b", "a"]),
        (b"a \n[UNK]\t\na\xe3\x80\x80\n", ["", "[UNK]", "a"]),
        (b"[UNK]\n a\n", ["[UNK]", " a"]),
        (b"[UNK]\n[UNK]\n", ["", "[UNK]"]),
        (b"[UNK]\na\x1c\n", ["[UNK]", "a\x1c"]),
    ],
)
def test_lines_are_read_as_in_hf(data: bytes, ref: list[str], tmp_path: Path) -> None:
    assert vocab_txt.read_tokens(data, "vocab.txt") == ref
    theirs = peer_ids(tmp_path / "vocab.txt", data)
    theirs.pop("", None)
    assert ids(ref) == theirs


def test_random_lines_are_read_as_in_hf(tmp_path: Path) -> None:
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(300):
        lines = ["[UNK]", *rng.choices(LINES, k=rng.randint(0, 9))]
        data = "".join(line + rng.choice(["\n", "\r\n"]) for line in lines).encode()
        theirs = peer_ids(tmp_path / "vocab.txt", data)
        theirs.pop("", None)
        got = vocab_txt.read_tokens(data, "vocab.txt")
        assert ids(got) == theirs, data
        assert len(got) == len(lines)
        assert vocab_txt.read_tokens(vocab_txt.write_tokens(got), "vocab.txt") == got


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r'expected a vocabulary, one .* with "\[UNK\]" for unknown words, not an empty file: if .* last line'),
        (b"a\nb\n", 'not 2 lines without it, from "a" on'),
        (b"[unk]\n", r'not 1 lines without it, from "\[unk\]" on'),
        (b"\xef\xbb\xbf[UNK]\na\n", "expected a token on line 1, not a byte order mark"),
        (END + b"a\nb\xff\n", r"line 3 has an invalid byte \(byte 9 of the file\)"),
        (END + b"a\xc3", r"line 2 has an invalid byte \(byte 7 of the file\)"),
        (END.decode().encode("utf-16"), "line 1 has an invalid byte"),
        (END + b"a\rb\n", r'not a carriage return within line 2, "a\\rb"'),
        (b"[UNK]\ra\rb", "a carriage return within line 1"),
        (END + b"\ra\n", "a carriage return within line 2"),
    ],
)
def test_damaged_file_is_refused_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=f"^v.txt: .*{message}"):
        read_vocab(data, "v.txt")


def test_unknown_words_may_have_another_token() -> None:
    assert vocab_txt.read_tokens(b"a\n<unk>\n", "v.txt", unk="<unk>") == ["a", "<unk>"]
    with pytest.raises(FormatError, match="<unk>"):
        vocab_txt.read_tokens(END, "v.txt", unk="<unk>")
    with pytest.raises(FormatError):
        vocab_txt.read_tokens(END + b"\n", "v.txt", unk="")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["a", "b\nc"], r'id 1 is "b\\nc", which vocab.txt cannot hold'),
        (["a\rc"], "id 0"),
        (["a", "b "], "id 1"),
        (["a", "b\u3000"], "id 1"),
        (["a", " "], "id 1"),
        (["a", "\ud800"], "id 1"),
        (["a", "b", "a"], 'expected distinct tokens in vocab.txt; "a" is id 0 and 2'),
        (["\ufeffa"], "without a byte order mark"),
    ],
)
def test_token_that_a_line_cannot_hold_is_refused(tokens: list[str], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        vocab_txt.write_tokens(tokens)


def test_ids_without_a_token_are_blank_lines(tmp_path: Path) -> None:
    tokens = ["[UNK]", "", "", "a", ""]
    assert vocab_txt.write_tokens(tokens) == b"[UNK]\n\n\na\n\n"
    assert vocab_txt.read_tokens(vocab_txt.write_tokens(tokens), "v.txt") == tokens
    assert peer_ids(tmp_path / "vocab.txt", vocab_txt.write_tokens(tokens)) == {"[UNK]": 0, "a": 3, "": 4}
    assert vocab_txt.write_tokens([]) == b""


@pytest.mark.parametrize(("name", "cased"), [("uncased", False), ("cased", True), ("chinese", False)])
def test_files_of_bert_are_read_as_in_hf(name: str, cased: bool, data: Path, tmp_path: Path) -> None:
    content = file_of(data, f"bert/bert-base-{name}-vocab.txt").read_bytes()
    got = vocab_txt.read_tokens(content, "vocab.txt")
    theirs = peer_ids(tmp_path / "vocab.txt", content)
    theirs.pop("", None)  # a line of U+2028 in the Chinese one
    assert ids(got) == theirs
    assert len(got) == content.count(b"\n")
    assert vocab_txt.is_cased(got) == cased
    assert (vocab_txt.write_tokens(got) == content) == (name != "chinese")
