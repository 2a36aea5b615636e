"""Read tokenizer files into a TokenizerSpec; the format is told by the beginning of a file, or by its name."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

from subwords.kernels.stored import stored
from subwords.spec.splitter import ENCODINGS, MODELS, Rule, encoding_named
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.checks import check_flag
from subwords.support.errors import FormatError, InputError, SubwordsError, SubwordsWarning, missing, unreadable
from subwords.support.files import check_pointer, place_of
from subwords.support.names import install_hint, nearest
from subwords.support.value import digest_of

MOST_SHOWN = 10  # tokens in a warning
Kind: TypeAlias = Literal[
    "ranks", "tekken", "merges", "vocab.json", "unigram.json", "vocab.txt", "rwkv", "sentencepiece", "tokenizer.json"
]

Contents: TypeAlias = dict[str, tuple[bytes, bytes]]  # of files by path, as os.path.normpath has it: with SHA-256


class Files:
    """The files of a folder, by name. What is read from disk is added to `contents`.

    closed: `contents` has all of them, so others that come meanwhile are not seen.
    """

    def __init__(self, folder: Path, contents: Contents, *, closed: bool) -> None:
        self.folder, self._contents, self._closed = folder, contents, closed

    def names(self) -> list[str]:
        """Return the sorted names of the files, and of those in the folder of templates as "folder/name"."""
        if self._closed:
            at = os.path.normpath(self.folder)
            return sorted(os.path.relpath(path, at).replace(os.sep, "/") for path in self._contents)
        places = [*self.folder.iterdir(), *(self.folder / TEMPLATES).glob("*")]
        return sorted(path.relative_to(self.folder).as_posix() for path in places if path.is_file())

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        path = self.folder / name
        return os.path.normpath(path) in self._contents or (not self._closed and path.is_file())

    def read(self, name: str) -> tuple[bytes, bytes]:
        """Return the content of a file, with its SHA-256. Raises OSError if it cannot be read."""
        path = self.folder / name
        key = os.path.normpath(path)
        if key not in self._contents:
            data = path.read_bytes()
            self._contents[key] = data, hashlib.sha256(data).digest()
        return self._contents[key]


# What transformers reads beside tokenizer.json.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "added_tokens.json", "config.json")
TEMPLATES = "additional_chat_templates"  # a folder of more of them
GGUF = b"GGUF"  # how such a file begins
VOCABS, MERGES = ("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")

_RANK_LINE = re.compile(rb"[\r\n]*[A-Za-z0-9+/]*={0,2} [0-9]+\r?(?:\n|$)")
_HEAD = 1 << 16  # bytes that are enough to recognize a format
_UNIGRAM = re.compile(
    rb'\s*\{\s*(?:"type"\s*:\s*"Unigram"\s*,\s*)?"unk_id"\s*:\s*\d+\s*,'
)  # what HF's save_model writes
_TEKKEN = re.compile(rb'\s*\{\s*"config"\s*:\s*\{[^{}]*"default_num_special_tokens"')
_FIRST_ENTRY = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]')


def kind_of(data: bytes, file: Path) -> Kind | None:
    """Return the format of a file; None for an unknown format.

    >>> kind_of(b"IQ== 0\\n", Path("tokenizer.model")), kind_of(b'{"a": 0}', Path("vocab.json"))
    ('ranks', 'vocab.json')
    """
    check_pointer(data, file)
    if _RANK_LINE.match(data):
        return "ranks"
    if data.startswith(b"#version") or _prefix(file, MERGES) is not None:
        return "merges"
    if _UNIGRAM.match(data):
        return "unigram.json"
    if _FIRST_ENTRY.match(data) or _prefix(file, VOCABS) is not None:
        return "vocab.json"
    if file.suffix == ".txt":
        from subwords.formats.vocab_txt import is_rwkv

        return "rwkv" if is_rwkv(data) else "vocab.txt"
    begins_json = data.lstrip().startswith(b"{")
    if begins_json and (_TEKKEN.match(data) or ("tekken" in file.name and file.suffix == ".json")):
        return "tekken"
    if file.suffix in (".model", ".spm") or (data.startswith(b"\n") and not begins_json):
        return "sentencepiece"
    return "tokenizer.json" if begins_json else None


def _prefix(file: Path, names: tuple[str, ...]) -> str | None:
    """Return what stands before one of these names, as HF's save_model(folder, "mine") writes "mine-vocab.json"."""
    name = next((name for name in names if file.name == name or file.name.endswith(f"-{name}")), None)
    return None if name is None else file.name.removesuffix(name)


