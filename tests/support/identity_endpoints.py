"""Stand-ins for the endpoints of identities: metadata servers and token services on loopback.

    with identity_endpoint(respond) as endpoint:
        endpoint.url, endpoint.requests

``respond`` takes a request and returns a status, and a JSON document or a text.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from tests.security.certificates import Authority
from tests.security.token_server import encode


@dataclass(frozen=True)
class Seen:
    """A request that arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str]


Answer: TypeAlias = tuple[int, Any] | tuple[int, Any, Mapping[str, str]]
Respond: TypeAlias = Callable[[Seen], Answer]


@dataclass
class Endpoint:
    """A server, and the requests that it got."""

    url: str
    requests: list[Seen] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


@contextmanager
def identity_endpoint(
    respond: Respond, authority: Authority | None = None, directory: Path | None = None
) -> Iterator[Endpoint]:
    """Serve until the block ends; over TLS with a certificate of this authority, if one is passed.

    Args:
        respond: returns the status and the body, and optionally headers, for a request.
        authority: issues the certificate for ``localhost``.
        directory: a directory for it.
    """
    endpoint = Endpoint("")

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            query, form = dict(parse_qsl(parts.query)), dict(parse_qsl(body))
            seen = Seen(str(self.command), parts.path, query, headers, form)
            endpoint.requests.append(seen)
            try:
                status, document, *more = respond(seen)
            except BaseException as error:
                endpoint.failures.append(error)
                raise
            is_text = isinstance(document, str)
            text = document if is_text else json.dumps(document)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if is_text else "application/json")
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = _serve  # noqa: N815  # the names of http.server

        def log_message(self, *_: Any) -> None:
            """Log nothing: pytest's output is for tests."""

    server = _Server(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}"
    if authority is not None:
        assert directory is not None
        issued = authority.issue("endpoint", ["localhost"])
        pem = directory / "endpoint.pem"
        pem.write_text(issued.key() + issued.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        endpoint.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        # More to the point than the client's error, which follows from it.
        if endpoint.failures:
            raise endpoint.failures[0]


def service_account_token(subject: str, lifetime: float = 600, audience: str = "kafka") -> str:
    """Return a token as the kubelet writes it, with a signature of no key."""
    claims = {"sub": subject, "aud": [audience], "exp": int(time.time() + lifetime)}
    parts = ({"alg": "RS256"}, claims)
    return ".".join([*(encode(json.dumps(part).encode()) for part in parts), encode(b"signature")])
