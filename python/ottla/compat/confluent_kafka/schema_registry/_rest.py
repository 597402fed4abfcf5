"""Requests to a registry: its addresses in turn, repetitions with a pause, and errors of
responses.

An address that does not respond, or says that it cannot now, is asked again up to ``max.retries``
times, and then the next one is. A response that refuses the request is a ``SchemaRegistryError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry import _token_config, _transport
from ottla.compat.confluent_kafka.schema_registry._backoff import (
    full_jitter,
    is_retriable,
    is_success,
)
from ottla.compat.confluent_kafka.schema_registry._rest_config import read_rest_config
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry.error import SchemaRegistryError

_JSON = "application/vnd.schemaregistry.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.schemaregistry+json, application/json"
_CLUSTER_FIELDS = ("bearer.auth.token", "bearer.auth.logical.cluster")


class _BaseRestClient:
    """What both twins share: the configuration, and the steps of a request."""

    session: Any
    _sleep: Callable[[float], Any]
    _providers: ClassVar[dict[str, type[Any]]]

    def __init__(self, conf: dict[str, Any]) -> None:
        config = read_rest_config(conf)
        self._config = config
        self.base_urls = config.base_urls
        self.max_retries = config.max_retries
        self.retries_wait_ms = config.retries_wait_ms
        self.retries_max_wait_ms = config.retries_max_wait_ms
        self.cache_capacity = config.cache_capacity
        self.cache_latest_ttl_sec = config.cache_latest_ttl_sec
        self.bearer_auth_credentials_source = config.rest.pop(
            "bearer.auth.credentials.source", None
        )
        self.bearer_field_provider = self._provider(config.rest)
        if config.rest:
            raise ValueError(f"Unrecognized properties: {', '.join(config.rest)}")

    def _session_settings(self) -> dict[str, Any]:
        config = self._config
        return {
            "verify": config.verify,
            "auth": config.auth,
            "proxy": config.proxy,
            "timeout": config.timeout,
        }

    def _provider(self, conf: dict[str, Any]) -> Any:
        source = self.bearer_auth_credentials_source
        if source is None:
            return None
        if source not in self._providers:
            raise ValueError("Unrecognized bearer.auth.credentials.source")
        create = self._providers[source]
        if source == "CUSTOM":
            return create(*_token_config.take_custom(conf))
        cluster, pool = _token_config.take_cluster(conf)
        waits = (self.max_retries, self.retries_wait_ms, self.retries_max_wait_ms)
        if source == "STATIC_TOKEN":
            return create(_token_config.take_static(conf), cluster, pool)
        if source == "OAUTHBEARER":
            return create(*_token_config.take_client(conf), cluster, *waits, pool)
        return create(_token_config.take_azure_endpoint(conf), cluster, pool, *waits)

    def _authorize(self, headers: dict[str, str]) -> Steps[None]:
        if self.bearer_field_provider is None:
            raise ValueError("Bearer field provider is not set")
        fields = yield self.bearer_field_provider.get_bearer_fields()
        missing = [field for field in _CLUSTER_FIELDS if field not in fields]
        if missing:
            raise ValueError(
                "Missing required bearer auth fields, needs to be set in config or custom"
                f" function: {', '.join(missing)}"
            )
        headers["Authorization"] = f"Bearer {fields['bearer.auth.token']}"
        headers["target-sr-cluster"] = fields["bearer.auth.logical.cluster"]
        if "bearer.auth.identity.pool.id" in fields:
            headers["Confluent-Identity-Pool-Id"] = fields["bearer.auth.identity.pool.id"]

    def _request(
        self, url: str, method: str, body: dict[str, Any] | None, query: dict[str, Any] | None
    ) -> Steps[Any]:
        headers = {"Accept": _ACCEPT}
        content = None
        if body is not None:
            content = json.dumps(body)
            headers["Content-Type"] = _JSON
            headers["Confluent-Accept-Unknown-Properties"] = "true"
        if self.bearer_auth_credentials_source:
            yield from self._authorize(headers)
        last = len(self.base_urls) - 1
        response = None
        for index, base_url in enumerate(self.base_urls):
            address = f"{base_url.rstrip('/')}/{url.lstrip('/')}"
            try:
                response = yield from self._attempts(method, address, headers, content, query)
            except _transport.transport_errors():
                if index == last:
                    raise
                continue
            if not is_retriable(response.status_code):
                break
        if response is not None and is_success(response.status_code):
            return response.json() if response.content else None
        raise _refusal(response)

    def _attempts(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        content: str | None,
        query: dict[str, Any] | None,
    ) -> Steps[Any]:
        for attempt in range(self.max_retries + 1):
            response = None
            try:
                response = yield self.session.request(
                    method, url=address, headers=headers, content=content, params=query
                )
            except _transport.transport_errors():
                if attempt >= self.max_retries:
                    raise
            else:
                if not is_retriable(response.status_code) or attempt >= self.max_retries:
                    break
            pause = full_jitter(self.retries_wait_ms, self.retries_max_wait_ms, attempt)
            yield self._sleep(pause / 1000)
        return response


def _refusal(response: Any) -> SchemaRegistryError:
    if response is None:
        return SchemaRegistryError(0, -1, "no address responded")
    status = response.status_code
    try:
        body = response.json()
        return SchemaRegistryError(status, body.get("error_code"), body.get("message"))
    except (ValueError, AttributeError):
        text = f"Unknown Schema Registry Error: {response.content[:1000]!r}"
        return SchemaRegistryError(status, -1, text)
