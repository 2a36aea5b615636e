"""The local page of `show`: its answers as plain data, and a server on 127.0.0.1 that refuses other sites."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from socketserver import TCPServer
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords import Encoding, Tokenizer, load
from subwords.machine import family_of
from subwords.study.conversations import ChatProcess, example
from subwords.study.explanation import Trace, Words, explain_word, word_explainer
from subwords.study.segments import Stretch
from subwords.support.errors import InputError, SubwordsError

# ---------------------------------------------------------------------------------------------------------------------
# The files of the local page, which are part of the package: HTML, CSS, JavaScript and an icon.

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return the media type and the content of every file by its path on the server."""
    found = {}
    for file in files("subwords.study").joinpath("web").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = f"{kind}; charset=utf-8", file.read_bytes()
    return found


# ---------------------------------------------------------------------------------------------------------------------
# What the page shows besides tokens: findings, metrics, what happened before the model.

MOST_SENTENCES = 8
MOST_FINDINGS = 500


def audited(tok: Tokenizer) -> list[dict[str, object]]:
    """Return the findings of `audit`, the worst first: severity, kind, message, ids, and the meaning of the kind."""
    from subwords.study.auditing import audit
    from subwords.study.findings import RULES

    found = audit(tok, threads=1, progress=False).findings[:MOST_FINDINGS]
    keys = ("severity", "kind", "message", "ids", "meaning")
    rows = ((one.severity, one.rule, one.message, [*one.ids], RULES[one.rule].summary) for one in found)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def evaluated(toks: Sequence[Tokenizer], text: str) -> list[list[object]]:
    """Return the metrics of `evaluate`, a row of a name and a value for each tokenizer; None is unknown.

    The text is one document, so that its figures are those of the page.
    """
    from subwords.study.evaluation import evaluate

    if not text.strip():
        raise InputError("expected a text with at least one word to evaluate")
    columns = [dict(_values(evaluate(tok, [text], progress=False).tables()[0].rows)) for tok in toks]
    names = list(dict.fromkeys(name for column in columns for name in column))
    return [[name, *(column.get(name) for column in columns)] for name in names]


def _values(rows: Sequence[Sequence[object]]) -> Iterator[tuple[str, float | str | None]]:
    for name, value, _ in rows:
        if name != "documents":
            yield str(name), value if isinstance(value, float | int) else None


def told_before(trace: Trace, start: int, stop: int) -> list[str]:
    """Return what a trace says of a word before the model: what the normalizer changed, what cut it out."""
    changes = [change for part in trace.parts if isinstance(part, Stretch) for change in part.changes]
    found = [
        f"The normalizer makes {change.after!r} of {change.before!r}."
        for change in changes
        if change.span[0] < stop and start < change.span[1]
    ]
    for word in trace.words:
        if word.alternative is not None and trace.alternatives:
            alternative = trace.alternatives[word.alternative]
            found.append(f'Alternative {word.alternative} of the split pattern matches: "{alternative}"')
        elif word.step is not None:
            found.append(f'Cut by step {word.step} of the splitter: "{trace.steps[word.step]}"')
    return found[:MOST_SENTENCES]


# ---------------------------------------------------------------------------------------------------------------------
# What is known about each token of a tokenizer: its text, the rank of the merge that makes it, its score.

NONE = -1


