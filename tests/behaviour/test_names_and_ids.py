"""What people type where a tokenizer, a text or ids are expected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import subwords
from commands import json_of, run

IDS = [108, 111, 119, 300 - 40]


@pytest.fixture(scope="module")
def tok_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tok") / "tok.json"
    subwords.train(["low lower lowest " * 9], vocab_size=263).save(file)
    return file


@pytest.mark.parametrize(
    "spelling",
    [
        "{0} {1} {2} {3}",
        "{0},{1},{2},{3}",
        "[{0}, {1}, {2}, {3}]",
        "[{0},{1},{2},{3}]\n",
        "({0}, {1}, {2}, {3})",
        "{0}\n{1}\r\n{2}\t{3}\n",
        " [ {0}  {1}\n  {2} {3} ] ",
        "array([{0}, {1}, {2}, {3}], dtype=uint32)",
        "tensor([{0}, {1}, {2}, {3}])",
        "{0}, {1}, {2}, {3},",
    ],
)
def test_ids_as_people_paste_them(spelling: str, tok_file: Path, tmp_path: Path) -> None:
    text, expected = spelling.format(*IDS), subwords.load(tok_file).decode_bytes(IDS)
    (tmp_path / "ids.txt").write_text(text)
    assert run("decode", tok_file, "--ids", text).stdout_bytes == expected
    assert run("decode", tok_file, stdin=text.encode()).stdout_bytes == expected
    assert run("decode", tok_file, "-", stdin=text.encode()).stdout_bytes == expected
    assert run("decode", tok_file, tmp_path / "ids.txt").stdout_bytes == expected


def test_what_python_and_numpy_print_is_read(tok_file: Path) -> None:
    ids = subwords.load(tok_file).encode("lower low lowest " * 20)
    for text in (str(ids), json.dumps(ids), str(np.array(ids)), repr(np.array(ids, np.uint32)), repr(tuple(ids))):
        assert run("decode", tok_file, "--ids", text).stdout == "lower low lowest " * 20
    lines = "".join(f"{list(part)}\n" for part in (ids[:3], ids[3:9]))
    assert len(run("decode", tok_file, "--lines", stdin=lines.encode()).stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (b"1 2 x3", "'x3' (number 3, line 1, column 5)"),
        (b"1,2\n3 4.5", "'4.5' (number 4, line 2, column 3)"),
        (b"[1, [2]]", "'[1' (number 1, line 1, column 1)"),
        (b"[1 2 ... 8 9]", "'...' (number 3, line 1, column 6); NumPy prints a long array without its middle"),
        (b"\x01\xff\xfe\x80\x02", "raw ids need --dtype uint16 or uint32"),
    ],
)
def test_a_wrong_piece_is_shown_with_its_place(text: bytes, piece: str, tok_file: Path, tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(text)
    for arguments in ([tok_file, tmp_path / "ids"], [tok_file]):
        stderr = run("decode", *arguments, stdin=text, code=1).stderr
        assert piece in stderr
        assert stderr.rstrip("\n").isprintable()


def test_a_text_in_place_of_a_file_is_told_its_option(tok_file: Path) -> None:
    assert "use --text 'hello world'" in run("encode", tok_file, "hello world", code=1).stderr
    assert "use --text 'hello world'" in run("encode", tok_file, "hello", "world", code=1).stderr
    assert "use --text hello" in run("study", "explain", tok_file, "hello", code=1).stderr
    assert "use --ids '1 2 3'" in run("decode", tok_file, "1 2 3", code=1).stderr


def test_a_dash_is_standard_input(tok_file: Path) -> None:
    text = b"low lowest"
    ids = subwords.load(tok_file).encode(text)
    assert run("encode", tok_file, "-", stdin=text).stdout.split() == [*map(str, ids)]
    assert run("tokens", tok_file, "--count", "-", stdin=text).stdout.startswith(f"{len(ids)}\t{len(text)}\t1\t")
    assert json_of("study", "explain", tok_file, "-", stdin=text) == json_of(
        "study", "explain", tok_file, "--text", text.decode()
    )
    assert json_of("inspect", tok_file, "--source", "-", stdin=text)["tokens"] == len(ids)


def test_unknown_names_get_suggestions(tok_file: Path) -> None:
    assert 'Did you mean "subwords study audit"?' in run("audit", "demo", code=2).stderr
    for command in ("encode", "inspect", "tokens --count", "study audit"):
        assert "did you mean 'o200k_base'" in run(*command.split(), "o200k_bas", code=1).stderr
    assert "did you mean 'gpt-4o'" in run("study", "compare", tok_file, "gpt-4oo", "--source", tok_file, code=1).stderr


def test_names_of_encodings(shared_data: Path, tok_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = next((path.parent for path in shared_data.rglob("cl100k_base.tiktoken")), None)
    if folder is None:
        pytest.skip("no rank file of cl100k_base")
    monkeypatch.chdir(folder)
    expected = subwords.load("cl100k_base").encode("hello world")
    for name in ("cl100k_base", "gpt-4"):
        assert run("encode", name, "--text", "hello world").stdout.split() == [*map(str, expected)]
        assert run("tokens", name, "--count", stdin=b"hello world").stdout.startswith(f"{len(expected)}\t")
    assert "100,277" in run("inspect", "gpt-4").stdout.replace("100277", "100,277")


# --- completion


def completed(shell: str, *words: str, folder: Path) -> list[str]:
    variables = {"_SUBWORDS_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words)}
    variables["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words) - 1)
    source = str(Path(subwords.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": source, **variables}
    command = [sys.executable, "-c", "from subwords.cli import main; main(prog_name='subwords')"]
    return subprocess.run(
        command, env=environment, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_files_and_names_are_completed(shell: str, tok_file: Path) -> None:
    def found(*words: str) -> str:
        values = completed(shell, "subwords", *words, folder=tok_file.parent)
        return " ".join(f"{kind},{name}" for kind, name in pairwise(values)) if shell == "zsh" else " ".join(values)

    assert "plain,tokens" in found("tok")
    assert "plain,verify-training" in found("study", "verify-t")
    assert "plain,--special" in found("encode", "--spec")
    assert "file,to" in found("encode", "to")
    assert "plain,gpt-4o" in found("encode", "gpt-4")
    for command in ("train", "count", "study evaluate tok.json"):
        assert "file,cor" in found(*command.split(), "cor")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_that_sets_completion_up_gives_a_script(shell: str, tmp_path: Path) -> None:
    source = str(Path(subwords.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "_SUBWORDS_COMPLETE": f"{shell}_source"}
    command = [sys.executable, "-c", "from subwords.cli import main; main(prog_name='subwords')"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    if shell == "bash" and "Couldn't detect Bash version" in done.stderr:
        pytest.skip("no bash")
    assert f"_SUBWORDS_COMPLETE={shell}_complete" in done.stdout


# --- terminals


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a POSIX thing")
@pytest.mark.parametrize(("command", "what"), [("encode", "text"), ("decode", "ids"), ("tokens --count", "text")])
def test_one_control_d_ends_standard_input_at_a_terminal(command: str, what: str, tok_file: Path) -> None:
    import pty

    master, slave = pty.openpty()
    program = [sys.executable, "-m", "subwords", *command.split(), str(tok_file)]
    environment = {**os.environ, "PYTHONPATH": str(Path(subwords.__file__).resolve().parents[1])}
    with subprocess.Popen(
        program, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(slave)
        assert process.stderr is not None
        told = process.stderr.readline()
        assert told == f"subwords: reading {what} from standard input; end with Ctrl-D\n".encode()
        os.write(master, b"108 111\n\x04")
        out, err = process.communicate(timeout=60)
    os.close(master)
    assert (process.returncode, err) == (0, b"")
    assert out
