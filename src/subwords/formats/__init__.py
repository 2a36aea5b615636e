"""Tokenizer files: read and written whole, in the formats that others use."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from subwords.errors import FormatError, InputError
from subwords.formats.atomic import as_path, atomic_write

if TYPE_CHECKING:
    from subwords.tokenizer import Tokenizer

__all__ = ["load", "save"]

_KNOWN = "tokenizer.json (HF tokenizers), a SentencePiece .model, a BERT vocab.txt, or a folder that holds one"
_NAMES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt")


def load(path: str | PathLike[str]) -> Tokenizer:
    """Return the tokenizer of a file, or of a folder that holds one: a tokenizer.json before a .model or a vocab.txt.

    A vocab.txt says nothing of the text's normalization: it is taken for BERT's, cased if any token has a capital.
    A file that is missing, damaged or of another kind is a FormatError that says what was expected where; what is no
    path is an InputError.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["ab ab"], vocab_size=258).save(f"{folder}/tokenizer.json")
    ...     subwords.load(folder).encode("ab")
    [256]
    """
    from subwords.formats import tokenizer_json

    file = as_path(path)
    try:
        if file.is_dir():
            file = next((file / name for name in _NAMES if (file / name).exists()), file / _NAMES[0])
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file}: {error.strerror}") from None
    if file.suffix == ".txt":
        from subwords.formats import vocab_txt

        return vocab_txt.tokenizer(data, str(file))
    if file.suffix in (".model", ".spm") or (data.startswith(b"\n") and not data.lstrip().startswith(b"{")):
        from subwords.formats import sentencepiece

        return sentencepiece.read(data, str(file))
    if not data.lstrip().startswith(b"{"):
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file} begins with {data[:16]!r}")
    return tokenizer_json.read(data, str(file))


def save(tokenizer: Tokenizer, path: str | PathLike[str]) -> None:
    """Write a tokenizer to a .json file, or as tokenizer.json into a folder; an interrupted write changes nothing.

    Of a WordPiece tokenizer a file named .txt holds the tokens alone; one named .model is SentencePiece's, and holds
    Unigram and character-level BPE.

    InputError where the file cannot be written, FormatError where the format cannot hold the tokenizer.
    """
    from subwords.formats import tokenizer_json

    file = as_path(path)
    try:
        file = file / "tokenizer.json" if file.is_dir() else file
    except OSError as error:
        raise InputError(f"expected a file that can be written; {file}: {error.strerror}") from None
    if file.suffix not in (".json", ".txt", ".model"):
        raise InputError(f"expected a file to be named .json, .model or .txt, or a folder; not {file}")
    if file.suffix == ".txt":
        from subwords.formats import vocab_txt

        data = vocab_txt.vocabulary(tokenizer)
    elif file.suffix == ".model":
        from subwords.formats import sentencepiece

        data = sentencepiece.write(tokenizer)
    else:
        data = tokenizer_json.write(tokenizer)
    with atomic_write(file) as stream:
        stream.write(data)