def kind_at(path: Path) -> Kind | Literal["folder"] | None:
    """Return the format of the file at a path, or "folder"; FormatError if it cannot be read."""
    if path.is_dir():
        return "folder"
    try:
        with path.open("rb") as file:
            return kind_of(file.read(_HEAD), path)
    except OSError as error:
        raise unreadable(FormatError, f"{path}: {error.strerror}; expected a tokenizer file or folder", error) from None


_GZIP = b"\x1f\x8b"
_MOST_UNPACKED = 1 << 29
LEAST_STORED = 1 << 16  # bytes of a file; a smaller one is read in less time than its stored spec
_KNOWN = (
    "tokenizer.json (HF tokenizers), a SentencePiece .model, a rank file of tiktoken, tekken.json (Mistral), "
    "vocab.json with merges.txt, "
    "a BERT vocab.txt, a GGUF file, or a folder that holds one"
)
_NAMES = (
    *("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model"),
    *("tiktoken.model", "vocab.json", "vocab.txt", "source.spm"),
)
_PATTERNS = ("*.tiktoken", "rwkv_vocab*.txt")  # of names in a folder


def read_tokenizer(path: str | PathLike[str], **options: Any) -> TokenizerSpec:
    """Read a tokenizer file, a folder that holds one, or OpenAI's encoding or a repository by name; see `load`.

    options: those of `_read`. Warns (SubwordsWarning) of what the files hold and nothing here uses.
    """
    spec = _read(path, **options)
    if needed := _needed(spec):
        shown = ", ".join(map(repr, needed[:MOST_SHOWN])) + (", ..." if len(needed) > MOST_SHOWN else "")
        told = (
            f"{path}: ordinary text yields the special tokens {shown}, because it can be written in no other way; "
            'special="error" refuses them in a text, and a chat refuses them in a message'
        )
        warned = "; ".join(filter(None, (spec.foreign.warned, told)))
        spec = replace(spec, foreign=replace(spec.foreign, warned=warned))
    if spec.foreign.warned:
        warnings.warn(spec.foreign.warned, SubwordsWarning, stacklevel=3)
    return spec


def _needed(spec: TokenizerSpec) -> list[str]:
    """Return the special tokens that ordinary text yields, for it can be written in no other way (A3)."""
    model = spec.model
    found = [each for each in spec.added_tokens if each.special and each.id not in model.special_ids]
    unknown = {model.unk_id, *model.byte_ids.tolist()} if found else ()
    return [token.content for token in found if token.id not in unknown]


def _read(
    path: str | PathLike[str],
    *,
    splitter: Rule | None = None,
    special_ids: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = False,
    contents: Contents | None = None,
) -> TokenizerSpec:
    """Read what `read_tokenizer` reads, without a warning.

    The format is detected from the content; only vocab.txt, which has no signature, is recognized by its suffix.
    splitter, special_ids: for formats without them, which are rank files and vocab.json with merges.txt. contents: of
    files that were read already, by path: for a folder, of all of them. What is read besides is added.
    """
    contents = {} if contents is None else contents
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
            files = Files(file, contents, closed=bool(contents))
            names = files.names()
            file /= _within(names)
            templates = [name for name in names if name.startswith(f"{TEMPLATES}/") and name.endswith(".jinja")]
            beside = {name: files.read(name)[0] for name in (*BESIDE, *templates) if files.has(name)}
            if file.name != _NAMES[0] or not files.has(file.name):
                from subwords.formats.hf import folder as hf_folder

                spec = hf_folder.read_with_class(files, beside)
                if spec is not None:
                    _refuse(str(files.folder), splitter, special_ids)
                    return spec
        elif encoding:
            return _read_encoding(encoding, splitter, special_ids)
        else:
            files = Files(file.parent, contents, closed=False)
        at = os.path.normpath(file)
        with BytesIO(contents[at][0]) if at in contents else file.open("rb") as stream:
            data = stream.read(len(GGUF))
            if data == GGUF:  # gigabytes of tensors follow
                _refuse(str(file), splitter, special_ids)
                from subwords.formats.gguf import read as gguf

                return gguf.read_gguf(stream, str(file))
            if at not in contents:
                data += stream.read()
                contents[at] = data, hashlib.sha256(data).digest()
    except SubwordsError:  # some are an OSError, too
        raise
    except OSError as error:
        if isinstance(path, str) and len(file.parts) == 1 and not file.suffix and not file.exists():
            known = f"; names are demo, {', '.join(ENCODINGS)}, those of OpenAI's models, and org/name of the Hub"
            hint = nearest(path, ["demo", *ENCODINGS, *MODELS]) or known
            raise missing(FormatError, f"no file, folder or name {path!r} here{hint}", path) from None
        what = f"{file}: {error.strerror}; expected a tokenizer file: {_KNOWN}"
        if os.path.normpath(path) == os.path.normpath(file.parent):
            shown = ", ".join([*_NAMES, *_PATTERNS])
            what = f"{file.parent}: expected a file of a known name in this folder ({shown}); or pass the file itself"
        raise unreadable(FormatError, what, error) from None
    spec = _read_bytes(files, file.name, splitter, special_ids)
    if not beside:
        return spec
    from subwords.formats.hf import folder as hf_folder

    return hf_folder.read_folder_files(spec, beside, str(file.parent), complete=file.name == _NAMES[0])


