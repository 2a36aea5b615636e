"""Built-in functions made of machine code: results, and calls from threads and the collector. See test_leaks.py too."""

from __future__ import annotations

import gc
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import subwords
from inside import CUT_TEXT, FIELDS, MODE, engine_batch, kernels_entry
from inside import engine_encoder as encoder
from subwords import InputError
from subwords.machine import engine_of

pytestmark = pytest.mark.skipif(MODE != "compiled", reason="no fast path")

TEXT = "low lower lowest: naïve words, 2024, that it's about"


@pytest.fixture
def tok() -> subwords.Tokenizer:
    made = subwords.train([TEXT, "é 文字"] * 9, vocab_size=400, special_tokens=["<s>"])
    made.encode(TEXT)
    return made


@pytest.fixture
def collected() -> Iterator[list[object]]:
    """What is called whenever garbage is collected, which is at nearly every list."""
    calls: list[object] = []
    busy = []

    def call(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and not busy:
            busy.append(1)
            for each in calls:
                each()  # type: ignore[operator]
            busy.clear()

    before = gc.get_threshold()
    gc.callbacks.append(call)
    gc.set_threshold(1)
    yield calls
    gc.set_threshold(*before)
    gc.callbacks.remove(call)


def test_anything_else_uses_the_general_path(tok: subwords.Tokenizer) -> None:
    quick = engine_of(tok).fast_paths["text"].encode
    assert quick(TEXT) == tok.encode(TEXT) == quick(TEXT.encode())

    class Text(str):
        __slots__ = ()

    for other in (None, 5, ["low"], Text("low"), "\ud800", "a" * 250_001, "é" * 125_001):
        assert quick(other) is None
    assert tok.encode(Text("low")) == tok.encode(b"low") == tok.encode("low")
    with pytest.raises(TypeError):
        quick()  # type: ignore[call-arg]
    for wrong in (5, None):
        with pytest.raises(InputError):
            tok.encode(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lone surrogate U\\+D800"):
        tok.encode("\ud800")
    with pytest.raises(InputError, match="template"):
        tok.encode(TEXT, template=0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="special"):
        tok.count_tokens(TEXT, special="no")  # type: ignore[arg-type]


def test_a_collector_may_encode_meanwhile(tok: subwords.Tokenizer, collected: list[object]) -> None:
    expected, other = tok.encode(TEXT), "é 文字 low " * 4
    inner, found = tok.encode(other), []
    batch = tok.encode_batch([TEXT, other])
    collected.append(
        lambda: found.append((tok.encode(other), tok.count_tokens(TEXT), tok.encode_batch([other])[0].tolist()))
    )
    for _ in range(50):
        assert tok.encode(TEXT) == expected
        assert batch.to_lists() == [expected, inner]
    assert found
    assert all(one == (inner, len(expected), inner) for one in found)


class Counted:
    """An object that counts for the collector as soon as it is made."""


@pytest.mark.parametrize("after", range(3))
def test_a_collector_may_change_the_lists_that_are_decoded(tok: subwords.Tokenizer, after: int) -> None:
    """An error within the call collects garbage too (before Python 3.12): here it is the first or a later one."""
    odd = tok.token_to_id(b"\xff")
    assert odd is not None and tok.decode_batch([[odd]]) == ["\ufffd"]
    lists, others, size = [[odd, odd] for _ in range(400)], list[bytes](), 8 * 400

    def change(phase: str, info: dict[str, int]) -> None:
        if lists:
            lists.clear()
            others.extend(b"\xff" * (size - 33 - k) for k in range(40))  # where its items were

    before, decode = gc.get_threshold(), fast_paths(tok)
    gc.collect(0)
    kept = [Counted() for _ in range(20)]
    gc.callbacks.append(change)
    gc.set_threshold(gc.get_count()[0] + after)
    try:
        found = decode(lists)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(change)
    assert kept and found in (None, [], [None] * 400)


def test_a_thread_may_switch_while_garbage_is_collected(tok: subwords.Tokenizer, collected: list[object]) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    collected.append(lambda: sum(range(200)))
    words = [f"low{i} é{i} lowest" for i in range(60)]
    fresh = subwords.train([TEXT, "é 文字"] * 9, vocab_size=400, special_tokens=["<s>"])
    expected, wrong = [fresh.encode_to_numpy(word).tolist() for word in words], []

    def work() -> None:
        for _ in range(5):
            wrong.extend(w for w, ids in zip(words, expected, strict=True) if tok.encode(w) != ids)

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_encodes(tok: subwords.Tokenizer) -> None:
    expected = tok.encode(TEXT)
    child = os.fork()
    if not child:
        os._exit(int(tok.encode(TEXT) != expected or engine_of(tok).fast_paths["text"].encode(TEXT) != expected))
    assert os.waitpid(child, 0)[1] == 0


def test_functions_outlive_their_tokenizer(tok: subwords.Tokenizer) -> None:
    expected, quick = tok.encode(TEXT), engine_of(tok).fast_paths["text"].encode
    copy = pickle.loads(pickle.dumps(tok))
    assert copy.encode(TEXT) == expected
    del tok, copy
    gc.collect()
    assert quick(TEXT) == expected


def fast_paths(tok: subwords.Tokenizer) -> Any:
    decoder = tok._id_decoder
    assert decoder.joined is not None
    return decoder.joined.fast_paths


def test_ints_of_ids_are_made_once_and_given_back() -> None:
    tok = subwords.train(["ab ab abc abc"] * 9, vocab_size=259)
    lists = [tok.encode("abc ab abc") for _ in range(3)]  # the first one by the general path
    number = max(lists[1])
    assert number > 256 and max(lists[2]) is number  # CPython keeps smaller ones itself
    encode = vars(tok)["_fast_encode"]
    del lists
    gc.collect()
    before = sys.getrefcount(number)
    del tok
    gc.collect()
    assert number in encode("abc ab abc")  # the function outlives its tokenizer
    del encode
    gc.collect()
    assert sys.getrefcount(number) == before - 1


@pytest.mark.parametrize("text", ["a" * 100_000, "é" * 100_000, b"a" * 100_000, "文" * 10])
def test_texts_of_any_length_and_script_are_read_in_place(text: str | bytes) -> None:
    places = engine_batch.read_places([text], marked=False)
    assert places is not None
    assert places.lengths.tolist() == [len(text.encode() if isinstance(text, str) else text)]


SCRIPTS = ["ab \0\x7f", "é\x80ÿab", "文字あ\u0800\u07ff ", "😀\U00010000\U0010ffff文é", "a\ud7ff\ue000\uffff"]


def written_from(rng: random.Random, size: int) -> str:
    """A text of runs of scripts, whose characters have one, two or four bytes in memory."""
    scripts, text = rng.sample(SCRIPTS, rng.randint(1, 3)), ""
    while len(text) < size:
        text += "".join(rng.choices(rng.choice(scripts), k=rng.choice([1, 5, 16, 40])))
    return text[:size]


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 31, 33, 100, 1000, 17_000, 40_000, 400_000])
def test_strings_of_any_width_have_the_ids_of_their_utf8(tok: subwords.Tokenizer, size: int) -> None:
    rng = random.Random(size)
    for _ in range(max(2, 400 // size)):
        text = written_from(rng, size)
        ids = tok.encode(text.encode())
        assert tok.encode(text) == ids == tok.encode_to_numpy(text).tolist() and tok.count_tokens(text) == len(ids)
        assert tok.encode_batch([text, "é", text]).to_lists() == [ids, tok.encode("é".encode()), ids]
        at = rng.randrange(size + 1)
        broken = text[:at] + rng.choice("\ud800\udabc\udfff") + text[at:]
        for call in (tok.encode, tok.count_tokens, lambda broken: tok.encode_batch(["é", broken])):
            with pytest.raises(InputError, match="surrogate"):
                call(broken)


def test_strings_laid_out_in_another_way_take_the_general_path() -> None:
    texts, table = ["naïve", "文字" * 30_000, "low"], kernels_entry.api()
    ids, known = subwords.load("demo").encode_batch(texts).to_lists(), table[kernels_entry.STR_DATA]
    assert known > 0, "the layout of this Python is not known: all text that is not ASCII is slow"
    table[kernels_entry.STR_DATA] = 0
    try:
        tok = subwords.load("demo")
        assert tok.encode_batch(texts).to_lists() == ids == [tok.encode(text) for text in texts]
    finally:
        table[kernels_entry.STR_DATA] = known


def test_a_free_threaded_python_takes_the_general_path(tok: subwords.Tokenizer) -> None:
    # A stand-in: the kernels of the fast path rely on the GIL, and read objects as builds with a GIL lay them out.
    program = (
        "import pickle, sys; sys._is_gil_enabled = lambda: False\n"
        "from subwords.kernels.entry import available\n"
        "tok, text = pickle.loads(sys.stdin.buffer.read())\n"
        "ids = tok.encode(text); print(available(), ids, tok.encode_batch([text]).to_lists(), tok.decode(ids) == text)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps((tok, TEXT)), stdout=subprocess.PIPE)
    ids = tok.encode(TEXT)
    assert done.stdout.decode().strip() == f"False {ids} {[ids]} True"


def long_text(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(TEXT.split())}{rng.randrange(90_000)}" for _ in range(20_000))[:249_000]


def test_a_long_text_lets_other_threads_run(tok: subwords.Tokenizer) -> None:
    text, lock, ran = long_text(1), threading.Lock(), list[int]()
    usual, ids = sys.getswitchinterval(), tok.encode(text)
    lock.acquire()

    def wait() -> None:
        with lock:
            ran.append(1)

    thread = threading.Thread(target=wait)
    thread.start()
    sys.setswitchinterval(300)  # nobody is asked for the GIL: it is released, or the thread never runs
    try:
        lock.release()
        for _ in range(10_000):
            assert len(tok.encode_to_numpy(text)) == len(ids)
            if ran:
                break
    finally:
        sys.setswitchinterval(usual)
    thread.join()
    assert ran


def test_long_texts_in_threads_have_the_same_ids(tok: subwords.Tokenizer) -> None:
    texts = [long_text(seed) for seed in range(4)]
    expected = [tok.encode(text.encode()) for text in texts]
    wrong = []

    def run(which: int) -> None:
        for _ in range(20):
            wrong.extend([which] * (tok.encode(texts[which]) != expected[which] or tok.count_tokens(TEXT) > 99))

    threads = [threading.Thread(target=run, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_room_is_made_where_a_text_needs_it(algorithm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make_room = list[int](), encoder.EncoderState.make_room

    def noted(state: Any, status: int) -> bool:
        made.append(status)
        return make_room(state, status)

    size = 280 if algorithm == "bpe" else 40
    tok = subwords.train([TEXT, "é 文字"] * 9, vocab_size=size, algorithm=algorithm)
    texts = [long_text(5)[:9000], long_text(5), "x" * 9000, " ".join(f"{'lowest' * 9}{n:09}" for n in range(3000))]
    expected = [tok.encode_batch([text.encode(), "low"])[0].tolist() for text in texts]
    monkeypatch.setattr(encoder.EncoderState, "make_room", noted)
    for text, ids in zip(texts, expected, strict=True):
        for form in ("encode", "array", "count_ids", "rows"):
            fresh = pickle.loads(pickle.dumps(tok))
            fresh.encode("low")
            found = getattr(engine_of(fresh).fast_paths["text"], form)([text] if form == "rows" else text)
            if form == "rows":
                found = [*found[0]] if len(text) < 60_000 else ids
            assert (found == len(ids)) if form == "count_ids" else ([*found] == ids)
    assert {*made} == ({2, 3} if algorithm == "bpe" else {2, 3, 4})


@pytest.mark.parametrize("size", [9_000, 249_000])
def test_an_interrupt_while_room_is_made_reaches_the_caller(
    tok: subwords.Tokenizer, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def interrupted(state: Any, status: int) -> bool:
        raise KeyboardInterrupt

    text = long_text(6)[:size]
    for call in (tok.encode, tok.count_tokens, tok.encode_to_numpy, lambda text: tok.encode_batch([text, "low"])):
        fresh = pickle.loads(pickle.dumps(tok))
        fresh.encode(TEXT)
        with monkeypatch.context() as patch:
            patch.setattr(encoder.EncoderState, "make_room", interrupted)
            with pytest.raises(KeyboardInterrupt):
                getattr(fresh, call.__name__, lambda text, fresh=fresh: fresh.encode_batch([text, "low"]))(text)
        assert fresh.encode(text) == tok.encode(text)
        assert fresh.encode(TEXT) == tok.encode(TEXT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a POSIX thing")
def test_a_child_that_is_forked_while_a_long_text_is_encoded(tok: subwords.Tokenizer) -> None:
    program = (
        "import os, pickle, sys, threading; tok, text, ids = pickle.loads(sys.stdin.buffer.read())\n"
        "tok.encode('low'); stop = []\n"
        "def run():\n    while not stop: tok.encode(text)\n"
        "thread = threading.Thread(target=run); thread.start()\n"
        "codes = []\n"
        "for _ in range(30):\n"
        "    if not (child := os.fork()): os._exit(tok.encode('low' + text) != ids or len(tok.encode('low')) > 3)\n"
        "    codes.append(os.waitpid(child, 0)[1])\n"
        "stop.append(1); thread.join(); print({*codes})"
    )
    text = long_text(7)
    given = pickle.dumps((tok, text, tok.encode("low" + text)))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], input=given, capture_output=True, timeout=300
    )
    assert (done.stdout.decode().strip(), done.stderr) == ("{0}", b"")


def test_functions_of_few_sets_of_special_tokens_are_kept() -> None:
    tok = subwords.load("demo").with_tokens([f"<{k}>" for k in range(100)])
    for k in range(100):
        for text in (f"Rays <{k}> <{k + 1}>", f"Rays <{k}> <{k + 1}>".encode()):
            ids = tok.encode(text, special={f"<{k}>"})
            assert (
                tok.added_tokens.ids[f"<{k}>"] in ids
                and ids == tok.encode_batch([text], special={f"<{k}>"})[0].tolist()
            )
    assert len(engine_of(tok).fast_paths) <= 64


@pytest.mark.parametrize("splitter", ["gpt2", "llama3"])
def test_short_texts_with_safe_cuts(splitter: Any) -> None:
    """Texts of few spaces, in any order: each has the ids of a batch, and none is refused for ever."""
    rng, options = random.Random(7), {"vocab_size": 300, "splitter": splitter}
    tok, other = (subwords.train([TEXT, "é 文字"] * 9, **options) for _ in range(2))
    parts = ["文字", "ไทย", "ก็วันนี้", "한글", "漢", "the ", "low", "é", "\n", "ー、。"]
    texts = ["".join(rng.choices(parts, k=k)) for k in [100, 300, 700, 2000, 4500, 300] * 4]
    rows = [*zip(texts, other.encode_batch([text.encode() for text in texts]).to_lists(), strict=True)]
    for text, ids in [*rows, *rng.sample(rows, len(rows)), *rows[::-1]]:
        assert tok.encode(text) == tok.encode_to_numpy(text).tolist() == ids
        assert tok.count_tokens(text) == len(ids)
    held = engine_of(tok).encoder.slot.held[0]
    assert held[0].numbers[FIELDS.wide] < CUT_TEXT or held[0].numbers[FIELDS.cut_plan] == id(held[1].plans[True])


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 300},
        {"vocab_size": 300, "splitter": "llama3"},
        {"vocab_size": 300, "normalizer": "nfc"},
        {"vocab_size": 90, "algorithm": "wordpiece"},
        {"vocab_size": 60, "algorithm": "unigram"},
        {"vocab_size": 60, "algorithm": "unigram", "normalizer": "sentencepiece"},
    ],
    ids=str,
)
def test_the_fast_path_is_taken(options: Any) -> None:
    tok = subwords.train([TEXT, "é 文字"] * 9, **options)
    ids, fast = tok.encode("low words"), engine_of(tok).fast_paths["text"]
    assert fast.encode("low words") == ids and fast.count_ids("low words") == len(ids)
