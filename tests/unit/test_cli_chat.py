"""The command `chat`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import subwords
from commands import run
from subwords import Tokenizer

pytest.importorskip("jinja2")

TEMPLATE = """{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}"""
MESSAGES = [{"role": "user", "content": "a<|end|>\nb"}, {"role": "assistant", "content": "Rays."}]


@pytest.fixture
def tok() -> Tokenizer:
    names = ["<|user|>", "<|assistant|>", "<|end|>"]
    return subwords.load("demo").with_tokens(names).with_(chat_template=TEMPLATE)


@pytest.fixture
def folder(tok: Tokenizer, tmp_path: Path) -> Path:
    (tmp_path / "tok").mkdir()
    tok.save(tmp_path / "tok")
    return tmp_path / "tok"


def lines(*conversations: object) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in conversations).encode()


def test_chat_shows_who_wrote_what(folder: Path) -> None:
    shown = run("chat", folder, stdin=lines(MESSAGES)).stdout.splitlines()
    assert [line.split("\t")[0] for line in shown] == ["  0 user", "  1 assistant", "* 1 assistant", "  1 assistant"]
    assert shown[0].endswith("[<|end|>] \\n")
    assert shown[0].count("[<|end|>]") == 1  # the typed one is text
    assert shown[2].endswith(". [<|end|>]")


def test_chat_prints_ids_owners_and_masks(folder: Path, tok: Tokenizer) -> None:
    out = run("chat", folder, "--json", "--prompt", stdin=lines(MESSAGES, {"messages": MESSAGES[:1]})).stdout
    first, second = map(json.loads, out.splitlines())
    made = tok.chat(MESSAGES)
    assert first["ids"] == made.ids.tolist()
    assert first["owners"] == made.owners.tolist()
    assert first["mask"] == made.mask().astype(int).tolist()
    assert sum(second["mask"]) == 0


def test_chat_takes_another_template(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jinja").write_text("{{ messages[0].content }}", "utf-8")
    out = run(
        "chat", folder, "--template", tmp_path / "other.jinja", "--no-mask", "--json", stdin=lines(MESSAGES)
    ).stdout
    assert json.loads(out)["ids"] == subwords.load("demo").encode("a<|end|>\nb")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"{", "expected JSON on line 1"),
        (lines([]), "conversation 0: "),
        (
            lines({"messages": MESSAGES, "tool": []}),
            "conversation 0: expected messages, tools and documents, not 'tool'",
        ),
        (lines([{"content": "a"}]), "conversation 0: "),
    ],
)
def test_chat_names_what_is_wrong(given: bytes, message: str, folder: Path) -> None:
    assert message in run("chat", folder, "--json", stdin=given, code=1).stderr


def test_tokens_of_conversations(folder: Path, tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines({"said": MESSAGES}, {"said": []}, {"said": MESSAGES}))
    options = "--chat", "--text-column", "said", "--mask-end", "line", "--errors", "skip"
    out = run("tokens", folder, tmp_path / "a.jsonl", *options, "--json", "-o", tmp_path / "x.npy").stdout
    expected = tok.chats([MESSAGES, MESSAGES], end="line")
    assert json.loads(out)["total"] == len(expected.mask) and json.loads(out)["skipped"] == 1
    for name, flat in (("x.npy", expected.tokens.ids), ("x.mask.npy", expected.mask)):
        documents = subwords.files.open(tmp_path / name)
        assert [number for ids in documents for number in ids.tolist()] == flat.tolist()
    (tmp_path / "t.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}", "utf-8")
    more = "--template", tmp_path / "t.jinja", "--pack", 50
    out = run("tokens", folder, tmp_path / "a.jsonl", *options, *more, "--json", "-o", tmp_path / "y.npy").stdout
    found = json.loads(out)
    assert (found["total"], found["conversations"], found["documents"]) == (50, 2, 1)
    assert found["padding"] == 50 - 2 * len(tok.encode("".join(each["content"] for each in MESSAGES)))
    (tmp_path / "t.jinja").write_bytes(b"\xff")
    wrong = run("tokens", folder, tmp_path / "a.jsonl", "--chat", *more[:2], "-o", tmp_path / "y.npy", code=1)
    assert "t.jinja: expected a template in UTF-8; byte 0 is not UTF-8" in wrong.stderr
    wrong = run("tokens", folder, tmp_path / "a.jsonl", "--pack", 9, "-o", tmp_path / "y.npy", code=2)
    assert "--pack are for conversations: add --chat" in wrong.stderr


def test_chat_reads_answers(folder: Path, tok: Tokenizer, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    end = tok.encode("<|end|>", special="allow")
    answers.write_bytes(lines([*tok.encode("Rays of <|end|>"), *end], "Rays.", [*tok.encode("Ra")]))
    options = ("chat", folder, "--reply", answers)
    said = lines(*[MESSAGES[:1]] * 3)
    shown = run(*options, stdin=said).stdout.splitlines()
    assert [line.strip().split("\t") for line in shown] == [
        ["exact"],
        ["content", "Rays of <|end|>"],
        ["exact"],
        ["content", "Rays."],
        ["partial"],
        ["content", "Ra"],
    ]
    made = [json.loads(line) for line in run(*options, "--json", stdin=said).stdout.splitlines()]
    assert made[1] == {"message": {"role": "assistant", "content": "Rays."}, "status": "exact", "open": None}
    answers.write_bytes(b"")
    assert "conversation 0: expected an answer to each" in run(*options, stdin=said, code=1).stderr
    wrong = run("chat", "demo", "--name", "rag", stdin=said, code=1).stderr
    assert "unknown chat template 'rag': this tokenizer has no templates" in wrong
    answers.write_bytes(lines({}))
    assert "conversation 0: expected its answer" in run(*options, stdin=said, code=1).stderr
