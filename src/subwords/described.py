"""Described: the parts and the vocabulary of a tokenizer, as its spec says; nothing here encodes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.bpe.model import BPE
from subwords.components.byte_alphabet import tokens_to_text
from subwords.components.roles import roles_by_name
from subwords.engine.added_tokens import AddedTokens
from subwords.errors import InputError, MissingName
from subwords.families import Model, family_of
from subwords.spec import TokenizerSpec
from subwords.split.splitter import Splitter
from subwords.support.other_names import OF_TOKENIZER, OtherName, hint

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.template import Template
    from subwords.normalize.normalizer import Normalizer

__all__ = ["Described"]

_MOST_SHOWN = 40  # tokens of a tokenizer that shows itself


class Described:
    """The base of `Tokenizer`: what a spec says, under the names that users of other libraries know. Immutable."""

    spec: TokenizerSpec

    def __init__(self, spec: TokenizerSpec) -> None:
        if not isinstance(spec, TokenizerSpec):
            raise InputError(f"expected a TokenizerSpec, not {type(spec).__name__}; subwords.load reads files")
        self.__dict__["spec"] = spec

    # ------------------------------------------------------------------ parts

    @property
    def model(self) -> Model:
        """The model: a vocabulary with merges, scores or a continuation prefix."""
        return self.spec.model

    @property
    def template(self) -> Template | None:
        """The template that adds special tokens around a text; None adds nothing."""
        return self.spec.template

    @property
    def decoder(self) -> Decoder | None:
        """The decoder that turns tokens into text; None joins the bytes of the tokens."""
        return self.spec.decoder

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, which splits text into words (pre-tokens)."""
        return Splitter(self.spec.splitter)

    @cached_property
    def normalizer(self) -> Normalizer | None:
        """The normalizer, which runs before the splitter; None leaves text unchanged."""
        if not self.spec.normalizer:
            return None
        from subwords.normalize.normalizer import Normalizer

        return Normalizer(self.spec.normalizer)

    @property
    def normalizer_name(self) -> str | None:
        """The name of the normalizer, or the names of its steps; None if there is no normalizer."""
        if self.normalizer is None:
            return None
        return self.normalizer.name or ", ".join(type(step).__name__ for step in self.spec.normalizer)

    @cached_property
    def added_tokens(self) -> AddedTokens:
        """The added tokens, which are found in text before it is split."""
        return AddedTokens(self.spec.added_tokens, normalize=self.normalizer.normalize if self.normalizer else None)

    # ------------------------------------------------------------------ vocabulary

    @property
    def vocab_size(self) -> int:
        """The largest id plus one."""
        return len(self.spec.model.vocab)

    @property
    def n_vocab(self) -> int:
        """The same as `vocab_size`, under tiktoken's name."""
        return self.vocab_size

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def vocab(self) -> dict[bytes, int]:
        """The id of every token by its bytes, as a new dict."""
        return dict(self.spec.model.vocab.ids)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of every token as a tokenizer.json spells it, as in HF: `Ġthe` for " the" in byte-level BPE.

        >>> import subwords
        >>> subwords.train(["a a a"], vocab_size=257).get_vocab()["Ġa"]
        256
        """
        return dict(self._ids)

    def token_to_id(self, token: str | bytes) -> int | None:
        """Return the id of a token: a str as in `get_vocab`, or bytes; None if the vocabulary lacks it.

        >>> import subwords
        >>> tok = subwords.train(["a a a"], vocab_size=257)
        >>> tok.token_to_id("Ġa"), tok.token_to_id(b" a"), tok.token_to_id(" a")
        (256, 256, None)
        """
        if isinstance(token, bytes):
            return self.spec.model.vocab.ids.get(token) if token else None
        if isinstance(token, str):
            return self._ids.get(token)
        raise InputError(f"expected a token as str or bytes, not {type(token).__name__}")

    def id_to_token(self, index: int) -> str | None:
        """Return the token of an id, as in `get_vocab`; None if the id has no token. `token_bytes` gives its bytes."""
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise InputError(f"expected an id as an int, not {type(index).__name__}")
        return (self._texts_in_files[index.__index__()] or None) if 0 <= index < self.vocab_size else None

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str | bytes) and self.token_to_id(token) is not None

    @cached_property
    def _texts_in_files(self) -> list[str]:
        tokens = list(self.spec.model.vocab)
        if getattr(self.spec.model, "byte_level", False):
            texts = tokens_to_text(tokens)
            for index in getattr(self.spec.model, "literal_ids", ()):
                texts[index] = tokens[index].decode("utf-8", "replace")
        else:
            texts = [token.decode("utf-8", "replace") for token in tokens]
        for token in self.spec.added_tokens:
            texts[token.id] = token.content
        return texts

    @cached_property
    def _ids(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for index, text in enumerate(self._texts_in_files):
            if text:
                found.setdefault(text, index)
        return found

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of rank, as pairs of token bytes; empty if the model has no merges."""
        if not isinstance(self.model, BPE):
            return []
        tokens = list(self.model.symbols)
        return [(tokens[left], tokens[right]) for left, right, _ in self.model.merges.tolist()]

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token."""
        return {token.content: token.id for token in self.spec.added_tokens if token.special}

    @property
    def roles(self) -> dict[str, int]:
        """The id of each token with a role: "bos", "eos", "unk", "pad", "cls", "sep", "mask".

        Without roles of its own, a tokenizer has those of the usual names: `[PAD]`, `</s>`, `<|endoftext|>`, ...
        """
        return dict(self.spec.roles or roles_by_name(self.spec.added_tokens))

    @property
    def lossless(self) -> bool:
        """Whether decode(encode(text)) == text for every text (ALGORITHMS.md, A1)."""
        joins = self.decoder is None
        return joins and self.model.lossless and self.splitter.keeps_text and self.normalizer is None

    # ------------------------------------------------------------------ a value

    def __reduce__(self) -> tuple[type[Any], tuple[TokenizerSpec]]:
        return type(self), (self.spec,)

    def __eq__(self, other: object) -> bool:
        return self.spec == other.spec if isinstance(other, Described) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.spec)

    def __setattr__(self, name: str, value: object) -> None:
        if name in OF_TOKENIZER:
            raise hint("Tokenizer", name, 'tok.with_(...), such as tok.with_(roles={"pad": "<pad>"})')
        raise MissingName(f"Tokenizer is immutable: cannot set {name!r}; tok.with_({name}=...) returns a changed copy")

    def __delattr__(self, name: str) -> None:
        raise MissingName(f"Tokenizer is immutable: cannot delete {name!r}")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in OF_TOKENIZER]

    def __repr__(self) -> str:
        rules = [f"splitter {self.splitter.shown}"]
        if self.normalizer is not None:
            rules.insert(0, f"normalizer {self.normalizer.shown}")
        return f"Tokenizer({family_of(self.model).name}, {', '.join([*self._sizes(), *rules])})"

    def _sizes(self) -> list[str]:
        """Return how many tokens, ids without a token, merges and special tokens there are."""
        tokens = int(np.count_nonzero(np.diff(self.model.vocab.offsets)))
        sizes = [f"{tokens} tokens"]
        if tokens < self.vocab_size:
            sizes.append(f"{self.vocab_size - tokens} unused ids")
        # A model that ranks tokens merges any two that make one: such a list of pairs is longer than its vocabulary.
        if isinstance(self.model, BPE) and len(self.model.merges) <= tokens:
            sizes.append(f"{len(self.model.merges)} merges")
        return [*sizes, f"{len(self.special_tokens)} special"]

    def _repr_html_(self) -> str:
        from subwords.render.html import facts

        special = sorted(self.special_tokens.items(), key=lambda entry: entry[1])
        some = {index: token for index in self._some_ids() if (token := self.model.vocab[index])}
        rules = {"splitter": self.splitter.name or self.splitter.identity, "normalizer": self.normalizer_name or "none"}
        rows = [
            ("model", _text(type(self.model).__name__)),
            ("vocabulary", _text(", ".join(self._sizes()))),
            *((name, _text(rule)) for name, rule in rules.items()),
            ("special tokens", _chips({index: text.encode() for text, index in special[:_MOST_SHOWN]}, len(special))),
            ("some tokens", _chips(some, None)),
        ]
        return facts(rows, caption=f"Tokenizer: {family_of(self.model).name}")

    def _some_ids(self) -> list[int]:
        """Return ids from the whole vocabulary, evenly spaced, without special tokens."""
        size, special = self.vocab_size, set(self.special_tokens.values())
        step = max(1, size // _MOST_SHOWN)
        return [index for index in range(step // 2, size, step) if index not in special][:_MOST_SHOWN]


for _name, _ours in OF_TOKENIZER.items():
    setattr(Described, _name, OtherName(_name, _ours))


def _text(value: str) -> str:
    from html import escape

    from subwords.render.visible import printable

    return escape(printable(value if len(value) <= 300 else f"{value[:300]}… ({len(value) - 300} more)"))


def _chips(tokens: dict[int, bytes], total: int | None) -> str:
    from subwords.render.html import Chip, chips

    found = [Chip(token.decode("utf-8", "surrogateescape"), f"id {index}") for index, token in tokens.items()]
    return chips(found, left_out=0 if total is None else total - len(found)) if found else "none"
