"""All token formats, and which of them a file has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subwords.errors import InputError
from subwords.sinks.datatrove import DATATROVE
from subwords.sinks.flat import BIN, LLMC, LLMC_KINDS, NPY
from subwords.sinks.layout import TokenFormat
from subwords.sinks.megatron import MAGIC, MEGATRON, has_index
from subwords.sinks.parquet import PARQUET
from subwords.support.checks import check_choice

__all__ = ["FORMATS", "format_named", "format_of"]

FORMATS = {form.name: form for form in (NPY, BIN, MEGATRON, PARQUET, DATATROVE, LLMC)}


def format_named(name: str | None, path: Path) -> TokenFormat:
    """Return the format of this name, or without a name the usual one of the path's suffix."""
    if name is not None:
        check_choice("format", name, FORMATS)
        return FORMATS[name]
    usual = {form.suffix: form for form in (NPY, BIN, PARQUET, DATATROVE)} | {".idx": MEGATRON}
    found = usual.get(path.suffix.lower())
    if found is None:
        raise InputError(
            f"{path}: expected a name that ends in {', '.join(usual)}, or format= one of {', '.join(FORMATS)}"
        )
    return found


def format_of(path: Path) -> TokenFormat:
    """Return the format of an existing file, by its content and the files beside it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(8)
    except OSError as error:
        raise InputError(f"cannot read file {path}: {error.strerror}") from None
    if head.startswith(b"\x93NUMPY"):
        return NPY
    if head.startswith(b"PAR1"):
        return PARQUET
    if path.suffix == ".ds":
        return DATATROVE
    if head.startswith(MAGIC[:8]) or has_index(path):
        return MEGATRON
    if len(head) == 8 and tuple(np.frombuffer(head, "<i4").tolist()) in LLMC_KINDS.values():
        return LLMC
    return BIN
