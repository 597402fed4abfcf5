"""Records whose schema is registered late, or never: how soon they are read, or passed over."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.schema import Avro, Registry
from ottla.testing import MockCluster, MockRegistry
from tests.support.consumers import KINDS, TIMEOUT

# Far beyond what a test may take: what waits for a fetch at the end of the log fails.
LONG_POLL_MS = 120_000


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def framed(schema_id: int, text: bytes) -> bytes:
    """Encode a text in Avro, after the id of its schema."""
    return b"\0" + schema_id.to_bytes(4, "big") + bytes([2 * len(text)]) + text


@pytest.fixture
def late(mock_cluster: MockCluster, mock_registry: MockRegistry, single: str) -> int:
    """The id of the second record of a topic; the registry does not have it yet."""
    known = mock_registry.register(f"{single}-value", '"string"')
    records = [framed(known, b"a"), framed(known + 1, b"late"), framed(known, b"z")]
    mock_cluster.append(single, 0, records)
    return known + 1


def looked_up(registry: MockRegistry, schema_id: int) -> int:
    """Return how often an id was asked for."""
    return sum(f"/schemas/ids/{schema_id}" in each.path for each in registry.requests())


def read(consumer: Any, kind: str, value: Avro) -> list[str]:
    """Poll once; return the values."""
    if kind == "poll":
        return [found.value for found in consumer.poll(timeout=TIMEOUT)]
    if kind == "iterate":
        return [next(iter(consumer)).value]
    batch = consumer.poll_arrow(timeout=TIMEOUT, value_format=value)
    values: list[str] = pa.record_batch(batch).column("value").to_pylist()
    return values


@pytest.mark.parametrize("call", ["poll", "iterate", "arrow"])
def test_an_id_that_is_registered_late_is_found(
    mock_cluster: MockCluster,
    mock_registry: MockRegistry,
    single: str,
    late: int,
    kind: Any,
    call: str,
) -> None:
    """Each poll asks again, but at most once a second; nothing is passed over."""
    value = Avro(Registry(mock_registry.url))
    typed: dict[str, Any] = {} if call == "arrow" else {"value_deserializer": value}
    consumer = kind(mock_cluster.bootstrap, auto_offset_reset="earliest", **typed)
    try:
        consumer.assign([(single, 0)])
        assert read(consumer, call, value) == ["a"]
        began = time.monotonic()
        for _ in range(30):
            with pytest.raises(errors.SerializationError, match="offset 1") as raised:
                read(consumer, call, value)
            assert raised.value.context["offset"] == 1
        # Failures are remembered for a moment.
        assert 1 <= looked_up(mock_registry, late) <= 3 + (time.monotonic() - began)
        assert mock_registry.register("other", '{"type": "string", "x": 1}') == late
        found: list[str] = []
        deadline = time.monotonic() + TIMEOUT
        while len(found) < 2:
            assert time.monotonic() < deadline
            try:
                found += read(consumer, call, value)
            except errors.SerializationError:
                time.sleep(0.05)
        assert found == ["late", "z"]
        assert consumer.position(single, 0) == 3
    finally:
        consumer.close()


@pytest.mark.parametrize("call", ["poll", "iterate", "arrow"])
def test_bad_records_are_passed_over_without_another_fetch(
    mock_cluster: MockCluster, single: str, kind: Any, call: str
) -> None:
    """A seek within the records that are buffered already keeps them."""
    value = Avro(schema='"string"', wire_format="none")
    good, bad = b"\2x", b"\2xx"
    mock_cluster.append(single, 0, [good, bad, bad, bad, good, bad, good])
    typed: dict[str, Any] = {} if call == "arrow" else {"value_deserializer": value}
    options = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": LONG_POLL_MS}
    # The long poll at the end of the log may last so long.
    options["request_timeout_ms"] = 2 * LONG_POLL_MS
    consumer = kind(mock_cluster.bootstrap, **options, **typed)
    try:
        consumer.assign([(single, 0)])
        found: list[str] = []
        passed: list[int] = []
        began = time.monotonic()
        while len(found) < 3:
            try:
                found += read(consumer, call, value)
            except errors.SerializationError as error:
                offset = error.context["offset"]
                assert consumer.position(single, 0) == offset
                passed.append(offset)
                consumer.seek(single, 0, offset + 1)
                assert consumer.position(single, 0) == offset + 1
        assert (found, passed) == (["x"] * 3, [1, 2, 3, 5])
        assert consumer.position(single, 0) == 7
        assert time.monotonic() - began < LONG_POLL_MS / 1000 / 2
    finally:
        consumer.close()


def test_seeks_within_buffered_records_and_out_of_them_read_the_log(
    mock_cluster: MockCluster, single: str, kind: Any
) -> None:
    """Forwards, backwards, to the end, and to where it is."""
    mock_cluster.append(single, 0, [b"%d" % n for n in range(10)])
    consumer = kind(mock_cluster.bootstrap, auto_offset_reset="earliest")
    try:
        consumer.assign([(single, 0)])

        def next_offset() -> int:
            [found] = consumer.poll(timeout=TIMEOUT, max_records=1)
            assert found.value == b"%d" % found.offset
            offset: int = found.offset
            return offset

        assert next_offset() == 0
        for to in (3, 4, 4, 0, 9, 2, 8):
            consumer.seek(single, 0, to)
            assert consumer.position(single, 0) == to
            assert next_offset() == to
            assert consumer.position(single, 0) == to + 1
        assert next_offset() == 9
        consumer.seek(single, 0, 10)
        mock_cluster.append(single, 0, [b"10"])
        assert next_offset() == 10
    finally:
        consumer.close()


@pytest.mark.parametrize("call", ["poll", "arrow"])
def test_a_seek_of_one_partition_leaves_the_others_as_they_are(
    mock_cluster: MockCluster, topic: str, call: str
) -> None:
    """Each record is delivered once, in order."""
    for partition in range(3):
        mock_cluster.append(topic, partition, [b"%d" % n for n in range(10)])
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, partition) for partition in found])

        def read_some(count: int) -> None:
            if call == "poll":
                for each in consumer.poll(timeout=TIMEOUT, max_records=count):
                    found[each.partition].append(each.offset)
                return
            batch = consumer.poll_arrow(
                timeout=TIMEOUT, columns=["partition", "offset"], max_rows=count
            )
            assert batch is not None
            for partition, offset in batch.rows():
                found[partition].append(offset)

        read_some(2)
        [sought] = [partition for partition, offsets in found.items() if offsets]
        consumer.seek(topic, sought, 6)
        while sum(map(len, found.values())) < 26:
            read_some(4)
        for partition, offsets in found.items():
            expected = [0, 1, *range(6, 10)] if partition == sought else [*range(10)]
            assert offsets == expected
            assert consumer.position(topic, partition) == 10
