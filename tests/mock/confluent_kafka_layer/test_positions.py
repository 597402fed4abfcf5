"""The position of a consumer passes what is not a message, as the original's does."""

from __future__ import annotations

from typing import Any

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
