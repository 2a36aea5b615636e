"""Text that grows has the ids of the whole text: versions, streams and cached prompts (G1, G2, G3)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import engine_growing as growing
from inside import prompts_module as prompts
from inside import splitter_NAMED as NAMED
from seeds import seed_of_run
from small_data import file_of
from subwords import InputError, PromptCache, Tokenizer

FILES = (
    "gpt2/tokenizer.json",
    "gpt-neox/tokenizer.json",
    "phi-2/tokenizer.json",
    "phi-3/tokenizer.json",
    "roberta/tokenizer.json",
    "falcon/tokenizer.json",
    "clip/tokenizer.json",
    "t5/tokenizer.json",
    "t5/spiece.model",
    "albert/spiece.model",
    "bert/bert-base-uncased-vocab.txt",
    "phi-3/phi-3-mini-tokenizer.json",
    "converted/cl100k_base.tokenizer.json",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "marian-en-mg/target.spm",
)
TEXT = (
    "The low lower lowest words, 12345 of them: naïve cafés aren't newer.\n\n  It's 'so'; ünd 中文字 สวัสดี \t\r\n x" * 3
)
# They join others, disappear, become several characters, or change how the text around them is read.
ODD = (
    *(" ", "  ", "\n", "\t", "\r\n", "'s", "'", "a", "ab", "12", "--", "\u00e9", "e\u0301", "\u0301", "\ufdfa"),
    *(
        "\uac01",
        "\u1100",
        "\u1161",
        "\u11a8",
        "\U0001f469\u200d",
        "\u2581",
        "\u3000",
        "\u00a0",
        "\x00",
        "\x10",
        "\ufb01",
    ),
    *("\u0130", "\u03a3", "<", "|", ">", "<s>", "</w>", "##", "<|x|>", "<|endo", "ftext|>", "x y", "[MA", "SK]"),
)


def piece(rng: random.Random, tok: Tokenizer) -> str:
    """Text, odd characters, a long run, or a special token or a part of one."""
    kind, special = rng.random(), [*tok.special_tokens] or ["<s>"]
    if kind < 0.35:
        start = rng.randrange(len(TEXT))
        return TEXT[start : start + rng.choice([1, 3, 10, 200])]
    if kind < 0.8:
        return "".join(rng.choices(ODD, k=rng.randint(1, 5)))
    if kind < 0.9:
        name = rng.choice(special)
        place = rng.randint(0, len(name))
        return rng.choice([name, name[:place], name[place:]])
    return rng.choice(["a", "-", "  ", "1", "\u0301", "ab"]) * rng.choice([3, 20, 300])


def policy(rng: random.Random, tok: Tokenizer) -> Any:
    names = sorted(tok.special_tokens)
    return rng.choice(["text", "text", "allow", {rng.choice(names)}] if names else ["text"])


def flagged(tok: Tokenizer) -> Iterator[Tokenizer]:
    """The tokenizer with added tokens of all flags."""
    names = ["<|x|>", "ab", "<s> t"]
    yield tok.with_tokens(names, lstrip=True, rstrip=True)
    yield tok.with_tokens(names, single_word=True)
    yield tok.with_tokens(names, special=False, normalized=True, single_word=True, lstrip=True)


def check_scripts(tok: Tokenizer, rng: random.Random, scripts: int) -> None:
    """Append and edit at random; compare every version with the whole text, and `final` with what came."""
    for _ in range(scripts):
        special = policy(rng, tok)
        try:
            version = tok.growing(piece(rng, tok), special=special)
            for _ in range(rng.randint(2, 10)):
                text = version.text
                if rng.random() < 0.7:
                    new = version.append(piece(rng, tok))
                else:
                    start = rng.randint(0, len(text))
                    stop = rng.randint(start, min(len(text), start + rng.choice([0, 1, 5, 100])))
                    part = rng.choice(["", piece(rng, tok)])
                    new = version.edit(start, stop, part)
                    assert new.text == text[:start] + part + text[stop:]
                whole, before = tok.encode_to_numpy(new.text, special=special), version.ids
                what = (special, text, new.text)
                assert np.array_equal(new.ids, whole), what
                assert len(new) == len(whole)
                assert np.array_equal(new.ids[: new.kept], before[: new.kept]), what
                assert np.array_equal(new.added, whole[new.kept :])
                if new.text.startswith(text):
                    final = version.final
                    assert final <= new.kept, what
                version = new
        except InputError as error:
            assert "no unk token" in str(error)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few characters, so that short texts have many."""
    for name, size in (("OPEN", 16), ("BLOCK", 32), ("NEAR_PLACES", 8), ("FAR_PLACES", 16)):
        monkeypatch.setattr(growing, name, size)
    monkeypatch.setattr(prompts, "MARK", 24)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("small_steps")
