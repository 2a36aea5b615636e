"""Write a TokenizerSpec as tokenizer files, and say what of it a file does not hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path

from subwords.formats.read import MERGES, TEMPLATES, VOCABS, function_of, kind_of, read_as
from subwords.spec.added_token import roles_by_name
from subwords.spec.splitter import NAMED, to_text
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.errors import InputError
from subwords.support.files import atomic_write, place_of

_PARTS = ("padding", "truncation", "chat_template", "inputs")
_WRITTEN = (".json", ".model", ".tiktoken", ".gguf", ".txt")
_WRITERS = {
    ".model": "sentencepiece.write.write_model_file",
    ".tiktoken": "tiktoken.write_rank_file",
    ".gguf": "gguf.write.write_gguf",
    ".txt": "vocab_txt.write_vocab_txt",
    "tekken": "tiktoken.write_tekken",
}


@dataclass(frozen=True, slots=True)
class SaveTarget:
    """What a path says about a tokenizer that is written there.

    path: of the file or folder. kind: the suffix of a file, "folder", "tekken" for tekken.json, or "pair" for
    vocab.json with merges.txt.
    """

    path: Path
    kind: str


def target_of(path: str | PathLike[str]) -> SaveTarget:
    """Return what a path to write means; InputError for a name of no format that can be written.

    A folder is a path that exists as one, that ends in "/" or that has no suffix. The names vocab.json and merges.txt,
    or encoder.json and vocab.bpe, mean both files.

    >>> target_of("new/").kind, target_of("a.gguf").kind, target_of("merges.txt").kind
    ('folder', '.gguf', 'pair')
    """
    file = place_of(path, local=True)
    try:
        if file.is_dir() or str(path).endswith(("/", os.sep)) or not (file.suffix or file.exists()):
            return SaveTarget(file, "folder")
    except OSError as error:
        raise InputError(f"expected a file that can be written; {file}: {error.strerror}") from None
    if file.name in (*VOCABS, *MERGES):
        return SaveTarget(file, "pair")
    if "tekken" in file.name and file.suffix == ".json":
        return SaveTarget(file, "tekken")
    if file.suffix not in _WRITTEN:
        raise InputError(
            f"expected a name ending in {', '.join(_WRITTEN)}, or vocab.json, merges.txt, or a folder (that exists, or "
            f'a name that ends in "/" or has no suffix); not {file}'
        )
    return SaveTarget(file, file.suffix)


def files_of(spec: TokenizerSpec, target: SaveTarget) -> dict[Path, bytes]:
    """Return the content of each file to write; FormatError if the format would give other ids."""
    if target.kind == "folder":
        from subwords.formats.hf import folder

        files = {**folder.write_folder_files(spec), "tokenizer.json": json_of(spec)}
        return {target.path / name: data for name, data in files.items()}
    if target.kind == "pair":
        from subwords.formats.hf import vocab_merges

        pair = next(pair for pair in zip(VOCABS, MERGES, strict=True) if target.path.name in pair)
        both = zip(pair, vocab_merges.write_vocab_and_merges(spec), strict=True)
        return {target.path.with_name(name): data for name, data in both}
    return {target.path: (json_of if target.kind == ".json" else function_of(_WRITERS[target.kind]))(spec)}


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
        return tuple([name for name in ("chat_template", "roles", "inputs") if getattr(spec, name)] + lost)
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
    return read_as(kind_of(data, target.path), data, target.path, None, None)


def json_of(spec: TokenizerSpec) -> bytes:
    """Return the tokenizer.json of a spec; FormatError if the format cannot hold it."""
    from subwords.formats.hf import tokenizer_json

    if spec.model.user_ids:
        from subwords.formats.sentencepiece.read import split_user_pieces

        spec = split_user_pieces(spec)
    return tokenizer_json.write_tokenizer_json(spec)


# ---------------------------------------------------------------------------------------------------------------------
# What to do about the parts of a tokenizer that a file does not hold.

_MOST_SHOWN = 5  # special tokens that are shown
_FOLDER = {"chat_template", "additional_chat_templates", "roles", "inputs"}  # what only a folder holds


def advice(spec: TokenizerSpec, target: SaveTarget, lost: tuple[str, ...]) -> str:
    """Return a warning that names what a file lacks, and says how to keep it."""
    names = ["sides and longest input of the model" if name == "inputs" else name.replace("_", " ") for name in lost]
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
    more = ", ..." if len(special) > _MOST_SHOWN else ""
    first = dict([*special.items()][:_MOST_SHOWN])
    shown = ", ".join(f"{text!r}: {index}" for text, index in first.items())
    given = json.dumps(first, ensure_ascii=False).removesuffix("}") + more + "}"
    yield "special_tokens", f"special_ids={{{shown}{more}}}", f"--special-ids {shlex.quote(given)}"
