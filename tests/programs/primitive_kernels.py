"""Kernels of one primitive each; `tests/unit/test_primitives.py` loads this file as a module of kernels."""

from __future__ import annotations

from subwords.kernels.arithmetic import (
    classify,
    classify_members,
    few_lanes,
    lowest_lane,
    many_lanes,
    put_lane,
    some_lanes,
    write_bits,
    write_flagged_bits,
)
from subwords.kernels.jit import (
    U64,
    Int,
    bit_mask,
    char_at,
    clear64,
    copy16,
    copy64,
    deposit,
    fold_mask,
    leading_zeros,
    load64,
    mix,
    pointer,
    popcount,
    range_mask,
    store64,
    trailing_zeros,
)
from subwords.kernels.layout import U8s, U16s, U32s, U64s


def masks(text: U8s, i: Int, low: Int, high: Int, bit: Int, out: U64s) -> Int:
    p, o = pointer(text), pointer(out)
    o[0], o[1], o[2] = range_mask(p, i, low, high), fold_mask(p, i, low, high), bit_mask(p, i, bit)
    o[3] = load64(p, i)
    return 0


def numbers(x: U64s, out: U64s) -> Int:
    p, o = pointer(x), pointer(out)
    o[0], o[1], o[2] = deposit(p[0], p[1]), mix(p[0], p[1]), U64(trailing_zeros(p[0]))
    o[3], o[4] = U64(leading_zeros(p[0])), U64(popcount(p[0]))
    return 0


def copies(text: U8s, i: Int, j: Int, n: Int, words: U32s, x: U64s, out: U8s, wide: U32s) -> Int:
    p, w, o, q = pointer(text), pointer(words), pointer(out), pointer(wide)
    copy64(o, j, p, i)
    clear64(o, j + 64)
    copy16(q, j, w, i, n)
    store64(q, j + 16, pointer(x)[0])
    return 0


def code_point(text: U8s, i: Int) -> Int:
    return char_at(pointer(text), i)


def bits(out: U32s, flagged: U32s, i: Int, base: Int, given: U64s) -> Int:
    x = pointer(given)
    stop = write_bits(pointer(out), i, base, x[0])
    return 1000 * stop + write_flagged_bits(pointer(flagged), i, base, x[0], x[1])


def classes(text: U8s, i: Int, starts: U64s, small: U8s, wide: U16s, n: Int, q: U8s, r: U8s, codes: U16s) -> Int:
    x = pointer(starts)[0]
    classify(pointer(q), n, pointer(small), pointer(text), i, x)
    classify_members(pointer(q), pointer(r), pointer(codes), n + 128, pointer(wide), pointer(text), i, x)
    return 0


def lowest(codes: U32s, count: Int, i: Int, value: Int, out: U64s) -> Int:
    p, o = pointer(codes), pointer(out)
    if count == 64:
        many = many_lanes(p)
        o[0] = lowest_lane(many)
        o[1] = lowest_lane(put_lane(many, i, U64(value)))
        o[2] = lowest_lane(many)
    elif count == 32:
        some = some_lanes(p)
        o[0] = lowest_lane(some)
        o[1] = lowest_lane(put_lane(some, i, U64(value)))
        o[2] = lowest_lane(some)
    else:
        few = few_lanes(p)
        o[0] = lowest_lane(few)
        o[1] = lowest_lane(put_lane(few, i, U64(value)))
        o[2] = lowest_lane(few)
    return 0
