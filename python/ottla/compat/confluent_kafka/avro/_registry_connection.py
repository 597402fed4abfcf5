"""The deprecated registry client's address, credentials and requests, from its configuration.

The password of a URL is sent as a header, and is in no URL from then on.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from ottla.compat.confluent_kafka.schema_registry._rest_config import tls_context
from ottla.compat.confluent_kafka.schema_registry._transport import Session

VALID_AUTH_PROVIDERS = ["URL", "USER_INFO", "SASL_INHERIT"]
_JSON = "application/vnd.schemaregistry.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.schemaregistry+json, application/json"


class RegistryConnection:
    """The address, and a session made at the first request: only then are certificates read.

    Args:
        conf: the configuration; what is read is removed.

    Raises:
        ValueError: a value is invalid.
        TypeError: the URL is not a text.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        address = conf.pop("url", "")
        if not isinstance(address, str):
            raise TypeError("URL must be of type str")
        if not address.startswith("http"):
            raise ValueError("Invalid URL provided for Schema Registry")
        parts = urlsplit(address.rstrip("/"))
        self.auth = _read_auth(parts, conf)
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        keys = ("ssl.certificate.location", "ssl.key.location")
        certificate, key = (conf.pop(name, None) for name in keys)
        if bool(certificate) != bool(key):
            raise ValueError(
                f"Both schema.registry.{keys[0]} and schema.registry.{keys[1]} must be set"
            )
        self.cert = (certificate, key)
        self._tls = {
            "ca": conf.pop("ssl.ca.location", None),
            "key": key,
            "password": conf.pop("ssl.key.password", None),
            "certificate": certificate,
        }
        self._secure = parts.scheme == "https"
        self._session: Session | None = None

    def request(
        self, method: str, *path: str, body: dict[str, Any] | None = None
    ) -> tuple[Any, int]:
        """Send a request, and return the response's JSON, or else its bytes, and its status."""
        url = "/".join([self.url, *(quote(part, safe="") for part in path)])
        headers = {"Accept": _ACCEPT}
        content = None
        if body is not None:
            headers["Content-Type"] = _JSON
            content = json.dumps(body)
        response = self._connect().request(method, url, headers=headers, content=content)
        try:
            return response.json(), response.status_code
        except ValueError:
            # A proxy's page, for example.
            return response.content, response.status_code

    def _connect(self) -> Session:
        if self._session is None:
            verify = tls_context(**self._tls) if self._secure else None
            auth = self.auth if self.auth != ("", "") else None
            self._session = Session(verify=verify, auth=auth, libraries=("requests",))
        return self._session

    def close(self) -> None:
        """Close the idle connections."""
        if self._session is not None:
            self._session.close()


def _read_auth(parts: SplitResult, conf: dict[str, Any]) -> tuple[str, str]:
    source = conf.pop("basic.auth.credentials.source", "URL").upper()
    if source not in VALID_AUTH_PROVIDERS:
        raise ValueError(
            f"schema.registry.basic.auth.credentials.source must be one of {VALID_AUTH_PROVIDERS}"
        )
    if source == "SASL_INHERIT":
        if conf.pop("sasl.mechanism", "").upper() == "GSSAPI":
            raise ValueError("SASL_INHERIT does not support SASL mechanism GSSAPI")
        return conf.pop("sasl.username", ""), conf.pop("sasl.password", "")
    if source == "USER_INFO":
        user, _, password = conf.pop("basic.auth.user.info", "").partition(":")
        return user, password
    return unquote(parts.username or ""), unquote(parts.password or "")
