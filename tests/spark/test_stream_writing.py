"""Streams written by ottla and by Spark's own sink: rows, errors, and each option of the sink."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import ottla
from ottla.spark.options.typed_writes import TYPED_WRITE_OPTION_NAMES
from ottla.spark.options.write_options import WRITE_OPTION_NAMES
from tests.conftest import TopicFactory
from tests.spark.parity import SOURCES, assert_rejected
from tests.spark.test_writing import EDGE_CASES, ERRORS, contents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

# Options that only ottla has.
OTTLA_ONLY = {
    "includeTimestamp",
    "reportPath",
    "exactlyOnce",
    "exactlyOnceId",
    "exactlyOnceTopic",
    *TYPED_WRITE_OPTION_NAMES,
}
# Spark refuses async progress tracking in an AvailableNow run, for both sinks.
ASYNC = {"asyncProgressTrackingEnabled": "false", "asyncProgressTrackingCheckpointIntervalMs": "9"}


def run(
    frame: DataFrame, source: str, kafka: KafkaCluster, directory: Path, **options: str
) -> None:
    """Write everything available of a stream, with its own checkpoint."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    settings = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "checkpointLocation": str(directory / source),
        **named,
    }
    writer = frame.writeStream.format(source).options(**settings)
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(300)
    finally:
        query.stop()


def numbers(spark: SparkSession, *columns: str) -> DataFrame:
    """Return a stream of three rows, of expressions of `id`."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    return rows.selectExpr("value AS id").selectExpr(*columns)


ORDINARY: list[tuple[dict[str, str], bool]] = [
    ({}, True),
    ({}, False),
    ({"includeHeaders": "true", "queryName": "named-{source}", **ASYNC}, True),
    ({"INCLUDEHEADERS": "false", "asyncProgressTrackingOverrideSinkSupportCheck": "true"}, True),
    (
        {"kafka.acks": "1", "kafka.compression.type": "lz4", "kafka.enable.idempotence": "false"},
        True,
    ),
]


@pytest.mark.parametrize(("options", "by_option"), ORDINARY)
def test_the_same_rows(
    spark: SparkSession,
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    tmp_path: Path,
    options: dict[str, str],
    by_option: bool,
) -> None:
    written = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        for key, value, headers, partition in EDGE_CASES:
            named = [*(headers or []), ("partition", b"%d" % (partition or 0))]
            producer.send(written, value, key, headers=named)
        producer.flush()
    read = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": written}
    found: list[Any] = []
    for source in SOURCES:
        target = kafka_topic(partitions=3)
        frame = (
            spark.readStream.format("kafka")
            .options(**read, startingOffsets="earliest", includeHeaders="true")
            .load()
            .selectExpr(
                "key",
                "value",
                "headers",
                "CAST(CAST(headers[size(headers) - 1].value AS STRING) AS INT) AS partition",
                *([] if by_option else [f"'{target}' AS topic"]),
            )
        )
        to = {"topic": target} if by_option else {}
        given = {name: text.format(source=source) for name, text in options.items()}
        run(frame, source, kafka, tmp_path, **to, **given)
        found.append(contents(spark, kafka, target))
    theirs, ours = found
    assert ours == theirs
    assert len(ours) == len(EDGE_CASES)


@pytest.mark.parametrize(("columns", "options", "fragments"), ERRORS)
def test_the_same_errors(
    spark: SparkSession,
    kafka: KafkaCluster,
    tmp_path: Path,
    columns: str,
    options: dict[str, str],
    fragments: list[str],
) -> None:
    frame = numbers(spark, *columns.split(", "))
    assert_rejected(lambda s: run(frame, s, kafka, tmp_path, **options), fragments, together=False)


def test_async_progress_tracking_is_rejected_by_spark(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    target = kafka_topic()
    frame = numbers(spark, "CAST(id AS STRING) AS value")
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "checkpointLocation": str(tmp_path),
        "topic": target,
        "asyncProgressTrackingEnabled": "true",
    }
    writer = frame.writeStream.format("ottla").options(**options)
    with pytest.raises(PySparkException, match=r"(?i)async progress tracking"):
        writer.start()


def test_every_option_is_in_the_table() -> None:
    given = {name.lower() for options, _ in ORDINARY for name in options}
    always = {"kafka.bootstrap.servers", "topic", "checkpointLocation"}
    assert {
        o for o in set(WRITE_OPTION_NAMES) - OTTLA_ONLY - always if o.lower() not in given
    } == set()
