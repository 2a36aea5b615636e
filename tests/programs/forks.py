"""A child of a process that has compiled a kernel calls it and compiles another one."""

from __future__ import annotations

from forking import check_child, kernels

first, other = kernels(2)


def both():
    assert (first(3, 4), other(3, 4)) == (7, 8)


assert first(3, 4) == 7
check_child(both)
both()
check_child(both)
