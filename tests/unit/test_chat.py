"""Conversations to ids: the public surface of chat (ALGORITHMS.md, H1 to H6)."""

from __future__ import annotations

import enum
import pickle
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import subwords
from chatting import CONVERSATIONS, HOSTILE, STATEFUL, TEMPLATES, USUAL, chatting, said
from inside import ChatTemplate, Owner, Record
from subwords import InputError, Special, Text

TOK = chatting()
CONTROL = {token.id for token in TOK.added_tokens}
FOUR = [{"role": "system", "content": "Be kind."}, *said("Why?", "Light.", "Is it?")]


def control(ids: Any) -> list[str | None]:
    return [TOK.id_to_token(index) for index in ids.tolist() if index in CONTROL]


# ---------------------------------------------------------------------------------------------------------------------
# Ids, text, parts.


@pytest.mark.parametrize("name", TEMPLATES)
def test_ids_are_those_of_the_text_and_of_the_parts(name: str) -> None:  # H1
    for messages, options in CONVERSATIONS.values():
        try:
            chat = TOK.chat(messages, template=TEMPLATES[name], **options)
        except InputError:  # not every template takes lists of parts
            assert any(not isinstance(each["content"], str) or "tool_calls" in each for each in messages)
            continue
        assert chat.ids.tolist() == TOK.encode(chat.text, special="allow") == TOK.encode([*chat.parts])
        assert len(chat) == len(chat.ids) == len(chat.owners) == len(chat.mask(start="turn"))
        assert chat.drift is None


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_caller_writes_is_never_a_control_token(name: str, kind: str) -> None:  # H2
    messages, options = HOSTILE[kind]
    try:
        chat = TOK.chat(messages, template=TEMPLATES[name], **options)
    except InputError:
        return
    harmless: Any = lambda value: (  # noqa: E731  # the same, with other brackets
        {harmless(key): harmless(each) for key, each in value.items()}
        if isinstance(value, dict)
        else [*map(harmless, value)]
        if isinstance(value, list)
        else value.replace("<", "(").replace("|", "!")
        if isinstance(value, str)
        else value
    )
    assert control(chat.ids) == control(TOK.chat(harmless(messages), template=TEMPLATES[name], **harmless(options)).ids)
    assert TOK.decode(chat.ids) == chat.text


def test_text_beside_the_template_is_encoded_with_it() -> None:
    """A word goes on over the border: only control tokens cut."""
    chat = TOK.chat(said("ght is"), template="<|user|>li{{ messages[0].content }}")
    assert chat.ids.tolist() == [TOK.token_to_id("<|user|>"), *TOK.encode("light is")]
    assert chat.shared.tolist() == [1]


@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}])
@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_every_family_and_every_strip(algorithm: Any, flags: dict[str, bool]) -> None:
    texts = ["user assistant why light is it a b c d e 0 ! " * 3, "\n"]
    tok = chatting(subwords.train(texts, algorithm=algorithm, vocab_size=290 if algorithm == "bpe" else 44), **flags)
    chat = tok.chat(said(" why \n", "\n light", "  "))
    assert chat.ids.tolist() == tok.encode(chat.text, special="allow") == tok.encode([*chat.parts])


def test_tokens_that_are_not_special_are_control_tokens_if_the_template_has_them() -> None:  # H3
    tok = chatting(template="{% for m in messages %}<call>{{ m.content }}{% endfor %}")
    tok = tok.with_tokens(["<call>", "<other>", "   "], special=False)
    chat = tok.chat(said("a<call><other>   b"))
    names = [tok.id_to_token(index) for index in chat.ids if tok.id_to_token(index) in ("<call>", "<other>", "   ")]
    assert names == ["<call>", "<other>", "   "]
    assert chat.ids.tolist() == tok.encode([Special("<call>"), Text("a<call><other>   b", as_text={"<call>"})])


def test_a_file_may_name_its_control_tokens() -> None:
    def named(value: str) -> subwords.Tokenizer:
        foreign = replace(TOK.spec.foreign, config=(("chat_control_tokens", value),))
        return subwords.Tokenizer(replace(TOK.spec, foreign=foreign))

    assert control(named('["<|user|>"]').chat(said("x")).ids) == ["<|user|>"]
    with pytest.raises(InputError, match=r"expected an added token, not '<.usr.>'"):
        named('["<|usr|>"]').chat(said("x"))
    with pytest.raises(InputError, match="expected chat_control_tokens of the tokenizer as a list of str, not 3"):
        named("3").chat(said("x"))


