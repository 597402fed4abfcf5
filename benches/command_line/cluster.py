"""Three brokers with an authorizer and a SASL listener, and data as an operator meets it.

The brokers' own listener is one of a superuser without password. Invariant: a group has one
coordinator and no other broker can replace it, so that it stays down when that broker is killed.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import ottla
from benches.command_line.tools import Target
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_properties import FAST_FAILOVER, SETTINGS
from tests.support.ports import free_ports

RECORDS = 50_000
USER, PASSWORD = "alice", "alice-secret"
_SCHEMA = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "id", "type": "long"}, {"name": "amount", "type": "double"}],
}
_ORDERS = 6


class Cluster:
    """The brokers, with the targets by which clients reach them."""

    def __init__(self, registry: str) -> None:
        self._ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        self.kafka = KafkaCluster(3, self._properties)
        secured = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        bootstrap = self.kafka.bootstrap
        # It stays free: nothing else runs on the machine of a comparison.
        (wrong,) = free_ports(1)
        self.targets = {
            "plain": Target(bootstrap, registry),
            "alice": Target(secured, user=USER, password=PASSWORD),
            "password": Target(secured, user=USER, password="wrong"),
            "tls": Target(bootstrap, tls=True),
            "port": Target(f"127.0.0.1:{wrong}"),
        }

    def _properties(self, node: KafkaNode) -> dict[str, str]:
        at = f"SASL://127.0.0.1:{self._ports[node.node_id]}"
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        return {
            **FAST_FAILOVER,
            "listeners": f"{node.properties['listeners']},{at}",
            "advertised.listeners": f"{node.properties['advertised.listeners']},{at}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
            f'PlainLoginModule required user_{USER}="{PASSWORD}";',
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": scram,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "offsets.topic.replication.factor": "1",
        }

    def fill(self, environment: Mapping[str, str], directory: Path) -> None:
        """Write orders of the last two hours, payments in Avro, groups, a user and ACLs."""
        with ottla.Admin(self.kafka.bootstrap) as admin:
            admin.create_topic("orders", _ORDERS, 3)
            for name in ("payments", "notes", "trimmed"):
                admin.create_topic(name, 1, 3)
            now = int(time.time() * 1000)
            with ottla.Producer(self.kafka.bootstrap, linger_ms=20) as producer:
                for number in range(RECORDS):
                    value = json.dumps({"id": number, "customer": number % 1000, "amount": 12.5})
                    at = now - 7_200_000 + number * 7_200_000 // RECORDS
                    headers = [("trace", str(number).encode())]
                    producer.send("orders", value, str(number), timestamp=at, headers=headers)
                for number in range(100):
                    producer.send("trimmed", str(number))
            for group, offset in (("billing", 6_000), ("reports", 100), ("audit", 200)):
                offsets = {("orders", each): offset for each in range(_ORDERS)}
                admin.alter_group_offsets(group, offsets)
            for number in range(8):
                admin.alter_group_offsets(f"batch-{number}", {("orders", 0): 1})
        schema = directory / "payment.avsc"
        schema.write_text(json.dumps(_SCHEMA))
        register = f"--value-schema @{schema} --value-register"
        password = "--mechanism SCRAM-SHA-256 --password-file -"
        written = '{"id": 1, "amount": 12.5}'
        for command in (
            f"printf {PASSWORD} | ottla users set-password {USER} {password}",
            "ottla acls create --topic orders --principal User:reader --allow read",
            f"ottla acls create --topic orders --principal User:{USER} --allow describe",
            f"echo '{written}' | ottla produce -t payments --value-format avro {register}",
        ):
            done = subprocess.run(
                ["bash", "-c", command],
                env=dict(environment),
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")

    @contextlib.contextmanager
    def member(self, group: str) -> Iterator[None]:
        """Keep a member in a group, which reads nothing more."""
        joined, leave = threading.Event(), threading.Event()

        def read() -> None:
            config = {"enable.auto.commit": "false"}
            with ottla.Consumer(self.kafka.bootstrap, group_id=group, config=config) as consumer:
                consumer.subscribe(["orders"])
                while not leave.is_set():
                    consumer.poll(timeout=0.2)
                    if consumer.assignment():
                        consumer.pause(*consumer.assignment())
                        joined.set()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            if not joined.wait(60):
                raise RuntimeError(f"no member joined {group} within 60 s")
            yield
        finally:
            leave.set()
            thread.join()

    def lose_a_coordinator(self) -> str:
        """Kill the coordinator of a group with SIGKILL; return the group."""
        group = "reports"
        lost = self.kafka.leader_of("__consumer_offsets", _partition(group))
        led = [each for each in range(_ORDERS) if self.kafka.leader_of("orders", each) == lost]
        self.kafka.kill(lost)
        for partition in led:
            self.kafka.wait_for_new_leader("orders", partition, lost)
        return group


def _partition(group: str) -> int:
    """Return the partition of a group's offsets: Java's hash of its name."""
    value = 0
    for character in group:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % int(SETTINGS["offsets.topic.num.partitions"])
