"""Tasks read from the replica in their own rack, as the bytes received per broker show."""

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
    """Read all, and return the bytes received from each broker's port, as the kernel counts."""
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
                continue  # closed, not connected or not TCP
            # tcpi_bytes_received, of struct tcp_info in linux/tcp.h.
            found[port] += struct.unpack_from("=Q", info, 128)[0]
        return found

    before = by_port()
    rows = sum(batch.num_rows for batch in batches)
    # Subtracting Counters drops values that did not grow.
    grown = by_port() - before
    columns = {"port": list(grown), "bytes": list(grown.values()), "rows": [rows] * len(grown)}
    yield pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("rack_from", ["option", "environment", "none"])
def test_a_task_reads_from_the_replica_in_its_rack(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, rack_from: str
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        for _ in range(RECORDS):
            producer.send(topic, os.urandom(EACH))
        producer.flush()
    racks, leader = kafka.brokers(), kafka.leader_of(topic)
    near = next(broker for broker in racks if broker != leader)
    # A client of this test only, without earlier connections.
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.client.id": topic,
        "subscribe": topic,
    }
    environment = spark.sparkContext.environment
    if rack_from == "option":
        options["kafka.client.rack"] = str(racks[near])
    elif rack_from == "environment":
        # As in an executor's environment, where each machine has its own rack.
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
    serves = leader if rack_from == "none" else near
    # The other brokers only send metadata, and the leader perhaps a first fetch response.
    assert by_broker[serves] > RECORDS * EACH * 0.9, (serves, leader, by_broker)
    assert sum(by_broker.values()) - by_broker[serves] < RECORDS * EACH * 0.1, by_broker
