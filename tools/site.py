"""The documentation site: `python -m tools.site build` writes it to site/, from the documents and the docstrings.

Sphinx builds a copy in which the files have the places that they have here, so links between documents need no change.
Links to other files of the repository show their path only. A warning is an error: a link that leads nowhere, a page
that no list has, a docstring that cannot be read. No page loads anything from another host.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TITLE = "subwords"
# Where the parts of the first page's list begin; what is not named here follows the list of docs/README.md.
REFERENCE = ("ALGORITHMS", "COMPATIBILITY", "BENCHMARKS", "CHANGELOG", "CONTRIBUTING", "SECURITY")
NAMESPACES = ("adapt", "files", "research", "sampling", "scale", "study")
LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
OPTIONS = {
    "project": TITLE,
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "html_theme": "furo",
    "html_title": TITLE,
    "html_show_sphinx": False,
    "html_copy_source": False,
    "html_show_copyright": False,
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["colon_fence"],
    "suppress_warnings": ["myst.header"],
    "highlight_language": "none",
    "autodoc_typehints": "signature",
    "autodoc_member_order": "bysource",
    "autodoc_typehints_format": "short",
    "python_use_unqualified_type_names": True,
    "maximum_signature_line_length": 88,
}


def main(arguments: list[str] | None = None) -> int:
    """Build the site; the exit status of Sphinx."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    command = parser.add_subparsers(required=True, dest="command").add_parser("build", help="write the site")
    command.add_argument("--output", type=Path, default=ROOT / "site", help="the folder (default: site)")
    output: Path = parser.parse_args(arguments).output
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        copy_documents(source)
        write_reference(source)
        write_first_page(source)
        shutil.rmtree(output, ignore_errors=True)
        return _built(source, output)


def copy_documents(source: Path) -> None:
    """Copy all documents and pictures to where they are in the repository; links to other files become their text."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*"), *(ROOT / "benchmarks" / "results").glob("*.md")]
    kept = {path.resolve() for path in documents if path.suffix in (".md", ".svg", ".png")}
    for path in sorted(kept):
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = _with_known_links(path, kept)
            if "\n# " not in "\n" + text:  # tables of measurements begin with their title in bold
                text = re.sub(r"^\*\*(.+)\*\*$", r"# \1", text, count=1, flags=re.MULTILINE)
            copy.write_text(text, encoding="utf-8")
        else:
            shutil.copy(path, copy)


def _with_known_links(path: Path, kept: set[Path]) -> str:
    def known(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        file, _, _ = target.partition("#")
        if "://" in target or not file or (path.parent / file).resolve() in kept:
            return found[0]
        if not (path.parent / file).exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: no file at the link {target}")
        return text

    lines, fenced = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        lines.append(line if fenced else LINK.sub(known, line))
    return "\n".join(lines) + "\n"


def write_reference(source: Path) -> None:
    """Write a page for the names of the package and for each namespace."""
    folder = source / "api"
    folder.mkdir(parents=True)
    for name in ("subwords", *(f"subwords.{each}" for each in NAMESPACES)):
        module = importlib.import_module(name)
        title = f"``{name}``"
        parts = [title, "=" * len(title), "", *_as_rst((module.__doc__ or "").splitlines()), ""]
        for public in module.__all__:
            if (what := getattr(module, public)) is not None and not _is_module(what):
                parts += [*_entry(f"{name}.{public}", what), ""]
        (folder / f"{name}.rst").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _is_module(what: object) -> bool:
    return type(what) is type(sys)


def _entry(name: str, what: object) -> list[str]:
    if isinstance(what, type):
        return [f".. autoclass:: {name}", "   :members:"]
    return [f".. autofunction:: {name}"] if callable(what) else [f".. autodata:: {name}", "   :no-value:"]


def _as_rst(lines: list[str]) -> list[str]:
    """Return the text of a docstring as reStructuredText: code stays, all other marks are text."""
    made, example = [], False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>> "))
        parts = [line] if example else re.split(r"(`[^`]*`)", line)
        marked = (f"`{part}`" if part[:1] == "`" else re.sub(r"([*|_\\])", r"\\\1", part) for part in parts)
        made.append(line if example else "".join(marked))
    return made


def write_first_page(source: Path) -> None:
    """Write the first page, README with the lists of all pages."""
    guide = re.findall(r"\]\(([\w-]+)\.md\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    lists = {
        "Guide": ["docs/README", *dict.fromkeys(f"docs/{name}" for name in guide)],
        "Names": ["api/subwords", *(f"api/subwords.{name}" for name in NAMESPACES)],
        "Reference": [name for name in REFERENCE if (source / f"{name}.md").exists()],
    }
    if course := sorted(path.stem for path in (source / "docs" / "course").glob("*.md")):
        first = sorted(course, key=lambda name: (name != "README", name))
        lists = {"Course": [f"docs/course/{name}" for name in first], **lists}
    results = sorted(path.stem for path in (source / "benchmarks" / "results").glob("*.md"))
    lists["Tables of measurements"] = [f"benchmarks/results/{name}" for name in results]
    head = ":::{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n:::"
    trees = [head.format(title, "\n".join(names)) for title, names in lists.items()]
    page = source / "index.md"
    page.write_text((source / "README.md").read_text(encoding="utf-8") + "\n" + "\n\n".join(trees) + "\n", "utf-8")
    (source / "README.md").unlink()


def _built(source: Path, output: Path) -> int:
    from sphinx.application import Sphinx

    (source / "conf.py").write_text("", encoding="utf-8")
    application = Sphinx(
        str(source),
        str(source),
        str(output),
        str(source / ".doctrees"),
        "html",
        confoverrides=OPTIONS,
        warningiserror=True,
        exception_on_warning=False,
        freshenv=True,
    )
    application.connect("autodoc-process-docstring", _read_docstring)
    application.build()
    return int(application.statuscode)


def _read_docstring(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    lines[:] = _as_rst(lines)


if __name__ == "__main__":
    sys.exit(main())
