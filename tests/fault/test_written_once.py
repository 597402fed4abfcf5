"""Two million keyed records in every codec, with five requests in flight, while brokers are killed
-9 and restarted: Java's console consumer finds each acknowledged record once, in order by key."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.fault.numbered_records import CODECS, Report, chunks, compare, read, write
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 6
RECORDS = 400_000
CHUNK = 1_000
PAUSE = 0.15
"""Seconds between chunks, so that each producer experiences several kills."""


def write_all(bootstrap: str, topic: str, codec: str) -> Report:
    """Send all records in chunks, and report which failed."""
    numbers = chunks(CHUNK, PAUSE, lambda first: first < RECORDS)
    return write(bootstrap, topic, numbers, {"compression.type": codec})


def wait_for_another_leader(kafka: KafkaCluster, topic: str, partition: int, dead: int) -> None:
    wait_until(
        lambda: kafka.leader_of(topic, partition) not in (dead, -1),
        lambda: f"{topic}-{partition} has no other leader",
        120,
    )


def kill_until_done(kafka: KafkaCluster, topics: list[str], writers: list[Future[Report]]) -> int:
    """Kill one broker after the other, once the previous one is back; return how many."""
    killed = 0
    while not all(writer.done() for writer in writers):
        broker = list(kafka.nodes)[killed % len(kafka.nodes)]
        kafka.kill(broker)
        killed += 1
        for topic in topics:
            for partition in range(PARTITIONS):
                wait_for_another_leader(kafka, topic, partition, broker)
        kafka.restart(broker)
        # The next broker is killed only once all replicas are in sync.
        for topic in topics:
            for partition in range(PARTITIONS):
                kafka.wait_for_isr(topic, partition, 3)
    return killed


@pytest.mark.timeout(900)
def test_each_record_is_written_once_and_in_order(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topics = [kafka_topic(PARTITIONS, config={"min.insync.replicas": "2"}) for _ in CODECS]
    with ThreadPoolExecutor(len(CODECS)) as pool:
        writers = [
            pool.submit(write_all, kafka.bootstrap, topic, codec)
            for topic, codec in zip(topics, CODECS, strict=True)
        ]
        killed = kill_until_done(kafka, topics, writers)
        reports = [writer.result() for writer in writers]
    assert killed >= 3, "too few brokers were killed for this to prove anything"
    for topic, codec, report in zip(topics, CODECS, reports, strict=True):
        assert report.sent == RECORDS
        compare(report, read(kafka, topic, PARTITIONS)).check(codec)
        print(f"{codec}: {len(report.failed)} failed, {killed} brokers killed")
