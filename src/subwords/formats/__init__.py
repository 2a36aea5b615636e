"""Read tokenizer files into a TokenizerSpec and write them; no encoder is built here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

from subwords.kernels.stored import stored
from subwords.spec.added_token import roles_by_name
from subwords.spec.splitter import ENCODINGS, MODELS, NAMED, Rule, encoding_named, to_text
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.checks import check_flag
from subwords.support.errors import FormatError, InputError
from subwords.support.files import atomic_write, place_of
from subwords.support.names import nearest
from subwords.support.value import digest_of

# ---------------------------------------------------------------------------------------------------------------------
# Tell formats apart by the beginning of a file, or by its name where the content says too little.

Kind: TypeAlias = Literal["ranks", "merges", "vocab.json", "vocab.txt", "sentencepiece", "tokenizer.json"]

# What transformers reads beside tokenizer.json.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "added_tokens.json")
TEMPLATES = "additional_chat_templates"  # a folder of more of them
GGUF = b"GGUF"  # how such a file begins
VOCABS, MERGES = ("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")

_RANK_LINE = re.compile(rb"[\r\n]*[A-Za-z0-9+/]*={0,2} [0-9]+\r?(?:\n|$)")
_HEAD = 1 << 16  # bytes that are enough to recognize a format
_UNIGRAM = re.compile(rb'\s*\{\s*"unk_id"\s*:\s*\d+\s*,\s*"vocab"\s*:\s*\[')  # what HF's save_model writes
_FIRST_ENTRY = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]')


def kind_of(data: bytes, file: Path) -> Kind | None:
    """Return the format of a file; None for an unknown format.

    >>> kind_of(b"IQ== 0\\n", Path("tokenizer.model")), kind_of(b'{"a": 0}', Path("vocab.json"))
    ('ranks', 'vocab.json')
    """
    if _RANK_LINE.match(data):
        return "ranks"
    if data.startswith(b"#version") or file.name in MERGES:
        return "merges"
    if (_FIRST_ENTRY.match(data) and not _UNIGRAM.match(data)) or file.name in VOCABS:
        return "vocab.json"
    if file.suffix == ".txt":
        return "vocab.txt"
    begins_json = data.lstrip().startswith(b"{")
    if file.suffix in (".model", ".spm") or (data.startswith(b"\n") and not begins_json):
        return "sentencepiece"
    return "tokenizer.json" if begins_json else None


def kind_at(path: Path) -> Kind | Literal["folder"] | None:
    """Return the format of the file at a path, or "folder"; FormatError if it cannot be read."""
    if path.is_dir():
        return "folder"
    try:
        with path.open("rb") as file:
            return kind_of(file.read(_HEAD), path)
    except OSError as error:
        raise FormatError(f"expected a tokenizer file or folder; {path}: {error.strerror}") from None


LEAST_STORED = 1 << 16  # bytes of a file; a smaller one is read in less time than its stored spec
_PARTS = ("padding", "truncation", "chat_template")
_WRITTEN = (".json", ".model", ".tiktoken", ".gguf", ".txt")

__all__ = ["Target", "files_of", "json_of", "lost_in", "read_file", "target_of", "write_file"]

_KNOWN = (
    "tokenizer.json (HF tokenizers), a SentencePiece .model, a rank file of tiktoken, vocab.json with merges.txt, "
    "a BERT vocab.txt, a GGUF file, or a folder that holds one"
)
_NAMES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")


def read_tokenizer(
    path: str | PathLike[str],
    *,
    splitter: Rule | None = None,
    special_ids: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = False,
) -> TokenizerSpec:
    """Read a tokenizer file, a folder that holds one, or OpenAI's encoding or a repository by name; see `load`.

    The format is detected from the content; only vocab.txt, which has no signature, is recognized by its suffix.
    splitter, special_ids: for formats without them, which are rank files and vocab.json with merges.txt.
    """
    file = place_of(path, local=True)
    check_flag("download", download)
    beside: dict[str, bytes] = {}
    try:
        encoding = _encoding_of(path, file)
        if isinstance(path, str) and not file.exists() and not encoding:
            file = _of_hub(path, revision, download) or file
        elif revision is not None or download:
            raise _for_names(path, file)
        if file.is_dir():
            folder, file = file, _within(file)
            templates = [f"{TEMPLATES}/{place.name}" for place in sorted((folder / TEMPLATES).glob("*.jinja"))]
            names = (name for name in (*BESIDE, *templates) if (folder / name).is_file())
            beside = {name: (folder / name).read_bytes() for name in names}
        elif encoding:
            return _read_encoding(encoding, splitter, special_ids)
        with file.open("rb") as stream:
            data = stream.read(len(GGUF))
            if data == GGUF:  # gigabytes of tensors follow
                _refuse(str(file), splitter, special_ids)
                from subwords.formats.gguf import read as gguf

                return gguf.read_gguf(stream, str(file))
            data += stream.read()
    except OSError as error:
        if isinstance(path, str) and len(file.parts) == 1 and not file.suffix and not file.exists():
            known = f"; names are {', '.join(ENCODINGS)}, those of OpenAI's models, and org/name of the Hub"
            hint = nearest(path, [*ENCODINGS, *MODELS]) or known
            raise FormatError(f"no file, folder or name {path!r} here{hint}") from None
        raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file}: {error.strerror}") from None
    spec = _read_bytes(data, file, splitter, special_ids)
    if not beside:
        return spec
    from subwords.formats.hf import folder as hf_folder

    return hf_folder.read_folder_files(spec, beside, str(file.parent), complete=file.name == _NAMES[0])


def _read_bytes(data: bytes, file: Path, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> TokenizerSpec:
    kind = kind_of(data, file)
    if kind is not None and kind not in ("ranks", "merges", "vocab.json"):
        _refuse(str(file), splitter, special_ids)
    if len(data) < LEAST_STORED or kind in (None, "merges", "vocab.json") or not _can_be_stored(splitter, special_ids):
        return _read_as(kind, data, file, splitter, special_ids)
    options = splitter, None if special_ids is None else tuple(special_ids.items())
    source = digest_of((kind, data, *options)).encode()

    def made() -> tuple[TokenizerSpec, str]:
        spec = _read_as(kind, data, file, splitter, special_ids)
        return spec, spec.model.digest

    spec, digest = stored("spec", source, made)
    vars(spec.model)["digest"] = digest  # names all that is stored of the model: 12 ms for 200,000 tokens
    return spec


def _can_be_stored(splitter: object, special_tokens: object) -> bool:
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

            return tiktoken.read_rank_file(data, str(file), splitter=splitter, special_tokens=special_tokens)
        case "merges" | "vocab.json":
            from subwords.formats.hf import vocab_merges

            vocab = _beside(file, data, VOCABS, is_one=kind == "vocab.json")
            merges = _beside(file, data, MERGES, is_one=kind == "merges")
            return vocab_merges.read_vocab_merges(vocab, merges, splitter=splitter, special_tokens=special_tokens)
        case "vocab.txt":
            from subwords.formats import vocab_txt

            return vocab_txt.read_vocab_txt(data, str(file))
        case "sentencepiece":
            from subwords.formats.sentencepiece import read

            return read.read_model_file(data, str(file))
        case "tokenizer.json":
            from subwords.formats.hf import tokenizer_json

            return tokenizer_json.read_tokenizer_json(data, str(file))
    raise FormatError(f"expected a tokenizer file ({_KNOWN}); {file} begins with {data[:16]!r}")


def _encoding_of(path: str | PathLike[str], file: Path) -> str | None:
    """Return the encoding of OpenAI that a name stands for; None for a file, and for other names."""
    return encoding_named(path) if isinstance(path, str) and not file.exists() else None


def _of_hub(name: str, revision: str | None, download: bool) -> Path | None:
    """Return the folder of a repository by name; None if `name` is not a repository name."""
    from subwords.formats import hub

    if hub.is_repository_name(name):
        return hub.folder_of(name, revision=revision, download=download)
    if revision is not None or download:
        raise _for_names(name, Path(name))
    return None


def _for_names(path: str | PathLike[str], file: Path) -> InputError:
    told = f'revision and download are for repositories of the Hugging Face Hub, "org/name", not for {path}'
    if encoding := _encoding_of(path, file):
        from subwords.formats import tiktoken

        told += "" if tiktoken.cached_file(encoding) else f"; {tiktoken.where_to_get(encoding)}"
    return InputError(told)


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


def _read_encoding(encoding: str, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> TokenizerSpec:
    from subwords.formats import tiktoken

    _refuse(encoding, splitter, special_ids)
    file = tiktoken.cached_file(encoding)
    if file is None:
        raise FormatError(f"no rank file for {encoding} here: {tiktoken.where_to_get(encoding)}")
    return tiktoken.read_encoding(file.read_bytes(), encoding, str(file))


def _refuse(name: str, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> None:
    for option, value in (("splitter", splitter), ("special_ids", special_ids)):
        if value is not None:
            raise InputError(
                f"{option} is for files without one (rank files, vocab.json); {name} says it itself: use with_"
            )


@dataclass(frozen=True, slots=True)
class SaveTarget:
    """What a path says about a tokenizer that is written there.

    path: of the file or folder. kind: the suffix of a file, "folder", or "pair" for vocab.json with merges.txt.
    """

    path: Path
    kind: str


def target_of(path: str | PathLike[str]) -> SaveTarget:
    """Return what a path to write means; InputError for a name of no format that can be written.

    A folder is a path that exists as one, or that ends in "/". The names vocab.json and merges.txt, or encoder.json and
    vocab.bpe, mean both files.

    >>> target_of("new/").kind, target_of("a.gguf").kind, target_of("merges.txt").kind
    ('folder', '.gguf', 'pair')
    """
    file = place_of(path, local=True)
    try:
        if file.is_dir() or str(path).endswith(("/", os.sep)):
            return SaveTarget(file, "folder")
    except OSError as error:
        raise InputError(f"expected a file that can be written; {file}: {error.strerror}") from None
    if file.name in (*VOCABS, *MERGES):
        return SaveTarget(file, "pair")
    if file.suffix not in _WRITTEN:
        raise InputError(
            f"expected a name ending in {', '.join(_WRITTEN)}, or vocab.json, merges.txt, or a folder (that exists, or "
            f'a name that ends in "/"); not {file}'
        )
    return SaveTarget(file, file.suffix)


def files_of(spec: TokenizerSpec, target: SaveTarget) -> dict[Path, bytes]:
    """Return the content of each file to write; FormatError if the format would give other ids."""
    match target.kind:
        case "folder":
            from subwords.formats.hf import folder

            files = {**folder.write_folder_files(spec), "tokenizer.json": json_of(spec)}
            return {target.path / name: data for name, data in files.items()}
        case "pair":
            from subwords.formats.hf import vocab_merges as write_vocab_merges

            pair = next(pair for pair in zip(VOCABS, MERGES, strict=True) if target.path.name in pair)
            both = zip(pair, write_vocab_merges.write_vocab_and_merges(spec), strict=True)
            return {target.path.with_name(name): data for name, data in both}
        case ".txt":
            from subwords.formats import vocab_txt

            return {target.path: vocab_txt.write_vocab_txt(spec)}
        case ".model":
            from subwords.formats.sentencepiece import write

            return {target.path: write.write_model_file(spec)}
        case ".tiktoken":
            from subwords.formats import tiktoken

            return {target.path: tiktoken.write_rank_file(spec)}
        case ".gguf":
            from subwords.formats.gguf import write as gguf

            return {target.path: gguf.write_gguf(spec)}
    return {target.path: json_of(spec)}


def write_file(spec: TokenizerSpec, path: str | PathLike[str]) -> dict[Path, bytes]:
    """Write a tokenizer where `target_of` says, and return the files.

    See `Tokenizer.save`. The write is atomic. Raises InputError if the file cannot be written, FormatError if the
    format cannot hold the tokenizer.
    """
    target = target_of(path)
    files = files_of(spec, target)  # fails before anything is written
    try:
        for place in files:
            if place.is_dir():
                raise InputError(f"expected a file that can be written, not a folder: {place}")
        if target.kind == "folder":
            _make_folder(target.path, files)
    except OSError as error:
        raise InputError(f"expected a file that can be written; {target.path}: {error.strerror}") from None
    for place, data in files.items():
        with atomic_write(place) as stream:
            stream.write(data)
    return files


def _make_folder(folder: Path, files: Mapping[Path, bytes]) -> None:
    """Make a folder, and delete the files of an earlier tokenizer that would change the one that is written there."""
    from subwords.formats.hf.folder import CHANGING

    others = [place for place in (folder / TEMPLATES).glob("*.jinja") if place not in files]
    if others:
        raise InputError(f"{others[0]} is a chat template of another tokenizer: delete it, or save to another folder")
    for place in sorted({folder, *(place.parent for place in files)}):
        place.mkdir(exist_ok=True)
    for place in (folder / name for name in CHANGING):
        if place not in files and place.is_file():
            place.unlink()


def lost_in(spec: TokenizerSpec, target: SaveTarget, files: Mapping[Path, bytes]) -> tuple[str, ...]:
    """Return the names of the parts that `load` does not find again in the files of a tokenizer."""
    if target.kind == "folder":
        return ()
    lost = ["additional_chat_templates"] if spec.foreign.chat_templates else []
    if target.kind == ".json":  # it holds all other parts
        return tuple([name for name in ("chat_template", "roles") if getattr(spec, name)] + lost)
    again = _read_back(target, files)
    if again is None:
        again = TokenizerSpec(model=spec.model)
        lost = [*_lost_rules(spec, again), *lost]
    elif target.kind in ("pair", ".tiktoken"):
        lost = [*_lost_rules(spec, again), *lost]
    texts = 1 if target.kind == ".gguf" else 2  # llama.cpp knows no pairs
    lost += ["template"] if _template_ids(spec)[:texts] != _template_ids(again)[:texts] else []
    lost += [name for name in _PARTS if getattr(spec, name) != getattr(again, name)]
    found = again.roles or roles_by_name(again.added_tokens)
    return tuple(lost if {*spec.roles} <= {*found} else [*lost, "roles"])


def _template_ids(spec: TokenizerSpec) -> tuple[object, ...]:
    """Return what the template adds to ids; a template may also only trim spans."""
    if spec.template is None or not (spec.template.added() or spec.template.added(pair=True)):
        return ()
    return spec.template.single, spec.template.pair


def _lost_rules(spec: TokenizerSpec, again: TokenizerSpec) -> list[str]:
    """Return what a format without a splitter and special tokens loses."""
    lost = [] if spec.splitter == again.splitter else ["splitter"]
    ids = {token.content: token.id for token in again.added_tokens}
    return lost if all(ids.get(token.content) == token.id for token in spec.added_tokens) else [*lost, "special_tokens"]


def _read_back(target: SaveTarget, files: Mapping[Path, bytes]) -> TokenizerSpec | None:
    """Return what `load` reads in the files; None for a rank file, which it reads only with a splitter."""
    if target.kind == "pair":
        from subwords.formats.hf import vocab_merges

        vocab, merges = ((data, str(place)) for place, data in files.items())
        return vocab_merges.read_vocab_merges(vocab, merges)
    (data,) = files.values()
    if target.kind == ".gguf":
        from subwords.formats.gguf import read as gguf

        return gguf.read_gguf(BytesIO(data), str(target.path))
    if target.kind == ".tiktoken":
        from subwords.formats import tiktoken

        if not tiktoken.is_published(data):
            return None
    return _read_as(kind_of(data, target.path), data, target.path, None, None)


def json_of(spec: TokenizerSpec) -> bytes:
    """Return the tokenizer.json of a spec; FormatError if the format cannot hold it."""
    from subwords.formats.hf import tokenizer_json

    if spec.model.user_ids:
        from subwords.formats.sentencepiece.read import split_user_pieces

        spec = split_user_pieces(spec)
    return tokenizer_json.write_tokenizer_json(spec)


# ---------------------------------------------------------------------------------------------------------------------
# What to do about the parts of a tokenizer that a file does not hold.

_MOST = 5  # special tokens that are shown
_FOLDER = {"chat_template", "additional_chat_templates", "roles"}  # what only a folder holds


def advice(spec: TokenizerSpec, target: SaveTarget, lost: tuple[str, ...]) -> str:
    """Return a warning that names what a file lacks, and says how to keep it."""
    names = [name.replace("_", " ") for name in lost]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    said = f"{target.path.name} does not hold {listed}: "
    options = {name: (python, command) for name, python, command in _options(spec) if name in lost}
    if options:
        import shlex

        calls, commands = zip(*options.values(), strict=True)
        said += (
            f"load it with {', '.join(calls)}, or once "
            f'"subwords convert {shlex.quote(target.path.name)} tokenizer.json {" ".join(commands)}"; '
        )
    other = "a folder" if _FOLDER & {*lost} else "a .json file"
    return f"{said}save to {other} to keep everything"


def _options(spec: TokenizerSpec) -> Iterator[tuple[str, str, str]]:
    """Yield parts, and how Python and the command line give each."""
    import json
    import shlex

    name = next((name for name, rule in NAMED.items() if rule == spec.splitter), None) or to_text(spec.splitter)
    yield "splitter", f"splitter={name!r:.300}", f"--splitter {shlex.quote(name):.300}"
    special = {token.content: token.id for token in spec.added_tokens}
    more = ", ..." if len(special) > _MOST else ""
    first = dict([*special.items()][:_MOST])
    shown = ", ".join(f"{text!r}: {index}" for text, index in first.items())
    given = json.dumps(first, ensure_ascii=False).removesuffix("}") + more + "}"
    yield "special_tokens", f"special_ids={{{shown}{more}}}", f"--special-ids {shlex.quote(given)}"