def test_single_word_and_normalized_control_tokens() -> None:
    tok = chatting(template="{% for m in messages %}END {{ m.content }}END Ende{% endfor %}")
    tok = tok.with_tokens(["END"], single_word=True).with_tokens(["Ende"], normalized=True)
    end, ende = tok.token_to_id("END"), tok.token_to_id("Ende")
    assert [index for index in tok.chat(said("x")).ids if index in (end, ende)] == [end, ende]
    assert [index for index in tok.chat(said("x ")).ids if index in (end, ende)] == [end, end, ende]


def test_trusted_tokens_of_a_role() -> None:
    messages = said("<think>", "<think>x</think>")
    assert control(TOK.chat(messages, trusted={"assistant": ["<think>", "</think>"]}).ids).count("<think>") == 1
    assert "<think>" not in control(TOK.chat(messages).ids)


def test_names_of_templates() -> None:
    named = (("tool_use", "tools: {{ tools[0].name }}"), ("rag", "{{ documents[0].text }}"))
    tok = subwords.Tokenizer(replace(TOK.spec, foreign=replace(TOK.spec.foreign, chat_templates=named)))
    assert tok.chat(said("x"), tools=[{"name": "f"}]).text == "tools: f"
    assert tok.chat(said("x"), template="rag", documents=[{"text": "d"}]).text == "d"
    assert tok.chat(said("x"), template="default").text == TOK.chat(said("x")).text
    with pytest.raises(InputError, match=r"unknown chat template 'rug': this tokenizer has .*; did you mean 'rag'"):
        tok.chat(said("x"), template="rug")
    assert tok.chat_template == USUAL


def test_variables_win_over_the_tokens_with_roles() -> None:
    template = "{{ bos_token }}{{ x.y[0] }}{{ messages[0].content }}"
    assert control(TOK.chat(said("a"), template=template, x={"y": ["b"]}).ids) == ["<s>"]
    assert control(TOK.chat(said("a"), template=template, x={"y": "b"}, bos_token="</s>").ids) == []


def test_other_shapes_of_messages() -> None:
    @dataclass
    class Said:
        role: str
        content: str
        tool_calls: None = None

    class Model:
        def model_dump(self) -> dict[str, str]:
            return {"role": "user", "content": "x"}

    class Kind(enum.StrEnum):
        USER = "user"

    class Shout(str):
        def __str__(self) -> str:
            return "<|end|>"

        upper = __str__

    expected = TOK.chat(said("x")).ids.tolist()
    content = np.str_("x")
    for message in (
        Said("user", "x"),
        Model(),
        {"role": Kind.USER, "content": Shout("x")},
        {"role": "user", "content": content},
    ):
        assert TOK.chat([message]).ids.tolist() == expected  # type: ignore[list-item]
    from markupsafe import Markup

    escaped = TOK.chat([{"role": "user", "content": Markup("<b>")}], template=TEMPLATES["concatenation"])
    assert "<b>" in escaped.text


def test_reasoning_has_the_names_of_transformers() -> None:
    template = "{{ messages[0].reasoning_content }}{{ messages[0].thinking }}"
    for name in ("reasoning_content", "thinking", "reasoning"):
        assert TOK.chat([{"role": "assistant", name: "r"}], template=template).text == "rr"


# ---------------------------------------------------------------------------------------------------------------------
# Owners, turns, masks.


def test_owners_and_turns() -> None:
    chat = TOK.chat(FOUR)
    texts = [TOK.decode(chat.ids[start:stop]) for start, stop in chat.turns]
    assert texts[1:3] == ["<|user|>\nWhy?<|end|>\n", "<|assistant|>\nLight.<|end|>\n"]
    for number, (start, stop) in enumerate(chat.turns):
        assert set(chat.owners[start:stop].tolist()) == {number}
    assert chat.owners[chat.turns[-1][1] :].tolist() == [-1] * 2


