"""Character classes: those of the pinned Unicode version, which the peers share (S3)."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Regex, normalizers

from subwords.split.unicode import (
    CATEGORIES,
    LETTER,
    NUMBER,
    SPACE,
    UNICODE_VERSION,
    WHITE_SPACE,
    categories,
    gpt2_classes,
)

SCALARS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize(("pattern", "member"), [(r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", SPACE)])
def test_class_is_that_of_hf_tokenizers_on_every_character(pattern: str, member: int) -> None:
    """HF tokenizers 0.23 is at Unicode 16.0 as well."""
    others = set(normalizers.Replace(Regex(pattern), "").normalize_str("".join(map(chr, SCALARS))))
    ref = {code for code in SCALARS if chr(code) not in others}
    classes = gpt2_classes()
    assert {code for code in SCALARS if classes[code] == member} == ref


@pytest.mark.parametrize(
    ("code", "category"), [(0x41, "Lu"), (0x0A, "Cc"), (0xD800, "Cs"), (0x0378, "Cn"), (0x10FFFD, "Co")]
)
def test_category_of_a_known_character(code: int, category: str) -> None:
    assert CATEGORIES[categories()[code]] == category


def test_characters_that_unicode_16_added_have_a_class_and_those_of_17_have_none() -> None:
    assert UNICODE_VERSION == "16.0"
    garay_letter, added_later = 0x10D4A, 0x16EA0
    assert gpt2_classes()[garay_letter] == LETTER
    assert CATEGORIES[categories()[added_later]] == "Cn"


def test_classes_cover_all_code_points_and_cannot_be_changed() -> None:
    classes = gpt2_classes()
    assert classes.shape == (0x110000,) and not classes.flags.writeable
    assert np.flatnonzero(classes == SPACE).tolist() == sorted(WHITE_SPACE)
