"""A WebAssembly module without the functions that a tokenizer does not need."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import sha256

NAMES, CODE, HEAD = 0, 10, 8  # numbers of sections; bytes before the first one
MARK = b"subwords"  # the name of the section by which an image knows its module
STOPS = bytes((0, 0, 0x0B))  # the body of a function without variables: unreachable, end


def without_kernels(module: bytes, kernels: Collection[str]) -> bytes:
    """Return a module in which the functions of some kernels only stop, and without names.

    A function is named by the kernel that it is compiled with, see `tools/machine_code.py`; its number stays.
    A section has `mark_of(module)`.
    """
    sections = [*_sections(module)]
    unused = {number for number, name in _names(sections) if _kernel_of(name) in kernels}
    made = [module[:HEAD]]
    for kind, content in sections:
        if kind == CODE:
            count, at = _number(content, 0)
            made.append(_sized(kind, _written(count) + b"".join(_bodies(content, at, count, unused))))
        elif kind != NAMES:
            made.append(_sized(kind, content))
    made.append(_sized(NAMES, _written(len(MARK)) + MARK + mark_of(module).encode()))
    return b"".join(made)


def mark_of(module: bytes) -> str:
    """Return what tells a module from those of other kernels."""
    return sha256(module).hexdigest()[:16]


def _bodies(content: bytes, at: int, count: int, unused: set[int]) -> Iterator[bytes]:
    for number in range(count):
        size, at = _number(content, at)
        body = STOPS if number in unused else content[at : at + size]
        yield _written(len(body)) + body
        at += size


def _kernel_of(function: str) -> str:
    return function.removeprefix("subwords_").partition(".")[0]


def _sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    at = HEAD
    while at < len(module):
        kind = module[at]
        size, at = _number(module, at + 1)
        yield kind, module[at : at + size]
        at += size


def _names(sections: list[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of each function."""
    (content,) = (content for kind, content in sections if kind == NAMES and content[1:5] == b"name")
    at = 5
    while at < len(content):
        kind = content[at]
        size, at = _number(content, at + 1)
        if kind == 1:  # names of functions
            count, place = _number(content, at)
            for _ in range(count):
                number, place = _number(content, place)
                length, place = _number(content, place)
                yield number, content[place : place + length].decode()
                place += length
        at += size


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Return a number, seven bits a byte, the lowest ones first, and where it ends."""
    found = shift = 0
    while True:
        byte = content[at]
        found, shift, at = found | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return found, at


def _written(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes(made) + bytes((number,))


def _sized(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + _written(len(content)) + content