@pytest.mark.parametrize("kind", HOSTILE)
def test_text_that_spells_a_control_token_is_told(kind: str) -> None:
    messages, options = HOSTILE[kind]
    chat = TOK.chat(messages, template=TEMPLATES["list of parts"], prompt=False, **options)
    assert [TOK.id_to_token(index) for index in chat.ids[chat.control]] == control(chat.ids)
    assert not (chat.control & chat.typed).any()
    spelled = {"user": 4, "assistant": 4, "in two parts": 1, "a role": 2}  # what the template shows of it
    typed = "".join(TOK.decode([index]) for index in chat.ids[chat.typed])
    assert sum(typed.count(name) for name in ("<|end|>", "<|assistant|>", "</s>", "<think>")) == spelled.get(kind, 0)
    assert not TOK.chat(FOUR).typed.any()


def test_text_that_spells_a_control_token_is_told_after_an_answer() -> None:
    chat = TOK.chat(said("<|end|>"))
    longer = chat.answered(TOK.encode("</s>"), {"role": "assistant", "content": "</s>"}).add(*said("</s>"))
    assert len(longer.typed) == len(longer.control) == len(longer)
    texts = ["".join(TOK.decode([index]) for index in part) for part in np.split(longer.ids, [len(chat)])]
    places = np.split(longer.typed, [len(chat)])
    assert TOK.decode(chat.ids[places[0]]) == "<|end|>"
    assert texts[1].count("</s>") == 2
    assert int(places[1].sum()) == len(TOK.encode("</s>"))  # what the model wrote is its own business


def test_the_template_of_a_chat_is_told() -> None:
    assert TOK.chat(said("x")).template == USUAL
    assert TOK.chat(said("x"), template=TEMPLATES["trim"]).template == TEMPLATES["trim"]


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("a\n{{ raise_exception('no') }}", "the chat template, line 2, refuses this conversation: no"),
        ("{% macro f(x) %}\n{{ x + 1 }}{% endmacro %}\n\n{{ f('a') }}", "line 2, fails with this conversation: Type"),
        ("\n\n{% for a in range(9) %}\n{{ 'a' * 999999999 }}{% endfor %}", "line 4, is stopped: it makes"),
        ("\n{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "line 2, is stopped: its calls"),
        (
            "{% set n = namespace(x='') %}\n{% for a in range(99999) %}{% set n.x = n.x ~ '<|x|>' ~ n.y %}{% endfor %}",
            "line 2, is stopped: it makes or reads more than",
        ),
        ("\n\n{% for %}", "invalid chat template, line 3: "),
    ],
)
def test_errors_of_a_template_name_its_line(template: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        TOK.chat(said("x"), template=template)
    assert f"line {caught.value.line}" in told  # type: ignore[attr-defined]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_tools_and_variables_own_their_text() -> None:
    chat = TOK.chat(
        said("x"), template="{{ tools | tojson }}<|end|>{{ z }}{{ messages[0].content }}", tools=[{"a": 1}], z="q"
    )
    end = chat.ids.tolist().index(TOK.token_to_id("<|end|>"))
    assert set(chat.owners[:end].tolist()) == {-2}
    assert chat.owners[end : end + 2].tolist() == [-1, -2]


@pytest.mark.parametrize(
    "name", ["usual", "concatenation", "tilde", "macro", "set block", "range", "join", "merged", "trim"]
)
def test_masks_need_no_marks(name: str) -> None:  # H4
    chat = TOK.chat(FOUR[:3], template=TEMPLATES[name], prompt=False)
    assert TOK.decode(chat.ids[chat.mask()]) == "Light.<|end|>"
    assert TOK.decode(chat.ids[chat.mask(start="turn")]).startswith("<|assistant|>")
    assert chat.mask_source == ("turns" if name in ("usual", "trim") else "owners")  # others have no prompt


def test_marks_win_and_the_line_can_be_in() -> None:
    marked = TOK.chat(FOUR[:3], template=TEMPLATES["generation"], prompt=False)
    assert (marked.mask_source, TOK.decode(marked.ids[marked.mask()])) == ("marks", "Light.<|end|>")
    chat = TOK.chat(FOUR[:3], prompt=False)
    assert TOK.decode(chat.ids[chat.mask(end="line")]) == "Light.<|end|>\n"


def test_a_prompt_in_the_text_is_no_reply() -> None:
    inside = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>"
        "{% if loop.last and add_generation_prompt %}<|assistant|>{% endif %}{% endfor %}"
    )
    chat = TOK.chat(FOUR[:3], template=inside)
    assert TOK.decode(chat.ids[chat.mask()]) == "Light.<|end|>"


