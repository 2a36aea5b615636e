"""RWKV's vocabulary: the longest token at each place, by bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import subwords
from subwords import FormatError, InputError

MORE = [
    " the",
    "the",
    "The",
    "  ",
    "    ",
    "\n\n",
    "中文",
    "文",
    "é",
    "ab",
    "abc",
    "abcd",
    "bcd",
    "🙂",
    "it's",
    "'\"",
    "\\n",
]
TOKENS = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in MORE), "🙂".encode()[:3], b"\xa4\xb8a"]


def lines(tokens: list[bytes]) -> list[str]:
    """As the published file has them: what is UTF-8 as a string, anything else as bytes; ids from 1 on."""
    found = []
    for index, token in enumerate(tokens, 1):
        try:
            shown = repr(token.decode())
        except UnicodeDecodeError:
            shown = repr(token)
        found.append(f"{index} {shown} {len(token)}\n")
    return found


def longest(data: bytes) -> list[int]:
    ids, at = [], 0
    while at < len(data):
        size = max(n for n in range(1, 20) if data[at : at + n] in TOKENS and at + n <= len(data))
        ids.append(TOKENS.index(data[at : at + size]) + 1)
        at += size
    return ids


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rwkv_vocab_v1.txt"
    file.write_text("".join(lines(TOKENS)), "utf-8")
    return file


def test_ids_are_the_longest_tokens(path: Path) -> None:
    tok = subwords.load(path)
    assert subwords.load(path.parent) == tok
    rng = random.Random(1)
    parts = ["the", " ", "ab", "c", "d", "中", "文", "é", "🙂", "\n", "x", "'", '"', "\\", "s"]
    for _ in range(600):
        text = "".join(rng.choices(parts, k=rng.randrange(40)))
        ids = longest(text.encode())
        assert tok.encode(text) == tok.encode(text.encode()) == ids
        assert tok.decode(ids) == text
        assert tok(text).ids.tolist() == ids
    text = "".join(rng.choices(parts, k=20_000))
    assert tok.encode(text) == longest(text.encode())
    assert (tok.vocab_size, tok.special_tokens) == (len(TOKENS) + 1, {})
    with pytest.raises(InputError, match="is not in the vocabulary"):
        tok.encode(b"a\xff")


def test_other_formats_refuse_it(path: Path, tmp_path: Path) -> None:
    tok = subwords.load(path)
    for name in ("a.json", "a.model", "a.gguf", "vocab.txt", "a.tiktoken", "tekken.json"):
        with pytest.raises(FormatError):
            tok.save(tmp_path / name)


@pytest.mark.parametrize(
    ("number", "line", "said"),
    [
        (300, "300 'x' 1\n", "line 277: expected a new id, not 300"),
        (260, "261 'abz' 2\n", "line 261: expected an id, a token and its bytes, not"),
        (260, "261 __import__('os') 3\n", "line 261: expected an id, a token and its bytes"),
        (260, "261 'a' + 'b' 2\n", "line 261: expected an id, a token and its bytes"),
        (260, "260 'abz' 3\n", "line 261: expected a new id, not 260"),
        (260, "99999999 'abz' 3\n", "expected ids without large gaps"),
        (7, "", "expected a token for each of 256 bytes"),
    ],
)
def test_damage_is_named(number: int, line: str, said: str, path: Path) -> None:
    changed = lines(TOKENS)
    if number < len(changed):
        changed[number] = line
    else:
        changed += [line, line]
    path.write_text("".join(changed), "utf-8")
    with pytest.raises(FormatError) as caught:
        subwords.load(path)
    assert said in str(caught.value)
