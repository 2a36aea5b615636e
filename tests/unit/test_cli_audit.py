"""The command audit: what it prints, when it fails, what it accepts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

import subwords
from commands import json_of, run
from subwords import Tokenizer
from subwords.cli import main
from subwords.machine import Vocab


def test_findings_fail_unless_they_are_accepted(tok: Tokenizer, tmp_path: Path, corpus_path: Path) -> None:
    model = replace(tok.model, vocab=Vocab([*tok.model.vocab, b"zzz"]))  # type: ignore[type-var]
    bad, base, sarif = tmp_path / "bad.json", tmp_path / "base.json", tmp_path / "out.sarif"
    tok.with_(model=model).save(bad)
    got = CliRunner().invoke(main, ["study", "audit", str(bad), "--sarif", str(sarif)])
    assert got.exit_code == 1
    assert "error: unreachable-token (1)" in got.stdout
    assert json.loads(sarif.read_text())["version"] == "2.1.0"
    assert json_of("study", "audit", bad, "--fail-on", "never")["error"] == 1
    run("study", "audit", bad, "--write-baseline", base)
    assert json_of("study", "audit", bad, "--fail-on", "note", "--baseline", base)["findings"] == []
    assert run("study", "audit", bad, "--rule", "hole").stdout == "0 errors, 0 warnings, 0 notes\n"
    assert (
        json_of("study", "audit", bad, "--fail-on", "never", "--source", corpus_path, "--rule", "unused-token")["note"]
        > 0
    )
    base.write_text("{}")
    assert (
        "expected a baseline that --write-baseline wrote"
        in run("study", "audit", bad, "--baseline", base, code=1).stderr
    )
    assert "expected rules among" in run("study", "audit", bad, "--rule", "x", code=1).stderr
    assert subwords.study.audit(tok).count("error") == 0
