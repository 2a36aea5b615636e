"""The way back from ids to a message: the public surface of replies (ALGORITHMS.md, H7)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chatting import MODELS, chatting, said, talking
from replies import joined, tagged, written_and_read
from seeds import sweep_seed
from subwords import InputError, Special, Text, Tokenizer

TOK = chatting()
HEAD = "{% for m in messages %}<|{{ m.role }}|>\n{% if m.role == 'assistant' %}"
THINKS = "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"
TAIL = "{% else %}{{ m.content }}{% endif %}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n"
CALLED = '<|call|>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}<|tool|>'
EACH = "<|call|>{{ c.function.name }}<|tool|>{% for k, v in c.function.arguments.items() %}{{ k }}=" + (
    "{{ v | tojson }}<|tool|>{% endfor %}<|user|>"
)
TAGS = "<call={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<arg={{ k }}>" + (
    "{{ v if v is string else v | tojson }}</arg>{% endfor %}</call>"
)


def calling(call: str, prompt: str = "") -> str:
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    return HEAD + THINKS + calls + TAIL + prompt + "{% endif %}"


TEMPLATES = {
    "json": calling(CALLED),
    "each": calling(EACH),
    "thinking prompt": calling(CALLED, "<think>\n"),
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}
QUESTION = said("Why?")


def call(**arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "weather", "arguments": arguments}}


def answer(content: str = "", reasoning: str = "", *calls: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"role": "assistant", "content": content}
    return found | ({"reasoning_content": reasoning} if reasoning else {}) | ({"tool_calls": [*calls]} if calls else {})


def written(template: str, message: dict[str, Any], tok: Tokenizer = TOK) -> list[int]:
    """The ids that a model writes for a message, up to its end token."""
    chat = tok.chat([*QUESTION, message], tools=[WEATHER], template=template, prompt=False)
    start = len(tok.chat(QUESTION, tools=[WEATHER], template=template))
    end = tok.token_to_id("<|end|>")
    return chat.ids.tolist()[start : max(at for at, index in enumerate(chat.ids.tolist()) if index == end) + 1]


def ids_of(*parts: str) -> list[int]:
    """Ids of parts: those in <|...|> and the thinking tags are control tokens, all others are text."""
    control = {token.content for token in TOK.added_tokens}
    return TOK.encode([Special(part) if part in control else Text(part) for part in parts])


def read(ids: list[int], template: str, cuts: list[int] | None = None, **options: Any) -> Any:
    reply = TOK.chat(QUESTION, tools=[WEATHER], template=template).reply()
    events = []
    bounds = [0, *sorted(cuts or []), len(ids)]
    for start, stop in pairwise(bounds):
        events += reply.feed(ids[start:stop])
    return reply, joined([*events, *reply.finish(**options)])


def test_a_reply_becomes_events_and_a_message() -> None:
    message = answer("See:", "hm", call(city="Zürich"), call(city="Oslo", days=2))
    reply, events = read(written(TEMPLATES["json"], message), TEMPLATES["json"])
    assert (reply.status, reply.message, reply.open) == ("exact", message, None)
    assert events == [
        ("reasoning", None, "hm"),
        ("content", None, "See:"),
        ("name", 0, "weather"),
        ("arguments", 0, '{"city": "Zürich"}'),
        ("name", 1, "weather"),
        ("arguments", 1, '{"city": "Oslo", "days": 2}'),
    ]


def test_arguments_one_by_one() -> None:
    message = answer("", "", call(city="Oslo", days=2))
    reply, events = read(written(TEMPLATES["each"], message), TEMPLATES["each"])
    assert (reply.status, reply.message) == ("exact", message)
    assert events[1:] == [("key", 0, "city"), ("value", 0, '"Oslo"'), ("key", 0, "days"), ("value", 0, "2")]


def test_a_call_that_is_only_quoted_is_content() -> None:  # H7
    quoted = "The docs: <|call|>" + '{"name": "weather", "arguments": {"city": "Oslo"}}<|tool|> is a call'
    reply, events = read(ids_of(quoted, "<|end|>"), TEMPLATES["json"])
    assert reply.status == "exact"
    assert reply.message == answer(quoted)
    assert events == [("content", None, quoted)]


def test_typed_tags_end_nothing() -> None:
    ids = ids_of("<think>", "\nthe tag </think> ends it\n", "</think>", "\n\nyes <|end|>", "<|end|>")
    reply, _ = read(ids, TEMPLATES["json"])
    assert (reply.status, reply.message) == ("exact", answer("yes <|end|>", "the tag </think> ends it"))


def test_text_tags_are_chosen_the_earliest_first() -> None:
    template = calling(TAGS)
    reply, _ = read(ids_of("<call=weather><arg=city>a</arg><arg=days>2</arg></call>", "<|end|>"), template)
    assert reply.status == "chosen"
    assert reply.message == answer("", "", call(city="a", days=2))
    reply, _ = read(ids_of("plain <b>text</b>", "<|end|>"), template)
    assert (reply.status, reply.message) == ("exact", answer("plain <b>text</b>"))


def test_a_cut_call_is_open() -> None:
    template = TEMPLATES["json"]
    ids = written(template, answer("See:", "", call(city="Zürich"), call(city="Oslo")))
    whole = len(written(template, answer("See:", "", call(city="Zürich")))) - 1
    reply, events = read(ids[: whole + 22], template)
    assert reply.status == "partial" and reply.message == answer("See:", "", call(city="Zürich"))
    assert reply.open is not None and '{"city": "Zürich"}' not in reply.open.arguments
    assert events[-1][:2] in (("arguments", 1), ("name", 1), ("arguments", 0))
    with pytest.raises(InputError, match="another"):
        reply.feed(ids)


def test_malformed_answers_lose_nothing() -> None:
    template = TEMPLATES["json"]
    reply, _ = read(ids_of("a", "<|call|>", "no JSON", "<|tool|>", "b", "<|end|>"), template)
    assert (reply.status, reply.message["content"]) == ("partial", "a<|call|>no JSON<|tool|>b")
    reply, _ = read(ids_of("<|call|>", '{"name": "weather", "arguments": {city: 1}}', "<|tool|>", "<|end|>"), template)
    assert reply.status == "partial" and "tool_calls" not in reply.message
    assert reply.open == ("weather", "{city: 1}")


def test_an_object_that_is_no_call_is_open() -> None:
    reply, _ = read(of_model(f"<|call|>\n{SWAPPED}\n<|tool|><|end|>".replace("weather", "a b")), QWEN)
    assert (reply.status, reply.message) == ("partial", answer("\n<|tool|>"))
    assert reply.open == ("", SWAPPED.replace("weather", "a b"))


@pytest.mark.parametrize("ending", [["<|end|>"], []])
def test_the_end_token_may_be_taken_off(ending: list[str]) -> None:
    ids = ids_of("light", *ending)
    assert read(ids, TEMPLATES["json"], stopped=True)[0].status == "exact"
    assert read(ids, TEMPLATES["json"])[0].status == ("exact" if ending else "partial")


def test_spaces_in_json_are_repaired() -> None:
    ids = ids_of("<|call|>", '{"name": "weather", "arguments": {"city":"Oslo"}}', "<|tool|>", "<|end|>")
    reply, _ = read(ids, TEMPLATES["json"])
    assert (reply.status, reply.message) == ("repaired", answer("", "", call(city="Oslo")))


def test_a_chat_goes_on_after_a_reply() -> None:
    tok = TOK.with_(chat_template=TEMPLATES["json"])
    chat = tok.chat(QUESTION, tools=[WEATHER])
    reply, message = chat.reply(), answer("", "hm", call(city="Oslo"))
    with pytest.raises(InputError, match="not finished"):
        chat.answered(reply)
    ids = written(TEMPLATES["json"], message, tok)
    reply.feed(ids)
    assert reply.finish() == []
    result = {"role": "tool", "content": "21"}
    longer = chat.answered(reply).add(result)
    assert longer.ids.tolist() == chat.answered(ids, message).add(result).ids.tolist()
    assert longer.ids.tolist() == tok.chat([*QUESTION, reply.message, result], tools=[WEATHER]).ids.tolist()
    again = longer.reply()
    again.feed(ids_of("Warm.", "<|end|>"))
    again.finish()
    assert (again.status, again.message) == ("exact", answer("Warm."))
    with pytest.raises(InputError, match="message too"):
        chat.answered(ids)


QWEN = calling(
    "{{ '\n' if not loop.first or m.content }}<|call|>{{ '\n' }}"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}{{ "\n" }}<|tool|>'
)
OSLO = '<|call|>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n<|tool|>'
CALL = answer("", "", call(city="Oslo"))
SWAPPED = '{"arguments": {"city": "Oslo"}, "name": "weather"}'
NESTED = r'{"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}'
# What a model writes, control tokens as they are spelled, but for what is in [[...]], which is text; and what is read.
DEVIATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no end token": ("Hi.", "partial", answer("Hi.")),
    "typed tag": ("Use [[<|call|>]].<|end|>", "exact", answer("Use <|call|>.")),
    "whole call as text": (f"See [[{OSLO}]].<|end|>", "exact", answer(f"See {OSLO}.")),
    "tag as token in content": ("Use <|call|> tags.<|end|>", "partial", answer("Use <|call|> tags.")),
    "other newlines": ("<think>hm.</think>\nYes.<|end|>", "repaired", answer("Yes.", "hm.")),
    "reasoning is cut": ("<think>\nhm", "partial", answer("", "hm")),
    "typed end of reasoning": (
        "<think>\na [[</think>]] b\n</think>\n\nYes.<|end|>",
        "exact",
        answer("Yes.", "a </think> b"),
    ),
    "no newline between calls": (f"{OSLO}{OSLO}<|end|>", "repaired", answer("", "", *CALL["tool_calls"] * 2)),
    "text after a call": (f"See:\n{OSLO}\nDone.<|end|>", "repaired", CALL | {"content": "See:\nDone."}),
    "no newlines in a call": (f"{OSLO}<|end|>".replace("\n", ""), "repaired", CALL),
    "compact JSON": (f"{OSLO}<|end|>".replace(": ", ":").replace(", ", ","), "repaired", CALL),
    "spaces in JSON": (f"{OSLO}<|end|>".replace(": ", " :  "), "repaired", CALL),
    "spaces before the name": (f"{OSLO}<|end|>".replace('"weather', '" weather'), "repaired", CALL),
    "keys in other order": (f"<|call|>\n{SWAPPED}\n<|tool|><|end|>", "repaired", CALL),
    "arguments as text": (f"<|call|>\n{NESTED}\n<|tool|><|end|>", "repaired", CALL),
    "end typed in an argument": (
        f"{OSLO}<|end|>".replace("Oslo", "a [[<|tool|>]] b"),
        "exact",
        answer("", "", call(city="a <|tool|> b")),
    ),
    "end as token in an argument": (
        f"{OSLO}<|end|>".replace("Oslo", "a <|tool|> b"),
        "repaired",
        answer("", "", call(city="a <|tool|> b")),
    ),
    "second call is cut": (f'{OSLO}\n<|call|>\n{{"name": "wea', "partial", CALL),
    "no tag after a call": (OSLO.removesuffix("\n<|tool|>") + "<|end|>", "repaired", CALL),
    "quoted in reasoning": (
        f"<think>\nI call {OSLO}\n</think>\n\nYes.<|end|>",
        "repaired",
        answer("Yes.", f"I call {OSLO}"),
    ),
    "call before reasoning ends": (f"<think>\nhm\n{OSLO}<|end|>", "repaired", CALL | {"reasoning_content": "hm"}),
    "invalid JSON": (f"See:\n{OSLO}<|end|>".replace('"Oslo"', "Oslo"), "partial", answer("See:}\n<|tool|>")),
    "escapes": (f"{OSLO}<|end|>".replace("Oslo", r"Z\u00fcrich"), "repaired", answer("", "", call(city="Zürich"))),
}


def of_model(text: str) -> list[int]:
    found = list[Text | Special]()
    for number, segment in enumerate(re.split(r"\[\[|\]\]", text)):
        parts = [segment] if number % 2 else re.split(r"(<\|\w+\|>|</?think>)", segment)
        found += [Text(part) if number % 2 or at % 2 == 0 else Special(part) for at, part in enumerate(parts) if part]
    return TOK.encode(found)


@pytest.mark.parametrize("name", DEVIATIONS)
def test_what_models_write_besides_their_template(name: str) -> None:  # H7
    text, status, message = DEVIATIONS[name]
    ids = of_model(text)
    reply, events = read(ids, QWEN)
    assert (reply.status, reply.message) == (status, message)
    for cut in range(len(ids)):
        assert read(ids, QWEN, [cut])[1] == events
    told, names = ([text for kind, _, text in events if kind == "name"], [*names_of(message)])
    assert told[: len(names)] == names and len(told) - len(names) <= (reply.open is not None)
    for kind, field in (("content", "content"), ("reasoning", "reasoning_content")):
        assert "".join(text for told_, _, text in events if told_ == kind) == message.get(field, "")


def names_of(message: dict[str, Any]) -> Iterator[str]:
    return (each["function"]["name"] for each in message.get("tool_calls", ()))


CUT = HEAD + "{{ m.content.split('</think>')[-1] }}" + TAIL


@pytest.mark.parametrize(("prompt", "written"), [("<think>\n", "hm"), ("", "<think>\nhm"), ("<think>", "\nhm")])
def test_reasoning_that_the_template_leaves_out(prompt: str, written: str) -> None:  # H7
    template = f"{CUT}{prompt}{{% endif %}}"
    reply, events = read(of_model(f"{written}\n</think>\n\nYes.<|end|>"), template)
    assert (reply.status, reply.message) == ("repaired", answer("Yes.", "hm"))
    assert events == [("reasoning", None, "hm"), ("content", None, "Yes.")]
    found = TOK.reply_format(template=template)
    assert (found.cut, found.reasoning) == ("</think>", False)
    assert "</think> ends it" in str(found)


def test_reasoning_that_is_left_out_by_a_tag_that_is_text() -> None:  # H7
    shown = "{{ m.content if m.tool_calls else m.content.split('</why>')[-1] }}"
    template = calling(CALLED).replace(THINKS, shown)
    written = [
        "<why>\nhm\n</why>\n\nYes.",
        "<|call|>",
        '{"name": "weather", "arguments": {"city": "Oslo"}}',
        "<|tool|>",
    ]
    reply, _ = read(ids_of(*written, "<|end|>"), template)
    assert (reply.status, reply.message) == ("repaired", CALL | {"content": "Yes.", "reasoning_content": "hm"})


BARE = (
    "{% macro value(v) %}{% if v is string %}<s>{{ v }}<s>{% elif v is mapping %}{{ '{' }}{% for k, w in v.items() %}"
    "{{ k }}:{{ value(w) }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}{% elif v is sequence %}[{% for w in v %}"
    "{{ value(w) }}{{ ',' if not loop.last }}{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}"
)


VALUES = BARE + calling(
    "<|call|>{{ c.function.name }}{% for k, v in c.function.arguments.items() %},{{ k }}:{{ value(v) }}"
    "{% endfor %}<|tool|>"
)


def test_values_with_texts_between_control_tokens() -> None:  # as Gemma 4 writes them
    message = answer("", "", call(city='"O" \\', days=[{"a": "b,c:", 'é"': None}, True, 1.5]))
    ids = written(VALUES, message)
    reply, events = read(ids, VALUES)
    assert (reply.status, reply.message) == ("exact", message)
    assert events == read(ids, VALUES, [*range(len(ids))])[1]
    assert events[-1] == ("value", 0, '[{"a":"b,c:","é\\"":null},true,1.5]')


def test_schemas_decide_whether_digits_are_a_number() -> None:  # the template writes both the same
    reply, _ = read(written(calling(TAGS), answer("", "", call(city="7", days=7))), calling(TAGS))
    assert (reply.status, reply.message) == ("chosen", answer("", "", call(city="7", days=7)))


def test_content_as_parts() -> None:
    template = "{% for m in messages %}<|{{ m.role }}|>\n{% for p in m.content %}{{ p.text }}{% endfor %}<|end|>\n"
    template += "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    question = [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]
    chat = TOK.chat(question, template=template)
    reply = chat.reply()
    events = reply.feed(ids_of("Yes.", "<|end|>"))
    reply.finish()
    assert "".join(event.text for event in events) == "Yes."
    assert (reply.status, reply.message["content"]) == ("exact", [{"type": "text", "text": "Yes."}])
    longer = chat.answered(reply).add(*question)
    assert longer.ids.tolist() == TOK.chat([*question, reply.message, *question], template=template).ids.tolist()


def test_the_earliest_tag_counts() -> None:
    template = calling(TAGS)
    ids = ids_of("See:<call=weather><arg=city>a</arg> b</arg></call>", "<|end|>")
    found = {}
    for commit in ("certain", "earliest"):
        reply = TOK.chat(QUESTION, tools=[WEATHER], template=template).reply(commit=commit)  # type: ignore[arg-type]
        told = [event.text for each in ids[:-1] for event in reply.feed([each])]
        reply.feed(ids[-1:])
        reply.finish()
        found[commit] = reply.status, "".join(told)
    assert found["certain"] == ("chosen", "See:")
    assert found["earliest"] == ("chosen", "See:weathercitya</arg> b")
    with pytest.raises(InputError, match="earliest"):
        TOK.chat(QUESTION, template=template).reply(commit="first")  # type: ignore[arg-type]


REFUSED = {
    "hidden": ("{% for m in messages %}<|{{ m.role }}|>{% endfor %}", "shows no content"),
    "hidden reasoning": (
        TEMPLATES["json"].replace("<think>", "").replace("</think>", "") + "<think>",
        "not how a turn",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_back_is_refused_before_the_model_runs(name: str) -> None:
    template, told = REFUSED[name]
    with pytest.raises(InputError, match=told):
        TOK.chat(QUESTION, template=template).reply()


def test_a_chat_without_a_prompt_has_no_reply() -> None:
    with pytest.raises(InputError, match="prompt=True"):
        TOK.chat(QUESTION, prompt=False).reply()


def test_the_format_is_a_table() -> None:
    found = TOK.reply_format(template=TEMPLATES["json"])
    assert (found.reasoning, found.tools, found.arguments, found.changes) == (True, True, "dict", ())
    assert ("reasoning", "\n</think>\n\n", "content") in found.steps
    assert "| comes" in found.to_markdown()
    cut = HEAD + "{{ m.content.split('</think>')[-1] }}" + TAIL + "{% endif %}"
    assert TOK.reply_format(template=cut).changes == ("</think>",)
    assert "spells one of these: </think>" in str(TOK.reply_format(template=cut))


PIECES = [*"ab \n<>{}=\"'é", "</think>", "<|end|>", "<|call|>", '"}', "</call>"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
CALLS = st.lists(st.fixed_dictionaries({}, optional={"city": TEXTS, "days": st.integers()}), max_size=3)


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, CALLS, st.lists(st.integers(0, 60), max_size=3))
def test_replies_are_read_back_however_they_come(
    name: str, content: str, reasoning: str, calls: list[Any], cuts: list[int]
) -> None:  # H7
    template = TEMPLATES[name]
    if name == "thinking prompt":
        reasoning = reasoning or "x"
    message = answer(content, reasoning, *(call(**each) for each in calls))
    prompt, whole = (
        TOK.chat(said_, tools=[WEATHER], template=template, prompt=said_ is QUESTION).ids.tolist()
        for said_ in (QUESTION, [*QUESTION, message])
    )
    assume(whole[: len(prompt)] == prompt)  # a blank may be one id with the end of the prompt
    ids = written(template, message)
    cuts = [cut for cut in cuts if cut < len(ids)]
    reply, events = read(ids, template, cuts)
    assert reply.message == message
    assert reply.status == "exact"
    assert read(ids, template, [*range(len(ids))])[1] == events
    assert "".join(text for kind, _, text in events if kind == "content") == content
    again = TOK.chat([*QUESTION, reply.message], tools=[WEATHER], template=template, prompt=False)
    assert again.ids.tolist() == whole


WRITTEN = {
    "json": TEMPLATES["json"],
    "qwen": QWEN,
    "each": TEMPLATES["each"],
    "tags": calling(TAGS),
    "cut": CUT + "{% endif %}",
    "cut prompt": CUT + "<think>\n{% endif %}",
    "bare": VALUES,
}
TOKENS = ["<|call|>", "<|tool|>", "<think>", "</think>", "<|end|>", "<s>", "<|user|>"]
TEXTS_BETWEEN = [
    '{"name": "',
    '", "arguments": ',
    '{"city":"Oslo"}',
    SWAPPED,
    "{}",
    "}",
    "\n",
    " ",
    "a",
    "weather",
    ",",
]
TAGS_BETWEEN = ["<call=", "<arg=", ">", "</arg>", "</call>", "city:", "[1,", "]"]


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(TOKENS + TEXTS_BETWEEN + TAGS_BETWEEN), max_size=14),
    st.lists(st.integers(0, 30), max_size=3),
    st.booleans(),
)
def test_whatever_a_model_writes_is_read_the_same_in_all_pieces(
    name: str, parts: list[str], cuts: list[int], stopped: bool
) -> None:  # H7
    ids, template = ids_of(*parts) if parts else [], WRITTEN[name]
    reply, events = read(ids, template, [cut for cut in cuts if cut < len(ids)], stopped=stopped)
    other, others = read(ids, template, [*range(len(ids))], stopped=stopped)
    assert (reply.message, reply.status, reply.open, events) == (other.message, other.status, other.open, others)
    for kind, field in (("content", "content"), ("reasoning", "reasoning_content")):
        assert "".join(text for kind_, _, text in events if kind_ == kind) == reply.message.get(field, "")
    told, names = [text for kind, _, text in events if kind == "name"], [*names_of(reply.message)]
    assert told[: len(names)] == names and len(told) - len(names) <= (reply.open is not None)
    if reply.status == "exact":
        assert TOK.chat([*QUESTION, reply.message], tools=[WEATHER], template=template, prompt=False)


def test_reasoning_quotes_no_tag_that_closes_it() -> None:  # H7
    reply, _ = read(ids_of("<think>", "</think>", "<|user|>"), WRITTEN["bare"])
    assert (reply.status, reply.message) == ("partial", {"role": "assistant", "content": "<think></think><|user|>"})


@pytest.mark.parametrize("name", MODELS)
def test_templates_of_models(name: str) -> None:
    tok = talking()
    found = tok.reply_format(template=MODELS[name])
    options: dict[str, Any] = {"template": MODELS[name], "tools": [WEATHER] if found.tools else None}
    message = answer("See: <b>", "hm" if found.reasoning else "")
    chat = tok.chat(QUESTION, **options)
    whole = tok.chat([*QUESTION, message], **options, prompt=False)
    assert whole.ids.tolist()[: len(chat)] == chat.ids.tolist()
    reply = chat.reply()
    reply.feed(whole.ids[len(chat) : whole.turns[-1][1]])
    reply.finish()
    assert (reply.status, reply.message) == ("exact", message)


def test_hostile_replies_are_read_in_the_end() -> None:
    template = calling(TAGS)
    reply, _ = read(ids_of("<call=weather>" + "<arg=a>b</arg></call><call=a>" * 400, "<|end|>"), template)
    assert reply.status != "exact"
    reply, _ = read(ids_of("<|call|>", '{"name": "weather", "arguments": ' + "[" * 2000, "<|end|>"), TEMPLATES["json"])
    assert reply.status == "partial" and json.dumps(reply.message)


@pytest.mark.rotating(2)
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("as_tokens", [True, False])
def test_random_answers_of_real_templates(shared_data: Path, as_tokens: bool) -> None:  # H7
    seed = sweep_seed()
    files = sorted((shared_data / "chat_templates").glob("*.jinja"))[seed % 19 :: 19]
    tok, counts = tagged(shared_data, as_tokens=as_tokens), Counter[str]()
    for file in files:
        with suppress(InputError):  # refused
            counts += written_and_read(tok, file.read_text("utf-8"), 6, seed, splits=5)
    assert counts["exact right"] > 20, counts
    wrong = [counts[each] for each in ("exact wrong", "exact stripped", "contradicted", "splits that differ")]
    assert not any(wrong), counts
