"""accelerate: a tokenizer of transformers whose own calls are answered by this package, with the same results.

The object returned has the class of the original, through a subclass, and the same `__dict__`: both are one tokenizer
with two sets of methods. What is not answered here goes to the original's methods, and is counted.
"""

from __future__ import annotations

import copyreg
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords import EncodingBatch, Padding, Truncation
from subwords.interop.engines import ALLOW, ComparedEngine, FastWatch, SlowWatch, compared_engine
from subwords.interop.hf import HFEncoding
from subwords.interop.verify import needed
from subwords.machine import LONGEST_LENGTH, columns_of, extent, lists_of
from subwords.support.checks import check_flag
from subwords.support.errors import InputError, MissingName, SubwordsError

HFTokenizer = TypeVar("HFTokenizer")

MOST_ENGINES = 4  # of one tokenizer: NLLB has one template for the source and one for the target, and goes to and fro


def accelerate(tokenizer: HFTokenizer, *, strict: bool = False) -> HFTokenizer:
    """Return a tokenizer of transformers as one of its class whose calls are answered by this package.

    tokenizer: any object that `AutoTokenizer.from_pretrained` returns, of transformers 5. The result has its class (a
    subclass of it, with the same name) and its state: what changes one of them changes both, and later calls see it.
    `tokenizer` itself stays as it is. Calling, `encode`, `decode`, `batch_decode`, `tokenize`, `apply_chat_template`,
    `convert_ids_to_tokens` and `convert_tokens_to_ids` give the same results, many times faster; the `encodings` of a
    result have the methods of `tokenizers.Encoding` that read.
    What is not done here goes to the original: the same result, slower. `fallbacks` of the result counts these calls by
    the argument that was the reason. strict: raise InputError with its name instead.

    Before it returns, it compares ids, spans and decoded text of some hard texts with the original's; FormatError names
    the first difference. Raises InputError for other objects, FormatError for a tokenizer that `load` cannot read.
    Hazard: another model put into `tokenizer.backend_tokenizer` is not noticed; call `accelerate` again.

    >>> import subwords
    >>> original = subwords.load("demo").to_transformers()
    >>> tok = subwords.accelerate(original)
    >>> tok(["Rays of light"]) == original(["Rays of light"]), dict(tok.fallbacks)
    (True, {})
    """
    check_flag("strict", strict)
    base = _transformers()
    if not isinstance(tokenizer, base.PreTrainedTokenizerBase):
        raise InputError(
            f"expected a tokenizer of transformers, such as AutoTokenizer.from_pretrained returns, not "
            f"{type(tokenizer).__name__}"
        )
    original: Any = getattr(type(tokenizer), "_original", type(tokenizer))
    found: Any = _sharing(_accelerated(original, strict), tokenizer)
    state: _State = found._subwords
    if state.engine(found) is None:
        raise next(iter(state.refused.values()))
    return found  # type: ignore[no-any-return]


def _transformers() -> Any:
    needed("transformers", "accelerate")
    try:
        import_module("transformers.tokenization_utils_tokenizers")
    except ImportError:
        raise InputError("accelerate needs transformers 5 or later: pip install -U transformers") from None
    return import_module("transformers.tokenization_utils_base")


# ---------------------------------------------------------------------------------------------------------------------
# The classes: a subclass for each class of transformers. Pickles name it, and `__getattr__` makes it again.

_STRICT, _COUNTING = "strict ", "counting "