def test_versions_of_files_equal_the_whole_text(name: str, data: Path) -> None:
    tok, rng = subwords.load(file_of(data, name)), random.Random(f"{name} {seed_of_run()}")
    check_scripts(tok, rng, 30)
    if "gpt2" in name or "bert" in name:
        for changed in flagged(tok):
            check_scripts(changed, rng, 10)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.usefixtures("small_steps")
def test_versions_of_rules_equal_the_whole_text(name: str) -> None:
    """G1 for every named splitter, with and without a normalizer."""
    tok = subwords.train([TEXT], vocab_size=300, splitter=name, special_tokens=["<s>", "<|x|>"])
    rng = random.Random(f"{name} {seed_of_run()}")
    check_scripts(tok, rng, 8)
    for normalizer in ("nfkc", "bert-uncased", "sentencepiece"):
        check_scripts(tok.with_(normalizer=normalizer), rng, 3)


FAMILIES: dict[str, dict[str, Any]] = {
    "bytes": {"vocab_size": 290},
    "characters": {"byte_level": False, "vocab_size": 120, "unk_token": "<unk>"},
    "unsplit": {"vocab_size": 290, "splitter": None},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 200, "unk_token": "<unk>"},
    "unigram": {"algorithm": "unigram", "vocab_size": 120},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 40, "unk_token": "<unk>"},
}


