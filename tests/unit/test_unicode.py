"""Character classes: those of the pinned Unicode version, which the peers share (S3)."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Regex, normalizers

from characters import members_in_regex, settled
from inside import (
    CATEGORIES,
    GENERAL_CATEGORIES,
    PROPERTIES,
    SCRIPTS,
    UNICODE_VERSION,
    WHITE_SPACE,
    categories,
    first_names,
    gpt2_classes,
)
from inside import kernels_layout as layout
from seeds import sweep_seed
from subwords.machine import property_members

SCALARS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@pytest.mark.rotating(2)
@pytest.mark.parametrize(
    ("pattern", "member"), [(r"\p{L}", layout.LETTER), (r"\p{N}", layout.NUMBER), (r"\s", layout.SPACE)]
)
def test_class_is_that_of_hf_tokenizers_on_every_character(pattern: str, member: int) -> None:
    classes = gpt2_classes()
    assert {code for code in SCALARS if classes[code] == member} == members_in_hf(pattern)


def members_in_hf(pattern: str) -> set[int]:
    """What a pattern one character wide matches in HF tokenizers, 0.23 being at Unicode 16.0 as well."""
    others = set(normalizers.Replace(Regex(pattern), "").normalize_str("".join(map(chr, SCALARS))))
    return {code for code in SCALARS if chr(code) not in others}


def test_characters_that_unicode_16_added_have_a_class_and_those_of_17_have_none() -> None:
    assert UNICODE_VERSION == "16.0"
    garay_letter, added_later = 0x10D4A, 0x16EA0
    assert gpt2_classes()[garay_letter] == layout.LETTER
    assert CATEGORIES[categories()[added_later]] == "Cn"


def test_classes_cover_all_code_points_and_cannot_be_changed() -> None:
    classes = gpt2_classes()
    assert classes.shape == (0x110000,) and not classes.flags.writeable
    assert np.flatnonzero(classes == layout.SPACE).tolist() == sorted(WHITE_SPACE)


NAMES = [
    name for table in (GENERAL_CATEGORIES, PROPERTIES, SCRIPTS) for entry in table.split() for name in entry.split(":")
]
OTHER_THAN_IN_17 = ("Extended_Pictographic", "ExtPict")


def test_every_property_is_that_of_regex() -> None:
    for name in [*NAMES[sweep_seed() % 4 :: 4], *OTHER_THAN_IN_17]:
        same = members_in_regex(rf"\p{{{name}}}") == property_members(name)
        assert same[settled()].all() == (name not in OTHER_THAN_IN_17), name


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", ["Alphabetic", "Extended_Pictographic", "Han", "LC"])
def test_property_is_that_of_hf_tokenizers_on_every_character(name: str) -> None:
    assert set(np.flatnonzero(property_members(name)).tolist()) - set(range(0xD800, 0xE000)) == members_in_hf(
        rf"\p{{{name}}}"
    )


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("Lu", "uppercase letter"),
        ("Lu", "gc=Lu"),
        ("Lu", "General_Category: Uppercase-Letter"),
        ("L", "IsL"),
        ("Han", "hani"),
        ("Han", "sc=Han"),
        ("Han", "SCRIPT = HANI"),
        ("Han", "Is_Han"),
        ("White_Space", "space"),
        ("Canadian_Aboriginal", "canadianaboriginal"),
    ],
)
def test_property_goes_by_other_names(name: str, spelling: str) -> None:
    assert property_members(spelling) is property_members(name)


@pytest.mark.parametrize("name", ["", "Foo", "IsFoo", "sc=L", "gc=Han", "x=L", "=", "L=", "InGreek", "scx=Han"])
def test_unknown_property_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        property_members(name)


def test_scripts_part_all_code_points() -> None:
    names = first_names(SCRIPTS)
    assert len(names) == len(set(names)) == 171
    assert (np.sum([property_members(name) for name in names], axis=0, dtype=np.uint8) == 1).all()
    assert not property_members("Han").flags.writeable


def test_script_of_characters_that_unicode_16_added_and_17_did() -> None:
    assert property_members("Garay")[0x10D4A] and property_members("Tulu_Tigalari")[0x11380]
    assert property_members("Unknown")[0x16EA0] and property_members("Unknown")[0xD800]
