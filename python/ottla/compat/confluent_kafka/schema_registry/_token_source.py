"""Tokens for the registry: fetched from an OpenID provider or from Azure, and renewed in time.

A token is renewed when a fifth of its life is left. A provider that fails is asked again, as often
as a registry is, with a pause before each attempt. No error shows the secret or the token.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from ottla.compat.confluent_kafka.schema_registry import _transport
from ottla.compat.confluent_kafka.schema_registry._backoff import full_jitter
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._token_config import bearer_fields
from ottla.compat.confluent_kafka.schema_registry.error import OAuthTokenError


@dataclass
class _Client:
    """The client that the OpenID provider knows."""

    client_id: str
    client_secret: str = field(repr=False)
    scope: str


class TokenSource:
    """A token and its renewal, for both twins.

    Args:
        logical_cluster: the registry's logical cluster.
        max_retries: how often a provider that fails is asked again.
        retries_wait_ms: the pause before the first repetition, in milliseconds.
        retries_max_wait_ms: the longest pause, in milliseconds.
        identity_pool: identity pools, separated by commas; None for none.
    """

    session: Any

    def __init__(
        self,
        logical_cluster: str,
        max_retries: int,
        retries_wait_ms: int,
        retries_max_wait_ms: int,
        identity_pool: str | None = None,
    ) -> None:
        self.logical_cluster = logical_cluster
        self.identity_pool = identity_pool
        self.max_retries = max_retries
        self.retries_wait_ms = retries_wait_ms
        self.retries_max_wait_ms = retries_max_wait_ms
        self.token = ""
        self.token_object: dict[str, Any] = {}
        self.token_expiry_threshold = 0.8

    @abstractmethod
    def token_expired(self) -> bool:
        """Return whether the token is to be renewed."""

    @abstractmethod
    def _request(self) -> Any:
        """Send the request for a token."""

    def _expires(self, key: str) -> bool:
        rest = int(self.token_object["expires_in"]) * (1 - self.token_expiry_threshold)
        return float(self.token_object[key]) < time.time() + rest

    def _fetch(self) -> Steps[str]:
        response = yield self._request()
        if response.status_code != 200:
            raise OAuthTokenError("the endpoint refused the request", response.status_code)
        self.token_object = response.json()
        if "expires_in" in self.token_object:
            lifetime = float(self.token_object["expires_in"])
            self.token_object.setdefault("expires_at", time.time() + lifetime)
        token: str = self.token_object["access_token"]
        return token

    def _renew(self, fetch: Callable[[], Any], sleep: Callable[[float], Any]) -> Steps[None]:
        for attempt in range(self.max_retries + 1):
            try:
                self.token = yield fetch()
            except Exception as error:
                if attempt >= self.max_retries:
                    raise OAuthTokenError(
                        f"no token after {self.max_retries} repetitions: {error}"
                    ) from error
            else:
                return
            yield sleep(full_jitter(self.retries_wait_ms, self.retries_max_wait_ms, attempt) / 1000)

    def _fields(self, token: str) -> dict[str, Any]:
        return bearer_fields(token, self.logical_cluster, self.identity_pool)


class OpenIdSource(TokenSource):
    """Tokens of an OpenID provider; the settings are those of ``TokenSource``."""

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        scope: str,
        token_endpoint: str,
        *settings: Any,
        **named_settings: Any,
    ) -> None:
        super().__init__(*settings, **named_settings)
        self.client = _Client(client_id, client_secret, scope)
        self.token_endpoint = token_endpoint

    def token_expired(self) -> bool:
        """Return whether the token is to be renewed."""
        return self._expires("expires_at")

    def _request(self) -> Any:
        form = {"grant_type": "client_credentials", "scope": self.client.scope}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        _transport.BasicAuth(self.client.client_id, self.client.client_secret).apply(headers)
        return self.session.request(
            "POST", self.token_endpoint, headers=headers, content=urlencode(form)
        )


class AzureSource(TokenSource):
    """Tokens of Azure's metadata service; the retries are those of ``TokenSource``."""

    def __init__(
        self,
        token_endpoint: str,
        logical_cluster: str,
        identity_pool: str | None,
        *retries: Any,
        **named_retries: Any,
    ) -> None:
        super().__init__(logical_cluster, *retries, **named_retries)
        self.identity_pool = identity_pool
        self.token_endpoint = token_endpoint

    def token_expired(self) -> bool:
        """Return whether the token is to be renewed."""
        return self._expires("expires_on")

    def _request(self) -> Any:
        return self.session.request("GET", self.token_endpoint, headers={"Metadata": "true"})
