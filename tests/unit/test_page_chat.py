"""The panel for chat of the local page: the same conversation as `chat` shows, other templates, and hostile ones."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from chatting import CALL, CONVERSATIONS, TEMPLATES, TOOL, USUAL, chatting, said
from commands import run
from inside import ChatProcess, PageApi, TokenizerFile, answer, differences, example
from subwords import InputError

pytest.importorskip("jinja2")

TOK = chatting()
FOUR = [{"role": "system", "content": "Be kind."}, *said("Why?</s>", "Light.", "Is it?")]


def asked(conversation: object, template: str | None = None, **request: object) -> Any:
    return answer(TOK, {"conversation": json.dumps(conversation), "template": template, **request})


def places(found: Any, at: int) -> list[Any]:
    return [token[at] for run in found["runs"] for token in run["tokens"]]


# --- the conversation


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_the_page_shows_what_chat_returns(kind: str) -> None:
    messages, options = CONVERSATIONS[kind]
    template = TEMPLATES["tools" if "tools" in options else "list of parts"]
    chat = TOK.chat(messages, template=template, prompt=False, **options)
    found = asked({"messages": messages, **options}, template)
    assert places(found, 0) == chat.ids.tolist()
    assert (found["text"], found["template"], found["tokens"]) == (chat.text, template, len(chat))
    assert [run["owner"] for run in found["runs"] for _ in run["tokens"]] == chat.owners.tolist()
    assert [run["trained"] for run in found["runs"] for _ in run["tokens"]] == chat.mask().tolist()
    assert (places(found, 2), places(found, 3)) == (chat.control.astype(int).tolist(), chat.typed.astype(int).tolist())
    whos = {run["owner"]: run["who"] for run in found["runs"]}
    assert whos == {
        number: messages[number]["role"] if number >= 0 else "template" if number == -1 else "tools and variables"
        for number in whos
    }


def test_the_page_shows_what_the_command_shows(tmp_path: Path) -> None:
    (tmp_path / "tok").mkdir()
    TOK.save(tmp_path / "tok")
    row = {"messages": [*FOUR, {"role": "assistant", "content": "", "tool_calls": [CALL]}], "tools": [TOOL]}
    lines = run("chat", tmp_path / "tok", "--prompt", stdin=json.dumps(row).encode()).stdout.splitlines()
    runs = asked(row, prompt=True)["runs"]
    names = [f"{run['owner']} {run['who']}" if run["owner"] >= 0 else run["who"] for run in runs]
    assert [line[2:].partition("\t")[0] for line in lines] == names
    assert [line[0] == "*" for line in lines] == [run["trained"] for run in runs]
    for line, shown in zip(lines, runs, strict=True):
        words = line.partition("\t")[2].split(" ")
        assert [word[:1] == "[" and word[-1:] == "]" for word in words] == [bool(one[2]) for one in shown["tokens"]]


def test_an_answer_is_read_as_a_message() -> None:
    found = asked(FOUR, USUAL, prompt=True, answer="Rays of <b>.<|end|>")["reply"]
    assert found == {"status": "The answer is exact", "rows": [("content", "Rays of <b>.")]}
    assert asked(FOUR, USUAL, answer="Rays.")["reply"]["status"].startswith("expected a chat that ends with a prompt")
    assert asked(FOUR, USUAL, prompt=True)["reply"] is None


def test_typed_control_tokens_are_text_and_told() -> None:
    found = asked(FOUR)
    assert found["typed"] == sum(places(found, 3)) == len(TOK.encode("</s>"))
    typed = [(run["who"], token[1]) for run in found["runs"] for token in run["tokens"] if token[3]]
    assert "".join(text for _, text in typed) == "</s>"
    assert {who for who, _ in typed} == {"user"}
    assert found["control"] == 2 * len(FOUR)


def test_a_mask_that_is_not_found_has_a_reason() -> None:
    found = asked(FOUR, "{{ messages[0].content }}")
    assert found["mask_source"] is None
    assert "not in the rendered text" in found["mask_problem"]
    assert not any(run["trained"] for run in found["runs"])


def test_the_first_conversation_spells_a_token_of_the_tokenizer() -> None:
    for tok in (TOK, subwords.load("demo"), subwords.train(["a b"] * 9, vocab_size=258)):
        messages = json.loads(example(tok))
        assert tok.chat(messages, template=USUAL, prompt=False).mask().any()
    assert "</s>" in json.loads(example(TOK))[0]["content"]
    assert asked(json.loads(example(TOK)))["typed"]


# --- another template


def test_another_template_has_the_changes_of_ids() -> None:
    template = USUAL.replace("<|end|>\n", "</s>\n") + "!"
    found = asked(FOUR, template)
    before, after = (TOK.chat(FOUR, template=each, prompt=False).ids.tolist() for each in (None, template))
    end, eos = TOK.token_to_id("<|end|>"), TOK.token_to_id("</s>")
    assert found["changes"][0] == [before.index(end), [end], 1, [eos], 1]
    assert len(found["changes"]) == len(FOUR) + 1
    assert found["changes"][-1][1:] == [[], 0, TOK.encode("!"), 1]
    assert (found["own_tokens"], found["names"][end], found["names"][eos]) == (len(before), "<|end|>", "</s>")
    assert found["tokens"] == len(after)
    assert asked(FOUR, USUAL)["changes"] == []
    assert asked(FOUR)["changes"] is None


def test_a_tokenizer_without_a_template_has_nothing_to_compare() -> None:
    request = {"conversation": json.dumps(FOUR), "template": USUAL}
    found: Any = answer(subwords.load("demo"), request)
    assert (found["error"], found["changes"]) == (None, None)
    assert "no chat template" in found["own_error"]


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_differences_make_one_list_of_the_other(before: list[int], after: list[int]) -> None:
    made, at, end = [], 0, 0
    for same, start, stop, first, last in differences(before, after):
        assert (start, first) == (at + same, end + same)
        assert before[start:stop] != after[first:last]
        made += [*before[at:start], *after[first:last]]
        at, end = stop, last
    assert [*made, *before[at:]] == after


def test_differences_of_long_lists_are_one_change() -> None:
    before, after = [*range(5000), 7], [*range(100), *range(90_000, 70_000, -1), 7]
    assert differences(before, after) == [(100, 100, 5000, 100, 20_100)]


# --- errors and limits


@pytest.mark.parametrize(
    ("template", "told", "line"),
    [
        ("a\n{% for %}", "invalid chat template, line 2: ", 2),
        ("\n\n{{ raise_exception('no <b>') }}", "line 3, refuses this conversation: no <b>", 3),
        ("\n{{ 'a' * 999999999 }}", "line 2, is stopped: it makes", 2),
        ("{{ " + "(" * 50_000, "invalid chat template: ", None),
        ("{{ messages.__class__.__mro__ }}", "unsafe", 1),
    ],
)
def test_errors_of_a_template_have_a_line(template: str, told: str, line: int | None) -> None:
    found = asked(FOUR, template)
    assert told in found["error"]
    assert found["line"] == line


@pytest.mark.parametrize(
    ("conversation", "told"),
    [
        ("[", "expected the conversation as JSON: Expecting value: line 1"),
        ("[" * 100_000, "expected the conversation as JSON: "),
        ("[]", "expected at least one message"),
        ('{"tool": []}', "expected messages, tools and documents, not 'tool'"),
        ('[{"content": "a"}]', 'expected messages[0]["role"]'),
        ('[{"role": "user", "content": "\\ud800"}]', "lone surrogate"),
        ("3", "expected messages as a list"),
    ],
)
def test_errors_of_a_conversation_are_told(conversation: str, told: str) -> None:
    found: Any = answer(TOK, {"conversation": conversation, "template": None})
    assert told in found["error"]


@pytest.mark.parametrize(
    "request_",
    [
        *({"conversation": value} for value in (None, 3, "x" * 200_001)),
        *({"conversation": "[]", "template": value} for value in (3, "x" * 200_001)),
        {"conversation": "[]", "prompt": 1},
    ],
)
def test_requests_that_are_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r'expected "(conversation|template|prompt)"'):
        answer(TOK, request_)


def test_long_texts_are_cut_and_the_rest_is_counted() -> None:
    found = asked(said("a " * 150), "{{ (messages[0].content ~ '<|end|>') * 700 }}")
    assert sum(len(run["tokens"]) for run in found["runs"]) == 5_000
    assert found["left_out"] == found["tokens"] - 5_000 > 0
    assert (len(found["text"]), found["text_left_out"]) == (200_000, 307 * 700 - 200_000)


@pytest.fixture(scope="module")
def process() -> Iterator[ChatProcess]:
    found = ChatProcess(seconds=1)
    yield found
    found.close()


ENDLESS = {
    "time": "{% for a in range(99999) %}{{ ('x' * 60000000).upper() | length }}{% endfor %}",
    "memory": "{% set ns = namespace(x=[]) %}{% for a in range(99999) %}"
    "{% set ns.x = ns.x + ['a' * 60000000 ~ a] %}{% endfor %}",
    "one operation": "{{ (3 ** 90000000) is none }}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_that_does_not_end_is_stopped(process: ChatProcess, name: str) -> None:
    request = {"conversation": json.dumps(FOUR)}
    assert process.ask(TOK, request)["tokens"] > 0
    started = time.monotonic()
    found = process.ask(TOK, {**request, "template": ENDLESS[name]})
    assert time.monotonic() - started < 10
    assert "MemoryError" in found["error"] or "is stopped" in found["error"] or "memory" in found["error"]
    assert process.ask(TOK, request) == json.loads(json.dumps(answer(TOK, request)))


def test_a_process_answers_for_the_tokenizer_that_is_asked_about(process: ChatProcess) -> None:
    other = TOK.with_(chat_template=TEMPLATES["trim"])
    request = {"conversation": json.dumps(FOUR)}
    assert process.ask(TOK, request)["template"] == USUAL
    assert process.ask(other, request)["template"] == TEMPLATES["trim"]
    with pytest.raises(InputError, match='expected "conversation"'):
        process.ask(other, {})


def test_the_api_asks_the_process(tmp_path: Path, process: ChatProcess) -> None:
    (tmp_path / "tok").mkdir()
    TOK.save(tmp_path / "tok")
    files = [TokenizerFile(str(tmp_path / "tok"))]
    request = {"tokenizer": 0, "conversation": json.dumps(FOUR)}
    api = PageApi(files, templates=process)
    assert api.chat(request)["tokens"] == len(TOK.chat(FOUR, prompt=False))
    with pytest.raises(InputError, match='expected "tokenizer"'):
        api.chat({**request, "tokenizer": 1})


def test_without_jinja_the_page_says_what_to_install() -> None:
    program = (
        "import sys\nsys.modules['jinja2'] = None\n"
        "import subwords\nimport subwords.study.page\n"
        "from subwords.study.conversations import answer\n"
        "found = answer(subwords.load('demo'), {'conversation': '[{\"role\": \"user\"}]', 'template': 'x'})\n"
        "print(found['error'])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("chat templates need the package jinja2: ")
