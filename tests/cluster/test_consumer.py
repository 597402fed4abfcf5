"""The basic consumer scenarios, blocking and asyncio, with both group protocols, on the mock and on
Apache Kafka."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import ottla
from tests.cluster.conftest import Brokers
from tests.support.consumers import KINDS, TIMEOUT, positions_of, read


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def fill(brokers: Brokers, topic: str, count: int, **config: Any) -> None:
    with ottla.Producer(brokers.bootstrap, **config) as producer:
        for partition in range(3):
            for n in range(count):
                producer.send(
                    topic,
                    f"v{n}",
                    f"k{n}",
                    headers=[("n", str(n))],
                    timestamp=n,
                    partition=partition,
                )


def all_offsets(count: int) -> list[tuple[int, int]]:
    return [(partition, n) for partition in range(3) for n in range(count)]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_and_columns(brokers: Brokers, kind: Any, codec: str) -> None:
    topic = brokers.create_topic(partitions=3)
    fill(brokers, topic, 1000, compression_type=codec)
    with kind(brokers.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, partition) for partition in range(3)])
        records = read(consumer, 1000)
        while len(records) < 2000:
            records.append(next(consumer))
        seen = positions_of(records)
        for record in records:
            n = str(record.offset).encode()
            assert (record.key, record.value) == (b"k" + n, b"v" + n)
            assert record.headers == (("n", n),)
            assert record.timestamp == record.offset
        deadline = time.monotonic() + TIMEOUT
        while len(seen) < 3000 and time.monotonic() < deadline:
            batch = consumer.poll_arrow(timeout=1, max_rows=300)
            if batch is not None:
                columns = pa.record_batch(batch)
                pairs = (columns["partition"].to_pylist(), columns["offset"].to_pylist())
                seen += zip(*pairs, strict=True)
        assert sorted(seen) == all_offsets(1000)
        for partition in range(3):
            mine = [n for p, n in seen if p == partition]
            assert mine == sorted(mine)
            assert consumer.position(topic, partition) == 1000
        assert consumer.end_offsets() == {(topic, p): 1000 for p in range(3)}
        found = consumer.offsets_for_times({(topic, 0): 500})[topic, 0]
        assert found.offset == 500
        consumer.seek(topic, 1, 990)
        assert positions_of(read(consumer, 10)) == [(1, n) for n in range(990, 1000)]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_resumes_from_its_committed_offsets(
    brokers: Brokers, kind: Any, protocol: str
) -> None:
    topic = brokers.create_topic(partitions=3)
    fill(brokers, topic, 100)
    config = {
        "group_id": f"group-of-{topic}",
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
    }
    revoked: list[tuple[str, int]] = []
    with kind(brokers.bootstrap, **config) as consumer:
        consumer.subscribe([topic], on_revoked=lambda _, partitions: revoked.extend(partitions))
        seen = positions_of([next(consumer) for _ in range(120)])
        consumer.commit()
        committed = consumer.committed()
        assert sum(c.offset for c in committed.values() if c) == 120
        assert consumer.group_metadata().generation > 0
        seen += positions_of(read(consumer, 50))
    assert sorted(revoked) == [(topic, partition) for partition in range(3)]
    # Closing committed the records returned after the explicit commit.
    with kind(brokers.bootstrap, topics=[topic], **config) as consumer:
        seen += positions_of(read(consumer, 300 - len(seen)))
        assert consumer.poll(timeout=0.5) == []
    assert sorted(seen) == all_offsets(100)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_join_and_leave(brokers: Brokers, kind: Any, protocol: str) -> None:
    topic = brokers.create_topic(partitions=3)
    config = {
        "group_id": f"group-of-{topic}",
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
    }
    everyone = [(topic, partition) for partition in range(3)]

    def poll_until_shared(*members: Any) -> None:
        deadline = time.monotonic() + TIMEOUT
        while sorted(p for member in members for p in member.assignment()) != everyone or not all(
            member.assignment() for member in members
        ):
            assert time.monotonic() < deadline, [member.assignment() for member in members]
            for member in members:
                member.poll(timeout=0.1)

    with kind(brokers.bootstrap, topics=[topic], **config) as first:
        poll_until_shared(first)
        with kind(brokers.bootstrap, topics=[topic], **config) as second:
            poll_until_shared(first, second)
        poll_until_shared(first)
