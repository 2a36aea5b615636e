"""Type checkers accept a client of the package in their strict modes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

CLIENT = Path(__file__).parents[1] / "typing_client.py"
SOURCE = Path(subwords.__file__).parents[1]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=CLIENT.parents[1])


def test_mypy_accepts_the_client() -> None:
    pytest.importorskip("mypy")
    found = run(sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", str(CLIENT))
    assert found.returncode == 0, found.stdout + found.stderr


def test_pyright_accepts_the_client(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs node")
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(
        json.dumps(
            {
                "include": [str(CLIENT)],
                "extraPaths": [str(SOURCE)],
                "typeCheckingMode": "strict",
                "reportUnnecessaryTypeIgnoreComment": "none",
                "reportMissingImports": "error",
            }
        )
    )
    interpreter = ["--pythonpath", sys.executable]
    found = run(sys.executable, "-m", "pyright", "-p", str(settings), *interpreter, "--outputjson")
    if not found.stdout.startswith("{"):  # its own program could not be fetched
        pytest.skip(f"pyright does not run here: {found.stderr[-200:]}")
    problems = [
        f"{one['range']['start']['line'] + 1}: {one['message']}"
        for one in json.loads(found.stdout)["generalDiagnostics"]
    ]
    assert not problems, "\n".join(problems)
