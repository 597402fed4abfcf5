"""Five producers write while every leader moves once a second and brokers stop responding for two
seconds: Java's console consumer finds each acknowledged record once, in order by key, and no record
that failed for certain."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.fault.numbered_records import CODECS, Report, chunks, compare, read, write
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 6
SECONDS = float(os.environ.get("OTTLA_LEADERS_SECONDS", "300"))
"""How long leaders move and producers write."""
CHUNK = 200
PAUSE = 0.1
"""Seconds between chunks of a producer."""
TOPIC_CONFIG = {
    "min.insync.replicas": "2",
    # Reassignments create and delete replicas all the time: deleted files would fill the disk.
    "file.delete.delay.ms": "1000",
}
PRODUCER_CONFIG: dict[str, str | int] = {
    "acks": "all",
    "delivery.timeout.ms": 1_500,
    "request.timeout.ms": 1_000,
}
STOPPED = 2.0
"""How long a broker is paused: longer than the delivery timeout, too short to be fenced."""
BETWEEN_STOPS = 10.0


def write_until(deadline: float, bootstrap: str, topic: str, codec: str) -> Report:
    """Send chunks until the deadline, and report which records failed."""
    numbers = chunks(CHUNK, PAUSE, lambda _: time.monotonic() < deadline)
    return write(bootstrap, topic, numbers, {**PRODUCER_CONFIG, "compression.type": codec})


def stop_brokers_until_done(kafka: KafkaCluster, writers: list[Future[Report]]) -> int:
    """Stop one broker after the other for a moment (SIGSTOP), and return how often."""
    stopped = 0
    while not all(writer.done() for writer in writers):
        time.sleep(BETWEEN_STOPS)
        node = list(kafka.nodes.values())[stopped % len(kafka.nodes)]
        node.pause()
        try:
            time.sleep(STOPPED)
        finally:
            node.resume()
        stopped += 1
    return stopped


@pytest.mark.timeout(1800)
def test_each_record_is_written_once_while_leaders_move(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topics = [kafka_topic(PARTITIONS, config=TOPIC_CONFIG) for _ in CODECS]
    with kafka.moving_leaders(topics) as leaders, ThreadPoolExecutor(len(CODECS)) as pool:
        deadline = time.monotonic() + SECONDS
        writers = [
            pool.submit(write_until, deadline, kafka.bootstrap, topic, codec)
            for topic, codec in zip(topics, CODECS, strict=True)
        ]
        stopped = stop_brokers_until_done(kafka, writers)
        reports = [writer.result() for writer in writers]
    moved = {topic: sum(move[0] == topic for move in leaders.moves) for topic in topics}
    print(
        f"{len(leaders.moves)} leaders moved, {len(leaders.errors)} rounds failed, {stopped} stops"
    )
    for topic in topics:
        for partition in range(PARTITIONS):
            kafka.wait_for_isr(topic, partition, 2)
    comparisons = []
    for topic, codec, report in zip(topics, CODECS, reports, strict=True):
        found = compare(report, read(kafka, topic, PARTITIONS))
        comparisons.append(found)
        print(
            f"{codec}: {report.sent} sent, {report.sent - len(report.failed)} acknowledged,"
            f" {len(report.failed)} failed, {len(report.unknown)} of them maybe written"
            f" ({found.found_unknown} were); {len(found.lost)} lost,"
            f" {len(found.duplicates)} duplicates, {len(found.out_of_order)} out of order,"
            f" {len(found.unexpected)} unexpected; {moved[topic]} moves; {dict(report.errors)}"
        )
    for codec, found in zip(CODECS, comparisons, strict=True):
        found.check(codec)
        assert not found.misplaced, f"{codec}: {len(found.misplaced)}, {found.misplaced[:5]}"
    # The test proves something only if leaders moved, and records failed either way.
    assert min(moved.values()) >= SECONDS / 3, moved
    failed = sum(len(report.failed) for report in reports)
    unknown = sum(len(report.unknown) for report in reports)
    assert 0 < unknown < failed, (unknown, failed)
