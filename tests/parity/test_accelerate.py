"""`subwords.accelerate`: every call of an accelerated tokenizer of transformers gives what the original gives."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from inside import ComparedEngine, VLLMTokenizer, compare_with, register_with_vllm
from seeds import seed_of_run
from small_data import file_of
from subwords import FormatError, InputError

transformers = pytest.importorskip("transformers", minversion="5")

FILES = ("bert/bert-base-uncased-tokenizer.json", "gpt2/tokenizer.json", "roberta/tokenizer.json", "t5/tokenizer.json")
PADS = ("[PAD]", "<pad>", "<|endoftext|>")
TEXTS = [
    "Rays of Light",
    "",
    " ",
    "A longer text, of words & Colours </s> [SEP] <|endoftext|> naïve 語 1,234\n\n",
    "héllo wörld 👍🏽 done .",
    "x" * 70 + " y",
    "  lead and trail  ",
    "ภาษาไทย हिन्दी 한국어",
    "<mask> [MASK] [CLS] <pad> </s></s>",
    "it's DON'T , no ?",
]


def original_of(path: Path, **options: Any) -> Any:
    tok = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path), **options)
    vocab = tok.get_vocab()
    tok.pad_token = next(token for token in PADS if token in vocab)
    return tok


@pytest.fixture(scope="module", params=FILES)
def pair(request: pytest.FixtureRequest, data: Path) -> tuple[Any, Any]:
    """A tokenizer of transformers, and the accelerated one; they share one state."""
    original = original_of(file_of(data, request.param))
    return original, subwords.accelerate(original)


def told(call: Callable[[], Any]) -> Any:
    """What a call gives, with types, and what its encodings say; or its error."""
    try:
        found = call()
    except BaseException as error:  # also the panics of a library in Rust
        return type(error).__name__, str(error)
    if not isinstance(found, transformers.BatchEncoding):
        return repr(found)
    names = ("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "word_ids")
    encodings = [[getattr(each, name) for name in names] for each in found.encodings or ()]
    return repr(dict(found)), encodings, found.n_sequences


def check_same(call: Callable[[Any], Any], pair: tuple[Any, Any]) -> None:
    original, ours = pair
    assert told(lambda: call(ours)) == told(lambda: call(original))


INPUTS: tuple[Any, ...] = (
    (TEXTS[3],),
    ("",),
    (TEXTS[3], TEXTS[4]),
    (TEXTS[3], ""),
    (TEXTS,),
    ([TEXTS[3]],),
    (TEXTS, TEXTS[::-1]),
    ([*zip(TEXTS, TEXTS[::-1], strict=True)],),
)
OPTIONS: dict[str, tuple[Any, ...]] = {  # the default of each comes first
    "add_special_tokens": (True, False),
    "padding": (False, True, "longest", "max_length"),
    "truncation": (None, True, False, "only_first", "only_second", "longest_first"),
    "max_length": (None, 5, 12, 16, 40),
    "stride": (0, 1),
    "pad_to_multiple_of": (None, 8),
    "padding_side": (None, "left", "right"),
    "return_tensors": (None, "np"),
    "return_token_type_ids": (None, True, False),
    "return_attention_mask": (None, True, False),
    "return_overflowing_tokens": (False, True),
    "return_special_tokens_mask": (False, True),
    "return_offsets_mapping": (False, True),
    "return_length": (False, True),
    "verbose": (False,),
}


@pytest.mark.parametrize("block", range(2))
def test_calls_with_any_arguments(block: int, pair: tuple[Any, Any]) -> None:
    draw, original = random.Random(f"{seed_of_run()} {block}"), pair[0]
    for _ in range(25):
        texts = draw.choice(INPUTS)
        options = {name: draw.choice(values) if draw.random() < 0.5 else values[0] for name, values in OPTIONS.items()}
        if options["max_length"] == 5:
            options["stride"] = 0  # more makes the original print a backtrace
        original.truncation_side, original.padding_side = draw.choice(("left", "right")), draw.choice(("left", "right"))
        original.model_max_length = draw.choice((10**30, 20))
        check_same(lambda tok, texts=texts, options=options: tok(*texts, **options), pair)
    original.truncation_side, original.padding_side, original.model_max_length = "right", "right", 10**30


def lists_of(tok: Any) -> list[list[int]]:
    found: list[list[int]] = tok(TEXTS)["input_ids"]
    return found


MESSAGES = [{"role": "user", "content": "Rays </s> of [SEP] light"}, {"role": "assistant", "content": "are red"}]
TEMPLATE = "{% for m in messages %}{{ m.role }}: {% generation %}{{ m.content }}{% endgeneration %}\n{% endfor %}"

CALLS: list[Callable[[Any], Any]] = [
    *(
        lambda tok, skip=skip, clean=clean: [
            tok.batch_decode(lists_of(tok), skip_special_tokens=skip, clean_up_tokenization_spaces=clean),
            tok.decode(lists_of(tok)[4], skip, clean_up_tokenization_spaces=clean),
            tok.decode(lists_of(tok), skip_special_tokens=skip),
            tok.decode(np.array(lists_of(tok)[3]), skip_special_tokens=skip),
            tok.batch_decode(np.array([lists_of(tok)[3]] * 2), skip),
            tok.batch_decode([np.array(row) for row in lists_of(tok)], skip),
            tok.convert_ids_to_tokens(lists_of(tok)[3], skip_special_tokens=skip),
        ]
        for skip in (False, True)
        for clean in (None, True, False)
    ),
    *(
        lambda tok, ids=ids: tok.decode(ids)
        for ids in (5, [], [5, 10**6], [-1], "ab", ["a"], (5, 6), [1.5], [True], {"input_ids": [5]}, None)
    ),
    *(lambda tok, ids=ids: tok.batch_decode(ids) for ids in ([], [[]], [5, 6], ((5, 6), (7,)), [[5], ["a"]], 5)),
    *(
        lambda tok, ids=ids: tok.convert_ids_to_tokens(ids)
        for ids in (0, 10**7, -1, [0, 10**7], [-1], "a", None, [1.5], [np.int64(4)], np.int64(4), [])
    ),
    *(
        lambda tok, tokens=tokens: tok.convert_tokens_to_ids(tokens)
        for tokens in ("a", "none such", "", 5, ["a", "zzzz", ""], [5], ("a", "b"), [])
    ),
    lambda tok: dict(tok.pad(tok(TEXTS, return_special_tokens_mask=True))),  # the original's
    lambda tok: [[tok.tokenize(text), tok.tokenize(text, pair="b c", add_special_tokens=True)] for text in TEXTS],
    lambda tok: [[tok.encode(text), tok.encode(text, "a b", truncation=True, max_length=8)] for text in TEXTS],
    *(
        lambda tok, options=options: [tok(TEXTS, **options), tok(TEXTS[3], **options)]
        for options in (
            {"split_special_tokens": True},
            {"unheard_of": 1},
            {"return_tensors": "tf"},
            {"padding": "up"},
            {"truncation": True, "max_length": 2.5},
            {"truncation": True, "max_length": 0},
            {"truncation": True, "max_length": 2},
            {"truncation": True, "max_length": 10**30},
            {"padding": "max_length", "max_length": 2},
            {"text_target": TEXTS},
            {"return_tensors": "np"},
        )
    ),
    *(
        lambda tok, text=text: [tok(text, is_split_into_words=words) for words in (False, True)]
        for text in (5, b"a", ["a", 5], [["a", "b"]], "a\ud800", ["a\ud800"], [], ["a", ["b", "c"]], ("a", "b"))
    ),
    lambda tok: tok.apply_chat_template(MESSAGES, chat_template=TEMPLATE),
    lambda tok: tok.apply_chat_template([MESSAGES] * 2, chat_template=TEMPLATE, padding=True, return_tensors="np"),
    lambda tok: tok.apply_chat_template(MESSAGES, chat_template=TEMPLATE, return_assistant_tokens_mask=True),
    lambda tok: [repr(tok), len(tok), tok.vocab_size, tok.all_special_ids, tok.num_special_tokens_to_add(pair=True)],
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.rotating(4)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_other_calls(number: int, pair: tuple[Any, Any]) -> None:
    check_same(CALLS[number], pair)


def test_encodings_answer_as_the_original(pair: tuple[Any, Any]) -> None:
    def asked(tok: Any) -> list[Any]:
        found = tok(TEXTS, TEXTS[::-1], truncation=True, max_length=12)
        places = [(found.token_to_chars(3, k), found.char_to_token(3, k), found.word_ids(3)) for k in range(5)]
        return [places, found.sequence_ids(4), found.tokens(2), found[2].ids, len(found[1:3]), found.is_fast]

    check_same(asked, pair)
    found = pair[1](TEXTS)
    again = pickle.loads(pickle.dumps(found))
    assert dict(again) == dict(found)
    assert again.encodings[3].offsets == pair[0](TEXTS).encodings[3].offsets


# ------------------------------------------------------------------ one state


@pytest.fixture
def fresh(small_data: Path) -> tuple[Any, Any]:
    original = original_of(file_of(small_data, "gpt2/tokenizer.json"))
    return original, subwords.accelerate(original)


TEXT = "hello world <new> hello Rays of light!"


def test_changes_of_the_original_are_seen(fresh: tuple[Any, Any]) -> None:
    original, ours = fresh
    word = next(token for token in original.get_vocab() if token.isalpha() and token.isascii() and len(token) == 3)
    text = f"{TEXT} {word} a{word}b"

    def same(tok: Any) -> list[Any]:
        rows = tok([text, "short"], padding=True)
        chat = None if tok.chat_template is None else tok.apply_chat_template(MESSAGES)
        return [dict(rows), tok.batch_decode(rows["input_ids"], skip_special_tokens=True), chat, tok.tokenize(text)]

    lower = tokenizers.normalizers.Lowercase()
    changes: list[Callable[[Any], Any]] = [
        lambda tok: tok.add_tokens([word]),  # of the vocabulary: its size stays
        lambda tok: tok.add_tokens(["<new>"]),
        lambda tok: tok.add_special_tokens({"pad_token": "!"}),
        lambda tok: setattr(tok, "padding_side", "left"),
        lambda tok: setattr(tok, "pad_token", "<new>"),
        lambda tok: tok.backend_tokenizer.add_tokens([tokenizers.AddedToken("Rays", lstrip=True)]),
        lambda tok: setattr(tok.backend_tokenizer, "normalizer", lower),
        lambda tok: setattr(tok.backend_tokenizer.pre_tokenizer, "add_prefix_space", True),
        lambda tok: setattr(tok, "chat_template", "{% for m in messages %}{{ m.content }}<new>{% endfor %}"),
        lambda tok: setattr(tok, "chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}"),
        lambda tok: setattr(tok, "clean_up_tokenization_spaces", True),
    ]
    for number, change in enumerate(changes):
        change((original, ours)[number % 2])  # either of the two
        check_same(same, fresh)
    assert ours.fallbacks == {}
    original.backend_tokenizer.model.dropout = 0.5
    ours("Rays")
    assert ours.fallbacks == {"tokenizer": 1}
    with pytest.raises(FormatError, match="drops merges at random"):
        subwords.accelerate(original)
    original.backend_tokenizer.model.dropout = None
    ours("Rays")
    assert ours.fallbacks == {"tokenizer": 1}


def test_nothing_stays_at_the_original(small_data: Path) -> None:
    original = original_of(file_of(small_data, "gpt2/tokenizer.json"))
    original.backend_tokenizer.enable_truncation(7)
    original.backend_tokenizer.enable_padding(length=9)
    before, kind = {**vars(original)}, type(original)
    backend, ours = original.backend_tokenizer, subwords.accelerate(original)
    ours([TEXT], padding=True)
    assert (backend.truncation["max_length"], backend.padding["length"]) == (7, 9)
    assert (vars(original), type(original)) == (before, kind)
    del ours
    gc.collect()
    assert vars(backend) == {}


def test_what_is_not_answered_is_counted_or_refused(fresh: tuple[Any, Any]) -> None:
    original, ours = fresh
    strict = subwords.accelerate(original, strict=True)
    ours([["a", "b"]], is_split_into_words=True)
    ours("a", split_special_tokens=True)
    ours("a", split_special_tokens=True)
    assert ours.fallbacks == {"is_split_into_words": 1, "split_special_tokens": 2}
    for copied in (copy.copy(ours), copy.deepcopy(ours)):
        copied([["a", "b"]], is_split_into_words=True)
    assert ours.fallbacks["is_split_into_words"] == 3
    with pytest.raises(InputError, match="`is_split_into_words` of this call"):
        strict([["a", "b"]], is_split_into_words=True)
    assert strict("a b")["input_ids"] == original("a b")["input_ids"]


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="expected a tokenizer of transformers"):
        subwords.accelerate("gpt2")
    with pytest.raises(InputError, match="strict"):
        subwords.accelerate(object(), strict=1)  # type: ignore[arg-type]


def test_the_first_difference_is_named(fresh: tuple[Any, Any]) -> None:
    original, _ = fresh
    tok = subwords.load("demo")
    with pytest.raises(FormatError, match=r"other ids than the original's in probe \(.*token 0 is"):
        compare_with(original, ComparedEngine(tok), original._encode_plus, fast=True)


# ------------------------------------------------------------------ a member of its class


def test_it_is_of_its_class_and_pickles(fresh: tuple[Any, Any], tmp_path: Path) -> None:
    original, ours = fresh
    assert isinstance(ours, type(original))
    assert type(ours).__name__ == type(original).__name__
    assert pickle.loads(pickle.dumps(type(ours))) is type(ours)
    for again in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours), subwords.accelerate(ours)):
        assert type(again) is type(ours)
        assert dict(again(TEXTS)) == dict(original(TEXTS))
        assert again.fallbacks == {}
    original.save_pretrained(str(tmp_path / "a"))
    ours.save_pretrained(str(tmp_path / "b"))
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {path.name for path in (tmp_path / "b").iterdir()}
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


@pytest.mark.rotating(4)
def test_pickles_are_the_same_in_another_process(small_data: Path) -> None:
    program = (
        "import hashlib, pickle, subwords, sys, transformers\n"
        "tok = subwords.accelerate(transformers.PreTrainedTokenizerFast(tokenizer_file=sys.argv[1]))\n"
        "first = pickle.dumps(tok); tok(['a b', 'c'])\n"
        "assert pickle.dumps(tok) == first\n"
        "print(hashlib.sha256(first).hexdigest())"
    )
    path = str(file_of(small_data, "bert/bert-base-uncased-tokenizer.json"))
    found = {
        subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1


def test_a_slow_tokenizer(data: Path) -> None:
    kind = pytest.importorskip("transformers.models.bert_generation.tokenization_bert_generation")
    original = kind.BertGenerationTokenizer(vocab_file=str(file_of(data, "t5/spiece.model")))
    ours = subwords.accelerate(original)
    for call in (
        lambda tok: dict(tok(TEXTS, padding=True, return_special_tokens_mask=True)),
        lambda tok: dict(tok(TEXTS, TEXTS, truncation=True, max_length=9)),
        lambda tok: [[tok(text)["input_ids"], tok.decode(tok.encode(text))] for text in TEXTS],
    ):
        check_same(call, (original, ours))
    assert ours.fallbacks == {}
    original.add_tokens(["Rays"])
    check_same(lambda tok: [tok.encode("Rays of"), tok.encode("of Rays")], (original, ours))


# ------------------------------------------------------------------ servers


def test_windows_of_a_detokenizer(pair: tuple[Any, Any]) -> None:
    """SGLang decodes two short windows of each request at each step (0.5, managers/detokenizer_manager.py)."""
    rows = [row for row in lists_of(pair[0]) if len(row) > 3]
    for stop in range(3, max(map(len, rows))):
        windows = [row[max(0, stop - 6) : stop] for row in rows]
        check_same(lambda tok, windows=windows: tok.batch_decode(windows, skip_special_tokens=True), pair)
    assert "sequences" not in pair[1].fallbacks or pair[1].fallbacks["sequences"] < 99


# The interface of vLLM 0.33 (tokenizers/registry.py, tokenizers/protocol.py, tokenizers/hf.py, renderers/registry.py).
PROTOCOL = (
    *("from_pretrained", "num_special_tokens_to_add", "all_special_tokens", "all_special_ids", "bos_token_id"),
    *("eos_token_id", "pad_token_id", "is_fast", "vocab_size", "max_token_id", "max_chars_per_token"),
    *("truncation_side", "__hash__", "__len__", "__call__", "get_vocab", "get_added_vocab", "encode"),
    *("apply_chat_template", "convert_tokens_to_ids", "convert_tokens_to_string", "decode", "convert_ids_to_tokens"),
)


class Registry:
    """Both registries have this method."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, str]] = {}

    def register(self, mode: str, module: str, class_name: str) -> None:
        self.found[mode] = module, class_name


