"""Python's objects as kernels of the fast path see them: by address; see `fastpath.py`, which says what holds here."""

from __future__ import annotations

from collections.abc import Callable

from subwords.kernels.entry import (
    API,
    ASCII_BIT,
    ASCII_PLACE,
    BYTES_DATA,
    BYTES_SIZE,
    BYTES_TYPE,
    COMPACT,
    DATA,
    INT_NEW,
    KIND_SHIFT,
    LIST_ITEMS,
    LIST_NEW,
    NONE,
    RELEASE,
    STR_DATA,
    STR_LENGTH,
    STR_NEW,
    STR_TYPE,
    STR_UTF8,
    TAKE,
    TYPE,
)
from subwords.kernels.jit import I64, helper, inlined, primitive

# ------------------------------------------------------------------ primitives: they exist only as machine code


def _only_compiled(name: str) -> Callable[..., int]:
    def missing(*arguments: int) -> int:
        raise NotImplementedError

    missing.__name__ = name
    return primitive(missing)


# The integer at an address: of 64 bits, of 32 without a sign, of 8 without a sign.
load_at, id_at, byte_at = map(_only_compiled, ("load_at", "id_at", "byte_at"))
# Write an integer of so many bits: (address, value).
store_at, store_id_at, store_byte_at = map(_only_compiled, ("store_at", "store_id_at", "store_byte_at"))
copy_at = _only_compiled("copy_at")  # copy 16 bytes: (target, source)
# Write the low bytes of 16 characters of one, two or four bytes: (target, source); the bits that any of them has.
narrow8_at, narrow16_at, narrow32_at = map(_only_compiled, ("narrow8_at", "narrow16_at", "narrow32_at"))
call_at = _only_compiled("call_at")  # call a C function: (address, *arguments); a 32-bit result has a random upper half
tuple_head = _only_compiled("tuple_head")  # the number of bytes before a tuple's items: ()


# ------------------------------------------------------------------ what the functions are made of


@inlined
def item(items, k):
    """The address of an object in a tuple; the tuple keeps it."""
    return load_at(items + tuple_head() + 8 * k)


@inlined
def data_of(array):
    """The address of an array's data."""
    return load_at(array + DATA)


@inlined
def api_of(carried, function):
    """The address of a function or an object of Python."""
    return load_at(data_of(item(carried, API)) + 8 * function)


@inlined
def new_reference(carried, thing):
    """The object, with a reference for the caller."""
    call_at(api_of(carried, TAKE), thing)
    return thing


@inlined
def nothing(carried):
    """None: the caller uses the general path."""
    return new_reference(carried, api_of(carried, NONE))


@inlined
def is_ascii(carried, text):
    """Whether a `str` is known to be ASCII, so that reading its UTF-8 makes no copy that lives as long as it."""
    return load_at(text + api_of(carried, ASCII_PLACE)) & api_of(carried, ASCII_BIT) != 0


@inlined
def set_item(items, k, thing):
    """Put an object, whose reference this takes, into a list that was just made: PyList_SetItem took 3 ns longer."""
    store_at(load_at(items + LIST_ITEMS) + 8 * k, thing)


@helper
def has_mark(address, size):
    """Whether UTF-8 has a U+2581."""
    for k in range(size - 2):
        if byte_at(address + k) == 0xE2 and byte_at(address + k + 1) == 0x96 and byte_at(address + k + 2) == 0x81:
            return True
    return False


@helper
def copy_bytes(to, address, size):
    """Copy bytes; what they are copied to may not overlap them."""
    k = I64(0)
    while k + 8 <= size:
        store_at(to + k, load_at(address + k))
        k += 8
    while k < size:
        store_byte_at(to + k, byte_at(address + k))
        k += 1


@inlined
def char_of(kind, address, k):
    """The character k of a string whose characters have 1, 2 or 4 bytes."""
    if kind == 1:
        return byte_at(address + k)
    if kind == 2:
        return byte_at(address + 2 * k) | byte_at(address + 2 * k + 1) << 8
    return id_at(address + 4 * k)


@inlined
def narrow_at(kind, to, address):
    """Write the low bytes of 16 characters; the bits that any of them has."""
    if kind == 1:
        return narrow8_at(to, address)
    return narrow16_at(to, address) if kind == 2 else narrow32_at(to, address)


@inlined
def put_char(to, char):
    """Write the UTF-8 of a character, four bytes at all times, and return the address after it."""
    last, middle = 0x80 | char & 0x3F, 0x80 | char >> 6 & 0x3F
    two, three = 0xC0 | char >> 6 | last << 8, 0xE0 | char >> 12 | middle << 8 | last << 16
    four = 0xF0 | char >> 18 | (0x80 | char >> 12 & 0x3F) << 8 | middle << 16 | last << 24
    # No branches: which of two scripts is next is hard to predict.
    store_id_at(to, char if char < 0x80 else two if char < 0x800 else three if char < 0x10000 else four)
    return to + 1 + I64(char >= 0x80) + I64(char >= 0x800) + I64(char >= 0x10000)


AT_ONCE = 16  # characters
SLACK = 4 * AT_ONCE  # bytes after a text that may be written


@inlined
def put_chars(kind, to, address, n):
    """Write the UTF-8 of n characters: its size, or 0 if there is a surrogate."""
    begin, bad = to, False
    for k in range(n):
        char = char_of(kind, address, k)
        bad |= char >> 11 == 0x1B
        to = put_char(to, char)
    return I64(0) if bad else to - begin


