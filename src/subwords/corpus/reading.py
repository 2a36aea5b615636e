"""Reading: the documents of a source, and the policy for text that cannot be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from subwords.support.checks import check_instance, check_options, option
from subwords.support.errors import CorpusError, InputError

Documents = Literal["file", "line"]
Errors = Literal["strict", "replace", "skip"]

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LEAST_CAP = 4  # bytes: the longest character


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a source is read; InputError for invalid options.

    documents: "file" makes each file, row or text a document, "line" each of its lines. separator: a text between
    documents, which belongs to none of them; for text files. text_column: the field or column of rows that holds the
    text. max_document_bytes: each document is truncated to this size. sample: the share of documents to read, chosen
    by a hash of their text and of sample_seed. errors: text that cannot be read raises CorpusError with its place
    ("strict"); is read with U+FFFD for each invalid byte, and skipped for a row without text
    ("replace"); or its document is left out ("skip").

    >>> import subwords
    >>> subwords.count(["ab\\nab\\n"], reading=subwords.Reading(documents="line")).total
    4
    """

    documents: Documents = option("file", "A document is each text file or row, or each of its lines.")
    separator: str | None = option(None, "The text between documents in text files.", least=1, metavar="TEXT")
    text_column: str = option("text", "The field or column that holds the text.", metavar="NAME")
    max_document_bytes: int | None = option(None, "Truncate each document to N bytes.", least=LEAST_CAP)
    sample: float | None = option(
        None, "Read this share of the documents, chosen by a hash of their text: 0.1 for a tenth.", least=0, most=1
    )
    sample_seed: int | None = option(None, "Another sample of the same share.", least=0)
    errors: Errors = option("strict", "Text that cannot be read: stop, read it as U+FFFD, or skip its document.")

    def __post_init__(self) -> None:
        check_options(self)
        if self.separator is not None and self.documents == "line":
            raise InputError('separator is for documents="file": lines are separated by line feeds')
        if self.sample == 0:
            raise InputError(f"expected sample as a share of documents above 0, not {self.sample}")
        if self.sample_seed is not None and self.sample is None:
            raise InputError("sample_seed is for a sample, and none is asked for: pass sample, too, or leave it out")


def reading_of(reading: Reading | None) -> Reading:
    """Return the argument `reading` of a function: None is `Reading()`."""
    if reading is None:
        return Reading()
    check_instance("reading", reading, Reading)
    return reading


@dataclass(slots=True)
class Tally:
    """How many documents were left out, read with replacements, cut short, and empty."""

    skipped: int = 0
    replaced: int = 0
    cut: int = 0
    empty: int = 0

    def refused(self, message: str, errors: Errors, documents: int = 1) -> None:
        """Count documents that cannot be read; CorpusError if they may not be left out."""
        if errors == "strict":
            raise CorpusError(f'{message}; errors="skip" leaves such documents out')
        if errors == "skip":
            self.skipped += documents
        else:
            self.replaced += documents

    def add(self, other: Tally) -> None:
        """Add the numbers of another part of the corpus."""
        self.skipped, self.replaced = self.skipped + other.skipped, self.replaced + other.replaced
        self.cut, self.empty = self.cut + other.cut, self.empty + other.empty
