"""Tokenizer: text to ids and back. It orchestrates; every loop over tokens is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.decode import as_ids, decode_bytes
from subwords.bpe.model import BPE
from subwords.checks import check_flag
from subwords.engine import Engine
from subwords.errors import InputError
from subwords.result import TokenBatch
from subwords.special import AddedToken, AddedTokens
from subwords.split.scanner import Splitter
from subwords.vocab import Vocab

# What only some tokenizers need is imported where they do: 30 ms of the start.
if TYPE_CHECKING:
    from os import PathLike

    from subwords.decoder import Decoder, TokenTexts
    from subwords.encoding import Encoding
    from subwords.normalize.normalizer import Normalizer
    from subwords.template import Template
    from subwords.unigram.model import Unigram
    from subwords.unigram.sample import Paths
    from subwords.wordpiece.model import WordPiece

__all__ = ["Tokenizer"]

_DECODE_ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")

Special = Literal["text", "error", "allow"] | set[str] | frozenset[str]


class Tokenizer:
    """A trained tokenizer, immutable: any number of threads may share it, and it survives fork and pickling (A4).

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> tok.tokenize("low lowest")
    ['low', ' lowest']
    >>> tok.decode(tok.encode("so low, é"))
    'so low, é'
    """

    model: BPE | WordPiece | Unigram
    splitter: Splitter
    normalizer: Normalizer | None
    template: Template | None
    decoder: Decoder | None
    added_tokens: AddedTokens
    extras: dict[str, Any]
    _engine: Engine

    def __init__(
        self,
        model: BPE | WordPiece | Unigram,
        splitter: Splitter,
        *,
        normalizer: Normalizer | None = None,
        template: Template | None = None,
        decoder: Decoder | None = None,
        added_tokens: Sequence[AddedToken] = (),
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        """Join a model and what stands around it; `extras` are file entries kept for writing back.

        Without a decoder, text is the joined bytes of tokens.
        """
        normalizer = normalizer if normalizer is not None and normalizer.steps else None
        added = AddedTokens(added_tokens, normalize=normalizer.normalize if normalizer else None)
        for token in added:
            if token.id >= len(model.vocab):
                raise InputError(
                    f"expected added tokens to have ids below {len(model.vocab)}; {token.content!r} has {token.id}"
                )
        self.__dict__.update(
            model=model,
            splitter=splitter,
            normalizer=normalizer,
            template=template,
            decoder=decoder,
            added_tokens=added,
            extras=dict(extras or {}),
            _engine=Engine(model, splitter, normalizer, added),
        )

    def __getstate__(self) -> dict[str, Any]:
        """What defines it, and nothing that was computed since."""
        names = "model", "splitter", "normalizer", "template", "decoder", "extras"
        return {name: getattr(self, name) for name in names} | {"added_tokens": tuple(self.added_tokens)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Tokenizer is immutable: {name!r} cannot be set; make another one with Tokenizer(...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Tokenizer is immutable: {name!r} cannot be deleted")

    # ------------------------------------------------------------------ text to ids

    def __call__(self, text: str, pair: str | None = None, *, special: Special = "text") -> Encoding:
        """Return everything about a text, or two: ids with the template's, tokens as files write them, spans, words.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=258)("ab ab").spans.tolist()
        [[0, 2], [2, 5]]
        """
        from subwords.encoding import Encoding, framed

        texts = [text] if pair is None else [text, pair]
        for each in texts:
            if not isinstance(each, str):
                raise InputError(f"expected text (str), not {type(each).__name__}; encode takes bytes too")
        found = [self._engine.locate(each, special) for each in texts]
        encodings = [Encoding.of_text(each.ids, each.tokens, each.spans, each.words.tolist()) for each in found]
        return framed(self.template, *encodings)

    def encode(self, text: str | bytes, *, special: Special = "text", template: bool = False) -> list[int]:
        """Return the ids of a text; with `template`, those that the file puts around it too.

        `bytes` need not be UTF-8 for a byte-level model. special="text": special tokens spelled out are ordinary text;
        "error": they raise; "allow": they become their ids, as do those named in a set. InputError for anything else.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).encode("<s>ab", special="allow")
        [0, 257]
        """
        check_flag("template", template)
        ids: list[int] = self.encode_to_numpy(text, special=special).tolist()
        return self.template.apply(ids) if template and self.template else ids

    def encode_to_numpy(self, text: str | bytes, *, special: Special = "text") -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array; see `encode`."""
        return self._engine.encode(text, special)

    def encode_batch(
        self, texts: Iterable[str | bytes], *, special: Special = "text", threads: int | None = None
    ) -> TokenBatch:
        """Return the ids of many texts, in their order, using `threads` threads (None: one per processor).

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "abab"]).to_lists()
        [[256], [256, 256]]
        """
        if isinstance(texts, (str, bytes)):
            raise InputError("expected many texts; for a single one use encode")
        return self._engine.encode_batch(_as_list(texts), special, threads)

    def nbest(self, text: str, n: int = 10) -> list[tuple[list[int], float]]:
        """Return the ids and scores of the n best ways to write a text, the best first; of a Unigram model.

        Scores are natural logarithms. InputError for n that is not 1 to 1024.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> [tok.decode(ids) for ids, _ in tok.nbest("hug", 2)]
        ['hug', 'hug']
        """
        found = [(ids.tolist(), score) for ids, score in self._paths(text).best(n)]
        # Between equal sums, the rounding of sums decides; see `Unigram.running`.
        return [(self.encode(text), found[0][1])] if n == 1 else found

    def sample(self, text: str, *, alpha: float = 0.1, nbest: int = -1, seed: Any = None) -> list[int]:
        """Return the ids of one way to write a text, drawn in proportion to exp(alpha * score); of a Unigram model.

        alpha: 0 draws all ways alike, large values the best. nbest: draw from so many of the best; below 0, from all.
        seed: what numpy.random.default_rng takes; a generator goes on.

        Source: T. Kudo, Subword Regularization, 2018.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> tok.decode(tok.sample("hugs", alpha=0.5, seed=1))
        'hugs'
        """
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"expected a seed that numpy.random.default_rng takes, not {seed!r:.60}: {error}"
            ) from None
        ids: list[int] = self._paths(text).draw(alpha, nbest, rng).tolist()
        return self.encode(text) if nbest in (0, 1) else ids

    def _paths(self, text: str) -> Paths:
        from subwords.unigram.encode import UnigramSegmenter
        from subwords.unigram.sample import Paths

        segmenter = self._engine.segmenter
        if not isinstance(segmenter, UnigramSegmenter):
            raise InputError(f"expected a Unigram model for nbest and sample; this is {type(self.model).__name__}")
        return Paths(segmenter, self._engine.words(text))

    def tokenize(self, text: str | bytes, *, special: Special = "text") -> list[str]:
        """Return the tokens of a text; bytes that are no character by themselves show as U+FFFD."""
        return self._engine.tokens(text, special)

    # ------------------------------------------------------------------ ids to text

    def decode_bytes(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
        """Return the bytes the ids stand for; InputError names an id that is none, and its position.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).decode_bytes([256, 0])
        b'ab!'
        """
        if self.decoder is not None:
            return self._decoded(ids, skip_special_tokens=False).encode()
        return decode_bytes(self._texts_of_ids, ids)

    def decode(
        self,
        ids: Iterable[int] | NDArray[np.integer[Any]],
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text the ids stand for.

        errors: what becomes of bytes that are not UTF-8, as in `bytes.decode`; a decoder that has bytes of its own
        (byte fallback) takes "replace" alone.
        Hazard: ids may end inside a character; errors="strict" then raises InputError, the default writes U+FFFD.
        """
        check_flag("skip_special_tokens", skip_special_tokens)
        if not isinstance(errors, str) or errors not in _DECODE_ERRORS:
            raise InputError(f"expected errors to be one of {', '.join(map(repr, _DECODE_ERRORS))}, not {errors!r}")
        if self.decoder is not None:
            if errors != "replace" and self.decoder.replaces_bytes:
                raise InputError(f"expected errors='replace', which this decoder does with bytes, not {errors!r}")
            return self._decoded(ids, skip_special_tokens=skip_special_tokens)
        if skip_special_tokens:
            flat = as_ids(ids)
            ids = flat[~np.isin(flat, list(self.added_tokens.special_ids))]
        data = self.decode_bytes(ids)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise InputError(
                f"expected ids of whole characters; byte {error.start} of the text is not UTF-8: errors='replace' "
                f"writes U+FFFD there"
            ) from None

    def _decoded(self, ids: Iterable[int] | NDArray[np.integer[Any]], *, skip_special_tokens: bool) -> str:
        return self._texts.decode(as_ids(ids), skip_special_tokens=skip_special_tokens)

    @cached_property
    def _texts(self) -> TokenTexts:
        from subwords.decoder import TokenTexts

        assert self.decoder is not None
        tokens = [token.decode("utf-8", "replace") for token in self._texts_of_ids]
        return TokenTexts(self.decoder, tokens, self.added_tokens.special_ids)

    @cached_property
    def _texts_of_ids(self) -> Vocab:
        """The vocabulary, but added tokens that are sought in normalized text as they stand there."""
        written = {token.id: text for token, text in self.added_tokens.written.items() if text != token.content}
        if not written:
            return self.model.vocab
        return Vocab([written[i].encode() if i in written else token for i, token in enumerate(self.model.vocab)])

    # ------------------------------------------------------------------ what it is

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return len(self.model.vocab)

    @property
    def vocab(self) -> dict[bytes, int]:
        """The id of every token's bytes, as a fresh dict."""
        return dict(self.model.vocab.ids)

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of rank, as pairs of token bytes; none where the model has no merges."""
        if not isinstance(self.model, BPE):
            return []
        tokens = list(self.model.symbols)
        return [(tokens[left], tokens[right]) for left, right, _ in self.model.merges.tolist()]

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @property
    def lossless(self) -> bool:
        """Whether decode(encode(text)) is the text, whatever the text (A1)."""
        return self.model.lossless and self.splitter.keeps_text and self.normalizer is None

    def save(self, path: str | PathLike[str]) -> None:
        """Write a tokenizer.json that HF tokenizers and transformers load; nothing is left half written."""
        from subwords.formats import save

        save(self, path)

    def __repr__(self) -> str:
        family = type(self.model).__name__.lower()
        merges = f" {len(self.merges)} merges," if family == "bpe" else ""
        normalizer = "" if self.normalizer is None else f" {self.normalizer!r},"
        return (
            f"Tokenizer({family}, {self.vocab_size} tokens,{merges} "
            f"{len(self.special_tokens)} special,{normalizer} {self.splitter!r})"
        )


def _as_list(texts: Iterable[str | bytes]) -> list[str | bytes]:
    if not isinstance(texts, (Mapping, AbstractSet)):
        try:
            found = iter(texts)
        except TypeError:  # also of arrays without dimensions
            pass
        else:
            return list(found)
    raise InputError(f"expected a list or another ordered iterable of texts, not {type(texts).__name__}")
