"""Runs the same streaming query with Spark's own Kafka source and with ottla."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import ottla
from ottla.spark.planning.checkpoint import offsets_from_json, offsets_to_json
from tests.spark.parity import assert_rejected, run_both
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tests.support.kafka_cluster import KafkaCluster

Row = tuple[Any, ...]
COLUMNS = ("topic", "partition", "offset", "CAST(value AS STRING) AS value")


@dataclass
class Run:
    """The rows that one run of a query read, and the end of each micro-batch."""

    rows: list[Row]
    ends: list[dict[str, dict[str, int]]]


@dataclass
class Streams:
    """Runs the same query with either source, each with its own checkpoint."""

    spark: SparkSession
    kafka: KafkaCluster
    directory: Path
    # The first three identify a record, so that rows can be sorted.
    columns: tuple[str, ...] = COLUMNS
    # If set, the sink stores the rows of a micro-batch, and fails before it is committed.
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
        """Read everything available, and end."""
        query, rows, batches = self.start(source, name, None, **options)
        assert query.awaitTermination(300)
        ends = {
            # Without the start of the query, which only ottla stores.
            p.batchId: offsets_to_json(offsets_from_json(_parsed(p.sources[0].endOffset)))
            for p in query.recentProgress
        }
        return Run(sorted(rows), [ends[number] for number in batches])

    def same(self, name: str, **options: str) -> Run:
        """Assert that both sources read the same rows in the same micro-batches."""
        theirs, ours = run_both(lambda source: self.run(source, name, **options))
        assert ours.ends == theirs.ends
        assert ours.rows == theirs.rows
        return ours

    def same_error(
        self, name: str, fragments: list[str] | dict[str, list[str]], **options: str
    ) -> None:
        """Assert that both sources fail, when the query is built, started or run."""
        assert_rejected(lambda source: self.run(source, name, **options), fragments)


def until(query: StreamingQuery, condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait until a running query meets the condition; fail if the query fails."""

    def checked() -> bool:
        assert query.exception() is None, str(query.exception())
        return condition()

    wait_until(checked, lambda: f"{what()}; {query.lastProgress}", 240)


def produce(kafka: KafkaCluster, topic: str, *counts: int, timestamp: int | None = None) -> None:
    """Produce these numbers of records to partition 0, 1 and so on; one batch each."""
    # Batches are sent when the producer is closed, not while they are filled: of two batches, a
    # trigger might see one.
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


def _parsed(offsets: str) -> Any:
    """Return reported offsets: JSON, or the text of a dict before PySpark 4.2."""
    try:
        return json.loads(offsets)
    except json.JSONDecodeError:
        return ast.literal_eval(offsets)