class TokenFacts:
    """Facts by id; the tables are made when they are first asked for."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok

    def text(self, index: int) -> str:
        """Return a token as text; bytes that are not characters become lone surrogates."""
        return self.tok.spec.model.vocab[index].decode("utf-8", "surrogateescape")

    def rank(self, index: int) -> int | None:
        """Return the rank of the first merge that makes a token; None if no merge does."""
        found = int(self._ranks[index]) if index < len(self._ranks) else NONE
        return None if found == NONE else found

    def score(self, index: int) -> float | None:
        """Return the score of a token of a Unigram model, a natural logarithm; None for other models."""
        score = self.tok.model.score(index)
        return None if score is None else round(score, 6)

    @cached_property
    def special(self) -> frozenset[int]:
        """The ids of added tokens and of tokens that no text yields."""
        return frozenset(token.id for token in self.tok.spec.added_tokens)

    @cached_property
    def words(self) -> Words:
        """What explains the words of the model."""
        return word_explainer(self.tok.model)

    @cached_property
    def _ranks(self) -> NDArray[np.int64]:
        model = self.tok.model
        ranks = np.full(len(model.vocab), NONE, np.int64)
        merges = model.ranked_merges[::-1]
        ranks[merges[:, 3]] = merges[:, 0]  # the first merge of a token is written last
        return ranks


# ---------------------------------------------------------------------------------------------------------------------
# Tokenizer files that are being looked at: loaded once, and again when they change on disk.

_TOGETHER = {"vocab.json": "merges.txt", "merges.txt": "vocab.json"}  # read as one tokenizer
_Marks: TypeAlias = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class WatchedTokenizer:
    """A tokenizer as a file holds it. version: how often the file was read. problem: why the newest cannot be used."""

    tok: Tokenizer
    facts: TokenFacts
    version: int
    problem: str | None = None


class TokenizerFile:
    """A tokenizer file, a folder, or a name that `subwords.load` knows. Threads may share it.

    Raises the errors of `load` if it cannot be read at first. Later, `now` keeps the tokenizer that could be read last.
    """

    def __init__(self, path: str) -> None:
        self.path, self.name = path, _name(path)
        self._lock, self._marks = Lock(), _marks(path)
        self._opened = _open(path, 1)

    def now(self) -> WatchedTokenizer:
        """Return the tokenizer, read again if the file has changed since."""
        with self._lock:
            marks = _marks(self.path)
            if marks != self._marks:
                self._marks = marks
                self._opened = self._again()
            return self._opened

    def _again(self) -> WatchedTokenizer:
        last = self._opened
        try:
            return _open(self.path, last.version + 1)
        except (SubwordsError, OSError) as error:
            problem = f"the file changed and cannot be read now; this is the tokenizer from before: {error}"
            return WatchedTokenizer(last.tok, last.facts, last.version + 1, problem)


def _open(path: str, version: int) -> WatchedTokenizer:
    tok = load(path)
    return WatchedTokenizer(tok, TokenFacts(tok), version)


def _name(path: str) -> str:
    """Return the last two parts of a path: the last one alone is often tokenizer.json."""
    return "/".join(part for part in Path(path).parts[-2:] if part != "/") or path


def _marks(path: str) -> _Marks:
    """Return names, times of change and sizes of the files; () for what is not a file or a folder."""
    place = Path(path)
    try:
        if place.is_dir():
            files = sorted(file for file in place.iterdir() if file.is_file())
        else:
            other = _TOGETHER.get(place.name)
            files = [place, *([place.with_name(other)] if other else [])]
        found = [(file.name, file.stat()) for file in files if file.exists()]
    except OSError:
        return ()
    return tuple((name, status.st_mtime_ns, status.st_size) for name, status in found)


# ---------------------------------------------------------------------------------------------------------------------
# The tokens of one text in the shape that the page draws, and where tokenizers disagree about it.

_Spans: TypeAlias = NDArray[np.int64]
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text's first tokens, as lists by token, and facts by id; `tokens`, `distinct` and `unknown` count all tokens.

    framing: tokens of the template, which stand for no text.
    vocabulary: by id the token, its spelling in files, its bytes in hexadecimal, its rank, its score, and how often the
    text has it. words: -1 for tokens without a word. starts, stops: characters of the text.
    """

    tokens: int
    framing: int
    distinct: int
    unknown: int
    ids: list[int]
    starts: list[int]
    stops: list[int]
    words: list[int]
    special: list[int]
    differs: list[int]
    vocabulary: dict[int, tuple[str, str, str, int | None, float | None, int]]


def shown_tokens(facts: TokenFacts, encoding: Encoding, differs: NDArray[np.bool_], most: int) -> Shown:
    """Return the first `most` tokens of an encoding as the page draws them."""
    tok, all_ids = facts.tok, encoding.ids
    distinct, counts = np.unique(all_ids, return_counts=True)
    count_of = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    ids = all_ids[:most].tolist()
    spans = encoding.spans[:most]
    special = encoding.special_tokens_mask[:most].tolist()
    unk = tok.model.unk_id
    return Shown(
        tokens=len(all_ids),
        framing=sum(map(bool, encoding.special_tokens_mask)),
        distinct=len(distinct),
        unknown=0 if unk is None else count_of.get(unk, 0),
        ids=ids,
        starts=spans[:, 0].tolist(),
        stops=spans[:, 1].tolist(),
        words=[-1 if word is None else word for word in encoding.word_ids[:most]],
        special=[int(bool(mark) or index in facts.special) for mark, index in zip(special, ids, strict=True)],
        differs=differs[:most].astype(int).tolist(),
        vocabulary={index: (*_facts(facts, index), count_of[index]) for index in dict.fromkeys(ids)},
    )