@primitive
def put8_at(to, address):
    """`put_chars` of 16 characters of one byte; SLACK bytes are written."""
    return put_chars(I64(1), to, address, AT_ONCE)


@primitive
def put16_at(to, address):
    """The same for characters of two bytes."""
    return put_chars(I64(2), to, address, AT_ONCE)


@primitive
def put32_at(to, address):
    """The same for characters of four bytes."""
    return put_chars(I64(4), to, address, AT_ONCE)


@inlined
def put_group(kind, to, address):
    """Write the UTF-8 of 16 characters: its size, or 0 if there is a surrogate."""
    if kind == 1:
        return put8_at(to, address)
    return put16_at(to, address) if kind == 2 else put32_at(to, address)


@inlined
def write_chars(kind, address, n, to, most):
    """Write the UTF-8 of n characters: its size, or -1 if there is a surrogate, or if it has more than `most` bytes."""
    begin, k = to, I64(0)
    while k < n and to - begin <= most:
        source, size = address + kind * k, I64(AT_ONCE)
        if n - k < AT_ONCE:
            size = put_chars(kind, to, source, n - k)
        elif narrow_at(kind, to, source) >= 0x80:
            size = put_group(kind, to, source)
        if size == 0:
            return I64(-1)
        to += size
        k += AT_ONCE
    return I64(-1) if to - begin > most else to - begin


@inlined
def form_of(carried, text):
    """COMPACT + the bytes of each character of a `str`, or another number."""
    return load_at(text + api_of(carried, ASCII_PLACE)) >> api_of(carried, KIND_SHIFT) & 15


@inlined
def most_of(carried, text):
    """The most bytes that the UTF-8 of a `str` may have; 0 if its characters are elsewhere."""
    form, n = form_of(carried, text), call_at(api_of(carried, STR_LENGTH), text)
    each = I64(4) if form == COMPACT + 4 else form - COMPACT + 1
    return n * each if form > COMPACT and api_of(carried, STR_DATA) != 0 else I64(0)


@helper
def write_utf8(carried, text, to, most):
    """Write the UTF-8 of a `str` that is not ASCII: its size; -1: it has a surrogate, or more than `most` bytes.

    Up to SLACK bytes after these are written too. In place of Python's own function, which took up to half of the time
    of known text: it makes `bytes` and then, for each, new memory. Row: requests, "GPT-2": 1.1 to 1.5 times as fast.
    """
    form, place = form_of(carried, text), api_of(carried, STR_DATA)
    n = call_at(api_of(carried, STR_LENGTH), text)
    if place != 0 and n <= most:
        if form == COMPACT + 1:
            return write_chars(I64(1), text + place, n, to, most)
        if form == COMPACT + 2:
            return write_chars(I64(2), text + place, n, to, most)
        if form == COMPACT + 4:
            return write_chars(I64(4), text + place, n, to, most)
    return I64(-1)


@helper
def utf8_of(carried, text, most, size_at, takes_bytes, to):
    """The UTF-8 of a `str` or, if it takes these, of `bytes`: (address, the `bytes` or 0); 0: not for it.

    Its size, `most` at most, is written to `size_at`. That of a str that is not ASCII is written `to` memory with room
    for `most` and SLACK bytes; a size of -1 then says that it may have more. The str itself would keep its UTF-8.
    """
    if takes_bytes and load_at(text + TYPE) == api_of(carried, BYTES_TYPE):
        store_at(size_at, call_at(api_of(carried, BYTES_SIZE), text))
        address = call_at(api_of(carried, BYTES_DATA), text) if load_at(size_at) <= most else I64(0)
        return address, new_reference(carried, text) if address != 0 else I64(0)
    if load_at(text + TYPE) != api_of(carried, STR_TYPE):
        return I64(0), I64(0)
    if is_ascii(carried, text):
        address = call_at(api_of(carried, STR_UTF8), text, size_at)
        return (address if load_at(size_at) <= most else I64(0)), I64(0)
    store_at(size_at, write_utf8(carried, text, to, most))
    return (to if load_at(size_at) >= 0 else I64(0)), I64(0)


@helper
def shared_int(carried, ints, number):
    """A new reference to the int of an id: made once, and kept in `ints` by id; 0 after an exception."""
    found = load_at(ints + 8 * number)
    if found == 0:
        found = call_at(api_of(carried, INT_NEW), number)
        store_at(ints + 8 * number, found)
        if found == 0:
            return I64(0)
    return new_reference(carried, found)


@helper
def new_list(carried, ints, ids, n):
    """A list of n ids, unsigned integers of 32 bits at an address; 0 after an exception.

    To make an int takes 20 to 29 ns, half of the time of a line: those of ids below the first number of ints are kept.
    """
    made = call_at(api_of(carried, LIST_NEW), n)
    if made == 0:
        return I64(0)
    most = load_at(ints)
    for k in range(n):
        found = id_at(ids + 4 * k)
        if found < most:
            number = shared_int(carried, ints + 8, found)
        else:
            number = call_at(api_of(carried, INT_NEW), found)
        if number == 0:
            call_at(api_of(carried, RELEASE), made)
            return I64(0)
        set_item(made, k, number)
    return made


@inlined
def new_text(carried, address, size, errors):
    """The `str` of UTF-8 at an address; `errors`: the address of a C string such as b"replace", or 0 for "strict".

    0 after an exception.
    """
    return call_at(api_of(carried, STR_NEW), address, size, errors)
