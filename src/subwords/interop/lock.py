"""lock: the digests of a tokenizer and of its parts in a small file, and whether a tokenizer is still that one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from subwords import Tokenizer, __version__
from subwords.machine import TokenizerLike, family_of, parse_json, tokenizer_of
from subwords.support.errors import FormatError, InputError, readable
from subwords.support.files import atomic_write, place_of
from subwords.support.report import Report, Table
from subwords.support.value import digest_of

if TYPE_CHECKING:
    from subwords import TokenizerSpec

LOCK_VERSION = 1
LARGEST_ID = 2**31 - 1
NAME = "tokenizer.lock"
_OF_MODEL = {"vocab": "vocabulary", "merges": "merges", "ranks": "merges", "scores": "scores"}


@dataclass(frozen=True)
class Lock(Report):
    """The digests of a tokenizer, and what people want to see in a review.

    tokenizer: its path from the folder of the lock file, or its name; None if it was given as a value. version: of this
    package. digest: that of the `TokenizerSpec`. parts: the digest of each part, None for one that it does not have.
    Digests depend on ids and text alone, not on the file format, the order of its keys or unused fields.
    """

    tokenizer: str | None
    version: str
    digest: str
    parts: Mapping[str, str | None]
    family: str
    vocabulary: int
    special_tokens: Mapping[str, int]

    def tables(self) -> list[Table]:
        """Return the parts and their digests."""
        rows = [(name, digest or "none") for name, digest in {"all": self.digest, **self.parts}.items()]
        return [Table(("part", "SHA-256"), rows, "Digests of a tokenizer", "tab:lock")]


@dataclass(frozen=True)
class LockCheck(Report):
    """Whether a tokenizer is the one of a lock file: true if nothing changed.

    changed: the names of the parts that did. details: what changed in the summary. version: that wrote the lock.
    """

    tokenizer: str
    changed: tuple[str, ...]
    details: tuple[str, ...]
    version: str

    def __bool__(self) -> bool:
        return not self.changed

    def tables(self) -> list[Table]:
        """Return what was compared."""
        row = (self.tokenizer, "no" if self.changed else "yes", ", ".join(self.changed) or "none")
        return [Table(("tokenizer", "equal", "changed parts"), [row], "Check of a lock", "tab:lock-check")]

    def notes(self) -> list[str]:
        """Return what changed in the summary, and a warning if another version wrote the lock."""
        found = [*self.details]
        if self.changed and self.version != __version__:
            found.append(
                f"The lock was written by subwords {self.version}, this is {__version__}: a new version may give an "
                "unchanged tokenizer another digest. Compare the two files with diff, then lock again."
            )
        return found


def lock(tokenizer: TokenizerLike, path: str | PathLike[str] | None = None) -> Lock:
    """Return the digests of a tokenizer and a summary; path: also write them, as a small JSON file.

    Equal tokenizers have equal digests in every format that holds all of their parts; see docs/studying.md.
    `check_lock` compares.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259, special_tokens=["<s>"])
    >>> found = subwords.files.lock(tok)
    >>> found.digest == tok.spec.digest, found.vocabulary, found.special_tokens
    (True, 259, {'<s>': 0})
    """
    target = None if path is None else place_of(path, "path", local=True)
    spec = tokenizer_of(tokenizer).spec
    name = None if isinstance(tokenizer, Tokenizer) else _name_from(str(tokenizer), target)
    special = {token.content: token.id for token in spec.added_tokens if token.special}
    family, size = family_of(spec.model).name, len(spec.model.vocab)
    found = Lock(name, __version__, spec.digest, parts_of_spec(spec), family, size, special)
    if target is not None:
        values = {"format": LOCK_VERSION, **found.to_dict()}
        with atomic_write(target, "w") as file:
            json.dump(values, file, indent=1, ensure_ascii=False)
            file.write("\n")
    return found


def _name_from(given: str, target: Path | None) -> str:
    """Return a path as seen from the folder of the lock file; a name as it is."""
    if target is None or not os.path.lexists(given):
        return given
    try:
        return Path(os.path.relpath(given, target.parent)).as_posix()
    except ValueError:  # another drive
        return Path(given).absolute().as_posix()


def parts_of_spec(spec: TokenizerSpec) -> dict[str, str | None]:
    """Return the digest of each part of a tokenizer, None for one that it does not have.

    The model is four parts: the vocabulary (tokens by id), the merges with their ranks, the scores, and its settings.
    """
    model = spec.model
    rest: dict[str, list[object]] = {"vocabulary": [], "merges": [], "scores": [], "model": [type(model).__name__]}
    for name, value in model.values.items():
        rest[_OF_MODEL.get(name, "model")] += [value] if name in _OF_MODEL else [name, value]
    found = {name: digest_of(tuple(values)) if values else None for name, values in rest.items()}
    for one in fields(spec):
        if one.name not in ("model", "foreign"):
            value = getattr(spec, one.name)
            found[one.name] = None if value is None or value == () else digest_of(value)
    named = tuple(sorted(spec.foreign.chat_templates))
    return found | {"additional_chat_templates": digest_of(named) if named else None}


def check_lock(path: str | PathLike[str] = NAME, *, tokenizer: TokenizerLike | None = None) -> LockCheck:
    """Return whether a tokenizer is the one of a lock file, and the names of the parts that changed.

    tokenizer: by default, the one that the file names. Raises FormatError for a file that `lock` did not write,
    InputError if it names no tokenizer.

    >>> import tempfile
    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tok.save(f"{folder}/tok.json")
    ...     made = subwords.files.lock(f"{folder}/tok.json", f"{folder}/tokenizer.lock")
    ...     same = subwords.files.check_lock(f"{folder}/tokenizer.lock")
    ...     other = subwords.files.check_lock(f"{folder}/tokenizer.lock", tokenizer=tok.with_(normalizer="nfc"))
    >>> bool(same), other.changed
    (True, ('normalizer',))
    """
    file = place_of(path, local=True)
    before = _read_lock(file)
    if tokenizer is None:
        if before.tokenizer is None:
            raise InputError(f"{file} names no tokenizer: expected tokenizer to be given")
        beside = file.parent / before.tokenizer
        tokenizer = str(beside) if beside.exists() else before.tokenizer
    after = lock(tokenizer)
    names = dict.fromkeys((*before.parts, *after.parts))
    changed = [name for name in names if before.parts.get(name) != after.parts.get(name)]
    if not changed and before.digest != after.digest:
        changed = ["digest"]
    shown = "the given tokenizer" if isinstance(tokenizer, Tokenizer) else str(tokenizer)
    return LockCheck(shown, tuple(changed), tuple(_details(before, after)), before.version)


def _details(before: Lock, after: Lock) -> list[str]:
    """Return in words what changed in the summary."""
    found = []
    if before.family != after.family:
        found.append(f"The family is {after.family} instead of {before.family}.")
    if before.vocabulary != after.vocabulary:
        found.append(f"The vocabulary has {after.vocabulary} ids instead of {before.vocabulary}.")
    old, new = before.special_tokens, after.special_tokens
    for content in dict.fromkeys((*old, *new)):
        if old.get(content) != new.get(content):
            now, once = (f"the id {ids[content]}" if content in ids else "no id" for ids in (new, old))
            found.append(f"The special token {content!r} has {now} instead of {once}.")
    return found


def _read_lock(file: Path) -> Lock:
    with readable(file, FormatError, f"cannot read {file}"):
        data = file.read_bytes()
    top = parse_json(data, str(file))
    if (kind := top["format"]).value != LOCK_VERSION or isinstance(kind.value, bool):
        raise kind.wrong(f"format {LOCK_VERSION} of a lock file")
    parts, special = top["parts"], top["special_tokens"]
    return Lock(
        None if top["tokenizer"].value is None else top["tokenizer"].string(),
        top["version"].string(),
        top["digest"].digest(),
        {name: None if parts[name].value is None else parts[name].digest() for name in parts.object()},
        top["family"].string(),
        top["vocabulary"].integer(LARGEST_ID),
        {content: special[content].integer(LARGEST_ID) for content in special.object()},
    )
