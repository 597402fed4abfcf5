"""The connections and events of gateways, from the addresses of their status.

Invariant: what a gateway responds is bounded in bytes and time, and checked before it is shown; a
gateway that does not respond hides nothing of the others.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from ottla._internal.arguments import names
from ottla.errors import ConfigError

_TIMEOUT = 5.0
# Some 60,000 connections.
_MAX_BYTES = 64 * 1024 * 1024
# An address that the operator gave is asked itself, not a proxy of the environment.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def gateway_urls(given: Sequence[str]) -> tuple[str, ...]:
    """Return the URLs of gateways' status, without a slash at their ends.

    Raises:
        ConfigError: one is no URL of HTTP.
    """
    urls = names("gateways", given)
    for url in urls:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        whole = parts.scheme in {"http", "https"} and parts.hostname and port != 0
        if not whole or parts.query or parts.fragment or parts.username is not None:
            raise ConfigError(
                "gateways: expected the address of a gateway's --status, such as "
                f"http://127.0.0.1:19091, got {_without_user(url)!r}"
            )
    return tuple(url.rstrip("/") for url in urls)


def _without_user(url: str) -> str:
    return url.rpartition("@")[2]


def fetch(url: str) -> dict[str, Any]:
    """Return the connections and the events of a gateway, or its ``problem``."""
    try:
        connections, events = (_rows(f"{url}/{path}") for path in ("connections", "events"))
    except (OSError, HTTPException, ValueError) as error:
        return {"url": url, "connections": [], "events": [], "problem": f"{url}: {error}"}
    return {"url": url, "connections": connections, "events": events, "problem": None}


def _rows(url: str) -> list[dict[str, Any]]:
    with _OPENER.open(url, timeout=_TIMEOUT) as response:
        body = response.read(_MAX_BYTES + 1)
    if len(body) > _MAX_BYTES:
        raise ValueError(f"the response has more than {_MAX_BYTES} bytes")
    rows = json.loads(body)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("this is no status of a gateway")
    return rows


def row_of(connection: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return what the page shows of a connection."""
    errors = {
        code: sum(codes.get(code, 0) for codes in connection["errors"].values())
        for code in sorted({code for codes in connection["errors"].values() for code in codes})
    }
    kept = ("id", "peer", "broker", "roles", "client_id", "software", "user", "in_flight", "age")
    return {
        **{name: connection[name] for name in kept},
        "gateway": url,
        "names": [*connection["groups"], *connection["transactional_ids"]],
        "requests": sum(connection["requests"].values()),
        "by_api": connection["requests"],
        "bytes": connection["received"] + connection["sent"],
        "throttled": connection["throttled"],
        "errors": errors,
        "last_error": connection["last_error"],
    }
