"""Position and stored offset of a consumer pass what is not a message, as the original's do."""

from __future__ import annotations

from typing import Any

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.waiting import wait_until


def test_the_position_passes_markers_of_transactions(
    either: Any, cluster: MockCluster, name: str
) -> None:
    """Quix Streams restores its state from a changelog until the position is its end."""
    cluster.create_topic(name, partitions=1)
    with ottla.Producer(cluster.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(name, b"one", partition=0)
    consumer = either.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": name})
    partition = either.TopicPartition(name, 0, 0)
    consumer.assign([partition])
    offsets: list[int] = []

    def read() -> bool:
        message = consumer.poll(0.05)
        if message is not None:
            assert message.error() is None
            offsets.append(message.offset())
        [position] = consumer.position([partition])
        return bool(position.offset == 2)

    wait_until(read)
    assert offsets == [0]
    consumer.seek(either.TopicPartition(name, 0, 1))
    assert consumer.position([partition])[0].offset != 2
    wait_until(read)
    assert offsets == [0]
    consumer.close()


@pytest.mark.parametrize("commits", ["commit", "close"])
def test_what_is_committed_passes_markers_of_transactions(
    either: Any, cluster: MockCluster, name: str, commits: str
) -> None:
    """Else a group that has read everything would have a lag for ever."""
    cluster.create_topic(name, partitions=1)
    with ottla.Producer(cluster.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        for value in (b"one", b"two"):
            with producer.transaction():
                producer.send(name, value, partition=0)
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": name}
    consumer = either.Consumer(settings | {"auto.offset.reset": "earliest"})
    partition = either.TopicPartition(name, 0)
    consumer.subscribe([name])
    values: list[bytes] = []

    def read() -> bool:
        message = consumer.poll(0.05)
        if message is not None:
            assert message.error() is None
            values.append(message.value())
        [position] = consumer.position([partition])
        return bool(position.offset == 4)

    wait_until(read)
    assert values == [b"one", b"two"]
    if commits == "commit":
        [committed] = consumer.commit(asynchronous=False)
        assert committed.offset == 4
    consumer.close()
    with ottla.Admin(cluster.bootstrap) as admin:
        assert admin.list_group_offsets([name])[name][name, 0].offset == 4


def test_an_offset_that_was_stored_is_committed_as_it_is(
    either: Any, cluster: MockCluster, name: str
) -> None:
    """Without automatic stores, only the application passes messages."""
    cluster.create_topic(name, partitions=1)
    with ottla.Producer(cluster.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(name, b"one", partition=0)
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": name}
    settings |= {"auto.offset.reset": "earliest", "enable.auto.offset.store": "false"}
    consumer = either.Consumer(settings)
    consumer.subscribe([name])
    partition = either.TopicPartition(name, 0)

    def read() -> bool:
        message = consumer.poll(0.05)
        if message is not None:
            consumer.store_offsets(message)
        [position] = consumer.position([partition])
        return bool(position.offset == 2)

    wait_until(read)
    [committed] = consumer.commit(asynchronous=False)
    assert committed.offset == 1
    consumer.close()
