"""A list of terms as the corpus of `extend`: each term becomes one token, and old ids keep their tokens."""

from __future__ import annotations

import pytest

import subwords

TERMS = [" electroencephalography", " electroencephalogram", " Refrangibility", " Größenordnung", " 屈折率"]


@pytest.mark.filterwarnings("ignore:fewer tokens than asked for")
@pytest.mark.parametrize("byte_level", [True, False])
def test_each_term_becomes_one_token(byte_level: bool) -> None:
    text = ["Rays of light " * 20, *TERMS]
    tok = subwords.train(text, vocab_size=270 if byte_level else 60, byte_level=byte_level)
    most = sum(len(tok.encode(term)) - 1 for term in TERMS)
    more = subwords.adapt.extend(tok, TERMS, count=most)
    assert more.vocab_size <= tok.vocab_size + most
    assert [more.tokenize(term) for term in TERMS] == [[term] for term in TERMS]
    assert all(more.token_bytes(index) == tok.token_bytes(index) for index in range(len(tok)))
    for term in TERMS:
        inside = more.encode(f"light{term} of")
        assert more.encode(term)[0] in inside
        assert more.decode(inside) == f"light{term} of"
