"""A tokenizer in the shape of tiktoken's Encoding."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords import Tokenizer
from subwords.machine import ByteChars, Rule, Split, decode_bytes
from subwords.support.checks import as_items
from subwords.support.errors import InputError, TooLargeError, UnknownTokenError, WrongTypeError

Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
Disallowed: TypeAlias = Literal["all"] | Collection[str]
Ids: TypeAlias = "Sequence[int] | NDArray[np.integer[Any]]"

_NONE: frozenset[str] = frozenset()
_LARGEST_ID = (1 << 32) - 1


class TiktokenShape:
    """Tiktoken's `Encoding`, 0.14, run by a byte-level BPE tokenizer of this package; made by `tok.as_tiktoken()`.

    Names, defaults, results and kinds of errors are tiktoken's: ValueError for a disallowed special token, KeyError for
    a token or id that does not exist, TypeError for another type. `encode_with_unstable` is missing.

    >>> import subwords
    >>> enc = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).as_tiktoken()
    >>> enc.encode("<s>ab", allowed_special="all"), enc.decode([257])
    ([0, 257], 'ab')
    """

    def __init__(self, tok: Tokenizer, name: str = "subwords") -> None:
        """Wrap a tokenizer; InputError if it is not byte-level BPE, or has added tokens that are not special."""
        if not tok.model.byte_level:
            raise InputError(f"as_tiktoken needs byte-level BPE; this is {type(tok.model).__name__}")
        if tok.normalizer is not None:
            raise InputError("as_tiktoken needs a tokenizer without normalizer: tiktoken has none")
        if tok.added_tokens.ordinary:
            raise InputError(
                f"as_tiktoken needs added tokens that are special; {tok.added_tokens.ordinary[0].content!r} is not"
            )
        self.name: str = name
        self._tok = tok
        self._special = tok.special_tokens
        self._special_ids = frozenset(self._special.values())
        self._vocab = tok.model.vocab
        self._sizes = np.diff(self._vocab.offsets)
        self._bytes: dict[int, bytes] = {}  # of the ids that were decoded
        self.max_token_value: int = int(np.flatnonzero(self._sizes)[-1])

    def __reduce__(self) -> tuple[type[TiktokenShape], tuple[Tokenizer, str]]:
        return TiktokenShape, (self._tok, self.name)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ------------------------------------------------------------------ text to ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens are ordinary text."""
        return self._tok.encode(_checked(text))

    def encode(
        self, text: str, *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """Return the ids of a text; ValueError if it spells a disallowed special token."""
        special = self._special_of([text], allowed_special, disallowed_special)
        return self._tok.encode(_checked(text), special=special)

    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all"
    ) -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array; UnicodeEncodeError for a lone surrogate."""
        special = self._special_of([text], allowed_special, disallowed_special)
        text.encode()  # tiktoken replaces lone surrogates in `encode` only
        return self._tok.encode_to_numpy(text, special=special)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of each text; special tokens are ordinary text."""
        return self._tok.encode_batch(
            [*map(_checked, as_items(text, "a list of texts"))], threads=_threads(num_threads)
        ).to_lists()

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """Return the ids of each text; see `encode`."""
        texts = as_items(text, "a list of texts")
        special = self._special_of(texts, allowed_special, disallowed_special)
        threads = _threads(num_threads)
        return self._tok.encode_batch([*map(_checked, texts)], special=special, threads=threads).to_lists()

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a token, special or not; KeyError if there is none."""
        if not isinstance(text_or_bytes, str | bytes):
            raise WrongTypeError(f"expected a token as str or bytes, not {type(text_or_bytes).__name__}")
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        found = self._vocab.ids.get(token) if token else None
        if found is None:
            raise UnknownTokenError(f"{token!r:.200} is not a token")
        return found

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of bytes; if they are not UTF-8, the last word before the first such byte takes all after it.

        `Tokenizer.encode` splits these bytes. Source: tiktoken 0.14, CoreBPE._encode_bytes.
        """
        if not isinstance(text, bytes):
            raise WrongTypeError(f"expected bytes, not {type(text).__name__}")
        try:
            return self._tok.encode(text.decode())
        except UnicodeDecodeError as error:
            head, rest = text[: error.start].decode(), text[error.start :]
        ids, words = self._tok.encode(head), self._tok.splitter.split(head)
        kept = len(ids) - (len(self._unsplit.encode(words[-1])) if words else 0)
        if kept < len(ids) and self._is_space(ids[kept]):
            while kept and self._is_space(ids[kept - 1]):
                kept -= 1
        return ids[:kept] + self._unsplit.encode(self.decode_bytes(ids[kept:]) + rest)

    @cached_property
    def _unsplit(self) -> Tokenizer:
        """The tokenizer that takes a text as one word."""
        return self._tok.with_(splitter=None)

    def _is_space(self, token: int) -> bool:
        return not self.decode_single_token_bytes(token).strip(b" \n\t")

    # ------------------------------------------------------------------ parts, with which tiktoken makes an encoding

    @property
    def _pat_str(self) -> str:
        """The regex that splits text; InputError for a splitter that is more than one regex."""
        return pattern_of(self._tok.spec.splitter)

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        """The id of each token that is not special; FormatError if tiktoken would merge it otherwise."""
        from subwords.machine import read_ranks, write_rank_file

        return read_ranks(write_rank_file(replace(self._tok.spec, added_tokens=())), self.name)

    @property
    def _special_tokens(self) -> dict[str, int]:
        """The id of each special token."""
        return dict(self._special)

    # ------------------------------------------------------------------ ids to text

    def decode_bytes(self, tokens: Ids) -> bytes:
        """Return the bytes of ids; KeyError for an id that does not exist."""
        if (found := self._known_bytes(tokens)) is not None:
            return b"".join(found)
        ids = _checked_ids(tokens)
        missing = ids >= len(self._vocab)
        missing[~missing] = self._sizes[ids[~missing]] == 0
        if missing.any():
            raise UnknownTokenError(f"id {ids[missing.argmax()]} has no token; ids go up to {self.max_token_value}")
        return decode_bytes(self._vocab, ids)

    def _known_bytes(self, tokens: Ids) -> list[bytes] | None:
        """Return the bytes of each id of a list; None for what only the general way reads or refuses."""
        if type(tokens) is not list or {*map(type, tokens)} != {int}:
            return None
        with suppress(KeyError):
            return [*map(self._bytes.__getitem__, tokens)]
        for index in {*tokens}.difference(self._bytes):  # not `-`: it walks all keys, which another thread may add to
            if not 0 <= index < len(self._vocab) or not self._sizes[index]:
                return None
            self._bytes[index] = self._vocab[index]
        return [*map(self._bytes.__getitem__, tokens)]

    def decode(self, tokens: Ids, errors: str = "replace") -> str:
        """Return the text of ids; `errors` as in `bytes.decode`."""
        if not isinstance(errors, str):
            raise WrongTypeError(f"expected errors as str, not {type(errors).__name__}")
        return self.decode_bytes(tokens).decode("utf-8", errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of an id, special or not; KeyError if there is none."""
        return self.decode_bytes([token])

    def decode_tokens_bytes(self, tokens: Ids) -> list[bytes]:
        """Return the bytes of each id."""
        return self._known_bytes(tokens) or [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Ids) -> tuple[str, list[int]]:
        """Return the text of ids, and for each the first character with a byte of it; UnicodeDecodeError as tiktoken.

        Source: tiktoken 0.14, Encoding.decode_with_offsets.
        """
        parts, length, offsets = self.decode_tokens_bytes(tokens), 0, []
        for part in parts:
            offsets.append(max(0, length - (0x80 <= part[0] < 0xC0)))
            length += sum(1 for byte in part if not 0x80 <= byte < 0xC0)
        return b"".join(parts).decode("utf-8", "strict"), offsets

    def decode_batch(self, batch: Sequence[Ids], *, errors: str = "replace", num_threads: int = 8) -> list[str]:
        """Return the text of each list of ids; `num_threads` is checked and not used."""
        _threads(num_threads)
        return [self.decode(tokens, errors) for tokens in as_items(batch, "lists of ids")]

    def decode_bytes_batch(self, batch: Sequence[Ids], *, num_threads: int = 8) -> list[bytes]:
        """Return the bytes of each list of ids; `num_threads` is checked and not used."""
        _threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # ------------------------------------------------------------------ vocabulary

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens that are not special, sorted."""
        return sorted(token for token, i in self._vocab.ids.items() if token and i not in self._special_ids)

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>; KeyError if there is none."""
        if "<|endoftext|>" not in self._special:
            raise UnknownTokenError("this tokenizer has no special token <|endoftext|>")
        return self._special["<|endoftext|>"]

    @property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return {*self._special}

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token."""
        if not isinstance(token, int):
            raise WrongTypeError(f"expected an id as an int, not {type(token).__name__}")
        return token in self._special_ids

    @property
    def n_vocab(self) -> int:
        """The largest id plus one."""
        return self.max_token_value + 1

    def _special_of(self, texts: list[str], allowed: Allowed, disallowed: Disallowed) -> frozenset[str]:
        """Return the tokens to find; ValueError if a text spells a disallowed one."""
        if not isinstance(allowed, AbstractSet) and allowed != "all":
            raise WrongTypeError(f'expected allowed_special to be "all" or a set, not {allowed!r:.80}')
        if disallowed != "all" and not all(isinstance(each, str) for each in as_items(disallowed or (), "a set")):
            raise WrongTypeError(f'expected disallowed_special to be "all" or a set of str, not {disallowed!r:.80}')
        known = self._special.keys()
        chosen = frozenset(known if allowed == "all" else allowed)
        refused = frozenset(known - chosen if disallowed == "all" else disallowed or ())
        for text in texts:
            if not isinstance(text, str):
                raise WrongTypeError(f"expected text as str, not {type(text).__name__}")
            if refused and (match := _pattern(refused).search(text)):
                raise InputError(
                    f"text spells the disallowed special token {match[0]!r} at character {match.start()}: "
                    f"allowed_special={{{match[0]!r}}} reads it as a special token, disallowed_special=() as text"
                )
        return chosen & known


def pattern_of(rule: Rule) -> str:
    """Return the pattern of a splitter as tiktoken's `pat_str`; InputError if the splitter is more than a pattern.

    >>> from subwords.spec.splitter import NAMED
    >>> pattern_of(NAMED["bailing"])[:19]
    "'(?i:[sdmt]|ll|ve|r"
    """
    while rule and isinstance(rule[-1], ByteChars):  # changes what models read, not where words end
        rule = rule[:-1]
    match rule:
        case (Split(pattern=pattern, behavior="isolated", invert=False),):
            return pattern
    raise InputError(f"tiktoken splits by one regex; this tokenizer has the splitter {rule!r:.200}")


@lru_cache(maxsize=64)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))


