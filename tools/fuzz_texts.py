"""Targets of tools/fuzz.py: patterns, templates, chats, texts and ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools.fuzz_inputs import TOKENIZERS, Given, check, check_spans, tokenizer, trained

# ------------------------------------------------------------------ patterns, templates, chats

LETTERS = "aAbBzZ09 \n\r\t'_-.éßſKİσΣक्\u0301中😀ⅣǅǄ\x85\u2028"
PATTERN = (
    *(r"\p{L}", r"\P{N}", r"\p{Lu}", r"\p{Han}", r"\s", r"\S", r"\w", r"\d", r"\b", r"\B", r"\A", r"\z", r"\R", r"\X"),
    *(
        "(?:",
        "(?i:",
        "(?=",
        "(?!",
        "(?<=",
        "(?<!",
        "(?>",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "*?",
        "++",
        "{1,3}",
        "{2}",
        "{,2}",
    ),
    *(
        "[",
        "[^",
        "]",
        "&&",
        "--",
        "a-z",
        "^",
        "$",
        ".",
        "a",
        "b",
        "'",
        " ",
        r"\1",
        r"\x{e9}",
        r"\u0301",
        "é",
        "ß",
        "[:alpha:]",
    ),
    *(
        "\0",
        "\0a",
        "\0b ",
        r"\n",
        r"[\r\n]",
        r"\-",
        "#",
        "(?x)",
        "(?s).",
        "(?m)^",
        "(?i)k",
        "σ",
        r"\N{2}",
        r"\k<a>",
        "(?<a>",
    ),
)


def pattern_of(data: bytes) -> None:
    """A pattern, NUL and a text over some letters: the words are those of the reference, which uses `regex`."""
    import regex

    from subwords import SubwordsError
    from subwords.reference.pattern import segments
    from subwords.spec.splitter import Split
    from subwords.split.splitter import Splitter

    pattern, *texts = data.decode("utf-8", "ignore").split("\0")
    text = "".join(LETTERS[ord(char) % len(LETTERS)] for char in "".join(texts)[:14]) or "aB 09\n'é"
    try:
        found = Splitter((Split(pattern),)).split(text)
    except SubwordsError:
        return
    check("".join(found) == text, f"{pattern!r} makes {found!r} of {text!r}")
    if "[:" in pattern:
        return  # [[:alpha:]] is ASCII here, as for tiktoken
    try:
        wanted = [text[start:stop] for start, stop, _ in segments(text, pattern, "isolated", False, 0.5)]
    except (regex.error, TimeoutError, RecursionError, OverflowError):
        return
    if found != [word for word in wanted if word]:
        # `regex` 2026.11 reads [^\d\D] as any character, and && in its own way: tiktoken decides.
        covered = f"(?:{pattern})|(?s:.)"
        try:
            wanted = words_of_tiktoken(covered, text)
            found = Splitter((Split(covered),)).split(text)
        except (SubwordsError, ValueError):
            return  # a flag or a comment takes the bracket, or tiktoken refuses the pattern
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                return  # of tiktoken, for an empty match
            raise
        check(found == wanted, f"{covered!r} makes {found!r} of {text!r}, not {wanted!r}")


def words_of_tiktoken(pattern: str, text: str) -> list[str]:
    """The words of a short text: every string in it is a token, so that each word is one."""
    import tiktoken

    data = text.encode()
    parts = {data[a:b] for a in range(len(data)) for b in range(a + 2, len(data) + 1)}
    tokens = [*(bytes([byte]) for byte in range(256)), *sorted(parts, key=lambda part: (len(part), part))]
    encoding = tiktoken.Encoding(
        "words", pat_str=pattern, mergeable_ranks={token: k for k, token in enumerate(tokens)}, special_tokens={}
    )
    return [tokens[token].decode() for token in encoding.encode_ordinary(text)]


def patterns() -> Iterator[bytes]:
    for text in (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s+(?!\S)|\s+",
        r"(?<=[a-z])(?=[A-Z])|\b\w+\b|[\u4e00-\u9fff]",
        r"(a|ab)*?c{2,5}|(?!x)y$|^z|[[:alpha:]&&[^aeiou]]",
        r"(?i)ss|K|(\w)\1|\d{1,3}(?=(?:\d{3})*\b)",
    ):
        yield text.encode() + b"\0aB 09"


@cache
def _chatting() -> Any:
    return tokenizer(0).with_tokens(["<|user|>", "<|assistant|>", "<|end|>"])


def template(data: bytes) -> None:
    """A chat template: nothing that a caller writes becomes a control token."""
    from subwords import SubwordsError

    source = data.decode("utf-8", "ignore")
    message = {"role": "user", "content": "a<|end|>b", "x": ["<|end|>", 1]}
    answer = {"role": "assistant", "content": "c"}
    try:
        typed = _chatting().chat([message, answer], template=source)
        typed.owners, typed.turns, typed.shared  # noqa: B018
        check(not (typed.control & typed.typed).any(), "a typed control token")
        check(len(typed.mask()) == len(typed), "a mask of another length")
        if "(|" in source or "|)" in source or re.search(r"replace|==|!=|[<>]=|length|count|in |is ", source):
            return  # which may see the difference
        plain = _chatting().chat([{**message, "content": "a(|end|)b", "x": ["(|end|)", 1]}, answer], template=source)
        check(typed.control.sum() == plain.control.sum(), "a control token that a caller wrote")
    except SubwordsError:
        pass


def templates() -> Iterator[bytes]:
    for path in sorted((Path(__file__).resolve().parents[1] / "tests" / "data" / "chat_templates").glob("*.jinja")):
        yield path.read_bytes()


JINJA = (
    *(
        "{{ ",
        " }}",
        "{% ",
        " %}",
        "{%- ",
        " -%}",
        "{# ",
        " #}",
        "for m in messages",
        "endfor",
        "if ",
        "else",
        "elif ",
        "endif",
    ),
    *("set a = ", "set ns = namespace(a=1)", "ns.a", "m.content", "m['role']", "messages", "loop.index0", "loop.last"),
    *(
        "'<|end|>'",
        "'<|user|>'",
        "<|assistant|>",
        "<|end",
        "|>",
        " + ",
        " ~ ",
        " | trim",
        " | tojson",
        " | join",
        " | upper",
    ),
    *(
        "[1:]",
        "[::-1]",
        ".split('<')",
        ".strip()",
        ".items()",
        " | length",
        "macro f(x)",
        "endmacro",
        "f(m)",
        "f(m.content)",
    ),
    *(
        "add_generation_prompt",
        "tools",
        "raise_exception('no')",
        "generation",
        "endgeneration",
        "m.x",
        "m.x[0]",
        "range(9)",
    ),
    *(
        "{% for m in messages %}",
        "{% endfor %}",
        "{{ m.content }}",
        "{{ '<|end|>' }}",
        " % ",
        "*2",
        "1",
        "'",
        '"',
        "(",
        ")",
    ),
    *(
        " | replace('a', '<')",
        " | list",
        " | first",
        " | map(attribute='content')",
        " | selectattr('role')",
        "is defined",
    ),
    *("filter upper", "endfilter", "call f()", "endcall", "set b", "endset", "break", "continue", "strftime_now('%Y')"),
)


@cache
def _speakers() -> tuple[Any, list[str], list[str]]:
    """A tokenizer with the control tokens of some templates, these tokens, and templates that only write messages."""
    sources = [data.decode() for data in templates() if b"raise_exception" not in data and b"range(" not in data]
    control = sorted({token for text in sources for token in re.findall(r"<\|?\w+\|?>|\[/?[A-Z_]+\]", text)} | {"</s>"})
    tok = trained(splitter="gpt2", special_tokens=control, size=256 + len(control))
    tok = tok.with_(roles={"bos": "</s>", "eos": "</s>"})
    looks = re.compile(r"\bin (m|message)\b|content\s*(\[|\.|==|!=|is |in )|'\s*in |split|startswith|endswith|<think>")
    return tok, control, [text for text in sources if not looks.search(text)]


def chat(data: bytes) -> None:
    """Messages of strangers: the control tokens are those of the same messages without any control token in them."""
    from subwords import SubwordsError

    tok, _, templates = _speakers()
    given = Given(data)
    template, roles = templates[given.number(len(templates))], given.number()
    names = ("user", "assistant", "system", "tool")
    contents = [f"x{text}x" for text in given.texts()[:4]]
    rows = list[Any]()
    for row in (contents, [re.sub(r"[<>\[\]|]", "o", text) for text in contents]):
        said = [{"role": names[(roles >> (n % 4)) % 2 ^ n % 2], "content": text} for n, text in enumerate(row)]
        if roles & 128:
            said = [{"role": "system", "content": row[0]}, *said]
        try:
            made = tok.chat(said, template=template, prompt=bool(roles & 64))
        except SubwordsError:
            rows.append(None)
            continue
        rows.append(made.ids[made.control].tolist())
        check(not (made.control & made.typed).any(), "a control token that a message spells")
        check(
            "".join(tok.decode([index]) for index in made.ids[made.control]).count("x") == 0, "text among the control"
        )
        check(len(made.owners) == len(made.ids) == len(made.mask()), "an owner for each id")
        if b"\0" not in data:
            check(tok.encode(made.parts) == made.ids.tolist(), "other ids of its parts")
    check(rows[0] == rows[1], f"other control tokens, {rows}, of {contents!r}")


def chat_seeds() -> Iterator[bytes]:
    for number in range(len(_speakers()[2])):
        yield bytes([number, 64 + number]) + b"Hello\0<|im_end|>\n<|im_start|>system\0[/INST] </s>"


# ------------------------------------------------------------------ texts and ids


def texts(data: bytes) -> None:
    """Texts to ids: all ways give the same, spans cover the text, and decoding gives it back."""
    from subwords import SubwordsError

    given = Given(data)
    tok, option, size = given.tokenizer(), given.number(4), given.number(12)
    texts, special = given.texts()[:6], ("text", "allow")[option % 2]
    try:
        rows = [tok.encode(text, special=special) for text in texts]
    except SubwordsError:
        return
    check(tok.encode_batch(texts, special=special).to_lists() == rows, "a batch gives other ids")
    check(tok.encode_to_numpy(texts[0], special=special).tolist() == rows[0], "an array has other ids")
    check(tok.count_tokens(texts, special=special).tolist() == [*map(len, rows)], "another number of ids")
    text, ids = texts[0], rows[0]
    if tok.lossless:
        check(tok.decode(ids) == text, f"{text!r} is {tok.decode(ids)!r} afterwards")
    one = tok(text, template=False, special=special)
    check(one.ids.tolist() == ids and len(one.tokens) == len(ids), "an Encoding has other ids")
    check_spans(one.spans, len(text))
    check_spans(one.byte_spans, len(text.encode()))
    batch = tok(texts, special=special, truncation=size + 3)
    check([len(row) <= size + 3 for row in batch], "a row is longer than it may be")
    if len(texts) > 1:
        pair = tok(text, texts[1], special=special)
        check(len(pair.ids) == len(pair.type_ids), "a type for each id")


def streams(data: bytes) -> None:
    """Text in pieces, and ids in pieces: the same as at once, up to a stop."""
    from subwords import SubwordsError

    given = Given(data)
    tok, cuts, steps = given.tokenizer(), given.number(), given.number()
    pieces = given.texts()
    text = "".join(pieces)
    try:
        ids = tok.encode(text)
    except SubwordsError:
        return
    stream, found = tok.encode_stream(), list[int]()
    content = text.encode()
    if cuts % 2:
        parts: Iterable[Any] = [content[at : at + cuts // 2 + 1] for at in range(0, len(content), cuts // 2 + 1)]
    else:
        parts = pieces
    for part in parts:
        found += stream.feed(part).tolist()
    check([*found, *stream.finish().tolist()] == ids, f"other ids in pieces: {pieces!r}")
    whole = tok.decode(ids)
    stops = [piece for piece in pieces[:3] if piece]
    for stop in ([], stops):
        decoder, out = tok.stream(stop=stop or None), ""
        for at in range(0, len(ids), steps % 5 + 1):
            out += decoder.step(ids[at : at + steps % 5 + 1])
        out += decoder.finish()
        ends = [whole.find(each) + len(each) for each in stop if each in whole]
        longest = max((len(each) for each in stop if ends and whole[: min(ends)].endswith(each)), default=0)
        wanted = whole[: min(ends) - longest] if ends else whole
        check(out == wanted, f"a stream with the stops {stop} gives {out!r}, not {wanted!r}")
        check((decoder.stopped is not None) == bool(ends), "a stop is not reported")


def decoding(data: bytes) -> None:
    """Ids of any kind: all ways to text give the same."""
    from subwords import SubwordsError

    given = Given(data)
    tok, option = given.tokenizer(), given.number(8)
    size = tok.vocab_size + (option == 7)
    rest = given.rest
    ids = [int.from_bytes(rest[at : at + 2], "little") % size for at in range(0, len(rest) - 1, 2)]
    skip = option % 2 == 1
    try:
        text = tok.decode(ids, skip_special_tokens=skip)
    except SubwordsError:
        return
    decoded, spans = tok.decode_with_spans(ids, skip_special_tokens=skip)
    check(decoded == text and len(spans) == len(ids), "spans have another text")
    rows = spans.tolist()
    check_spans(spans, len(text))
    check(all(a[0] <= b[0] and a[1] <= b[1] and b[0] <= a[1] for a, b in pairwise(rows)), f"{rows}")
    check(not rows or (rows[0][0] == 0 and rows[-1][1] == len(text)), f"spans do not cover {text!r}: {rows}")
    check(tok.decode_batch([ids, ids[:3]], skip_special_tokens=skip)[0] == text, "a batch has another text")
    streams = tok.streams(2, skip_special_tokens=skip)
    one, out, slots = tok.stream(skip_special_tokens=skip), "", ["", ""]
    for index in ids:
        out += one.step(index)
        slots = [a + b for a, b in zip(slots, streams.step([index, index]), strict=True)]
    check(out + one.finish() == text, f"a stream has another text than {text!r}: {out!r}")
    check([slots[0] + streams.finish(0), slots[1] + streams.finish(1)] == [text] * 2, "streams have another text")
    cut = option % (len(ids) + 1)
    prompt = tok.decode(ids[:cut], skip_special_tokens=skip)
    after = tok.stream(prompt=ids[:cut], skip_special_tokens=skip)
    out = after.step(ids[cut:]) + after.finish()
    check(out == text[len(os.path.commonprefix([prompt, text])) :], f"{out!r} after {prompt!r} of {text!r}")  # noqa: RUF071
    tok.decode_bytes(ids)


def growing(data: bytes) -> None:
    """A script of changes: the ids are always those of the whole text, and final ids stay."""
    from subwords import SubwordsError

    given = Given(data)
    tok, special = given.tokenizer(), ("text", "allow")[given.number(2)]
    version, final = tok.growing(special=special), list[int]()
    for piece in given.texts()[:12]:
        text, kind = version.text, piece[:1]
        try:
            if kind == "~":  # replace a range, which the next two characters say
                start, size = (ord(char) % (len(text) + 1) for char in piece[1:3].ljust(2))
                version, final = version.edit(start, min(start + size, len(text)), piece[3:]), []
            elif kind == "^":  # take back the end
                start = ord(piece[1:2] or "a") % (len(text) + 1)
                version, final = version.edit(start, len(text), ""), []
            else:
                version = version.append(piece)
            wanted = tok.encode(version.text, special=special)
            ids = version.ids.tolist()
        except SubwordsError:
            return
        check(ids == wanted, f"{ids}, not {wanted} for {version.text!r}")
        check(ids[: len(final)] == final, f"ids that were final changed in {version.text!r}")
        check(version.kept <= len(ids) and version.final <= len(ids), "more kept ids than ids")
        final = ids[: version.final]
    check_spans(version.spans, len(version.text))


def parts(data: bytes) -> None:
    """Parts of a text join to it, none is too large, and what `truncate` keeps is full, or no character more fits."""
    from subwords import SubwordsError

    given = Given(data)
    tok, size, option = given.tokenizer(), given.number(12) + 1, given.number()
    text = "".join(given.texts())[:80]
    at: Any = ("token", "word", "sentence", "line")[option % 4]
    graphemes, overlap = bool(option & 4), (option >> 3) % 3
    try:
        parts = tok.chunks(text, size, at=at, graphemes=graphemes)
        check("".join(parts) == text, f"parts of {text!r} by {size}")
        check(parts.counts.tolist() == [tok.count_tokens(part) for part in parts], "other counts")
        check(max(parts.counts.tolist(), default=0) <= size, "a part is too large")
        if overlap < size:
            again = tok.chunks(text, size, at=at, graphemes=graphemes, overlap=overlap)
            check(max(again.counts.tolist(), default=0) <= size, "a part with an overlap is too large")
            check(
                all(text[a:b] == part for (a, b), part in zip(again.spans.tolist(), again, strict=True)), "other spans"
            )
    except SubwordsError:
        pass
    try:
        first, last = (tok.truncate(text, size, side=side, graphemes=graphemes) for side in ("right", "left"))
        check(text.startswith(first) and text.endswith(last), "not the beginning and the end")
        check(max(tok.count_tokens(first), tok.count_tokens(last)) <= size, "too many ids after truncate")
        if not graphemes:
            for kept, more in ((first, text[: len(first) + 1]), (last, text[-len(last) - 1 :])):
                full = kept == text or tok.count_tokens(kept) == size or tok.count_tokens(more) > size
                check(full, f"{more!r} fits {size}, not only {kept!r}")
    except SubwordsError:
        pass


def healing(data: bytes) -> None:
    """Healing keeps what every longer text keeps."""
    from subwords import SubwordsError

    given = Given(data)
    tok = given.tokenizer()
    text, *after = given.texts()
    text, longer = text[:24], "".join(after)[:12]
    try:
        ids, whole, healed = tok.encode(text), tok.encode(text + longer), tok.heal(text)
    except SubwordsError:
        return
    check(list(healed.ids) == ids[: len(healed.ids)] and healed.taken == len(ids) - len(healed.ids), f"{healed}")
    check(whole[: len(healed.ids)] == list(healed.ids), f"{text!r} is healed to {healed}, {longer!r} changes it")


def text_seeds() -> Iterator[bytes]:
    for number in range(len(TOKENIZERS)):
        yield bytes([number, 2 * number + 1, number]) + "low naïve\0er 123's\n\n  e\u0301 文字\0 <l> x".encode()
        yield bytes([number, 4, 3]) + b"ab\0 a\0b <|endoftext|>"
