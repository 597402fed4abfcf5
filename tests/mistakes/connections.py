"""Faulty set-ups: reported by a warning of the logger ``ottla.client`` while the client retries, by
an exception if a retry cannot help, or by a finding of ``ottla doctor``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import ottla
from ottla.errors import KafkaError
from ottla.testing import Fault, MockCluster
from tests.mistakes.scene import Make, Reported, Scene, diagnosed, raised, warned
from tests.support.mtu_black_hole import MtuBlackHole
from tests.support.ports import free_ports

# A shorter timeout for each of the doctor's steps.
_STEP = {"socket.connection.setup.timeout.ms": 1500}


@contextlib.contextmanager
def _server(respond: Callable[[bytes], bytes]) -> Iterator[str]:
    """A server that responds to the first bytes of each connection and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.sendall(respond(connection.recv(4096)))

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def _closed(scene: Scene) -> str:
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    scene.shown[address] = "closed:9999"
    return address


def _ignoring_errors(call: Callable[[], object]) -> Callable[[], None]:
    def step() -> None:
        with contextlib.suppress(KafkaError):
            call()

    return step


def nothing_listens(scene: Scene) -> Reported:
    address = _closed(scene)
    return raised(lambda: ottla.Client(address, timeout=3))


def unknown_host(scene: Scene) -> Reported:
    return raised(lambda: ottla.Client("kafka.invalid:9092", timeout=3))


def web_server(scene: Scene) -> Reported:
    with _server(lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        scene.shown[address] = "web:8080"
        return raised(lambda: ottla.Client(address, timeout=3))


def tls_port_without_tls(scene: Scene) -> Reported:
    def alert(request: bytes) -> bytes:
        return b"\x15\x03\x03\x00\x02\x02\x28" if request[:1] == b"\x16" else b""

    with _server(alert) as address:
        scene.shown[address] = "tls:9093"
        return diagnosed("speaks_tls", address, _STEP)


def plaintext_port_with_tls(scene: Scene) -> Reported:
    return raised(lambda: ottla.Client(scene.bootstrap, security_protocol="SSL", timeout=3))


@contextlib.contextmanager
def _secured(scene: Scene) -> Iterator[str]:
    with MockCluster(brokers=1, users={"ann": "secret"}) as secured:
        scene.shown[secured.bootstrap] = "secured:9092"
        yield secured.bootstrap


def no_credentials(scene: Scene) -> Reported:
    with _secured(scene) as address:
        return diagnosed("wants_sasl", address)


def wrong_password(scene: Scene) -> Reported:
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "ann",
        "sasl.password": "wrong",
    }
    with _secured(scene) as address:
        return raised(lambda: ottla.Client(address, config))


def mechanism_not_offered(scene: Scene) -> Reported:
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "ann",
        "sasl.password": "secret",
    }
    with MockCluster(brokers=1, users={"ann": "secret"}) as secured:
        secured.inject(Fault.error("UNSUPPORTED_SASL_MECHANISM"), api="SaslHandshake")
        scene.shown[secured.bootstrap] = "secured:9092"
        return raised(lambda: ottla.Client(secured.bootstrap, config))


def port_of_a_controller(scene: Scene) -> Reported:
    with MockCluster(brokers=1, without=["Metadata", "Produce", "Fetch"]) as controller:
        scene.shown[controller.bootstrap] = "controller:9093"
        return raised(lambda: ottla.Client(controller.bootstrap, timeout=3))


def two_clusters(scene: Scene) -> Reported:
    with MockCluster(brokers=1) as other:
        scene.shown[other.bootstrap] = "other:9092"
        for number, cluster in enumerate((scene.cluster, other), 1):
            with ottla.Client(cluster.bootstrap) as client:
                scene.shown[str(client.cluster().cluster_id)] = f"cluster-{number}"
        return diagnosed("different_clusters", f"{scene.bootstrap},{other.bootstrap}")


def advertised_address_unreachable(scene: Scene) -> Reported:
    scene.cluster.advertise(2, _closed(scene))
    with ottla.Consumer(scene.bootstrap) as consumer:
        consumer.assign([("orders", i) for i in range(3)])
        return warned(lambda: consumer.poll(timeout=0.1), about="broker 2")


def advertised_localhost(scene: Scene) -> Reported:
    for broker in scene.cluster.brokers:
        scene.cluster.advertise(broker, _closed(scene))
    return diagnosed("advertised_loopback", scene.bootstrap)


