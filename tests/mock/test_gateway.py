"""Clients of all kinds behind a gateway: they know no other address, and lose or double nothing."""

from __future__ import annotations

import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

import ottla
from ottla.errors import ConfigError
from ottla.testing import Gateway, MockCluster
from tests.security.certificates import Authority
from tests.support.command import ottla_here
from tests.support.console import TIMEOUT
from tests.support.jars import REPOSITORY
from tests.support.pproxy_server import pproxy_server
from tests.support.waiting import wait_until

COUNT = 200


@pytest.fixture
def gateway(mock_cluster: MockCluster) -> Iterator[Gateway]:
    mock_cluster.create_topic("t", partitions=6)
    with Gateway(mock_cluster.bootstrap) as gateway:
        yield gateway


def _produce(bootstrap: str) -> None:
    with ottla.Producer(bootstrap) as producer:
        for n in range(COUNT):
            producer.send("t", key=b"%d" % n, value=b"value %d" % n)


def _keys(consumer: ottla.Consumer | ottla.ShareConsumer) -> list[bytes]:
    """Read all records, and return their keys."""
    keys: list[bytes] = []

    def read() -> bool:
        keys.extend(record.key or b"" for record in consumer.poll(timeout=0.2))
        return len(keys) >= COUNT

    wait_until(read)
    return sorted(keys)


