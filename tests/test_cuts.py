"""Texts are cut where no word changes: at every place, by every normalizer, splitter and tokenizer file (S4)."""

from __future__ import annotations

import random
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest

import subwords
from charsmap import write_charsmap
from engines import normalizer
from inside import Lowercase, Pipeline, Precompiled, Prepend, SentencePiece, Specials, corpus_count, cut_blocks
from inside import models_segmenter as segmenter
from inside import normalize_stages as stages
from inside import normalizer_NAMED as NORMALIZERS
from inside import normalizer_Replace as Replace
from inside import normalizer_Step as Step
from inside import normalizer_Strip as Strip
from inside import splitter_NAMED as NAMED
from normalizing import DECOMPOSING, HARD, RULES, SENTENCEPIECES, STEPS, scalars
from seeds import seed_of_run, sweep_seed
from small_data import file_of
from subwords.machine import Block, NormalizerEngine, Split, SplitBuffers, SplitterEngine, engine_of

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
# They become texts with spaces, nothing, or other characters, they compose, or they are bytes that are not UTF-8.
CHARACTERS = (
    *HARD,
    *(
        "\ufdfa",
        "\ufdfb",
        "\u037a",
        "\u2026",
        "\xa8",
        "\xad",
        "\u200b",
        "\u0e33",
        "\U0001f600",
        "\u0600",
        "\r\n",
        "\x07",
    ),
    *("  ", "▁", "x", "y", "<x>", "ab ", "\xa9", "\u1e9b\u0323", "\udcff", "\udce3\udc81", ".", "1", "'s", "-"),
)
# Rules for which a mark, a space or U+2581 is more than a border.
PATTERNS = (
    r"\p{M}+|\P{M}+",
    r"[\p{L} ]+|[^\p{L} ]",
    "▁[^▁]*|[^▁]+",
    " ?[^ ]+",
    r"\s+",
    r"\p{Lu}?\p{Ll}+|\p{M}|[^\p{L}\p{M}]+",
    "ab |<x>|e\u0301x|. ",
)
BEHAVIORS = ("isolated", "merged_with_previous", "merged_with_next", "contiguous", "removed")


def words_of(source: segmenter.WordSource, data: bytes, *, begins: bool = True, ends: bool = True) -> list[bytes]:
    found = []
    bounds = np.array([0, len(data)], np.int64)
    text = np.frombuffer(data, np.uint8)
    for part, base, stops, marks, _ in source.texts(text, bounds, SplitBuffers(), begins=begins, ends=ends):
        places = [base, *(base + stops[: int(marks[-1])].astype(np.int64)).tolist()]
        found += [part[a:b].tobytes() for a, b in pairwise(places)]
    return found


def check(source: segmenter.WordSource, text: str) -> int:
    """Cut a text at every place; return how many cuts there are."""
    data = text.encode("utf-8", "surrogateescape")
    whole, array = words_of(source, data), np.frombuffer(data, np.uint8)
    cuts = {source.cut(array[:at], at) for at in range(len(data) + 1)} - {0}
    cuts |= {source.cut(array, at) for at in range(0, len(data) + 1, 7)} - {0}
    for cut in cuts:
        parts = words_of(source, data[:cut], ends=False) + words_of(source, data[cut:], begins=False)
        assert parts == whole, (source, ascii(text), cut)
        # The rest of a text may be cut as the whole may be, whatever was before it.
        rest = array[cut:]
        for at in range(0, len(rest) + 1, 5):
            place = source.cut(rest, at, begins=False)
            if place:
                middle = words_of(source, data[cut : cut + place], begins=False, ends=False)
                last = words_of(source, data[cut + place :], begins=False)
                assert words_of(source, data[:cut], ends=False) + middle + last == whole, (
                    source,
                    ascii(text),
                    cut,
                    place,
                )
    return len(cuts)


def some_texts(rng: random.Random, count: int) -> list[str]:
    return [
        "".join(rng.choices(rng.sample(CHARACTERS, rng.choice((3, 6, 12))), k=rng.randint(1, 14))) for _ in range(count)
    ]


