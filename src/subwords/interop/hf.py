"""A tokenizer in the shape of HF's Tokenizer."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from subwords import AddedToken, Encoding, Padding, Tokenizer, Truncation
from subwords.interop.verify import needed
from subwords.machine import FLAGS, json_of, write_file, write_folder_files
from subwords.support.checks import as_items
from subwords.support.errors import InputError, TooLargeError, WrongTypeError

# ---------------------------------------------------------------------------------------------------------------------
# An encoding in the shape of HF's Encoding.


class HFEncoding:
    """HF's `tokenizers.Encoding`: lists instead of arrays; immutable, so `pad`, `truncate` and `merge` are missing."""

    __slots__ = ("_ids", "_made", "_make")

    def __init__(self, found: Encoding | Callable[[], Encoding], ids: list[int] | None = None) -> None:
        """Wrap an encoding, or a function that makes it and the ids that it will have."""
        self._made = found if isinstance(found, Encoding) else None
        self._make, self._ids = found, ids

    @property
    def _found(self) -> Encoding:
        if self._made is None:
            self._made = self._make()  # type: ignore[operator]
        return self._made

    def __len__(self) -> int:
        return len(self._found if self._ids is None else self._ids)

    def __reduce__(self) -> tuple[type[HFEncoding], tuple[Encoding]]:
        return HFEncoding, (self._found,)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    @property
    def ids(self) -> list[int]:
        """The ids."""
        found: list[int] = self._found.ids.tolist() if self._ids is None else self._ids[:]
        return found

    @property
    def tokens(self) -> list[str]:
        """The tokens as tokenizer.json spells them."""
        return [*self._found.file_tokens]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The span of each token in characters."""
        return self._found.offsets

    @property
    def type_ids(self) -> list[int]:
        """The type id of each token."""
        found: list[int] = self._found.type_ids.tolist()
        return found

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 for all other tokens."""
        found: list[int] = self._found.attention_mask.tolist()
        return found

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens of the template and of padding."""
        found: list[int] = self._found.special_tokens_mask.tolist()
        return found

    @property
    def word_ids(self) -> list[int | None]:
        """The word of each token, None for tokens of the template and of padding."""
        return [*self._found.word_ids]

    @property
    def words(self) -> list[int | None]:
        """The same as `word_ids`."""
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The text of each token, None for tokens of the template and of padding."""
        return [*self._found.sequence_ids]

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._found.ranges)

    @property
    def overflowing(self) -> list[HFEncoding]:
        """The pieces that truncation cut off."""
        return [HFEncoding(part) for part in self._found.overflow]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token of a character of a text; None if no token covers it."""
        spans = self.offsets
        inside = (i for i in self._range(sequence_index) if spans[i][0] <= char_pos < spans[i][1])
        return next(inside, None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the word of a character of a text; None if no token covers it."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self._found.word_ids[token]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return a word's first token and the one after its last; None if the word has no tokens."""
        words = self._found.word_ids
        before = takewhile(lambda i: (words[i] or 0) <= word_index, self._range(sequence_index))
        found = [i for i in before if words[i] == word_index]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the span of a word; None if the word has no tokens."""
        found, spans = self.word_to_tokens(word_index, sequence_index), self.offsets
        return (spans[found[0]][0], spans[found[1] - 1][1]) if found else None

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the span of a token; None if it is of no text."""
        return self._found.token_to_chars(token_index)

    def token_to_word(self, token_index: int) -> int | None:
        """Return the word of a token; None if it is of no text."""
        return self._found.token_to_word(token_index)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the text of a token; None if it is of no text."""
        return self._found.token_to_sequence(token_index)

    def _range(self, sequence: int) -> range:
        """Return the tokens of a text; all tokens if there is no such text, as in HF."""
        ranges = self._found.ranges
        return ranges[sequence] if 0 <= sequence < len(ranges) else range(len(self))


MOST_QUICK = 1 << 12  # characters of a text whose ids come first, and all else when it is asked for


class HFShape:
    """HF's `tokenizers.Tokenizer`, 0.23, run by a tokenizer of this package; made by `tok.as_hf()`.

    Names, defaults, results and kinds of errors are HF's: special tokens spelled in a text are found, the template is
    applied, `decode` skips special tokens. As in HF, `enable_padding`, `enable_truncation`, `add_tokens` and
    `encode_special_tokens` change this object; the tokenizer that it was made from stays as it is.
    Pretokenized input, training, and the parts (`normalizer`, `model`, ...) are missing.

    >>> import subwords
    >>> hf = subwords.train(["ab ab"], vocab_size=259, special_tokens=["<pad>"]).as_hf()
    >>> hf.enable_padding(pad_id=0, pad_token="<pad>")
    >>> [encoding.ids for encoding in hf.encode_batch(["ab", "ab ab"])]
    [[257, 0], [257, 258]]
    """

    def __init__(self, tok: Tokenizer) -> None:
        """Wrap a tokenizer."""
        self._tok = tok
        self.encode_special_tokens: bool = False

    # ------------------------------------------------------------------ text to ids

    def encode(
        self, sequence: str, pair: str | None = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> HFEncoding:
        """Return the encoding of a text or a pair of texts."""
        if pair is None and is_pretokenized is False and type(sequence) is str and len(sequence) <= MOST_QUICK:
            tok, special = self._tok, self._special
            if tok.spec.truncation is None and tok.spec.padding is None:
                try:  # `suppress` took 0.3 us
                    ids = tok.encode(sequence, special=special, template=add_special_tokens)
                except InputError:
                    pass  # the way below raises the error of HF's kind
                else:
                    return HFEncoding(lambda: tok(sequence, special=special, template=add_special_tokens), ids)
        _check_whole(is_pretokenized)
        texts = [_checked_text(sequence), *([] if pair is None else [_checked_text(pair)])]
        return HFEncoding(self._tok(*texts, special=self._special, template=add_special_tokens))

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[HFEncoding]:
        """Return the encodings of texts, or of pairs as tuples or lists; padded to the longest if padding is on."""
        _check_whole(is_pretokenized)
        if isinstance(input, str) or not isinstance(input, Sequence | np.ndarray):
            raise WrongTypeError(f"expected a list of texts, not {type(input).__name__}")
        rows = [_texts(item) for item in input]
        if len({*map(len, rows)}) == 1:
            with suppress(InputError):  # the errors of the way below name no text, as HF's
                columns = [[*column] for column in zip(*rows, strict=True)]
                return [*map(HFEncoding, self._tok(*columns, special=self._special, template=add_special_tokens))]
        found = [self._one(row, add_special_tokens, False) for row in rows]
        padding = self._tok.spec.padding
        if padding is not None and found:
            filled = replace(padding, length=padding.length_for(max(map(len, found))), multiple_of=None)
            found = [self._one(row, add_special_tokens, filled) for row in rows]
        return [HFEncoding(each) for each in found]

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[HFEncoding]:
        """Return `encode_batch`; HF leaves out the offsets here."""
        return self.encode_batch(input, is_pretokenized, add_special_tokens)

    def _one(self, row: list[str], template: bool, padding: Any) -> Any:
        return self._tok(*row, special=self._special, template=template, padding=padding)

    @property
    def _special(self) -> Literal["text", "allow"]:
        return "text" if self.encode_special_tokens else "allow"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many tokens the template adds to a text, or to a pair."""
        return self._tok.template.added(bool(is_pair)) if self._tok.template else 0

    # ------------------------------------------------------------------ ids to text

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; ids that do not exist are left out."""
        skip = bool(skip_special_tokens)
        if type(ids) is list:
            with suppress(InputError):  # ids that do not exist, and other integers than int
                return self._tok.decode(ids, skip_special_tokens=skip)
        known = [index for index in _id_list(ids) if index < self._tok.vocab_size]
        return self._tok.decode(known, skip_special_tokens=skip)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in as_items(sequences, "lists of ids")]

    # ------------------------------------------------------------------ the same in a thread, for `await`

    def async_encode(
        self, sequence: str, pair: str | None = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Coroutine[Any, Any, HFEncoding]:
        """Return `encode`, run in a thread."""
        return to_thread(self.encode, sequence, pair, is_pretokenized, add_special_tokens)

    def async_encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Coroutine[Any, Any, list[HFEncoding]]:
        """Return `encode_batch`, run in a thread."""
        return to_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    def async_encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Coroutine[Any, Any, list[HFEncoding]]:
        """Return `encode_batch_fast`, run in a thread."""
        return to_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> Coroutine[Any, Any, list[str]]:
        """Return `decode_batch`, run in a thread."""
        return to_thread(self.decode_batch, sequences, skip_special_tokens)

    # ------------------------------------------------------------------ vocabulary

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token as tokenizer.json spells it; None if it is unknown."""
        if not isinstance(token, str):
            raise WrongTypeError(f"expected a token as str, not {type(token).__name__}")
        return self._tok.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if the id has no token."""
        (index,) = _id_list([id])
        return self._tok.id_to_token(index)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token; without added tokens, those of the model."""
        vocab = self._tok.get_vocab()
        if with_added_tokens:
            return vocab
        model = json.loads(json_of(self._tok.spec))["model"]["vocab"]
        if isinstance(model, dict):
            return {token: index for token, index in vocab.items() if token in model}
        return {token: index for index, (token, _) in enumerate(model)}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        return len(self.get_vocab(with_added_tokens))

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens by id."""
        return {token.id: token for token in self._tok.added_tokens}

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens, as str or as objects with the attributes of `AddedToken`; return how many were new or changed."""
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Add special tokens; see `add_tokens`."""
        return self._add(tokens, special=True)

    def _add(self, tokens: list[Any], *, special: bool) -> int:
        if not isinstance(tokens, list) or not all(isinstance(getattr(t, "content", t), str) for t in tokens):
            raise WrongTypeError("expected a list of str or AddedToken")
        added, known = 0, {each.content: each for each in self._tok.added_tokens}
        waiting: dict[str, dict[str, bool]] = {}
        for token in tokens:
            plain = isinstance(token, str)
            flags = {name: False if plain else bool(getattr(token, name, False)) for name in FLAGS[1:]}
            flags["special"] = special or (not plain and bool(getattr(token, "special", False)))
            flags["normalized"] = not special if plain else flags["normalized"]
            content = token if plain else token.content
            if content in waiting or flags != next(iter(waiting.values()), flags):
                self._add_all(waiting)  # tokens of one kind are added together, in their order
                known |= {each.content: each for each in self._tok.added_tokens}
                waiting = {}
            own = known.get(content)
            if content and not (own and all(getattr(own, name) == value for name, value in flags.items())):
                waiting[content], added = flags, added + 1
        self._add_all(waiting)
        return added

    def _add_all(self, waiting: dict[str, dict[str, bool]]) -> None:
        if waiting:
            self._tok = self._tok.with_tokens([*waiting], **next(iter(waiting.values())))

    # ------------------------------------------------------------------ padding and truncation

    @property
    def padding(self) -> dict[str, Any] | None:
        """The settings of `enable_padding`, None if padding is off."""
        own = self._tok.spec.padding
        if own is None:
            return None
        return {
            "length": own.length,
            "pad_to_multiple_of": own.multiple_of,
            "pad_id": own.pad_id,
            "pad_token": own.pad_token,
            "pad_type_id": own.pad_type_id,
            "direction": own.direction,
        }

    def enable_padding(
        self,
        direction: Any = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pad from now on: to `length`, or to the longest text of a batch."""
        own = Padding(
            length,
            direction,
            multiple_of=pad_to_multiple_of,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
        )
        self._tok = self._tok.with_(padding=own)

    def no_padding(self) -> None:
        """Do not pad from now on."""
        self._tok = self._tok.with_(padding=None)

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The settings of `enable_truncation`, None if truncation is off."""
        own = self._tok.spec.truncation
        names = ("max_length", "stride", "strategy", "direction")
        return None if own is None else {name: getattr(own, name) for name in names}

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: Any = "longest_first", direction: Any = "right"
    ) -> None:
        """Cut texts from now on to `max_length` tokens, template included."""
        if not isinstance(max_length, int) or not isinstance(stride, int):
            raise WrongTypeError(f"expected max_length and stride as int, not {max_length!r:.40} and {stride!r:.40}")
        if max_length < 0:
            raise TooLargeError(f"expected max_length of at least 0, not {max_length}")
        room = max_length - self.num_special_tokens_to_add(False)
        own = Truncation(max_length, strategy, stride=stride, direction=direction)
        if stride > max(0, room):
            raise InputError(
                f"expected a stride up to {max(0, room)}: max_length {max_length} without the template's tokens"
            )
        self._tok = self._tok.with_(truncation=own)

    def no_truncation(self) -> None:
        """Do not cut texts from now on."""
        self._tok = self._tok.with_(truncation=None)

    # ------------------------------------------------------------------ files

    def to_str(self, pretty: bool = False) -> str:
        """Return the tokenizer.json."""
        data = json_of(self._tok.spec).decode()
        return data if pretty else json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))

    def save(self, path: str, pretty: bool = True) -> None:
        """Write the tokenizer.json, always indented; the name ends in .json."""
        if not isinstance(path, str | PathLike) or Path(path).suffix != ".json":
            raise InputError(f"expected a name ending in .json, not {path!r:.200}")
        write_file(self._tok.spec, path)


def _check_whole(is_pretokenized: object) -> None:
    if is_pretokenized:
        raise InputError("is_pretokenized=True is not supported: pass whole texts")


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise WrongTypeError(f"expected text as str without lone surrogates, not {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise WrongTypeError("expected text as str without lone surrogates, not a lone surrogate") from None
    return text


def _texts(item: object) -> list[str]:
    if isinstance(item, list | tuple):
        if len(item) != 2:
            raise WrongTypeError(f"expected a text or a pair of texts, not {len(item)}")
        return [_checked_text(item[0]), _checked_text(item[1])]
    return [_checked_text(item)]


def _id_list(ids: object) -> list[int]:
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
        raise WrongTypeError(f"expected a list of ids, not {type(ids).__name__}")
    for index in ids:
        if not hasattr(index, "__index__"):
            raise WrongTypeError(f"expected ids as int, not {type(index).__name__}")
        if not 0 <= index.__index__() < 1 << 32:
            raise TooLargeError(f"expected ids from 0 to 2**32 - 1, not {index}")
    return [index.__index__() for index in ids]


# ---------------------------------------------------------------------------------------------------------------------
# A tokenizer as transformers' own class: its code runs, so only the ids are ours.


def to_transformers(tok: Tokenizer, options: Mapping[str, Any]) -> Any:
    """Return a `PreTrainedTokenizerFast`; see `Tokenizer.to_transformers`.

    It is what `AutoTokenizer.from_pretrained` returns for a folder that this tokenizer is saved to.
    """
    transformers, tokenizers = (needed(name, "to_transformers") for name in ("transformers", "tokenizers"))
    files = write_folder_files(tok.spec)
    named: dict[str, Any] = json.loads(files["tokenizer_config.json"])
    if "chat_template.jinja" in files:
        named["chat_template"] = files["chat_template.jinja"].decode()
    if tok.spec.foreign.chat_templates:
        default = {"default": named["chat_template"]} if "chat_template" in named else {}
        named["chat_template"] = default | dict(tok.spec.foreign.chat_templates)
    for key in ("tokenizer_class", "backend", "auto_map", "added_tokens_decoder", "add_bos_token", "add_eos_token"):
        named.pop(key, None)
    inner = tokenizers.Tokenizer.from_str(json_of(tok.spec).decode())
    try:
        return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **{**named, **options})
    except (TypeError, ValueError) as error:
        raise InputError(f"transformers refuses these options: {error}") from None
