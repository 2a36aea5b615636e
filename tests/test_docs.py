"""What the documents say is run: their Python, their commands, their links, and the numbers that tests carry."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from tools.pictures import PICTURES, pictures
from tools.site import MOVED

import subwords
from commands import all_commands
from inside import splitter_NAMED as NAMED
from subwords.cli import main

ROOT = Path(__file__).resolve().parents[1]
GUIDE = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
COURSE = sorted(f"docs/course/{path.name}" for path in (ROOT / "docs" / "course").glob("*.md"))
DOCUMENTS = ("README.md", "ALGORITHMS.md", "COMPATIBILITY.md", "CONTRIBUTING.md", *GUIDE, *COURSE)
LINKED = (*DOCUMENTS, "SECURITY.md", "CHANGELOG.md", "BENCHMARKS.md", "examples/README.md")
MOST_LINES, MOST_COLUMNS = 160, 110  # of the README; the second of its prose
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(r"^\*\*([A-Z]\d+)\.\*\*(.*?)^Tests: (.*?)\.$", re.MULTILINE | re.DOTALL)


def blocks(document: str, *languages: str) -> list[tuple[str, str]]:
    return [(kind, body) for kind, body in FENCE.findall((ROOT / document).read_text("utf-8")) if kind in languages]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds the examples, as a reader's does, and is the current one."""
    folder = tmp_path / "examples"
    folder.mkdir()
    for file in (ROOT / "examples").iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def names(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Where the blocks of a document are run, as if in a file of kernels/, whose helpers compiling replaces."""
    module = ModuleType("subwords.kernels.example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return vars(module)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_python_blocks_run(
    document: str,
    workplace: Path,
    names: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if document == "docs/web.md":
        request.getfixturevalue("wasm")
    if document == "CONTRIBUTING.md":  # its kernel is nobody else's
        monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(workplace / "cache"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for kind, body in blocks(document, "python", "pycon"):
        if kind == "python":
            # A kernel's source is read back by Numba, from a file.
            file = workplace / "block.py"
            file.write_text(body, "utf-8")
            exec(compile(body, str(file), "exec", dont_inherit=True), names)
        else:
            test = doctest.DocTestParser().get_doctest(body, names, document, document, 0)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0


def commands(document: str) -> Iterator[list[str]]:
    for _, body in blocks(document, "sh"):
        for line in body.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["subwords"]:
                assert not {"|", "&&", ">", "<"} & set(words), line
                yield words[1:]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_shell_commands_run(
    document: str, workplace: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if document == "docs/web.md":
        request.getfixturevalue("wasm")
    # `show` ends at once, and opens no browser.
    monkeypatch.setattr("subwords.study.page.PageServer.serve_forever", lambda *_, **__: None)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    for arguments in commands(document):
        got = CliRunner().invoke(main, arguments, prog_name="subwords")
        assert got.exit_code == 0, (arguments, got.output, got.exception)


def test_guide_has_every_command() -> None:
    shown = [arguments for page in GUIDE for arguments in commands(page)]
    assert {*all_commands()} <= {name for words in shown for name in (words[0], " ".join(words[:2]))}
    guide = (ROOT / "docs" / "reference.md").read_text("utf-8")
    assert [name for name in main.commands if f"`{name}" not in guide] == []


def test_guide_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    tasks = {*GUIDE} - {"docs/README.md", "docs/gallery.md"}
    assert 10 < len(tasks) <= 15
    assert [name for name in GUIDE if name != "docs/README.md" and f"]({Path(name).name})" not in index] == []


def test_old_addresses_lead_to_pages_and_headings() -> None:
    for old, new in MOVED.items():
        page, _, heading = new.partition("#")
        assert f"docs/{page}.md" in GUIDE and f"docs/{old}.md" not in GUIDE
        assert not heading or heading in _headings(ROOT / "docs" / f"{page}.md")


def test_pictures_are_what_the_package_gives() -> None:
    for name, content in pictures().items():
        assert (PICTURES / name).read_text("utf-8") == content, f"{name}: python -m tools.pictures"


def test_quickstart_prints_what_it_did_and_says_where_it_saved(workplace: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(subwords.__file__).parents[1])}
    got = subprocess.run(
        [sys.executable, "examples/quickstart.py"], capture_output=True, encoding="utf-8", env=environment, check=False
    )
    assert got.returncode == 0, got.stderr
    assert "the text came back" in got.stdout
    assert str(Path("out", "opticks.json")) in got.stdout
    assert subwords.load("out/opticks.json").vocab_size == 8_000


def test_readme_opens_with_two_commands_that_checks_repeat() -> None:
    first, second = (body.strip() for _, body in blocks("README.md", "sh")[:2])
    assert first.endswith("examples/quickstart.py") and second.endswith("-m pytest -n auto")
    assert "\n" not in first + second
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert [line for line in FENCE.sub("", text).splitlines() if len(line) > MOST_COLUMNS and line[0] != "|"] == []
    assert "README.md" in (ROOT / ".ci" / "run").read_text("utf-8")


# The rows of the README's table "You have this line", and what a line needs to run.
CHANGES = re.findall(r"^\| `(.+?)`.*? \| `(.+?)` \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
PACKAGES = ("tokenizers", "transformers", "tiktoken", "sentencepiece")


@pytest.mark.parametrize("package", PACKAGES)
def test_lines_that_the_readme_changes_give_the_same_ids(
    package: str, workplace: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip(package)
    theirs, ours = CHANGES[PACKAGES.index(package)]
    for algorithm, name in ("bpe", "tokenizer.json"), ("bpe", "folder/"), ("unigram", "x.model"):
        subwords.train("examples/opticks.txt", vocab_size=400, algorithm=algorithm).save(name)
    if package == "tiktoken":
        ranks = request.getfixturevalue("shared_data") / "tokenizers" / "tiktoken" / "o200k_base.tiktoken"
        monkeypatch.setenv("SUBWORDS_VOCABULARIES", str(ranks.parent))
        monkeypatch.setattr("tiktoken.load.read_file", lambda _: ranks.read_bytes())
    library = importlib.import_module(package)
    wanted = {name: getattr(library, name) for name in re.findall(r"\b[A-Z]\w+", theirs) if hasattr(library, name)}
    found = {"subwords": subwords, package: library, **wanted}
    exec(f"theirs, ours = {theirs}, {ours}", found)
    first, second = (found[name].encode("Rays of naïve Light") for name in ("theirs", "ours"))
    assert getattr(first, "ids", first) == getattr(second, "ids", second)


def test_every_definition_has_tests_that_carry_its_number() -> None:
    text = (ROOT / "ALGORITHMS.md").read_text("utf-8")
    definitions = DEFINITION.findall(text)
    assert len(definitions) == len(re.findall(r"^\*\*[A-Z]\d+\.\*\*", text, re.MULTILINE)) >= 20
    assert len({number for number, _, _ in definitions}) == len(definitions)
    lacking = [
        (number, name)
        for number, _, tests in definitions
        for name in re.findall(r"`([^`]*)`", tests) or ["none"]
        if not _carries(ROOT / name, number)
    ]
    assert lacking == []


def _carries(file: Path, number: str) -> bool:
    """Whether a file names a definition, by itself or in a range such as B1-B6."""
    if not file.is_file():
        return False
    letter, place = number[0], int(number[1:])
    found = re.findall(rf"(?<![A-Za-z0-9]){letter}(\d+)(?:-{letter}(\d+))?(?!\d)", file.read_text("utf-8"))
    return any(int(first) <= place <= int(last or first) for first, last in found)


@pytest.mark.parametrize("document", LINKED)
def test_links_lead_to_files_and_headings(document: str) -> None:
    text = FENCE.sub("", (ROOT / document).read_text("utf-8"))
    missing = []
    for link in re.findall(r"\]\(([^)]+)\)", text):
        name, _, heading = link.partition("#")
        target = (ROOT / document).parent / name if name else ROOT / document
        if not link.startswith("https://") and not (target.exists() and (not heading or heading in _headings(target))):
            missing.append(link)
    assert missing == []


def _headings(document: Path) -> set[str]:
    """The headings of a document as links name them."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_files_that_algorithms_names_exist() -> None:
    named = set(re.findall(r"`((?:tests|kernels|src)/[\w/]+\.py)`", (ROOT / "ALGORITHMS.md").read_text("utf-8")))
    assert len(named) > 10
    assert [name for name in named if not any((top / name).is_file() for top in (ROOT, ROOT / "src/subwords"))] == []


def test_every_line_of_the_threat_model_has_tests_that_exist() -> None:
    rows = re.findall(r"^\| (.*) \|$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)
    told = [row for row in rows if row.count(" | ") == 3][1:]
    assert len(told) > 20
    for row in told:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, name in named:
            source = (ROOT / "tests" / file).read_text("utf-8")
            assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{file}::{name}"


def test_guide_names_the_rules_that_are_not_compiled() -> None:
    text = (ROOT / "docs" / "training.md").read_text("utf-8")
    named = re.search(r"Of the named rules, (.*?) run there", text)
    assert named
    slow = {name for name in NAMED if not subwords.splitter(name).compiled}
    assert slow == set(re.findall(r"`([\w-]+)`", named[1]))


def test_changelog_has_the_version() -> None:
    assert f"## {subwords.__version__} - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