@cache
def _accelerated(original: Any, strict: bool) -> Any:
    """Return the subclass whose methods are answered here: those that a class has from transformers' own bases."""
    fast = import_module("transformers.tokenization_utils_tokenizers").TokenizersBackend
    slow = import_module("transformers.tokenization_python").PythonBackend
    base = import_module("transformers.tokenization_utils_base").PreTrainedTokenizerBase

    def inherits(names: Sequence[str], owner: type) -> bool:
        return all(getattr(original, name, None) is getattr(owner, name) for name in names)

    methods: dict[str, Any] = {}
    if inherits(["_encode_plus"], fast):
        methods["_encode_plus"] = _encode_plus
    elif inherits(["_encode_plus"], slow):
        methods["_encode_plus"] = _encode_plus_of_slow
    if inherits(["_decode"], fast) and inherits(["decode", "batch_decode"], base):
        methods |= {"decode": _decode, "batch_decode": _batch_decode}
    if inherits(["convert_ids_to_tokens"], fast):
        methods["convert_ids_to_tokens"] = _convert_ids_to_tokens
    if inherits(["_convert_token_to_id_with_added_voc"], fast) and inherits(["convert_tokens_to_ids"], base):
        methods["convert_tokens_to_ids"] = _convert_tokens_to_ids
    label = (_STRICT if strict else _COUNTING) + f"{original.__module__}:{original.__qualname__}".replace(".", "/")
    space = {"__module__": __name__, "__qualname__": label, "__doc__": original.__doc__, "__slots__": ("_subwords",)}
    kind: Any = type(original)
    made = kind(original.__name__, (Accelerated, original), space | methods)
    made._original, made._strict = original, strict
    return made


def __getattr__(name: str) -> Any:
    """Return an accelerated class by the name that it has in pickles."""
    for kind in (_STRICT, _COUNTING):
        if name.startswith(kind):
            module, _, path = name.removeprefix(kind).replace("/", ".").partition(":")
            found: Any = import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
            return _accelerated(found, kind == _STRICT)
    raise MissingName(f"module {__name__!r} has no attribute {name!r}")


def _sharing(kind: Any, tokenizer: Any) -> Any:
    """Return another view of a tokenizer: an object of a class with the same `__dict__`."""
    found = kind.__new__(kind)
    object.__setattr__(found, "__dict__", tokenizer.__dict__)
    return found


class Accelerated:
    """What the accelerated classes have in common; `accelerate` makes their objects."""

    __slots__ = ()
    _original: type
    _strict: bool
    _subwords: _State

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Create an object whose engine is made when it is first used."""
        found: Any = super().__new__(cls)
        object.__setattr__(found, "_subwords", _State())
        return found

    @property
    def fallbacks(self) -> Counter[str]:
        """How many calls went to the original's methods, by the argument that was the reason; those of copies too."""
        return self._subwords.fallbacks

    def save_pretrained(self, *args: Any, **options: Any) -> Any:
        """Save what the original saves."""
        return _original(self).save_pretrained(*args, **options)

    def __copy__(self) -> Any:
        return self._copied(None)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._copied(memo)

    def _copied(self, memo: dict[int, Any] | None) -> Any:
        """Return a copy with the same `fallbacks`: vLLM answers with copies, and users ask the tokenizer they have."""
        make, args, *state = self.__reduce__()
        found = make(*(args if memo is None else deepcopy(args, memo)))
        if memo is not None:
            memo[id(self)] = found
        for each in state:
            found.__dict__.update(each if memo is None else deepcopy(each, memo))
        found._subwords.fallbacks = self.fallbacks
        return found

    def __reduce__(self) -> Any:
        state: Any = super().__getstate__()
        return copyreg.__newobj__, (type(self),), state[0] if type(state) is tuple else state  # type: ignore[attr-defined]


def _original(tokenizer: Any) -> Any:
    """Return a tokenizer with the original's methods only."""
    return _sharing(tokenizer._original, tokenizer)