def _facts(facts: TokenFacts, index: int) -> tuple[str, str, str, int | None, float | None]:
    content = facts.tok.model.vocab[index]
    file_token = facts.tok.id_to_token(index) or ""
    return facts.text(index), file_token, content.hex(" "), facts.rank(index), facts.score(index)


# ------------------------------------------------------------------ disagreements


def disagreements(text: str, encodings: Sequence[Encoding]) -> list[NDArray[np.bool_]]:
    """Return, for every token of every encoding, whether another encoding lacks a token of the same bytes of the text.

    Whitespace at both ends of a token does not count: " the" agrees with "the". Tokens of nothing but whitespace and
    tokens of a template never disagree. With one encoding, none does.
    """
    data_spaces = _space_bytes(text)
    keys = [_trimmed(encoding.byte_spans, data_spaces) for encoding in encodings]
    found = []
    for number, own in enumerate(keys):
        lacking = np.zeros(len(own), np.bool_)
        for other in keys[:number] + keys[number + 1 :]:
            lacking |= ~np.isin(own, other)
        found.append(lacking & (own >= 0))
    return found


def _space_bytes(text: str) -> NDArray[np.bool_]:
    """Return for every byte of the text in UTF-8 whether it belongs to whitespace."""
    found = np.zeros(len(text.encode()), np.bool_)
    at = done = 0  # the byte at character `done`
    for match in _SPACES.finditer(text):
        at += len(text[done : match.start()].encode())
        size = len(match[0].encode())
        found[at : at + size] = True
        at, done = at + size, match.end()
    return found


