"""``Delivery``: awaitable in any loop, with done callbacks, never blocking other work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.mock.test_unseen_failures import warnings
from tests.support.loops import run

REFUSED = Fault.error("INVALID_RECORD")


def wait_until_done(delivery: ottla.Delivery) -> None:
    """Wait without retrieving the result."""
    deadline = time.monotonic() + 90
    while not delivery.done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_awaiting_does_not_block_the_loop(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.delay(0.5), api="Produce", times=1)

    async def main() -> None:
        with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            delivery = producer.send(single, "v")
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while not delivery.done():
                    ticks += 1
                    await asyncio.sleep(0.01)

            ticking = asyncio.create_task(tick())
            metadata = await delivery
            assert isinstance(metadata, ottla.RecordMetadata)
            assert (metadata.topic, metadata.partition, metadata.offset) == (single, 0, 0)
            await ticking
            assert ticks > 3
            # A completed delivery can be awaited any number of times.
            assert await delivery == metadata == delivery.result()
            both = await asyncio.gather(delivery, producer.send(single, "w"))
            assert [where.offset for where in both] == [0, 1]

    run(main())


def test_a_cancelled_wait_does_not_cancel_the_record(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.inject(Fault.delay(0.3), api="Produce", times=1)

    async def main() -> None:
        with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            delivery = producer.send(single, "v")

            async def wait() -> ottla.RecordMetadata:
                return await delivery

            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await delivery).offset == 0

    run(main())
    assert mock_cluster.end_offset(single, 0) == 1


def test_a_delivery_can_be_awaited_in_several_loops(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.delay(0.3), api="Produce", times=1)
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        delivery = producer.send(single, "v")

        async def wait() -> int | None:
            return (await delivery).offset

        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            assert list(threads.map(lambda _: asyncio.run(wait()), range(3))) == [0, 0, 0]


@pytest.mark.parametrize("is_done", [False, True])
def test_an_awaited_failure_is_raised_and_counts_as_seen(
    mock_cluster: MockCluster, single: str, caplog: pytest.LogCaptureFixture, is_done: bool
) -> None:
    mock_cluster.inject(REFUSED, api="Produce")

    async def main() -> None:
        with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            delivery = producer.send(single, "v")
            if is_done:
                await asyncio.to_thread(wait_until_done, delivery)
            with pytest.raises(errors.BrokerError, match="INVALID_RECORD"):
                await delivery

    run(main())
    assert warnings(caplog) == []


def test_a_failure_after_a_cancelled_wait_is_reported(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.inject(Fault.delay(0.3), api="Produce", times=1)
    mock_cluster.inject(REFUSED, api="Produce")

    async def main(producer: ottla.Producer) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(producer.send(single, "v"), 0.05)

    def block() -> None:
        with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            run(main(producer))

    with pytest.raises(errors.BrokerError, match="not checked"):
        block()


def test_a_done_callback_is_called_once_on_the_delivery_thread(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.inject(Fault.delay(0.2), api="Produce", times=1)
    called: list[tuple[ottla.Delivery, str]] = []

    def note(delivery: ottla.Delivery) -> None:
        assert delivery.done()
        called.append((delivery, threading.current_thread().name))

    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        deliveries = [producer.send(single, str(number)) for number in range(500)]
        for delivery in deliveries:
            delivery.add_done_callback(note)
        deliveries[0].add_done_callback(note)
        producer.flush()
        assert len(called) == 501, "flush did not wait for the callbacks"
        assert {id(delivery) for delivery, _ in called} == {id(d) for d in deliveries}
        # The first batch may complete before its last callback is added.
        assert {name for _, name in called} <= {"ottla-delivery", threading.current_thread().name}
        assert "ottla-delivery" in {name for _, name in called}
        deliveries[7].add_done_callback(note)
        assert called[501:] == [(deliveries[7], threading.current_thread().name)]


def test_a_done_callback_exception_does_not_affect_others(
    mock_cluster: MockCluster, single: str, caplog: pytest.LogCaptureFixture
) -> None:
    mock_cluster.inject(Fault.delay(0.2), api="Produce", times=1)
    called: list[ottla.Delivery] = []

    def fail(delivery: ottla.Delivery) -> None:
        raise ValueError("no such customer")

    def logged() -> list[str]:
        errors_of_producer = [r for r in caplog.records if r.levelno == logging.ERROR]
        return [str(r.exc_info[1]) for r in errors_of_producer if r.exc_info]

    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        delivery = producer.send(single, "v")
        delivery.add_done_callback(fail)
        delivery.add_done_callback(called.append)
        producer.flush()
        assert called == [delivery]
        assert logged() == ["no such customer"]
        delivery.add_done_callback(fail)
        assert logged() == ["no such customer"] * 2
        with pytest.raises(TypeError, match="of type int; expected a callable"):
            delivery.add_done_callback(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("retrieves", [False, True])
def test_a_done_callback_that_reads_the_failure_marks_it_seen(
    mock_cluster: MockCluster, single: str, retrieves: bool
) -> None:
    mock_cluster.inject(Fault.delay(0.2), api="Produce", times=1)
    mock_cluster.inject(REFUSED, api="Produce")
    results: list[object] = []

    def block() -> None:
        with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            delivery = producer.send(single, "v")
            delivery.add_done_callback(
                lambda d: results.append(d.exception() if retrieves else None)
            )

    if retrieves:
        block()
        assert isinstance(results[0], errors.BrokerError)
    else:
        with pytest.raises(errors.BrokerError, match="not checked"):
            block()
    assert len(results) == 1


def test_a_done_callback_outlives_the_producer(mock_cluster: MockCluster, single: str) -> None:
    """It is called when `close` fails the record, and at once if added later."""
    fault = mock_cluster.inject(Fault.silence(), api="Produce")
    producer = ottla.Producer(mock_cluster.bootstrap, linger_ms=0)
    first, second = producer.send(single, "v"), producer.send(single, "w")
    called = threading.Event()
    first.add_done_callback(lambda _: called.set())
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0.2)
    assert called.wait(30)
    assert mock_cluster.fault_hits(fault)
    again = threading.Event()
    second.add_done_callback(lambda _: again.set())
    assert again.wait(30)
    del producer
    assert isinstance(first.exception(timeout=1), errors.KafkaError)
    assert isinstance(second.exception(timeout=1), errors.KafkaError)


def test_a_done_callback_may_send(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=20) as producer:
        done = threading.Event()

        def again(delivery: ottla.Delivery, left: int) -> None:
            if left:
                producer.send(single, "v").add_done_callback(lambda d: again(d, left - 1))
            else:
                done.set()

        producer.send(single, "v").add_done_callback(lambda d: again(d, 5))
        assert done.wait(60)
    assert mock_cluster.end_offset(single, 0) == 6


def test_all_kinds_of_waiters_at_once(mock_cluster: MockCluster, single: str) -> None:
    """Callbacks, awaits, threads and flushes of one producer do not block each other."""
    called: list[int] = []

    async def wait(producer: ottla.Producer) -> None:
        deliveries = [producer.send(single, "v") for _ in range(300)]
        for number, delivery in enumerate(deliveries):
            delivery.add_done_callback(lambda _, number=number: called.append(number))  # type: ignore[misc]
        await asyncio.gather(*deliveries)

    with ottla.Producer(mock_cluster.bootstrap, linger_ms=1) as producer:
        threads = [
            threading.Thread(target=asyncio.run, args=(wait(producer),), daemon=True)
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 90
        while any(thread.is_alive() for thread in threads):
            assert time.monotonic() < deadline
            producer.flush(timeout=60)
    assert sorted(called) == sorted(list(range(300)) * 4)