def test_a_reply_that_the_template_leaves_out_has_no_mask() -> None:
    chat = TOK.chat(FOUR, template="{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}")
    with pytest.raises(InputError, match=r"messages\[2\] of the assistant is not in the rendered text"):
        chat.mask()


def test_many_conversations() -> None:
    rows = [FOUR[:3], {"messages": FOUR[:3], "tools": None}, said("a", "b" * 3000)] * 100
    batch = TOK.chats(rows, threads=2)
    for number in (0, 1, 2, 299):
        row: Any = rows[number]
        chat = TOK.chat(row["messages"] if isinstance(row, dict) else row, prompt=False)
        first, last = batch.tokens.offsets[number : number + 2]
        assert batch.tokens[number].tolist() == chat.ids.tolist()
        assert batch.mask[first:last].tolist() == chat.mask().tolist()
    assert len(TOK.chats([]).mask) == 0
    with pytest.raises(InputError, match=r"conversation 1: expected messages\[0\]"):
        TOK.chats([said("a"), [{"content": "x"}]])
    with pytest.raises(InputError, match="conversation 0: expected the keys messages, tools and documents, not 'text'"):
        TOK.chats([{"text": "x"}])


def test_threads_share_a_template() -> None:
    expected = [TOK.chat(said(f"x{k}", "<|end|>" * k)).ids.tolist() for k in range(16)]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(5):
            found = pool.map(lambda k: TOK.chat(said(f"x{k}", "<|end|>" * k)).ids.tolist(), range(16))
            assert [*found] == expected


# ---------------------------------------------------------------------------------------------------------------------
# Resume, answers.


def test_resume_ends_with_the_field() -> None:
    messages = [*FOUR, {"role": "assistant", "content": "It is, since", "reasoning_content": "hm"}]
    assert TOK.chat(messages, resume="content").text.endswith("<|assistant|>\nIt is, since")
    with_reasoning = TOK.chat(messages, resume="reasoning_content", template=TEMPLATES["reasoning"])
    assert with_reasoning.text.endswith("<think>hm")
    for field, message in (("content", {"role": "assistant", "content": ""}), ("name", messages[-1])):
        with pytest.raises(InputError, match="the template shows none"):
            TOK.chat([*FOUR, message], resume=field)
    with pytest.raises(InputError, match="prompt=True or resume="):
        TOK.chat(messages, resume="content", prompt=True)


END = TOK.token_to_id("<|end|>")


@pytest.mark.parametrize("end", [[END], []])
def test_an_answer_keeps_its_ids(end: list[int]) -> None:
    prompt = TOK.chat(FOUR)
    answer = [*map(TOK.token_to_id, "Yes")]  # one id per letter: no text is encoded so
    chat = prompt.answered([*answer, *end], {"role": "assistant", "content": "Yes"}).add(
        {"role": "user", "content": "x<|end|>"}
    )
    assert chat.ids[: len(prompt)].tolist() == prompt.ids.tolist()
    assert chat.ids[len(prompt) : len(prompt) + 4].tolist() == [*answer, END]
    whole = [*FOUR, {"role": "assistant", "content": "Yes"}, {"role": "user", "content": "x<|end|>"}]
    assert chat.text == TOK.chat(whole).text
    assert chat.drift in (len(prompt), len(prompt) + 1)  # "Yes" has fewer ids
    assert TOK.encode([*chat.parts]) == TOK.chat(whole).ids.tolist()
    assert TOK.decode(chat.ids[chat.mask()]) == "Light.<|end|>" + "Yes" + "<|end|>" * len(end)
    assert len(chat.owners) == len(chat.mask()) == len(chat)
    assert TOK.decode(chat.ids[slice(*chat.turns[5])]) == "<|user|>\nx<|end|><|end|>\n"
    with pytest.raises(InputError, match="do not apply after an answer"):
        chat.mask(end="line")


