"""What `evaluate`, `compare` and `sweep` print and draw: unknown text, groups, LaTeX, terminals, names of plots."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import subwords
from commands import json_of, run

TEXT = "low lower lowest wide wider newest news 12 " * 9
JAPANESE = "光線の屈折と反射について、そして色の理論"
BPE = subwords.train([TEXT], vocab_size=270)
UNIGRAM = subwords.train([TEXT], algorithm="unigram", vocab_size=30)
GROUPS = {"en": ["low lower", "wide news"], "de": ["niedrig niedriger", "weit neu"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    BPE.save(tmp_path / "bpe.json")
    UNIGRAM.save(tmp_path / "unigram.json")
    for name, texts in GROUPS.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(texts), encoding="utf8")
    (tmp_path / "ja.txt").write_text("\n".join([JAPANESE] * 9), encoding="utf8")
    return tmp_path


def test_unknown_text_does_not_win_unsaid(folder: Path) -> None:
    found = subwords.study.compare([BPE, UNIGRAM], [JAPANESE] * 9, names=["bpe", "unigram"])
    unknown = found.evaluations[1].unknown
    assert unknown is not None
    assert unknown > 0.3
    row = dict(zip(found.to_frame().columns, found.tables()[0].rows[1], strict=True))
    assert row["unknown"] == unknown
    assert [note for note in found.notes() if "unigram turns it into the unknown token" in note]
    assert "unigram turns it into the unknown token" in str(found)
    assert any("<unk>" in one.tokens[1] for one in found.disagreements)
    assert not any(set(token) & set(JAPANESE) for one in found.disagreements for token in one.tokens[1])
    got = run("study", "compare", folder / "bpe.json", f"uni={folder / 'unigram.json'}", "--source", folder / "ja.txt")
    assert "Unknown text: uni turns it" in got.stderr
    assert "| unknown |" in got.stdout
    assert subwords.study.compare([BPE, BPE], [TEXT]).notes() == [
        "A single document has no interval: intervals need two or more."
    ]


def test_compare_has_the_groups_everywhere() -> None:
    found = subwords.study.compare([BPE, UNIGRAM], GROUPS, names=["a", "b"], parallel=True, reference="de")
    alone = [subwords.study.evaluate(tok, GROUPS, parallel=True, reference="de").groups for tok in (BPE, UNIGRAM)]
    frame = found.to_frame()
    assert list(frame["group"]) == ["en", "de"]
    for name, groups in zip("ab", alone, strict=True):
        assert list(frame[f"cost, {name}"]) == [group.cost for group in groups]
        assert list(frame[f"bytes per token, {name}"]) == [group.bytes_per_token for group in groups]
    assert "| en | 2 | 18 |" in " ".join(found.to_markdown().split())
    assert found.to_latex().count("\\begin{tabular}") == 2
    assert "cost, b" in found._repr_html_()
    assert [group["name"] for group in found.to_dict()["evaluations"][1]["groups"]] == ["en", "de"]
    assert "group" not in subwords.study.compare([BPE, UNIGRAM], [TEXT, "low"]).to_frame().columns


def test_named_corpora_and_tokenizers_on_the_command_line(folder: Path) -> None:
    en, de = f"en={folder / 'en.txt'}", f"de={folder / 'de.txt'}"
    got = json_of("study", "evaluate", folder / "bpe.json", en, de, "--documents", "line")
    assert [group["name"] for group in got["groups"]] == ["en", "de"]
    both = (f"x={folder / 'bpe.json'}", f"y={folder / 'unigram.json'}", "--source", en, "--source", de)
    got = json_of("study", "compare", *both, "--documents", "line", "--parallel")
    assert got["names"] == ["x", "y"]
    assert [group["name"] for group in got["evaluations"][0]["groups"]] == ["en", "de"]
    got = json_of("study", "sweep", en, de, "--vocab-size", 260, "--documents", "line")
    assert [group["name"] for group in got["sizes"][0]["groups"]] == ["en", "de"]
    (folder / "a=b.txt").write_text("low lower")
    assert json_of("study", "evaluate", folder / "bpe.json", folder / "a=b.txt")["bytes"] == 9
    assert "only 'en' is named" in run("study", "evaluate", folder / "bpe.json", en, folder / "de.txt", code=2).stderr
    assert "given twice" in run("study", "evaluate", folder / "bpe.json", en, en, code=2).stderr


def test_latex_is_for_booktabs_and_repeats() -> None:
    one, two = (subwords.study.evaluate(BPE, GROUPS).to_latex() for _ in range(2))
    assert one == two
    for word in ("\\toprule", "\\midrule", "\\bottomrule", "\\caption{", "\\label{tab:"):
        assert one.count(word) == 2
    assert "\\hline" not in one
    assert "per second" not in one
    sizes = subwords.study.sweep([TEXT] * 3, vocab_sizes=[256, 260, 270]).to_latex()
    digits = re.findall(r"& \d+ & (\d+\.\d+) &", sizes)
    assert len(digits) == 3
    assert len({len(number.partition(".")[2]) for number in digits}) == 1


def test_a_plot_is_refused_before_the_work(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("x.bmp", "x", "x.unknown"):
        for command in (
            ("study", "evaluate", folder / "bpe.json", folder / "none.txt"),
            ("study", "compare", folder / "bpe.json", folder / "bpe.json", "--source", folder / "none.txt"),
            ("study", "sweep", folder / "none.txt", "--vocab-size", 300),
        ):
            assert "expected the name of a plot to end in" in run(*command, "--plot", folder / name, code=1).stderr
        assert not (folder / name).exists()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plots_are_drawn(folder: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    en, de = f"en={folder / 'en.txt'}", f"de={folder / 'de.txt'}"
    plot = folder / f"x.{suffix}"
    for command in (
        ("study", "evaluate", folder / "bpe.json", en, de, "--parallel", "--documents", "line"),
        ("study", "compare", folder / "bpe.json", folder / "unigram.json", "--source", en, "--source", de),
        ("study", "sweep", en, de, "--vocab-size", 256, "--vocab-size", 260),
    ):
        run(*command, "--plot", plot)
        assert plot.stat().st_size > 3000
        plot.unlink()


def test_plots_show_what_they_name() -> None:
    pytest.importorskip("matplotlib")
    axes = subwords.study.evaluate(BPE, GROUPS, parallel=True).plot(title="bpe on texts").axes[0]
    assert axes.get_title() == "Cost: bpe on texts"
    assert [bar.get_height() for bar in axes.patches] == [
        group.cost for group in subwords.study.evaluate(BPE, GROUPS, parallel=True).groups
    ]
    assert "bytes per token" in subwords.study.evaluate(BPE, GROUPS).plot().axes[0].get_ylabel()
    with pytest.raises(subwords.InputError, match="no costs to plot"):
        subwords.study.evaluate(BPE, [TEXT]).plot("costs")
    axes = subwords.study.sweep(GROUPS, vocab_sizes=[256, 270]).plot().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["256", "270"]
    assert {text.get_text() for text in axes.get_legend().get_texts()} >= {"en", "de"}
    found = subwords.study.compare([BPE, UNIGRAM], GROUPS["en"], names=["a", "b"])
    axes = found.plot().axes[0]
    assert [bar.get_height() for bar in axes.patches] == [one.bytes_per_token for one in found.evaluations]
    assert [label.get_rotation() for label in axes.get_xticklabels()] == [0, 0]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_tables_line_up_at_a_terminal_and_are_markdown_in_a_pipe(folder: Path) -> None:
    piped = run("study", "sweep", folder / "en.txt", "--vocab-size", 256, "--vocab-size", 1000, "-q").stdout
    assert piped.startswith("| vocabulary |")
    shown = at_terminal(
        "study", "sweep", folder / "en.txt", "--vocab-size", 256, "--vocab-size", 257, "-q"
    ).splitlines()
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in shown if line.strip()]
    assert "|" not in lines[0]
    assert lines[0].split()[0] == "vocabulary"
    ends = [line.index(number) + len(number) for line, number in zip(lines[1:3], ("256", "257"), strict=True)]
    assert len({*ends, len("vocabulary")}) == 1
    counted = at_terminal("tokens", folder / "bpe.json", "--count", folder / "en.txt").splitlines()
    assert counted[0].replace("\x1b[1m", "").split()[:3] == ["tokens", "bytes", "documents"]


def at_terminal(*arguments: object) -> str:
    """The output of a command whose standard output is a terminal."""
    import pty
    import subprocess

    main, other = pty.openpty()
    command = [sys.executable, "-m", "subwords", *map(str, arguments)]
    wide = os.environ | {"COLUMNS": "200"}  # rows of a narrow terminal are several lines
    subprocess.run(command, env=wide, stdout=other, stderr=subprocess.DEVNULL, check=True)
    os.close(other)
    with os.fdopen(main, "rb") as file:
        found = b""
        try:
            while part := file.read1(1 << 16):
                found += part
        except OSError:  # Linux says so that the other end is closed
            pass
    return found.decode()
