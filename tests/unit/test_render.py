"""Tokens in terminals and as HTML."""

from __future__ import annotations

import io
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import run
from inside import uses_color

HOSTILE = ["<script>alert(1)</script>", "</textarea>", '"><img src=x>', "\u202eevil\u202c", "\x1b[2J\x07", "\x00"]
PAINT = re.compile(r"\x1b\[38;5;16;48;5;\d+m|\x1b\[0m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Parsed(HTMLParser):
    """The texts and the tags of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def brightness(red: float, green: float, blue: float) -> float:
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# --- terminals


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colors_are_for_terminals_without_no_color(
    stream: io.StringIO, environment: dict[str, str], expected: bool
) -> None:
    assert uses_color(stream, environment) == expected


def test_a_token_has_one_color_in_notebook_page_and_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And black text on each has enough contrast."""
    sheet = (Path(subwords.__file__).parent / "study/web/page.css").read_text("utf-8")
    light = re.findall(r"--c[0-7]: (#[0-9a-f]{6})", sheet)[:8]
    tokens = [" the", "##ing", "the", "\u2581und", "\U0001f600", *(f"{letter}x" for letter in "abcdefghijklmnop")]
    tok = subwords.load("demo").with_tokens(tokens, special=False)
    tok.save(path := tmp_path / "tok.json")
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = dict[str, int]()
    for token in tokens:
        (color,) = re.findall(r"background:(#[0-9a-f]{6})", tok(token)._repr_html_())
        code = int(re.findall(r"48;5;(\d+)m", run("encode", path, "--text", token, "--color").stdout)[0])
        assert found.setdefault(color, code) == code
        levels = [0, 95, 135, 175, 215, 255]  # of the color cube of terminals
        cube = [levels[(code - 16) // step % 6] / 255 for step in (36, 6, 1)]
        for shade in (cube, [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]):
            assert (brightness(*shade) + 0.05) / 0.05 >= 4.5
    assert {*found} == {*light}
    assert len({*found.values()}) == 8


@pytest.mark.parametrize("text", [*HOSTILE, "".join(HOSTILE), "\u0301 \x9b31m\r\u2028"])
def test_no_token_controls_the_terminal(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = subwords.load("demo").with_tokens([text], special=False)
    tok.save(path := tmp_path / "tok.json")
    for color in ("1", ""):
        monkeypatch.setenv("FORCE_COLOR", color)
        for given in (text, f"a {text[1:]} b"):
            assert PAINT.sub("", run("encode", path, "--text", given, "--color").stdout).replace("\n", "").isprintable()


# --- encode --color


def test_encode_shows_colors_where_they_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    tok.save(path := tmp_path / "tok.json")
    arguments = ("encode", path, "--text", "low lowest", "--text", "é")
    plain = run(*arguments, "--color").stdout
    assert plain == run(*arguments, "--tokens").stdout == "low ␣lowest\n\\xc3 \\xa9\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = run(*arguments, "--color").stdout
    assert PAINT.sub("", painted) == "low␣lowest\n\\xc3\\xa9\n"
    assert len(PAINT.findall(painted)) == 8
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*arguments, "--color").stdout == plain
    for more in (["--json"], ["-o", tmp_path / "out.txt"], ["--nbest", "2"]):
        assert "--color shows tokens on the terminal" in run(*arguments, "--color", *more, code=2).stderr


@pytest.mark.parametrize(
    "command",
    [
        ("study", "explain", "demo", "--text", "unhappiness 東 <|endoftext|>"),
        ("study", "explain", "demo", "--special", "allow", "--text", "a<|endoftext|>"),
        ("study", "why-not", "demo", "--text", " tokenizers"),
        ("study", "explain-training", "SOURCE", "--vocab-size", "12", "--alphabet", "corpus"),
        ("study", "explain-training", "SOURCE", "--vocab-size", "14", "--algorithm", "unigram"),
    ],
    ids=lambda command: " ".join(command[1:4]),
)
def test_explanations_show_tokens_on_colors_where_they_are_wanted(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.txt").write_text("low lower lowest\n" * 9, "utf-8")
    given = [str(tmp_path / "small.txt") if each == "SOURCE" else each for each in command]
    plain = run(*given).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = run(*given).stdout
    assert PAINT.sub("", painted) == plain
    assert len(PAINT.findall(painted)) >= 4
    assert "\x1b" not in run(*given, "--json").stdout


# --- HTML


@pytest.mark.parametrize(("algorithm", "size"), [("bpe", 270), ("wordpiece", 30), ("unigram", 25), ("wordlevel", 5)])
def test_a_tokenizer_shows_itself(algorithm: Any, size: int) -> None:
    tok = subwords.train(["low lower lowest hugs"] * 9, algorithm=algorithm, vocab_size=size, normalizer="nfc")
    tok = tok.with_tokens([*HOSTILE, *(f"<|{n}|>" for n in range(60))])
    html = tok._repr_html_()
    found = Parsed(html)
    assert f"Tokenizer: {algorithm}" in found.texts
    for row in ("model", "vocabulary", "splitter", "normalizer", "special tokens", "some tokens"):
        assert row in found.texts
    assert any(text.startswith(f"{tok.vocab_size} tokens, ") for text in found.texts)
    assert any(re.fullmatch(r"and \d+ more", text) for text in found.texts)
    assert "script" not in found.tags
    assert len(html) < 30_000


def test_a_long_encoding_shows_itself_without_making_all_tokens() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    encoding = tok("low lower " * 200_000)
    started = time.perf_counter()
    html = encoding._repr_html_()
    assert time.perf_counter() - started < 0.5
    assert f"and {len(encoding) - 1000} more" in html
    assert len(html) < 300_000
    assert "tokens" not in vars(encoding)
    short = tok("low lowest")
    assert [text for text in Parsed(short._repr_html_()).texts if text != " "] == ["low", "␣lowest"]