def a_charsmap(rng: random.Random) -> bytes:
    """Random strings of one to three characters that become random strings."""
    chars = [char for char in CHARACTERS if (char != "\0" and char.isprintable()) or char in "\u0301 \u200d"]
    keys = ["".join(rng.choices(chars, k=rng.choice((1, 1, 2, 3)))) for _ in range(12)]
    rules = {
        key: "".join(rng.choices((" ", "▁", "a", "e", "é", "\u0301", "中", "  "), k=rng.randint(0, 4))) for key in keys
    }
    return write_charsmap(rules | {key: RULES[key] for key in rng.sample(sorted(RULES), 5)})


def a_source(rng: random.Random) -> Pipeline:
    named = list(NORMALIZERS.values())
    if rng.random() < 0.3:
        flags = (rng.random() < 0.5 for _ in range(4))
        users = rng.choice(((), ("<x>", "a", "ab ", "▁", " ", "e\u0301x")))
        steps: tuple[Step, ...] = (SentencePiece(a_charsmap(rng), *flags, users),)
    elif rng.random() < 0.3:
        steps = rng.choice(named)
    else:
        steps = tuple(
            rng.choice((rng.choice(STEPS), rng.choice(SENTENCEPIECES))) for _ in range(rng.choice((1, 1, 2, 3)))
        )
    own = (Split(rng.choice(PATTERNS), rng.choice(BEHAVIORS)),)
    return Pipeline(NormalizerEngine(steps), SplitterEngine(rng.choice((*NAMED.values(), own, own))))


def check_sources(seed: int, count: int) -> int:
    print(f"seed {seed}")
    rng = random.Random(seed)
    return sum(check(source, text) for source in (a_source(rng) for _ in range(count)) for text in some_texts(rng, 6))


def test_a_character_that_becomes_several_words_is_not_cut() -> None:
    # U+FDFA becomes four words.
    step = SentencePiece(write_charsmap({"\ufdfa": "a bc d e"}), True, True, True, False, ())
    source = Pipeline(NormalizerEngine((step,)), SplitterEngine((Split("▁[^▁]*|[^▁]+"),)))
    assert check(source, "و\ufdfa" * 9 + " x" + "\ufdfa y" * 4) > 3


def test_a_beginning_that_becomes_nothing() -> None:
    # What is inserted before the text then comes from no character.
    steps = (Lowercase(), Strip(), Prepend("_x"), Replace("x", "y"))
    assert check(Pipeline(NormalizerEngine(steps), SplitterEngine(NAMED["whitespace"])), "\t   a, b, c d, e") > 0


def test_random_normalizers_and_splitters() -> None:
    assert check_sources(5, 30) > 75


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
def test_many_random_normalizers_and_splitters(part: int) -> None:
    assert check_sources(1000 * sweep_seed() + part, 1500) > 3000


# Replacements that reach over two characters, and look beyond them.
REACHING: list[Step] = [
    *(Replace("  ", " "), Replace("e\u0301", "x"), Replace("x é", "ab"), Replace("▁▁", ""), Replace("xé", "y")),
    *(
        Replace(" {2,}", " ", True),
        Replace(" {2,}", "▁", True),
        Replace(" +", "", True),
        Replace("[ ▁]{2}", "x ", True),
    ),
    *(Replace("ab?|aab", "b", True), Replace(r"\n(?!\n)", " ", True), Replace("(?>a|ab)c*b", "-", True)),
    *(
        Replace(r"\s+$", "", True),
        Replace(r"\b[xy]", "ab ", True),
        Replace("(?:x|xy)(?=e| )", "  ", True),
        Strip(False),
    ),
]


def check_steps(rng: random.Random, steps: tuple[Step, ...]) -> int:
    """Normalize both sides of each place at which a cut is said to be safe; return how many there are."""
    engine, count = NormalizerEngine(steps), 0
    for text in some_texts(rng, 12):
        data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        for begins, ends in product((True, False), repeat=2):
            (whole, _) = engine.apply(data, np.array([0, len(data)]), stages.Position(begins, ends))
            for cut in {engine.cut(data[:at], at) for at in range(len(data) + 1)} - {0}:
                parts = ((data[:cut], stages.Position(begins, False)), (data[cut:], stages.Position(False, ends)))
                found = [engine.apply(part, np.array([0, len(part)]), of)[0].tobytes() for part, of in parts]
                assert b"".join(found) == whole.tobytes(), (steps, ascii(text), cut, begins, ends)
                count += 1
    return count


