"""The characters that masks classify at once: their classes, and words equal to the regex (S1)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from engines import splitter
from inside import PATTERNS, MaskRoute, gpt2_classes, much_is_odd
from inside import kernels_layout as layout
from inside import split_routes as routes
from seeds import sweep_seed
from subwords.reference.bpe import split_bytes

NAMES = ("gpt2", "cl100k", "llama3", "qwen2")
names = pytest.mark.parametrize("name", NAMES)
# As in kernels/split/masks.py, `usual_characters`.
LETTERS = (
    *(*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x2C0), *range(0x400, 0x480), *range(0x1E00, 0x1F00)),
    *(*range(0x620, 0x64B), *range(0x671, 0x6D4), *range(0x904, 0x93A), *range(0x958, 0x962)),
)
OTHERS = (*range(0x900, 0x904), *range(0x93E, 0x950))
# Their neighbours, which go another way; and what is no UTF-8.
NEIGHBOURS = (0xD7, 0xF7, 0x2C0, 0x482, 0x61F, 0x64B, 0x66A, 0x6D4, 0x93C, 0x93D, 0x950, 0x966, 0x2003)
BROKEN = (b"\xc3", b"\xe1\xb8", b"\xe0\xa4", b"\xe0", b"\x80", b"\xd9", b"\xf0\x9f", b"\xe1\xba\x41")
PLAIN = (b"a", b" ", b"1", b".", b"'s", b"\n", b"  ", b"\xe2\x80\x9c")


@pytest.fixture(scope="module", autouse=True)
def masks_alone() -> Iterator[None]:
    """The route by masks leaves no text to the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "SAMPLE", 1 << 40)
        yield


def check(data: bytes, name: str) -> None:
    expected = [*itertools.accumulate(map(len, split_bytes(data, PATTERNS[name])))]
    assert splitter(name).byte_spans(data)[:, 1].tolist() == expected, data


def test_classes() -> None:
    classes = gpt2_classes()
    assert set(classes[[*LETTERS]].tolist()) == {layout.LETTER}
    assert set(classes[[*OTHERS]].tolist()) == {0}


@pytest.mark.rotating(3)
@names
def test_each_character_at_a_place_of_a_block(name: str) -> None:
    assert isinstance(splitter(name).route, MaskRoute)
    for k, code in enumerate((*LETTERS, *OTHERS, *NEIGHBOURS)):
        for before in (k % 64, 61, 62, 63):
            check(b"x" * before + f"{chr(code)}b {chr(code)} 1{chr(code)}".encode(), name)


@names
def test_mixtures_with_what_is_no_utf8(name: str) -> None:
    rng = random.Random(sweep_seed())
    usual, near = ([chr(code).encode() for code in codes] for codes in ((*LETTERS, *OTHERS), NEIGHBOURS))
    for _ in range(150):
        pools = rng.choice([(usual, PLAIN), (usual, PLAIN, BROKEN), (usual, near, PLAIN, BROKEN)])
        check(b"".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(300))), name)


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Tiếng Việt viết bằng chữ Quốc ngữ. ", False),
        ("Съешь же ещё этих мягких булок. ", False),
        ("هذا نص مكتوب باللغة العربية ", False),
        ("यह हिन्दी में लिखा हुआ पाठ है ", False),
        ("นี่คือข้อความภาษาไทย", True),
        ("Αυτό είναι ένα κείμενο στα ελληνικά ", True),
        ("这是一段中文文本。", True),
    ],
)
def test_what_masks_are_for(text: str, odd: bool) -> None:
    sample = np.frombuffer((text * 9).encode(), np.uint8)
    assert much_is_odd(sample, routes.SplitBuffers()) == odd
