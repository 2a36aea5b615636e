"""What was compared before a release: the record of a campaign, by the digest of a tokenizer file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path

from subwords.machine import sources_digest
from subwords.support.files import place_of
from subwords.support.report import Report, Table

RECORD = Path(__file__).with_name("evidence.json")


@dataclass(frozen=True, kw_only=True)
class Evidence(Report):
    """Whether a tokenizer file was compared with its own library, and with these kernels; made by `evidence`.

    file: its name in the record, "" if it is not there: then all else is empty. library: name and version. texts,
    characters: on all `paths` to ids together. different: texts with other ids. date: of the last comparison.
    same_kernels: whether the kernels were those of this installation.
    """

    file: str
    library: str = ""
    texts: int = 0
    characters: int = 0
    different: int = 0
    paths: tuple[str, ...] = ()
    date: str = ""
    same_kernels: bool = False

    def __bool__(self) -> bool:
        return bool(self.file) and self.same_kernels and not self.different

    def tables(self) -> list[Table]:
        """Return what was compared."""
        names = ("file", "library", "texts", "characters", "different", "date")
        row = tuple(getattr(self, name) or "–" for name in names)
        return [
            Table((*names, "these kernels"), [(*row, "yes" if self.same_kernels else "no")], "Evidence", "tab:evidence")
        ]


def evidence(tokenizer: str | PathLike[str]) -> Evidence:
    """Return what the campaign before this release compared of a tokenizer file, found by its SHA-256.

    Raises FormatError for a file that cannot be read.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["low lower"] * 9, vocab_size=259).save(f"{folder}/tok.json")
    ...     bool(subwords.files.evidence(f"{folder}/tok.json"))
    False
    """
    digest = sha256(place_of(tokenizer, local=True).read_bytes()).hexdigest()
    for row in json.loads(RECORD.read_bytes()):
        if row["sha256"] == digest:
            same = row["kernels"] == sources_digest()
            known = {name: row[name] for name in ("file", "library", "texts", "characters", "different", "date")}
            return Evidence(**known, paths=tuple(row["paths"]), same_kernels=same)
    return Evidence(file="")