def test_steps_of_all_kinds_start_anew_at_cuts() -> None:
    rng, count = random.Random(seed_of_run()), 0
    for _ in range(40):
        kinds = (rng.choice(STEPS), rng.choice(SENTENCEPIECES), *rng.sample(REACHING, 3), Precompiled(a_charsmap(rng)))
        count += check_steps(rng, tuple(rng.choices(kinds, k=rng.choice((1, 2, 2, 3, 4)))))
    assert count > 300


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    "text", ["The rays of light, and so on.\n", "प्रकाश की किरणें और रंग। ", "빛은 굴절된다. 그리고\n", "光线，会折射。\n"]
)
def test_steps_in_sequence_keep_their_cuts(text: str) -> None:
    """What transformers writes for T5 and others, and what `save` does: cuts are near each other in all scripts."""
    charsmap = Precompiled(write_charsmap({"\n": " ", "\xa0": " ", "ﬁ": "fi", "e\u0301": "é"}))
    ends = (Replace(" {2,}", "▁", True), Strip(left=False), Replace("  ", " "), Lowercase(), Prepend("▁"))
    data = np.frombuffer((text * 6).encode(), np.uint8)
    for size in (1, 2, 3):
        for more in permutations(ends, size):
            engine = NormalizerEngine((charsmap, *more))
            cuts = sorted({engine.cut(data[:at], at) for at in range(len(data) + 1)})
            assert np.diff(cuts).max() <= len(text.encode()), (more, cuts)


# ------------------------------------------------------------------ tokenizer files

FILES = (
    *("albert/spiece.model", "bert/bert-base-cased-vocab.txt", "bert/bert-base-chinese-vocab.txt"),
    *("bert/bert-base-uncased-tokenizer.json", "clip/tokenizer.json", "falcon/tokenizer.json"),
    *("gpt-neox/tokenizer.json", "gpt2/tokenizer.json", "marian-en-mg/source.spm", "mistral/tokenizer.model.v1"),
    *("mistral/mistral_instruct_tokenizer_240323.model.v3", "phi-2/tokenizer.json", "phi-3/tokenizer.json"),
    *("roberta/tokenizer.json", "sentencepiece-own/test_ja_model.model", "sentencepiece-own/test_model.model"),
    *("t5/spiece.model", "t5/tokenizer.json", "converted/cl100k_base.tokenizer.json", "converted/qwen3.tokenizer.json"),
    *("tiktoken/o200k_base.tiktoken", "tiktoken/p50k_base.tiktoken"),
)
SMALL = ("t5/spiece.model", "bert/bert-base-uncased-tokenizer.json", "gpt2/tokenizer.json", "albert/spiece.model")


def sources_of(path: Path) -> list[segmenter.WordSource]:
    engine = engine_of(subwords.load(path))
    return [engine.encoder.splitter, *([engine.plain._encoder.splitter] if engine.plain else [])]


def all_characters(rng: random.Random, share: float) -> list[str]:
    """Texts with a share of all code points, each among others and beside spaces."""
    chars = [*DECOMPOSING, *map(chr, scalars())]
    rng.shuffle(chars)
    chars = chars[: int(len(chars) * share)]
    between = ("", "", "a", " ", "e", "  ", "\u0301")
    return ["".join(char + rng.choice(between) for char in chars[k : k + 60]) for k in range(0, len(chars), 60)]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", SMALL)
def test_small_files(small_data: Path, name: str) -> None:
    rng = random.Random(name)
    for source in sources_of(file_of(small_data, name)):
        for text in [*some_texts(rng, 40), *all_characters(rng, 0.0005)]:
            check(source, text)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", FILES)
def test_real_files(shared_data: Path, name: str) -> None:
    rng = random.Random(name)
    for source in sources_of(shared_data / "tokenizers" / name):
        for text in some_texts(rng, 12):
            check(source, text)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FILES)
def test_all_characters_by_real_files(shared_data: Path, name: str) -> None:
    rng = random.Random(f"{name}{sweep_seed()}")
    for source in sources_of(shared_data / "tokenizers" / name):
        for text in [*some_texts(rng, 400), *all_characters(rng, 0.02)]:
            check(source, text)


