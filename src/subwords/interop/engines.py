"""Engines of accelerated tokenizers: a tokenizer of this package that was compared with one of transformers.

A watch sees when the tokenizer of transformers has changed, and its engine has to be made again.
"""

from __future__ import annotations

import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any

from subwords import Tokenizer, load
from subwords.interop.verify import Side, compare_ids, probes, side_of
from subwords.machine import Slot, Template, read_tokenizer_json
from subwords.support.errors import FormatError, SubwordsWarning, checked_reason

ALLOW: Any = "allow"  # transformers finds special tokens that a text spells
MOST_STATE = 1 << 12  # bytes of a component that is compared in full at each call
SAMPLE = " Ab\u00e9 e\u0301 \ufb01\uff21\u3000\u2026\t``x''\u2581\u200b\n\u1e9b\u0323 \u00c5I\u0307"
CHANGING = ("add_tokens", "add_special_tokens", "train", "train_from_iterator")  # of `tokenizers.Tokenizer`
OF_MODELS = (
    *("dropout", "unk_token", "unk_id", "byte_fallback", "ignore_merges", "fuse_unk"),
    *("continuing_subword_prefix", "end_of_word_suffix", "max_input_chars_per_word"),
)


class ComparedEngine:
    """A tokenizer of this package, and what calls of it need."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok
        self.tokens: Sequence[str] = tok.spec.spellings
        self.ids: Mapping[str, int] = tok.spec.ids_by_spelling
        self.cleans = True  # whether spaces before punctuation are removed if asked; not in BPE
        self.decodes = self.converts = True  # whether text and tokens of ids are the original's
        pieces = tok.template.pieces(False) if tok.template else ()
        self.plain_types = all(piece.type_id == 0 for piece in pieces)  # of a single text
        # In what is cut off of a pair, the original gives the second text the type 1 whatever the template says.
        slots = [piece for piece in (tok.template or Template()).pieces(True) if isinstance(piece, Slot)]
        self.cuts_pairs = all(piece.type_id == (piece.text == "B") for piece in slots)


# ---------------------------------------------------------------------------------------------------------------------
# What an engine was made for, and whether that has changed.


class _Changes:
    """Counts the calls that change the tokens of a `tokenizers.Tokenizer`, whoever makes them.

    To compare its added tokens at each call took 0.3 ms for 256. `backend` has a `__dict__`, whose functions are called
    instead of its own; they stay until the last accelerated tokenizer is gone, since the cycle would keep it alive.
    """

    def __init__(self, backend: Any) -> None:
        self.count = self.users = 0
        self._own = vars(backend)
        for name in CHANGING:
            self._own[name] = self._counted(getattr(backend, name))
        self._own["_subwords"] = self

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.count += 1
            return method(*args, **options)

        return call

    def leave(self) -> None:
        """Restore the functions if nobody else counts."""
        self.users -= 1
        if not self.users:
            for name in (*CHANGING, "_subwords"):
                self._own.pop(name, None)


class FastWatch:
    """Sees whether a fast tokenizer has changed."""

    def __init__(self, tokenizer: Any) -> None:
        self._backend = backend = tokenizer.backend_tokenizer
        theirs = backend.model
        self._settings = [name for name in OF_MODELS if hasattr(theirs, name)]
        self._samples = len(_state_of(backend.normalizer) or b"") > MOST_STATE
        self._changes: _Changes | None = None
        if hasattr(backend, "__dict__"):
            self._changes = vars(backend).get("_subwords") or _Changes(backend)
            self._changes.users += 1
            weakref.finalize(tokenizer, self._changes.leave).atexit = False

    def is_of(self, tokenizer: Any) -> bool:
        """Whether this is what the tokenizer runs on."""
        return tokenizer.backend_tokenizer is self._backend

    def state(self) -> Any:
        """Return what differs if ids, spans or texts may differ: all components but the vocabulary, and a count."""
        backend = self._backend
        normalizer, theirs = backend.normalizer, backend.model
        if self._samples and normalizer is not None:  # SentencePiece's charsmap: 1 ms
            first: Any = type(normalizer), normalizer.normalize_str(SAMPLE)
        else:
            first = _state_of(normalizer)
        return (
            repr(backend.get_added_tokens_decoder()) if self._changes is None else self._changes.count,
            first,
            _state_of(backend.pre_tokenizer),
            _state_of(backend.post_processor),
            _state_of(backend.decoder),
            *[getattr(theirs, name, None) for name in self._settings],
        )


def _state_of(component: Any) -> Any:
    return None if component is None else component.__getstate__()


class SlowWatch:
    """Sees whether a slow tokenizer has changed: its added tokens; all else is called as it is."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = weakref.ref(tokenizer)

    def is_of(self, tokenizer: Any) -> bool:
        """Whether this is the tokenizer."""
        return self._tokenizer() is tokenizer

    def state(self) -> Any:
        """Return the added tokens."""
        tokenizer: Any = self._tokenizer()
        return repr(tokenizer.added_tokens_decoder), tuple(tokenizer.all_special_tokens)


# ---------------------------------------------------------------------------------------------------------------------
# Made, and compared with the original.

