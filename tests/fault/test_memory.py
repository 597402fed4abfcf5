"""The memory of a producer: bounded by its buffer while brokers are slow, and constant over twenty
million records. The measured producer runs in its own process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.child import run_child
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
MEGABYTE = 1 << 20
BUFFER = 32 * MEGABYTE

MEASURE = """
import gc
from pathlib import Path
def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""


def test_memory_stays_within_the_buffer_while_brokers_are_slow(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("slow", 6)
    # Three brokers that respond every 50 ms: far slower than the producer.
    mock_cluster.inject(Fault.delay(0.05), api="Produce")
    ended = run_child(
        MEASURE
        + f"""
producer = ottla.Producer({mock_cluster.bootstrap!r}, buffer_memory={BUFFER}, max_block_ms=60_000)
values = [b"x" * 1_000] * 1_000
producer.send_batch("slow", values[:10]).result(timeout=120)
before, most, full = resident(), 0, 0
until, sent = time.monotonic() + 8, 0
while time.monotonic() < until:
    producer.send_batch("slow", values)
    sent += len(values)
    full = max(full, producer.buffered_bytes)
    most = max(most, resident() - before)
say(full, most, sent)
# The results of the records do not matter here.
os._exit(0)
""",
        timeout=150,
    )
    assert ended.code == 0, ended.output
    full, most, sent = map(int, ended.output.split())
    assert full > BUFFER * 0.9, f"the buffer was never full: {full} bytes of {sent} records"
    assert most <= BUFFER + 32 * MEGABYTE, f"{most / MEGABYTE:.0f} MB more"


def fill(
    producer: ottla.Producer, topic: str
) -> tuple[list[ottla.Delivery], errors.TimeoutError, float]:
    """Send until it fails; return the accepted records, the error, and the last call's duration."""
    accepted: list[ottla.Delivery] = []
    while len(accepted) < 10_000:
        started = time.monotonic()
        try:
            accepted.append(producer.send(topic, bytes(1_000)))
        except errors.TimeoutError as error:
            return accepted, error, time.monotonic() - started
    raise AssertionError("more was accepted than buffer.memory holds")


@pytest.mark.cluster
def test_a_full_buffer_is_a_clear_error_after_max_block_ms(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(3)
    config = {"buffer.memory": 1 << 20, "max.block.ms": 1_500, "linger.ms": 0}
    with ottla.Producer(kafka.bootstrap, config) as producer:
        producer.send(topic, b"first").result(timeout=120)
        for node in kafka.nodes.values():
            node.pause()
        accepted, error, waited = fill(producer, topic)
        for node in kafka.nodes.values():
            node.resume()
        assert 1.5 <= waited < 60, f"blocked for {waited:.1f} s"
        message = str(error)
        assert "buffer.memory" in message, message
        assert "max.block.ms" in message, message
        # Accepted records are written, others are not.
        assert 500 < len(accepted) < 1_100, len(accepted)
        for delivery in accepted:
            delivery.result(timeout=150)
    written = sum(kafka.end_offset(topic, partition) for partition in range(3))
    assert written == 1 + len(accepted)


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_nothing_leaks_over_twenty_million_records(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(6, 1, config={"retention.bytes": str(16 * MEGABYTE)})
    ended = run_child(
        MEASURE
        + f"""
import pyarrow
values = pyarrow.array([b"a record"] * 100_000)
with ottla.Producer({kafka.bootstrap!r}, compression_type="lz4") as producer:
    def send(records):
        for _ in range(records // len(values)):
            delivery = producer.send_batch({topic!r}, values)
        producer.flush(timeout=300)
        assert delivery.errors() == []
    # By then, the allocator has reached its steady size.
    send(8_000_000)
    before = resident()
    send(12_000_000)
    say(resident() - before)
""",
        timeout=1100,
    )
    assert ended.code == 0, ended.output
    grown = int(ended.output)
    assert grown <= 8 * MEGABYTE, f"{grown / MEGABYTE:.1f} MB more after 12 million records"
