"""Read tokenizer files into a TokenizerSpec and write them; no encoder is built here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from subwords.components.openai import encoding_named
from subwords.components.splitter import Rule
from subwords.errors import FormatError, InputError
from subwords.formats import tiktoken
from subwords.spec import TokenizerSpec
from subwords.support.atomic import as_path, atomic_write

__all__ = ["read_file", "write_file"]

_KNOWN = (
    "tokenizer.json (HF tokenizers), a SentencePiece .model, a rank file of tiktoken, a BERT vocab.txt, or a folder "
    "that holds one"
)
_NAMES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt")


def read_file(
    path: str | PathLike[str], *, splitter: Rule | None = None, special_tokens: Mapping[str, int] | None = None
) -> TokenizerSpec:
    """Read a tokenizer file, a folder that holds one, or the rank file of OpenAI's encoding; see `subwords.load`.

    The format is detected from the content; only vocab.txt, which has no signature, is recognized by its suffix.
    splitter, special_tokens: for rank files only.
    """
    file = as_path(path)
    try:
        if file.is_dir():
            file = next((file / name for name in _NAMES if (file / name).exists()), file / _NAMES[0])
        elif isinstance(path, str) and not file.exists() and (encoding := encoding_named(path)):
            return _read_encoding(encoding, splitter, special_tokens)
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file}: {error.strerror}") from None
    if tiktoken.is_ranks(data):
        return tiktoken.read(data, str(file), splitter=splitter, special_tokens=special_tokens)
    _refuse(str(file), splitter, special_tokens)
    if file.suffix == ".txt":
        from subwords.formats import vocab_txt

        return vocab_txt.read(data, str(file))
    if file.suffix in (".model", ".spm") or (data.startswith(b"\n") and not data.lstrip().startswith(b"{")):
        from subwords.formats.sentencepiece import read

        return read.read(data, str(file))
    if not data.lstrip().startswith(b"{"):
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file} begins with {data[:16]!r}")
    from subwords.formats.hf import tokenizer_json

    return tokenizer_json.read(data, str(file))


def _read_encoding(encoding: str, splitter: Rule | None, special_tokens: Mapping[str, int] | None) -> TokenizerSpec:
    _refuse(encoding, splitter, special_tokens)
    file = tiktoken.cached_file(encoding)
    if file is None:
        raise FormatError(f"no rank file for {encoding} here: {tiktoken.where_to_get(encoding)}")
    return tiktoken.read_encoding(file.read_bytes(), encoding, str(file))


def _refuse(name: str, splitter: Rule | None, special_tokens: Mapping[str, int] | None) -> None:
    for option, value in (("splitter", splitter), ("special_tokens", special_tokens)):
        if value is not None:
            raise InputError(f"{option} is for rank files only; {name} says it itself: load it, then use with_")


def write_file(spec: TokenizerSpec, path: str | PathLike[str]) -> None:
    """Write a tokenizer to a .json, .model, .tiktoken or .txt file, or as tokenizer.json into a folder.

    See `Tokenizer.save`. The write is atomic. Raises InputError if the file cannot be written, FormatError if the
    format cannot hold the tokenizer.
    """
    file = as_path(path)
    try:
        file = file / "tokenizer.json" if file.is_dir() else file
    except OSError as error:
        raise InputError(f"expected a file that can be written; {file}: {error.strerror}") from None
    if file.suffix == ".txt":
        from subwords.formats import vocab_txt

        data = vocab_txt.write(spec)
    elif file.suffix == ".model":
        from subwords.formats.sentencepiece import write

        data = write.write(spec)
    elif file.suffix == ".tiktoken":
        data = tiktoken.write(spec)
    elif file.suffix == ".json":
        from subwords.formats.hf import tokenizer_json

        data = tokenizer_json.write(spec)
    else:
        raise InputError(f"expected a name ending in .json, .model, .tiktoken or .txt, or a folder; not {file}")
    with atomic_write(file) as stream:
        stream.write(data)
