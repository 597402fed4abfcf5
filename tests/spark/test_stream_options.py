"""Parity of streams by option, like test_option_parity.py for batches; and unusual logs."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from ottla.spark.options.read_options import COMMON_OPTION_NAMES, STREAM_OPTION_NAMES
from tests.conftest import TopicFactory
from tests.spark.edge_cases import (
    COMPACTED,
    LARGE,
    LARGE_PRODUCER,
    Message,
    compact,
    edge_case_messages,
    send,
    transactions,
)
from tests.spark.parity import ANY_TEXT, EPOCH, KEEP, OTTLA_ONLY
from tests.spark.streams import Streams, produce

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


@pytest.fixture
def events(kafka: KafkaCluster) -> str:
    """Records in partitions 0 to 2, one per second; partition 3 is empty. Created once."""
    topic = "stream-events"
    if kafka.leader_of(topic) < 0:
        kafka.create_topic(topic, partitions=4, config=KEEP)
        produce(kafka, topic, 1000, 300, 7, timestamp=EPOCH)
    return topic


def at(*values: int) -> str:
    return json.dumps({"stream-events": {str(i): value for i, value in enumerate(values)}})


ORDINARY: list[tuple[dict[str, str], int | None, int | None]] = [
    ({"startingOffsets": "earliest"}, 1307, 1),
    # Shares in proportion, and at least one offset for the small one.
    ({"startingOffsets": "earliest", "maxOffsetsPerTrigger": "400"}, 1307, 4),
    ({"startingOffsets": at(990, -2, -1, 0), "maxOffsetsPerTrigger": "100"}, 310, 4),
    ({"startingTimestamp": str(EPOCH + 5_000)}, None, None),
    (
        {
            "startingTimestamp": str(EPOCH + 5_000),
            "startingOffsetsByTimestampStrategy": "latest",
        },
        1292,
        1,
    ),
    (
        {"startingOffsetsByTimestamp": at(*[EPOCH + 6_000] * 3, 1), "minPartitions": "9"},
        None,
        None,
    ),
    (
        {
            "startingOffsetsByTimestamp": at(*[EPOCH + 6_000] * 3, 1),
            "startingOffsetsByTimestampStrategy": "latest",
            "startingOffsets": "nonsense that lost",
            "minPartitions": "9",
        },
        1289,
        1,
    ),
    (
        {
            "startingOffsets": "earliest",
            "minOffsetsPerTrigger": "1000",
            "maxTriggerDelay": "1h",
            "maxRecordsPerPartition": "50",
        },
        1307,
        1,
    ),
    ({"assign": '{"stream-events":[2,3]}', "startingOffsets": "earliest"}, 7, 1),
    ({"startingOffsets": "latest"}, 0, 1),
    ({"startingOffsets": "EARLIEST"}, 1307, 1),
    ({"subscribePattern": "^stream-even.s$", "startingOffsets": "earliest"}, 1307, 1),
    (
        {
            "startingOffsets": "earliest",
            "failOnDataLoss": "FALSE",
            "includeHeaders": "True",
            "groupIdPrefix": "p",
            "kafka.group.id": "g",
            "kafka.isolation.level": "read_committed",
            "kafka.max.partition.fetch.bytes": "1",
            "kafkaConsumer.pollTimeoutMs": "30000",
            "fetchOffset.numRetries": "1",
            "fetchOffset.retryIntervalMs": "0",
            "minPartitions": "1",
            "maxRecordsPerPartition": "1000000",
            "maxOffsetsPerTrigger": str(2**62),
            "minOffsetsPerTrigger": "0",
            "maxTriggerDelay": "0",
        },
        1307,
        1,
    ),
]


@pytest.mark.parametrize(("options", "rows", "batches"), ORDINARY)
def test_options(
    streams: Streams,
    events: str,
    options: dict[str, str],
    rows: int | None,
    batches: int | None,
) -> None:
    if not {"assign", "subscribePattern"} & options.keys():
        options = {"subscribe": events, **options}
    if rows is None:
        streams.same_error("options", ["timestamp"], **options)
        return
    run = streams.same("options", **options)
    assert (len(run.rows), len(run.ends)) == (rows, batches)


WRONG: list[tuple[dict[str, str], list[str] | dict[str, list[str]]]] = [
    ({"endingOffsets": "latest"}, ["ending", "not valid in", "stream"]),
    ({"endingOffsetsByTimestamp": at(1, 1, 1, 1)}, ["ending", "not valid in", "stream"]),
    ({"startingOffsets": at(0)}, ["stream-events-3"]),
    ({"startingOffsets": "first"}, ["first"]),
    ({"minOffsetsPerTrigger": "2", "maxOffsetsPerTrigger": "1"}, ["2", "1", "higher"]),
    ({"maxOffsetsPerTrigger": "many"}, ["many"]),
    ({"maxTriggerDelay": "soon", "minOffsetsPerTrigger": "1"}, ["soon"]),
    ({"minPartitions": "0"}, ["minPartitions"]),
    ({"startingOffsets": at(5000, 0, 0, 0)}, ["stream-events-0", "5000", "1000"]),
    ({"startingOffsets": at(-1, -2, 0)}, ["stream-events-3"]),
    ({"startingTimestamp": "soon"}, ["soon"]),
    ({"startingOffsetsByTimestamp": "soon"}, ["soon"]),
    ({"startingOffsetsByTimestampStrategy": "maybe"}, ["maybe"]),
    ({"minOffsetsPerTrigger": "few"}, ["few"]),
    ({"maxRecordsPerPartition": "0"}, ["maxRecordsPerPartition"]),
    ({"failOnDataLoss": "maybe"}, ["maybe"]),
    ({"includeHeaders": "maybe"}, ["maybe"]),
    ({"kafkaConsumer.pollTimeoutMs": "soon"}, ["soon"]),
    ({"fetchOffset.numRetries": "many"}, ["many"]),
    ({"fetchOffset.retryIntervalMs": "soon"}, ["soon"]),
    ({"assign": '{"stream-events":[0]}'}, ["only one of", "subscribe", "assign"]),
    ({"subscribe": ""}, ["subscribe"]),
    ({"subscribePattern": "x"}, ["only one of", "subscribe"]),
    ({"kafka.isolation.level": "maybe"}, ["isolation", "level", "maybe"]),
    ({"kafka.auto.offset.reset": "latest"}, ["auto.offset.reset", "not supported"]),
    (
        {"kafka.bootstrap.servers": ""},
        # Spark's message has no more.
        {"kafka": ["failed to create", "client"], "ottla": ["kafka.bootstrap.servers must be set"]},
    ),
]


@pytest.mark.parametrize(("options", "fragments"), WRONG)
def test_errors(
    streams: Streams,
    events: str,
    options: dict[str, str],
    fragments: list[str] | dict[str, list[str]],
) -> None:
    base = {"subscribe": events, "fetchOffset.retryIntervalMs": "10"}
    streams.same_error("errors", fragments, **base | options)


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        ({"assign": "stream-events"}, ["assign"]),
        ({"assign": '{"stream-events":0}'}, ["topicA"]),
        ({"subscribePattern": " "}, ["pattern", "empty"]),
        ({"subscribePattern": "stream-[even"}, ["stream-[even"]),
        ({}, ["subscribe", "assign", "subscribePattern"]),
    ],
)
def test_invalid_subscriptions(
    streams: Streams, options: dict[str, str], fragments: list[str]
) -> None:
    streams.same_error("subscriptions", fragments, **options)


def test_an_end_by_timestamp_is_rejected_too(streams: Streams, events: str) -> None:
    # Spark's source ignores this one.
    with pytest.raises(PySparkException, match="endingTimestamp is not valid in a streaming query"):
        streams.run("ottla", "rejected", subscribe=events, endingTimestamp="1")


def test_every_option_is_in_both_tables() -> None:
    options = {*COMMON_OPTION_NAMES, *STREAM_OPTION_NAMES} - OTTLA_ONLY
    ordinary = {name for given, *_ in ORDINARY for name in given}
    wrong = {name for given, _ in WRONG for name in given}
    # Every case has it, and runs on the real brokers.
    assert options - ordinary - {"kafka.bootstrap.servers", "subscribe"} == set()
    assert options - wrong - ANY_TEXT == set()


EVERYTHING = (
    *("topic", "partition", "offset", "key", "crc32(value)", "length(value)"),
    *("timestamp", "timestampType", "headers"),
)


def test_transactional_and_compacted_logs(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    """Aborts and control records, compaction, nulls, headers, 10 MB, and an empty partition."""
    transactional, plain = kafka_topic(partitions=3), kafka_topic(partitions=2, config=LARGE)
    compacted = kafka_topic(config=COMPACTED)
    streams.columns = EVERYTHING
    with transactions(kafka, transactional) as write:
        for values, end in ((10, "commit"), (6, "abort"), (4, "commit"), (3, "abort")):
            write(transactional, ["x"] * values, end)
        write(transactional, ["open"], "leave")
        send(kafka, plain, edge_case_messages()[:8])
        send(kafka, plain, [Message(b"10 MB", bytes(10_000_000), [], 0)], **LARGE_PRODUCER)
        compact(kafka, compacted)
        for level, seen in (("read_uncommitted", 24), ("read_committed", 14)):
            run = streams.same(
                f"awkward-{level}",
                subscribe=f"{transactional},{plain},{compacted}",
                startingOffsets="earliest",
                includeHeaders="true",
                maxOffsetsPerTrigger="100",
                kafka__isolation__level=level,
            )
            by_topic = Counter(row[0] for row in run.rows)
            assert by_topic == {transactional: seen, plain: 9, compacted: 8}
            assert len(run.ends) > 2
