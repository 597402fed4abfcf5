"""Access control of a console: the token, the Host and Origin headers, and the response headers.

Every request passes through here first. Invariants: without the token, a console serves only the
sign-in page, and closes the connection after the response; a page of another site can neither read
responses nor send changes, even if it resolves its own name to this machine (DNS rebinding); the
console's page loads nothing from elsewhere.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ottla.console.connections import CONNECTION

# The page loads everything from the console itself. Scripts may set the styles of elements, but no
# element has a style attribute.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_SIGN_IN = (
    "This console needs its token.\n\n"
    "Open the address that `ottla console` printed, or `serve(...).url`: it contains the token. A "
    "token is valid until its console ends.\n"
)


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Access:
    """The ASGI middleware that admits requests.

    Args:
        app: the application that receives admitted requests.
        token: the token; None admits every request to an allowed host.
        hosts: the host names and addresses under which the console may be used.
        any_address: whether any IP address is allowed, too: DNS rebinding only affects names.
        port: the port, which names the cookie: all ports of a host share their cookies.
        is_encrypted: whether connections have TLS, so that browsers never send the cookie without.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Collection[str],
        any_address: bool,
        port: int,
        is_encrypted: bool = False,
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(host.casefold() for host in hosts)
        self._any_address = any_address
        self._cookie = f"ottla_console_{port}"
        self._is_encrypted = is_encrypted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or respond to it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        response = self._refusal(scope)
        if response is not None and response.status_code != HTTPStatus.SEE_OTHER:
            # A peer that has not shown the token does not keep its connection.
            response.headers["connection"] = "close"
        await (self._app if response is None else response)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response to a request that does not reach the application, or None."""
        headers = Headers(scope=scope)
        if not self._is_served(_host_of(headers.get("host", ""))):
            return PlainTextResponse(
                "The console does not serve this host name; --allow-host adds a name.\n",
                status_code=421,
            )
        if not self._same_origin(scope, headers):
            return PlainTextResponse("Requests of other sites are refused.\n", status_code=403)
        if self._token is None:
            return self._no_room(scope)
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        given = dict(query).get("token")
        if given is not None and scope["method"] == "GET" and scope["path"] == "/":
            return self._sign_in(given, [pair for pair in query if pair[0] != "token"])
        if self._is_token(self._cookie_of(headers)) or self._is_token(_bearer_of(headers)):
            return self._no_room(scope)
        return PlainTextResponse(_SIGN_IN, status_code=401)

    def _no_room(self, scope: Scope) -> Response | None:
        """Admit the connection of a request, or return the response to one connection too many."""
        connection = scope.get(CONNECTION)
        if connection is None or connection.admit():
            return None
        return PlainTextResponse(
            "The console has too many connections: close some of its pages.\n", status_code=503
        )

    def _is_served(self, host: str | None) -> bool:
        if host is None:
            return False
        return host in self._hosts or (self._any_address and _is_address(host))

    def _same_origin(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request comes from the console's own page, or from no page."""
        if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"} and (
            # A link on another page may lead here, but it is useless without the token.
            scope["method"] != "GET" or headers.get("sec-fetch-mode") != "navigate"
        ):
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        try:
            netloc = urlsplit(origin).netloc
        except ValueError:  # such as half of an address' brackets
            return False
        return netloc.casefold() == headers.get("host", "").casefold()

    def _sign_in(self, given: str, rest: list[tuple[str, str]]) -> Response:
        """Store a valid token in a cookie, and remove it from the address."""
        if not self._is_token(given):
            return PlainTextResponse(_SIGN_IN, status_code=401)
        response = RedirectResponse(f"/?{urlencode(rest)}" if rest else "/", status_code=303)
        # The cookie is not "strict": the redirect must send it even if a link on another page led
        # here. Such a link is the only request with the cookie that other sites can cause.
        response.set_cookie(
            self._cookie,
            given,
            httponly=True,
            samesite="lax",
            path="/",
            secure=self._is_encrypted,
        )
        return response

    def _is_token(self, given: str | None) -> bool:
        assert self._token is not None, "the console has a token"
        return given is not None and secrets.compare_digest(given.encode(), self._token.encode())

    def _cookie_of(self, headers: Headers) -> str | None:
        # All ports of a host share its cookies, and other applications' cookies may be malformed.
        return cookie_parser(headers.get("cookie", "")).get(self._cookie)


def _bearer_of(headers: Headers) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.casefold() == "bearer" else None


def _host_of(header: str) -> str | None:
    """Return the host of a Host header without its port; None if it is malformed."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
