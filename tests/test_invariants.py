"""What holds whatever the settings: round trips, purity, threads, processes, sharding (A1-A4, E6, S4, W1)."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from building import tokenizer_of
from inside import engine_batch as batching
from inside import engine_encoder as encoding
from inside import engine_encoder as states
from inside import training_count as training
from strategies import FRAGMENTS, INVALID, byte_texts, texts
from subwords import InputError, Tokenizer
from subwords.machine import engine_of

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"


@pytest.fixture(scope="module")
def opticks() -> str:
    return OPTICKS.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tok(opticks: str) -> Tokenizer:
    return subwords.train([opticks, *FRAGMENTS], vocab_size=3000, special_tokens=["<s>"])


@pytest.fixture(scope="module")
def documents(opticks: str) -> list[bytes]:
    """Texts of all sizes, some empty, some not UTF-8, some with words longer than anything that is remembered."""
    seed = 12
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*map(str.encode, FRAGMENTS), *INVALID]
    mixed = [b"".join(rng.choices(atoms, k=rng.choice([0, 1, 5, 30, 200]))) for _ in range(300)]
    prose = [opticks[at : at + rng.randrange(2000)].encode() for at in range(0, 200_000, 2000)]
    words = [bytes(rng.choices(range(97, 123), k=rng.choice([40, 500, 3000, 9000]))) for _ in range(40)]
    return rng.sample([*mixed, *prose, *words], 440)


def fresh(tok: Tokenizer) -> Tokenizer:
    """The same tokenizer with nothing remembered."""
    return tokenizer_of(tok.model, tok.splitter, added_tokens=tok.added_tokens)


def ids_of(tok: Tokenizer, documents: list[bytes]) -> list[list[int]]:
    return [tok.encode(document) for document in documents]


@pytest.fixture(scope="module")
def expected(tok: Tokenizer, documents: list[bytes]) -> list[list[int]]:
    """The ids of each text by a tokenizer that has seen no other."""
    return [fresh(tok).encode(document) for document in documents]


# ------------------------------------------------------------------ round trips


@given(texts())
def test_text_comes_back(tok: Tokenizer, text: str) -> None:
    assert tok.decode(tok.encode(text), errors="strict") == text


@given(byte_texts())
def test_bytes_come_back(tok: Tokenizer, data: bytes) -> None:
    assert tok.decode_bytes(tok.encode(data)) == data


@given(st.lists(byte_texts(10), max_size=10))
def test_batch_comes_back(tok: Tokenizer, documents: list[bytes]) -> None:
    batch = tok.encode_batch(documents)
    assert [tok.decode_bytes(ids) for ids in batch] == documents
    assert tok.decode_bytes(batch.ids) == b"".join(documents)


@given(st.lists(texts(10), min_size=1, max_size=5), st.integers(0, 80), texts(), byte_texts())
def test_any_byte_level_tokenizer_is_lossless(documents: list[str], merges: int, text: str, data: bytes) -> None:
    tok = subwords.train(iter(["a", *documents]), vocab_size=257 + merges, special_tokens=["<s>"])
    assert tok.lossless
    assert tok.decode(tok.encode(text), errors="strict") == text
    assert tok.decode_bytes(tok.encode(data)) == data
    assert tok.decode(tok.encode(text, special="allow"), errors="strict") == text


@given(texts())
def test_user_text_yields_no_special_token(tok: Tokenizer, text: str) -> None:
    assert not {*tok.special_tokens.values()} & {*tok.encode(text)}


# ------------------------------------------------------------------ encode is a function of tokenizer and text


def test_a_used_tokenizer_gives_the_same_ids(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    assert ids_of(tok, documents) == expected
    assert ids_of(tok, documents) == expected
    assert ids_of(tok, documents[::-1]) == expected[::-1]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_batch_in_any_order_on_any_threads(
    tok: Tokenizer, documents: list[bytes], expected: list[list[int]], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (1, 1 << 10, 1 << 14, batching.PART):
        monkeypatch.setattr(batching, "PART", part)
        order = random.Random(part).sample(range(len(documents)), len(documents))
        got = fresh(tok).encode_batch([documents[n] for n in order], threads=threads)
        assert got.to_lists() == [expected[n] for n in order]


@pytest.mark.parametrize(
    ("slots", "arena"), [(1 << 4, 1 << 12), (1 << 10, 1 << 23), (1 << 20, 1 << 12), (1 << 12, 1 << 14)]
)
def test_growing_and_clearing_the_table(
    tok: Tokenizer,
    documents: list[bytes],
    expected: list[list[int]],
    slots: int,
    arena: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cleared = []
    clear = states.EncoderState.clear
    monkeypatch.setattr(states.EncoderState, "clear", lambda state: (cleared.append(1), clear(state))[1])
    monkeypatch.setattr(states, "FIRST_SLOTS", 1 << 4)
    monkeypatch.setattr(states, "MOST_SLOTS", slots)
    monkeypatch.setattr(states, "MOST_ARENA", arena)
    small = fresh(tok)
    assert ids_of(small, documents) == expected
    assert small.encode_batch(documents, threads=1).to_lists() == expected
    if slots <= 1 << 10 or arena <= 1 << 12:
        assert len(cleared) > 2, "one is the state's first"


def test_long_words_before_short_ones(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    used = fresh(tok)
    used.encode(b"q" * 300_000)
    used.encode(bytes(random.Random(5).choices(b"abc", k=100_000)))
    assert ids_of(used, documents) == expected


def test_sixteen_threads_share_one_tokenizer(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    shared, start = fresh(tok), Barrier(16)

    def work(seed: int) -> bool:
        start.wait()
        order = random.Random(seed).sample(range(len(documents)), len(documents))
        same = [shared.encode(documents[n]) == expected[n] for n in order]
        return all(same) and shared.encode_batch(documents, threads=2).to_lists() == expected

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


USES: list[Callable[[Tokenizer, str], Any]] = [
    lambda tok, text: tok.encode(text),
    lambda tok, text: tok.encode_batch([text, text[:99]], threads=2).to_lists(),
    lambda tok, text: tok(text[:3000]).offsets,
    lambda tok, text: tok.decode(tok.encode(text)),
    lambda tok, text: [*tok.chunks(text[:2000], 100)],
    lambda tok, text: tok.growing(text[:500]).append(text[500:600]),
    lambda tok, text: tok.token_table().special.sum(),
    lambda tok, text: tok.count_tokens(text),
]


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram", "wordlevel"])
def test_first_uses_on_many_threads(algorithm: str, opticks: str) -> None:
    # Since Python 3.12 a cached_property has no lock: threads that come first make a value twice.
    data, text = pickle.dumps(subwords.train([opticks], vocab_size=500, algorithm=algorithm)), opticks[:20_000]
    expected = [repr(use(pickle.loads(data), text)) for use in USES]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(USES)) as pool:
            for _ in range(3):
                shared, start = pickle.loads(data), Barrier(len(USES))

                def used(first: int, shared: Tokenizer = shared, start: Barrier = start) -> list[str]:
                    start.wait()
                    return [repr(USES[n % len(USES)](shared, text)) for n in range(first, first + len(USES))]

                for n, found in enumerate(pool.map(used, range(len(USES)))):
                    assert found == [*expected[n:], *expected[:n]]
    finally:
        sys.setswitchinterval(interval)


def held_by(value: Any, seen: dict[int, Any]) -> dict[int, Any]:
    """Return all objects of this package and all arrays that a value holds, by their identity."""
    if id(value) in seen:
        return seen
    if isinstance(value, list | tuple | dict) and len(value) < 1000:
        seen[id(value)] = value
        for part in list(value.values() if isinstance(value, dict) else value):
            held_by(part, seen)
    elif isinstance(value, np.ndarray):
        seen[id(value)] = value
    elif type(value).__module__.startswith("subwords.") and hasattr(value, "__dict__"):
        seen[id(value)] = value
        held_by(vars(value), seen)
    return seen


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram", "wordlevel"])
def test_a_value_that_is_made_twice_leaves_the_first_as_it_was(algorithm: str, opticks: str) -> None:
    tok, made = subwords.train([opticks], vocab_size=500, algorithm=algorithm), 0
    for use in USES:
        use(tok, opticks[:20_000])
    for owner in list(held_by(tok, {}).values()):
        for name, member in [item for kind in type(owner).__mro__ for item in vars(kind).items()]:
            if isinstance(member, cached_property) and name in getattr(owner, "__dict__", {}) and name != "spec":
                arrays = [each for each in held_by(vars(owner)[name], {}).values() if isinstance(each, np.ndarray)]
                before = [array.tobytes() for array in arrays]
                member.func(owner)  # as a second thread does
                assert before == [array.tobytes() for array in arrays], (type(owner), name)
                made += bool(arrays)
    assert made > 10


def test_short_texts_on_many_threads(tok: Tokenizer, opticks: str) -> None:
    # Threads change places after every few instructions: what a call leaves in shared arrays, the next one overwrites.
    seed = 2
    print(f"seed {seed}")
    rng = random.Random(seed)
    short = [opticks[at : at + rng.randrange(300)] for at in range(0, 60_000, 300)]
    ref = [fresh(tok).encode(text) for text in short]
    shared = fresh(tok)

    def wrong(start: int) -> int:
        places = random.Random(start).choices(range(len(short)), k=20_000)
        return sum(shared.encode(short[n]) != ref[n] for n in places)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(wrong, range(8))) == 0
    finally:
        sys.setswitchinterval(interval)


def test_what_is_returned_is_the_callers_own(tok: Tokenizer, opticks: str) -> None:
    # As if another thread came whenever a state is given back, the moment it is.
    used = fresh(tok)
    encoder = engine_of(used).encoder

    class Busy(deque[Any]):
        calls = 0

        def append(self, state: Any) -> None:
            super().append(state)
            self.calls += 1
            if self.calls % 2:
                encoder.encode(b" another text altogether" * 9)

    encoder._pool = Busy()
    for text in (opticks[:300], opticks[:3000], opticks[:30_000]):
        assert used.encode(text) == fresh(tok).encode(text)
        assert used.encode_to_numpy(text).tolist() == fresh(tok).encode(text)
        assert used.encode_batch([text, text]).to_lists() == [fresh(tok).encode(text)] * 2


def test_one_text_on_several_threads(tok: Tokenizer, opticks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "THREAD_TEXT", 1 << 12)
    text = opticks[:40_000] + "中文字符串没有空格" * 3000 + opticks[40_000:60_000]
    for used in (tok, fresh(tok).with_(normalizer="lowercase"), fresh(tok).with_(splitter=r"\w+|\W")):
        ref = used.encode_to_numpy(text, threads=1).tolist()
        for threads in (2, 3, 7, None, 2):
            assert used.encode_to_numpy(text, threads=threads).tolist() == ref
    with pytest.raises(InputError, match="threads"):
        tok.encode_to_numpy(text, threads=0)


STEPS = [(states.EncoderState, "grow_slots"), (states.EncoderState, "grow_arena"), (encoding.Encoder, "_larger")]


@pytest.mark.parametrize("step", STEPS, ids=[name for _, name in STEPS])
def test_interrupted_call_leaves_nothing_behind(
    tok: Tokenizer, opticks: str, step: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = fresh(tok)
    used.encode("a")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        used.encode(bytes(random.Random(3).choices(b"abcdefgh" * 9 + b" ", k=600_000)))
    monkeypatch.undo()
    for text in (opticks[:2000], opticks[:50_000]):
        ref = fresh(tok).encode(text)
        assert used.encode(text) == ref
        assert used.encode_batch([text, "a", text]).to_lists() == [ref, tok.encode("a"), ref]


# ------------------------------------------------------------------ processes


def in_another_process(context: str, work: Callable[..., Any], *args: Any) -> Any:
    with multiprocessing.get_context(context).Pool(1) as pool:
        return pool.apply(work, args)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_fork(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    ids_of(tok, documents[:50])
    # The child inherits a used tokenizer, its table and its machine code.
    assert in_another_process("fork", ids_of, tok, documents) == expected
    assert ids_of(tok, documents) == expected


def test_in_a_new_process(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    assert in_another_process("spawn", ids_of, tok, documents) == expected


def test_pickled(tok: Tokenizer, documents: list[bytes], expected: list[list[int]]) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(tok, protocol))
        assert ids_of(copy, documents[:100]) == expected[:100]
        assert copy.merges == tok.merges
        assert copy.special_tokens == tok.special_tokens
        assert copy.encode("<s>a", special="allow") == tok.encode("<s>a", special="allow")


# ------------------------------------------------------------------ training

TRAINED: dict[str, dict[str, Any]] = {
    "bpe": {},
    "bpe, bytes": {"tie_break": "bytes"},
    "bpe, first": {"tie_break": "first"},
    **{
        f"wordpiece, {score}": {"algorithm": "wordpiece", "score": score} for score in ("likelihood", "course", "count")
    },
    "unigram": {"algorithm": "unigram"},
}


def lines_of_scripts() -> list[str]:
    """English, and every script among its lines."""
    lines = OPTICKS.read_text(encoding="utf-8").splitlines()
    return [f"{line} {FRAGMENTS[n % len(FRAGMENTS)]}\n" for n, line in enumerate(lines)]


def model_of(source: Any, name: str, **options: Any) -> str:
    tok = subwords.train(source, **{"vocab_size": 700, **TRAINED[name], **options})
    return tok.spec.digest


def models_of(names: list[str]) -> list[str]:
    return [model_of(["".join(lines_of_scripts())], name) for name in names]


@pytest.fixture(scope="module")
def models() -> dict[str, str]:
    text = ["".join(lines_of_scripts())]
    found = {name: model_of(text, name, threads=1) for name in TRAINED}
    assert len({*found.values()}) == len(found)
    return found


@pytest.mark.parametrize("name", TRAINED)
def test_training_on_any_threads_and_blocks(
    models: dict[str, str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(lines_of_scripts())
    (tmp_path / "text.txt").write_bytes(text.encode())
    for block, threads in ((1000, 2), (4096, 5), (33_333, 1), (1 << 19, 2)):
        monkeypatch.setattr(training, "BLOCK", block)
        assert model_of([text], name, threads=threads) == models[name]
    assert model_of(tmp_path / "text.txt", name, threads=2) == models[name]


def test_training_in_another_process(models: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    assert in_another_process("spawn", models_of, [*TRAINED]) == [*models.values()]


@pytest.mark.parametrize("number", [2, 7])
@pytest.mark.parametrize("name", TRAINED)
def test_training_on_added_counts(name: str, number: int, tmp_path: Path) -> None:
    lines = lines_of_scripts()
    how: dict[str, Any] = {"wordpiece": {"splitter": "bert", "normalizer": "bert-uncased"}}.get(name.split(",")[0], {})
    if name == "unigram":
        how = {"splitter": "sentencepiece", "normalizer": "sentencepiece"}
    whole = subwords.train(lines, vocab_size=700, **TRAINED[name])
    how["special_tokens"] = [*whole.special_tokens]
    parts = [
        subwords.count(lines[n * len(lines) // number : (n + 1) * len(lines) // number], **how) for n in range(number)
    ]
    parts[0].save(tmp_path / "first.counts")
    total = subwords.WordCounts.load(tmp_path / "first.counts")
    for part in parts[1:]:
        total = total + part
    assert list(total) == list(subwords.count(lines, **how))
    # Only by "first" may a tie fall by where words stand.
    turned = total if "first" in name else sum(parts[::-1][1:], start=parts[-1])
    assert model_of(turned, name) == whole.spec.digest


@given(st.lists(texts(8), min_size=2, max_size=6), st.integers(1, 5))
def test_counts_of_parts_add_up(documents: list[str], cut: int) -> None:
    parts = [part for part in (documents[:cut], documents[cut:]) if any(part)]
    if parts:
        total = subwords.count(iter(parts[0]))
        for part in parts[1:]:
            total = total + subwords.count(iter(part))
        assert list(total) == list(subwords.count(iter(documents)))
