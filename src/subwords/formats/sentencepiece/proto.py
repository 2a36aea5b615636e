"""The protobuf messages of SentencePiece's .model files, built from a table on first use.

Only fields that are used are named; protobuf preserves all others and writes them back.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from subwords.errors import FormatError
from subwords.support.install import install_hint

__all__ = ["Kind", "Piece", "model_class"]

PACKAGE = "subwords.sentencepiece"


class Kind:
    """Model types."""

    UNIGRAM, BPE, WORD, CHAR = range(1, 5)


class Piece:
    """Piece types."""

    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


# Name, number, type, default. Strings are declared as bytes, which every parser accepts, enumerations as integers.
_MESSAGES: dict[str, tuple[tuple[str, int, str, str], ...]] = {
    "SentencePiece": (("piece", 1, "bytes", ""), ("score", 2, "float", ""), ("type", 3, "int32", "1")),
    "TrainerSpec": (
        ("model_type", 3, "int32", "1"),
        ("vocab_size", 4, "int32", "8000"),
        ("treat_whitespace_as_suffix", 24, "bool", "false"),
        ("user_defined_symbols", 31, "repeated bytes", ""),
        ("byte_fallback", 35, "bool", "false"),
        ("unk_id", 40, "int32", "0"),
        ("bos_id", 41, "int32", "1"),
        ("eos_id", 42, "int32", "2"),
        ("pad_id", 43, "int32", "-1"),
        ("unk_surface", 44, "bytes", r" \342\201\207 "),
        ("unk_piece", 45, "bytes", "<unk>"),
        ("bos_piece", 46, "bytes", "<s>"),
        ("eos_piece", 47, "bytes", "</s>"),
        ("pad_piece", 48, "bytes", "<pad>"),
    ),
    "NormalizerSpec": (
        ("name", 1, "bytes", ""),
        ("precompiled_charsmap", 2, "bytes", ""),
        ("add_dummy_prefix", 3, "bool", "true"),
        ("remove_extra_whitespaces", 4, "bool", "true"),
        ("escape_whitespaces", 5, "bool", "true"),
    ),
    "ModelProto": (
        ("pieces", 1, "repeated SentencePiece", ""),
        ("trainer_spec", 2, "TrainerSpec", ""),
        ("normalizer_spec", 3, "NormalizerSpec", ""),
        ("denormalizer_spec", 5, "NormalizerSpec", ""),
    ),
}


@cache
def model_class() -> Any:
    """Return the class of a ModelProto; FormatError if protobuf is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise FormatError(
            f"reading and writing .model files needs the protobuf package: {install_hint('spm')}"
        ) from None
    file = descriptor_pb2.FileDescriptorProto(name="subwords/sentencepiece.proto", package=PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        entry = file.message_type.add(name=message)
        for name, number, kind, default in fields:
            _add_field(entry, name, number, kind, default)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.ModelProto"))


def _add_field(entry: Any, name: str, number: int, kind: str, default: str) -> None:
    repeated, _, base = kind.rpartition(" ")
    field = entry.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if base in _MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{base}"
    else:
        field.type = getattr(field, f"TYPE_{base.upper()}")
    if default:
        field.default_value = default
