"""The requests of the stand-in's registry client: outages, addresses, connections, proxies."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry import SchemaRegistryClient
from ottla.testing import MockRegistry, RegistryFault
from tests.support.registry_layers import Layer, both

FAST = {"retries.wait.ms": 1, "retries.max.wait.ms": 1}


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