_known: weakref.WeakValueDictionary[bytes, ComparedEngine] = (
    weakref.WeakValueDictionary()
)  # by digest; all were compared


def compared_engine(tokenizer: Any, original: Any, encode: Callable[..., Any]) -> ComparedEngine:
    """Return the engine for the present state of a tokenizer; FormatError if its results would differ.

    original: the same with the original's methods. encode: its method that gives a BatchEncoding.
    """
    name = _name(tokenizer)
    if not hasattr(tokenizer, "backend_tokenizer"):
        found = ComparedEngine(_of_files(original, name))
        compare_with(original, found, encode, fast=False)
        return found
    backend = tokenizer.backend_tokenizer
    try:
        data = backend.to_str()
    except Exception as error:
        raise FormatError(f"{name}: tokenizers cannot write it: {checked_reason(error)}") from None
    _, _, rest = data.partition('"added_tokens"')  # before it: how calls cut and fill, which change it
    digest = sha256(rest.encode()).digest()
    known = _known.get(digest)
    if known is not None:
        return known
    theirs = backend.model
    if getattr(theirs, "dropout", None):
        raise FormatError(f"{name}: its model drops merges at random (dropout): set it to None")
    spec = read_tokenizer_json(data.encode(), name)
    found = ComparedEngine(Tokenizer(spec).with_(padding=None, truncation=None))
    found.cleans = type(theirs).__name__ != "BPE"  # as the original asks
    compare_with(original, found, encode, fast=True)
    _known[digest] = found
    return found


def _name(tokenizer: Any) -> str:
    return f"{type(tokenizer).__name__} {tokenizer.name_or_path}".strip()


def _of_files(tokenizer: Any, name: str) -> Tokenizer:
    """Return the tokenizer of the files that a slow one saves."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SubwordsWarning)
        try:
            tokenizer.save_pretrained(folder)
        except Exception as error:
            raise FormatError(f"{name}: cannot be saved: {checked_reason(error)}") from None
        try:
            return load(folder).with_(padding=None, truncation=None)
        except FormatError as error:
            raise FormatError(f"{name}: the files that it saves cannot be read: {error}") from None


def compare_with(original: Any, engine: ComparedEngine, encode: Callable[..., Any], *, fast: bool) -> None:
    """Compare with the original on hard texts; FormatError with the first difference."""
    name = _name(original)
    texts = probes([token.content for token in engine.tok.spec.added_tokens])
    only = [each.text for each in texts]
    with _undisturbed(original):
        for template in (False, True) if fast else (False,):
            call: dict[str, Any] = {"add_special_tokens": template, "split_special_tokens": False, "verbose": False}
            theirs = Side(name, partial(_ids_of, encode, call), original.convert_ids_to_tokens)
            found = compare_ids(texts, side_of(engine.tok, "subwords", ALLOW, template=template), theirs)
            if found.difference is not None:
                raise FormatError(f"{name}: other ids than the original's in {found.difference}")
            if fast:
                _compare_spans(name, engine, only, encode, call)
    if fast:
        engine.decodes = _equal_texts(original, engine, only)
        engine.converts = original.get_vocab() == engine.ids


def _ids_of(encode: Callable[..., Any], call: dict[str, Any], texts: list[str]) -> Any:
    return encode(texts, **call)["input_ids"]


def _compare_spans(
    name: str, engine: ComparedEngine, texts: list[str], encode: Callable[..., Any], call: dict[str, Any]
) -> None:
    theirs = encode(texts, return_offsets_mapping=True, **call)["offset_mapping"]
    for text, spans, encoding in zip(
        texts, theirs, engine.tok(texts, special=ALLOW, template=call["add_special_tokens"]), strict=True
    ):
        if spans != encoding.offsets:
            k = next(k for k, pair in enumerate(zip(spans, encoding.offsets, strict=True)) if pair[0] != pair[1])
            raise FormatError(
                f"{name}: in {text!r:.80}, token {k} spans {encoding.offsets[k]} here and {spans[k]} there"
            )


def _equal_texts(original: Any, engine: ComparedEngine, texts: list[str]) -> bool:
    """Whether ids have the same text: not in byte-level BPE with an added token such as "é", a letter for a byte."""
    lists = engine.tok.encode_batch(texts, special=ALLOW, template=True).to_lists()
    lists += [[token.id] for token in engine.tok.spec.added_tokens]
    backend = original.backend_tokenizer
    return all(
        engine.tok.decode_batch(lists, skip_special_tokens=skip)
        == [backend.decode(ids, skip_special_tokens=skip) for ids in lists]
        for skip in (False, True)
    )


@contextmanager
def _undisturbed(original: Any) -> Iterator[None]:
    """Restore how a fast tokenizer cuts and fills, which its calls change."""
    backend = getattr(original, "backend_tokenizer", None)
    if backend is None:
        yield
        return
    cut, filled, policy = backend.truncation, backend.padding, backend.encode_special_tokens
    try:
        yield
    finally:
        if cut:
            backend.enable_truncation(**cut)
        if filled:
            backend.enable_padding(**filled)
        backend.encode_special_tokens = policy
