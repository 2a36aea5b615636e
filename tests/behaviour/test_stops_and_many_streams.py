"""What ends the text of a stream (D8), and many streams in one call a step: each slot equals a stream of its own."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from seeds import seed_of_run
from small_data import file_of
from subwords import InputError, Tokenizer

TEXT = "Hello world again, the naïve café says: 你好 🙂🙂!\n\tdon't do not  stop.\n\nUser: no 中文 é"
WORDS = ["Hello world again, the naïve café says: don't do not stop. " * 9]
FAMILIES: list[dict[str, Any]] = [
    {"vocab_size": 300},
    {"vocab_size": 60, "algorithm": "wordpiece", "normalizer": "bert-cased"},
    {"vocab_size": 60, "algorithm": "unigram"},
    {"vocab_size": 60, "byte_level": False},
    {"vocab_size": 320, "byte_level": False, "byte_fallback": True},
]
FILES = (
    *("gpt2/tokenizer.json", "gpt-neox/tokenizer.json", "phi-2/tokenizer.json", "phi-3/tokenizer.json"),
    *("roberta/tokenizer.json", "falcon/tokenizer.json", "clip/tokenizer.json", "t5/tokenizer.json", "t5/spiece.model"),
    *("albert/spiece.model", "bert/bert-base-uncased-vocab.txt", "phi-3/phi-3-mini-tokenizer.json"),
    *("converted/cl100k_base.tokenizer.json", "converted/qwen3.tokenizer.json", "mistral/tokenizer.model.v1"),
    *("mistral/mistral_instruct_tokenizer_240323.model.v3", "marian-en-mg/target.spm"),
    "bert/bert-base-chinese-vocab.txt",
    *("sentencepiece-own/test_model.model", "sentencepiece-own/test_ja_model.model"),
)


def new_text(tok: Tokenizer, prompt: list[int], ids: list[int], skip: bool) -> tuple[str, list[int]]:
    """The text after a prompt, and for each character, how many of the ids it needs: by D1 and D2."""
    before = tok.decode(prompt, skip_special_tokens=skip)
    whole, spans = tok.decode_with_spans([*prompt, *ids], skip_special_tokens=skip)
    same = next(
        (k for k, (a, b) in enumerate(zip(before, whole, strict=False)) if a != b), min(len(before), len(whole))
    )
    needs = [max(k + 1 for k, (a, b) in enumerate(spans.tolist()) if a <= at < b) for at in range(same, len(whole))]
    return whole[same:], [max(0, need - len(prompt)) for need in needs]


def stopped_text(
    tok: Tokenizer, prompt: list[int], ids: list[int], stops: list[str | int], skip: bool
) -> tuple[str, tuple[str | int, int, int] | None]:
    """D8 word by word: look at each place of the text for the longest stop that ends there."""
    at = next((k for k, index in enumerate(ids) if index in stops), None)
    text, needs = new_text(tok, prompt, ids[:at], skip)
    texts = sorted((stop for stop in stops if isinstance(stop, str)), key=len, reverse=True)
    for end in range(1, len(text) + 1):
        for stop in texts:
            if text.endswith(stop, 0, end):
                size = end - len(stop)
                return text[:size], (stop, size, needs[size - 1] if size else 0)
    return (text, None) if at is None else (text, (ids[at], len(text), at))


def some_ids(tok: Tokenizer, rng: random.Random) -> list[int]:
    """Ids of a text, or any ids: broken characters, special tokens, ids without text."""
    if rng.random() < 0.5:
        start = rng.randrange(len(TEXT))
        return tok.encode(TEXT[start : start + rng.randint(1, 60)], special="allow")
    few = rng.choices(range(tok.vocab_size), k=4)
    return [rng.choice(few) if rng.random() < 0.5 else rng.randrange(tok.vocab_size) for _ in range(rng.randint(1, 9))]


def some_stops(tok: Tokenizer, ids: list[int], rng: random.Random) -> list[str | int]:
    """Parts of the text, beginnings of them that go on otherwise, and ids."""
    text, stops = tok.decode(ids), list[str | int]()
    for _ in range(rng.randint(0, 3)):
        start = rng.randrange(len(text) + 1)
        stops.append(text[start : start + rng.randint(1, 6)] + rng.choice(["", "", "", "x", "\ufffd"]))
    if rng.random() < 0.3:
        stops.append(rng.choice([*ids, rng.randrange(tok.vocab_size)]))
    special = {stop for stop in stops if stop in tok.special_tokens}
    return [stop for stop in stops if stop not in {"", *special}]


def as_tuple(stop: Any) -> tuple[str | int, int, int] | None:
    return None if stop is None else (stop.stop, stop.characters, stop.ids)


def check_stops(tok: Tokenizer, rng: random.Random, times: int) -> None:
    for _ in range(times):
        prompt, ids, skip = some_ids(tok, rng) if rng.random() < 0.5 else [], some_ids(tok, rng), rng.random() < 0.3
        stops = some_stops(tok, ids, rng)
        expected, stop = stopped_text(tok, prompt, ids, stops, skip)
        for _ in range(2):  # the second one finds in the table what the first one learned
            stream = tok.stream(prompt=prompt, stop=stops, skip_special_tokens=skip)
            pieces, at = list[str](), 0
            while at < len(ids):
                size = rng.choice([1, 1, 1, 3])
                pieces.append(stream.step(ids[at] if size == 1 else ids[at : at + size]))
                at += size
                assert expected.startswith("".join(pieces))
            pieces.append(stream.finish())
            what = (prompt, ids, stops, skip)
            assert ("".join(pieces), as_tuple(stream.stopped)) == (expected, stop), what


def check_slots(tok: Tokenizer, rng: random.Random, steps: int, n: int = 5) -> None:
    """Compare each slot with a stream of its own: one id a step, several, none; prompts, stops, resets, ends."""
    shared = some_stops(tok, tok.encode(TEXT), rng)
    skip = rng.random() < 0.3
    streams = tok.streams(n, stop=shared or None, skip_special_tokens=skip)
    singles = [tok.stream(stop=shared, skip_special_tokens=skip) for _ in range(n)]
    waiting = [some_ids(tok, rng) for _ in range(n)]
    done = [False] * n
    for _ in range(steps):
        fed: list[Any] = []
        for slot in range(n):
            if not waiting[slot] or rng.random() < 0.03:
                if rng.random() < 0.7:
                    assert streams.finish(slot) == singles[slot].finish()
                    done[slot] = True
                if rng.random() < 0.9:
                    stop = some_stops(tok, tok.encode(TEXT), rng) if rng.random() < 0.5 else None
                    prompt = some_ids(tok, rng) if rng.random() < 0.3 else []
                    streams.reset(slot, prompt=prompt, stop=stop)
                    singles[slot] = tok.stream(
                        prompt=prompt, stop=shared if stop is None else stop, skip_special_tokens=skip
                    )
                    done[slot], waiting[slot] = False, some_ids(tok, rng)
            if done[slot] or not waiting[slot]:
                fed.append(None)
            else:
                size = rng.choice([1] * 9 + [2])
                taken, waiting[slot] = waiting[slot][:size], waiting[slot][size:]
                fed.append(taken[0] if size == 1 else taken)
        given = np.array(fed) if None not in fed and all(isinstance(one, int) for one in fed) else fed
        expected = ["" if one is None else single.step(one) for single, one in zip(singles, fed, strict=True)]
        assert streams.step(given) == expected, fed
        assert streams.stopped == tuple(single.stopped for single in singles)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_stops_and_slots_of_families(family: int) -> None:
    tok = subwords.train([*WORDS, TEXT], **FAMILIES[family]).with_tokens(["<end>"])
    rng = random.Random(f"{family} {seed_of_run()}")
    check_stops(tok, rng, 100)
    for _ in range(4):
        check_slots(tok, rng, 60)


@pytest.mark.rotating(4, always=("shared-gpt2", "shared-phi-3/tokenizer", "shared-t5/spiece"))
@pytest.mark.parametrize("name", FILES)
def test_stops_and_slots_of_files(data: Path, name: str) -> None:
    tok, rng = subwords.load(file_of(data, name)), random.Random(f"{name} {seed_of_run()}")
    check_stops(tok, rng, 25)
    check_slots(tok, rng, 60)


def test_the_first_to_end_wins_and_of_these_the_longest() -> None:
    tok = subwords.load("demo")
    for stops, stop in ((["b", "ab"], "ab"), (["bcd", "c"], "c"), (["abcd", "bc"], "bc"), (["x", "bcd"], "bcd")):
        stream = tok.stream(stop=stops)
        text = "".join(stream.feed(tok.encode("_abcd")))
        assert stream.stopped is not None and stream.stopped.stop == stop
        assert text == "_abcd"[: stream.stopped.characters]


def test_a_stop_over_tokens_and_half_characters() -> None:
    tok = subwords.train(["é"], vocab_size=256)  # a token is a byte
    stream = tok.stream(stop="🙂é")
    ids = tok.encode("a🙂🙂éb")
    assert [stream.step(index) for index in ids] == ["a", *[""] * 7, "🙂", *[""] * 3]
    assert as_tuple(stream.stopped) == ("🙂é", 2, 5)
    assert stream.step([1, 2]) == stream.finish() == ""
    assert repr(stream) == "DecodeStream(11 ids, stopped by '🙂é', finished)"


def test_feed_takes_no_ids_after_a_stop() -> None:
    tok = subwords.load("demo")
    ids = iter(tok.encode("Rays of light are refracted"))
    stream = tok.stream(stop=" light")
    assert "".join(stream.feed(ids)) == "Rays of"
    assert tok.decode([*ids]) == " are refracted"


def test_ids_that_stop() -> None:
    tok = subwords.load("demo").with_tokens(["<|end|>"])
    end = tok.special_tokens["<|end|>"]
    ids = [*tok.encode("Rays é")[:-1], end]  # half a character
    stream = tok.stream(stop=[end, "x"], skip_special_tokens=True)
    assert "".join(map(stream.step, ids)) == "Rays \ufffd"
    assert as_tuple(stream.stopped) == (end, 6, len(ids) - 1)
    with pytest.raises(InputError, match="leaves out of the text: add its id"):
        tok.stream(stop="<|end|>", skip_special_tokens=True)
    assert tok.stream(stop=["<|end|>", end], skip_special_tokens=True).stopped is None


@pytest.mark.parametrize("stop", ["", [""], 1.5, True, [None], b"a", {"a": 1}, 10**9, [-1], ["\ud800"], object()])
def test_wrong_stops(stop: Any) -> None:
    tok = subwords.load("demo")
    for make in (lambda: tok.stream(stop=stop), lambda: tok.streams(2, stop=stop)):
        with pytest.raises(InputError, match="expected stop"):
            make()


def test_no_stop_at_all() -> None:
    tok = subwords.load("demo")
    for stop in (None, (), []):
        assert "".join(tok.stream(stop=stop).feed(tok.encode("Rays"))) == "Rays"


def test_wrong_steps_change_nothing() -> None:
    tok = subwords.load("demo")
    streams = tok.streams(2, stop="x")
    first = streams.step([tok.encode("Rays")[0], tok.encode("light")[0]])
    wrong: list[Any] = [
        [1],
        [1, 2, 3],
        [1, -1],
        [1, tok.vocab_size],
        [1, "a"],
        [1, 1.0],
        [1, True],
        [1, [2, -1]],
        {1, 2},
    ]
    for ids in [*wrong, np.array([1.0, 2.0]), np.array([[1, 2]]), 3]:
        with pytest.raises(InputError):
            streams.step(ids)
    streams.finish(0)
    with pytest.raises(InputError, match="slot 0: expected no ids after finish"):
        streams.step([1, 2])
    rest = tok.encode("Rays")[1:]
    streams.reset(0, prompt=tok.encode("Rays")[:1])
    assert first[0] + "".join(streams.step([index, None])[0] for index in rest) == "Rays"
    for call in (
        lambda: tok.streams(0),
        lambda: streams.reset(2),
        lambda: streams.finish(-1),
        lambda: tok.streams(True),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError, match="cannot be copied or pickled"):
        pickle.dumps(streams)
    assert len(streams) == 2 and repr(streams) == "DecodeStreams(2 slots, 0 of them stopped or finished)"


def test_time_is_linear_in_text_that_almost_stops() -> None:
    """A text of one letter, and a stop of many: characters that are looked at, not seconds."""
    tok = subwords.train(["a"], vocab_size=256)
    (letter,) = tok.encode("a")
    stream = tok.stream(stop=["a" * 3000 + "b", "a" * 2999 + "c", "aab"])
    seen = 0
    for _ in range(20_000):
        seen += len(stream.step(letter))
    assert seen == 17_000 and len(stream.finish()) == 3000


def test_tables_are_shared_and_bounded() -> None:
    tok = subwords.load("demo")
    ids = tok.encode("Rays of light are refracted")
    for number in range(200):  # more kinds of streams than tables are kept for
        stream = tok.stream(stop=f"x{number}")
        assert "".join(stream.feed(ids)) == "Rays of light are refracted"


def test_slots_equal_decode_stream_of_tokenizers(data: Path) -> None:
    """HF's DecodeStream, one for each text, where its text is right: whole characters (COMPATIBILITY.md)."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers.decoders import DecodeStream

    for name in ("gpt2/tokenizer.json", "phi-3/tokenizer.json"):
        path = file_of(data, name)
        theirs, tok = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path)
        texts = ["Hello world again", "naïve café.", "a b c d e f g"]
        lists = [tok.encode(text) for text in texts]
        streams, others = tok.streams(3), [DecodeStream(skip_special_tokens=False) for _ in texts]
        found, expected = [""] * 3, [""] * 3
        for step in range(max(map(len, lists))):
            fed = [ids[step] if step < len(ids) else None for ids in lists]
            for slot, (text, index) in enumerate(zip(streams.step(fed), fed, strict=True)):
                found[slot] += text
                expected[slot] += "" if index is None else others[slot].step(theirs, index) or ""
        assert found == expected
