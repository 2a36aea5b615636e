"""The answers of the local page: requests and answers are plain data; no sockets, no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from subwords.errors import InputError
from subwords.families import family_of
from subwords.results.encoding import Encoding
from subwords.study.explain import explain_word
from subwords.study.opened import Opened, TokenizerFile
from subwords.study.panels import NO_PANELS, Panels
from subwords.study.shown_tokens import Shown, disagreements, shown_tokens
from subwords.study.trace import Trace

__all__ = ["MOST_CHARACTERS", "MOST_TOKENIZERS", "PageApi"]

MOST_CHARACTERS = 200_000  # of a text; the rest is left out, and the answer says so
MOST_SHOWN = 20_000  # tokens of a text in one answer
MOST_TOKENIZERS = 4
MOST = 300  # bytes of a word whose steps are shown: nobody reads more
ADDED = "An added token: it is put in by the template, or found in the text before any splitting."
Answer: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PageApi:
    """The tokenizers on the page and the text that it starts with.

    left_out: whether the text is only the beginning of its file. Methods raise InputError for invalid requests.
    """

    files: Sequence[TokenizerFile]
    text: str = ""
    left_out: bool = False
    panels: Panels = NO_PANELS

    def routes(self) -> Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Answer]]]:
        """Return the method and the function of each path."""
        return {
            "/api/state": ("GET", lambda _: self.state()),
            "/api/encode": ("POST", self.encode),
            "/api/word": ("POST", self.word),
            "/api/audit": ("POST", self.audit),
            "/api/evaluate": ("POST", self.evaluate),
        }

    def state(self) -> Answer:
        """Return what the tokenizers are, the text to start with, and the limits."""
        return {
            "tokenizers": [_about(file, file.now()) for file in self.files],
            "text": self.text[:MOST_CHARACTERS],
            "left_out": self.left_out,
            "most_characters": MOST_CHARACTERS,
            "panels": {"audit": self.panels.audit is not None, "evaluate": self.panels.evaluate is not None},
        }

    def encode(self, request: Mapping[str, Any]) -> Answer:
        """Return the tokens of a text by every tokenizer. text: str; most: tokens of each; special: as "allow"."""
        text, left_out = _text(request)
        most = _integer(request, "most", 1, MOST_SHOWN, 2000)
        opened = [file.now() for file in self.files]
        encodings = [_encoded(one, text, request) for one in opened]
        good = [encoding for encoding in encodings if isinstance(encoding, Encoding)]
        differing = iter(disagreements(text, good))
        return {
            "characters": len(text),
            "bytes": len(text.encode()),
            "left_out": left_out,
            "tokenizers": [
                {**_status(one), "error": encoding}
                if isinstance(encoding, str)
                else {**_status(one), **_shallow(shown_tokens(one.facts, encoding, next(differing), most))}
                for one, encoding in zip(opened, encodings, strict=True)
            ],
        }

    def word(self, request: Mapping[str, Any]) -> Answer:
        """Return how the word (pre-token) of a token becomes tokens. tokenizer, token: numbers; text: str.

        steps: the segmentation of a `Trace`, or the reason why there is none.
        """
        text, _ = _text(request)
        one = self.files[_integer(request, "tokenizer", 0, len(self.files) - 1)].now()
        encoding = _encoded(one, text, request)
        if isinstance(encoding, str):
            raise InputError(encoding)
        place = _integer(request, "token", 0, len(encoding) - 1)
        number = encoding.word_ids[place]
        if number is None:
            return self._found(one, encoding, range(place, place + 1), _lookup(ADDED))
        special = "allow" if request.get("special") else "text"
        try:
            trace, first = explain_word(one.tok, text, encoding, place, one.facts.words, special=special, most=MOST)
        except InputError as error:
            first = encoding.word_ids.index(number)
            return self._found(
                one, encoding, range(first, first + encoding.word_ids.count(number)), _lookup(str(error))
            )
        places = range(first, first + len(trace.ids))
        if not trace.words:
            return self._found(one, encoding, places, _lookup(ADDED))
        (word,) = trace.to_dict()["parts"][0]["words"]
        return self._found(one, encoding, places, word["segmentation"]) | {
            "word": word["text"],
            "names": {index: one.facts.text(index) for index in sorted(trace.mentioned())},
            "before": self._before(trace),
        }

    def _found(self, one: Opened, encoding: Encoding, places: range, steps: object) -> dict[str, object]:
        tokens = [encoding.tokens[place] for place in places]
        ids = encoding.ids[places.start : places.stop].tolist()
        found = {"word": "".join(tokens), "first": places.start, "stop": places.stop, "ids": ids, "steps": steps}
        return {**_status(one), **found, "names": {}, "before": []}

    def _before(self, trace: Trace) -> list[str]:
        if self.panels.before is None or not trace.words or len({*trace.words[0].span}) == 1:
            return []
        return list(self.panels.before(trace, *trace.words[0].span))

    def audit(self, request: Mapping[str, Any]) -> Answer:
        """Return the findings of the audit of one tokenizer."""
        one = self.files[_integer(request, "tokenizer", 0, len(self.files) - 1)].now()
        if self.panels.audit is None:
            return {**_status(one), "available": False}
        return {**_status(one), "available": True, "findings": [asdict(f) for f in self.panels.audit(one.tok)]}

    def evaluate(self, request: Mapping[str, Any]) -> Answer:
        """Return metrics of all tokenizers on a text."""
        text, left_out = _text(request)
        if self.panels.evaluate is None:
            return {"available": False}
        table = self.panels.evaluate([file.now().tok for file in self.files], text)
        return {"available": True, "left_out": left_out, "rows": [[name, *values] for name, values in table.rows]}


def _about(file: TokenizerFile, one: Opened) -> dict[str, object]:
    tok = one.tok
    return {
        **_status(one),
        "name": file.name,
        "path": file.path,
        "model": type(tok.model).__name__,
        "family": family_of(tok.model).name,
        "vocab_size": tok.vocab_size,
        "splitter": (tok.splitter.name or tok.splitter.identity)[:300],
        "normalizer": tok.normalizer and (tok.normalizer.name or tok.normalizer.shown),
        "special_tokens": len(tok.special_tokens),
    }


def _status(one: Opened) -> dict[str, object]:
    return {"version": one.version, "problem": one.problem}


def _shallow(shown: Shown) -> dict[str, object]:
    # Its lists are made for the answer: asdict would copy them entry by entry, 15 ms for 2,000 tokens.
    return {field.name: getattr(shown, field.name) for field in fields(shown)}


def _encoded(one: Opened, text: str, request: Mapping[str, Any]) -> Encoding | str:
    """Return the encoding of the whole text, or the reason why there is none."""
    special = request.get("special", False)
    if not isinstance(special, bool):
        raise InputError(f'expected "special" to be true or false, not {special!r:.60}')
    try:
        return one.tok(text, special="allow" if special else "text", truncation=False, padding=False)
    except InputError as error:
        return str(error)


def _lookup(reason: str) -> dict[str, object]:
    return {"kind": "lookup", "reason": reason}


# ------------------------------------------------------------------ requests


def _text(request: Mapping[str, Any]) -> tuple[str, int]:
    """Return the text, cut to MOST_CHARACTERS, and how many characters are left out."""
    text = request.get("text")
    if not isinstance(text, str):
        raise InputError(f'expected "text" to be a string, not {text!r:.60}')
    kept = text[:MOST_CHARACTERS]
    try:
        kept.encode()
    except UnicodeEncodeError as error:
        code = ord(kept[error.start])
        raise InputError(f"character {error.start} of the text is the lone surrogate U+{code:04X}: remove it") from None
    return kept, len(text) - len(kept)


def _integer(request: Mapping[str, Any], name: str, least: int, most: int, default: int | None = None) -> int:
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f'expected "{name}" to be an integer from {least} to {most}, not {value!r:.60}')
    return value