def _read_bytes(files: Files, name: str, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> TokenizerSpec:
    (data, digest), file = files.read(name), files.folder / name
    if data.startswith(_GZIP):
        data, digest, file = *_unpacked(data, file), file.with_suffix("")
    kind = kind_of(data, file)
    if kind is not None and kind not in ("ranks", "merges", "vocab.json"):
        _refuse(str(file), splitter, special_ids)
    if len(data) < LEAST_STORED or kind in (None, "merges", "vocab.json") or not _can_be_stored(splitter, special_ids):
        return read_as(kind, data, file, splitter, special_ids, files)
    options = splitter, None if special_ids is None else tuple(special_ids.items())
    source = digest_of((kind, digest, *options)).encode()

    def made() -> tuple[TokenizerSpec, str]:
        spec = read_as(kind, data, file, splitter, special_ids, files)
        return spec, spec.model.digest

    spec, of_model = stored("spec", source, made)
    vars(spec.model)["digest"] = of_model  # names all that is stored of the model: 12 ms for 200,000 tokens
    return spec


def _unpacked(data: bytes, file: Path) -> tuple[bytes, bytes]:
    """Return the content of a file that gzip packed, with its SHA-256; no more than a tokenizer has."""
    from gzip import GzipFile
    from zlib import error

    try:
        found = GzipFile(fileobj=BytesIO(data)).read(_MOST_UNPACKED + 1)
    except (error, OSError, EOFError) as damage:
        raise FormatError(f"{file}: expected a file that gzip can unpack: {damage}") from None
    if len(found) > _MOST_UNPACKED:
        raise FormatError(f"{file}: expected at most {_MOST_UNPACKED:,} bytes when it is unpacked")
    return found, hashlib.sha256(found).digest()


def _can_be_stored(splitter: object, special_tokens: object) -> bool:
    """Whether the options are of types that name a stored spec; the reader sees to others."""
    if special_tokens is not None and not isinstance(special_tokens, dict):
        return False
    pairs = (special_tokens or {}).items()
    return isinstance(splitter, tuple | None) and all(type(key) is str and type(i) is int for key, i in pairs)


# The reader of each format that is one file: a module, which is imported on use, and a function.
READERS: dict[Kind, str] = {
    "ranks": "tiktoken.read_rank_file",
    "tekken": "tiktoken.read_tekken",
    "unigram.json": "hf.unigram.read_unigram_json",
    "rwkv": "vocab_txt.read_rwkv",
    "vocab.txt": "vocab_txt.read_vocab_txt",
    "sentencepiece": "sentencepiece.read.read_model_file",
    "tokenizer.json": "hf.tokenizer_json.read_tokenizer_json",
}


def function_of(name: str) -> Any:
    """Return a function of a module of this room, by both names."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"subwords.formats.{module}"), function)


def read_as(
    kind: Kind | None,
    data: bytes,
    file: Path,
    splitter: Rule | None,
    special_tokens: Mapping[str, int] | None,
    files: Files | None = None,
) -> TokenizerSpec:
    """Return the tokenizer of a file of known format, with what it needs of files beside it.

    files: those beside it, on disk by default. Raises FormatError if the format is unknown.
    """
    if kind in ("merges", "vocab.json"):
        from subwords.formats.hf import vocab_merges

        files = files or Files(file.parent, {}, closed=False)
        vocab = (data, str(file)) if kind == "vocab.json" else _beside(file, VOCABS, files)
        merges = (data, str(file)) if kind == "merges" else _beside(file, MERGES, files)
        return vocab_merges.read_vocab_merges(vocab, merges, splitter=splitter, special_tokens=special_tokens)
    if kind is not None:
        given = {"splitter": splitter, "special_tokens": special_tokens} if kind == "ranks" else {}
        spec: TokenizerSpec = function_of(READERS[kind])(data, str(file), **given)
        return spec
    came = f"begins with {data[:16]!r}" if data else "is empty"
    raise FormatError(f"{file} {came}; expected a tokenizer file: {_KNOWN}")


def _encoding_of(path: str | PathLike[str], file: Path) -> str | None:
    """Return the encoding of OpenAI that a name stands for; None for a file, and for other names."""
    return encoding_named(path) if isinstance(path, str) and not file.exists() else None


def _of_hub(name: str, revision: str | None, download: bool) -> Path | None:
    """Return the folder of a repository by name; None if `name` is not a repository name.

    A name without "org/", of which old repositories have some, counts if its repository is on this machine.
    """
    known = _PLAIN_NAME.fullmatch(name) and not download and _stored_folder(name, revision)
    if is_repository_name(name) or known:
        return folder_of(name, revision=revision, download=download)
    if revision is not None or download:
        raise _for_names(name, Path(name))
    return None


def _for_names(path: str | PathLike[str], file: Path) -> InputError:
    told = f'revision and download are for repositories of the Hugging Face Hub, "org/name", not for {path}'
    if encoding := _encoding_of(path, file):
        from subwords.formats import tiktoken

        told += "" if tiktoken.cached_file(encoding) else f"; {tiktoken.where_to_get(encoding)}"
    return InputError(told)


def _within(names: Sequence[str]) -> str:
    """Return the file to read among those of a folder; tokenizer.json if there is none."""
    own = [Path(name) for name in names if "/" not in name]
    others = (path.name for ending in _PATTERNS for path in own if path.match(ending))
    return next((name for name in _NAMES if name in names), None) or next(others, _NAMES[0])


def _beside(file: Path, names: tuple[str, ...], files: Files) -> tuple[bytes, str]:
    """Return the content and the path of the file of one of these names next to a file."""
    before = _prefix(file, VOCABS) or _prefix(file, MERGES) or ""
    other = next((name for each in names if files.has(name := f"{before}{each}")), None)
    if other is None and files.has("source.spm"):
        raise FormatError(
            f"{file} is Marian's, whose pieces are in source.spm, and some have no id here: load source.spm, and look "
            f"up its tokens in this file"
        )
    if other is None:
        wanted = " or ".join(f"{before}{name}" for name in names)
        raise missing(FormatError, f"{file}: expected {wanted} in the same folder: BPE needs both files", wanted)
    try:
        return files.read(other)[0], str(files.folder / other)
    except OSError as error:
        raise FormatError(f"expected a file that can be read; {files.folder / other}: {error.strerror}") from None


def _read_encoding(encoding: str, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> TokenizerSpec:
    from subwords.formats import tiktoken

    _refuse(encoding, splitter, special_ids)
    file = tiktoken.cached_file(encoding)
    if file is None:
        looked = ", ".join(str(place.parent) for place in tiktoken.places_of(encoding))
        message = f"no rank file for {encoding} (looked in {looked}): {tiktoken.where_to_get(encoding)}"
        raise missing(FormatError, message, encoding)
    return tiktoken.read_encoding(file.read_bytes(), encoding, str(file))


def _refuse(name: str, splitter: Rule | None, special_ids: Mapping[str, int] | None) -> None:
    for option, value in (("splitter", splitter), ("special_ids", special_ids)):
        if value is not None:
            raise InputError(
                f"{option} is for files without one (rank files, vocab.json); {name} says it itself: use with_"
            )


# ---------------------------------------------------------------------------------------------------------------------
# Repositories of the Hugging Face Hub by name, "org/name": on this machine, or downloaded if asked for.

# What is fetched: files of tokenizers, no weights.
FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"),
    *(
        "tekken.json",
        "chat_template.jinja",
        "additional_chat_templates/*.jinja",
        "vocab.json",
        "merges.txt",
        "vocab.txt",
    ),
    *("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "source.spm", "target.spm"),
    *("tiktoken.model", "*.tiktoken"),
)
_REPOSITORY = re.compile(r"(?=.{3,96}\Z)[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)
_PLAIN_NAME = re.compile(r"(?=.{2,96}\Z)[A-Za-z0-9_][\w.-]*", re.ASCII)
_SUFFIXES = (".json", ".model", ".spm", ".txt", ".bpe", ".tiktoken", ".gguf", ".jinja", ".parquet", ".jsonl")


def is_repository_name(path: object) -> bool:
    """Whether a string has the form of a repository's name and is not obviously a file's.

    >>> [is_repository_name(path) for path in ("openai/whisper-tiny", "models/tokenizer.json", "gpt2", "../a/b")]
    [True, False, False, False]
    """
    return isinstance(path, str) and _REPOSITORY.fullmatch(path) is not None and not path.lower().endswith(_SUFFIXES)


def folder_of(name: str, *, revision: str | None = None, download: bool = False) -> Path:
    """Return the folder with a repository's tokenizer files; only `download` asks the network.

    It may be in a folder of SUBWORDS_VOCABULARIES, by its name, or in a cache of the Hub. Raises FormatError if it is
    in none, and if the download fails.

    Source: huggingface_hub 2.4, snapshot_download.
    """
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise InputError(f"expected revision as the name of a branch or tag, or a commit, not {revision!r:.60}")
    at = f"{name} at {revision}" if revision else name
    found = _downloaded(name, revision, at) if download else _stored_folder(name, revision)
    if found is None:
        looked = ", ".join(map(str, [*own_folders(), *hub_caches()]))
        message = (
            f"no file or folder {name} here, and no cache has {at} (looked in {looked}): load(..., download=True) "
            f"downloads its tokenizer files, and so does huggingface_hub's command: hf download {name}"
        )
        raise missing(FormatError, message, name)
    if not any(next(found.glob(pattern), None) for pattern in FILES if pattern != BESIDE[-1]):
        hint = "it has none" if download else "load(..., download=True) downloads those that it has"
        raise FormatError(f"{found} has no tokenizer files of {at}: {hint}")
    return found


def own_folders() -> list[Path]:
    """Return the folders of SUBWORDS_VOCABULARIES: files and folders by the names that `load` is given."""
    return [Path(place) for place in os.environ.get("SUBWORDS_VOCABULARIES", "").split(os.pathsep) if place]


def hub_caches() -> list[Path]:
    """Return where the Hub's files may be on this machine: as huggingface_hub and older transformers look for them."""
    get = os.environ.get
    home = Path(get("HF_HOME") or Path(get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"))
    named = (get("HF_HUB_CACHE"), get("HUGGINGFACE_HUB_CACHE"), get("TRANSFORMERS_CACHE"), home / "hub")
    return [*dict.fromkeys(Path(place).expanduser() for place in named if place)]


def _stored_folder(name: str, revision: str | None) -> Path | None:
    """Return a repository's folder on this machine, None if there is none."""
    if revision is None:
        for place in own_folders():
            if (place / name).is_dir():
                return place / name
    if ".." in Path(revision or "main").parts:
        return None
    for cache in hub_caches():
        root = cache / f"models--{name.replace('/', '--')}"
        commit = revision or "main"
        ref = root / "refs" / commit
        with contextlib.suppress(OSError, ValueError):
            commit = ref.read_text("utf-8").strip() if ref.is_file() else commit
            found = root / "snapshots" / commit
            if found.is_dir() and found.parent == root / "snapshots" and found.name != "..":
                return found
    return None


def _downloaded(name: str, revision: str | None, at: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise FormatError(f"download=True needs the huggingface_hub package: {install_hint('files')}") from None
    try:
        return Path(str(snapshot_download(name, revision=revision, allow_patterns=[*FILES], local_files_only=False)))
    except Exception as error:  # huggingface_hub passes on errors of several HTTP libraries
        raise FormatError(f"cannot download {at} from the Hugging Face Hub: {error}") from error
