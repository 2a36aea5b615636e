"""Conversations as transformers renders and encodes them: text, ids, masks, errors."""

from __future__ import annotations

import contextlib
import copy
import enum
import importlib.util
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from chatting import BAD_MODELS, CONVERSATIONS, MODELS, TALKS, TEMPLATES, chatting, talking
from seeds import seed_of_run
from subwords import InputError, Tokenizer

pytest.importorskip("transformers")

TOK = chatting()
THEIRS = TOK.to_transformers()


def by_them(theirs: Any, messages: Any, options: dict[str, Any], template: str, **more: Any) -> Any:
    """What transformers returns; None for an error."""
    try:
        return theirs.apply_chat_template(copy.deepcopy(messages), chat_template=template, **options, **more)
    except Exception:
        return None


def by_us(tok: Tokenizer, messages: Any, options: dict[str, Any], template: str, **more: Any) -> Any:
    try:
        return tok.chat(messages, template=template, **options, **more)
    except InputError:
        return None


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("prompt", [False, True])
def test_text_ids_and_errors(name: str, prompt: bool) -> None:
    template = TEMPLATES[name]
    for messages, options in CONVERSATIONS.values():
        chat = by_us(TOK, messages, options, template, prompt=prompt)
        text = by_them(THEIRS, messages, options, template, tokenize=False, add_generation_prompt=prompt)
        assert (None if chat is None else chat.text) == text
        if chat is not None and "format" not in name and "case" not in name:
            ids = by_them(THEIRS, messages, options, template, add_generation_prompt=prompt, return_dict=False)
            assert chat.ids.tolist() == ids


@pytest.mark.parametrize("name", [*MODELS, *BAD_MODELS])
def test_templates_as_models_have_them(name: str) -> None:
    if name == "bad_endless":
        return  # transformers has no limits
    tok, template = talking(), {**MODELS, **BAD_MODELS}[name]
    theirs = tok.to_transformers()
    for talk, row in TALKS.items():
        messages, options = row["messages"], {key: value for key, value in row.items() if key != "messages"}
        for prompt in (False, True):
            chat = by_us(tok, messages, options, template, prompt=prompt)
            text = by_them(theirs, messages, options, template, tokenize=False, add_generation_prompt=prompt)
            assert (None if chat is None else chat.text) == text
            if chat is not None and "hostile" not in talk:
                assert chat.ids.tolist() == theirs(text, add_special_tokens=False).input_ids
    if name.startswith("generation"):
        messages = TALKS["turns"]["messages"]
        found = by_them(theirs, messages, {}, template, return_assistant_tokens_mask=True, return_dict=True)
        assert tok.chat(messages, template=template, prompt=False).mask().tolist() == [
            *map(bool, found["assistant_masks"])
        ]


def test_marks() -> None:
    for messages, options in CONVERSATIONS.values():
        if (chat := by_us(TOK, messages, options, TEMPLATES["generation"], prompt=False)) is not None:
            found = by_them(
                THEIRS, messages, options, TEMPLATES["generation"], return_assistant_tokens_mask=True, return_dict=True
            )
            if any(found["assistant_masks"]):
                assert chat.mask().astype(int).tolist() == found["assistant_masks"]


@pytest.mark.parametrize("name", ["usual", "concatenation", "namespace", "set block", "list of parts"])
def test_resume(name: str) -> None:
    for messages, options in CONVERSATIONS.values():
        if name != "list of parts" and isinstance(messages[-1]["content"], list):
            continue  # its repr owns the quotes too
        chat = by_us(TOK, messages, options, TEMPLATES[name], resume="content")
        text = by_them(THEIRS, messages, options, TEMPLATES[name], tokenize=False, continue_final_message=True)
        if chat is not None:
            assert chat.text == text


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = 3