def test_answers_after_answers_are_the_whole_rendering() -> None:
    chat, messages = TOK.chat(FOUR), [*FOUR]
    for number in range(4):
        text = f" Reply {number}: \n"
        chat = chat.answered(
            TOK.encode_to_numpy("\n" + text)[1:] if number < 0 else TOK.encode(text),
            {"role": "assistant", "content": text},
        ).add({"role": "user", "content": f"and {number}"})
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"and {number}"}]
    assert chat.text == TOK.chat(messages).text
    assert chat.turns[-1] == (chat.turns[-1][0], len(chat) - 2)


@pytest.mark.parametrize("name", [*TEMPLATES, *STATEFUL])
def test_text_after_an_answer_is_that_of_the_whole_rendering(name: str) -> None:  # H6
    template = {**TEMPLATES, **STATEFUL}[name]
    texts = ("a", "<b>", " c ", "d\n", "e", "f", "g<|end|>", "h", "i", "j")
    for start in ([], [{"role": "system", "content": "Be kind."}]):
        messages, at = [*start, *said(*texts)], len(start) + 1
        chat = TOK.chat(messages[:at], template=template)
        for number in range(at, len(messages) - 1, 2):
            answer = messages[number]
            try:
                chat = chat.answered(TOK.encode([Text(answer["content"])]), answer).add(messages[number + 1])
            except InputError as error:  # no place is known where text may be added
                assert "where text may be added" in str(error)
                break
            whole = TOK.chat(messages[: number + 2], template=template)
            new = TOK.decode(chat.ids[chat.turns[number][1] :])
            assert new and whole.text.endswith(new)
            if name == "break" and number > 6:
                continue  # the new message is not in the text
            ends = [place for place, part in enumerate(whole.parts) if part == Special("<|end|>")]
            after = whole.owners[-len(TOK.encode([*whole.parts[ends[-2] + 1 :]])) :]
            assert chat.owners[-len(after) :].tolist() == after.tolist()


@pytest.mark.parametrize(
    ("name", "is_left_out"),
    [("usual", True), ("namespace", True), ("neighbours", True), ("numbers", True), ("changed", False)],
)
def test_a_long_conversation_is_not_rendered_again(name: str, is_left_out: bool) -> None:
    messages = [Record({"role": "user", "content": "x" * 100}, Owner(at, "", False), at) for at in range(100)]
    template = ChatTemplate({**TEMPLATES, **STATEFUL}[name])
    whole, short = ("".join(piece.text for piece in template.pieces({"messages": messages}, at)) for at in (0, 98))
    assert whole.endswith(short)
    assert (len(short) < len(whole) / 10) == is_left_out


def test_an_answer_after_resume() -> None:
    prompt = TOK.chat([*FOUR, {"role": "assistant", "content": "It is"}], resume="content")
    chat = prompt.answered(TOK.encode(" so"), {"role": "assistant", "content": "It is so"}).add(prompt=False)
    assert chat.text == TOK.chat([*FOUR, {"role": "assistant", "content": "It is so"}], prompt=False).text


USER = TOK.token_to_id("<|user|>")
NO_ENDS = (
    "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' if m.role != 'system' }}{{ m.content }}{% endfor %}"
    "{{ '<|assistant|>' if add_generation_prompt }}"
)


@pytest.mark.parametrize("end", [[USER], []])
def test_a_turn_without_an_end_ends_where_the_next_one_begins(end: list[int]) -> None:  # H6
    prompt = TOK.chat(FOUR, template=NO_ENDS)
    answer = [*map(TOK.token_to_id, "Yes")]
    chat = prompt.answered([*answer, *end], {"role": "assistant", "content": "Yes"}).add(
        {"role": "user", "content": "x<|user|>"}
    )
    whole = TOK.chat([*FOUR, *said("?", "Yes", "x<|user|>")[1:]], template=NO_ENDS)
    assert chat.ids[: len(prompt) + 4].tolist() == [*prompt.ids, *answer, USER]
    assert chat.text == whole.text
    assert TOK.decode(chat.ids[chat.mask()]) == TOK.decode(whole.ids[whole.mask()]) + "<|user|>" * len(end)
    assert [TOK.decode(chat.ids[slice(*turn)]) for turn in chat.turns[4:]] == [
        "Yes" + "<|user|>" * len(end),
        "<|user|>" * (not end) + "x<|user|>",
    ]
    with pytest.raises(InputError, match=r"the end of the turn of messages\[4\] or right after it"):
        prompt.answered(answer, {"role": "assistant", "content": "Yes"}).add(prompt=False)


