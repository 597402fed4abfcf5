"""What a gateway shows of the clients behind it, while they are there and once they are gone."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import ottla
from ottla._core import Gateway as Core
from ottla._core import GatewayAccessLog, GatewayStatus
from ottla.gateway import GatewayConnection, GatewayEvent
from ottla.testing import Fault, Gateway, MockCluster
from tests.support.console import TIMEOUT
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until


@pytest.fixture
def gateway(mock_cluster: MockCluster) -> Iterator[Gateway]:
    mock_cluster.create_topic("t", partitions=3)
    with Gateway(mock_cluster.bootstrap) as gateway:
        yield gateway


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_moves_its_coordinator(
    gateway: Gateway, mock_cluster: MockCluster, protocol: str
) -> None:
    before = mock_cluster.coordinator("billing")
    assert before is not None
    after = 1 + before % 3
    config = {"group.protocol": protocol, "client.id": "billing-3"}
    with ottla.Consumer(gateway.bootstrap, group_id="billing", config=config) as consumer:
        consumer.subscribe(["t"])
        wait_until(lambda: consumer.poll(timeout=0.1) is not None and consumer.assignment())
        members = [one for one in gateway.connections() if "group" in one.roles]
        assert [(one.broker, one.groups) for one in members] == [(before, ("billing",))]
        mock_cluster.move_coordinator("billing", after)

        def moved() -> list[GatewayEvent]:
            consumer.poll(timeout=0.1)
            return [event for event in gateway.events() if event.kind == "coordinator_moved"]

        wait_until(moved)
        (event,) = moved()
    assert (event.broker, event.name, event.client_id) == (after, "billing", "billing-3")
    text = f"'billing' moved its coordinator from broker {before} to {after} (client 'billing-3' at"
    assert str(event).startswith(text)


def test_transactions_and_errors(gateway: Gateway, mock_cluster: MockCluster) -> None:
    assert gateway.ended() == []
    mock_cluster.inject(Fault.error("NOT_ENOUGH_REPLICAS"), api="Produce", times=1)
    mock_cluster.inject(Fault.throttle(30), api="Produce", skip=1, times=1)
    config = {"client.id": "copier"}
    with ottla.Producer(gateway.bootstrap, transactional_id="copy", config=config) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send("t", value=b"1", partition=0)
        (coordinator,) = [one for one in gateway.connections() if "transaction" in one.roles]
        assert coordinator.transactional_ids == ("copy",)
        (leader,) = [one for one in gateway.connections() if "Produce" in one.requests]
        assert leader.errors == {"Produce": {"NOT_ENOUGH_REPLICAS": 1}}
        assert leader.last_error is not None
        assert (leader.last_error.api, leader.last_error.code) == ("Produce", "NOT_ENOUGH_REPLICAS")
        assert leader.throttled == pytest.approx(0.03)
        assert leader.idle is not None
        assert (leader.client_id, leader.in_flight, leader.end) == ("copier", 0, None)
    ended: dict[int, GatewayConnection] = {}

    def all_ended() -> bool:
        ended.update((one.id, one) for one in gateway.ended())
        return not gateway.connections()

    wait_until(all_ended)
    # Those that ended between the two looks.
    ended.update((one.id, one) for one in gateway.ended())
    assert ended[leader.id].end == "the client closed the connection"
    totals = gateway.totals()
    assert totals.errors["Produce"] == {"NOT_ENOUGH_REPLICAS": 1}
    assert (totals.open, totals.accepted) == (0, len(ended))
    assert totals.received == sum(one.received for one in ended.values())
    assert totals.requests["Produce"] == 2


def test_administration(gateway: Gateway) -> None:
    with ottla.Admin(gateway.bootstrap) as admin:
        admin.create_topics([ottla.admin.NewTopic("u")])
        assert any("admin" in one.roles for one in gateway.connections())


def _get(address: str, path: str, host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={} if host is None else {"host": host})
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_status_and_access_log_of_the_command(mock_cluster: MockCluster, tmp_path: Path) -> None:
    mock_cluster.create_topic("t")
    log = tmp_path / "access.jsonl"
    options = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--access-log", str(log)]
    command = [sys.executable, "-m", "ottla", "gateway", mock_cluster.bootstrap, *options, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        # The document has a line for each field, and ends with its bracket.
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        status = addresses["status"]
        with ottla.Producer(addresses["bootstrap"], config={"client.id": "billing"}) as producer:
            producer.send("t", value=b"1").result()
            connections = json.loads(_get(status, "/connections")[1])
            assert {one["client_id"] for one in connections} == {"billing"}
            assert json.loads(_get(status, "/totals")[1])["requests"]["Produce"] == 1
            assert _get(status, "/brokers") == (
                200,
                json.dumps({"bootstrap": addresses["bootstrap"], "brokers": addresses["brokers"]}),
            )
            [joined, *_] = json.loads(_get(status, "/events")[1])
            assert joined["kind"] == "broker_joined"
            assert "joined the cluster" in joined["text"]
            assert json.loads(_get(status, "/events?after=1000000")[1]) == []
            samples = {
                (sample.name, *sample.labels.values()): sample.value
                for family in text_string_to_metric_families(_get(status, "/metrics")[1])
                for sample in family.samples
            }
            assert samples["kafka_gateway_requests_total", "Produce"] == 1
            assert samples["kafka_gateway_connections_by_role", "data"] >= 1
        assert _get(status, "/events?after=x") == (
            400,
            "after: expected the number of an event, got 'x'\n",
        )
        assert _get(status, "/") == (
            404,
            "there are: /brokers /connections /events /faults /metrics /ready /totals\n",
        )
        assert _get(status, "/ready") == (200, "ready\n")
        # A page whose name leads to loopback gets nothing.
        assert _get(status, "/connections", host="evil.example.com")[0] == 403
        assert _get(status, "/totals", host="localhost:1")[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    produced = [line for line in lines if "Produce" in line["requests"]]
    assert [(line["client_id"], line["end"]) for line in produced] == [
        ("billing", "the client closed the connection")
    ]
    assert mock_cluster.bootstrap not in log.read_text()


def test_a_hang_up_reads_the_configuration_again(mock_cluster: MockCluster, tmp_path: Path) -> None:
    settings = tmp_path / "cluster.properties"
    settings.write_text(f"bootstrap.servers={mock_cluster.bootstrap}\n")
    options = ["--listen", "127.0.0.1:0", "--config", str(settings), "--json"]
    command = [sys.executable, "-m", "ottla", "gateway", *options]
    with (
        MockCluster(brokers=1) as other,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        with ottla.Producer(addresses["bootstrap"]) as producer:
            mock_cluster.create_topic("t")
            settings.write_text("linger.ms=soon\n")
            process.send_signal(signal.SIGHUP)
            refused = json.loads(process.stderr.readline())
            assert refused["severity"] == "warning"
            assert "nothing was changed" in refused["message"]
            settings.write_text(f"bootstrap.servers={other.bootstrap}\n")
            process.send_signal(signal.SIGHUP)
            applied = json.loads(process.stderr.readline())
            assert (applied["severity"], applied["message"]) == (
                "info",
                "the configuration and all files were read again",
            )
            # A connection that is open stays where it is.
            producer.send("t", value=b"1").result()

        def is_other() -> bool:
            with ottla.Client(addresses["bootstrap"]) as client:
                return len(client.cluster().brokers) == 1

        wait_until(is_other)
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130


def test_a_gateway_that_drains_says_so_and_only_another_end_cuts_it_short(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    mock_cluster.create_topic("t")
    log = tmp_path / "access.jsonl"
    options = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--access-log", str(log)]
    command = [sys.executable, "-m", "ottla", "gateway", mock_cluster.bootstrap, *options, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        status = addresses["status"]
        producer = ottla.Producer(addresses["bootstrap"], {"delivery.timeout.ms": 60_000})
        fault = mock_cluster.inject(Fault.delay(3600), api="Produce")
        producer.send("t", value=b"1")
        wait_until(lambda: mock_cluster.fault_hits(fault) == 1)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: _get(status, "/ready") == (503, "the gateway ends\n"))
        process.send_signal(signal.SIGHUP)
        assert "kafka_gateway_requests_in_flight{} 1.0" in _get(status, "/metrics")[1]
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 128 + signal.SIGTERM
        assert "cut off, after" in json.loads(errors)["message"]
        with pytest.raises(ottla.KafkaError):
            producer.close(timeout=0)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    produced = [line["end"] for line in lines if "Produce" in line["requests"]]
    assert produced == ["it was cut off"]


@pytest.mark.parametrize("answers", [True, False])
def test_a_gateway_without_credentials_is_ready_if_the_cluster_answers(answers: bool) -> None:
    with (
        MockCluster(brokers=1, users={"a": "b"}) as cluster,
        closing(
            Core(
                {"bootstrap.servers": cluster.bootstrap if answers else "127.0.0.1:1"},
                listen=("127.0.0.1", 0),
                advertised_host="localhost",
            )
        ) as gateway,
        closing(GatewayStatus(gateway, "127.0.0.1", 0)) as server,
    ):
        if answers:
            wait_until(lambda: _get(server.address, "/ready") == (200, "ready\n"))
        else:
            wait_until(lambda: "cluster_lost" in gateway.events(0))
            assert _get(server.address, "/ready") == (503, "no broker is known\n")


def test_a_hang_up_mends_a_start_that_waits_for_a_wrong_address(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    settings = tmp_path / "cluster.properties"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.write_text(f"bootstrap.servers=127.0.0.1:{silent.getsockname()[1]}\n")
        options = ["--listen", "127.0.0.1:0", "--config", str(settings), "--json"]
        command = [sys.executable, "-m", "ottla", "gateway", *options]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
        ) as process:
            assert process.stdout is not None
            connection, _ = silent.accept()
            settings.write_text(f"bootstrap.servers={mock_cluster.bootstrap}\n")
            process.send_signal(signal.SIGHUP)
            addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
            assert [one["id"] for one in addresses["brokers"]] == [1, 2, 3]
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=TIMEOUT)
            connection.close()
    said = [json.loads(line)["message"] for line in errors.splitlines()]
    said = [message for message in said if not message.startswith("waiting for ")]
    assert said == ["the configuration and all files were read again"]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _connect_and_end(gateway: Gateway, count: int) -> None:
    """Let clients connect, and wait until their connections have ended."""
    before = gateway.totals().accepted
    for _ in range(count):
        socket.create_connection(_address(gateway.bootstrap)).close()
    wait_until(lambda: gateway.totals().accepted == before + count and not gateway.connections())


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "access log" in record.message]


def test_an_access_log_that_cannot_be_written_says_what_is_missing(
    gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    log = GatewayAccessLog(gateway._core, path)
    os.close(reader)
    for count in (2, 1):
        _connect_and_end(gateway, count)
        assert log.flush(TIMEOUT)
    wait_until(lambda: _warnings(caplog))
    [warning] = _warnings(caplog)
    assert warning.endswith(f"missing in it: {path}: Broken pipe")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    _connect_and_end(gateway, 1)
    assert log.flush(TIMEOUT)
    missing, line = map(json.loads, os.read(reader, 1 << 16).splitlines())
    assert missing == {"missing": 3}
    assert line["end"] == "the client closed the connection"
    os.close(reader)
    _connect_and_end(gateway, 1)
    assert log.flush(TIMEOUT)
    wait_until(lambda: len(_warnings(caplog)) == 2)


def test_an_access_log_on_a_full_disk(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    log = GatewayAccessLog(gateway._core, Path("/dev/full"))
    _connect_and_end(gateway, 1)
    assert log.flush(TIMEOUT)
    wait_until(lambda: _warnings(caplog))
    [warning] = _warnings(caplog)
    assert warning.endswith("/dev/full: No space left on device")


def test_an_access_log_that_is_renamed_goes_on_under_its_name(
    gateway: Gateway, tmp_path: Path
) -> None:
    path, older = tmp_path / "log", tmp_path / "log.1"
    log = GatewayAccessLog(gateway._core, path)
    _connect_and_end(gateway, 1)
    path.rename(older)
    log.reopen()
    _connect_and_end(gateway, 2)
    assert log.flush(TIMEOUT)
    assert [len(file.read_text().splitlines()) for file in (older, path)] == [1, 2]


def test_a_reader_of_the_access_log_that_stalls_does_not_hold_up_the_end(
    mock_cluster: MockCluster,
) -> None:
    options = ["--listen", "127.0.0.1:0", "--access-log", "-", "--json"]
    command = [sys.executable, "-m", "ottla", "gateway", mock_cluster.bootstrap, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        pipe = process.stderr.fileno()
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(50):
            socket.create_connection(_address(addresses["bootstrap"])).close()
        unread = array("i", [0])

        def is_full() -> bool:
            fcntl.ioctl(pipe, termios.FIONREAD, unread)
            return unread[0] > 3000

        wait_until(is_full)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) == 128 + signal.SIGTERM


@pytest.mark.parametrize("log", ["/dev/full", "-"])
def test_a_gateway_outlives_its_access_log(mock_cluster: MockCluster, log: str) -> None:
    mock_cluster.create_topic("t")
    options = ["--listen", "127.0.0.1:0", "--access-log", log, "--json"]
    command = [sys.executable, "-m", "ottla", "gateway", mock_cluster.bootstrap, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        addresses = json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        if log == "-":
            # A pipe without a reader.
            process.stderr.close()
        address = _address(addresses["bootstrap"])
        socket.create_connection(address).close()
        if log != "-":
            assert "access log cannot be written" in process.stderr.readline()
        with ottla.Producer(addresses["bootstrap"]) as producer:
            producer.send("t", value=b"1").result()
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130


def test_a_status_at_all_addresses_refuses_names_of_pages(gateway: Gateway) -> None:
    with closing(GatewayStatus(gateway._core, "::", 0)) as server:
        port = server.address.rpartition(":")[2]
        for loopback in (f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert _get(loopback, "/totals", host="evil.example.com")[0] == 403
            assert _get(loopback, "/totals")[0] == 200


def test_status_requests_that_are_refused(gateway: Gateway) -> None:
    with closing(GatewayStatus(gateway._core, "127.0.0.1", 0)) as server:
        connection = http.client.HTTPConnection(server.address, timeout=30)
        for method, path, headers, expected in [
            ("POST", "/totals", {}, (405, b"/totals has: GET\n")),
            ("POST", "/none", {}, (404, None)),
            ("POST", "/totals", {"origin": "null"}, (403, b"pages of browsers may only read\n")),
            ("GET", "/totals", {"x": "y" * 20_000}, (431, None)),
        ]:
            with closing(connection):
                connection.request(method, path, headers=headers)
                response = connection.getresponse()
                body = response.read()
            code, text = expected
            assert (response.status, body) == (code, body if text is None else text)


def test_many_who_ask_slowly_do_not_keep_out_others(gateway: Gateway) -> None:
    with closing(GatewayStatus(gateway._core, "127.0.0.1", 0)) as server:
        slow = [socket.create_connection(_address(server.address)) for _ in range(100)]
        for each in slow[:10]:
            each.sendall(b"GET /totals HTTP/1.1\r\n")
        start = time.monotonic()
        for _ in range(3):
            assert _get(server.address, "/totals")[0] == 200
        # Sooner than those who ask for nothing are cut off.
        assert time.monotonic() - start < 1
        for each in slow:
            each.close()
