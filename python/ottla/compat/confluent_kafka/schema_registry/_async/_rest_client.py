"""The requests of the asyncio client. Their steps are those of ``_rest``."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._async import _tokens
from ottla.compat.confluent_kafka.schema_registry._rest import _BaseRestClient
from ottla.compat.confluent_kafka.schema_registry._steps import run_async
from ottla.compat.confluent_kafka.schema_registry._transport import AsyncSession


class _AsyncRestClient(_BaseRestClient):
    """Requests of the asyncio client.

    Args:
        conf: the configuration of the registry client.
    """

    _sleep = staticmethod(lambda seconds: asyncio.sleep(seconds))
    _providers: ClassVar[dict[str, type[Any]]] = {
        "OAUTHBEARER": _tokens._AsyncOAuthClient,
        "OAUTHBEARER_AZURE_IMDS": _tokens._AsyncOAuthAzureIMDSClient,
        "STATIC_TOKEN": _tokens._AsyncStaticFieldProvider,
        "CUSTOM": _tokens._AsyncCustomOAuthClient,
    }

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
        self.session = AsyncSession(**self._session_settings())

    async def handle_bearer_auth(self, headers: dict[str, str]) -> None:
        """Add the headers of a token."""
        await run_async(self._authorize(headers))

    async def get(self, url: str, query: dict[str, Any] | None = None) -> Any:
        """Send a GET request, and return the JSON of the response."""
        return await self.send_request(url, method="GET", query=query)

    async def post(
        self, url: str, body: dict[str, Any] | None, query: dict[str, Any] | None = None
    ) -> Any:
        """Send a POST request, and return the JSON of the response."""
        return await self.send_request(url, method="POST", body=body, query=query)

    async def delete(self, url: str, query: dict[str, Any] | None = None) -> Any:
        """Send a DELETE request, and return the JSON of the response."""
        return await self.send_request(url, method="DELETE", query=query)

    async def put(
        self,
        url: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send a PUT request, and return the JSON of the response."""
        return await self.send_request(url, method="PUT", body=body, query=query)

    async def send_request(
        self,
        url: str,
        method: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send a request, and return the JSON of the response."""
        return await run_async(self._request(url, method, body, query))
