"""The documentation site: `python -m tools.site build` writes it to site/, from the documents and the docstrings.

Sphinx builds a copy in which the files have the places that they have here, so links between documents need no change.
Links to other files of the repository show their path only. A warning is an error: a link that leads nowhere, a page
that no list has, a docstring that cannot be read. No page loads anything from another host. The first page is made of
parts of the README and of the guide's list. With `--repository URL`, or in a workflow of GitHub, pages link to their
source. Addresses of pages of 0.2 lead to where their content is now.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import shutil
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATIC = Path(__file__).with_name("site_static")
TITLE = "subwords"
PLAYGROUND = "playground.html"
IN_COURSE = "[playground](../web.md#a-page-in-one-file)"  # in files of the course, whose readers may have no site
# Pages of 0.2: where their content is now.
MOVED = {
    "auditing": "studying#audit",
    "command-line": "reference#commands",
    "comparing-versions": "studying#what-changed",
    "comparison": "move-over#which-library-for-what",
    "decoding": "count-tokens#decode",
    "doors": "move-over",
    "encoding": "count-tokens",
    "evaluating": "studying#measure",
    "explaining": "studying#look-at-tokens",
    "from-hf-tokenizers": "move-over",
    "growing": "serving#a-prompt-that-grows",
    "kernels-and-cache": "troubleshooting#machine-code",
    "splitting": "training#splitting-and-normalizing",
    "vocabulary": "serving#logprobs",
}
# Where the parts of the first page's list begin; what is not named here follows the list of docs/README.md.
REFERENCE = ("ALGORITHMS", "COMPATIBILITY", "BENCHMARKS", "CHANGELOG", "CONTRIBUTING", "SECURITY")
NAMESPACES = ("adapt", "files", "research", "sampling", "scale", "study")
LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
OPTIONS = {
    "project": TITLE,
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "html_theme": "furo",
    "html_title": TITLE,
    "html_favicon": "site_static/favicon.svg",
    "html_static_path": ["site_static"],
    "html_css_files": ["site.css"],
    "html_js_files": ["site.js"],
    "html_search_scorer": str(STATIC / "scorer.js"),
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
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    command.add_argument("--repository", default=f"{server}/{name}" if server and name else "", help="its URL")
    given = parser.parse_args(arguments)
    output: Path = given.output
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        copy_documents(source)
        write_reference(source)
        page = write_playground(Path(folder) / PLAYGROUND)
        write_first_page(source, playground=page)
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(STATIC, source / STATIC.name)
        status = _built(source, output, given.repository)
        if page:
            shutil.copy(Path(folder) / PLAYGROUND, output / PLAYGROUND)
    write_moved(output)
    return status


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
    """Write a page for each namespace, with its functions and a list of all names, and one for each class."""
    folder = source / "api"
    folder.mkdir(parents=True)
    for name in ("subwords", *(f"subwords.{each}" for each in NAMESPACES)):
        module = importlib.import_module(name)
        public = {f"{name}.{each}": getattr(module, each) for each in module.__all__}
        shown = {each: what for each, what in public.items() if what is not None and not _is_module(what)}
        classes = [each for each, what in shown.items() if isinstance(what, type)]
        for each in classes:
            (folder / f"{each}.rst").write_text("\n".join([*_title(each), *_entry(each, shown[each])]) + "\n", "utf-8")
        rows = [(f":py:obj:`{each}`", _first_sentence(what)) for each, what in shown.items()]
        parts = [
            *_title(name),
            *_as_rst((module.__doc__ or "").splitlines()),
            "",
            *_list_table(("name", "what it is"), rows),
        ]
        for each in (each for each in shown if each not in classes):
            parts += ["", *_entry(each, shown[each])]
        parts += ["", ".. toctree::", "   :hidden:", "", *(f"   {each}" for each in classes)]
        (folder / f"{name}.rst").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _title(name: str) -> list[str]:
    title = f"``{name}``"
    return [title, "=" * len(title), ""]


def _first_sentence(what: object) -> str:
    lines = (inspect.getdoc(what) or "").split("\n\n")[0].splitlines()
    return " ".join(_as_rst(lines)) if callable(what) else ""


def _list_table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    made = [".. list-table::", "   :header-rows: 1", ""]
    for row in (heads, *rows):
        made += [f"   {'* -' if not place else '  -'} {cell}" for place, cell in enumerate(row)]
    return [*made, ""] if rows else []


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


def write_moved(output: Path) -> None:
    """Write what leads from each page of 0.2 to where its content is."""
    for old, new in MOVED.items():
        page, _, heading = new.partition("#")
        link = f"{page}.html" + (f"#{heading}" if heading else "")
        (output / "docs" / f"{old}.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{page}.html">'
            f'<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Moved to {page}</a>\n',
            "utf-8",
        )


def first_page(readme: str, guide: str) -> str:
    """Return the landing page: the opening of the README, and the jobs of the guide."""
    opening, _, _ = readme.partition("## Only here")
    jobs = re.findall(r"^\| (\[.*?\]\(.*?\).*?) \| (`.*?`) \|$", guide, re.MULTILINE)
    cards = "\n".join(f"- {_at_root(what)}<br>{call}" for what, call in jobs)
    where = (
        "[Guide](docs/README.md) · [Course](docs/course/README.md) · [API](api/subwords.rst) · [Speed](BENCHMARKS.md)"
    )
    opening = opening.replace("\n![", f"\n{where}\n\n![", 1)
    return f"{opening}\n## What do you want to do?\n\n:::{{container}} jobs\n\n{cards}\n:::\n"


def _at_root(text: str) -> str:
    return re.sub(r"\]\((?=[\w-]+\.md)", "](docs/", text)


def write_playground(path: Path) -> bool:
    """Write a page that shows three tokenizers without a server, if this installation can export them."""
    import subwords

    opticks = ROOT / "examples" / "opticks.txt"
    trained = [
        subwords.train(opticks, vocab_size=4096, algorithm=name, special_tokens=[special])
        for name, special in (("wordpiece", "[UNK]"), ("unigram", "<unk>"))
    ]
    try:
        subwords.files.export_page([subwords.load("demo"), *trained], path, names=["BPE", "WordPiece", "Unigram"])
    except subwords.SubwordsError as error:
        print(f"no playground: {error}")
        return False
    return True


def write_first_page(source: Path, *, playground: bool) -> None:
    """Write the first page with the lists of all pages; with a playground, links to it there and in the course."""
    guide = re.findall(r"\]\(([\w-]+)\.md\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    lists = {
        "Guide": ["docs/README", *dict.fromkeys(f"docs/{name}" for name in guide)],
        "Names": ["api/subwords", *(f"api/subwords.{name}" for name in NAMESPACES)],
        "Reference": [name for name in REFERENCE if (source / f"{name}.md").exists()],
    }
    if course := sorted(path.stem for path in (source / "docs" / "course").glob("*.md")):
        first = sorted(course, key=lambda name: (name != "README", name))
        lists = {"Guide": lists.pop("Guide"), "Course": [f"docs/course/{name}" for name in first], **lists}
    results = sorted(path.stem for path in (source / "benchmarks" / "results").glob("*.md"))
    lists["Tables of measurements"] = [f"benchmarks/results/{name}" for name in results]
    head = ":::{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n:::"
    trees = [head.format(title, "\n".join(names)) for title, names in lists.items()]
    readme = source / "README.md"
    landing = first_page(readme.read_text("utf-8"), (source / "docs" / "README.md").read_text("utf-8"))
    if playground:
        landing = landing.replace("\n[Guide](", f'\n<a href="{PLAYGROUND}">Playground</a> · [Guide](', 1)
        for lesson in (source / "docs" / "course").glob("*.md"):
            text = lesson.read_text("utf-8")
            lesson.write_text(text.replace(IN_COURSE, f'<a href="../../{PLAYGROUND}">playground</a>'), "utf-8")
    (source / "index.md").write_text(landing + "\n" + "\n\n".join(trees) + "\n", "utf-8")
    readme.unlink()


def _built(source: Path, output: Path, repository: str) -> int:
    from sphinx.application import Sphinx

    edit = {"source_repository": repository, "source_branch": "main", "source_directory": ""} if repository else {}
    (source / "conf.py").write_text("", encoding="utf-8")
    application = Sphinx(
        str(source),
        str(source),
        str(output),
        str(source / ".doctrees"),
        "html",
        confoverrides={**OPTIONS, "html_theme_options": edit},
        warningiserror=True,
        exception_on_warning=False,
        freshenv=True,
    )
    application.connect("autodoc-process-docstring", _read_docstring)
    application.connect("html-page-context", _describe)
    application.build()
    return int(application.statuscode)


def _describe(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page its description, for search engines and for cards of links; made pages have no source to edit."""
    from docutils import nodes
    from sphinx.addnodes import desc_content

    found = doctree.findall(nodes.paragraph) if doctree else ()
    texts = (one.astext() for one in found if isinstance(one.parent, (nodes.section, desc_content)))
    text = " ".join(next((text for text in texts if len(text) > 40), "Subword tokenizers in Python").split())[:200]
    tags = {"name": {"description": text}, "property": {"og:type": "website", "og:site_name": TITLE}}
    tags["property"] |= {"og:title": context.get("title") or TITLE, "og:description": text}
    tags["name"]["twitter:card"] = "summary"
    for kind, values in tags.items():
        for name, value in values.items():
            context["metatags"] = (
                context.get("metatags", "") + f'\n<meta {kind}="{name}" content="{escape(re.sub("<.*?>", "", value))}">'
            )
    if page == "index" or page.startswith("api/"):
        context["page_source_suffix"] = context["theme_source_repository"] = ""


