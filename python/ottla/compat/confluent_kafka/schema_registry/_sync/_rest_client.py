# Made by tools/twins.py from ../_async/_rest_client.py: change that file.
"""The requests of the blocking client. Their steps are those of ``_rest``."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._rest import _BaseRestClient
from ottla.compat.confluent_kafka.schema_registry._steps import run
from ottla.compat.confluent_kafka.schema_registry._sync import _tokens
from ottla.compat.confluent_kafka.schema_registry._transport import Session


class _RestClient(_BaseRestClient):
    """Requests of the blocking client.

    Args:
        conf: the configuration of the registry client.
    """

    _sleep = staticmethod(lambda seconds: time.sleep(seconds))
    _providers: ClassVar[dict[str, type[Any]]] = {
        "OAUTHBEARER": _tokens._OAuthClient,
        "OAUTHBEARER_AZURE_IMDS": _tokens._OAuthAzureIMDSClient,
        "STATIC_TOKEN": _tokens._StaticFieldProvider,
        "CUSTOM": _tokens._CustomOAuthClient,
    }

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
        self.session = Session(**self._session_settings())

    def handle_bearer_auth(self, headers: dict[str, str]) -> None:
        """Add the headers of a token."""
        run(self._authorize(headers))

    def get(self, url: str, query: dict[str, Any] | None = None) -> Any:
        """Send a GET request, and return the JSON of the response."""
        return self.send_request(url, method="GET", query=query)

    def post(
        self, url: str, body: dict[str, Any] | None, query: dict[str, Any] | None = None
    ) -> Any:
        """Send a POST request, and return the JSON of the response."""
        return self.send_request(url, method="POST", body=body, query=query)

    def delete(self, url: str, query: dict[str, Any] | None = None) -> Any:
        """Send a DELETE request, and return the JSON of the response."""
        return self.send_request(url, method="DELETE", query=query)

    def put(
        self,
        url: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send a PUT request, and return the JSON of the response."""
        return self.send_request(url, method="PUT", body=body, query=query)

    def send_request(
        self,
        url: str,
        method: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send a request, and return the JSON of the response."""
        return run(self._request(url, method, body, query))
