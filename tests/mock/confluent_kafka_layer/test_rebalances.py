"""Rebalances: the callbacks, what they may do, and two members side by side."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.testing import MockCluster
from tests.support.confluent_consumers import consumer_config, fill, poll_until, read


class Trace(list[tuple[str, list[int]]]):
    """The callbacks of one consumer, in order."""

    def callbacks(self) -> dict[str, Any]:
        """Return the arguments of ``subscribe``."""

        def callback(kind: str) -> Any:
            return lambda _, parts: self.append((kind, sorted(part.partition for part in parts)))

        return {kind: callback(kind) for kind in ("on_assign", "on_revoke", "on_lost")}


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_two_members_share_the_partitions(
    either: Any, cluster: MockCluster, name: str, strategy: str
) -> None:
    fill(cluster, name, 1, partitions=4)
    timing = {"heartbeat_interval_ms": 50, "session_timeout_ms": 6000}
    config = consumer_config(cluster, name, partition_assignment_strategy=strategy, **timing)
    first, second = either.Consumer(config), either.Consumer(config)
    traces = Trace(), Trace()
    first.subscribe([name], **traces[0].callbacks())
    poll_until(first, lambda: len(first.assignment()) == 4)
    assert traces[0] == [("on_assign", [0, 1, 2, 3])]
    second.subscribe([name], **traces[1].callbacks())

    def is_shared() -> bool:
        second.poll(0.05)
        return len(first.assignment()) == len(second.assignment()) == 2

    poll_until(first, is_shared)
    given = sorted(part.partition for part in second.assignment())
    if strategy == "range":
        kept = sorted(part.partition for part in first.assignment())
        assert traces[0][1:] == [("on_revoke", [0, 1, 2, 3]), ("on_assign", kept)]
    else:
        assert ("on_revoke", given) in traces[0]
    assert ("on_assign", given) in traces[1]
    first.close()
    assert traces[0][-1][0] == "on_revoke"
    poll_until(second, lambda: len(second.assignment()) == 4)
    second.close()


def test_on_assign_may_choose_offsets(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 5)

    def on_assign(consumer: Any, parts: list[Any]) -> None:
        for part in parts:
            part.offset = 3
        consumer.assign(parts)

    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([name], on_assign=on_assign)
    assert [message.offset() for message in read(consumer, 2)] == [3, 4]
    consumer.close()


def test_what_on_assign_leaves_out_is_not_read(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name, 1, partitions=2)
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe(
        [name], on_assign=lambda c, parts: c.assign([p for p in parts if p.partition])
    )
    assert [message.partition() for message in read(consumer, 1)] == [1]
    assert [part.partition for part in consumer.assignment()] == [1]
    assert consumer.poll(0.2) is None
    consumer.close()


def test_incremental_callbacks(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 5)

    def on_assign(consumer: Any, parts: list[Any]) -> None:
        for part in parts:
            part.offset = 4
        consumer.incremental_assign(parts)

    config = consumer_config(cluster, name, partition_assignment_strategy="cooperative-sticky")
    consumer = either.Consumer(config)
    revoked: list[Any] = []

    def on_revoke(consumer: Any, parts: list[Any]) -> None:
        consumer.incremental_unassign(parts)
        revoked.extend(parts)

    consumer.subscribe([name], on_assign=on_assign, on_revoke=on_revoke)
    assert read(consumer, 1)[0].offset() == 4
    consumer.close()
    assert [part.topic for part in revoked] == [name]


def test_on_revoke_may_commit(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 5)
    consumer = either.Consumer(consumer_config(cluster, name, enable_auto_commit=False))

    def on_revoke(consumer: Any, parts: list[Any]) -> None:
        consumer.commit(asynchronous=False)
        consumer.unassign()

    consumer.subscribe([name], on_revoke=on_revoke)
    read(consumer, 3)
    consumer.close()
    assert cluster.committed(name) == {(name, 0): 3}


def test_an_exception_of_a_callback_is_the_polls(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name, 5)

    def on_assign(consumer: Any, parts: list[Any]) -> None:
        raise ValueError("of the callback")

    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([name], on_assign=on_assign)
    with pytest.raises(ValueError, match="of the callback"):
        poll_until(consumer, lambda: False)
    assert read(consumer, 1)[0].offset() == 0
    consumer.close()
