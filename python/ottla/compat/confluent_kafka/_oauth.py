"""Tokens for OAUTHBEARER from the application's ``oauth_cb``, or unsecured ones for tests.

Invariant: no token reaches an error or a log.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka._errors import failure, raise_invalid
from ottla.error_code import ErrorCode

TokenSource: TypeAlias = Callable[[], Any]

# The part of a token's lifetime after which it is refreshed, and the fewest seconds.
_REFRESH_AFTER, _LEAST = 0.8, 0.1

# Seconds after a failed refresh, as in librdkafka.
_RETRY = 10.0

_LOG = logging.getLogger("ottla.compat")


def token_source(
    own: Mapping[str, Any], oauth_cb: Callable[[str], Any] | None
) -> TokenSource | None:
    """Return the callable for ottla's ``sasl_oauth_token``; None if the configuration has none.

    Args:
        own: the keys ``sasl.oauthbearer.config``, ``sasl.oauthbearer.method`` and
            ``enable.sasl.oauthbearer.unsecure.jwt``.
        oauth_cb: the application's callback: it takes the first of these and returns a token, its
            expiry in seconds since 1970, and optionally a principal and extensions.
    """
    text = str(own["sasl.oauthbearer.config"] or "")
    if oauth_cb is not None:
        return CallbackTokens(oauth_cb, text)
    if str(own["sasl.oauthbearer.method"] or "default").lower() == "oidc":
        return None
    if str(own["enable.sasl.oauthbearer.unsecure.jwt"]).lower() in ("true", "t", "1"):
        claims = _parameters(text)
        return lambda: _unsecured(claims)
    return None


class CallbackTokens:
    """The tokens of an application's callback, refreshed in the background as in librdkafka.

    The first one is fetched when the client is made; each next one after most of the lifetime.

    Raises:
        KafkaException: the callback has failed.
    """

    def __init__(self, callback: Callable[[str], Any], text: str) -> None:
        self._callback = callback
        self._text = text
        self._closed = threading.Event()
        try:
            self._token: Any = self._next()
        except Exception as error:
            reason = f"oauth_cb has returned no token: {type(error).__name__}"
            raise failure(ErrorCode.SASL_AUTHENTICATION_FAILED, reason) from error
        arguments = (weakref.ref(self), self._closed)
        threading.Thread(target=_refresh, args=arguments, daemon=True).start()

    def __call__(self) -> Any:
        """Return a token that is valid."""
        if self._token[1] <= time.time():
            self._token = self._next()
        return self._token

    def refresh(self) -> None:
        """Get the next token."""
        self._token = self._next()

    def lifetime(self) -> float:
        """Return the seconds for which the token is valid."""
        return max(float(self._token[1]) - time.time(), 0.0)

    def close(self) -> None:
        """Stop refreshing."""
        self._closed.set()

    def _next(self) -> Any:
        token, expiry, *rest = self._callback(self._text)
        extensions = rest[1] if len(rest) > 1 else None
        return token, float(expiry), extensions


def _refresh(tokens: weakref.ref[CallbackTokens], closed: threading.Event) -> None:
    """Refresh tokens until the client is closed or gone."""
    pause = 0.0
    while True:
        found = tokens()
        if found is None:
            return
        pause = pause or max(found.lifetime() * _REFRESH_AFTER, _LEAST)
        del found
        if closed.wait(pause):
            return
        found = tokens()
        if found is None:
            return
        pause = 0.0
        try:
            found.refresh()
        except Exception as error:  # noqa: BLE001 - whatever the application raises
            _LOG.warning("oauth_cb has failed: %s", type(error).__name__)
            pause = _RETRY


def _parameters(text: str) -> dict[str, str]:
    """Parse ``name=value`` pairs, as librdkafka's built-in handler for unsecured tokens does."""
    found = {}
    for part in text.split():
        name, separator, value = part.partition("=")
        if not separator:
            raise_invalid("sasl.oauthbearer.config: expected name=value pairs")
        found[name] = value
    if "principal" not in found:
        raise_invalid("sasl.oauthbearer.config: there is no principal")
    return found


def _unsecured(parameters: Mapping[str, str]) -> Any:
    lifetime = float(parameters.get("lifeSeconds", "3600"))
    now = time.time()
    claims: dict[str, Any] = {
        parameters.get("principalClaimName", "sub"): parameters["principal"],
        "iat": now,
        "exp": now + lifetime,
    }
    if "scope" in parameters:
        claims[parameters.get("scopeClaimName", "scope")] = parameters["scope"].split(",")
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    token = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."
    prefix = "extension_"
    extensions = {n[len(prefix) :]: v for n, v in parameters.items() if n.startswith(prefix)}
    return token, now + lifetime, extensions or None
