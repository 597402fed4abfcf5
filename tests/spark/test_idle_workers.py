"""An idle worker closes its connections, and the next task uses the same client again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ottla
import ottla.spark
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

ESTABLISHED = "01"


def connected_to(pid: int, ports: set[int]) -> int:
    """Count the connections of a process to these ports of IPv4 loopback."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink())):
                sockets.add(match[1])
        except OSError:
            continue  # closed in between
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    peers = [line[2] for line in lines if line[3] == ESTABLISHED and line[9] in sockets]
    return sum(int(peer.split(":")[1], 16) in ports for peer in peers)


def test_an_idle_worker_closes_its_connections(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, ["x" * 1000] * 1000)
    kafka_options = {
        "bootstrap.servers": kafka.bootstrap,
        "connections.max.idle.ms": "1500",
        "client.id": topic,
    }
    options = {"subscribe": topic, **{f"kafka.{k}": v for k, v in kafka_options.items()}}

    ports = {node.port for node in kafka.nodes.values()}

    def read(batches: Any) -> Iterator[Any]:
        import os

        import pyarrow as pa

        rows = sum(batch.num_rows for batch in batches)
        client = ottla.spark.client(kafka_options)
        # In this order: a connection that closes in between is counted as another's.
        all_of_them = connected_to(os.getpid(), ports)
        own = sum(connection.state == "connected" for connection in client.connections())
        columns = {
            "pid": os.getpid(),
            "client": id(client),
            "rows": rows,
            "others": all_of_them - own,
            "opened": int(client.metrics()["connection-creation-total"]),
        }
        yield pa.RecordBatch.from_pylist([columns])

    def one_task() -> Any:
        schema = "pid bigint, client bigint, rows bigint, others bigint, opened bigint"
        frame = ottla.spark.read_arrow(
            spark, options, columns="value binary", transform=read, schema=schema
        )
        (row,) = frame.collect()
        assert row.rows == 1000
        return row

    first = one_task()
    assert first.opened >= 1
    wait_until(
        lambda: connected_to(first.pid, ports) <= first.others,
        lambda: f"{connected_to(first.pid, ports)} connections, {first.others} of other clients",
    )
    # Until the same worker gets a task; several workers may be idle.
    for _ in range(20):
        again = one_task()
        if again.pid == first.pid:
            break
    assert again.pid == first.pid
    assert again.client == first.client
    assert again.opened > first.opened