class _State:
    """The engines of one accelerated tokenizer, by the state of the original that they were made for."""

    __slots__ = ("engines", "fallbacks", "refused", "watch")

    def __init__(self) -> None:
        self.engines: dict[Any, ComparedEngine] = {}
        self.refused: dict[Any, SubwordsError] = {}
        self.fallbacks: Counter[str] = Counter()
        self.watch: FastWatch | SlowWatch | None = None

    def engine(self, tokenizer: Any) -> ComparedEngine | None:
        """Return the engine for the present state of a tokenizer; None if its results would differ."""
        if self.watch is None or not self.watch.is_of(tokenizer):
            self.watch = (FastWatch if hasattr(tokenizer, "backend_tokenizer") else SlowWatch)(tokenizer)
        key = self.watch.state()
        found = self.engines.get(key)
        if found is None and key not in self.refused:
            try:
                original = _original(tokenizer)
                found = compared_engine(tokenizer, original, original._encode_plus)
            except SubwordsError as error:
                self.refused[key] = error
                return None
            if len(self.engines) == MOST_ENGINES:
                del self.engines[next(iter(self.engines))]
            self.engines[key] = found
        return found

    def fall_back(self, tokenizer: Any, reason: str, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the original, and count it; with `strict`, raise the InputError that names the reason."""
        self.fallbacks[reason] += 1
        if not tokenizer._strict:
            return getattr(_original(tokenizer), method)(*args, **options)
        if reason == CHANGED and self.watch is not None:
            error = self.refused[self.watch.state()]
            raise InputError(f"the tokenizer was changed into one whose results would differ: {error}")
        if reason == UNEQUAL:
            raise InputError("some tokens of this vocabulary have another text here (COMPATIBILITY.md): strict=False")
        raise InputError(
            f"`{reason}` of this call is not answered by subwords, and strict=True forbids the original's answer: "
            "leave it out, or accelerate(tokenizer)"
        )


# ---------------------------------------------------------------------------------------------------------------------
# The methods, as functions of an accelerated tokenizer (`self`). A reason instead of an answer means: the original.

CHANGED = "tokenizer"  # the reason, if it was changed into one that cannot be answered here
UNEQUAL = "vocabulary"  # the reason, if text or tokens of some ids differ
NEITHER = "do_not_pad", "do_not_truncate"
_ANSWERED = {
    *("add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride", "pad_to_multiple_of"),
    *("padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "return_overflowing_tokens"),
    *("return_special_tokens_mask", "return_offsets_mapping", "return_length", "verbose", "split_special_tokens"),
    *("is_split_into_words", "sanitize_control_tokens"),
}
_REFUSED = ("is_split_into_words", "sanitize_control_tokens", "split_special_tokens")  # unless they are false


class _Asked(NamedTuple):
    """What a call asks for."""

    template: bool
    truncation: Truncation | None
    padding: Padding | None
    tensors: str | None
    types: bool
    attention: bool
    special: bool
    offsets: bool
    length: bool
    overflow: bool


def _encode_plus(self: Any, text: Any, text_pair: Any = None, **options: Any) -> Any:
    """Return the `BatchEncoding` of the original's `_encode_plus`."""
    state: _State = self._subwords
    engine = state.engine(self)
    found = CHANGED if engine is None else _answer(self, engine, text, text_pair, options)
    if type(found) is not str:
        return found
    return state.fall_back(self, found, "_encode_plus", text, text_pair, **options)


def _answer(self: Any, engine: ComparedEngine, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """Return the answer, or the name of the argument because of which the original has to give it."""
    if (reason := _unanswered(self, options)) is not None:
        return reason
    one = type(text) is str
    if one:
        texts: Any = [text]
        pairs: Any = [text_pair] if text_pair else None
    else:
        texts, pairs = text, text_pair
        if type(texts) not in (list, tuple) or not texts:
            return "text"
        kinds = {*map(type, texts)}
        if pairs is None and kinds <= {list, tuple} and {*map(len, texts)} == {2}:
            texts, pairs = zip(*texts, strict=True)
            kinds = {*map(type, texts)}
        if kinds != {str}:
            return "text"
    if pairs is not None and (
        type(pairs) not in (list, tuple) or {*map(type, pairs)} != {str} or len(pairs) != len(texts)
    ):
        return "text_pair"
    try:
        asked = _asked(self, engine, options)
        if isinstance(asked, str):
            return asked
        plain = asked.tensors is None and not (asked.special or asked.offsets or asked.length or asked.overflow)
        data = _of_one(engine, text, asked) if one and pairs is None and plain else None
        encodings = _Encodings(engine, texts, pairs, asked)
        if asked.overflow and pairs is not None and not engine.cuts_pairs and len(encodings) > len(texts):
            return "return_overflowing_tokens"
        if data is None:
            data = _of_many(encodings, asked)
    except SubwordsError:
        return "text"  # the original's error says why
    if data is None:
        return "return_tensors"
    if options.get("max_length") is None and options.get("verbose", True) is not False:
        longest = max(data["input_ids"], key=len)
        if len(longest) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(longest, None, True)
    if asked.tensors == "pt":
        data = {name: _tensor(values, "pt") for name, values in data.items()}
    elif one and asked.tensors is None and not asked.overflow:
        data = {name: value[0] if type(value[0]) is list else value for name, value in data.items()}
    return _batch_encoding()(data, encodings, n_sequences=1 if pairs is None else 2)


def _unanswered(self: Any, options: dict[str, Any]) -> str | None:
    """Return the name of an option that is not answered here."""
    if not options.keys() <= _ANSWERED:
        return next(name for name in options if name not in _ANSWERED)
    for name in _REFUSED:
        value = options.get(name)
        if value is None and name == "split_special_tokens":
            value = self.split_special_tokens
        if value:
            return name
    return None


@cache
def _batch_encoding() -> Any:
    return import_module("transformers.tokenization_utils_base").BatchEncoding


def _asked(self: Any, engine: ComparedEngine, options: dict[str, Any]) -> _Asked | str:
    """Return what the options of a call mean, or the name of one whose value is unusual."""
    get = options.get
    fill, cut = get("padding_strategy", NEITHER[0]), get("truncation_strategy", NEITHER[1])
    fill, cut = getattr(fill, "value", fill), getattr(cut, "value", cut)
    length, tensors = get("max_length"), get("return_tensors")
    tensors = getattr(tensors, "value", tensors)
    if tensors not in (None, "np", "pt") or (tensors == "pt" and not _has_torch()):
        return "return_tensors"
    if length is not None and type(length) is not int:
        return "max_length"
    truncation = padding = None
    if cut != NEITHER[1]:
        if length is None or length > LONGEST_LENGTH:
            return "max_length"
        truncation = _truncation(length, cut, get("stride", 0), self.truncation_side)
    if fill != NEITHER[0]:
        side = get("padding_side")
        if self.pad_token not in engine.ids:
            return "padding"
        padding = _padding(
            length if fill == "max_length" else None,
            self.padding_side if side is None else side,
            get("pad_to_multiple_of"),
            engine.ids[self.pad_token],
            self.pad_token_type_id,
            self.pad_token,
        )
    types, attention = get("return_token_type_ids"), get("return_attention_mask")
    return _Asked(
        bool(get("add_special_tokens", True)),
        truncation,
        padding,
        tensors,
        bool("token_type_ids" in self.model_input_names if types is None else types),
        bool("attention_mask" in self.model_input_names if attention is None else attention),
        bool(get("return_special_tokens_mask")),
        bool(get("return_offsets_mapping")),
        bool(get("return_length")),
        bool(get("return_overflowing_tokens")),
    )


@lru_cache(64, typed=True)
def _truncation(length: int, strategy: Any, stride: int, side: Any) -> Truncation:
    return Truncation(length, strategy, stride=stride, direction=side)


@lru_cache(64, typed=True)
def _padding(length: int | None, side: Any, multiple_of: int | None, index: int, kind: int, token: str) -> Padding:
    return Padding(length, side, multiple_of=multiple_of, pad_id=index, pad_type_id=kind, pad_token=token)


@cache
def _has_torch() -> bool:
    found: bool = import_module("transformers.utils").is_torch_available()
    return found


def _of_one(engine: ComparedEngine, text: str, asked: _Asked) -> dict[str, Any] | None:
    """Return the lists of a single text in a fraction of the time of many; None if that takes more."""
    cut, fill, template = asked.truncation, asked.padding, engine.tok.template if asked.template else None
    if asked.types and not (engine.plain_types and (fill is None or fill.pad_type_id == 0)):
        return None
    ids = engine.tok.encode(text, special=ALLOW)
    if cut is not None and len(ids) > (room := cut.max_length - (template.added() if template else 0)):
        if room <= 0 or cut.stride or cut.strategy == "only_second":
            return None
        ids = ids[:room] if cut.direction == "right" else ids[-room:]
    if template:
        ids = template.apply(ids)
    size = len(ids)
    attention, more = [1] * size, 0 if fill is None else fill.length_for(size) - size
    if more > 0 and fill is not None:
        right, filler = fill.direction == "right", fill.filler[0]
        ids = ids + [filler] * more if right else [filler] * more + ids
        attention = attention + [0] * more if right else [0] * more + attention
    data = {"input_ids": [ids]}
    if asked.types:
        data["token_type_ids"] = [[0] * len(ids)]
    if asked.attention:
        data["attention_mask"] = [attention]
    return data


def _of_many(encodings: _Encodings, asked: _Asked) -> dict[str, Any] | None:
    """Return the lists or arrays of a call; None for arrays of rows of different lengths."""
    batch = encodings.batch
    wanted = {
        "input_ids": True,
        "token_type_ids": asked.types,
        "attention_mask": asked.attention,
        "special_tokens_mask": asked.special,
    }
    columns, bounds = columns_of(batch, {name for name, is_wanted in wanted.items() if is_wanted})
    least, most = extent(bounds)
    count = len(bounds) - 1
    if asked.tensors is not None and least < most:
        return None
    data: dict[str, Any] = {
        name: column.reshape(count, most) if least == most else lists_of(column.astype(np.uint32), bounds)
        for name, column in columns.items()
    }
    if asked.offsets:
        data["offset_mapping"] = [each.offsets if asked.tensors is None else each.spans for each in batch]
    if asked.length:
        data["length"] = np.diff(bounds)
    if asked.overflow:
        data["overflow_to_sample_mapping"] = [*batch.texts]
    if asked.tensors is None:
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in data.items()}
    return {name: np.array(value, np.int64) for name, value in data.items()}


class _Encodings(Sequence[HFEncoding]):
    """The encodings of a call, which are made when they are first read."""

    def __init__(
        self, engine: ComparedEngine, texts: Sequence[str], pairs: Sequence[str] | None, asked: _Asked
    ) -> None:
        self._made_by, self._texts, self._pairs, self._asked = engine, texts, pairs, asked

    @cached_property
    def batch(self) -> EncodingBatch:
        """The encodings of this package."""
        asked = self._asked
        pairs = None if self._pairs is None else [*self._pairs]
        found = self._made_by.tok(
            [*self._texts],
            pairs,
            special=ALLOW,
            template=asked.template,
            truncation=asked.truncation or False,
            padding=asked.padding or False,
        )
        return found.with_overflow() if asked.overflow else found

    @cached_property
    def _all(self) -> list[HFEncoding]:
        return [*map(HFEncoding, self.batch)]

    def __len__(self) -> int:
        return len(self.batch) if self._asked.overflow else len(self._texts)

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]

    def __reduce__(self) -> Any:
        return list, (self._all,)