def test_long_chats_know_who_wrote_what() -> None:
    chat, messages, kept = TOK.chat(FOUR), [*FOUR], list[Any]()
    for number in range(50):
        ids = TOK.encode(text := f"Reply {number}.", template=False)
        chat = chat.answered([*ids, END], {"role": "assistant", "content": text}).add(
            {"role": "user", "content": f"<|end|> {number}"}
        )
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"<|end|> {number}"}]
        kept.append(chat)
    for one, count in ((kept[9], 24), (chat, 104)):
        whole = TOK.chat(messages[:count])
        assert one.text == whole.text
        assert one.ids.tolist() == whole.ids.tolist()
        assert one.typed.tolist() == whole.typed.tolist()
        same = one.owners == whole.owners  # but for generation prompts, which were nobody's when they were written
        assert {*one.owners[~same].tolist()} == {-1}
        assert TOK.decode(one.ids[~same]) == "<|assistant|>\n" * (count - 4 >> 1)
        assert len(one.turns) == len(messages[:count])
        assert [TOK.decode(one.ids[slice(*turn)]) for turn in one.turns[5::2]] == [
            f"<|user|>\n{each['content']}<|end|>\n" for each in messages[5:count:2]
        ]
        said_by = TOK.decode(one.ids[one.mask()])
        assert said_by == "Light.<|end|>" + "".join(f"{each['content']}<|end|>" for each in messages[4:count:2])
    assert len(chat._last.before.chat.made.messages) == 1  # a chain keeps each message once


