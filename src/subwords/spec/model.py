"""Model: what the models of all families have in common, with the answers of a family that does not differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.spec.vocab import CHARACTERS, Vocab, tokens_from_text, tokens_to_text
from subwords.support.value import Value, read_only

if TYPE_CHECKING:
    from typing import Self

    from subwords.spec.splitter import Rule


NO_BYTES: NDArray[np.int32] = read_only(np.full(256, -1, np.int32))
NO_MERGES: NDArray[np.int64] = read_only(np.zeros((0, 3), np.int64))
NO_RANKED_MERGES: NDArray[np.int64] = read_only(np.zeros((0, 4), np.int64))


class Model(Value):
    """Base of the four model values: frozen dataclasses of plain data, without tables for encoding.

    A family overrides what is different in it, as a field or a property. What needs code beyond the value (segmenter,
    trainer, extension, explanation) is found by `families.family_of(model)`.
    """

    if TYPE_CHECKING:  # Fields of every model. A field of this class would come first and change every digest.

        @property
        def vocab(self) -> Vocab:
            """The tokens by id; an id without a token has b""."""

        @property
        def unk_id(self) -> int | None:
            """The id of unknown text; None if there is none."""

        @property
        def special_ids(self) -> frozenset[int]:
            """The ids that no text yields (ALGORITHMS.md, A3)."""

    @property
    def byte_level(self) -> bool:
        """Whether words start as bytes; otherwise as characters."""
        return False

    @property
    def byte_fallback(self) -> bool:
        """Whether an unknown character becomes the tokens of its bytes, `<0x00>` to `<0xFF>`."""
        return False

    @property
    def byte_ids(self) -> NDArray[np.int32]:
        """The id of each byte's fallback token, -1 if it has none; int32, shape (256,)."""
        return NO_BYTES

    @property
    def missing_bytes(self) -> list[int]:
        """The bytes without a token, if words or unknown characters become bytes."""
        return np.flatnonzero(self.byte_ids < 0).tolist() if self.byte_fallback else []

    @property
    def input_names(self) -> tuple[str, ...]:
        """The arrays that a model with such a vocabulary takes, under transformers' names."""
        return "input_ids", "attention_mask"

    @property
    def user_ids(self) -> frozenset[int]:
        """The user-defined tokens, which are always kept whole."""
        return frozenset()

    @property
    def unused_ids(self) -> frozenset[int]:
        """The tokens that take part in merging and are split into their parts afterwards."""
        return frozenset()

    @property
    def literal_ids(self) -> frozenset[int]:
        """The tokens of a byte-level vocabulary that files spell as their text."""
        return frozenset()

    @property
    def unknown(self) -> Literal["error", "drop"]:
        """What becomes of unknown text without an unk token."""
        return "error"

    @property
    def whole_words(self) -> bool:
        """Whether a word that is a token is not segmented."""
        return False

    @property
    def words_only(self) -> bool:
        """Whether any word outside the vocabulary is unknown."""
        return False

    @property
    def max_chars(self) -> int | None:
        """The characters of a word beyond which it is unknown; None: there is no limit."""
        return None

    @property
    def marks(self) -> tuple[bytes, bytes]:
        """What is spelled before every token of a word but the first, and after the last one."""
        return b"", b""

    @property
    def symbols(self) -> Vocab:
        """The tokens, followed by what only takes part in merging."""
        return self.vocab

    @property
    def merge_count(self) -> int | None:
        """The number of merges; None for a family that keeps none."""
        return None

    @property
    def ranked_merges(self) -> NDArray[np.int64]:
        """The merges in order: rank, left id, right id, resulting id; int64, shape (m, 4)."""
        return NO_RANKED_MERGES

    @property
    def space_rule(self) -> Rule:
        """The finest rule that is known to change no id of an unsplit text; () if no rule is known."""
        return ()

    @property
    def knows_all(self) -> bool:
        """Whether every possible symbol has an id, anywhere in a word."""
        return bool(self.byte_ids.min() >= 0)

    @property
    def lossless(self) -> bool:
        """Whether decoding restores every text."""
        return False

    def score(self, index: int) -> float | None:
        """Return the score of a token, a natural logarithm; None for a family without scores."""
        return None

    def facts(self) -> dict[str, object]:
        """Return what distinguishes this model from others of its family, for people."""
        return {}

    @property
    def values(self) -> dict[str, Any]:
        """The fields by name, in order."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]  # a dataclass

    # ------------------------------------------------------------------ how tokens are spelled

    @property
    def spelling(self) -> str:
        """How tokens spell text, for comparison and for messages."""
        marks = [f"{name} {mark!r}" for name, mark in zip(("prefix", "suffix"), self.marks, strict=True) if mark]
        return " with ".join(["bytes" if self.byte_level else "characters", *marks])

    def continues(self, token: bytes) -> bool:
        """Whether a token can only continue a word."""
        return False

    def without_marks(self, token: bytes) -> bytes:
        """Return the text of a token, without the marks of its place in a word."""
        return token

    def in_files(self, tokens: Sequence[bytes]) -> list[str]:
        """Return tokens as a tokenizer.json spells them; b"" is ""."""
        return tokens_to_text(tokens) if self.byte_level else [token.decode("utf-8", "replace") for token in tokens]

    def text_in_files(self, index: int) -> str:
        """One token as a tokenizer.json spells it."""
        token = self.vocab[index]
        return token.decode("utf-8", "replace") if index in self.literal_ids else self.in_files([token])[0]

    @property
    def texts_in_files(self) -> list[str]:
        """The tokens by id as a tokenizer.json spells them; a new list."""
        texts = self.in_files(list(self.vocab))
        for index in self.literal_ids:
            texts[index] = self.vocab[index].decode("utf-8", "replace")
        return texts

    def from_files(self, text: str) -> bytes:
        """Return the token that a tokenizer.json spells like this; b"" if it can spell none so."""
        if not self.byte_level:
            return text.encode("utf-8", "surrogatepass")
        return tokens_from_text([text])[0] if CHARACTERS.issuperset(text) else b""

    # ------------------------------------------------------------------ changed models

    def with_(self, **changes: Any) -> Self:
        """Return the model with some fields changed."""
        return replace(self, **changes)  # type: ignore[type-var]

    def extended(self, tokens: Sequence[bytes]) -> Self:
        """Return a model with more tokens, which get the next ids; no text yields them."""
        more = range(len(self.vocab), len(self.vocab) + len(tokens))
        return self.with_(vocab=self.vocab.with_more(tokens), special_ids=self.special_ids | frozenset(more))

    def grown(
        self, tokens: Sequence[bytes], merges: NDArray[np.int64] = NO_MERGES, scores: Sequence[float] = ()
    ) -> Self:
        """Return a model with more tokens, which text yields: by merges that rank after all others, by scores."""
        return self.with_(vocab=self.vocab.with_more(tokens))

    def with_merges(self, merges: NDArray[np.int64]) -> Self:
        """Return a model with merges (left id, right id, id) that rank after all others; the same without merges."""
        return self

    def without(self, ids: Collection[int]) -> Self:
        """Return a model that makes some tokens of no text; all tokens keep their ids."""
        return self.with_(special_ids=self.special_ids | {*ids})

    def with_special(self, ids: Iterable[int]) -> Self:
        """Return the model whose text yields none of some tokens, but for those that text needs (A3)."""
        new = {*ids} - self.special_ids
        return self.with_(special_ids=self.special_ids | new).for_text(new) if new else self

    def for_text(self, ids: Collection[int]) -> Self:
        """Return the model whose text can be written without the tokens `ids`, which are special, if it needs them."""
        return self

    def rearranged(self, tokens: Sequence[bytes], origins: NDArray[np.int64], scores: Mapping[int, float]) -> Self:
        """Return a model of other tokens: the token of id i was that of id origins[i], or is new (-1).

        Merges of tokens that are gone are left out; new tokens have none. scores: of new tokens, by id.
        """
        ids = new_ids(origins, len(self.vocab))
        return self.with_(vocab=Vocab(tokens), **self._moved(ids, origins, scores))

    def _moved(self, ids: NDArray[np.int64], origins: NDArray[np.int64], scores: Mapping[int, float]) -> dict[str, Any]:
        """Return the fields that name ids, for new ids by old id, -1 for those that are gone."""
        unk_id = None if self.unk_id is None else int(ids[self.unk_id])
        return {"unk_id": unk_id, **{name: _mapped(getattr(self, name), ids) for name in self._id_sets}}

    _id_sets: ClassVar[tuple[str, ...]] = ("special_ids",)  # the fields that are sets of ids

    def with_spaces(self) -> Self | None:
        """Return the model with spaces for U+2581, for texts that have none; None if the ids might differ."""
        return None

    def by_words(self) -> Self:
        """Return the model that encodes each word alone; an unknown symbol has the id after the last token."""
        return self


def new_ids(origins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the new id of each of `size` old ids, -1 for those that are gone."""
    found = np.full(size, -1, np.int64)
    found[origins[origins >= 0]] = np.flatnonzero(origins >= 0)
    return found


def _mapped(found: frozenset[int], ids: NDArray[np.int64]) -> frozenset[int]:
    return frozenset(i for i in ids[sorted(found)].tolist() if i >= 0)
