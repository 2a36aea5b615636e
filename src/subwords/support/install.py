"""The command that installs what an optional feature needs, for the way this package was installed."""

from __future__ import annotations

from pathlib import Path

__all__ = ["install_hint"]


def install_hint(extra: str) -> str:
    """Return how to install an extra: from the folder or the wheel that this package came from, or by its name.

    Source: PEP 610, direct_url.json.
    """
    # Only a missing package needs these modules, and they take a while.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        record = distribution("subwords").read_text("direct_url.json")
    except PackageNotFoundError:  # the folder of the sources is on the path
        record = None
    found = json.loads(record) if record else {}
    url = urlsplit(str(found.get("url", "")))
    editable = "-e " if found.get("dir_info", {}).get("editable") else ""
    if url.scheme == "file":
        return f'pip install {editable}"{unquote(url.path)}[{extra}]"'
    sources = Path(__file__).resolve().parents[3]
    if (sources / "pyproject.toml").is_file():
        return f'pip install -e "{sources}[{extra}]"'
    return f'pip install "subwords[{extra}]"'
