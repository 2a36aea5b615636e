"""What importing costs and brings: nothing heavy before it is needed, and exactly the public names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords
from small_data import file_of

SOURCE = Path(subwords.__file__).parents[1]
SPACES = ("adapt", "files", "research", "sampling", "scale", "study")
ERRORS = ("CorpusError", "FormatError", "InputError", "SubwordsError", "SubwordsWarning", "TrainingError")
PUBLIC = {
    *("AddedToken", "Encoding", "EncodingBatch", "Normalizer", "Padding", "PromptCache", "Reading", "Special"),
    *("Splitter", "Text"),
    *("TokenBatch", "Tokenizer", "TokenizerSpec", "Truncation", "WordCounts"),
    *("accelerate", "count", "load", "normalizer", "splitter", "train", "warmup", *ERRORS, *SPACES),
}
IN_SPACES = {
    "adapt": ("Adapted", "IdMap", "extend", "id_map", "merge", "prune", "replace"),
    "files": (
        *("Evidence", "Export", "Manifest", "TokenFile", "check", "check_lock", "convert", "evidence"),
        *("export", "export_page", "lock", "open", "verify"),
    ),
    "research": ("LanguageCost", "Parity", "train_parity"),
    "sampling": ("distribution", "encode_with", "segmentations"),
    "scale": ("Run",),
    "study": (
        *("align", "audit", "bench", "boundary_difference", "canonicalize", "compare", "diff", "evaluate"),
        *("explain", "explain_training", "is_canonical", "sweep", "undertrained", "verify_training"),
        *("vocabulary_map", "why_not"),
    ),
}
HEAVY = ("numpy", "numba", "llvmlite", "regex", "click", "rich", "pyarrow")


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-W", "error", *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_by(code: str, *names: str) -> list[str]:
    return run("-c", f"import sys\n{code}\nprint(*[name for name in {names!r} if name in sys.modules])").split()


def test_import_brings_nothing_heavy() -> None:
    assert imported_by("import subwords", *HEAVY) == []


def test_import_brings_few_modules() -> None:
    code = "import sys\nbefore = {*sys.modules}\nimport subwords\nprint(*sorted({*sys.modules} - before))"
    assert [name for name in run("-c", code).split() if name.startswith("subwords")] == [
        *("subwords", "subwords.support", "subwords.support.lazy")
    ]


def test_loading_imports_little(data: Path) -> None:
    unneeded = ("difflib", "secrets", "random", "json", "numpy.ma", "numba", "llvmlite")
    file = str(file_of(data, "t5/spiece.model"))
    off = "import os\nos.environ['SUBWORDS_TABLES'] = 'off'"  # as on the first day
    assert imported_by(f"{off}\nimport subwords\nsubwords.load({file!r})", *unneeded) == []


def test_public_names() -> None:
    assert set(subwords.__all__) == PUBLIC
    assert subwords.__all__ == sorted(subwords.__all__)
    assert set(dir(subwords)) == PUBLIC
    for name in PUBLIC:
        assert getattr(subwords, name).__doc__, name


@pytest.mark.parametrize("space", SPACES)
def test_public_names_of_namespaces(space: str) -> None:
    module = getattr(subwords, space)
    assert tuple(module.__all__) == IN_SPACES[space]
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


def test_star_import_brings_the_public_names() -> None:
    code = "from subwords import *\nprint(*sorted(name for name in globals() if not name.startswith('_')))"
    assert run("-c", code).split() == sorted(PUBLIC)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'subwords' has no attribute 'Tokeniser'"):
        subwords.Tokeniser  # noqa: B018


def test_errors_are_of_one_family() -> None:
    for name in ("CorpusError", "FormatError", "InputError", "TrainingError"):
        assert issubclass(getattr(subwords, name), subwords.SubwordsError)


def test_package_says_that_it_is_typed() -> None:
    assert (Path(subwords.__file__).parent / "py.typed").exists()
