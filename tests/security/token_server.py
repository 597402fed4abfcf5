"""An OpenID Connect provider in a thread: serves keys, and tokens for a secret or an assertion.

with TokenServer() as server:
    server.token_url, server.jwks_url
    server.client_key = key.public_key()  # of the client that signs assertions
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

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.security.certificates import Identity

CLIENT_ID, CLIENT_SECRET = "ottla-tests", "s3cr3t of the /token+server"
AUDIENCE, SCOPE = "kafka", "brokers"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

ClientKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


def encode(raw: bytes) -> str:
    """Encode as URL-safe Base64 without padding, as in tokens."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decode what `encode` returns."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def unsecured_token(subject: str, lifetime: float = 60) -> str:
    """Return an unsigned token, which Kafka's development validator accepts."""
    now = time.time()
    # In whole seconds, as servers issue them: by the broker's millisecond clock, a token issued at
    # this very moment could be from the future.
    claims = {"sub": subject, "iat": int(now), "exp": now + lifetime}
    return f"{encode(json.dumps({'alg': 'none'}).encode())}.{encode(json.dumps(claims).encode())}."


class TokenServer:
    """Serves /jwks and /token on loopback until it is closed."""

    def __init__(self, lifetime: int = 60, token: str | None = None) -> None:
        """Serve tokens that live for so many seconds: those that it signs, or a fixed one."""
        self.lifetime = lifetime
        self.issued = 0
        self.client_key: ClientKey | None = None
        # In seconds; what the header Date and the checks of assertions go by.
        self.clock_ahead = 0.0
        # The HTTP headers of all requests; the forms and assertions (header and claims) of valid
        # ones.
        self.http_headers: list[dict[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.assertions: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._token_text = token
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._respond(*outer._keys(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                outer.http_headers.append({k.lower(): v for k, v in self.headers.items()})
                self._respond(*outer._token(self.path, self.headers.get("Authorization", ""), body))

            def _respond(self, status: int, document: dict[str, Any]) -> None:
                raw = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def date_time_string(self, timestamp: float | None = None) -> str:
                """Return the time of the header Date."""
                now = time.time() if timestamp is None else timestamp
                return super().date_time_string(now + outer.clock_ahead)

            def log_message(self, *_: Any) -> None:
                """Log nothing: pytest's output is for tests."""

        self._handler = Handler
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.token_url, self.jwks_url = f"{self.issuer}/token", f"{self.issuer}/jwks"

    def issue(
        self,
        subject: str,
        audience: str = AUDIENCE,
        lifetime: float | None = None,
        **more: object,
    ) -> str:
        """Return a signed token, with more claims if they are given."""
        now = time.time()
        claims = {
            "sub": subject,
            "iss": self.issuer,
            "aud": audience,
            "scope": SCOPE,
            "iat": int(now),
            "exp": int(now + (self.lifetime if lifetime is None else lifetime)),
            **more,
        }
        head = {"alg": "RS256", "kid": "one", "typ": "JWT"}
        signed = f"{encode(json.dumps(head).encode())}.{encode(json.dumps(claims).encode())}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
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
        public = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one"}
        return 200, {"keys": [{**key, "n": _number(public.n), "e": _number(public.e)}]}

    def _token(self, path: str, authorization: str, body: str) -> tuple[int, dict[str, Any]]:
        form = {name: values[0] for name, values in parse_qs(body).items()}
        grant = form.get("grant_type")
        if path != "/token" or grant not in ("client_credentials", JWT_BEARER):
            return 400, {"error": "unsupported_grant_type"}
        if grant == JWT_BEARER:
            refusal = self._check_assertion(form.get("assertion", ""))
            error = "invalid_grant"
        elif "client_assertion" in form:
            refusal = self._check_assertion(form["client_assertion"])
            if form.get("client_assertion_type") != CLIENT_ASSERTION:
                refusal = "unknown type of assertion"
            error = "invalid_client"
        else:
            refusal, error = _check_secret(authorization), "invalid_client"
        if refusal:
            return 401 if error == "invalid_client" else 400, {
                "error": error,
                "error_description": refusal,
            }
        self.issued += 1
        self.forms.append(form)
        token = self._token_text or self.issue("service")
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}

    def _check_assertion(self, assertion: str) -> str:
        """Return why an assertion is refused, as servers word it; nothing if it is valid."""
        signed, _, signature = assertion.rpartition(".")
        try:
            header, claims = (json.loads(decode(part)) for part in signed.split("."))
            self._verify(header["alg"], decode(signature), signed.encode())
        except InvalidSignature:
            return "the signature is wrong"
        except (ValueError, KeyError):
            return "the assertion is malformed"
        now = time.time() + self.clock_ahead
        if claims["iat"] > now + 5 or claims["nbf"] > now + 5:
            return "the assertion is from the future"
        if claims["exp"] <= now:
            return "the assertion has expired"
        if claims["aud"] != self.token_url:
            return "the audience is another server"
        self.assertions.append((header, claims))
        return ""

    def _verify(self, algorithm: str, signature: bytes, signed: bytes) -> None:
        key = self.client_key
        if algorithm == "RS256" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        elif algorithm == "ES256" and isinstance(key, ec.EllipticCurvePublicKey):
            if len(signature) != 64:
                raise InvalidSignature
            numbers = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
            key.verify(encode_dss_signature(*numbers), signed, ec.ECDSA(hashes.SHA256()))
        else:
            raise InvalidSignature


def _check_secret(authorization: str) -> str:
    # RFC 6749 (2.3.1) requires form encoding of both parts; not all clients apply it.
    _, _, encoded = authorization.partition("Basic ")
    credentials = base64.b64decode(encoded).decode()
    is_right = f"{CLIENT_ID}:{CLIENT_SECRET}" in (credentials, unquote_plus(credentials))
    return "" if is_right else "wrong client secret"


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
