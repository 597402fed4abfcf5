"""The registry's client of the stand-in does what confluent-kafka's own does."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._caches import LatestCache
from ottla.compat.confluent_kafka.schema_registry.error import (
    OAuthTokenError,
    SchemaRegistryError,
)
from ottla.testing import MockRegistry, RegistryFault
from tests.support.registry_layers import (
    NAMES,
    ORIGINAL,
    OURS,
    Layer,
    async_outcome,
    both,
    outcome,
)

FIRST = json.dumps({"type": "record", "name": "A", "fields": [{"name": "id", "type": "long"}]})
OTHER = '{"type": "string"}'
FAST = {"retries.wait.ms": 1, "retries.max.wait.ms": 1}

# Calls with the names of methods; schemas are made by each layer's own class.
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("get_subjects", ()),
    ("get_latest_version", ("a-value",)),
    ("register_schema", ("a-value", FIRST)),
    ("register_schema_full_response", ("a-value", FIRST)),
    ("register_schema", ("b/ü value", FIRST)),
    ("register_schema", ("c-value", OTHER)),
    ("lookup_schema", ("a-value", FIRST)),
    ("lookup_schema", ("a-value", OTHER)),
    ("lookup_schema", ("none-value", OTHER)),
    ("get_schema", (1,)),
    ("get_schema", (1, "a-value")),
    ("get_schema", (77,)),
    ("get_latest_version", ("b/ü value",)),
    ("get_version", ("a-value", 1)),
    ("get_version", ("a-value", "latest")),
    ("get_version", ("a-value", 9)),
    ("get_versions", ("a-value",)),
    ("get_versions", ("none-value",)),
    ("get_schema_types", ()),
    ("get_schema_versions", (1,)),
    ("test_compatibility", ("a-value", FIRST)),
    ("set_compatibility", ("a-value", "full")),
    ("get_compatibility", ("a-value",)),
    ("set_compatibility", ("a-value", None)),
    ("set_config", ("a-value", None)),
    ("get_subjects", ()),
    ("delete_version", ("a-value", 1)),
    ("get_version", ("a-value", 1)),
    ("delete_version", ("a-value", 7)),
]


def arguments(layer: Layer, args: tuple[Any, ...]) -> list[Any]:
    return [layer.Schema(arg) if arg in (FIRST, OTHER) else arg for arg in args]


def test_calls_return_what_the_originals_return() -> None:
    traces = []
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url, **FAST})
            traces.append([outcome(getattr(client, n), *arguments(layer, a)) for n, a in CALLS])
    for call, original, ours in zip(CALLS, *traces, strict=True):
        assert without_guid(ours) == without_guid(original), call


def without_guid(value: Any) -> Any:
    # GUIDs are random.
    return {k: v for k, v in value.items() if k != "guid"} if isinstance(value, dict) else value


def test_calls_of_the_asyncio_client_return_the_same() -> None:
    async def trace(layer: Layer) -> list[Any]:
        with MockRegistry() as registry:
            client = layer.AsyncSchemaRegistryClient({"url": registry.url, **FAST})
            async with client:
                return [
                    await async_outcome(getattr(client, name), *arguments(layer, args))
                    for name, args in CALLS
                ]

    original, ours = asyncio.run(trace(ORIGINAL)), asyncio.run(trace(OURS))
    for call, expected, found in zip(CALLS, original, ours, strict=True):
        assert without_guid(found) == without_guid(expected), call


@both
def test_what_is_known_is_not_asked_for_again(layer: str, mock_registry: MockRegistry) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient({"url": mock_registry.url})
    schema = names.Schema(FIRST)
    for _ in range(3):
        client.register_schema("a-value", schema)
        client.get_schema(1)
        client.lookup_schema("a-value", schema)
        client.get_version("a-value", 1)
        client.get_latest_version("a-value")
    assert len(mock_registry.requests()) == 4
    client.clear_latest_caches()
    client.get_latest_version("a-value")
    assert len(mock_registry.requests()) == 5
    client.clear_caches()
    client.get_schema(1)
    assert len(mock_registry.requests()) == 6


@both
def test_an_outage_is_asked_about_again(layer: str, mock_registry: MockRegistry) -> None:
    client = Layer(layer).SchemaRegistryClient({"url": mock_registry.url, **FAST})
    fault = mock_registry.inject(RegistryFault.status(503), times=3)
    assert client.get_subjects() == []
    assert mock_registry.fault_hits(fault) == 3
    mock_registry.clear_faults()
    mock_registry.inject(RegistryFault.status(503, code=50003, message="later"))
    with pytest.raises(Layer(layer).SchemaRegistryError, match="later") as error:
        client.get_subjects()
    assert (error.value.http_status_code, error.value.error_code) == (503, 50003)


@both
def test_the_next_address_is_asked(layer: str) -> None:
    with MockRegistry() as down, MockRegistry() as up:
        down.stop()
        urls = f"{down.url}, {up.url}"
        client = Layer(layer).SchemaRegistryClient({"url": urls, "max.retries": 1, **FAST})
        assert client.get_subjects() == []
        assert len(up.requests()) == 1


def test_a_registry_that_is_down_is_the_error_that_programs_catch(
    mock_registry: MockRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_registry.stop()
    client = SchemaRegistryClient({"url": mock_registry.url, "max.retries": 1, **FAST})

    class Failure(Exception):
        pass

    library = ModuleType("httpx")
    vars(library).update(dict.fromkeys(("TransportError", "ReadTimeout", "ConnectError"), Failure))
    monkeypatch.setitem(sys.modules, "httpx2", library)
    with pytest.raises(Failure):
        client.get_subjects()
    monkeypatch.delitem(sys.modules, "httpx2")
    monkeypatch.delitem(sys.modules, "httpx", raising=False)
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:"):
        client.get_subjects()


def test_a_silent_registry_ends_with_the_timeout(mock_registry: MockRegistry) -> None:
    conf = {"url": mock_registry.url, "timeout": 0.1, "max.retries": 0}
    mock_registry.inject(RegistryFault.silence())
    with pytest.raises(Exception, match="timed out"):
        SchemaRegistryClient(conf).get_subjects()


def test_an_idle_connection_that_the_registry_closed_is_replaced(
    mock_registry: MockRegistry,
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url, "max.retries": 0})
    assert client.get_subjects() == []
    mock_registry.stop()
    mock_registry.restart()
    assert client.get_subjects() == []


def test_a_child_of_fork_has_connections_of_its_own(
    mock_registry: MockRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    client.get_subjects()
    session = client._rest_client.session
    [[parents]] = session._idle.values()
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert client.get_subjects() == []
    assert parents not in [item for some in session._idle.values() for item in some]
    parents.close()


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"url": 1},
        {"url": "ftp://registry"},
        {"url": "http://registry", "no.such.key": 1},
        {"url": "http://registry", "ssl.key.location": "key.pem"},
        {"url": "http://registry", "basic.auth.user.info": "nocolon"},
        {"url": "http://a:b@registry", "basic.auth.user.info": "c:d"},
        {"url": "http://registry", "max.retries": "3"},
        {"url": "http://registry", "cache.capacity": "3"},
        {"url": "http://registry", "bearer.auth.credentials.source": "NONE"},
        {"url": "http://registry", "bearer.auth.credentials.source": "STATIC_TOKEN"},
        {"url": "http://registry", "bearer.auth.credentials.source": "CUSTOM"},
    ],
)
def test_a_wrong_configuration_is_the_originals_error(conf: dict[str, Any]) -> None:
    errors = []
    for name in NAMES:
        with pytest.raises((ValueError, TypeError)) as error:
            Layer(name).SchemaRegistryClient(dict(conf))
        errors.append(type(error.value))
    assert errors[0] is errors[1]


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


@pytest.mark.parametrize("source", ["configuration", "environment"])
def test_a_proxy_gets_the_requests(
    source: str, mock_registry: MockRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "no_proxy", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    proxy = mock_registry.url.replace("http://", "http://me:s3cret@")
    mock_registry.inject(RegistryFault.body(b'["through"]'))
    conf = {"url": "http://127.0.0.2:9", "max.retries": 0}
    if source == "configuration":
        conf["proxy"] = proxy
    else:
        monkeypatch.setenv("http_proxy", proxy)
    assert SchemaRegistryClient(conf).get_subjects() == ["through"]
    if source == "environment":
        monkeypatch.setenv("no_proxy", "127.0.0.2")
        with pytest.raises(Exception, match=r"127\.0\.0\.2"):
            SchemaRegistryClient(conf).get_subjects()


def test_the_latest_schemas_are_bounded_in_number_and_time() -> None:
    now = [0.0]
    cache = LatestCache(2, 10.0, clock=lambda: now[0])
    for key in "abc":
        cache.set(key, key.upper())
    assert [cache.get(key) for key in "abc"] == [None, "B", "C"]
    now[0] = 10.0
    assert [cache.get(key) for key in "abc"] == [None, None, None]


def test_threads_share_the_connections(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(client.get_subjects())) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[]] * 20
    idle = client._rest_client.session._idle.values()
    assert sum(len(some) for some in idle) <= 8
    client.close()
    client.close()


@both
def test_the_mock_client_is_a_registry_of_its_own(layer: str) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    schema = names.Schema(
        FIRST, metadata=names.Metadata(None, names.MetadataProperties({"a": "b"}), None)
    )
    assert client.register_schema("a-value", schema) == 1
    assert client.register_schema("a-value", names.Schema(OTHER)) == 2
    assert client.get_latest_version("a-value").version == 2
    assert client.get_latest_with_metadata("a-value", {"a": "b"}).version == 1
    assert client.lookup_schema("a-value", schema).version == 1
    assert client.get_versions("a-value") == [1, 2] or layer == NAMES[0]
    client.delete_subject("a-value")
    with pytest.raises(names.SchemaRegistryError):
        client.get_latest_version("a-value")
    assert names.SchemaRegistryClient.new_client({"url": "mock://"}).get_subjects() == []


def test_schemas_are_values() -> None:
    first, second = Schema(FIRST), Schema(FIRST)
    assert first == second
    assert hash(first) == hash(second)
    assert {first: 1}[second] == 1
    assert first != Schema(FIRST, "JSON")
    assert Schema.from_dict(first.to_dict()) == first
