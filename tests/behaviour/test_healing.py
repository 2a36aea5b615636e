"""What stays of a text whatever follows it (X1): by all longer texts of a few characters, and by real files."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import subwords
from seeds import seed_of_run
from subwords import InputError

Ids = tuple[int, ...]
# An alphabet, the length of its texts, and how many characters follow them.
CASES: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "gpt2": ("ab \n'1é", 3, 3, {"splitter": "gpt2"}),
    "cl100k": ("ab \n1é", 3, 3, {"splitter": "cl100k"}),
    "o200k": ("aB \n\té", 3, 3, {"splitter": "o200k"}),
    "contractions": ("r'e s", 3, 4, {"splitter": "o200k"}),
    "lines": ("a \n/", 4, 4, {"splitter": "o200k"}),
    "not split": ("ab é你", 3, 3, {"splitter": "none"}),
}


def common(one: Ids, other: Ids) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
@pytest.mark.parametrize("name", CASES)
def test_healing_by_all_longer_texts(name: str) -> None:
    """No longer text changes what is kept, and one that is long enough for the longest token changes the next id."""
    alphabet, size, after, options = CASES[name]
    rng = Random(f"{name} {seed_of_run()}")
    texts = ["".join(rng.choice(alphabet) for _ in range(rng.randint(2, 12))) for _ in range(60)]
    tok = subwords.train(texts, vocab_size=275, **options)
    ends = ["".join(letters) for count in range(after + 1) for letters in product(alphabet, repeat=count)]
    tokens = [token.decode() for token in tok.model.vocab if len(token) > 3 and token.isascii()]
    ends += map(chr, (*b"c2.", 0x301, 0x3000, *range(0xC0, 0x100), *range(0x4E00, 0x5000)))  # for halves of characters
    starts = ["".join(letters) for count in range(1, size + 1) for letters in product(alphabet, repeat=count)]
    for text in rng.sample(starts, min(25, len(starts))):
        ids, healed = tuple(tok.encode(text)), tok.heal(text)
        more = [token[at:] for token in tokens for at in range(1, len(token)) if text.endswith(token[:at])]
        longer = [text + end for end in [*ends, *(rest + end for rest in more for end in ("", *alphabet))]]
        kept = min(common(ids, tuple(row)) for row in tok.encode_batch(longer))
        assert healed.ids == ids[:kept] and healed.taken == len(ids) - kept
        assert healed.data == b"".join(map(tok.token_bytes, ids[kept:]))
        assert tok.heal(list(ids)) == healed


def test_added_tokens() -> None:
    tok = subwords.load("demo").with_tokens(["<|user|>", "<|end|>"])
    user = tok.special_tokens["<|user|>"]
    healed = tok.heal("<|user|>Rays of lig", special="allow")
    assert healed.ids == (user, *tok.encode("Rays of")) and healed.data == b" lig"
    assert tok.heal(tok.encode("<|user|>Rays of lig", special="allow"), special={"<|user|>"}) == healed
    assert tok.heal("Ray<|end|>", special="allow").taken == 0


def test_ids_that_end_inside_a_character() -> None:
    tok = subwords.load("demo")
    ids = tok.encode("a 🙂")
    for count in range(len(ids) + 1):
        healed = tok.heal(ids[:count])
        assert [*healed.ids] == ids[: len(healed.ids)] and healed.taken == count - len(healed.ids)
    byte = {value: tok.token_to_id(bytes([value])) for value in (0x80, 0xC0, 0xE0, 0xED, 0xA0, 0xF4, 0x90, 0xFF)}
    for wrong in ([0x80], [0xC0], [0xFF], [0xE0, 0x80], [0xED, 0xA0], [0xF4, 0x90]):
        with pytest.raises(InputError, match="begin a text in UTF-8"):
            tok.heal([byte[value] for value in wrong])  # type: ignore[misc]


def test_borders_that_later_text_decides() -> None:
    tok = subwords.train(["a \n \n \n"] * 9, vocab_size=257, splitter="gpt2")
    row = [tok.token_to_id(text) for text in (b"a", b" ", b"\n")]
    assert tok.encode("a \n") != row and tok.encode("a \nb")[:3] == row
    assert tok.heal("a \n").ids == (row[0],)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "wordlevel", "vocab_size": 12}, "another model"),
        ({"byte_level": False, "vocab_size": 60}, "another model"),
        ({"vocab_size": 300, "normalizer": "nfc"}, "a normalizer"),
    ],
)
@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    tok = subwords.train(["low lower lowest, the light"] * 9, **options)
    with pytest.raises(InputError, match=f"heal needs byte-level BPE .* this tokenizer has {message}"):
        tok.heal("low")


def test_wrong_arguments() -> None:
    tok = subwords.load("demo")
    with pytest.raises(InputError, match=r"expected ids from 0 to 4095; ids\[1\] is 4096"):
        tok.heal([1, 4096])
    with pytest.raises(InputError, match="has added tokens with normalized, single_word, lstrip or rstrip"):
        tok.with_tokens(["<m>"], lstrip=True).heal([1], special="allow")
    assert tok.heal("") == tok.heal([]) and tok.heal("").ids == ()


@pytest.mark.parametrize("name", ["tiktoken/o200k_base.tiktoken", "gpt2/tokenizer.json"])
def test_real_files(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    tok = subwords.load(path)
    text = "def f(x):\n    return  x  # naïve café 🙂\n\n"
    for place in range(1, 40, 3):
        healed, before = tok.heal(text[:place]), tok.encode(text[:place])
        assert healed.ids == tuple(before[: len(healed.ids)]) and healed.taken == len(before) - len(healed.ids)
        for more in ("", "a", " ", "\n", "return", text[place : place + 9]):
            assert tuple(tok.encode(text[:place] + more))[: len(healed.ids)] == healed.ids
