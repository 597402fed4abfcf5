# Made by tools/twins.py from ../_async/_tokens.py: change that file.
"""The blocking providers of tokens for the registry. Their steps are those of ``_token_source``."""

from __future__ import annotations

import time
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._steps import run
from ottla.compat.confluent_kafka.schema_registry._token_config import bearer_fields
from ottla.compat.confluent_kafka.schema_registry._token_source import (
    AzureSource,
    OpenIdSource,
    TokenSource,
)
from ottla.compat.confluent_kafka.schema_registry._transport import Session


class _BearerFieldProvider(metaclass=ABCMeta):
    @abstractmethod
    def get_bearer_fields(self) -> dict[str, Any]:
        """Return the token, the logical cluster and, if there are some, the identity pools."""


class _StaticFieldProvider(_BearerFieldProvider):
    """A fixed token."""

    def __init__(self, token: str, logical_cluster: str, identity_pool: str | None = None) -> None:
        self.token = token
        self.logical_cluster = logical_cluster
        self.identity_pool = identity_pool

    def get_bearer_fields(self) -> dict[str, Any]:
        return bearer_fields(self.token, self.logical_cluster, self.identity_pool)


class _Source(TokenSource, _BearerFieldProvider):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.session = Session()

    def get_bearer_fields(self) -> dict[str, Any]:
        return self._fields(self.get_access_token())

    def get_access_token(self) -> str:
        if not self.token or self.token_expired():
            self.generate_access_token()
        return self.token

    def fetch_token(self) -> str:
        return run(self._fetch())

    def generate_access_token(self) -> None:
        run(self._renew(self.fetch_token, time.sleep))


class _OAuthClient(_Source, OpenIdSource):
    """Tokens of an OpenID provider."""


class _OAuthAzureIMDSClient(_Source, AzureSource):
    """Tokens of Azure's metadata service."""


class _CustomOAuthClient(_BearerFieldProvider):
    """Tokens of the application's own function."""

    def __init__(
        self, custom_function: Callable[[dict[str, Any]], Any], custom_config: dict[str, Any]
    ) -> None:
        self.custom_function = custom_function
        self.custom_config = custom_config

    def get_bearer_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.custom_function(self.custom_config)
        return fields
