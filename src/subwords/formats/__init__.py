"""Read tokenizer files into a TokenizerSpec and write them; no encoder is built here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from subwords.components.openai import encoding_named
from subwords.components.splitter import Rule
from subwords.errors import FormatError, InputError
from subwords.formats.recognize import BESIDE, GGUF, MERGES, VOCABS, Kind, kind_of
from subwords.kernels.stored import stored
from subwords.spec import TokenizerSpec
from subwords.support.atomic import as_path, atomic_write
from subwords.support.checks import check_flag
from subwords.support.value import digest_of

LEAST_STORED = 1 << 16  # bytes of a file; a smaller one is read in less time than its stored spec
_WRITTEN = (".json", ".model", ".tiktoken", ".gguf", ".txt")

__all__ = ["json_of", "read_file", "write_file"]

_KNOWN = (
    "tokenizer.json (HF tokenizers), a SentencePiece .model, a rank file of tiktoken, vocab.json with merges.txt, "
    "a BERT vocab.txt, a GGUF file, or a folder that holds one"
)
_NAMES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")


def read_file(
    path: str | PathLike[str],
    *,
    splitter: Rule | None = None,
    special_tokens: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = False,
) -> TokenizerSpec:
    """Read a tokenizer file, a folder that holds one, or OpenAI's encoding or a repository by name; see `load`.

    The format is detected from the content; only vocab.txt, which has no signature, is recognized by its suffix.
    splitter, special_tokens: for formats without them, which are rank files and vocab.json with merges.txt.
    """
    file = as_path(path)
    check_flag("download", download)
    beside: dict[str, bytes] = {}
    try:
        if isinstance(path, str) and not file.exists() and not encoding_named(path):
            file = _of_hub(path, revision, download) or file
        elif revision is not None or download:
            raise _for_names(path)
        if file.is_dir():
            folder, file = file, _within(file)
            beside = {name: (folder / name).read_bytes() for name in BESIDE if (folder / name).is_file()}
        elif isinstance(path, str) and not file.exists() and (encoding := encoding_named(path)):
            return _read_encoding(encoding, splitter, special_tokens)
        with file.open("rb") as stream:
            data = stream.read(len(GGUF))
            if data == GGUF:  # gigabytes of tensors follow
                _refuse(str(file), splitter, special_tokens)
                from subwords.formats.gguf import read as gguf

                return gguf.read(stream, str(file))
            data += stream.read()
    except OSError as error:
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file}: {error.strerror}") from None
    spec = _read(data, file, splitter, special_tokens)
    if not beside:
        return spec
    from subwords.formats.hf import folder as hf_folder

    return hf_folder.read(spec, beside, str(file.parent))


def _read(data: bytes, file: Path, splitter: Rule | None, special_tokens: Mapping[str, int] | None) -> TokenizerSpec:
    kind = kind_of(data, file)
    if kind is not None and kind not in ("ranks", "merges", "vocab.json"):
        _refuse(str(file), splitter, special_tokens)
    if len(data) < LEAST_STORED or kind in (None, "merges", "vocab.json") or not _plain(splitter, special_tokens):
        return _read_as(kind, data, file, splitter, special_tokens)
    options = splitter, None if special_tokens is None else tuple(special_tokens.items())
    source = digest_of((kind, data, *options)).encode()

    def made() -> tuple[TokenizerSpec, str]:
        spec = _read_as(kind, data, file, splitter, special_tokens)
        return spec, spec.model.digest

    spec, digest = stored("spec", source, made)
    vars(spec.model)["digest"] = digest  # names all that is stored of the model: 12 ms for 200,000 tokens
    return spec


def _plain(splitter: object, special_tokens: object) -> bool:
    """Whether the options are of types that name a stored spec; the reader sees to others."""
    if special_tokens is not None and not isinstance(special_tokens, dict):
        return False
    pairs = (special_tokens or {}).items()
    return isinstance(splitter, tuple | None) and all(type(key) is str and type(i) is int for key, i in pairs)


def _read_as(
    kind: Kind | None, data: bytes, file: Path, splitter: Rule | None, special_tokens: Mapping[str, int] | None
) -> TokenizerSpec:
    match kind:
        case "ranks":
            from subwords.formats import tiktoken

            return tiktoken.read(data, str(file), splitter=splitter, special_tokens=special_tokens)
        case "merges" | "vocab.json":
            from subwords.formats.hf import vocab_merges

            vocab = _beside(file, data, VOCABS, is_one=kind == "vocab.json")
            merges = _beside(file, data, MERGES, is_one=kind == "merges")
            return vocab_merges.read(vocab, merges, splitter=splitter, special_tokens=special_tokens)
        case "vocab.txt":
            from subwords.formats import vocab_txt

            return vocab_txt.read(data, str(file))
        case "sentencepiece":
            from subwords.formats.sentencepiece import read

            return read.read(data, str(file))
        case "tokenizer.json":
            from subwords.formats.hf import tokenizer_json

            return tokenizer_json.read(data, str(file))
    raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file} begins with {data[:16]!r}")


def _of_hub(name: str, revision: str | None, download: bool) -> Path | None:
    """Return the folder of a repository by name; None if this is no such name."""
    from subwords.formats import hub

    if hub.is_name(name):
        return hub.folder_of(name, revision=revision, download=download)
    if revision is not None or download:
        raise _for_names(name)
    return None


def _for_names(path: str | PathLike[str]) -> InputError:
    return InputError(f'revision and download are for repositories of the Hugging Face Hub, "org/name", not for {path}')


def _within(folder: Path) -> Path:
    """Return the file to read in a folder; tokenizer.json if there is none."""
    named = (folder / name for name in _NAMES if (folder / name).exists())
    return next(named, None) or next(iter(sorted(folder.glob("*.tiktoken"))), folder / _NAMES[0])


def _beside(file: Path, data: bytes, names: tuple[str, ...], *, is_one: bool) -> tuple[bytes, str]:
    """Return the content and the path of this file if it is the one, else of a file of these names next to it."""
    other = file if is_one else next((file.with_name(name) for name in names if file.with_name(name).is_file()), None)
    if other is None and file.with_name("source.spm").is_file():
        raise FormatError(
            f"{file} is Marian's, whose pieces are in source.spm, and some have no id here: load source.spm, and look "
            f"up its tokens in this file"
        )
    if other is None:
        raise FormatError(f"{file}: expected {' or '.join(names)} in the same folder: BPE needs both files")
    try:
        return (data if is_one else other.read_bytes()), str(other)
    except OSError as error:
        raise FormatError(f"expected a file that can be read; {other}: {error.strerror}") from None


def _read_encoding(encoding: str, splitter: Rule | None, special_tokens: Mapping[str, int] | None) -> TokenizerSpec:
    from subwords.formats import tiktoken

    _refuse(encoding, splitter, special_tokens)
    file = tiktoken.cached_file(encoding)
    if file is None:
        raise FormatError(f"no rank file for {encoding} here: {tiktoken.where_to_get(encoding)}")
    return tiktoken.read_encoding(file.read_bytes(), encoding, str(file))


def _refuse(name: str, splitter: Rule | None, special_tokens: Mapping[str, int] | None) -> None:
    for option, value in (("splitter", splitter), ("special_tokens", special_tokens)):
        if value is not None:
            raise InputError(
                f"{option} is for files without one (rank files, vocab.json); {name} says it itself: use with_"
            )


def write_file(spec: TokenizerSpec, path: str | PathLike[str]) -> str:
    """Write a tokenizer to a .json, .model, .tiktoken, .gguf or .txt file, or as tokenizer.json into a folder.

    Returns the suffix of the file, "" for a folder and for two files.

    The names vocab.json and merges.txt, or encoder.json and vocab.bpe, write both files.

    See `Tokenizer.save`. The write is atomic. Raises InputError if the file cannot be written, FormatError if the
    format cannot hold the tokenizer.
    """
    file = as_path(path)
    try:
        if file.is_dir() or str(path).endswith(("/", os.sep)):
            _write_folder(spec, file)
            return ""
    except OSError as error:
        raise InputError(f"expected a file that can be written; {file}: {error.strerror}") from None
    if file.name in (*VOCABS, *MERGES):
        _write_both(spec, file)
        return ""
    if file.suffix == ".txt":
        from subwords.formats import vocab_txt

        data = vocab_txt.write(spec)
    elif file.suffix == ".model":
        from subwords.formats.sentencepiece import write

        data = write.write(spec)
    elif file.suffix == ".tiktoken":
        from subwords.formats import tiktoken

        data = tiktoken.write(spec)
    elif file.suffix == ".gguf":
        from subwords.formats.gguf import write as gguf

        data = gguf.write(spec)
    elif file.suffix == ".json":
        data = json_of(spec)
    else:
        raise unwritable(file)
    with atomic_write(file) as stream:
        stream.write(data)
    return file.suffix


def check_name(file: Path) -> None:
    """Raise InputError unless the name of a file is that of a format that can be written."""
    if file.suffix not in _WRITTEN and file.name not in (*VOCABS, *MERGES):
        raise unwritable(file)


def unwritable(file: Path) -> InputError:
    """Return the error for a name of no format that can be written."""
    return InputError(
        f"expected a name ending in {', '.join(_WRITTEN)}, or vocab.json, merges.txt or a folder; not {file}"
    )


def json_of(spec: TokenizerSpec) -> bytes:
    """Return the tokenizer.json of a spec; FormatError if the format cannot hold it."""
    from subwords.formats.hf import tokenizer_json

    if getattr(spec.model, "user_ids", None):
        from subwords.formats.sentencepiece.user_pieces import as_words

        spec = as_words(spec)
    return tokenizer_json.write(spec)


def _write_both(spec: TokenizerSpec, file: Path) -> None:
    """Write vocab.json and merges.txt, or GPT-2's names of them; the file names one of the two."""
    from subwords.formats.hf import write_vocab_merges

    pair = next(pair for pair in zip(VOCABS, MERGES, strict=True) if file.name in pair)
    for name, data in zip(pair, write_vocab_merges.write(spec), strict=True):
        with atomic_write(file.with_name(name)) as stream:
            stream.write(data)


def _write_folder(spec: TokenizerSpec, folder: Path) -> None:
    """Write the files that transformers reads; those of an earlier tokenizer that would change this one are deleted."""
    from subwords.formats.hf import folder as hf_folder

    files = {**hf_folder.write(spec), "tokenizer.json": json_of(spec)}  # fails before anything is written
    folder.mkdir(exist_ok=True)
    old = [folder / name for name in hf_folder.CHANGING if name not in files]
    for place in [*(folder / name for name in files), *old]:
        if place.is_dir() and place.name != hf_folder.TEMPLATES:
            raise InputError(f"expected a file that can be written, not a folder: {place}")
    for place in old:
        if place.name == hf_folder.TEMPLATES and any(place.glob("*.jinja")):
            raise InputError(f"{place} holds chat templates of another tokenizer: delete it, or save to another folder")
        if place.is_file():
            place.unlink()
    for name, data in files.items():
        with atomic_write(folder / name) as stream:
            stream.write(data)
