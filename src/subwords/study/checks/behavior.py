"""Checks of behavior: round trips, cuts within what readers see as one character, special and added tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from subwords.components.template import Inserted
from subwords.errors import SubwordsError
from subwords.study.checks.subject import Subject
from subwords.study.finding import Finding

__all__ = ["PROBES", "check_behavior"]

PROBES = (
    *("a", " a", "a ", "  a  b", "a\nb", "a\r\n\tb", "\n\n", " ", "", "A", "É", "e\u0301", "ﬁ", "½", "①", "Ω"),
    *("the cat's 3.14% of $1,000!", "naïve façade", "文字を数える", "한국어", "ไทย", "हिन्दी", "עברית", "عربى"),
    *("😀👍🏽👨‍👩‍👧🇩🇪", "\u200b\ufeff", "a\u00a0b", "\x00\x07", "\u2581a", "<0x41>", "##a", "Ġa", "a</w>"),
)
MARKED = ("e\u0301", "n\u0303", "क्षि", "กำ", "ที่", "ข้", "மொ", "שָׁ", "ẹ̀", "বাং", "ខ្មែរ", "မြန်")
EMOJI = ("👍🏽", "👨‍👩‍👧", "🇩🇪", "❤️", "1️⃣")


def check_behavior(subject: Subject, texts: Iterable[str] = ()) -> Iterator[Finding]:
    """Yield texts that do not come back, cuts, and special tokens in the way. texts: of a corpus."""
    yield from _round_trips(subject, [*PROBES, *texts])
    yield from _cuts(subject)
    yield from _special(subject)
    yield from _inserted(subject)


def _round_trips(subject: Subject, texts: list[str]) -> Iterator[Finding]:
    tok, lossless = subject.tokenizer, subject.tokenizer.lossless
    rule = "round-trip" if lossless else "lossy"
    for text in texts:
        try:
            back = tok.decode(tok.encode(text))
        except SubwordsError as error:
            back = None
            if lossless:
                yield Finding(rule, f"{text!r:.60} cannot be encoded: {error!s:.100}", (), (), text)
        if back is not None and back != text:
            yield Finding(rule, f"{text!r:.60} comes back as {back!r:.60}", (), (), text)


def _cuts(subject: Subject) -> Iterator[Finding]:
    splitter = subject.tokenizer.splitter
    for rule, probes in (("cut-grapheme", MARKED), ("cut-emoji", EMOJI)):
        for probe in probes:
            try:
                words = splitter.split(probe)
            except SubwordsError:
                continue
            if len(words) > 1 and "".join(words) == probe:
                yield Finding(rule, f"{probe!r} is cut to {' '.join(map(ascii, words))}", (), (), probe)


def _special(subject: Subject) -> Iterator[Finding]:
    added = subject.tokenizer.spec.added_tokens
    ordinary = {subject.tokens[index]: index for index in subject.ordinary.tolist()}
    contents = {token.content for token in added}
    for token in added:
        named = (token.id,), (token.content,)
        if token.special and token.content.isalnum():
            yield Finding("plain-special", f"{token.content!r} is an ordinary word, and a special token", *named)
        inside = next((other for other in sorted(contents) if token.content != other and token.content in other), None)
        if inside is not None:
            yield Finding("added-overlap", f"{token.content!r} is part of the added token {inside!r}", *named)
        other = ordinary.get(token.content.encode())
        if other is not None and other != token.id:
            message = f"{token.content!r} is added as {token.id}, and an ordinary token as {other}"
            yield Finding("added-overlap", message, (token.id, other), (token.content,))


def _inserted(subject: Subject) -> Iterator[Finding]:
    """Yield ids that a template or the padding inserts, and that are not those of their tokens."""
    template, padding = subject.tokenizer.template, subject.tokenizer.spec.padding
    found = list[tuple[str, int, str]]()
    if template is not None:
        pieces = [piece for piece in (*template.single, *template.pair) if isinstance(piece, Inserted)]
        found += [("the template", *one) for piece in pieces for one in zip(piece.ids, piece.tokens, strict=True)]
    if padding is not None:
        found.append(("the padding", padding.pad_id, padding.pad_token))
    for where, index, token in dict.fromkeys(found):
        own = subject.tokens[index] if index < len(subject.tokens) else b""
        if own == token.encode():
            continue
        what = f"the token {subject.quoted(index)}" if own else "no token of this vocabulary"
        message = f"{where} inserts {token!r} as {index}, which is {what}"
        yield Finding("template-token", message, (index,) if own else (), (token, where))
