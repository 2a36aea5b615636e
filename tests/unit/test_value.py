"""Values: equal content is an equal digest, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
import pytest

from inside import Value, digest_of, read_only


@dataclass(frozen=True, eq=False)
class Pair(Value):
    left: object
    right: object
    note: str = field(default="", compare=False)

    @cached_property
    def both(self) -> object:
        return self.left, self.right


DIFFERENT = [
    *(None, True, 1, 1.0, "1", b"1", (), (1,), ((1,),), (1, 1), frozenset({1}), frozenset({"1"}), "", b""),
    *(np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros((1, 2), np.int64), np.zeros(3, np.int64)),
    *(Pair(1, 2), Pair(2, 1), Pair((1, 2), 2), Pair(1, (2,)), ("a", "bc"), ("ab", "c")),
]


def test_different_values_have_different_digests() -> None:
    for one, other in combinations(DIFFERENT, 2):
        assert digest_of(one) != digest_of(other), (one, other)


def test_equal_values_have_equal_digests() -> None:
    assert digest_of(frozenset("abc")) == digest_of(frozenset("cba"))
    assert Pair(1, np.arange(3)) == Pair(1, np.arange(6)[:3])
    assert Pair(1, 2, note="a") == Pair(1, 2, note="b")
    assert hash(Pair(1, "é")) == hash(Pair(1, "é"))
    assert Pair(1, 2) != (1, 2)


def test_digest_is_the_same_on_every_machine() -> None:
    assert digest_of((1, "a", b"b", None, 1.5)) == "772b9ff7e9d85bedb3cb3e99eaa8e43d959a2c96c8ec726736b18cc7584738fe"


def test_cached_properties_are_not_pickled() -> None:
    pair = Pair(1, 2)
    before = pair.__getstate__()
    assert pair.both == (1, 2)
    assert pair.digest
    assert pair.__getstate__() == before == {"left": 1, "right": 2, "note": ""}


def test_what_has_no_digest_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="expected a plain value to digest, not list"):
        digest_of([1])


def test_read_only_leaves_the_array_itself() -> None:
    array = np.zeros(2)
    assert not read_only(array).flags.writeable
    assert array.flags.writeable
