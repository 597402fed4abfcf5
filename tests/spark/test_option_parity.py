"""Parity by option: each option of Spark's own Kafka source, with usual, edge and wrong values.

A batch with the same options returns the same rows, or fails for the same reason. Parity of
streams is in test_stream_options.py, that of writes in test_writing.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

import ottla
from ottla.spark.options.read_options import (
    BATCH_OPTION_NAMES,
    COMMON_OPTION_NAMES,
    STREAM_OPTION_NAMES,
)
from ottla.spark.reading.schema import full_schema
from tests.spark.parity import (
    ANY_TEXT,
    EPOCH,
    KEEP,
    OTTLA_ONLY,
    load,
    options_of,
    same_error,
    same_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


@pytest.fixture
def events(kafka: KafkaCluster) -> str:
    """300 records in partitions 0 to 2, one per second; partition 3 is empty. Created once."""
    topic = "parity-events"
    if kafka.leader_of(topic) >= 0:
        return topic
    kafka.create_topic(topic, partitions=4, config=KEEP)
    kafka.create_topic(f"{topic}-2")
    with ottla.Producer(kafka.bootstrap) as producer:
        for i in range(300):
            producer.send(
                topic,
                value=b"%d" % i,
                key=b"k",
                partition=i % 3,
                timestamp=EPOCH + i * 1000,
                headers=[("i", b"%d" % i)] if i % 2 else None,
            )
        producer.send(f"{topic}-2", value=b"x")
        producer.flush()
    return topic


def per_partition(*values: int) -> str:
    inside = ",".join(f'"{number}":{value}' for number, value in enumerate(values))
    return f'{{"parity-events":{{{inside}}}}}'


ALL = {"subscribe": "parity-events"}
LATE = per_partition(*[EPOCH + 200_000] * 3, EPOCH)


ORDINARY: list[tuple[dict[str, str], int | None]] = [
    (ALL, 300),
    ({"subscribe": "parity-events, parity-events-2"}, 301),
    ({"assign": '{"parity-events":[0,2,3]}'}, 200),
    ({"assign": '{"parity-events":[0,9]}'}, 100),
    ({"subscribePattern": "parity-event."}, 301),
    ({"subscribePattern": "ty-events$"}, 300),
    ({"subscribePattern": "nothing-matches"}, 0),
    ({**ALL, "includeHeaders": "false"}, 300),
    ({**ALL, "startingOffsets": per_partition(10, -2, 100, 0)}, 190),
    ({**ALL, "endingOffsets": per_partition(10, -1, 0, 0)}, 110),
    (
        {
            **ALL,
            "startingOffsets": per_partition(5, 6, 7, -2),
            "endingOffsets": per_partition(5, 16, -1, -1),
        },
        103,
    ),
    ({**ALL, "endingTimestamp": str(EPOCH + 100_000)}, 100),
    ({**ALL, "endingTimestamp": str(EPOCH + 10_000_000)}, 300),
    ({**ALL, "endingOffsetsByTimestamp": per_partition(EPOCH, EPOCH + 30_000, 1, 1)}, 10),
    (
        {
            **ALL,
            "startingTimestamp": str(EPOCH + 200_000),
            "startingOffsetsByTimestampStrategy": "latest",
        },
        100,
    ),
    (
        {
            **ALL,
            "startingOffsetsByTimestamp": LATE,
            "startingOffsetsByTimestampStrategy": "latest",
            "endingTimestamp": str(EPOCH + 250_000),
        },
        50,
    ),
    ({**ALL, "startingOffsets": "earliest", "startingTimestamp": "0"}, None),
    ({**ALL, "minPartitions": "11"}, 300),
    ({**ALL, "maxRecordsPerPartition": "7"}, 300),
    ({**ALL, "minPartitions": "20", "maxRecordsPerPartition": "30"}, 300),
    ({**ALL, "failOnDataLoss": "false", "kafka__isolation__level": "read_committed"}, 300),
    ({**ALL, "maxOffsetsPerTrigger": "5", "groupIdPrefix": "mine"}, 300),
    # Edge values: minimum and maximum, any case, options without effect in a batch.
    ({**ALL, "minPartitions": "1"}, 300),
    ({**ALL, "maxRecordsPerPartition": str(2**63 - 1)}, 300),
    ({"SUBSCRIBE": "parity-events", "INCLUDEHEADERS": "TRUE", "FailOnDataLoss": "FALSE"}, 300),
    ({**ALL, "startingOffsets": "EARLIEST", "endingOffsets": "Latest"}, 300),
    ({**ALL, "endingTimestamp": "0"}, 0),
    ({**ALL, "kafkaConsumer.pollTimeoutMs": "30000"}, 300),
    ({**ALL, "fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "0"}, 300),
    ({**ALL, "kafka.group.id": "mine", "groupIdPrefix": ""}, 300),
    (
        {
            **ALL,
            "kafka.max.partition.fetch.bytes": "1",
            "kafka.fetch.max.bytes": "1",
            "kafka.max.poll.records": "1",
            "kafka.fetch.min.bytes": "1",
            "kafka.client.id": "parity",
            "kafka.check.crcs": "false",
        },
        300,
    ),
    (
        {
            **ALL,
            "minOffsetsPerTrigger": "1",
            "maxOffsetsPerTrigger": "1",
            "maxTriggerDelay": "no time at all",
        },
        300,
    ),
]


@pytest.mark.parametrize(("options", "count"), ORDINARY)
def test_options(
    spark: SparkSession,
    kafka: KafkaCluster,
    events: str,
    options: dict[str, str],
    count: int | None,
) -> None:
    if count is None:
        same_error(spark, kafka, options, ["timestamp"])
    else:
        assert len(same_rows(spark, kafka, **options)) == count


@pytest.mark.parametrize(
    "options",
    [
        {"minPartitions": "11"},
        # If both ends are the ends of the log, Spark's batch source ignores this option.
        {
            "maxRecordsPerPartition": "7",
            "startingOffsets": '{"parity-events":{"0":0,"1":1,"2":2}}',
            "endingOffsets": '{"parity-events":{"0":100,"1":100,"2":12}}',
        },
        {"minPartitions": "20", "maxRecordsPerPartition": "30"},
    ],
)
def test_number_of_tasks(
    spark: SparkSession, kafka: KafkaCluster, events: str, options: dict[str, str]
) -> None:
    options = {"assign": '{"parity-events":[0,1,2]}', **options}
    theirs, ours = (
        load(spark, source, kafka, **options).rdd.getNumPartitions()
        for source in ("kafka", "ottla")
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "columns",
    [
        ["value"],
        ["offset", "value"],
        ["timestampType", "topic", "timestamp", "partition"],
        ["headers", "key"],
        ["headers", "timestampType", "timestamp", "offset", "partition", "topic", "value", "key"],
    ],
)
def test_projection(
    spark: SparkSession, kafka: KafkaCluster, events: str, columns: list[str]
) -> None:
    full = full_schema(include_headers=True)
    ours = (
        spark.read.format("ottla")
        .schema(StructType([full[name] for name in columns]))
        .options(**options_of(kafka, **ALL))
        .load()
    )
    assert ours.columns == columns
    theirs = load(spark, "kafka", kafka, includeHeaders="true", **ALL).select(*columns)
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect()))


WRONG: list[tuple[dict[str, str], list[str]]] = [
    ({}, ["subscribe", "assign", "subscribePattern"]),
    ({**ALL, "assign": '{"a":[0]}'}, ["only one of", "subscribe", "assign"]),
    ({"subscribe": " "}, ["subscribe"]),
    ({"subscribePattern": " "}, ["pattern", "empty"]),
    ({"assign": "parity-events"}, ["assign"]),
    ({"assign": '{"parity-events":0}'}, ["topicA"]),
    ({"subscribe": "no-such-topic", "fetchOffset__numRetries": "1"}, ["topic"]),
    ({**ALL, "minPartitions": "0"}, ["minPartitions"]),
    ({**ALL, "maxRecordsPerPartition": "-5"}, ["maxRecordsPerPartition"]),
    ({**ALL, "startingOffsets": "latest"}, ["starting", "can't be", "latest", "batch"]),
    ({**ALL, "endingOffsets": "earliest"}, ["ending", "can't be", "earliest", "batch"]),
    ({**ALL, "startingOffsets": per_partition(-1, 0, 0, 0)}, ["parity-events-0", "latest"]),
    ({**ALL, "endingOffsets": per_partition(-2, 0, 0, 0)}, ["parity-events-0", "earliest"]),
    ({**ALL, "startingOffsets": per_partition(0)}, ["parity-events-1"]),
    ({**ALL, "startingOffsets": "first"}, ["topicA", "first"]),
    ({**ALL, "startingTimestamp": "soon"}, ["soon"]),
    ({**ALL, "startingTimestamp": str(EPOCH * 2)}, ["parity-events-", str(EPOCH * 2)]),
    ({**ALL, "startingOffsetsByTimestampStrategy": "maybe", "startingTimestamp": "1"}, ["maybe"]),
    (
        {
            **ALL,
            "startingOffsets": per_partition(9, 0, 0, 0),
            "endingOffsets": per_partition(8, 0, 0, 0),
        },
        ["9", "8", "greater"],
    ),
    ({**ALL, "startingOffsets": per_partition(101, 0, 0, 0)}, ["101", "100"]),
    ({**ALL, "minOffsetsPerTrigger": "2", "maxOffsetsPerTrigger": "1"}, ["2", "1", "higher"]),
    ({**ALL, "kafka__auto__offset__reset": "latest"}, ["auto.offset.reset", "not supported"]),
    ({**ALL, "kafka__enable__auto__commit": "true"}, ["enable.auto.commit", "not supported"]),
    ({**ALL, "kafka__interceptor__classes": "x"}, ["interceptor.classes", "not supported"]),
    ({**ALL, "kafka__key__deserializer": "x"}, ["key.deserializer", "not supported"]),
    ({**ALL, "minPartitions": "many"}, ["many"]),
    ({**ALL, "maxRecordsPerPartition": "0"}, ["maxRecordsPerPartition"]),
    ({**ALL, "maxRecordsPerPartition": "many"}, ["many"]),
    ({**ALL, "failOnDataLoss": "maybe"}, ["maybe"]),
    ({**ALL, "includeHeaders": "maybe"}, ["maybe"]),
    ({**ALL, "kafkaConsumer.pollTimeoutMs": "soon"}, ["soon"]),
    ({**ALL, "fetchOffset.numRetries": "many"}, ["many"]),
    ({**ALL, "fetchOffset.retryIntervalMs": "soon"}, ["soon"]),
    ({**ALL, "startingOffsetsByTimestamp": "soon"}, ["soon"]),
    ({**ALL, "startingOffsetsByTimestamp": per_partition(1)}, ["parity-events-1"]),
    ({**ALL, "startingOffsetsByTimestampStrategy": "maybe"}, ["maybe"]),
    ({**ALL, "endingTimestamp": "soon"}, ["soon"]),
    ({**ALL, "endingOffsets": "last"}, ["last"]),
    ({**ALL, "endingOffsets": per_partition(1)}, ["parity-events-1"]),
    ({**ALL, "endingOffsetsByTimestamp": "soon"}, ["soon"]),
    ({**ALL, "endingOffsetsByTimestamp": per_partition(1, 1)}, ["parity-events-2"]),
    ({**ALL, "minOffsetsPerTrigger": "few", "maxOffsetsPerTrigger": "1"}, ["few"]),
    ({**ALL, "minOffsetsPerTrigger": "1", "maxOffsetsPerTrigger": "many"}, ["many"]),
    ({**ALL, "kafka.bootstrap.servers": ""}, ["bootstrap.servers"]),
    ({**ALL, "kafka.isolation.level": "maybe"}, ["isolation.level", "maybe"]),
    ({**ALL, "kafka.fetch.max.bytes": "many"}, ["fetch.max.bytes", "many"]),
    ({**ALL, "kafka.value.deserializer": "x"}, ["value.deserializer", "not supported"]),
]


@pytest.mark.parametrize(("options", "fragments"), WRONG)
def test_errors(
    spark: SparkSession,
    kafka: KafkaCluster,
    events: str,
    options: dict[str, str],
    fragments: list[str],
) -> None:
    same_error(spark, kafka, options, fragments)


# Only streams check the delay.
STREAMS_ALONE = {"maxTriggerDelay"}


def test_every_option_is_in_both_tables() -> None:
    options = {*COMMON_OPTION_NAMES, *BATCH_OPTION_NAMES, *STREAM_OPTION_NAMES} - OTTLA_ONLY
    ordinary = {name.lower() for given, _ in ORDINARY for name in given}
    wrong = {name.lower() for given, _ in WRONG for name in given}
    always = {"kafka.bootstrap.servers"}  # set for each case
    assert {o for o in options - always if o.lower() not in ordinary} == set()
    assert {o for o in options - ANY_TEXT - STREAMS_ALONE if o.lower() not in wrong} == set()