def _checked(text: str) -> str:
    """Return a text without lone surrogates, as tiktoken replaces them; TypeError for other types."""
    if not isinstance(text, str):
        raise WrongTypeError(f"expected text as str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _checked_ids(tokens: object) -> NDArray[np.int64]:
    """Return ids as int64; TypeError and OverflowError unless they are 32-bit unsigned integers."""
    if isinstance(tokens, str) or not isinstance(tokens, Sequence | np.ndarray):
        raise WrongTypeError(f"expected a list of ids, not {type(tokens).__name__}")
    found = np.asarray(tokens if isinstance(tokens, np.ndarray) else [*tokens])
    if not found.size:
        return np.zeros(0, np.int64)
    if (
        found.ndim != 1
        or found.dtype.kind not in "iuO"
        or not all(hasattr(i, "__index__") for i in found if found.dtype.kind == "O")
    ):
        raise WrongTypeError(f"expected integer ids, not {found.ndim} dimensions of {found.dtype}")
    if found.dtype.kind == "O" or (outside := (found < 0) | (found > _LARGEST_ID)).any():
        wrong = tokens if found.dtype.kind == "O" else found[outside]
        raise TooLargeError(f"expected ids from 0 to {_LARGEST_ID}, not {wrong!r:.80}")
    return found.astype(np.int64)


def _threads(number: int | None) -> int | None:
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int):
        raise WrongTypeError(f"expected num_threads to be an int, not {type(number).__name__}")
    if number < 1:
        raise InputError(f"expected num_threads of at least 1, not {number}")
    return number
