"""The same streaming query with Spark's own Kafka source and with ottla: equal micro-batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import ottla
from ottla.spark.planning.checkpoint import offsets_from_json, offsets_to_json
from tests.spark.both import at_once, refused
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tests.support.kafka_cluster import KafkaCluster

Row = tuple[Any, ...]
COLUMNS = ("topic", "partition", "offset", "CAST(value AS STRING) AS value")


@dataclass
class Run:
    """What one run of a query read: rows, and for each micro-batch its end."""

    rows: list[Row]
    ends: list[dict[str, dict[str, int]]]


@dataclass
class Streams:
    """Runs the same query with either source, each with a checkpoint of its own."""

    spark: SparkSession
    kafka: KafkaCluster
    directory: Path
    # The first three say which record it is, so that rows have an order.
    columns: tuple[str, ...] = COLUMNS
    # Then the sink takes the rows of a micro-batch, and fails before that is committed.
    sink_fails: bool = False

    def start(
        self, source: str, name: str, trigger: dict[str, Any] | None = None, **options: str
    ) -> tuple[StreamingQuery, list[Row], list[int]]:
        named = {key.replace("__", "."): value for key, value in options.items()}
        frame = (
            self.spark.readStream.format(source)
            .options(**{"kafka.bootstrap.servers": self.kafka.bootstrap, **named})
            .load()
            .selectExpr(*self.columns)
        )
        rows: list[Row] = []
        batches: list[int] = []

        def keep(batch: Any, number: int) -> None:
            rows.extend(tuple(row) for row in batch.collect())
            batches.append(number)
            if self.sink_fails:
                raise RuntimeError("the sink fails")

        query = (
            frame.writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.directory / f"{source}-{name}"))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        return query, rows, batches

    def run(self, source: str, name: str, **options: str) -> Run:
        """Read what there is, and end."""
        query, rows, batches = self.start(source, name, None, **options)
        assert query.awaitTermination(300)
        ends = {
            # Without where the query started, which is ours.
            p.batchId: offsets_to_json(offsets_from_json(json.loads(p.sources[0].endOffset)))
            for p in query.recentProgress
        }
        return Run(sorted(rows), [ends[number] for number in batches])

    def same(self, name: str, **options: str) -> Run:
        """Both sources read the same rows in the same micro-batches."""
        theirs, ours = at_once(lambda source: self.run(source, name, **options))
        assert ours.ends == theirs.ends
        assert ours.rows == theirs.rows
        return ours

    def same_error(
        self, name: str, words: list[str] | dict[str, list[str]], **options: str
    ) -> None:
        """Both sources refuse, when the query is built, started or run."""
        refused(lambda source: self.run(source, name, **options), words)


def until(query: StreamingQuery, condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait for what a query that runs is to bring about; if it fails, so does this."""

    def checked() -> bool:
        assert query.exception() is None, query.exception()
        return condition()

    wait_until(checked, lambda: f"{what()}; {query.lastProgress}", 240)


def produce(kafka: KafkaCluster, topic: str, *counts: int, timestamp: int | None = None) -> None:
    """So many records to partition 0, to partition 1, and so on; one batch each."""
    # It is sent when the producer is closed, and not while it is still being filled: of two
    # batches, a trigger may see one.
    with ottla.Producer(kafka.bootstrap, linger_ms=60_000) as producer:
        for partition, count in enumerate(counts):
            times = None if timestamp is None else [timestamp + i * 1000 for i in range(count)]
            producer.send_batch(
                topic, ["x"] * count, partitions=[partition] * count, timestamps=times
            )


def add_partitions(kafka: KafkaCluster, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(topic, total)])[topic].result()
    for partition in range(total):
        kafka.wait_for_isr(topic, partition)