def _trimmed(spans: _Spans, spaces: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return one number for the bytes of each token without whitespace at its ends; -1 for tokens without others."""
    size = len(spaces)
    places = np.arange(size + 1)
    solid = np.append(~spaces, True)
    later = np.minimum.accumulate(np.where(solid, places, size)[::-1])[::-1]  # the first byte that is not whitespace
    solid = np.append(True, ~spaces)
    earlier = np.maximum.accumulate(np.where(solid, places, 0))  # the end of the last such byte
    starts, stops = later[spans[:, 0]], earlier[spans[:, 1]]
    return np.where(starts < stops, starts * (size + 1) + stops, -1)


# ---------------------------------------------------------------------------------------------------------------------
# The answers of the local page: requests and answers are plain data; no sockets, no files.

MOST_CHARACTERS = 200_000  # of a text; the rest is left out, and the answer says so
MOST_SHOWN = 20_000  # tokens of a text in one answer
MOST_TOKENIZERS = 4
LONGEST_WORD = 300  # bytes of a word whose steps are shown: nobody reads more
ADDED = "An added token: it is put in by the template, or found in the text before any splitting."
Answer: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PageApi:
    """The tokenizers on the page and the text that it starts with.

    left_out: whether the text is only the beginning of its file. templates: where templates of conversations run.
    Methods raise InputError for invalid requests.
    """

    files: Sequence[TokenizerFile]
    text: str = ""
    left_out: bool = False
    templates: ChatProcess = field(default_factory=ChatProcess)

    def routes(self) -> Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Answer]]]:
        """Return the method and the function of each path."""
        return {
            "/api/state": ("GET", lambda _: self.state()),
            "/api/encode": ("POST", self.encode),
            "/api/word": ("POST", self.word),
            "/api/audit": ("POST", self.audit),
            "/api/evaluate": ("POST", self.evaluate),
            "/api/chat": ("POST", self.chat),
        }

    def state(self) -> Answer:
        """Return what the tokenizers are, the text to start with, and the limits."""
        return {
            "tokenizers": [_about(file, file.now()) for file in self.files],
            "text": self.text[:MOST_CHARACTERS],
            "left_out": self.left_out,
            "most_characters": MOST_CHARACTERS,
            "panels": {"audit": True, "evaluate": True, "chat": True},  # a page without server has none of them
        }

    def encode(self, request: Mapping[str, Any]) -> Answer:
        """Return the tokens of a text by every tokenizer. text: str; most: tokens of each; special: as "allow"."""
        text, left_out = _requested_text(request)
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
        text, _ = _requested_text(request)
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
            words = one.facts.words
            trace, first = explain_word(one.tok, text, encoding, place, words, special=special, most=LONGEST_WORD)
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
            "before": told_before(trace, *span) if len({*(span := trace.words[0].span)}) > 1 else [],
        }

    def _found(self, one: WatchedTokenizer, encoding: Encoding, places: range, steps: object) -> dict[str, object]:
        tokens = [encoding.tokens[place] for place in places]
        ids = encoding.ids[places.start : places.stop].tolist()
        found = {"word": "".join(tokens), "first": places.start, "stop": places.stop, "ids": ids, "steps": steps}
        return {**_status(one), **found, "names": {}, "before": []}

    def audit(self, request: Mapping[str, Any]) -> Answer:
        """Return the findings of the audit of one tokenizer."""
        one = self.files[_integer(request, "tokenizer", 0, len(self.files) - 1)].now()
        return {**_status(one), "findings": audited(one.tok)}

    def evaluate(self, request: Mapping[str, Any]) -> Answer:
        """Return metrics of all tokenizers on a text."""
        text, left_out = _requested_text(request)
        rows = evaluated([file.now().tok for file in self.files], text)
        return {"left_out": left_out, "rows": rows}

    def chat(self, request: Mapping[str, Any]) -> Answer:
        """Return a conversation as ids of one tokenizer; see `answer` of subwords.study.conversations."""
        one = self.files[_integer(request, "tokenizer", 0, len(self.files) - 1)].now()
        return {**_status(one), **self.templates.ask(one.tok, request)}

    def close(self) -> None:
        """End what runs beside the page."""
        self.templates.close()


def _about(file: TokenizerFile, one: WatchedTokenizer) -> dict[str, object]:
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
        "conversation": example(tok),
    }


def _status(one: WatchedTokenizer) -> dict[str, object]:
    return {"version": one.version, "problem": one.problem}


def _shallow(shown: Shown) -> dict[str, object]:
    # Its lists are made for the answer: asdict would copy them entry by entry, 15 ms for 2,000 tokens.
    return {one.name: getattr(shown, one.name) for one in fields(shown)}


def _encoded(one: WatchedTokenizer, text: str, request: Mapping[str, Any]) -> Encoding | str:
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


def _requested_text(request: Mapping[str, Any]) -> tuple[str, int]:
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


ADDRESS = "127.0.0.1"
FIRST_PORT = 8420
PORTS_TRIED = 20
MOST_BYTES = 20_000_000  # of a request
MOST_DISCARDED = 64_000_000  # of a larger one: a client that still writes would not see the answer
SECONDS = 30  # that a client may take for a request

HEADERS = {
    # Files of this server only, nothing inline: text that became HTML by mistake could not run or load anything.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageServer(ThreadingHTTPServer):
    """Serves the page of some tokenizers until it is closed.

    port: None takes the first free one of 8420 to 8439; 0 takes any. Raises InputError if the port is in use.

    >>> with PageServer(PageApi([]), port=0) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # on Windows, two servers would share the port

    def __init__(self, api: PageApi, *, port: int | None = None) -> None:
        self.api, self.routes, self.closed = api, api.routes(), False
        reason = ""
        asked = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + PORTS_TRIED)]
        for number in asked:
            try:
                super().__init__((ADDRESS, number), _Handler)
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                reason = error.strerror or str(error)
                continue
            return
        raise InputError(_unusable(asked, reason))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def server_bind(self) -> None:
        """Bind without asking the network for this machine's name, as http.server does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.socket.getsockname()[1]

    def server_close(self) -> None:
        """Close the server; connections that are open get no more answers."""
        self.closed = True
        self.api.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away; errors of requests have been answered."""

    @property
    def own_hosts(self) -> set[str]:
        """The values of the Host header that name this server."""
        return {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}