def _encode_plus_of_slow(self: Any, text: Any, text_pair: Any = None, **options: Any) -> Any:
    """Return the original's `_encode_plus` of the ids of the texts, which it takes in their place."""
    state: _State = self._subwords
    engine, reason = state.engine(self), _unanswered(self, options)
    if engine is None or reason is not None:
        return state.fall_back(self, reason or CHANGED, "_encode_plus", text, text_pair, **options)
    given = {"text": text, "text_pair": text_pair}
    for name, value in given.items():
        one = type(value) is str
        texts = [value] if one else value
        if value is None:
            continue
        if type(texts) not in (list, tuple) or {*map(type, texts)} != {str}:
            return state.fall_back(self, name, "_encode_plus", text, text_pair, **options)
        try:
            lists = engine.tok.encode_batch(texts, special=ALLOW).to_lists()
        except SubwordsError:
            return state.fall_back(self, name, "_encode_plus", text, text_pair, **options)
        found = [ids or each for ids, each in zip(lists, texts, strict=True)]  # it takes an empty text only as such
        given[name] = found[0] if one else found
    return _original(self)._encode_plus(given["text"], given["text_pair"], **options)


# ------------------------------------------------------------------ ids to text, tokens and ids

_OF_DECODE = {"clean_up_tokenization_spaces", "use_source_tokenizer"}


