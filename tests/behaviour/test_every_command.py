"""Every command with wrong usage and unusable input: exit status, one line in the words of options, no file."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import subwords
from commands import APART, all_commands
from inside import parameters_of
from subwords.cli import main

TEXT = "low lower lowest, a low price\n" * 9 + "the quick brown fox\n"

# One good call of each command; names in braces are files.
GOOD = {
    "train": "{text} --vocab-size 280 -o {out}.json",
    "count": "{text} -o {out}.counts",
    "encode": "{tok} {text}",
    "decode": "{tok} {ids}",
    "tokens": "{tok} {text} -o {out}.npy",
    "chat": "{tok} {chats} --template {jinja} --no-mask",
    "inspect": "{tok} --source {text}",
    "convert": "{tok} {out}.tiktoken",
    "export": "{tok} -o {out}",
    "verify": "{tok} --source {text}",
    "diff": "{tok} {other} --source {text} --fail-on never",
    "lock": "{tok} -o {out}.lock",
    "bench": "{tok} --texts {text} --against tokenizers --rounds 1",
    "show": "{tok} --text-file {text} --no-browser",
    "warmup": "",
    "doctor": "",
    "adapt extend": "{tok} {text} --count 2 -o {out}.json",
    "adapt prune": "{tok} --source {text} --vocab-size 262 -o {out}.json",
    "adapt replace": "{tok} {text} --count 1 -o {out}.json",
    "adapt merge": "{tok} {other} -o {out}.json",
    "adapt id-map": "{tok} {other} -o {out}.json",
    "study evaluate": "{tok} {text}",
    "study compare": "{tok} {other} --source {text}",
    "study audit": "{tok} --source {text}",
    "study explain": "{tok} {text}",
    "study why-not": "{tok} --text low",
    "study explain-training": "{text} --vocab-size 260",
    "study verify-training": "{tok} {text}",
    "study sweep": "{text} --vocab-size 262",
    "research train-parity": "--language a={text} --language b={text} --vocab-size 262 -o {out}.json",
}
SERVES = ("show",)  # goes on until Ctrl-C


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    names = {"text": "t.txt", "tok": "tok.json", "other": "other.json", "ids": "ids.txt", "counts": "c.counts"}
    names |= {"chats": "chats.jsonl", "jinja": "t.jinja"}
    found = {name: folder / file for name, file in names.items()}
    found["text"].write_text(TEXT)
    subwords.train([TEXT], vocab_size=264).save(found["tok"])
    subwords.train([TEXT], vocab_size=266).save(found["other"])
    found["ids"].write_text("65 66")
    found["chats"].write_text('[{"role": "user", "content": "low"}]\n')
    found["jinja"].write_text("{{ messages[0].content }}")
    subwords.count([TEXT]).save(found["counts"])
    return found


def call(arguments: list[str]) -> Result:
    result = CliRunner(**APART).invoke(main, arguments, prog_name="subwords")
    assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
    return result


def filled(command: str, files: dict[str, Path], out: Path) -> list[str]:
    return [*command.split(), *GOOD[command].format(**files, out=out).split()]


def named(arguments: list[str]) -> str:
    """The command that arguments call."""
    return next(name for name in (" ".join(arguments[:2]), arguments[0]) if name in GOOD)


def speaks_python(command: str, error: str) -> str:
    """What in an error names an argument as Python does, though the command has an option for it."""
    bare = re.sub(r"'[^']*'", "", error)
    names = {name for parameter in all_commands()[command].params if (name := parameter.name) and "_" in name}
    found = [name for name in names if re.search(rf"(?<![\w/]){name}\b", bare)]
    patterns = (r"\b[a-z]\w*=[\"'\[]", r"\ba str\b", r"\bpathlib\b", r"\b(True|None)\b", r"`")
    return " ".join([*found, *(match[0] for pattern in patterns if (match := re.search(pattern, bare)))])


def check_failure(command: str, result: Result, folder: Path) -> None:
    if result.exit_code == 1:
        errors = [line for line in result.stderr.splitlines() if "subwords: warning: " not in line]
        assert result.stdout or [line[:17] for line in errors] == ["subwords: error: "], result.output
    else:
        assert result.exit_code == 2, (result.exit_code, result.output)
        assert result.stderr.startswith(f"Usage: subwords {command} "), result.stderr
    assert not speaks_python(command, result.stderr), result.stderr
    assert list(folder.iterdir()) == []


def test_the_table_has_every_command() -> None:
    assert GOOD.keys() == all_commands().keys()


def test_help_has_an_example_and_json() -> None:
    for name in GOOD:
        out = call([*name.split(), "--help"]).stdout
        assert f"Example:\n    subwords {name}" in out
        assert "--json" in out


@pytest.mark.parametrize("command", [name for name in GOOD if name not in SERVES])
def test_good_calls_succeed_and_every_command_is_quiet(
    command: str, files: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if command == "export":
        request.getfixturevalue("wasm")
    result = call([*filled(command, files, tmp_path / "out"), "-q"])
    assert (result.exit_code, result.stderr) == (0, ""), result.output


@pytest.mark.parametrize("command", GOOD)
def test_wrong_usage_is_2(command: str, files: dict[str, Path], tmp_path: Path) -> None:
    good = filled(command, files, tmp_path / "out")
    for wrong in ([*good, "--no-such-option"], [*good, "-Z"], *([command.split()] if GOOD[command] else [])):
        result = call(wrong)
        assert result.exit_code == 2
        check_failure(command, result, tmp_path)


@pytest.mark.parametrize("command", GOOD)
def test_a_required_option_that_is_missing_is_named(command: str, files: dict[str, Path], tmp_path: Path) -> None:
    for option in all_commands()[command].params:
        if option.required and option.opts[0].startswith("-"):
            good = re.sub(rf"({'|'.join(option.opts)}) \S+ ?", "", GOOD[command])
            result = call([*command.split(), *good.format(**files, out=tmp_path / "out").split()])
            assert result.exit_code == 2 and f"Missing option '{option.opts[0]}'" in result.stderr
            check_failure(command, result, tmp_path)


@pytest.mark.parametrize("bad", ["missing", "folder", "binary", "empty"])
@pytest.mark.parametrize("command", [name for name in GOOD if "{" in GOOD[name]])
def test_unusable_input_is_1_and_leaves_nothing(command: str, bad: str, files: dict[str, Path], tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "binary").write_bytes(b"\x00\xff\x7fELF\x80" * 40)
    (given / "empty").write_bytes(b"")
    (given / "folder").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    for name in dict.fromkeys(re.findall(r"{(tok|other|text|ids|counts)}", GOOD[command])):
        if command in SERVES and (name, bad) == ("text", "empty"):
            continue  # a page may begin without text
        result = call([*filled(command, {**files, name: given / bad}, out / "x"), *(["-q"] if bad == "empty" else [])])
        if bad == "empty" and result.exit_code == 0:  # an empty text has no ids
            assert name in ("text", "ids")
            for path in out.iterdir():
                path.unlink()
            continue
        check_failure(command, result, out)
        assert bad in result.stderr or bad == "empty" or result.exit_code == 2, result.stderr


@pytest.mark.parametrize(
    ("arguments", "spoken"),
    [
        ("count {latin} -o {out}.counts", "--errors replace"),
        ("tokens {tok} {latin} --count", "--errors replace"),
        ("train {rows} --vocab-size 270 -o {out}.json", "--text-column names another"),
        ("adapt extend {tok} {text} --count 5000 -o {out}.json", "lower --count"),
        ("train {text} --vocab-size 5 -o {out}.json", "--limit-alphabet"),
        ("train {text} --vocab-size 9000 -o {out}.json", "lower --vocab-size"),
        ("study explain-training {text} --vocab-size 270 --limit 1", "raise --limit"),
        ("study evaluate {tok} {text} --confidence 2", "expected --confidence to be between 0 and 1"),
        ("study evaluate {tok} {text} --by x", "--by file makes each file a group"),
        ("count {text} -o {out}.counts --rank 0", "--rank and --world-size together"),
        ("count {text} -o {out}.counts --runner ray --rank 0 --world-size 2", "--workers, --rank and --world-size are"),
        ("train {counts} --special-token <x> --vocab-size 280 -o {out}.json", "--special-token"),
    ],
)
def test_messages_name_options(arguments: str, spoken: str, files: dict[str, Path], tmp_path: Path) -> None:
    latin, rows = tmp_path / "latin.txt", tmp_path / "rows.jsonl"
    latin.write_bytes(b"caf\xe9")
    rows.write_text('{"body": "a"}\n')
    words = arguments.format(**files, latin=latin, rows=rows, out=tmp_path / "out").split()
    result, command = call(words), named(words)
    assert spoken in result.stderr
    assert not speaks_python(command, result.stderr), result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "adapt prune {tok} -o {out}.json",
        "adapt prune {tok} --drop a --keep b -o {out}.json",
        "adapt prune {tok} --source {text} -o {out}.json",
        "adapt prune {tok} --drop a --vocab-size 9 -o {out}.json",
        "adapt replace {tok} {text} -o {out}.json",
        "adapt replace {tok} {text} --drop a --keep b -o {out}.json",
        "count --mix a={counts} --weight a=1 --exponent 0.5 -o {out}.counts",
        "study sweep {text} --vocab-size 300 --width 5",
        "study sweep {text} --vocab-size 300 --tied",
        "study verify-training {tok} {counts} --documents line",
        "adapt extend {tok} {counts} --count 1 --errors skip -o {out}.json",
        "study explain {tok} {text} --text a",
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    arguments: str, files: dict[str, Path], tmp_path: Path
) -> None:
    words = arguments.format(**files, out=tmp_path / "out").split()
    result, command = call(words), named(words)
    assert result.exit_code == 2, result.output
    check_failure(command, result, tmp_path)


def test_what_users_wrote_is_not_translated(tmp_path: Path) -> None:
    for name in ("text_column", "vocab_size.txt", "errors=skip"):
        assert name in call(["count", str(tmp_path / name), "-o", str(tmp_path / "x")]).stderr


@pytest.mark.parametrize("option", ["--algorithm=BPE", "--splitter=NONE", "--splitter=GPT2", "--normalizer=None"])
def test_names_are_taken_in_any_case(option: str, files: dict[str, Path], tmp_path: Path) -> None:
    for command in ("train", "study explain-training", "research train-parity"):
        if option.startswith("--algorithm") and command == "research train-parity":
            continue
        result = call([*filled(command, files, tmp_path / "out"), option])
        assert result.exit_code == 0 or "more than 1000 steps" in result.stderr, result.output


# --- as processes

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def started(arguments: list[str], **streams: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(subwords.__file__).resolve().parents[1])}
    how: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "subwords", *arguments]
    return subprocess.Popen(command, env=environment, **{**how, **streams})  # type: ignore[call-overload, no-any-return]


@posix
@pytest.mark.rotating(6, always=("encode",))
@pytest.mark.parametrize("command", [name for name in GOOD if name not in SERVES])
def test_a_reader_that_goes_away_gets_no_traceback(
    command: str, files: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if command == "export":
        request.getfixturevalue("wasm")
    there, here = os.pipe()
    os.close(there)
    with started(filled(command, files, tmp_path / "out"), stdout=here) as process:
        os.close(here)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert b"Traceback" not in err
    assert b"error" not in err


@posix
@pytest.mark.rotating(6, always=("study evaluate",))
@pytest.mark.parametrize("command", [name for name in GOOD if "{text}" in GOOD[name] and name not in SERVES])
def test_interrupted_is_130_and_leaves_nothing(command: str, files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    os.mkfifo(tmp_path / "pipe")
    with started(filled(command, {**files, "text": tmp_path / "pipe"}, out / "x")) as process:
        writer = None
        while writer is None and process.poll() is None:
            try:
                writer = os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # the command has not come to its input
                time.sleep(0.01)
        time.sleep(0.1)
        try:
            for _ in range(3):  # a signal that comes just before a read waits for the read's end
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    shown, err = process.communicate(timeout=20)
                    break
        finally:
            process.kill()
            if writer is not None:
                os.close(writer)  # open until now: nothing but the signal ends the command
    assert (process.returncode, shown, err) == (130, b"", b"subwords: interrupted\n")
    assert list(out.iterdir()) == []


def test_every_number_of_tokens_may_be_in_thousands() -> None:
    sizes = {"--vocab-size", "--count"}
    found = 0
    for name, command in all_commands().items():
        for option in command.params:
            if sizes & {*option.opts} and not getattr(option, "is_flag", False):
                with click.Context(command) as context:
                    assert option.type.convert("32K", option, context) == 32_000, name
                    assert option.type.convert("32_000", option, context) == 32_000, name
                    with pytest.raises(click.UsageError):
                        option.type.convert("0k", option, context)
                found += 1
    assert found > 6


# --- commands are made from functions


def made_from() -> dict[str, str]:
    return {name: place for name, one in all_commands().items() if (place := getattr(one, "place", ""))}


@pytest.mark.parametrize("command", made_from())
def test_parameters_read_from_source_are_those_of_the_function(command: str) -> None:
    module, _, name = made_from()[command].rpartition(".")
    signature = inspect.signature(getattr(importlib.import_module(f"subwords.{module}"), name))
    expected = {
        one.name: ... if one.default is one.empty else one.default
        for one in signature.parameters.values()
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    }
    found = {one.name: one for one in parameters_of(made_from()[command])}
    assert [*found] == [*expected]
    for key, one in found.items():
        assert one.default == expected[key] or (one.default is None and isinstance(expected[key], tuple))
        options = {parameter.name for parameter in all_commands()[command].params}
        assert key in options or key in {"source", "text", "names", "reading", "progress"}, f"{key} is no option"


def test_every_option_says_what_it_means_in_words_of_the_command_line() -> None:
    for name, command in all_commands().items():
        names = {one.name for one in command.params if one.name and "_" in one.name}
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                text = option.help or ""
                assert text and not text.startswith("  "), (name, option.opts)
                assert "`" not in text.replace("`word TAB mor pheme s`", ""), (name, option.opts, text)
                assert not names & {*re.findall(r"\w+", text)}, (name, option.opts, text)


@pytest.mark.parametrize("command", ["verify {tok} --source -", "convert {tok} {out}.tiktoken --source -"])
def test_sources_from_standard_input_are_compared(command: str, files: dict[str, Path], tmp_path: Path) -> None:
    words = [*command.format(**files, out=tmp_path / "out").split(), "--json"]
    texts = []
    for more in ("", TEXT):
        found = CliRunner(**APART).invoke(main, words, input=more)
        assert found.exit_code == 0, found.output
        texts.append(json.loads(found.stdout)["tokens"])
    assert texts[0] < texts[1]
