"""Share consumers with formats as deserializers: blocking and asyncio, on the mock and on Kafka."""

from __future__ import annotations

import time
from typing import Any

import pytest

import ottla
from ottla import AcknowledgeType, errors
from ottla.schema import Avro, Registry
from ottla.testing import MockRegistry, RegistryFault
from tests.cluster.conftest import Brokers, new_share_group
from tests.support.consumers import TIMEOUT, read

ITEM = """{"type": "record", "name": "Item", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}"""


class Items:
    """A topic with keys and values in Avro, and a share group that begins at its first record."""

    def __init__(self, brokers: Brokers, registry: MockRegistry, partitions: int = 1) -> None:
        self.brokers, self.registry = brokers, registry
        self.topic = brokers.create_topic(partitions=partitions)
        self.partitions = partitions
        self.group = new_share_group(brokers)
        registry.register(f"{self.topic}-key", '"int"')
        registry.register(f"{self.topic}-value", ITEM)

    def write(self, *numbers: int) -> None:
        """Write items; of a negative number, the value is malformed."""
        with Registry(self.registry.url) as registry:
            key, value = Avro(registry), Avro(registry)
            with ottla.Producer(self.brokers.bootstrap, linger_ms=0) as producer:
                for number in numbers:
                    item = {"id": number, "name": f"item {number}"}
                    data = value.serialize(self.topic, item) if number >= 0 else b"malformed"
                    sent = producer.send(
                        self.topic,
                        data,
                        key.serialize(self.topic, number, key=True),
                        partition=number % self.partitions,
                    )
                    sent.result(timeout=TIMEOUT)

    def consumer(self, kind: Any, registry_timeout_ms: int = 500, **config: Any) -> Any:
        """A member of the group."""
        registry = Registry(self.registry.url, default_api_timeout_ms=registry_timeout_ms)
        return kind(
            self.brokers.bootstrap,
            topics=[self.topic],
            group_id=self.group,
            key_deserializer=Avro(registry),
            value_deserializer=Avro(registry),
            **config,
        )


def ids(records: list[Any]) -> list[int]:
    """The ids of items, whose keys and names fit."""
    for record in records:
        number = record.value["id"]
        assert (record.key, record.value["name"]) == (number, f"item {number}")
    return [record.value["id"] for record in records]


def test_records_are_decoded(
    share_cluster_and_kind: tuple[Brokers, Any], mock_registry: MockRegistry
) -> None:
    """Those of several partitions, batches and fetches, by polls and by iteration."""
    brokers, kind = share_cluster_and_kind
    items = Items(brokers, mock_registry, partitions=3)
    items.write(*range(30))
    with items.consumer(kind) as consumer:
        records = read(consumer, 30)
        assert sorted(ids(records)) == list(range(30))
        items.write(*range(30, 36))
        assert sorted(ids([next(iter(consumer)) for _ in range(6)])) == list(range(30, 36))
    assert sum(path.startswith("/schemas") for _, path in mock_registry.requests()) <= 2


def test_a_record_that_cannot_be_decoded_is_an_error_and_released(
    share_cluster_and_kind: tuple[Brokers, Any], mock_registry: MockRegistry
) -> None:
    """The records before it come first, and the application may reject it."""
    brokers, kind = share_cluster_and_kind
    items = Items(brokers, mock_registry)
    items.write(0, 1, -1, 2)
    with items.consumer(kind, share_acknowledgement_mode="explicit") as consumer:
        seen: list[int] = []
        counts: list[int] = []
        messages: list[str] = []
        deadline = time.monotonic() + TIMEOUT
        while (seen, len(counts)) != ([0, 1, 2], 2) and time.monotonic() < deadline:
            try:
                records = consumer.poll(timeout=0.5)
            except errors.SerializationError as error:
                messages.append(str(error))
                counts.append(len(seen))
                if len(counts) == 2:
                    reject = AcknowledgeType.REJECT
                    consumer.acknowledge_offsets(items.topic, 0, 2, 2, reject)
            else:
                seen += ids(records)
                for record in records:
                    consumer.acknowledge(record)
        # It was released and delivered again; then it was rejected.
        assert (seen, counts[0], len(counts)) == ([0, 1, 2], 2, 2)
        assert consumer.poll(timeout=1.0) == []
    assert "the value cannot be decoded: the value begins with byte 0x6d" in messages[0]
    assert f"[{items.topic}-0, offset 2]" in messages[0]


def test_a_registry_that_fails_is_an_error_and_loses_nothing(
    share_cluster_and_kind: tuple[Brokers, Any], mock_registry: MockRegistry
) -> None:
    """What was acquired is delivered later, once; Arrow batches keep their bytes meanwhile."""
    brokers, kind = share_cluster_and_kind
    items = Items(brokers, mock_registry)
    items.write(0, 1, 2)
    mock_registry.inject(RegistryFault.status(503))
    with items.consumer(kind) as consumer:
        with pytest.raises(errors.TimeoutError, match=r"looking up .* did not succeed"):
            read(consumer, 3)
        mock_registry.clear_faults()
        try:
            found = read(consumer, 3)
        except errors.TimeoutError:
            # Of a lookup that began before the fault was taken back.
            found = read(consumer, 3)
        assert ids(found) == [0, 1, 2]
        items.write(3)
        mock_registry.inject(RegistryFault.status(503))
        batch = None
        while batch is None:
            batch = consumer.poll_arrow(timeout=TIMEOUT)
        assert [row[1][5:] for row in batch.rows()] == [b"\x06\x0citem 3"]
        assert consumer.poll(timeout=0.5) == []


def test_a_slow_registry_does_not_keep_a_poll(
    share_cluster_and_kind: tuple[Brokers, Any], mock_registry: MockRegistry
) -> None:
    """Polls end with their timeout, and one look-up goes on; wakeup() ends a poll at once."""
    brokers, kind = share_cluster_and_kind
    items = Items(brokers, mock_registry)
    items.write(0, 1, 2)
    before = len(mock_registry.requests())
    mock_registry.inject(RegistryFault.delay(0.4))
    # A response that is delayed, on a machine that pauses as well, is no failure.
    with items.consumer(kind, registry_timeout_ms=60_000) as consumer:
        assert ids(read(consumer, 3, timeout=0.05)) == [0, 1, 2]
    # The schemas to read with, and those of the ids: the same ones.
    paths = [path for _, path in mock_registry.requests()[before:]]
    assert len(paths) == len(set(paths)) <= 4