def trained(name: str) -> Tokenizer:
    return subwords.train([TEXT, "".join(ODD).replace("\0", "")], special_tokens=["<unk>", "<|x|>"], **FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.usefixtures("small_steps")
def test_versions_of_families_equal_the_whole_text(name: str, tmp_path: Path) -> None:
    tok, rng = trained(name), random.Random(f"{name} {seed_of_run()}")
    check_scripts(tok, rng, 30)
    if name == "unigram":  # as SentencePiece's files are read: sums of scores run across words
        tok.save(tmp_path / "tok.model")
        check_scripts(subwords.load(tmp_path / "tok.model"), rng, 30)


@pytest.mark.parametrize("name", FAMILIES)
def test_final_ids_stay_whatever_follows(name: str) -> None:
    """G2, by brute force: its twin tries all continuations of up to three characters."""
    tok, rng = trained(name), random.Random(f"{name} {seed_of_run()}")
    letters = ("l", "o", " ", "w", "\u0301")
    continuations = ["".join(each) for size in (1, 2, 3) for each in product(letters, repeat=size)]
    for _ in range(12):
        text = "".join(rng.choices(letters, k=rng.randint(1, 12)))
        ids, final = tok.encode(text), tok.growing(text).final
        truth = len(ids)
        for more in continuations:
            whole = tok.encode(text + more)
            while whole[:truth] != ids[:truth]:
                truth -= 1
        assert final <= truth, (text, final, truth)


def test_special_tokens_at_the_seams() -> None:
    tok = subwords.load("demo")
    name, index = next(iter(tok.special_tokens.items()))
    for place in range(1, len(name)):
        version = tok.growing("Light" + name[:place], special="allow")
        assert index not in version.ids
        whole = version.append(name[place:] + " and more")
        assert whole.ids.tolist() == tok.encode(whole.text, special="allow")
        assert index in whole.added
    with pytest.raises(InputError, match="special token"):
        _ = tok.growing("Light" + name, special="error").ids
    with pytest.raises(InputError, match="expected special to be"):
        tok.growing("a", special="yes")  # type: ignore[arg-type]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("space", ["\n", " ", "  ", "\t\n"])
def test_whitespace_that_a_token_strips_is_no_cut(space: str, data: Path) -> None:
    tok = subwords.load(file_of(data, "phi-3/phi-3-mini-tokenizer.json"))
    if "<|system|>" not in tok.special_tokens:
        tok = tok.with_tokens(["<|system|>"], rstrip=True)
    for size in range(1, 24):
        version = tok.growing("x" * size + " them: <|system|>" + space, special="allow").append("SK]ftext|> newer low")
        for longer in (version, version.append(" lower words and so on it goes")):
            assert longer.ids.tolist() == tok.encode(longer.text, special="allow")


def test_versions_share_their_storage() -> None:
    tok = subwords.load("demo")
    base = tok.growing(TEXT * 40)
    forks = [base.append(f" {number}") for number in range(1000)]
    assert all(fork.ids.tolist() == tok.encode(fork.text) for fork in forks[::97])
    assert len({id(fork._block) for fork in forks}) == 1
    assert base.text == TEXT * 40  # and has not changed
    with pytest.raises(ValueError, match="read-only"):
        forks[0].added[0] = 1


def test_given_ids_are_kept() -> None:
    tok = subwords.load("demo")
    answer = tok.encode("refra") + tok.encode("cted")
    version = tok.growing("Light is ").append(ids=answer)
    assert version.ids.tolist() == tok.encode("Light is ") + answer
    assert version.text == "Light is refracted"
    assert version.added.tolist() == answer
    after = version.append(" twice.")
    assert after.ids.tolist() == version.ids.tolist() + tok.encode(" twice.")
    whole = tok.encode(after.text)
    assert after.drift is not None
    assert after.ids.tolist()[: after.drift] == whole[: after.drift]
    assert after.ids[after.drift] != whole[after.drift]
    assert tok.growing("Light is refracted").drift is None
    assert [after.text[start:stop] for start, stop in after.spans] == [tok.decode([index]) for index in after.ids]
    assert after.edit(len(after.text) - 1, len(after.text), "!").text.endswith("twice!")
    with pytest.raises(InputError, match="expected a place after given ids, which end at 18, not 3"):
        after.edit(3, 4, "")
    with pytest.raises(InputError, match="expected ids from 0 to"):
        version.append(ids=[tok.vocab_size])
    with pytest.raises(InputError, match="text or ids, not both"):
        version.append("a", ids=[1])


def test_spans_are_those_of_the_whole_text() -> None:
    tok = subwords.load("demo")
    version = tok.growing(TEXT * 20).append("naïve")
    assert np.array_equal(version.spans, tok(version.text).spans)


def test_bad_input_changes_nothing() -> None:
    tok = subwords.load("demo")
    version, stream = tok.growing("Light"), tok.encode_stream()
    with pytest.raises(InputError, match="surrogate"):
        version.append("\ud800")
    with pytest.raises(InputError, match="expected text"):
        version.append(b"a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected start to be"):
        version.edit(6, 7, "")
    ids = stream.feed("Rays of ").tolist()
    for bad, message in (("\ud800", "surrogate"), (1, "expected str or bytes, not int")):
        with pytest.raises(InputError, match=message):
            stream.feed(bad)  # type: ignore[arg-type]
    ids += [*stream.feed(b"caf\xc3")]
    with pytest.raises(InputError, match="expected the rest of a character"):
        stream.feed("a")
    ids += [*stream.feed(b"\xa9"), *stream.finish()]
    assert ids == tok.encode("Rays of café")
    assert not len(stream.finish())
    with pytest.raises(InputError, match="after finish"):
        stream.feed("a")
    for value in (version, stream, PromptCache(tok)):
        with pytest.raises(InputError, match="cannot be"):
            value.__reduce__()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("small_steps")
def test_streams_equal_the_whole_text(name: str, data: Path) -> None:
    """G3: pieces of any size, as text and as bytes cut inside characters."""
    tok, rng = subwords.load(file_of(data, name)), random.Random(f"{name} {seed_of_run()}")
    for _ in range(20):
        text = "".join(piece(rng, tok) for _ in range(rng.randint(1, 8)))
        special, as_bytes = policy(rng, tok), rng.random() < 0.5
        whole: Any = text.encode() if as_bytes else text
        stream, found, start = tok.encode_stream(special=special), list[int](), 0
        while start < len(whole):
            size = rng.choice([1, 2, 7, 100])
            found += stream.feed(whole[start : start + size]).tolist()
            start += size
        found += stream.finish().tolist()
        assert found == tok.encode(text, special=special), (special, text)


def test_streams_take_bytes_that_are_not_text() -> None:
    tok = subwords.load("demo")
    data = b"Light \xff is \xe2\x82 refracted \xf0\x9f"
    for size in (1, 2, 3, 50):
        stream = tok.encode_stream()
        ids = [index for start in range(0, len(data), size) for index in stream.feed(data[start : start + size])]
        assert ids + stream.finish().tolist() == tok.encode(data)


@pytest.mark.parametrize("run", ["a", "ab", "-", "acgt", "ไทย", " "])
def test_long_words_have_the_ids_of_the_whole_text(run: str) -> None:
    """Versions, and the ids of each, without a cut; also after an edit inside the word."""
    tok, rng = subwords.load("demo"), random.Random(f"{run} {seed_of_run()}")
    text = "".join(rng.choices(run, k=4000)) if run == "acgt" else run * (4000 // len(run))
    version = tok.growing()
    for start in range(0, len(text), 170):
        version = version.append(text[start : start + 170])
        assert version.ids.tolist() == tok.encode(version.text)
    for more in ("a", " b", "-", "'s"):
        assert version.append(more).ids.tolist() == tok.encode(version.text + more)
        middle = len(text) // 2
        edited = version.edit(middle, middle + 1, more)
        assert edited.ids.tolist() == tok.encode(text[:middle] + more + text[middle + 1 :])


@pytest.mark.parametrize("name", ["unigram", "bytes"])
@pytest.mark.parametrize("run", ["a", "-", "\u0301", "ab", "<|endo", " "])
def test_text_without_cuts_is_read_a_few_times(name: str, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, if ids are read at the end: text is sought for cuts again when it has doubled."""
    tok, read = trained(name), 0
    last, after = growing.ProvedCuts.last, growing.Grower.after

    def counted(self: Any, text: str, start: int, stop: int) -> int:
        nonlocal read
        read += stop - start
        return last(self, text, start, stop)

    def counted_after(self: Any, before: Any, text: str) -> Any:
        nonlocal read
        read += len(text)
        return after(self, before, text)

    monkeypatch.setattr(growing.ProvedCuts, "last", counted)
    monkeypatch.setattr(growing.Grower, "after", counted_after)
    text = run * (60_000 // len(run))
    stream, version = tok.encode_stream(), tok.growing()
    ids = [stream.feed(text[place : place + 100]) for place in range(0, len(text), 100)]
    for place in range(0, len(text), 100):
        version = version.append(text[place : place + 100])
    assert np.array_equal(np.concatenate([*ids, stream.finish()]), version.ids)
    assert read < 16 * len(text)  # encoding all again each time would be 600 times


@pytest.mark.parametrize("name", FILES[::3])
@pytest.mark.usefixtures("small_steps")
def test_cached_prompts_equal_the_whole_text(name: str, data: Path) -> None:
    tok, rng = subwords.load(file_of(data, name)), random.Random(f"{name} {seed_of_run()}")
    for most in (1 << 16, 1 << 28):
        special = rng.choice(["text", "allow"])
        cache, texts = PromptCache(tok, special=special, max_bytes=most), [""]  # type: ignore[arg-type]
        for _ in range(60):
            text = rng.choice(texts)
            text = text[: rng.randint(0, len(text))] if rng.random() < 0.4 else text
            texts.append((text + "".join(piece(rng, tok) for _ in range(rng.randint(0, 4))))[:4000])
            salt = rng.choice([None, "a", b"a"])
            assert cache.encode(texts[-1], salt=salt) == tok.encode(texts[-1], special=special), texts[-1]  # type: ignore[arg-type]
            check_tree(cache)


def check_tree(cache: PromptCache) -> None:
    """The sizes add up, within the limit; each node was used after its children."""
    nodes, open_nodes = list[Any](), [*cache._roots.values()]
    while open_nodes:
        nodes.append(node := open_nodes.pop())
        open_nodes += node.children.values()
        for key, child in node.children.items():
            assert child.text[0] == key == child.key
            assert child.parent is node
    assert sum(node.size for node in nodes) == cache.stats.bytes <= cache._most
    order = {node: place for place, node in enumerate(cache._used)}
    assert order.keys() == {*nodes}
    assert all(order[child] < order[node] for node in nodes for child in node.children.values())


def test_a_cache_keeps_what_was_used_last() -> None:
    tok = subwords.load("demo")
    cache = PromptCache(tok, max_bytes=1 << 16)
    first, others = TEXT * 2, [f"{number} " + TEXT * 4 for number in range(60)]
    for other in others:
        cache.encode(first)
        cache.encode(other)
    known = cache.stats.known
    cache.encode(first)
    kept = cache.stats.known - known
    cache.encode(others[0])
    assert kept > 50
    assert cache.stats.known - known - kept < 20
    cache.clear()
    assert cache.stats.bytes == 0


def test_salts_share_nothing() -> None:
    cache = PromptCache(subwords.load("demo"))
    cache.encode(TEXT, salt="one")
    cache.encode(TEXT, salt="two")
    assert cache.stats.known == 0
    cache.encode(TEXT, salt="one")
    assert cache.stats.known > 50
    for wrong, message in (({"max_bytes": 1}, "max_bytes"), ({"special": "no"}, "special")):
        with pytest.raises(InputError, match=message):
            PromptCache(subwords.load("demo"), **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected text as str"):
        cache.encode(b"a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected salt"):
        cache.encode("a", salt=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="surrogate"):
        cache.encode("a\ud800")


def test_threads_share_a_cache() -> None:
    tok, wrong = subwords.load("demo"), list[str]()
    cache = PromptCache(tok, max_bytes=1 << 17)

    def run(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(200):
            text = TEXT[: rng.randrange(len(TEXT))] + TEXT * 3 + rng.choice(ODD) * rng.randint(1, 9)
            if cache.encode(text, salt=rng.choice([None, "a"])) != tok.encode(text):
                wrong.append(text)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.stats.texts == 1600
    check_tree(cache)
