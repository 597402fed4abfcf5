"""Tasks read from the replica in their own rack: told by how many bytes came from which broker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import ottla
import ottla.spark
from ottla.spark.clients import RACK_VARIABLE
from tests.conftest import TopicFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

RECORDS, EACH = 40, 100_000


def received(batches: Any) -> Iterator[Any]:
    """Read all, and tell by broker's port what the kernel counted on this process's connections."""
    import os
    import socket
    import struct
    from collections import Counter
    from pathlib import Path

    import pyarrow as pa

    def by_port() -> Counter[int]:
        found: Counter[int] = Counter()
        for entry in Path("/proc/self/fd").iterdir():
            try:
                if not str(entry.readlink()).startswith("socket:"):
                    continue
                with socket.socket(fileno=os.dup(int(entry.name))) as connection:
                    port = connection.getpeername()[1]
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            except (OSError, IndexError, TypeError):
                continue  # gone, or neither connected nor of TCP
            # tcpi_bytes_received, of struct tcp_info in linux/tcp.h.
            found[port] += struct.unpack_from("=Q", info, 128)[0]
        return found

    before = by_port()
    rows = sum(batch.num_rows for batch in batches)
    # Counter's difference leaves out what did not grow.
    grown = by_port() - before
    columns = {"port": list(grown), "bytes": list(grown.values()), "rows": [rows] * len(grown)}
    yield pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("told", ["option", "environment", "nobody"])
def test_a_task_reads_from_the_replica_in_its_rack(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, told: str
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        for _ in range(RECORDS):
            producer.send(topic, os.urandom(EACH))
        producer.flush()
    racks, leader = kafka.brokers(), kafka.leader_of(topic)
    near = next(broker for broker in racks if broker != leader)
    # A client of the test's own, which has no connections from before.
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.client.id": topic,
        "subscribe": topic,
    }
    environment = spark.sparkContext.environment
    if told == "option":
        options["kafka.client.rack"] = str(racks[near])
    elif told == "environment":
        # As an executor's environment has it, where each machine says where it is.
        environment[RACK_VARIABLE] = str(racks[near])
    try:
        frame = ottla.spark.read_arrow(
            spark,
            options,
            columns="value binary",
            transform=received,
            schema="port bigint, bytes bigint, rows bigint",
        )
        rows = frame.collect()
    finally:
        environment.pop(RACK_VARIABLE, None)
    assert {row.rows for row in rows} == {RECORDS}
    ports = {node.port: broker for broker, node in kafka.nodes.items()}
    by_broker = {ports[row.port]: row.bytes for row in rows if row.port in ports}
    serves = leader if told == "nobody" else near
    # The others tell of the cluster, and the leader perhaps sends a first answer of its own.
    assert by_broker[serves] > RECORDS * EACH * 0.9, (serves, leader, by_broker)
    assert sum(by_broker.values()) - by_broker[serves] < RECORDS * EACH * 0.1, by_broker
