"""Scenarios of groups: two members, commits, and a member whose process is killed."""

from __future__ import annotations

from typing import Any

from tests.support.confluent_scenarios import (
    PATIENCE,
    Trace,
    consumer_config,
    plain,
    poll_until,
    produce,
    read,
    wait_for,
)
from tests.support.subprocesses import run_python


def rebalances(peer: Any, bootstrap: str, topic: str) -> Trace:
    """Two members with callbacks: the second joins, then the first leaves."""
    return _two_members(peer, bootstrap, topic, "range", lambda name, kind, parts: None)


def cooperative_rebalances(peer: Any, bootstrap: str, topic: str) -> Trace:
    """The same, with callbacks that take over and give up partitions themselves."""
    return _two_members(peer, bootstrap, topic, "cooperative-sticky", _take_over)


def _take_over(consumer: Any, kind: str, parts: list[Any]) -> None:
    if kind == "on_assign":
        consumer.incremental_assign(parts)
    else:
        consumer.incremental_unassign(parts)


def _two_members(peer: Any, bootstrap: str, topic: str, assignor: str, act: Any) -> Trace:
    config = consumer_config(bootstrap, session_timeout_ms=6000, heartbeat_interval_ms=200)
    config["partition.assignment.strategy"] = assignor
    trace: Trace = []

    def member(name: str) -> Any:
        def callback(kind: str) -> Any:
            def called(consumer: Any, parts: list[Any]) -> None:
                # How often a member learns of no change depends on when it joins again.
                if parts:
                    trace.append((name, kind, len(parts), {part.offset for part in parts}))
                act(consumer, kind, parts)

            return called

        consumer = peer.Consumer(config)
        consumer.subscribe(
            [topic],
            on_assign=callback("on_assign"),
            on_revoke=callback("on_revoke"),
            on_lost=callback("on_lost"),
        )
        return consumer

    first = member("first")
    poll_until(first, lambda: len(first.assignment()) == 4)
    second = member("second")

    def is_shared() -> bool:
        second.poll(0.05)
        return len(first.assignment()) == len(second.assignment()) == 2

    poll_until(first, is_shared)
    trace.append(("ids", first.memberid() != second.memberid(), bool(first.memberid())))
    first.close()
    poll_until(second, lambda: len(second.assignment()) == 4)
    second.unsubscribe()
    poll_until(second, lambda: not second.assignment())
    second.close()
    # The two members are called in either order.
    return sorted(trace, key=str)


def commits(peer: Any, bootstrap: str, topic: str) -> Trace:
    """Each form of a commit, with and without waiting."""
    produce(peer, bootstrap, topic, 10)
    trace: Trace = []
    results: list[Any] = []
    config = consumer_config(bootstrap, enable_auto_commit=False)
    config["on_commit"] = lambda error, parts: results.append((error, plain(parts)))
    consumer = peer.Consumer(config)
    part = peer.TopicPartition
    consumer.subscribe([topic])
    messages = read(consumer, 10)
    asked = [part(topic, 0)]
    trace.append(plain(consumer.committed(asked, PATIENCE)))
    trace.append(plain(consumer.commit(message=messages[2], asynchronous=False)))
    trace.append(plain(consumer.committed(asked, PATIENCE)))
    for offset in (part(topic, 0, 5, "text"), part(topic, 0, 6, ""), part(topic, 0, 7)):
        trace.append(plain(consumer.commit(offsets=[offset], asynchronous=False)))
        trace.append(plain(consumer.committed(asked, timeout=PATIENCE)))
    trace.append(consumer.commit(message=messages[8]))
    poll_until(consumer, lambda: results)
    trace.append(results)
    trace.append(plain(found for found in consumer.commit(asynchronous=False) if found.offset >= 0))
    trace.append(plain(consumer.committed(asked, PATIENCE)))
    consumer.close()
    return trace


_CRASH = """
import importlib, os, time
peer = importlib.import_module({name!r})
consumer = peer.Consumer({config!r})
consumer.subscribe([{topic!r}])
messages = []
while len(messages) < 10:
    messages += consumer.consume(10, 1.0)
consumer.store_offsets(messages[3])
part = peer.TopicPartition({topic!r}, 0)
while consumer.committed([part], {patience})[0].offset != 4:
    consumer.poll(0.01)
# It is processed, and its offset is stored, but not committed.
consumer.store_offsets(offsets=[peer.TopicPartition({topic!r}, 0, 9)])
os._exit(7)
"""


def stored_offsets(peer: Any, bootstrap: str, topic: str) -> Trace:
    """An application stores what it has processed; its process ends at once; another goes on."""
    produce(peer, bootstrap, topic, 10)
    config = consumer_config(bootstrap, enable_auto_offset_store=False)
    # The successor of a static member need not wait for the end of its session.
    config |= {"group.instance.id": "static", "auto.commit.interval.ms": 500}
    arguments = {"name": peer.__name__, "config": config, "topic": topic, "patience": PATIENCE}
    run_python(_CRASH.format(**arguments), code=7)
    successor = peer.Consumer(config)
    successor.subscribe([topic])
    (message,) = read(successor, 1)
    trace: Trace = [(message.offset(), message.key(), message.value(), message.leader_epoch())]
    successor.store_offsets(message)
    wait_for(lambda: successor.committed([peer.TopicPartition(topic, 0)], PATIENCE)[0].offset == 5)
    successor.close()
    return trace