def _decode(self: Any, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
    """Return the text of ids, or of lists of ids, as the original does."""
    state: _State = self._subwords
    if type(token_ids) is int:
        token_ids = [token_ids]
    if type(token_ids) is list and (not token_ids or type(token_ids[0]) is int) and options.keys() <= _OF_DECODE:
        engine = state.engine(self)
        if engine is not None and engine.decodes:
            try:
                text = engine.tok.decode(token_ids, skip_special_tokens=bool(skip_special_tokens))
            except SubwordsError:  # an id that does not exist: the original leaves it out, or raises
                return state.fall_back(self, "token_ids", "decode", token_ids, skip_special_tokens, **options)
            return _cleaned(self, engine, [text], options)[0]
        return state.fall_back(
            self, UNEQUAL if engine else CHANGED, "decode", token_ids, skip_special_tokens, **options
        )
    if getattr(token_ids, "ndim", 0) == 1:
        return _decode(self, _listed(token_ids), skip_special_tokens, **options)
    if isinstance(token_ids, list | tuple) and token_ids and isinstance(token_ids[0], list | tuple):
        return _batch_decode(self, token_ids, skip_special_tokens, **options)
    if getattr(token_ids, "ndim", 0) == 2 and len(token_ids):
        return _batch_decode(self, token_ids, skip_special_tokens, **options)
    return state.fall_back(self, "token_ids", "decode", token_ids, skip_special_tokens, **options)


def _batch_decode(self: Any, sequences: Any, skip_special_tokens: bool = False, *args: Any, **options: Any) -> Any:
    """Return the text of each list of ids, as the original does."""
    state: _State = self._subwords
    if args:  # the third argument by position
        options = {"clean_up_tokenization_spaces": args[0], **options}
    reason, engine = None, state.engine(self)
    if engine is None or not engine.decodes:
        reason = UNEQUAL if engine else CHANGED
    elif not options.keys() <= _OF_DECODE:
        reason = next(name for name in options if name not in _OF_DECODE)
    else:
        lists = sequences.tolist() if getattr(sequences, "ndim", 0) == 2 else sequences
        if isinstance(lists, list | tuple):
            rows: list[Any] = [*lists]
            lists = [*map(_listed, rows)]
        if isinstance(lists, list) and all(isinstance(ids, list | tuple) for ids in lists):
            try:
                texts = engine.tok.decode_batch(lists, skip_special_tokens=bool(skip_special_tokens))
            except SubwordsError:
                pass
            else:
                return _cleaned(self, engine, texts, options)
        reason = "sequences"
    return state.fall_back(self, reason, "batch_decode", sequences, skip_special_tokens, **options)


def _listed(ids: Any) -> Any:
    """Return an array of ids as a list, anything else as it is."""
    return ids.tolist() if getattr(ids, "ndim", 0) == 1 else ids


def _cleaned(self: Any, engine: ComparedEngine, texts: list[str], options: dict[str, Any]) -> list[str]:
    """Return texts without spaces before punctuation, if the original removes them."""
    cleans = options.get("clean_up_tokenization_spaces")
    if not (self.clean_up_tokenization_spaces if cleans is None else cleans):
        return texts
    if not engine.cleans and not self.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output:
        _original(self).decode([], clean_up_tokenization_spaces=True)  # warns once that it does not
        return texts
    return [self.clean_up_tokenization(text) for text in texts]


def _convert_ids_to_tokens(self: Any, ids: Any, skip_special_tokens: bool = False) -> Any:
    """Return the token of each id, as the original does."""
    state: _State = self._subwords
    engine, reason = state.engine(self), "ids"
    if engine is None or not engine.converts:
        reason = UNEQUAL if engine else CHANGED
    elif type(ids) is list and {*map(type, ids)} <= {int}:
        skipped = {*self.all_special_ids} if skip_special_tokens else ()
        kept = [index for index in ids if index not in skipped] if skipped else ids
        tokens = engine.tokens
        if not kept or min(kept) >= 0:
            size = len(tokens)
            return [(tokens[index] or None) if index < size else None for index in kept]
    elif type(ids) is int and 0 <= ids < len(engine.tokens):
        return engine.tokens[ids] or None
    return state.fall_back(self, reason, "convert_ids_to_tokens", ids, skip_special_tokens)


def _convert_tokens_to_ids(self: Any, tokens: Any) -> Any:
    """Return the id of each token, as the original does."""
    if type(tokens) is str:  # as fast there
        return self._convert_token_to_id_with_added_voc(tokens)
    state: _State = self._subwords
    engine = state.engine(self)
    if engine is None or not engine.converts:
        return state.fall_back(self, UNEQUAL if engine else CHANGED, "convert_tokens_to_ids", tokens)
    if type(tokens) is list and {*map(type, tokens)} <= {str}:
        get = engine.ids.get
        ids = [get(token) for token in tokens]
        if None in ids:
            unknown = self.unk_token_id
            ids = [unknown if index is None else index for index in ids]
        return ids
    return state.fall_back(self, "tokens", "convert_tokens_to_ids", tokens)


def _tensor(values: NDArray[np.int64], kind: str) -> Any:
    return values if kind == "np" else import_module("torch").from_numpy(values)


# ---------------------------------------------------------------------------------------------------------------------
# vLLM: `--tokenizer-mode subwords`. The entry point in pyproject.toml names `register_with_vllm`.


def register_with_vllm() -> None:
    """Register the tokenizer mode "subwords" with vLLM, which calls this in each of its processes.

    Source: vLLM 0.33, tokenizers/registry.py, renderers/registry.py and plugins.
    """
    tokenizers = import_module("vllm.tokenizers.registry").TokenizerRegistry
    renderers = import_module("vllm.renderers.registry")
    tokenizers.register("subwords", __name__, VLLMTokenizer.__name__)
    renderers.RENDERER_REGISTRY.register("subwords", "vllm.renderers.hf", "HfRenderer")


class VLLMTokenizer:
    """What vLLM's tokenizer mode "subwords" loads."""

    @classmethod
    def from_pretrained(cls, path_or_repo_id: Any, *args: Any, **options: Any) -> Any:
        """Return the tokenizer of vLLM's mode "hf", accelerated.

        vLLM wraps a copy of the tokenizer of transformers, which its pickles hold; the wrapper is made again around the
        accelerated one.
        """
        hf = import_module("vllm.tokenizers.hf")
        wrap, (tokenizer,) = hf.CachedHfTokenizer.from_pretrained(path_or_repo_id, *args, **options).__reduce__()
        return wrap(accelerate(tokenizer))
