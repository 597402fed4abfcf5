"""Tokens for OAUTHBEARER from the application's ``oauth_cb``, or unsecured ones for tests.

Invariant: no token reaches an error or a log.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka._errors import raise_invalid

TokenSource: TypeAlias = Callable[[], Any]


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
        return lambda: _token_of(oauth_cb(text))
    if str(own["sasl.oauthbearer.method"] or "default").lower() == "oidc":
        return None
    if str(own["enable.sasl.oauthbearer.unsecure.jwt"]).lower() in ("true", "t", "1"):
        claims = _parameters(text)
        return lambda: _unsecured(claims)
    return None


def _token_of(result: Any) -> Any:
    token, expiry, *rest = result
    extensions = rest[1] if len(rest) > 1 else None
    return token, float(expiry), extensions


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
