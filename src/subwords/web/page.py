"""export_page: the page of `subwords show` as one HTML file, with exported tokenizers in place of its server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path

from subwords import Tokenizer
from subwords.machine import TokenizerLike, tokenizer_of, web_module
from subwords.support.errors import InputError
from subwords.support.files import atomic_write, place_of
from subwords.web.export import exported
from subwords.web.module import without_kernels

MOST_SHOWN = 4
# Nothing leaves the page: it may connect to no address, and all that it runs is in it.
SCRIPTS = "script-src 'unsafe-inline' 'wasm-unsafe-eval' data:"
POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    f"content=\"default-src 'none'; {SCRIPTS}; style-src 'unsafe-inline'; img-src data:\">"
)
SAMPLE = "Light is refracted: la lumière se réfracte, 光は屈折する. 🙂 12,345 rays"


def export_page(
    tokenizers: Iterable[TokenizerLike], path: str | PathLike[str], *, text: str = SAMPLE, names: Sequence[str] = ()
) -> Path:
    """Write a page that shows what one to four tokenizers do with a text: one HTML file that needs no server.

    tokenizers: Tokenizers, paths or names. text: what the page shows at first. names: of the tokenizers, instead of
    their paths. The page looks as that of `subwords show`, and loads nothing. Raises SubwordsError as `export` does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     export_page(["demo"], f"{folder}/page.html").name
    'page.html'
    """
    given = [*tokenizers]
    if not 1 <= len(given) <= MOST_SHOWN:
        raise InputError(f"expected 1 to {MOST_SHOWN} tokenizers, not {len(given)}")
    if names and len(names) != len(given):
        raise InputError(f"expected {len(given)} names, one for each tokenizer, not {len(names)}")
    opened = [tokenizer_of(each) for each in given]
    made = [exported(tok) for tok in opened]
    paths = [str(each) if isinstance(each, str | PathLike) else f"tokenizer {k}" for k, each in enumerate(given, 1)]
    content = {
        "text": text,
        "module": _in_base64(without_kernels(web_module(), frozenset.intersection(*(each.unused for each in made)))),
        "tokenizers": [
            {"about": _about(name, tok), "image": _in_base64(each.image)}
            for name, tok, each in zip(names or paths, opened, made, strict=True)
        ],
    }
    place = Path(place_of(path))
    with atomic_write(place) as file:
        file.write(_html(json.dumps(content)).encode())
    return place


def _about(name: str, tok: Tokenizer) -> dict[str, object]:
    return {
        "version": 0,
        "problem": None,
        "name": Path(name).name,
        "model": type(tok.model).__name__,
        "vocab_size": tok.vocab_size,
        "splitter": (tok.splitter.name or tok.splitter.identity)[:300],
        "normalizer": tok.normalizer and (tok.normalizer.name or tok.normalizer.shown),
        "unk": tok.model.unk_id,
    }


def _html(content: str) -> str:
    """Return the page with all files in it; content: JSON."""
    ours, theirs = files("subwords.web"), files("subwords.study").joinpath("web")
    sources = {file.name: file.read_text("utf-8") for file in theirs.iterdir() if file.name.endswith(".js")}
    sources |= {"api.js": ours.joinpath("page_api.js").read_text("utf-8")}
    sources |= {"index.js": ours.joinpath("index.js").read_text("utf-8")}
    # A module in an address cannot name its neighbours: the map has their names.
    named = {name: re.sub(r'(from|import) "\./', r'\1 "page/', source) for name, source in sources.items()}
    addresses = {f"page/{name}": _address("text/javascript", source) for name, source in sorted(named.items())}
    icon, style = (theirs.joinpath(name).read_text("utf-8") for name in ("icon.svg", "page.css"))
    replaced = {
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n{POLICY}',
        '<link rel="icon" href="/icon.svg"': f'<link rel="icon" href="{_address("image/svg+xml", icon)}"',
        '<link rel="stylesheet" href="/page.css">': f"<style>\n{style}</style>",
        '<script type="module" src="/main.js"></script>': "\n".join(
            [
                f'<script type="importmap">{json.dumps({"imports": addresses})}</script>',
                f'<script type="application/json" id="exported">{content.replace("<", chr(92) + "u003c")}</script>',
                '<script type="module">import "page/main.js";</script>',
            ]
        ),
    }
    page = theirs.joinpath("index.html").read_text("utf-8")
    for old, new in replaced.items():
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page


def _address(kind: str, source: str) -> str:
    return f"data:{kind};base64,{_in_base64(source.encode())}"


def _in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
