"""The local page over HTTP: a server on 127.0.0.1 that refuses requests from other sites."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from subwords.errors import InputError, SubwordsError
from subwords.study.page_api import PageApi
from subwords.study.page_files import page_files

__all__ = ["FIRST_PORT", "PageServer"]

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
