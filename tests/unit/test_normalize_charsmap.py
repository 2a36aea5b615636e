"""SentencePiece's character map: writing, reading, broken maps."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from building import read_model as read
from charsmap import write_charsmap
from engines import normalizer
from inside import GraphemeStage, Precompiled, SentencePiece, read_charsmap
from normalizing import MAPS, RULES, textbook
from small_data import file_of, is_small
from strategies import texts
from subwords import FormatError, InputError
from subwords.machine import NormalizerEngine, PieceType, model_class
from subwords.reference.normalize import matches

MAP = MAPS[0]


def with_units(changes: dict[int, int], data: bytes = MAP) -> bytes:
    """A map with some units changed."""
    units = np.frombuffer(data, "<u4", int.from_bytes(data[:4], "little") // 4, 4).copy()
    for at, value in changes.items():
        units[at] = value
    return data[:4] + units.tobytes() + data[4 + units.nbytes :]


def test_what_is_written_is_found() -> None:
    for key, replacement in RULES.items():
        assert list(matches(MAP, key.encode()))[-1] == (len(key.encode()), replacement.encode())


def test_members_of_a_map() -> None:
    got = read_charsmap(write_charsmap({"a": "x", "ab": " y", "é\u0301中": "", "<x": "z"}))
    assert got.single[0].tolist() == [ord("a")]
    assert [chr(code) for code in np.flatnonzero(got.firsts)] == ["<", "a", "é"]
    assert [chr(code) for code in np.flatnonzero(got.seconds)] == ["b", "x", "\u0301"]
    assert [chr(code) for code in np.flatnonzero(got.later)] == ["b", "x", "\u0301", "中"]
    assert got.pairs == {(ord("a"), ord("b")), (ord("<"), ord("x"))}
    spaced = [at for at in got.values.tolist() if got.text[at:].startswith(b" ")]
    assert [chr(code) for code in np.flatnonzero(got.begins(np.array(spaced)))] == ["a"]


def test_many_rules() -> None:
    rng = random.Random(3)
    print("seed 3")
    rules = {"".join(rng.choices("abcdé中😀", k=rng.randrange(1, 6))): str(rng.randrange(99)) for _ in range(3000)}
    data = write_charsmap(rules)
    for key, replacement in rules.items():
        assert list(matches(data, key.encode()))[-1] == (len(key.encode()), replacement.encode())


def test_a_map_is_small_where_rules_are_few() -> None:
    assert len(write_charsmap({chr(code): " " for code in range(0x2000, 0x2010)})) < 4096


@pytest.mark.parametrize("rules", [{"": "a"}, {"a\0": "b"}, {"a": "\0"}])
def test_rules_that_a_map_cannot_hold(rules: dict[str, str]) -> None:
    with pytest.raises(InputError, match="expected charsmap rules without NUL and without an empty string"):
        write_charsmap(rules)


SIZE = int.from_bytes(MAP[:4], "little")
LEAF = 1 << 31


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0", "invalid precompiled charsmap: expected 4 bytes .*; got 1 bytes"),
        (MAP[:4], "invalid precompiled charsmap: expected 4 bytes"),
        (MAP[:1000], "invalid precompiled charsmap: expected 4 bytes"),
        (b"\xff\xff\xff\xff" + MAP[4:], "invalid precompiled charsmap: expected 4 bytes .* size 4294967295"),
        ((SIZE - 4).to_bytes(4, "little") + MAP[4:], "a multiple of 1024"),
        ((0).to_bytes(4, "little") + MAP[4:], "a multiple of 1024"),
        (MAP[: 4 + SIZE], "invalid precompiled charsmap: expected 4 bytes"),
        (MAP + b"x", "invalid precompiled charsmap: expected NUL at its end"),
        (MAP + b"\xc3\0", "of its replacements is not UTF-8"),
        (with_units({0: 0}), "invalid precompiled charsmap: expected all nodes within"),
        (with_units({0: 0xFFFFFFFF}), "invalid precompiled charsmap: expected all nodes within"),
        (with_units({0: (SIZE // 4) << 10}), "invalid precompiled charsmap: expected all nodes within"),
        (with_units({5: (SIZE // 4 + 7) << 10 | 5}), "invalid precompiled charsmap: expected all nodes within"),
        (with_units({SIZE // 4 - 1: LEAF | 0xFFFFFF}), "expected all replacements within its"),
    ],
)
def test_broken_maps(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_charsmap(data)


def units_of(data: bytes) -> list[int]:
    return np.frombuffer(data, "<u4", int.from_bytes(data[:4], "little") // 4, 4).tolist()


def leaf_of(units: list[int], char: str) -> int:
    """Where the value of a string of one character is."""
    node = next(at for at, unit in enumerate(units) if unit & (LEAF | 0xFF) == ord(char))
    return node ^ units[node] >> 10


def test_a_leaf_that_is_a_node() -> None:
    data = write_charsmap({"a": "b"})
    leaf = leaf_of(units_of(data), "a")
    with pytest.raises(FormatError, match="expected a value, not a node, at the end of a string"):
        read_charsmap(with_units({leaf: 0}, data))


def test_strings_that_are_no_characters() -> None:
    data = write_charsmap({"é": "e"})
    units = units_of(data)
    lead = next(at for at, unit in enumerate(units) if unit & (LEAF | 0xFF) == 0xC3)
    tail = next(at for at, unit in enumerate(units) if unit & (LEAF | 0xFF) == 0xA9)
    base = lead ^ units[lead] >> 10
    for wrong in (0x41, 0xC3):
        moved = {tail: 0, base ^ wrong: (base ^ wrong ^ tail ^ units[tail] >> 10) << 10 | 1 << 8 | wrong}
        with pytest.raises(FormatError, match="expected all strings in UTF-8"):
            read_charsmap(with_units(moved, data))


def test_a_replacement_that_begins_within_a_character() -> None:
    data = write_charsmap({"a": "é"})
    leaf = leaf_of(units_of(data), "a")
    with pytest.raises(FormatError, match=r"the replacement at .* starts inside a character"):
        read_charsmap(with_units({leaf: LEAF | 1}, data))


def test_strings_that_go_round_in_circles_end_with_the_text() -> None:
    """A node may be its own child, as far as SentencePiece is concerned: any number of a, and then b."""
    data = write_charsmap({"ab": "x"})
    units = units_of(data)
    node = next(at for at, unit in enumerate(units) if unit & (LEAF | 0xFF) == ord("a"))
    base = node ^ units[node] >> 10
    again = base ^ ord("a")
    assert units[again] == LEAF  # none
    data = with_units({again: (again ^ base) << 10 | ord("a")}, data)
    rule = normalizer(SentencePiece(data, False, False))
    assert rule.normalize("aaab" + "a" * 5000 + "ab" + "aaac") == "xxaaac"


def test_damaged_maps_are_refused_or_right() -> None:
    """Bits flipped anywhere: nothing is read or written beyond, and what is done is what the textbook does."""
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    text = "ab abab e\u0301 ﬁ x y  中か\u3099… 😀\u200d©\u0e33"
    accepted = 0
    for _ in range(400):
        data = bytearray(MAP)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(4, len(data))] ^= 1 << rng.randrange(8)
        try:
            read_charsmap(bytes(data))
        except FormatError:
            continue
        accepted += 1
        for step in (SentencePiece(bytes(data)), Precompiled(bytes(data))):
            assert normalizer(step).normalize(text).encode() == textbook(text.encode(), [step])[0]
    assert accepted > 20


@pytest.mark.parametrize("name", ["t5/spiece.model", "sentencepiece-own/test_model.model"])
def test_real_maps(data: Path, name: str) -> None:
    message = model_class().FromString(file_of(data, name).read_bytes())
    got = read_charsmap(message.normalizer_spec.precompiled_charsmap)
    assert len(got.single[0]) > 4700
    # Characters of Unicode 16, which a map of the installed SentencePiece has and one of earlier versions has not.
    newer = {0x113C2, 0x1611E, 0x16129, 0x16D67} if is_small(data) else set()
    assert set(np.flatnonzero(got.firsts & got.later).tolist()) <= newer
    assert chr(0x1161) in map(chr, np.flatnonzero(got.seconds))


def test_nul_leads_nowhere_in_a_written_map() -> None:
    """SentencePiece takes NUL for any other byte: a unit of zeros would be its child, and whatever is behind that."""
    print("seed 6")
    rng = random.Random(6)
    data = write_charsmap({"\u1680": " ", "\u2009": " ", "\t": " ", "ﬁ": "fi", "ab": "c"})
    message = model_class()()
    message.normalizer_spec.precompiled_charsmap = data
    message.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    message.pieces.add(piece="▁".encode(), score=-1)
    message.pieces.add(piece=b"a", score=-2)
    proto = message.SerializeToString()
    tok, peer = read(proto, "a.model"), sentencepiece.SentencePieceProcessor(model_proto=proto)
    every = ["\u1680\0\u2009", *("".join(rng.choices("\u1680\u2009\t\0\0ﬁab ", k=6)) for _ in range(1000))]
    assert tok.encode_batch(every).to_lists() == peer.encode(every)


@given(st.lists(texts(8) | st.lists(st.sampled_from([*RULES]), max_size=6).map("".join), max_size=4))
@example(["abé", "ab", "", "\u200b\u0301", "abab\u200b"])
def test_graphemes_of_many_texts_are_traced_as_those_of_each(batch: list[str]) -> None:
    stage, given = GraphemeStage(Precompiled(MAP)), [text.encode() for text in batch]
    bounds = np.cumsum([0, *map(len, given)])
    many = stage.apply(np.frombuffer(b"".join(given), np.uint8), bounds, tracked=True)
    assert many is not None
    for k, text in enumerate(given):
        one = stage.apply(np.frombuffer(text, np.uint8), np.array([0, len(text)]), tracked=True)
        assert one is not None
        start, stop = many[1][k : k + 2].tolist()
        assert many[0][start:stop].tobytes() == one[0].tobytes()
        assert many[2][start:stop].tolist() == [at if at < 0 else at + int(bounds[k]) for at in one[2].tolist()]


GRAPHEME_MAP = write_charsmap(RULES | {"™": "TM", "क": "k", "가": "g", "a": "bb"})
# Of each class of UAX 29: what joins only over others before it, and what makes short graphemes of it.
JOINING = [*"क\u094d\u200c\u200d\ufe0f©™😀\U0001f1e9\u1100\u1161가각\u11a8\u0600\u0301\u0e33\r\nae"]


@given(st.lists(st.sampled_from([*JOINING, *RULES]), max_size=9).map("".join))
@example("😀\u200d™\u0301")
@example("क\u094dक\u0301")
@example("\u1100가\u0301")
@example("a\u200b\xad\u200ba")
def test_graphemes_are_those_of_the_textbook(text: str) -> None:
    step = Precompiled(GRAPHEME_MAP)
    found, origin = NormalizerEngine.of(normalizer(step)).aligned(np.frombuffer(text.encode(), np.uint8))
    assert (found.tobytes(), origin.tolist()) == textbook(text.encode(), [step])
