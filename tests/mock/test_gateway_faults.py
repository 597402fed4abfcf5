"""Faults at a gateway: what only a link has, and faults over HTTP."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import confluent_kafka
import pytest

import ottla
from ottla.errors import ConfigError
from ottla.testing import Fault, Gateway, MockCluster
from tests.support.arrow import values
from tests.support.command import ottla_here
from tests.support.console import TIMEOUT
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until


@pytest.fixture
def gateway(mock_cluster: MockCluster) -> Iterator[Gateway]:
    mock_cluster.create_topic("t", partitions=3)
    with Gateway(mock_cluster.bootstrap) as gateway:
        yield gateway


def _kinds(gateway: Gateway) -> list[str]:
    return [event.kind for event in gateway.events() if event.kind.startswith("fault")]


def test_a_frozen_broker_delays_its_clients_and_no_others(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    frozen = mock_cluster.leader("t", 0)
    config = {"linger.ms": 0, "request.timeout.ms": 500, "enable.idempotence": True}
    with ottla.Producer(gateway.bootstrap, config) as producer:
        for partition in range(3):
            producer.send("t", b"before", partition=partition).result(timeout=30)
        # They are kept from here on.
        assert not gateway.ended()
        fault = gateway.inject(Fault.freeze(), broker=frozen)
        waiting = producer.send("t", b"after", partition=0)
        for partition in (1, 2):
            producer.send("t", b"after", partition=partition).result(timeout=30)
        wait_until(lambda: gateway.fault_hits(fault) >= 1)
        # It times out, and connects again, as to a broker whose machine hangs.
        wait_until(lambda: any(one.broker == frozen for one in gateway.ended()))
        wait_until(lambda: any(one.broker == frozen for one in gateway.connections()))
        assert not waiting.done()
        assert gateway.remove_fault(fault)
        assert waiting.result(timeout=30).partition == 0
    written = values(ottla.scan("t", mock_cluster.bootstrap))
    assert (written.count(b"before"), written.count(b"after"), len(written)) == (3, 3, 6)
    kinds = _kinds(gateway)
    assert kinds[0] == "fault_injected"
    assert {*kinds} == {"fault_injected", "fault_hit", "fault_removed"}


def test_a_connection_that_is_cut_in_the_middle_of_records(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    expected = [b"%06d" % n * 100 for n in range(1000)]
    mock_cluster.append("t", 0, expected)
    fault = gateway.inject(Fault.cut(100_000), api="Fetch", times=2)
    assert values(ottla.scan("t", gateway.bootstrap, timeout=60)) == expected
    assert gateway.fault_hits(fault) == 2
    assert gateway.totals().faults == {"cut": 2}


def test_a_slow_link(mock_cluster: MockCluster, gateway: Gateway) -> None:
    mock_cluster.append("t", 0, [b"x" * 20_000])
    gateway.inject(Fault.slow(40_000), api="Fetch")
    started = time.monotonic()
    assert len(values(ottla.scan("t", gateway.bootstrap, timeout=60))) == 1
    assert time.monotonic() - started >= 0.4


def test_a_lost_response_doubles_nothing_with_idempotence(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    fault = gateway.inject(Fault.disconnect("after"), api="Produce", client_id="careful", times=3)
    sent = [b"%d" % n for n in range(20)]
    config = {"enable.idempotence": True, "linger.ms": 0, "client.id": "careful"}
    with ottla.Producer(gateway.bootstrap, config) as producer:
        for value in sent:
            producer.send("t", value, partition=0).result(timeout=60)
    assert gateway.fault_hits(fault) == 3
    assert values(ottla.scan("t", mock_cluster.bootstrap)) == sent


def test_a_lost_response_of_librdkafka_doubles_nothing(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    fault = gateway.inject(Fault.disconnect("after"), api="Produce", topic="t", times=2)
    config: dict[str, Any] = {"bootstrap.servers": gateway.bootstrap, "enable.idempotence": True}
    producer = confluent_kafka.Producer({**config, "reconnect.backoff.ms": 10})
    sent = [b"%d" % n for n in range(20)]
    for value in sent:
        producer.produce("t", value, partition=0)
        assert producer.flush(TIMEOUT) == 0
    assert gateway.fault_hits(fault) == 2
    assert values(ottla.scan("t", mock_cluster.bootstrap)) == sent


def test_a_consumer_whose_commits_fail(mock_cluster: MockCluster, gateway: Gateway) -> None:
    mock_cluster.append("t", 0, [b"v"])
    gateway.inject(Fault.error("COORDINATOR_LOAD_IN_PROGRESS"), api="OffsetCommit", times=3)
    gateway.inject(Fault.error("REBALANCE_IN_PROGRESS"), api="Heartbeat", times=1)
    with ottla.Consumer(
        gateway.bootstrap, topics=["t"], group_id="g", auto_offset_reset="earliest"
    ) as consumer:
        records: list[Any] = []

        def has_read() -> bool:
            records.extend(consumer.poll(timeout=0.2))
            return bool(records)

        wait_until(has_read)
        consumer.commit()
    assert mock_cluster.committed("g")["t", 0] == 1
    assert gateway.totals().errors["OffsetCommit"].keys() == {"COORDINATOR_LOAD_IN_PROGRESS"}


def test_what_a_fault_cannot_be(mock_cluster: MockCluster, gateway: Gateway) -> None:
    for fault in (Fault.move_leader(2), Fault.omit_partition(0)):
        with pytest.raises(ConfigError, match="which changes the cluster"):
            gateway.inject(fault)
    with pytest.raises(ConfigError, match="its only condition is broker"):
        gateway.inject(Fault.freeze(), api="Fetch")
    for fault in (Fault.cut(1), Fault.slow(1), Fault.freeze()):
        with pytest.raises(ConfigError, match=r"inject it into an ottla\.testing\.Gateway"):
            mock_cluster.inject(fault)
    assert not gateway.remove_fault(7)


def _ask(
    address: str, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, str]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection(address, timeout=30)) as connection:
        connection.request(method, path, body, given)
        response = connection.getresponse()
        return response.status, response.read().decode()


_JSON = {"content_type": "application/json"}


def test_faults_over_http(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t")
    options = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--allow-faults", "--json"]
    command = [sys.executable, "-m", "ottla", "gateway", mock_cluster.bootstrap, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "this gateway allows faults" in process.stderr.readline()
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        status = addresses["status"]
        text = json.dumps({"api": "Produce", "times": 1, "disconnect": "after"})
        # What a page could send.
        assert _ask(status, "POST", "/faults", text)[0] == 415
        assert _ask(status, "POST", "/faults", text, **_JSON, origin="https://x.example")[0] == 403
        assert _ask(status, "POST", "/faults", text, **_JSON, host="evil.example.com")[0] == 403
        assert _ask(status, "POST", "/faults", "x" * 70_000, **_JSON)[0] == 413
        assert _ask(status, "POST", "/totals", text, **_JSON)[0] == 405
        code, message = _ask(status, "POST", "/faults", '{"api": "Prodduce"}', **_JSON)
        assert (code, "is not the name of an API" in message) == (400, True)
        assert _ask(status, "GET", "/faults") == (200, "[]")

        code, injected = _ask(status, "POST", "/faults", text, **_JSON)
        assert (code, json.loads(injected)) == (201, {**json.loads(text), "id": 0, "hits": 0})
        with ottla.Producer(addresses["bootstrap"], {"enable.idempotence": True}) as producer:
            producer.send("t", b"v").result(timeout=60)
        [fault] = json.loads(_ask(status, "GET", "/faults")[1])
        assert fault["hits"] == 1
        metrics = _ask(status, "GET", "/metrics")[1]
        assert 'kafka_gateway_faults_total{fault="disconnect"} 1.0' in metrics
        assert _ask(status, "DELETE", "/faults?id=0")[0] == 200
        assert _ask(status, "DELETE", "/faults?id=0")[0] == 404
        for query in ("id=", "id=x", "id=-1", "id=99999999999999999999", "x=1"):
            assert _ask(status, "DELETE", f"/faults?{query}")[0] == 400
        assert json.loads(_ask(status, "DELETE", "/faults")[1]) == {"removed": 0}
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
    assert values(ottla.scan("t", mock_cluster.bootstrap)) == [b"v"]


def test_faults_are_not_allowed_without_being_asked_for(mock_cluster: MockCluster) -> None:
    for options, message in [
        (["--allow-faults"], "give the address with --status"),
        (["--allow-faults", "--status", "0.0.0.0:0"], "--allow-remote-faults"),
        (["--allow-remote-faults"], "give the address with --status"),
    ]:
        found = ottla_here("gateway", mock_cluster.bootstrap, "--listen", "127.0.0.1:0", *options)
        assert found.code == 2, found.err
        assert message in " ".join(found.err.split())
