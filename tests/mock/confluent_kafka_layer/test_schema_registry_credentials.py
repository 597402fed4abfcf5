"""The credentials of the stand-in's registry client: they are sent, and never shown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    SchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry.error import (
    OAuthTokenError,
    SchemaRegistryError,
)
from ottla.testing import MockRegistry, RegistryFault

FAST = {"retries.wait.ms": 1, "retries.max.wait.ms": 1}


def test_credentials_are_sent_and_never_shown() -> None:
    with MockRegistry(user_info="user:s3cret") as registry:
        host = registry.url.removeprefix("http://")
        for conf in (
            {"url": f"http://user:s3cret@{host}"},
            {"url": registry.url, "basic.auth.user.info": "user:s3cret"},
        ):
            client = SchemaRegistryClient(conf)
            assert client.get_subjects() == []
            assert "s3cret" not in repr(client._rest_client._config)
        wrong = SchemaRegistryClient({"url": f"http://user:wr0ng@{host}"})
        with pytest.raises(SchemaRegistryError) as error:
            wrong.get_subjects()
        assert error.value.http_status_code == 401
        assert "wr0ng" not in str(error.value)
        registry.stop()
        client = SchemaRegistryClient({**conf, "max.retries": 0})
        with pytest.raises(Exception, match=r"127\.0\.0\.1") as unreachable:
            client.get_subjects()
        assert "s3cret" not in str(unreachable.value)
    with pytest.raises(ValueError, match="Invalid url") as invalid:
        SchemaRegistryClient({"url": "user:s3cret@registry"})
    assert "s3cret" not in str(invalid.value)


def test_a_token_of_the_application_is_sent() -> None:
    def fields(config: dict[str, Any]) -> dict[str, Any]:
        return {"bearer.auth.token": config["token"], "bearer.auth.logical.cluster": "lsrc-1"}

    with MockRegistry(token="t0ken") as registry:
        conf = {
            "url": registry.url,
            "bearer.auth.credentials.source": "CUSTOM",
            "bearer.auth.custom.provider.function": fields,
            "bearer.auth.custom.provider.config": {"token": "t0ken"},
        }
        assert SchemaRegistryClient(conf).get_subjects() == []

        async def ask() -> Any:
            async def coroutine(config: dict[str, Any]) -> dict[str, Any]:
                return fields(config)

            key = "bearer.auth.custom.provider.function"
            async with AsyncSchemaRegistryClient({**conf, key: coroutine}) as client:
                return await client.get_subjects()

        assert asyncio.run(ask()) == []


@pytest.mark.parametrize("twin", ["blocking", "asyncio"])
def test_a_token_is_fetched_and_kept(twin: str) -> None:
    token = json.dumps({"access_token": "t0ken", "expires_in": 3600}).encode()
    with MockRegistry(token="t0ken") as registry, MockRegistry() as provider:
        provider.inject(RegistryFault.status(503), times=1)
        provider.inject(RegistryFault.body(token), method="POST", path="/token")
        conf = {
            "url": registry.url,
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.logical.cluster": "lsrc-1",
            "bearer.auth.client.id": "me",
            "bearer.auth.client.secret": "s3cret",
            "bearer.auth.scope": "all",
            "bearer.auth.issuer.endpoint.url": f"{provider.url}/token",
            **FAST,
        }

        async def ask() -> list[Any]:
            async with AsyncSchemaRegistryClient(conf) as client:
                return [await client.get_subjects() for _ in range(3)]

        if twin == "asyncio":
            assert asyncio.run(ask()) == [[], [], []]
        else:
            client = SchemaRegistryClient(conf)
            assert [client.get_subjects() for _ in range(3)] == [[], [], []]
            assert "s3cret" not in repr(vars(client._rest_client.bearer_field_provider))
        assert len(provider.requests()) == 2


def test_no_token_is_an_error_without_secrets(mock_registry: MockRegistry) -> None:
    mock_registry.inject(RegistryFault.status(401, code=401, message="s3cret is wrong"))
    conf = {
        "url": mock_registry.url,
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.client.id": "me",
        "bearer.auth.client.secret": "s3cret",
        "bearer.auth.scope": "all",
        "bearer.auth.issuer.endpoint.url": f"{mock_registry.url}/token",
        "max.retries": 1,
        **FAST,
    }
    with pytest.raises(OAuthTokenError, match="HTTP 401") as error:
        SchemaRegistryClient(conf).get_subjects()
    assert "s3cret" not in str(error.value)