def test_answers_that_are_refused() -> None:
    with pytest.raises(InputError, match="expected a chat that ends with a prompt"):
        TOK.chat(FOUR, prompt=False).answered([5], {"role": "assistant", "content": "x"})
    with pytest.raises(InputError):
        TOK.chat(FOUR).answered([10**6], {"role": "assistant", "content": "x"})
    no_end = TOK.chat(FOUR, template="{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    with pytest.raises(InputError, match=r"expected a control token at the end of the turn of messages\[4\]"):
        no_end.answered([5], {"role": "assistant", "content": "x"}).add({"role": "user", "content": "y"})


# ---------------------------------------------------------------------------------------------------------------------
# Bad input, limits.

CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "at least one message"),
        ("hi", "expected messages as a list"),
        ({"role": "user"}, "expected messages as a list"),
        (["hi"], r"expected messages\[0\] as a dict"),
        ([{"content": "x"}], r'expected messages\[0\]\["role"\] as a str, not None'),
        ([{"role": 3}], r'expected messages\[0\]\["role"\] as a str, not 3'),
        ([{"role": "user", "content": "\ud800"}], r"messages\[0\]\['content'\].*lone surrogate"),
        ([{"role": "user", "\udfff": "x"}], "lone surrogate"),
        ([{"role": "user", "content": CYCLE}], "without cycles"),
        ([{"role": "user", "content": object()}], r"of JSON types .*, not object"),
        ([{"role": "user", "content": [{("a",): 1}]}], "keys of JSON"),
    ],
)
def test_messages_that_are_refused(messages: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        TOK.chat(messages)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tools": "x"}, "expected tools as a list"),
        ({"documents": ["x"]}, r"expected documents\[0\] as a dict"),
        ({"trusted": {"user": ["<x>"]}}, r"trusted\['user'\]: expected an added token"),
        ({"trusted": ["<s>"]}, "expected trusted as a dict"),
        ({"prompt": 1}, "expected prompt"),
        ({"resume": True}, "expected resume"),
        ({"template": 3}, "expected template"),
        ({"template": "{% for %}"}, "invalid chat template, line 1"),
        ({"add_generation_prompt": True}, "use prompt=True or prompt=False"),
        ({"template": "{{ sep_token + 'x' }}"}, r"with_\(roles=\{'sep': token\}\), or pass sep_token="),
        ({"template": "{{ raise_exception('no ' ~ messages[0].role) }}"}, "refuses this conversation: no user"),
        ({"template": "{{ messages[0].content + 1 }}"}, "fails with this conversation: TypeError"),
        ({"template": "{{ messages.__class__.__mro__ }}"}, "unsafe|undefined"),
        ({"template": "{{ messages.append(1) }}"}, "not safely callable|unsafe"),
        ({"template": "{{ namespace(_x=1) }}"}, "underscore"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        TOK.chat(said("x"), **options)


@pytest.mark.parametrize(
    ("message", "written", "told"),
    [
        (
            {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
            "{% for c in m.tool_calls or [] %}{{ c.function.arguments.items() | list }}{% endfor %}",
            'no attribute \'items\'; messages[1]["tool_calls"][0]["function"]["arguments"] is text, and this template '
            "takes a dict: use json.loads",
        ),
        (
            {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            "{% for c in m.tool_calls or [] %}{{ 'x' + c.function.arguments }}{% endfor %}",
            '["function"]["arguments"] is a dict, and this template takes text: use json.dumps',
        ),
        (
            {"content": "", "tool_calls": [{"name": "f", "arguments": {}}]},
            "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}",
            'messages[1]["tool_calls"][0] has no "function"',
        ),
        (
            {"content": None},
            "{{ m.content.strip() }}",
            'messages[1] has no "content", or it is None: pass "content": ""',
        ),
        (
            {"content": [{"type": "text", "text": "x"}]},
            "{{ m.content.strip() }}",
            'messages[1]["content"] is a list of parts, and this template takes text',
        ),
        (
            {"content": "x"},
            "{% for p in m.content if m.role == 'assistant' %}{{ p.text + '' }}{% endfor %}",
            '["content"] is text, and this template takes a list of parts: {"type": "text", "text": ...}',
        ),
    ],
)
def test_another_shape_of_messages_is_advised(message: Any, written: str, told: str) -> None:
    template = f"{{% for m in messages %}}{written}{{% endfor %}}{{{{ add_generation_prompt }}}}"
    talk = [*said("x"), {"role": "assistant", **message}]
    with pytest.raises(InputError, match=re.escape(told)):
        TOK.chat(talk, template=template)


def test_an_error_that_no_other_shape_mends_has_no_advice() -> None:
    for template in ("{{ messages[0].content.x.y }}", "{{ raise_exception('no') }}", "{{ 'a' * 999999999 }}"):
        with pytest.raises(InputError) as caught:
            TOK.chat(said("x"), template=template)
        assert "takes" not in str(caught.value) and "pass" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "<|assistant|>\n"])
def test_a_prompt_that_the_template_ignores_is_told(end: str) -> None:
    template = USUAL.partition("{% if")[0] + end
    for prompt in (None, True, False):
        if prompt is False if end else prompt is not False:
            with pytest.warns(subwords.SubwordsWarning, match="the chat template does not read add_generation_prompt"):
                TOK.chat(FOUR, prompt=prompt, template=template)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                TOK.chat(FOUR, prompt=prompt, template=template)
    with warnings.catch_warnings():  # no text comes before a reply: there is no prompt to miss
        warnings.simplefilter("error")
        whole = "{% for m in messages %}{{ m.content + ('<|end|>' if m.role != 'assistant' else '</s>') }}{% endfor %}"
        TOK.chat(FOUR, template=whole)


def test_messages_are_counted_with_the_options_of_chat() -> None:
    tok = chatting(template=TEMPLATES["tools"])
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    for options in ({}, {"tools": tools}, {"documents": [{"title": "a", "text": "b"}]}, {"x": 1}, {"prompt": False}):
        assert tok.count_tokens(FOUR, **options) == len(tok.chat(FOUR, **options))
    for text in ("ab", ["ab"]):
        with pytest.raises(InputError, match="tools is an option of `chat`: expected a list of messages"):
            tok.count_tokens(text, tools=tools)


# Each would make 10 GB or more: no memory is taken for what is too large.
HUGE = (
    *(f"('a' | safe).{call}(9999999999)" for call in ("center", "ljust", "rjust", "zfill")),
    *("('a\t' | safe).expandtabs(9999999999)", "('%9999999999d' | safe) % 1"),
    *(f"(('a' * 99999){safe}).translate({{97: 'b' * 999999}})" for safe in ("", " | safe")),
    *(f"(('a' * 99999){safe}).replace('a', 'b' * 999999)" for safe in ("", " | safe")),
    *(f"(('a' * 999999){safe}).join(['b'] * 99999)" for safe in ("", " | safe")),
    "('' | safe).join(['b' * 999999] * 99999)",
    *("('a\n' * 99999) | indent('b' * 999999)", "('a ' * 99999) | wordwrap(1, wrapstring='b' * 999999)"),
    *(f"[['b' * 9999] * 9999999] | {name}" for name in ("upper", "pprint", "e", "replace('x', 'y')", "wordcount")),
    "('a' * 60000000) | list",
)


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set ns = namespace(x='ab') %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=9) %}{% for a in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% set ns = namespace(x=['a']) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
        "{{ ns.x | tojson }}",
        "{% for a in range(99999) %}{{ messages[0].content * 99999 }}{% endfor %}",
        "{% set ns = namespace(x='') %}{% for a in range(99) %}{% set ns.x = ns.x ~ messages[0].content ~ ',' ~ ns.x %}"
        "{% endfor %}",
        *("{{ 'a' * 999999999 }}", "{{ [1] * 99999999999 }}", "{{ 9 ** (9 ** 9) }}", "{{ 'a'.center(999999999) }}"),
        *("{{ '%999999999d' % 1 }}", "{{ '{:999999999}'.format(1) }}", "{{ '{:{}}'.format(1, 999999999) }}"),
        *(
            "{{ 'a\nb' | indent(999999999) }}",
            "{{ [1] | batch(999999999, 0) | list }}",
            "{{ ('{0}' * 99999).format('a' * 9999999) }}",
        ),
        *(
            "{{ 'a'.ljust(999999999) }}",
            "{{ 'a\tb'.expandtabs(999999999) }}",
            "{{ ('ab' * 9999999).replace('a', 'b' * 99) }}",
        ),
        *(
            "{{ (['a' * 99999] * 99999) | join }}",
            "{{ ([[1] * 9999] * 99999) | sum(start=[]) }}",
            "{{ '%*d' % (1, 2) }}",
        ),
        *(f"{{% set x = {call} %}}" for call in HUGE),
    ],
)
def test_templates_that_make_too_much_are_stopped(template: str) -> None:  # H5
    with pytest.raises(InputError, match=r"^the chat template(, line [12],)? is stopped: "):
        TOK.chat(said("x"), template=template)