def _unusable(ports: list[int], reason: str) -> str:
    if len(ports) == 1:
        return f"port {ports[0]} cannot be used ({reason}): choose another --port, or leave it out to take a free one"
    return f"none of the ports {ports[0]} to {ports[-1]} is free: name one with --port; --port 0 takes any"


class _Refused(Exception):  # noqa: N818
    """A request that gets an error as its answer. unread: how many bytes of its body are still to come."""

    def __init__(self, status: HTTPStatus, message: str, *, unread: int = 0, **headers: str) -> None:
        super().__init__(message)
        self.status, self.unread, self.headers = status, unread, headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True
    server: PageServer

    def _answer(self) -> None:
        if self.server.closed:
            self.close_connection = True
            return
        try:
            self._check_sender()
            kind, content = self._content()
            self._send(HTTPStatus.OK, kind, content)
        except _Refused as refused:
            self.close_connection = True
            self._discard(refused.unread)
            self._send_error(refused.status, str(refused), refused.headers)
        except SubwordsError as error:
            self._send_error(HTTPStatus.BAD_REQUEST, str(error))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # a defect of ours: the page reports it, and the server continues
            self._send_error(HTTPStatus.INTERNAL_SERVER_ERROR, f"unexpected {type(error).__name__}: {error}")

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _answer  # noqa: N815

    # ------------------------------------------------------------------ requests

    def _check_sender(self) -> None:
        """Refuse other sites: their pages name another origin, and names that they point at 127.0.0.1 another host."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.own_hosts:
            raise _Refused(HTTPStatus.FORBIDDEN, f"this server answers as {self.server.address} only")
        if any(origin.lower() not in {f"http://{host}" for host in self.server.own_hosts} for origin in origins):
            raise _Refused(HTTPStatus.FORBIDDEN, "requests from other sites are refused")

    def _content(self) -> tuple[str, bytes]:
        path = self.path.partition("?")[0].partition("#")[0]
        if path in page_files():
            self._check_method("GET")
            self._check_no_body()
            return page_files()[path]
        if path not in self.server.routes:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is no such path")
        method, answer = self.server.routes[path]
        self._check_method(method)
        if method == "GET":
            self._check_no_body()
        found = answer(self._request() if method == "POST" else {})
        return "application/json; charset=utf-8", json.dumps(found, separators=(",", ":")).encode()

    def _check_method(self, method: str) -> None:
        if self.command != method:
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {method}, not {self.command}", Allow=method)

    def _check_no_body(self) -> None:
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected no body")

    def _request(self) -> Mapping[str, Any]:
        length = self._length()
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            message = "expected the header Content-Type: application/json"
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message, unread=length)
        body = self.rfile.read(length)
        if len(body) < length:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"expected a body of {length} bytes, got {len(body)}")
        return _json(body)

    def _length(self) -> int:
        if "Transfer-Encoding" in self.headers:
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length, not a Transfer-Encoding")
        given = set(self.headers.get_all("Content-Length", []))
        if not given:
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        text = given.pop()
        if given or not (text.isascii() and text.isdigit() and len(text) < 20):
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected one Content-Length, a number of bytes")
        if int(text) > MOST_BYTES:
            message = f"expected a request of at most {MOST_BYTES} bytes, not {text}"
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, unread=int(text))
        return int(text)

    def _discard(self, size: int) -> None:
        left = size if size <= MOST_DISCARDED else 0
        self.connection.settimeout(0.5)
        try:
            while left > 0 and (part := self.rfile.read(min(left, 1 << 16))):
                left -= len(part)
        except OSError:
            pass

    # ------------------------------------------------------------------ answers

    def _send_error(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps({"error": message}).encode()
        self._send(status, "application/json; charset=utf-8", content, headers)

    def _send(self, status: HTTPStatus, kind: str, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.wfile.flush()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not valid HTTP, or whose method is unknown."""
        self.close_connection, self.request_version = True, self.protocol_version
        self.command = getattr(self, "command", None) or "GET"
        self._send_error(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def version_string(self) -> str:
        """Return the Server header, without the version of Python."""
        return "subwords"

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"expected JSON in UTF-8; byte {error.start} of the request is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"expected a JSON object, not {type(found).__name__}")
    return found
