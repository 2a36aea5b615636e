"""Limits of memory."""

from __future__ import annotations

import pytest

from inside import LEAST_BLOCK, LEAST_ROOM, MOST_BLOCK, TABLES, bytes_of, room_of, threads_within
from subwords import InputError


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("2GB", 2 * 10**9), ("2g", 2 * 10**9), ("512 MiB", 512 << 20), ("0.5TB", 10**12 // 2), ("77", 77), (77, 77)],
)
def test_amounts(amount: int | str, expected: int) -> None:
    assert bytes_of(amount) == expected


@pytest.mark.parametrize("amount", ["", "GB", "2 XB", "-1GB", "1e9", 0, -5, True, 1.5, None, "99999999999TB"])
def test_what_is_no_amount(amount: object) -> None:
    with pytest.raises(InputError, match="expected a number of bytes, or an amount such as"):
        bytes_of(amount)  # type: ignore[arg-type]


def test_room_is_what_this_process_does_not_use_yet() -> None:
    room = room_of(1 << 40)
    assert 0 < room < 1 << 40
    held = bytearray(b"x" * (64 << 20))
    assert room_of(1 << 40) < room - (32 << 20)
    del held
    with pytest.raises(InputError, match="expected at least"):
        room_of((1 << 40) - room + LEAST_ROOM // 2)


def test_threads_within() -> None:
    for megabytes in range(130, 3000, 50):
        room = megabytes << 20
        threads, block = threads_within(room, 8)
        assert LEAST_BLOCK <= block <= MOST_BLOCK
        assert threads * TABLES <= room
    assert threads_within(1 << 40, 8) == (8, MOST_BLOCK)
    with pytest.raises(InputError, match="MB of memory besides"):
        threads_within(TABLES, 8)
