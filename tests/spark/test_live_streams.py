"""Streams that run while records, partitions and topics are added and removed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest

import ottla.spark
from ottla.spark.planning.checkpoint import offsets_from_json
from tests.conftest import TopicFactory
from tests.spark.parity import SOURCES
from tests.spark.streams import Row, Streams, add_partitions, produce
from tests.spark.streams import until as wait
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

OFTEN = {"processingTime": "100 milliseconds"}


def last_progress(query: StreamingQuery) -> StreamingQueryProgress:
    last = query.lastProgress
    assert last is not None
    return last


def test_a_live_stream(streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 3, 3)
    query, rows, _ = streams.start(
        "ottla",
        "live",
        {"processingTime": "100 milliseconds"},
        subscribe=topic,
        minOffsetsPerTrigger="50",
        maxTriggerDelay="1h",
    )

    def until(condition: Callable[[], bool]) -> None:
        wait(query, condition, lambda: f"{len(rows)} rows")

    try:
        # It starts at the end, and its first progress has the start.
        until(lambda: query.lastProgress is not None)
        # One batch each time: a trigger between two batches would delay the second.
        produce(kafka, topic, 40)
        until(lambda: last_progress(query).sources[0].latestOffset is not None)
        time.sleep(1)
        # The first trigger is never delayed, but this one is.
        held = len(rows)
        assert held in (0, 40)
        produce(kafka, topic, 0, 60)
        until(lambda: len(rows) == 100)
        until(lambda: ottla.spark.lag(query.lastProgress).total == 0)
        add_partitions(kafka, topic, 3)
        produce(kafka, topic, 0, 0, 60)
        until(lambda: len(rows) == 160)
        assert sorted(row[2] for row in rows if row[1] == 2) == list(range(60))
    finally:
        query.stop()


@pytest.mark.parametrize("fails", ["true", "false"])
def test_topics_of_a_pattern_appear_and_disappear(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory, fails: str
) -> None:
    topic = kafka_topic()
    other = f"{topic}-2"
    produce(kafka, topic, 5)
    query, rows, _ = streams.start(
        "ottla",
        "come-and-go",
        OFTEN,
        subscribePattern=f"^{topic}",
        startingOffsets="earliest",
        failOnDataLoss=fails,
    )

    def until(condition: Callable[[], bool]) -> None:
        wait(query, condition, lambda: rows)

    def offsets(name: str) -> list[int]:
        return [row[2] for row in rows if row[0] == name]

    def is_read(name: str) -> bool:
        return name in json.loads(last_progress(query).sources[0].endOffset)

    try:
        until(lambda: offsets(topic) == list(range(5)))
        kafka.create_topic(other)
        produce(kafka, other, 7)
        until(lambda: offsets(other) == list(range(7)))
        kafka.delete_topic(other)
        if fails == "true":
            wait_until(lambda: query.exception() is not None, lambda: "it goes on", 240)
            assert f"partitions [{other}-0] have been deleted" in str(query.exception())
            return
        until(lambda: not is_read(other))
        # A recreated topic is a new one, and is read from its first record.
        kafka.create_topic(other)
        produce(kafka, other, 3)
        until(lambda: offsets(other) == [*range(7), *range(3)])
        produce(kafka, topic, 2)
        until(lambda: offsets(topic) == list(range(7)))
    finally:
        query.stop()


def test_triggers_are_delayed_as_by_sparks_source(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    """Batches have minOffsetsPerTrigger offsets, or fewer after maxTriggerDelay."""
    topic, delay = kafka_topic(), 10
    produce(kafka, topic, 10)
    started = {
        source: streams.start(
            source,
            "held",
            OFTEN,
            subscribe=topic,
            startingOffsets="earliest",
            minOffsetsPerTrigger="50",
            maxTriggerDelay=f"{delay}s",
        )
        for source in SOURCES
    }

    def has_read(rows: list[Row], count: int) -> bool:
        return len(rows) == count

    def all_have_read(count: int) -> None:
        for query, rows, _ in started.values():
            wait(query, partial(has_read, rows, count), partial(len, rows))

    def has_reported(query: StreamingQuery, count: int) -> bool:
        return len(batches(query)) == count

    try:
        all_have_read(10)
        produce(kafka, topic, 20)
        all_have_read(30)
        produce(kafka, topic, 60)
        all_have_read(90)
        # Spark reports a micro-batch a moment after its sink has received it.
        for query, *_ in started.values():
            wait(query, partial(has_reported, query, 3), lambda: "no progress yet")
        ends = {source: batches(query) for source, (query, *_) in started.items()}
    finally:
        for query, *_ in started.values():
            query.stop()
    for found in ends.values():
        assert [end for _, end in found] == [10, 30, 90]
        # The second had to wait until the delay was over.
        (first, _), (second, _), _ = found
        assert (second - first).total_seconds() >= delay


def batches(query: StreamingQuery) -> list[tuple[datetime, int]]:
    """Return when each micro-batch with records was triggered, and where it ended."""
    return [
        (
            datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")),
            sum(offsets_from_json(json.loads(progress.sources[0].endOffset)).values()),
        )
        for progress in query.recentProgress
        if progress.numInputRows
    ]
