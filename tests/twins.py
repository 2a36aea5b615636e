"""A kernel of words beside its twin: the one comparison of the files that encode words as the textbook does."""

from __future__ import annotations

from collections.abc import Sequence

from inside import encoder_of, engine_encoder

__all__ = ["check_words", "tokens_of"]


def tokens_of(encoder: engine_encoder.Encoder, data: bytes) -> list[bytes]:
    return [encoder.segmenter.model.vocab[int(index)] for index in encoder.encode(data)]


def check_words(encoder: engine_encoder.Encoder, words: Sequence[bytes], ref: Sequence[Sequence[bytes]]) -> None:
    """Each word alone, twice, and all of them in one batch, have the tokens of the textbook."""
    for word, tokens in zip(words, ref, strict=True):
        assert tokens_of(encoder, word) == [*tokens], word
        assert tokens_of(encoder, word) == [*tokens], (word, "from the table")
    batch = encoder_of(encoder.segmenter.model, encoder.splitter).encode_batch(list(words), 1)
    assert [[encoder.segmenter.model.vocab[i] for i in ids] for ids in batch.to_lists()] == [*map(list, ref)]
