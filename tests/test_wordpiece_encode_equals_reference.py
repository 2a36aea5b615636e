"""WordPiece encoding equals the textbook's quadratic loop, word by word: any vocabulary, any prefix (P3, P4)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import splitter
from inside import encoder_of
from strategies import byte_texts, small_words
from subwords.machine import Vocab, WordPiece
from subwords.reference import wordpiece as reference
from twins import check_words

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
WHOLE = splitter(r"(?s:.+)")  # a text is one word
PREFIXES = st.sampled_from(["##", "", "a", "é#", "@@"])


def model_of(tokens: Sequence[str], prefix: str, max_chars: int = 100, special: int = 0) -> WordPiece:
    """A model of these tokens behind [UNK], the first `special` of them special."""
    vocab = Vocab([b"[UNK]", *(token.encode() for token in tokens)])
    return WordPiece(vocab, 0, prefix=prefix, max_chars=max_chars, special_ids=frozenset(range(special + 1)))


def check(model: WordPiece, words: Sequence[str]) -> None:
    tokens = [token.decode() for token in model.vocab]
    usable = {token for i, token in enumerate(tokens) if token and i not in model.special_ids}
    options = {"prefix": model.prefix, "max_chars": model.max_chars}
    found = [reference.encode_word(word, usable, **options) if word else [] for word in words]  # type: ignore[arg-type]
    data = [word.encode("utf-8", "surrogateescape") for word in words]
    check_words(encoder_of(model, WHOLE), data, [[token.encode() for token in each] for each in found])


def pieces(letters: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text(letters, min_size=1, max_size=6), max_size=25, unique=True)


@given(pieces("abc#é"), pieces("abc#é"), PREFIXES, st.lists(small_words("abcé#"), max_size=8))
def test_any_vocabulary(first: list[str], later: list[str], prefix: str, words: list[str]) -> None:
    tokens = list(dict.fromkeys([*first, *(prefix + piece for piece in later)]))
    check(model_of(tokens, prefix), words)


@given(pieces("ab"), st.integers(0, 12), st.lists(small_words("ab文😀"), max_size=8))
def test_words_longer_than_the_limit(tokens: list[str], most: int, words: list[str]) -> None:
    check(model_of([*tokens, "文", "##文", "😀", "##😀", "##a", "##b"], "##", most), words)


@pytest.mark.parametrize("letter", ["a", "é", "文", "😀"])
def test_the_longest_allowed_word(letter: str) -> None:
    for most in range(1, 9):
        check(model_of([letter, f"##{letter}"], "##", most), [letter * (most + k) for k in (-1, 0, 1)])


@given(byte_texts())
def test_any_bytes(data: bytes) -> None:
    check(model_of(["a", "##a", "b", "##é", " ", "## "], "##"), [data.decode("utf-8", "surrogateescape")])


@pytest.mark.parametrize("prefix", ["##", "", "b"])
def test_every_short_word(prefix: str) -> None:
    seed = 3
    print(f"seed {seed}")
    rng = random.Random(seed)
    words = [""]
    for _ in range(7):
        words += [word + letter for word in words[-(2 ** (len(words[-1]))) :] for letter in "ab"]
    for _ in range(30):
        tokens = {"".join(rng.choices("ab", k=rng.randint(1, 5))) for _ in range(8)}
        tokens |= {prefix + "".join(rng.choices("ab", k=rng.randint(1, 5))) for _ in range(8)}
        check(model_of(sorted(tokens), prefix), words)


def test_special_tokens_match_nothing() -> None:
    model = model_of(["ab", "##c", "a", "##b"], "##", special=1)
    assert encoder_of(model, WHOLE).encode(b"abc").tolist() == [3, 4, 2]


def test_a_piece_that_is_the_prefix_alone_continues_nothing() -> None:
    check(model_of(["##", "a", "##a"], "##"), ["##", "a##", "aa", "##a", "a"])


def test_of_equal_tokens_the_last_one_counts() -> None:
    assert encoder_of(model_of(["a", "##b", "a"], "##"), WHOLE).encode(b"ab").tolist() == [3, 2]


def test_a_million_letters_in_linear_time() -> None:
    tokens = ["a" * n for n in range(1, 60)] + ["##" + "a" * n for n in range(1, 60)]
    model = model_of(tokens, "##", 10**7)
    ids = encoder_of(model, WHOLE).encode(b"a" * 1_000_000)
    assert len(ids) == -(-1_000_000 // 59)
    assert encoder_of(model, WHOLE).encode(b"a" * 1_000_000 + b"b").tolist() == [0]


def test_real_words_and_the_pieces_of_others() -> None:
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    words = sorted(set(reference.split(OPTICKS.read_text(encoding="utf-8"))))
    tokens = {word[:n] for word in rng.sample(words, 1500) for n in (1, 2, 3, len(word))}
    tokens |= {"##" + word[n:] for word in rng.sample(words, 1500) for n in (1, 2, 3, len(word) - 1) if word[n:]}
    check(model_of(sorted(tokens), "##"), rng.sample(words, 3000))


def test_texts_whose_words_share_a_block() -> None:
    """The table grows inside blocks, and texts without words lie between others."""
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    model = model_of(["a", "b", "ab", "##a", "##b", "##ab", "##bb"], "##")
    words = ["".join(rng.choices("ab", k=rng.randint(1, 20))) for _ in range(4000)]
    texts = [" ".join(rng.choices(words, k=rng.choice([0, 1, 2, 9, 700]))).encode() for _ in range(300)]
    texts = [b"", *texts, b" ", b""]
    expected = [encoder_of(model, splitter("bert")).encode(text).tolist() for text in texts]
    encoder = encoder_of(model, splitter("bert"))
    for _ in range(2):
        assert encoder.encode_batch(texts, 1).to_lists() == expected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(encoder), "has_fast_path", False)
            assert encoder.encode_batch(texts, 1).to_lists() == expected
