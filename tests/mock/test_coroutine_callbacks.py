"""Coroutine functions where a plain function is called: an error, since nothing would await them.

Invariant: on no route is such a callback dropped in silence, nor does Python warn of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

import ottla
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.waiting import wait_until

MESSAGE = "the callback is a coroutine function, which did not run"
# Python's own warning that a coroutine was not awaited.
pytestmark = pytest.mark.filterwarnings("error")


async def callback(*_: Any) -> None:
    """A callback that has to be awaited."""


def test_on_delivery(producer: ottla.Producer, single: str) -> None:
    producer.send(single, b"v", on_delivery=callback)
    with pytest.raises(TypeError, match=MESSAGE):
        producer.flush()


def test_on_delivery_of_a_record_that_failed(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send(single, b"before").result()
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
    producer.send(single, b"v", on_delivery=callback)
    with pytest.raises(TypeError, match=MESSAGE):
        producer.flush()


def test_later_ones_are_logged(
    producer: ottla.Producer, single: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        producer.send(single, b"v", on_delivery=callback)
    with pytest.raises(TypeError, match=MESSAGE):
        producer.flush()
    assert "on_delivery raised" in caplog.text
    assert MESSAGE in caplog.text


def test_other_results_have_no_meaning(producer: ottla.Producer, single: str) -> None:
    called: list[object] = []

    def counting(*_: object) -> int:
        called.append(None)
        return len(called)

    producer.send(single, b"v", on_delivery=counting).add_done_callback(counting)
    producer.flush()
    assert len(called) == 2


@pytest.mark.parametrize("is_done", [False, True])
def test_a_done_callback(
    mock_cluster: MockCluster, single: str, caplog: pytest.LogCaptureFixture, is_done: bool
) -> None:
    with (
        caplog.at_level(logging.ERROR, "ottla.producer"),
        ottla.Producer(mock_cluster.bootstrap, linger_ms=0 if is_done else 200) as producer,
    ):
        delivery = producer.send(single, b"v")
        if is_done:
            delivery.result()
        delivery.add_done_callback(callback)
        producer.flush()
    [record] = caplog.records
    assert record.message == "a done callback raised"
    assert record.exc_info is not None
    assert MESSAGE in str(record.exc_info[1])


def test_on_delivery_with_asyncio(mock_cluster: MockCluster, single: str) -> None:
    complained: list[dict[str, Any]] = []

    async def work() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: complained.append(context)
        )
        async with ottla.AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(single, b"v", on_delivery=callback)

    loops.run(work(), 60)
    [context] = complained
    assert context["message"] == "on_delivery raised"
    assert isinstance(context["exception"], TypeError)
    assert MESSAGE in str(context["exception"])


@pytest.mark.parametrize("name", ["on_assigned", "on_revoked", "on_lost"])
def test_a_change_of_the_assignment(mock_cluster: MockCluster, single: str, name: str) -> None:
    config = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 100}
    callbacks: dict[str, Any] = {name: callback}
    with ottla.Consumer(mock_cluster.bootstrap, group_id="g", config=config) as consumer:
        consumer.subscribe([single], **callbacks)
        if name != "on_assigned":
            wait_until(lambda: consumer.poll(timeout=0.1) is not None and consumer.assignment())
        if name == "on_lost":
            mock_cluster.inject(Fault.error("UNKNOWN_MEMBER_ID"), api="Heartbeat", times=1)
        poll = _polled(consumer)
        change = consumer.unsubscribe if name == "on_revoked" else lambda: wait_until(poll)
        with pytest.raises(TypeError, match=MESSAGE):
            change()


def test_on_commit(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer:
        consumer.assign([(single, 0)])
        consumer.commit_async({(single, 0): 0}, on_commit=callback)
        with pytest.raises(TypeError, match=MESSAGE):
            wait_until(_polled(consumer))


def test_the_acknowledgement_commit_callback(mock_cluster: MockCluster, single: str) -> None:
    with ottla.ShareConsumer(mock_cluster.bootstrap, group_id="s") as consumer:
        consumer.set_acknowledgement_commit_callback(callback)
        consumer.subscribe([single])

        def poll() -> bool:
            # The group reads what is written once it has begun.
            mock_cluster.append(single, 0, [b"1"])
            return _polled(consumer)()

        with pytest.raises(TypeError, match=MESSAGE):
            wait_until(poll)


def _polled(consumer: Any) -> Callable[[], bool]:
    """Return a condition that polls, and never comes true."""

    def poll() -> bool:
        consumer.poll(timeout=0.1)
        return False

    return poll
