"""Which ids can begin an encoding (X1), how a text may go on (X2), and what stays (X3): by brute force."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

import subwords
from inside import SentencePiece
from seeds import seed_of_run
from subwords import InputError

Ids = tuple[int, ...]
ONLY_ESCAPES = (SentencePiece(remove_extra_whitespaces=False),)
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "bytes, gpt2": ("ab \n'1é", 4, {"vocab_size": 275}),
    "bytes, cl100k": ("ab \n1é", 4, {"vocab_size": 275, "splitter": "cl100k"}),
    "bytes, o200k": ("aB \n\té", 4, {"vocab_size": 275, "splitter": "o200k"}),
    "bytes, not split": ("ab é你", 4, {"vocab_size": 275, "splitter": "none"}),
    "characters, gpt2": ("ab é\n", 4, {"vocab_size": 20, "byte_level": False}),
    "characters, not split": ("abé ", 5, {"vocab_size": 20, "byte_level": False, "splitter": "none"}),
    "byte fallback": ("ab é", 5, {"vocab_size": 275, "byte_level": False, "byte_fallback": True}),
    "unigram": ("abé ", 5, {"vocab_size": 16, "algorithm": "unigram"}),
    "unigram, escapes": ("abé ", 5, {"vocab_size": 16, "algorithm": "unigram", "normalizer": ONLY_ESCAPES}),
    "unigram, bytes": ("abé ", 5, {"vocab_size": 290, "algorithm": "unigram", "byte_fallback": True}),
    "wordpiece": ("ab. é", 4, {"vocab_size": 22, "algorithm": "wordpiece", "normalizer": "bert-cased"}),
}
TREES = [name for name in CASES if name not in ("unigram", "unigram, bytes", "wordpiece")]


class Small(NamedTuple):
    """A small tokenizer and the ids of all texts of a few characters."""

    tok: subwords.Tokenizer
    ids: dict[str, Ids]


@cache
def small(name: str) -> Small:
    alphabet, size, options = CASES[name]
    rng = Random(f"{name} {seed_of_run()}")
    texts = ["".join(rng.choice(alphabet) for _ in range(rng.randint(2, 12))) for _ in range(60)]
    tok = subwords.train(texts, **options)
    found = {}
    for letters in (letters for count in range(1, size + 1) for letters in product(alphabet, repeat=count)):
        try:
            found["".join(letters)] = tuple(tok.encode("".join(letters)))
        except InputError:  # no unk token
            continue
    return Small(tok, found)


def witness(tok: subwords.Tokenizer, ids: Ids) -> str | None:
    """A text whose encoding begins with these ids, as the product found it."""
    return tok._prefixes("text")._witness(ids)  # the proof is what is tested


@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
@pytest.mark.parametrize("name", CASES)
def test_is_prefix_by_all_short_texts(name: str) -> None:
    tok, every = small(name)
    unknown = tok.model.unk_id
    seen = {row[:count] for row in every.values() for count in range(len(row) + 1) if unknown not in row[:count]}
    used, some = sorted({index for row in seen for index in row}), sorted(seen)
    rng, refused = Random(f"{name} ids {seed_of_run()}"), 0
    rows = [rng.choice(some) for _ in range(60)]
    rows += [tuple(rng.choice(used) for _ in range(rng.randint(1, 3))) for _ in range(60)]
    rows += [(*rng.choice(some)[:3], rng.choice(used)) for _ in range(60)]
    for row in rows:
        try:
            found = tok.is_prefix(row)
        except InputError:
            refused += 1
            assert row not in seen
            continue
        if found:
            text = witness(tok, row)
            assert text is not None and tuple(tok.encode(text))[: len(row)] == row
        else:
            assert row not in seen
            assert found.index is not None and tok.is_prefix(row[: found.index])
            assert not tok.is_prefix(row[: found.index + 1])
    assert refused <= 2


def leaf(tok: subwords.Tokenizer, row: Ids, prefix: bytes) -> Ids | None:
    """The first ids of a row whose bytes cover a prefix."""
    data, before = b"", b" " if tok.normalizer else b""
    for count, index in enumerate(row, 1):
        data += tok.token_bytes(index)
        if len(data) >= len(before + prefix):
            assert data.startswith(before + prefix)
            return row[:count]
    return None


def common(one: Ids, other: Ids) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
@pytest.mark.parametrize("name", TREES)
def test_continuations_and_healing_by_all_short_texts(name: str) -> None:
    tok, every = small(name)
    rng, size = Random(f"{name} trees {seed_of_run()}"), CASES[name][1]
    texts = [text for text in every if len(text) <= size - 2]
    for text in rng.sample(texts, min(9, len(texts))):
        whole = text.encode()
        prefixes = {whole, whole[:-1]} if tok.model.byte_level else {whole}
        for prefix in prefixes - {b""}:
            leaves = {leaf(tok, row, prefix) for longer, row in every.items() if longer.encode().startswith(prefix)}
            found = tok.continuations(prefix, limit=100_000)
            assert found.complete and len(set(found)) == len(found)
            assert leaves - {None} <= {*found}
            for row in {*found} - leaves:
                longer = witness(tok, row)
                assert longer is not None and leaf(tok, tuple(tok.encode(longer)), prefix) == row
        ids, healed = every[text], tok.heal(text)
        kept = min(common(row, ids) for row in tok.continuations(whole, limit=100_000))
        assert healed.ids == ids[:kept] and healed.taken == len(ids) - kept
        assert healed.data == b"".join(map(tok.token_bytes, ids[kept:]))
        assert tok.heal(ids) == healed


def test_added_tokens() -> None:
    tok = subwords.load("demo").with_tokens(["<|user|>", "<|end|>"])
    user, end = tok.special_tokens["<|user|>"], tok.special_tokens["<|end|>"]
    row = tok.encode("<|user|>Rays of light<|end|>the co", special="allow")
    assert tok.is_prefix(row, special="allow") and not tok.is_prefix(row)
    assert tok.is_prefix(row).index == 0
    assert not tok.is_prefix([user, *tok.encode("R"), *tok.encode("ays"), end], special="allow")
    healed = tok.heal("<|user|>Rays of lig", special="allow")
    assert healed.ids == (user, *tok.encode("Rays of")) and healed.data == b" lig"
    assert tok.is_prefix([], special={"<|end|>"}) and tok.is_prefix([end], special={"<|end|>"})


def test_half_characters() -> None:
    tok = subwords.load("demo")
    ids = tok.encode("é 🙂")
    assert all(tok.is_prefix(ids[:count]) for count in range(len(ids) + 1))
    byte = {value: tok.token_to_id(bytes([value])) for value in (0x80, 0xC0, 0xE0, 0xED, 0xA0, 0xF4, 0x90, 0xFF)}
    for wrong in ([0x80], [0xC0], [0xFF], [0xE0, 0x80], [0xED, 0xA0], [0xF4, 0x90]):
        assert tok.is_prefix([byte[value] for value in wrong]).index == len(wrong) - 1  # type: ignore[misc]


def test_borders_that_later_text_decides() -> None:
    tok = subwords.train(["a \n \n \n"] * 9, vocab_size=257, splitter="gpt2")
    row = [tok.token_to_id(text) for text in (b"a", b" ", b"\n")]
    assert tok.encode("a \n") != row and tok.encode("a \nb")[:3] == row
    assert tok.is_prefix(row)  # type: ignore[arg-type]
    assert tok.heal("a \n").ids == (row[0],)
    assert {row[:2] for row in tok.continuations(b"a \n")} >= {(row[0], row[1])}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "wordlevel", "vocab_size": 12}, "a model of whole words"),
        ({"vocab_size": 300, "normalizer": "nfc"}, "with a normalizer"),
        ({"vocab_size": 60, "algorithm": "wordpiece", "splitter": "gpt2"}, "another splitter than BERT's"),
    ],
)
@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    tok = subwords.train(["low lower lowest, the light"] * 9, **options)
    with pytest.raises(InputError, match=message):
        tok.is_prefix([0])


@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
def test_wrong_arguments() -> None:
    tok, unigram = subwords.load("demo"), small("unigram").tok
    with pytest.raises(InputError, match="expected ids from 0 to 4095"):
        tok.is_prefix([4096])
    with pytest.raises(InputError, match="expected a prefix as bytes"):
        tok.continuations("a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="limit"):
        tok.continuations(b"a", limit=0)
    with pytest.raises(InputError, match="in UTF-8"):
        tok.continuations(b"\xff")
    with pytest.raises(InputError, match="unknown"):
        unigram.is_prefix([unigram.model.unk_id or 0])
    with pytest.raises(InputError, match="more than escape spaces"):
        unigram.heal("ab")
    with pytest.raises(InputError, match="WordPiece"):
        small("wordpiece").tok.continuations(b"a")
    flagged = tok.with_tokens(["<m>"], lstrip=True)
    with pytest.raises(InputError, match="strip"):
        flagged.is_prefix([1], special="allow")
    assert len(tok.continuations(b" ", limit=5)) == 5 and not tok.continuations(b" ", limit=5).complete
    assert tok.continuations(b"").rows == ((),) and tok.heal("").ids == ()


REAL = ("tiktoken/o200k_base.tiktoken", "gpt2/tokenizer.json", "mistral/tokenizer.model.v1", "phi-3/tokenizer.json")


@pytest.mark.parametrize("name", REAL)
def test_real_files(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    tok = subwords.load(path)
    text = "def f(x):\n    return  x  # naïve café 🙂\n\n" * 9
    ids = tok.encode(text)
    for count in range(0, len(ids), 19):
        assert tok.is_prefix(ids[:count])
    for place in range(1, 40, 3):
        healed = tok.heal(text[:place])
        before = tok.encode(text[:place])
        assert healed.ids == tuple(before[: len(healed.ids)]) and healed.taken == len(before) - len(healed.ids)
        for more in ("", "a", " ", "\n", "return", text[place : place + 9]):
            assert tuple(tok.encode(text[:place] + more))[: len(healed.ids)] == healed.ids