EXPECTED = sorted(b"%d" % n for n in range(COUNT))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups(gateway: Gateway, mock_cluster: MockCluster, protocol: str) -> None:
    _produce(gateway.bootstrap)
    config = {"group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    with ottla.Consumer(gateway.bootstrap, config=config) as consumer:
        consumer.subscribe(["t"])
        assert _keys(consumer) == EXPECTED
        # The coordinator moves to each broker; commits follow it.
        for broker in (1, 2, 3):
            mock_cluster.move_coordinator("g", broker)
            consumer.commit()
    assert sum(mock_cluster.committed("g").values()) == COUNT


def test_share_groups(gateway: Gateway) -> None:
    with ottla.Admin(gateway.bootstrap) as admin:
        resource = ottla.admin.ConfigResource("group", "s")
        admin.alter_configs({resource: {"share.auto.offset.reset": "earliest"}})
    _produce(gateway.bootstrap)
    with ottla.ShareConsumer(gateway.bootstrap, group_id="s") as consumer:
        consumer.subscribe(["t"])
        assert _keys(consumer) == EXPECTED


@pytest.mark.parametrize("level", [0, 2])
def test_transactions(gateway: Gateway, mock_cluster: MockCluster, level: int) -> None:
    mock_cluster.set_transaction_version(level)
    with ottla.Producer(gateway.bootstrap, transactional_id="tx") as producer:
        producer.init_transactions()
        for commit in (True, False, True):
            producer.begin_transaction()
            for n in range(COUNT // 2):
                producer.send("t", partition=n % 6, key=b"%d" % n)
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    config = {"group.id": "g", "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    with ottla.Consumer(gateway.bootstrap, config=config) as consumer:
        consumer.subscribe(["t"])
        assert _keys(consumer) == sorted(2 * [b"%d" % n for n in range(COUNT // 2)])


def test_another_client(gateway: Gateway) -> None:
    config: dict[str, Any] = {"bootstrap.servers": gateway.bootstrap, "client.id": "other"}
    producer = confluent_kafka.Producer(config)
    for n in range(COUNT):
        producer.produce("t", key=b"%d" % n, value=b"v" * n)
    assert producer.flush(TIMEOUT) == 0
    group = {"group.id": "g", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer({**config, **group})
    consumer.subscribe(["t"])
    keys: list[bytes] = []

    def read() -> bool:
        keys.extend(message.key() or b"" for message in consumer.consume(COUNT, 0.2))
        return len(keys) >= COUNT

    try:
        wait_until(read)
        connections = [each for each in gateway.connections() if each.client_id == "other"]
        software = {each.software for each in connections}
        assert any(text is not None and text.startswith("confluent-kafka") for text in software)
        assert sum(each.responses.get("Fetch", 0) for each in connections) > 0
    finally:
        consumer.close()
    assert sorted(keys) == EXPECTED


def test_addresses_and_the_state_after_closing(mock_cluster: MockCluster) -> None:
    with Gateway(mock_cluster.bootstrap) as gateway, ottla.Client(gateway.bootstrap) as client:
        addresses = {
            broker.id: f"{broker.host}:{broker.port}"
            for broker in client.cluster().brokers.values()
        }
        assert addresses == gateway.brokers
        assert not set(addresses.values()) & set(mock_cluster.brokers.values())
        bootstrap = gateway.bootstrap
    assert gateway.close() == 0
    with pytest.raises(ottla.errors.ClosedError):
        gateway.connections()
    with pytest.raises(ottla.errors.BootstrapError):
        ottla.Client(bootstrap).cluster(timeout=5)


def test_tls_towards_clients(mock_cluster: MockCluster, tmp_path: Path) -> None:
    authority = Authority("gateway authority")
    server = authority.issue("gateway", ["127.0.0.1"])
    user = authority.issue("user", client=True)
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "gateway.pem").write_text(server.certificate + server.key())
    (tmp_path / "user.pem").write_text(user.certificate + user.key())
    keys = {"security.protocol": "SSL", "ssl.truststore.location": str(tmp_path / "ca.pem")}
    with _command(
        mock_cluster,
        *("--tls-cert", str(tmp_path / "gateway.pem")),
        *("--client-ca", str(tmp_path / "ca.pem")),
    ) as (bootstrap, _):
        known = {**keys, "ssl.keystore.location": str(tmp_path / "user.pem")}
        with ottla.Client(bootstrap, config=known) as client:
            assert client.cluster().brokers.keys() == {1, 2, 3}
        with pytest.raises(ottla.errors.AuthenticationError, match="certificate"):
            ottla.Client(bootstrap, config=keys).cluster(timeout=10)
        with pytest.raises(ottla.errors.BootstrapError, match="this port speaks TLS"):
            ottla.Client(bootstrap).cluster(timeout=10)


def test_the_guides_command_through_ssh(mock_cluster: MockCluster) -> None:
    """SSH's proxy is a SOCKS5 proxy like any other."""
    guide = (REPOSITORY / "docs" / "guides" / "gateway.md").read_text()
    proxied = re.search(r"^ottla gateway kafka1:9092 (-X proxy\.url=.*) &$", guide, re.MULTILINE)
    assert proxied is not None
    with pproxy_server() as proxy:
        option, value = proxied[1].replace("127.0.0.1:1080", proxy).split()
        with _command(mock_cluster, option, value) as (bootstrap, _):
            mock_cluster.create_topic("t", partitions=6)
            _produce(bootstrap)
    assert sum(mock_cluster.end_offset("t", n) for n in range(6)) == COUNT


@contextmanager
def _command(
    cluster: MockCluster, *arguments: str, prepare: Callable[[], None] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command; yield the address for bootstrapping."""
    listen = ("--listen", "127.0.0.1:0")
    with subprocess.Popen(
        [sys.executable, "-m", "ottla", "gateway", cluster.bootstrap, *listen, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        preexec_fn=prepare,
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first.startswith("ottla gateway: "), (first, process.stderr)
            lines = [process.stdout.readline() for _ in cluster.brokers]
            assert [line.split(":")[0] for line in lines] == [f"  broker {n}" for n in (1, 2, 3)]
            yield first.split()[-1], process
        finally:
            process.kill()


def test_a_signal_ends_the_command_without_a_loss(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=6)
    with _command(mock_cluster) as (bootstrap, process):
        _produce(bootstrap)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, errors) == (128 + signal.SIGTERM, "")
    assert sum(mock_cluster.end_offset("t", n) for n in range(6)) == COUNT


def _few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def test_connections_are_not_bound_by_the_soft_limit_of_descriptors(
    mock_cluster: MockCluster,
) -> None:
    # API versions in version 0, of the client "c".
    request = bytes.fromhex("0000000b 0012 0000 00000001 0001 63")
    with (
        _command(mock_cluster, prepare=_few_descriptors) as (bootstrap, _),
        ExitStack() as connections,
    ):
        host, port = bootstrap.split(":")
        for _ in range(100):
            one = connections.enter_context(socket.create_connection((host, int(port)), TIMEOUT))
            one.sendall(request)
            assert one.recv(1), "the gateway closed the connection"


def test_a_request_that_is_never_complete_is_cut_off(mock_cluster: MockCluster) -> None:
    with _command(mock_cluster, "--drain", "0.1") as (bootstrap, process):
        host, port = bootstrap.split(":")
        with socket.create_connection((host, int(port)), TIMEOUT) as one:
            one.sendall(bytes.fromhex("0000000b 0012 0000 00000001 0001 63") + b"\0\0\0\x20")
            assert one.recv(1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=TIMEOUT)
    assert errors == "ottla: 1 connection was cut off, after 0.1 s\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "--advertise"),
        (["--listen", "kafka:9092"], "expected an IP address of this machine"),
        (["--listen", "9092"], "expected an IP address and a port"),
        (["--ports", "20-10"], "expected a range"),
        (["--ports", "21000-21001", "--first-broker", "2"], "no address here: 1"),
        (["--listen", "127.0.0.1:21010", "--ports", "21000-21020"], "bootstrap port"),
        (["--sni", "broker-{id}.example.com"], "--tls-cert"),
        (["--tls-key", "key.pem"], "give --tls-cert"),
        (["--tls-cert", "/none.pem"], "/none.pem"),
        (["-X", "no.such.key=1"], "no.such.key"),
        (["--listen", "127.0.0.1:65535"], "no port follows 65535: give --ports"),
        (["--first-broker", "99999999999"], "expected the id of a broker"),
        (["--first-broker", "-1"], "expected the id of a broker"),
        (["--first-broker", "1"], "--first-broker says which broker has the first"),
        (["--sni", "{id}.x", "--first-broker", "1"], "leave it out with --sni"),
        (["--sni", "{id}.x:9092"], "without a port"),
        (["--advertise", "gateway.example.com:9092"], "without a port"),
        (["--advertise", "kafka gateway"], "expected a host name"),
        (["--advertise", "0.0.0.0"], "is every address of this machine"),
    ],
)
def test_arguments_that_cannot_work(
    mock_cluster: MockCluster, arguments: list[str], message: str
) -> None:
    listen = [] if "--listen" in arguments else ["--listen", "127.0.0.1:0"]
    done = ottla_here("gateway", mock_cluster.bootstrap, *listen, *arguments)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(("host", "shown"), [("::1", "[::1]"), ("[::1]", "[::1]")])
def test_an_advertised_ipv6_address(mock_cluster: MockCluster, host: str, shown: str) -> None:
    with _command(mock_cluster, "--advertise", host) as (bootstrap, _):
        assert bootstrap.rpartition(":")[0] == shown


def test_a_gateway_with_wrong_settings(mock_cluster: MockCluster) -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.key"):
        Gateway(mock_cluster.bootstrap, {"no.such.key": 1})
