"""Clients of all kinds behind a gateway: they know no other address, and lose or double nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def _command(cluster: MockCluster, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command; yield the address for bootstrapping."""
    listen = ("--listen", "127.0.0.1:0")
    with subprocess.Popen(
        [sys.executable, "-m", "ottla", "gateway", cluster.bootstrap, *listen, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "--advertise"),
        (["--listen", "kafka:9092"], "expected an IP address of this machine"),
        (["--listen", "9092"], "expected an IP address and a port"),
        (["--ports", "20-10"], "expected a range"),
        (["--ports", "40000-40001", "--first-broker", "2"], "no address here: 1"),
        (["--listen", "127.0.0.1:40010", "--ports", "40000-40020"], "bootstrap port"),
        (["--sni", "broker-{id}.example.com"], "--tls-cert"),
        (["--tls-key", "key.pem"], "give --tls-cert"),
        (["--tls-cert", "/none.pem"], "/none.pem"),
        (["-X", "no.such.key=1"], "no.such.key"),
    ],
)
def test_arguments_that_cannot_work(
    mock_cluster: MockCluster, arguments: list[str], message: str
) -> None:
    listen = [] if "--listen" in arguments else ["--listen", "127.0.0.1:0"]
    done = ottla_here("gateway", mock_cluster.bootstrap, *listen, *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_gateway_with_wrong_settings(mock_cluster: MockCluster) -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.key"):
        Gateway(mock_cluster.bootstrap, {"no.such.key": 1})
