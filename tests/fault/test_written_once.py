"""Two million records with keys while brokers are killed -9 and restarted, by every codec, five
requests in flight: Java's console consumer finds each acknowledged record once, in order by key."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

import ottla
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 6
RECORDS = 400_000
CHUNK = 1_000
KEYS = 997
PAUSE = 0.15
"""Seconds between chunks: so that each producer lives through several kills."""


@dataclass
class Report:
    """What became of the records of one producer, by their numbers."""

    failed: set[int] = field(default_factory=set)
    """Those for which an error came."""
    unknown: set[int] = field(default_factory=set)
    """Those of them that may have been written."""


def key_of(number: int) -> bytes:
    """The key of a record."""
    return b"key-%d" % (number % KEYS)


def write(bootstrap: str, topic: str, codec: str) -> Report:
    """Send all records in steps, and tell which failed."""
    report = Report()
    steps: list[tuple[int, ottla.BatchDelivery]] = []
    with ottla.Producer(bootstrap, compression_type=codec) as producer:
        for first in range(0, RECORDS, CHUNK):
            numbers = range(first, first + CHUNK)
            values = [b"%d" % number for number in numbers]
            keys = [key_of(number) for number in numbers]
            steps.append((first, producer.send_batch(topic, values, keys)))
            time.sleep(PAUSE)
        producer.flush(180)
        for first, delivery in steps:
            for at, count, error in delivery.errors():
                failed = range(first + at, first + at + count)
                report.failed.update(failed)
                if error.maybe_done:
                    report.unknown.update(failed)
    return report


def read(kafka: KafkaCluster, topic: str) -> Iterator[tuple[bytes, int]]:
    """All records of a topic as Java's console consumer has them, each partition in order."""
    text = kafka.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--from-beginning"),
        *("--formatter-property", "print.key=true", "--formatter-property", "key.separator= "),
        # It ends with the last record; more than those that are there would be a time-out.
        *("--max-messages", str(sum(kafka.end_offset(topic, p) for p in range(PARTITIONS)))),
        *("--timeout-ms", "120000"),
        timeout=400,
    )
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        yield key.encode(), int(value)


def wait_for_another_leader(kafka: KafkaCluster, topic: str, partition: int, dead: int) -> None:
    wait_until(
        lambda: kafka.leader_of(topic, partition) not in (dead, -1),
        lambda: f"{topic}-{partition} has no other leader",
        120,
    )


def kill_until_done(kafka: KafkaCluster, topics: list[str], writers: list[Future[Report]]) -> int:
    """Kill one broker after the other, each when the one before is back; how many were killed."""
    killed = 0
    while not all(writer.done() for writer in writers):
        broker = list(kafka.nodes)[killed % len(kafka.nodes)]
        kafka.kill(broker)
        killed += 1
        for topic in topics:
            for partition in range(PARTITIONS):
                wait_for_another_leader(kafka, topic, partition, broker)
        kafka.restart(broker)
        # Whoever dies next leaves two behind that have everything.
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
            pool.submit(write, kafka.bootstrap, topic, codec)
            for topic, codec in zip(topics, CODECS, strict=True)
        ]
        killed = kill_until_done(kafka, topics, writers)
        reports = [writer.result() for writer in writers]
    assert killed >= 3, "too few brokers were killed for this to prove anything"
    for topic, codec, report in zip(topics, CODECS, reports, strict=True):
        last = dict.fromkeys(map(key_of, range(KEYS)), -1)
        found = bytearray(RECORDS)
        for key, number in read(kafka, topic):
            assert key == key_of(number), f"{codec}: record {number} has the key {key!r}"
            assert number > last[key], f"{codec}: record {number} after {last[key]} of its key"
            last[key] = number
            found[number] = 1
        lost = [n for n in range(RECORDS) if not found[n] and n not in report.failed]
        assert not lost, f"{codec}: {len(lost)} acknowledged records are lost, {lost[:5]} …"
        written = [n for n in report.failed - report.unknown if found[n]]
        assert not written, f"{codec}: {len(written)} are there, and were said not to be"
        print(f"{codec}: {len(report.failed)} failed, {killed} brokers killed")