def one_address_for_all(scene: Scene) -> Reported:
    for broker in (2, 3):
        scene.cluster.advertise(broker, scene.bootstrap)
    return diagnosed("one_address_for_all", scene.bootstrap)


def topic_missing_for_a_group(scene: Scene) -> Reported:
    with ottla.Consumer(
        scene.bootstrap, topics=["order"], group_id="g", allow_auto_create_topics=False
    ) as consumer:
        return warned(lambda: consumer.poll(timeout=0.1), about="order")


def topic_missing_for_a_producer(scene: Scene) -> Reported:
    with MockCluster(brokers=1, auto_create_topics=False) as strict:
        strict.create_topic("orders")
        with ottla.Producer(strict.bootstrap, max_block_ms=4000) as producer:
            return warned(_ignoring_errors(lambda: producer.send("order", b"v")), about="order")


def assigned_partition_missing(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap) as consumer:
        consumer.assign([("orders", 7)])
        return warned(_ignoring_errors(lambda: consumer.poll(timeout=0.1)), about="orders")


def no_leader(scene: Scene) -> Reported:
    scene.cluster.create_topic("alone", partitions=3, replication=1)
    broker = scene.cluster.leader("alone", 0)
    assert broker is not None
    survivor = scene.cluster.brokers[broker % 3 + 1]
    scene.cluster.stop_broker(broker)
    with ottla.Consumer(survivor) as consumer:
        consumer.assign([("alone", 0)])
        return warned(lambda: consumer.poll(timeout=0.1), about="alone")


def too_few_replicas(scene: Scene) -> Reported:
    scene.cluster.create_topic("safe", 1, 3, {"min.insync.replicas": "2"})
    scene.cluster.move_leader("safe", 0, 1)
    survivor = scene.cluster.brokers[1]
    for broker in (2, 3):
        scene.cluster.stop_broker(broker)
    with ottla.Producer(survivor, delivery_timeout_ms=8000, request_timeout_ms=2000) as producer:
        sent = producer.send("safe", b"v", partition=0)
        found = warned(lambda: time.sleep(0.05), about="safe")
        with contextlib.suppress(KafkaError):
            sent.result()
        return found


def controllers_without_leader(scene: Scene) -> Reported:
    scene.cluster.inject(Fault.delay(60), api="DescribeQuorum")
    return diagnosed("no_quorum", scene.bootstrap, _STEP)


def slow_broker(scene: Scene) -> Reported:
    scene.cluster.inject(Fault.delay(1.2), api="Metadata", broker=2)
    return diagnosed("slow_broker", scene.bootstrap)


def lost_large_packets(scene: Scene) -> Reported:
    with MtuBlackHole(scene.cluster.brokers[2]) as path:
        scene.shown[path.address] = "broker2:9092"
        scene.cluster.advertise(2, path.address)
        return diagnosed("large_requests_lost", scene.bootstrap, _STEP)


def broker_down(scene: Scene) -> Reported:
    scene.cluster.stop_broker(3)
    return diagnosed("broker_missing", scene.bootstrap)


CONNECTIONS: dict[str, Make] = {
    "nothing listens at the port": nothing_listens,
    "a host name that does not exist": unknown_host,
    "a web server's port": web_server,
    "a port with TLS, and none configured": tls_port_without_tls,
    "a port without TLS, and TLS configured": plaintext_port_with_tls,
    "a listener with SASL, and no credentials": no_credentials,
    "a wrong password": wrong_password,
    "a SASL mechanism that is not offered": mechanism_not_offered,
    "the port of a KRaft controller": port_of_a_controller,
    "bootstrap servers of two clusters": two_clusters,
    "an advertised address that cannot be reached": advertised_address_unreachable,
    "brokers that advertise localhost": advertised_localhost,
    "one address for all brokers": one_address_for_all,
    "a misspelt topic that a group subscribes to": topic_missing_for_a_group,
    "a misspelt topic that is written": topic_missing_for_a_producer,
    "an assigned partition that does not exist": assigned_partition_missing,
    "a partition without leader": no_leader,
    "fewer replicas than acks=all needs": too_few_replicas,
    "controllers without a leader": controllers_without_leader,
    "a slow broker": slow_broker,
    "a path that loses large packets": lost_large_packets,
    "a broker that is down": broker_down,
}