def _read_docstring(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    lines[:] = _with_tables(lines, _parameters(thing))


def _parameters(thing: object) -> dict[str, str]:
    """The parameters of a function or class, each with its default."""
    try:
        found = inspect.signature(thing).parameters.values() if callable(thing) else ()
    except (TypeError, ValueError):
        return {}
    shown = {one.name: "" if one.default is one.empty else repr(one.default) for one in found}
    return {name: default if len(default) < 30 and "<" not in default else "" for name, default in shown.items()}


def _with_tables(lines: list[str], parameters: dict[str, str]) -> list[str]:
    """Return a docstring as reStructuredText, its "name: meaning." as tables."""
    made, paragraph = list[str](), list[str]()
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        else:
            made += [*_paragraph(paragraph, parameters), ""]
            paragraph = []
    return made


def _paragraph(lines: list[str], parameters: dict[str, str]) -> list[str]:
    if not parameters or not lines or any(line.startswith(">>> ") for line in lines):
        return _as_rst(lines)
    name = rf"(?:{'|'.join(map(re.escape, parameters))})(?: \([^)]*\))?"
    items = "\n".join(lines).split("\n- ") if lines[0].startswith("- ") else ["\n".join(lines)]
    before, after, rows = list[str](), list[str](), list[tuple[str, ...]]()
    for item in items:
        text = " ".join(item.removeprefix("- ").split())
        parts = re.split(rf"(?:^|(?<=\. ))({name}(?:, {name})*): ", text)
        before += [parts[0].strip()] if parts[0].strip() else []
        for names, meaning in zip(parts[1::2], parts[2::2], strict=True):
            said, *rest = re.split(r" (?=(?:Raises|Warns|Returns|The others are) )", meaning.strip(), maxsplit=1)
            after += rest
            alone = re.sub(r" \([^)]*\)", "", names)
            given = ", ".join(filter(None, (parameters.get(one, "") for one in alone.split(", "))))
            shown = ", ".join(f"``{one}``" for one in alone.split(", "))
            rows.append((shown, f"``{given}``" if given else "", " ".join(_as_rst([said]))))
    if not rows:
        return _as_rst(lines)
    table = _list_table(("parameter", "default", "meaning"), rows)
    return [*_as_rst(before), "", *table, *_as_rst(after)]


if __name__ == "__main__":
    sys.exit(main())
