"""A worker's clients: one per configuration, never across a fork, none blocks another."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ottla.errors import BootstrapError, ConfigError
from ottla.spark import clients, protocols
from ottla.spark.options.read_options import parse_batch_options
from tests.spark.fake_client import FakeClient


def log_of(*ends: tuple[int, int]) -> FakeClient:
    return FakeClient({("t", number): end for number, end in enumerate(ends)})


@pytest.fixture(autouse=True)
def no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_clients", type(clients._clients)())


def test_one_client_per_process_and_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str | None] = []

    def connect(config: Mapping[str, str], hint: str | None) -> protocols.Client:
        made.append(hint)
        return log_of((0, 1))

    monkeypatch.setattr(clients, "_connect", connect)
    first = clients.client_for({"bootstrap.servers": "b:1"}, hint="one:9092")
    assert clients.client_for({"bootstrap.servers": "b:1"}, hint="two:9092") is first
    assert clients.client_for({"bootstrap.servers": "c:1"}) is not first
    assert made == ["one:9092", None]
    for number in range(20):
        clients.client_for({"bootstrap.servers": f"d:{number}"})
    assert len(clients._clients) == clients._MAX_CLIENTS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # other tests leave threads
def test_a_client_is_not_used_after_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_connect", lambda *_: log_of((0, 1)))
    config = {"bootstrap.servers": "b:1"}
    parents = clients.client_for(config)
    child = os.fork()
    if child == 0:
        fresh = clients.client_for(config) is not parents
        kept = any(cached.client is parents for cached in clients._inherited)
        os._exit(0 if fresh and kept else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert clients.client_for(config) is parents


def test_java_key_stores_are_rejected_with_the_command_to_convert_them(tmp_path: Path) -> None:
    store = tmp_path / "client.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    options = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.keystore.location": str(store),
        "kafka.ssl.keystore.password": "hunter2",
        "subscribe": "t",
    }
    with pytest.raises(ConfigError, match=r"is a JKS store.*keytool -importkeystore") as caught:
        clients.client_for(parse_batch_options(options).common.kafka)
    assert "hunter2" not in str(caught.value)


def test_connecting_blocks_no_other_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    connecting, responded = threading.Event(), threading.Event()
    made: list[str] = []

    def connect(config: Mapping[str, str], hint: str | None) -> protocols.Client:
        made.append(config["bootstrap.servers"])
        if config["bootstrap.servers"] == "unreachable:1":
            connecting.set()
            assert responded.wait(60)
        return log_of((0, 1))

    monkeypatch.setattr(clients, "_connect", connect)
    monkeypatch.setattr(clients, "_make_producer", lambda client: client)
    unreachable = {"bootstrap.servers": "unreachable:1"}
    with ThreadPoolExecutor(3) as pool:
        slow: list[Future[Any]] = [
            pool.submit(clients.client_for, unreachable),
            pool.submit(clients.producer_for, unreachable),
        ]
        assert connecting.wait(60)
        try:
            clients.client_for({"bootstrap.servers": "there:1"})
            clients.producer_for({"bootstrap.servers": "there:1"})
        finally:
            responded.set()
        # Callers that want the same client wait, and get the same one.
        first, second = (future.result(timeout=60) for future in slow)
    assert first is second
    assert made == ["unreachable:1", "there:1"]


def test_a_failed_connect_can_be_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[FakeClient | Exception] = [BootstrapError("no broker responds"), log_of((0, 1))]

    def connect(*_: object) -> protocols.Client:
        answer = results.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(clients, "_connect", connect)
    config = {"bootstrap.servers": "b:1"}
    with pytest.raises(BootstrapError):
        clients.client_for(config)
    assert clients.client_for(config) is clients.client_for(config)
    assert results == []
