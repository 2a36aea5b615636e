"""Chat templates as models have them, written for these tests: ids, injections, masks, answers, errors."""

from __future__ import annotations

from typing import Any

import pytest

from chatting import BAD_MODELS, MODELS, TALKS, talking
from subwords import InputError

pytest.importorskip("jinja2")

TOK = talking()
NAMES = {token.content: token.id for token in TOK.added_tokens}
NO_END = ("headings",)  # no control token after an answer
_PARTS, _TOOLS = {"parts", "hostile parts"}, {"tools", "hostile tools"}
REFUSED = {  # what these templates do not take
    "by_number": _PARTS,
    "chatml_tools": _PARTS,
    "chatml_reasoning": _PARTS,
    "inst": {"system", *_PARTS, *_TOOLS},
    "inst_system": _TOOLS,
    "role_tokens": _PARTS,
    "turns": {"system"},
    "colons": _PARTS,
}


def made(name: str, talk: str, **more: Any) -> Any:
    """A chat, or None if the template refuses the conversation."""
    row = TALKS[talk]
    try:
        return TOK.chat(template=MODELS[name], **row, **more)
    except InputError as error:
        assert "the chat template, line " in str(error)
        return None


def test_there_are_twenty_of_them() -> None:
    assert (len(MODELS), len(BAD_MODELS)) == (20, 4)
    assert len(NAMES) > 30


@pytest.mark.parametrize("name", MODELS)
def test_ids_are_those_of_the_text(name: str) -> None:
    refused = {talk for talk in TALKS if made(name, talk) is None}
    assert refused == REFUSED.get(name, set())
    for talk in TALKS:
        chat = made(name, talk)
        if chat is not None and "hostile" not in talk:
            assert chat.ids.tolist() == TOK.encode([*chat.parts]) == TOK.encode(chat.text, special="allow")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("talk", [talk for talk in TALKS if "hostile" in talk])
def test_no_text_becomes_a_control_token(name: str, talk: str) -> None:
    def harmless(value: Any) -> Any:
        """The same in brackets that no token has."""
        if isinstance(value, dict):
            return {harmless(key): harmless(each) for key, each in value.items()}
        if isinstance(value, list):
            return [*map(harmless, value)]
        return value.translate(str.maketrans("<>[]|", "()(){")) if isinstance(value, str) else value

    if (chat := made(name, talk)) is None:
        return
    plain = TOK.chat(template=MODELS[name], **harmless(TALKS[talk]))
    assert chat.ids[chat.control].tolist() == plain.ids[plain.control].tolist()
    assert not plain.typed.any()
    assert TOK.decode(chat.ids) == chat.text


@pytest.mark.parametrize("name", MODELS)
def test_masks_are_what_the_assistant_says(name: str) -> None:
    chat = made(name, "turns", prompt=False)
    mask = chat.mask()
    text = TOK.decode(chat.ids[mask])
    said = [each["content"] for each in TALKS["turns"]["messages"]]
    assert [each in text for each in said] == [False, True, False, True]
    assert (chat.mask_source == "marks") == name.startswith("generation")
    runs = [*zip(mask, [False, *mask], strict=False)]
    assert sum(bool(now and not before) for now, before in runs) == 2  # one run for each reply


@pytest.mark.parametrize("name", [name for name in MODELS if name not in NO_END])
def test_an_answer_keeps_its_ids(name: str) -> None:
    chat = made(name, "one")
    ids = [TOK.token_to_id(letter) for letter in "Rays"]
    more = chat.answered(ids, {"role": "assistant", "content": "Rays"}).add({"role": "user", "content": "Why?"})
    assert more.ids[: len(chat) + 4].tolist() == [*chat.ids.tolist(), *ids]
    assert "Why?" in more.text[len(chat.text) :]
    assert more.drift is not None


@pytest.mark.parametrize("name", NO_END)
def test_a_template_without_an_end_takes_no_answer(name: str) -> None:
    with pytest.raises(InputError, match="expected a control token at the end of the turn"):
        made(name, "one").answered([5], {"role": "assistant", "content": "x"}).add()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bad_syntax", "invalid chat template, line 3: "),
        ("bad_refuses", "line 5, refuses this conversation: nobody may speak"),
        ("bad_attribute", "line 1, refuses this conversation: access to attribute"),
        ("bad_endless", "line 3, is stopped: it makes"),
    ],
)
def test_bad_templates(name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        TOK.chat(template=BAD_MODELS[name], **TALKS["one"])
