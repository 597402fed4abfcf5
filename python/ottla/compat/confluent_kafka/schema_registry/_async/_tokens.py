"""The asyncio providers of tokens for the registry. Their steps are those of ``_token_source``."""

from __future__ import annotations

import asyncio
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._steps import run_async
from ottla.compat.confluent_kafka.schema_registry._token_config import bearer_fields
from ottla.compat.confluent_kafka.schema_registry._token_source import (
    AzureSource,
    OpenIdSource,
    TokenSource,
)
from ottla.compat.confluent_kafka.schema_registry._transport import AsyncSession


class _AsyncBearerFieldProvider(metaclass=ABCMeta):
    @abstractmethod
    async def get_bearer_fields(self) -> dict[str, Any]:
        """Return the token, the logical cluster and, if there are some, the identity pools."""


class _AsyncStaticFieldProvider(_AsyncBearerFieldProvider):
    """A fixed token."""

    def __init__(self, token: str, logical_cluster: str, identity_pool: str | None = None) -> None:
        self.token = token
        self.logical_cluster = logical_cluster
        self.identity_pool = identity_pool

    async def get_bearer_fields(self) -> dict[str, Any]:
        return bearer_fields(self.token, self.logical_cluster, self.identity_pool)


class _AsyncSource(TokenSource, _AsyncBearerFieldProvider):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.session = AsyncSession()

    async def get_bearer_fields(self) -> dict[str, Any]:
        return self._fields(await self.get_access_token())

    async def get_access_token(self) -> str:
        if not self.token or self.token_expired():
            await self.generate_access_token()
        return self.token

    async def fetch_token(self) -> str:
        return await run_async(self._fetch())

    async def generate_access_token(self) -> None:
        await run_async(self._renew(self.fetch_token, asyncio.sleep))


class _AsyncOAuthClient(_AsyncSource, OpenIdSource):
    """Tokens of an OpenID provider."""


class _AsyncOAuthAzureIMDSClient(_AsyncSource, AzureSource):
    """Tokens of Azure's metadata service."""


class _AsyncCustomOAuthClient(_AsyncBearerFieldProvider):
    """Tokens of the application's own function."""

    def __init__(
        self, custom_function: Callable[[dict[str, Any]], Any], custom_config: dict[str, Any]
    ) -> None:
        self.custom_function = custom_function
        self.custom_config = custom_config

    async def get_bearer_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = await self.custom_function(self.custom_config)
        return fields
