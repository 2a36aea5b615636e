"""The files of the local page, which are part of the package: HTML, CSS, JavaScript and an icon."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["page_files"]

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return the media type and the content of every file by its path on the server."""
    found = {}
    for file in files("subwords.study").joinpath("page").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = f"{kind}; charset=utf-8", file.read_bytes()
    return found