# ------------------------------------------------------------------ blocks of a corpus


def blocks_of(rng: random.Random, texts: list[str], size: int) -> list[Block]:
    """The texts, cut between any two characters into blocks of about this size."""
    blocks: list[Block] = []
    data, ends = b"", list[int]()
    for text in filter(None, texts):
        for k, char in enumerate(text):
            data += char.encode()
            if k == len(text) - 1:
                ends.append(len(data))
            if len(data) >= size * rng.random():
                blocks.append(Block(data, np.array(ends, np.int64), "text", 0))
                data, ends = b"", []
    return [*blocks, Block(data, np.array(ends, np.int64), "text", 0)] if data else blocks


@pytest.mark.parametrize("special", [(), ("e",)])
def test_blocks_at_every_two_places(special: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    # A mark composes with the letter of an earlier block, unless a special token or a document ends there.
    monkeypatch.setattr("subwords.normalize.normalizer.NEAR_BYTES", 6)
    source = Pipeline(NormalizerEngine(NORMALIZERS["nfc"]), SplitterEngine((Split(r"[\p{L} ]+|[^\p{L} ]"),)))
    text = "eae\u0301 x\u0301\u0301 ye\u0301 z z z"
    ref = dict(
        corpus_count.count_blocks(
            [Block(text.encode(), np.array([len(text.encode())]), "text", 0)], source, special_tokens=special
        )
    )
    for first, second in combinations(range(1, len(text)), 2):
        parts = [text[:first].encode(), text[first:second].encode(), text[second:].encode()]
        blocks = [Block(part, np.empty(0, np.int64), "text", 0) for part in parts[:2]]
        blocks.append(Block(parts[2], np.array([len(parts[2])]), "text", 0))
        assert dict(corpus_count.count_blocks(blocks, source, special_tokens=special)) == ref, (first, second)


def check_blocks(seed: int, count: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(count):
        source = a_source(rng)
        texts = [text for text in some_texts(rng, 12) if text.isprintable() or text.isascii()]
        texts = [text.encode("utf-8", "ignore").decode() for text in texts] + ["e", "\u0301 x y", "ae"]
        specials = rng.choice(((), ("<x>",), ("e", "ae", " x"), ("\u0301",)))
        ref = dict(corpus_count.count_blocks(blocks_of(rng, texts, 1 << 20), source, special_tokens=specials))
        whole = [Block(text.encode(), np.array([len(text.encode())], np.int64), "text", 0) for text in texts if text]
        assert dict(corpus_count.count_blocks(whole, source, special_tokens=specials)) == ref, source
        for size in (2, 12, 60):
            got = dict(corpus_count.count_blocks(blocks_of(rng, texts, size), source, special_tokens=specials))
            assert got == ref, (source, specials, texts)


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Little context: otherwise cuts in texts as short as these would not depend on it.
    monkeypatch.setattr("subwords.normalize.normalizer.NEAR_BYTES", 6)
    check_blocks(3, 20)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
def test_many_blocks(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.normalize.normalizer.NEAR_BYTES", 6)
    check_blocks(1000 * sweep_seed() + part, 600)


@pytest.mark.parametrize("rule", ["sentencepiece", "▁[^▁]*|[^▁]+"])
def test_a_long_text_is_cut(rule: str) -> None:
    # Or all of a file would have to be in memory.
    text = OPTICKS.read_text("utf-8")
    words = Pipeline(normalizer("sentencepiece"), subwords.splitter(rule))
    pieces = [text[at : at + (1 << 14)].encode() for at in range(0, len(text), 1 << 14)]
    blocks = [Block(piece, np.empty(0, np.int64), "text", 0) for piece in pieces[:-1]]
    blocks.append(Block(pieces[-1], np.array([len(pieces[-1])]), "text", 0))
    parts = list(cut_blocks(blocks, words.cut, Specials(())))
    assert len(parts) > len(text) >> 15
    assert max(len(piece.text) for piece in parts) < 1 << 15
    assert [piece.begins for piece in parts] == [True] + [False] * (len(parts) - 1)
    assert [piece.ends for piece in parts] == [False] * (len(parts) - 1) + [True]
