"""What encoders of one model share, and which tokens are looked up as whole words."""

import gc
import weakref
from dataclasses import replace

import pytest

import subwords
from subwords.machine import BPESegmenter, segmenter_of

TEXT = ["banana band ananas ban an"] * 3


def test_encoders_of_one_model_share_a_segmenter() -> None:
    tok = subwords.train(TEXT, vocab_size=270)
    other = subwords.Tokenizer(tok.spec)
    assert segmenter_of(tok.model) is segmenter_of(other.model)
    assert other.encode("banana band") == tok.encode("banana band")


def test_a_segmenter_is_gone_with_its_last_user() -> None:
    tok = subwords.train(TEXT, vocab_size=270)
    assert tok.encode("banana")
    gone = weakref.ref(segmenter_of(tok.model))
    del tok
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_only_tokens_that_merges_do_not_make_are_whole_words(missing: int) -> None:
    made = subwords.train(TEXT, vocab_size=270).model
    model = replace(made, merges=made.merges[: len(made.merges) - missing], whole_words=True)
    words = BPESegmenter(model).whole_words
    lost = set(made.merges[len(made.merges) - missing :, 2].tolist())
    assert (set() if words is None else set(words.ids.tolist())) == lost
    tok = subwords.Tokenizer(replace(subwords.train(TEXT, vocab_size=270).spec, model=model, splitter=()))
    for token in lost:
        assert tok.encode(made.vocab[token]) == [token]
