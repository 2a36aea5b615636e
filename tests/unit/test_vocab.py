"""Vocab: parts and extensions of it are those of the list of its tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inside import Vocab

TOKENS = st.lists(st.binary(max_size=5), max_size=6)


@given(TOKENS, TOKENS, st.booleans())
def test_with_more_tokens(first: list[bytes], second: list[bytes], as_vocab: bool) -> None:
    vocab = Vocab(first).with_more(Vocab(second) if as_vocab else second)
    assert list(vocab) == first + second
    assert vocab == Vocab(first + second)
    assert len(vocab.data) == sum(map(len, first + second)) + 64  # kernels read beyond the end


@given(TOKENS, st.data())
def test_tokens_after_an_id(tokens: list[bytes], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(tokens)))
    assert Vocab(tokens).after(count) == Vocab(tokens[count:])


def test_of_a_vocabulary_is_itself() -> None:
    vocab = Vocab([b"a", b""])
    assert Vocab.of(vocab) is vocab
    assert Vocab.of([b"a", b""]) == vocab