def weather(
    city: str, days: int | None = 3, unit: Unit = Unit.KELVIN, more: list[dict[str, float]] | bool = False
) -> str:
    """Tell the weather.

    In two lines.

    Args:
        city: Where,
            or how far.
        days (int): How long.
        unit: Of degrees.
        more: Anything. (choices: ["a ", 3])

    Returns:
        A text: of one line.
    """
    return city


def nothing(x: Literal["a", 1], y: tuple[int, str], z: dict[str, Any], w: int | str | None, v: list) -> None:  # type: ignore[type-arg]
    """Do nothing.

    Args:
        x: X.
        y: Y.
        z: Z.
        w: W.
        v: V.
    """


class Tool:
    def method(self, x: float) -> Any:
        """Do it.

        Args:
            x: X: the first.

        Raises:
            ValueError: never.
        """


@pytest.mark.parametrize("function", [weather, nothing, Tool().method])
def test_functions_as_tools(function: Any) -> None:
    from transformers.utils import get_json_schema

    found = TOK.chat([{"role": "user", "content": "x"}], tools=[function], template="{{ tools[0] | tojson }}").text
    assert json.loads(found) == get_json_schema(function)


@pytest.fixture(scope="module")
def real(shared_data: Path) -> tuple[list[tuple[str, str]], list[Any], Tokenizer, Any]:
    """Templates in use, conversations for them, and a tokenizer with tokens that these templates spell."""
    import re

    folder = shared_data / "chat_templates"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/chat_templates, which is not part of this repository")
    spec = importlib.util.spec_from_file_location("conversations", folder / "conversations.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Literals as they are: reading text would change the ends of lines.
    templates = [(file.stem, file.read_bytes().decode()) for file in sorted(folder.glob("*.jinja"))]
    tokens = re.compile(r"<[|｜][^<>|｜\s]+[|｜]>|</?(?:think|tool_call|tool_response)>")
    spelled = {text for _, source in templates for text in tokens.findall(source)}
    tok = TOK.with_tokens(sorted(spelled - {token.content for token in TOK.added_tokens}))
    return templates, module.C, tok, tok.to_transformers()


@pytest.mark.parametrize("part", range(8))
@pytest.mark.rotating(8)
def test_templates_in_use(real: Any, part: int) -> None:
    templates, conversations, tok, theirs = real
    names = {token.content for token in tok.added_tokens}
    for at, (name, source) in enumerate(templates[part::8]):
        for k, (kind, messages, given) in enumerate(conversations):
            if (at + k + seed_of_run()) % 4:
                continue
            options = {key: value for key, value in given.items() if key != "add_generation_prompt"}
            prompt = given.get("add_generation_prompt", False)
            chat = by_us(tok, messages, options, source, prompt=prompt)
            text = by_them(theirs, messages, options, source, tokenize=False, add_generation_prompt=prompt)
            assert (None if chat is None else chat.text) == text, (name, kind)
            if chat is not None and "evil" not in kind and not any(name in str(messages) for name in names):
                ids = theirs(text, add_special_tokens=False).input_ids
                assert chat.ids.tolist() == ids, (name, kind)


@pytest.mark.parametrize("part", range(8))
@pytest.mark.rotating(8)
def test_answers_with_templates_in_use(real: Any, part: int) -> None:  # H6
    templates, conversations, tok, _ = real
    more = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": "?"},
    ]
    for name, source in templates[part::8]:
        for kind, messages, given in conversations:
            options = {key: value for key, value in given.items() if key != "add_generation_prompt"}
            records = [*messages, *more]
            at = len(records) - 2
            if (whole := by_us(tok, records, options, source)) is None:
                continue
            with contextlib.suppress(InputError):  # no place is known where text may be added
                chat = tok.chat(records[:at], template=source, **options).answered([], records[at]).add(records[-1])
                new = tok.decode(chat.ids[chat.turns[at][1] :])
                assert new, (name, kind)
                assert whole.text.endswith(new), (name, kind)