def test_bytes_of_integers_cannot_be_made() -> None:  # H5
    with pytest.raises(InputError, match="access to attribute 'to_bytes' of 'int' object is unsafe"):
        TOK.chat(said("x"), template="{{ (5).to_bytes(999999999) }}")


def no_doc(x: int) -> None: ...


def no_type(x) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        x: X.
    """


def no_line(x: int) -> None:
    """Do it."""


def no_json(x: Text) -> None:
    """Do it.

    Args:
        x: X.
    """


@pytest.mark.parametrize("function", [no_doc, no_type, no_line, no_json])
def test_functions_that_are_no_tools(function: Any) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=r"tools\[0\] as a dict, or with types and a Google docstring"):
        TOK.chat(said("x"), tools=[function])


def test_a_long_conversation() -> None:
    messages = said(*["x"] * 5_000)
    chat = TOK.chat(messages, prompt=False)
    assert int(chat.mask().sum()) == 2 * 2_500
    assert len(chat.turns) == 5_000


def test_without_a_template() -> None:
    with pytest.raises(InputError, match="this tokenizer has no chat template: store one, "):
        subwords.load("demo").chat(said("x"))


def test_without_jinja() -> None:
    program = (
        "import sys, subwords\nassert 'jinja2' not in sys.modules\nsys.modules['jinja2'] = None\n"
        "try: subwords.load('demo').chat([{'role': 'user'}], template='x')\n"
        "except subwords.InputError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("chat templates need the package jinja2: ")


def test_reprs() -> None:
    chat = TOK.chat(FOUR)
    assert repr(chat) == f"Chat(4 messages, {len(chat)} ids)"
    assert repr(chat.answered([5], {"role": "assistant"})) == f"Answered(5 messages, {len(chat) + 1} ids)"
