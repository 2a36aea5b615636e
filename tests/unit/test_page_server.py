"""The local page over HTTP: what it answers, and what it refuses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import (
    HEADERS,
    MOST_BYTES,
    PageApi,
    PageServer,
    TokenizerFile,
    page_files,
    study_page,
)
from subwords import InputError

TEXTS = ["low lower lowest naïve 🙂"] * 9


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("show")
    subwords.train(TEXTS, vocab_size=280).save(folder / "bpe.json")
    subwords.train(TEXTS, algorithm="wordpiece", vocab_size=40, normalizer="bert-uncased").save(
        folder / "wordpiece.json"
    )
    files = [TokenizerFile(str(folder / name)) for name in ("bpe.json", "wordpiece.json")]
    with PageServer(PageApi(files, "low 🙂"), port=0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


def asked(
    server: PageServer, method: str, path: str, body: object = None, *, raw: bytes | None = None, **headers: str
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    sent = {} if data is None else {"Content-Type": "application/json", "Content-Length": str(len(data))}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders(data)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def raw(server: PageServer, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


# --- the page


def test_the_page_and_its_files_are_served_with_their_types(server: PageServer) -> None:
    for path, (kind, content) in page_files().items():
        answer = asked(server, "GET", path)
        assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, kind, content)
    assert {"/", "/page.css", "/main.js", "/icon.svg"} <= page_files().keys()
    assert asked(server, "GET", "/?from=elsewhere").status == 200


def test_the_page_loads_nothing_from_elsewhere_and_nothing_inline() -> None:
    html = page_files()["/"][1].decode()
    assert "<style" not in html
    assert " style=" not in html
    assert "<script>" not in html
    code = "".join(content.decode() for _, content in page_files().values()).replace("http://www.w3.org/2000/svg", "")
    for word in ("http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in code


def test_every_answer_forbids_other_sources(server: PageServer) -> None:
    for answer in (asked(server, "GET", "/"), asked(server, "GET", "/api/state"), asked(server, "GET", "/none")):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "Python" not in answer.headers["Server"]


# --- refused


@pytest.mark.parametrize(
    "host", ["example.com", "example.com:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{port}", ""]
)
def test_other_hosts_are_refused(server: PageServer, host: str) -> None:
    for path in ("/", "/api/state"):
        answer = asked(server, "GET", path, Host=host.format(port=server.server_port))
        assert answer.status == 403
        assert "this server answers as" in answer.json["error"]
    assert asked(server, "GET", "/api/state", Host=f"LOCALHOST:{server.server_port}").status == 200


def test_a_request_without_a_host_or_with_two_is_refused(server: PageServer) -> None:
    own = f"Host: 127.0.0.1:{server.server_port}\r\n".encode()
    assert raw(server, b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 403")
    assert raw(server, b"GET / HTTP/1.1\r\nHost: example.com\r\n" + own + b"\r\n").startswith(b"HTTP/1.1 403")
    assert raw(server, b"GET / HTTP/1.1\r\n" + own + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "origin", ["http://example.com", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://localhost"]
)
def test_other_origins_are_refused(server: PageServer, origin: str) -> None:
    answer = asked(server, "POST", "/api/encode", {"text": "a"}, Origin=origin.format(port=server.server_port))
    assert answer.status == 403
    assert "other sites" in answer.json["error"]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_page_s_own_origin_is_accepted(server: PageServer, name: str) -> None:
    answer = asked(server, "POST", "/api/encode", {"text": "a"}, Origin=f"http://{name}:{server.server_port}")
    assert answer.status == 200


def test_unknown_paths_and_methods_are_refused(server: PageServer) -> None:
    for path in ("/none", "/api/none", "/../page.css", "/index.html", "/api/encode/"):
        assert asked(server, "GET", path).status == 404
    for method, path, allowed in (("GET", "/api/encode", "POST"), ("POST", "/", "GET"), ("DELETE", "/", "GET")):
        answer = asked(server, method, path)
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)
    assert asked(server, "OPTIONS", "/api/encode").status == 405  # no preflight succeeds
    assert asked(server, "BREW", "/").status == 501


def test_a_request_that_is_too_large_is_refused(server: PageServer) -> None:
    assert asked(server, "POST", "/api/encode", raw=b"", Content_Length=str(MOST_BYTES + 1)).status == 413
    large = json.dumps({"text": "a" * (MOST_BYTES + 1)}).encode()
    answer = asked(server, "POST", "/api/encode", raw=large)
    assert answer.status == 413
    assert "at most 20000000 bytes" in answer.json["error"]
    assert asked(server, "GET", "/api/state").status == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\xff", "byte 0 of the request is not UTF-8"),
        (b"{", "expected JSON"),
        (b"", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        (b"[]", "expected a JSON object, not list"),
        (b"{}", 'expected "text" to be a string, not None'),
        (b'{"text": 1}', 'expected "text" to be a string, not 1'),
        (b'{"text": "a", "most": 0}', 'expected "most" to be an integer from 1'),
        (b'{"text": "a", "most": true}', 'expected "most" to be an integer from 1'),
        (b'{"text": "a", "special": 1}', 'expected "special" to be true or false'),
        (b'{"text": "a\\ud800b"}', "character 1 of the text is the lone surrogate U+D800"),
    ],
)
def test_invalid_requests_are_errors_and_the_server_goes_on(server: PageServer, body: bytes, says: str) -> None:
    answer = asked(server, "POST", "/api/encode", raw=body)
    assert answer.status == 400
    assert says in answer.json["error"]
    assert asked(server, "POST", "/api/encode", {"text": "a"}).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Type": "text/plain"}, 415),  # what a form or a fetch of another site can send
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": ""}, 415),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "1e3"}, 400),
        ({"Content_Length": "٣"}, 400),
    ],
)
def test_headers_are_checked(server: PageServer, headers: dict[str, str], status: int) -> None:
    try:
        answer = asked(server, "POST", "/api/encode", {"text": "a"}, **headers)
    except UnicodeEncodeError:
        return  # the client refuses it
    assert answer.status == status


def test_a_body_needs_a_length(server: PageServer) -> None:
    head = f"POST /api/encode HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nContent-Type: application/json\r\n"
    assert raw(server, f"{head}\r\n".encode()).startswith(b"HTTP/1.1 411")
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    assert raw(server, chunked.encode()).startswith(b"HTTP/1.1 411")
    assert raw(server, f"{head}Content-Length: 9\r\n\r\n{{}}".encode()).startswith(b"HTTP/1.1 400")
    twice = f"{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"
    assert raw(server, twice.encode()).startswith(b"HTTP/1.1 400")


def test_what_is_not_http_is_answered_with_an_error(server: PageServer) -> None:
    for request in (b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 70_000):
        assert raw(server, request).split(b" ", 2)[1] in (b"400", b"414", b"505")
    assert asked(server, "GET", "/api/state").status == 200


# --- answers


def test_the_state_names_the_tokenizers_and_the_text(server: PageServer) -> None:
    state = asked(server, "GET", "/api/state").json
    assert [one["family"] for one in state["tokenizers"]] == ["bpe", "wordpiece"]
    assert [one["version"] for one in state["tokenizers"]] == [1, 1]
    assert (state["text"], state["left_out"]) == ("low 🙂", False)
    assert state["panels"] == {"audit": True, "evaluate": True, "chat": True}


def test_the_answer_has_the_ids_of_encode(server: PageServer) -> None:
    text = "lowest naïve\n🙂 <script> \u202e"
    answer = asked(server, "POST", "/api/encode", {"text": text}).json
    assert (answer["characters"], answer["bytes"]) == (len(text), len(text.encode()))
    for one, file in zip(answer["tokenizers"], server.api.files, strict=True):
        assert one["ids"] == file.now().tok(text).ids.tolist()
        assert one["tokens"] == len(one["ids"]) == sum(entry[-1] for entry in one["vocabulary"].values())
        for index, entry in one["vocabulary"].items():
            assert bytes.fromhex(entry[2]) == entry[0].encode("utf-8", "surrogateescape")
            assert bytes.fromhex(entry[2]) == file.now().tok.model.vocab[int(index)]


def test_an_audit_needs_a_tokenizer_that_is_there(server: PageServer) -> None:
    assert asked(server, "POST", "/api/audit", {"tokenizer": 2}).status == 400


def test_a_defect_is_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> list[dict[str, object]]:
        raise ZeroDivisionError("here")

    subwords.train(TEXTS, vocab_size=270).save(tmp_path / "tok.json")
    monkeypatch.setattr(study_page, "audited", fails)
    api = PageApi([TokenizerFile(str(tmp_path / "tok.json"))])
    with PageServer(api, port=0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        answer = asked(found, "POST", "/api/audit", {"tokenizer": 0})
        assert (answer.status, answer.json["error"]) == (500, "unexpected ZeroDivisionError: here")
        found.shutdown()
        thread.join()


def test_a_connection_serves_many_requests(server: PageServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    for _ in range(3):
        body = json.dumps({"text": "low"})
        connection.request("POST", "/api/encode", body, {"Content-Type": "application/json"})
        assert json.loads(connection.getresponse().read())["characters"] == 3
    connection.close()


# --- ports


def test_a_named_port_in_use_is_an_error_that_says_what_to_do(server: PageServer) -> None:
    with pytest.raises(InputError, match=rf"port {server.server_port} cannot be used .* choose another --port"):
        PageServer(PageApi([]), port=server.server_port)


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with PageServer(PageApi([])) as first, PageServer(PageApi([])) as second:
        assert first.server_port < second.server_port < 8440
        assert first.server_address[0] == "127.0.0.1"