def wrapped(tokenizer: Any) -> Any:
    """As `get_cached_tokenizer`: a copy of a subclass of its class, whose pickles make it again."""
    found, vocab = copy.copy(tokenizer), tokenizer.get_vocab()

    class Cached(type(tokenizer)):  # type: ignore[misc]
        max_token_id = max(vocab.values())
        max_chars_per_token = max(map(len, vocab))

        def __reduce__(self) -> Any:
            return wrapped, (tokenizer,)

    found.__class__ = Cached
    return found


def test_a_mode_of_vllm(small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = original_of(
        file_of(small_data, "gpt2/tokenizer.json"), eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    original.save_pretrained(str(tmp_path))

    class CachedHfTokenizer:
        @classmethod
        def from_pretrained(cls, path_or_repo_id: Any, *args: Any, **options: Any) -> Any:
            return wrapped(transformers.AutoTokenizer.from_pretrained(str(path_or_repo_id), *args, **options))

    names = {"TokenizerRegistry": Registry(), "RENDERER_REGISTRY": Registry(), "CachedHfTokenizer": CachedHfTokenizer}
    for module, name in (
        ("vllm.tokenizers.registry", "TokenizerRegistry"),
        ("vllm.renderers.registry", "RENDERER_REGISTRY"),
        ("vllm.tokenizers.hf", "CachedHfTokenizer"),
    ):
        made = ModuleType(module)
        setattr(made, name, names[name])
        for parent in ("vllm", module.rpartition(".")[0]):
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
        monkeypatch.setitem(sys.modules, module, made)
    register_with_vllm()
    module, name = names["TokenizerRegistry"].found["subwords"]
    assert getattr(sys.modules[module], name) is VLLMTokenizer
    assert names["RENDERER_REGISTRY"].found == {"subwords": ("vllm.renderers.hf", "HfRenderer")}
    tok = VLLMTokenizer.from_pretrained(tmp_path, truncation_side="left")
    assert [each for each in PROTOCOL if not hasattr(tok, each)] == []
    for found in (tok, pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok)):
        assert found.encode(TEXT, truncation=True, max_length=5) == original.encode(TEXT)[-5:]
        assert found.decode(found.encode(TEXT)) == original.decode(original.encode(TEXT))
        assert found.fallbacks == {}
    assert json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["type"] == "BPE"
