"""An OpenID Connect provider in a thread: serves keys, and tokens for a client id and secret.

with TokenServer() as server:
    server.token_url, server.jwks_url
    with server.over_tls(identity, directory) as token_url: ...
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.security.certificates import Identity

CLIENT_ID, CLIENT_SECRET = "ottla-tests", "s3cr3t of the /token+server"
AUDIENCE, SCOPE = "kafka", "brokers"


def encode(raw: bytes) -> str:
    """Encode as URL-safe Base64 without padding, as in tokens."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsecured_token(subject: str, lifetime: float = 60) -> str:
    """Return an unsigned token, which Kafka's development validator accepts."""
    now = time.time()
    # In whole seconds, as servers issue them: by the broker's millisecond clock, a token issued at
    # this very moment could be from the future.
    claims = {"sub": subject, "iat": int(now), "exp": now + lifetime}
    return f"{encode(json.dumps({'alg': 'none'}).encode())}.{encode(json.dumps(claims).encode())}."


class TokenServer:
    """Serves /jwks and /token on loopback until it is closed."""

    def __init__(self, lifetime: int = 60) -> None:
        self.lifetime = lifetime
        self.issued = 0
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._respond(*outer._keys(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                self._respond(*outer._token(self.path, self.headers.get("Authorization", ""), body))

            def _respond(self, status: int, document: dict[str, Any]) -> None:
                raw = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                """Log nothing: pytest's output is for tests."""

        self._handler = Handler
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.token_url, self.jwks_url = f"{self.issuer}/token", f"{self.issuer}/jwks"

    def issue(self, subject: str, audience: str = AUDIENCE, lifetime: float | None = None) -> str:
        """Return a signed token."""
        now = time.time()
        claims = {
            "sub": subject,
            "iss": self.issuer,
            "aud": audience,
            "scope": SCOPE,
            "iat": int(now),
            "exp": int(now + (self.lifetime if lifetime is None else lifetime)),
        }
        head = {"alg": "RS256", "kid": "one", "typ": "JWT"}
        signed = f"{encode(json.dumps(head).encode())}.{encode(json.dumps(claims).encode())}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encode(signature)}"

    @contextmanager
    def over_tls(self, identity: Identity, directory: Path) -> Iterator[str]:
        """Also serve over https with this certificate; yield the token URL."""
        pem = directory / "token-server.pem"
        pem.write_text(identity.key() + identity.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server = _Tls(context, self._handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}/token"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> TokenServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keys(self, path: str) -> tuple[int, dict[str, Any]]:
        if path != "/jwks":
            return 404, {}
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one"}
        return 200, {"keys": [{**key, "n": _number(public.n), "e": _number(public.e)}]}

    def _token(self, path: str, authorization: str, body: str) -> tuple[int, dict[str, Any]]:
        form = parse_qs(body)
        if path != "/token" or form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        # RFC 6749 (2.3.1) requires form encoding of both parts; not all clients apply it.
        _, _, encoded = authorization.partition("Basic ")
        credentials = base64.b64decode(encoded).decode()
        if f"{CLIENT_ID}:{CLIENT_SECRET}" not in (credentials, unquote_plus(credentials)):
            return 401, {"error": "invalid_client", "error_description": "wrong client secret"}
        self.issued += 1
        token = self.issue("service")
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}


class _Tls(ThreadingHTTPServer):
    """HTTP over TLS on loopback."""

    def __init__(self, context: ssl.SSLContext, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        # Each connection's thread performs the handshake at its first read.
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def handle_error(
        self, request: socket.socket | tuple[bytes, socket.socket], where: Any
    ) -> None:
        """Ignore errors: clients that do not trust the certificate disconnect."""


def _number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))
