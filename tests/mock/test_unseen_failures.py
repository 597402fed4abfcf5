"""Failures that nobody retrieved are logged, and raised at the end of a `with` block."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster

REFUSED = Fault.error("INVALID_RECORD")


def warnings(caplog: pytest.LogCaptureFixture, count: int = 0) -> list[str]:
    """Wait for `count` warnings about unretrieved failures and return them."""
    # A thread passes the engine's events to the loggers.
    deadline = time.monotonic() + (60 if count else 0.3)
    while time.monotonic() < deadline and (not count or len(logged(caplog)) < count):
        time.sleep(0.01)
    return logged(caplog)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    messages = [
        record.getMessage()
        for record in caplog.records
        if record.name == "ottla.producer" and record.levelno == logging.WARNING
    ]
    return [message for message in messages if "not checked" in message]


@pytest.fixture
def rejecting(mock_cluster: MockCluster, single: str) -> MockCluster:
    """A cluster that rejects all records."""
    mock_cluster.inject(REFUSED, api="Produce")
    return mock_cluster


def test_flush_logs_failures_once_per_partition_and_cause(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: thousands of records failed, but ``flush`` and the block raised nothing."""
    rejecting.create_topic("other", partitions=1)
    producer = ottla.Producer(rejecting.bootstrap)
    for _ in range(1000):
        producer.send("single", "v")
    producer.send_batch("other", ["v"] * 500)
    producer.flush(timeout=60)
    messages = warnings(caplog, 2)
    assert len(messages) == 2, messages
    assert all("INVALID_RECORD" in message for message in messages)
    assert any("count=1000" in message and "single-0" in message for message in messages)
    assert any("count=500" in message and "other-0" in message for message in messages)
    producer.flush(timeout=60)
    producer.close()
    assert len(warnings(caplog)) == 2, "a reported failure was reported again"


def test_leaving_a_with_block_raises_the_first_failure(rejecting: MockCluster) -> None:
    def block() -> None:
        with ottla.Producer(rejecting.bootstrap) as producer:
            producer.send("single", "v")
            producer.send_batch("single", ["v", "w"])

    with pytest.raises(
        errors.KafkaError, match="3 records were not written, and their results were not checked"
    ) as raised:
        block()
    assert raised.value.name == "INVALID_RECORD"
    assert raised.value.context["topic"] == "single"


@pytest.mark.parametrize("how", ["result", "exception", "on_delivery", "batch", "errors"])
def test_retrieved_failures_are_not_reported_again(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    seen: list[Any] = []
    with ottla.Producer(rejecting.bootstrap) as producer:
        if how == "on_delivery":
            producer.send("single", "v", on_delivery=lambda error, _: seen.append(error))
        elif how == "batch":
            with pytest.raises(errors.KafkaError):
                producer.send_batch("single", ["v", "w"]).result(timeout=60)
        elif how == "errors":
            assert len(producer.send_batch("single", ["v", "w"]).errors(timeout=60)) == 1
        elif how == "result":
            with pytest.raises(errors.KafkaError):
                producer.send("single", "v").result(timeout=60)
        else:
            assert producer.send("single", "v").exception(timeout=60) is not None
    assert bool(seen) == (how == "on_delivery")
    assert warnings(caplog) == []


def test_done_and_repr_do_not_retrieve_failures(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    producer = ottla.Producer(rejecting.bootstrap)
    sent = producer.send("single", "v")
    producer.flush(timeout=60)
    assert sent.done()
    assert "failed" in repr(sent)
    producer.close()
    assert len(warnings(caplog, 1)) == 1


def test_an_exception_in_the_block_is_not_replaced(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    def block() -> None:
        with ottla.Producer(rejecting.bootstrap) as producer:
            producer.send("single", "v")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert len(warnings(caplog, 1)) == 1


def test_rejected_rows_count_as_unseen(mock_cluster: MockCluster, single: str) -> None:
    values = ["fits", "x" * 5000, "fits"]
    with (
        pytest.raises(
            errors.RecordTooLargeError, match=r"1 record was not written.*max\.request\.size"
        ),
        ottla.Producer(mock_cluster.bootstrap, max_request_size=2000) as producer,
    ):
        producer.send_batch(single, values)
    assert mock_cluster.end_offset(single, 0) == 2


def test_records_abandoned_by_close_count_as_unseen(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.silence(), api="Produce")
    producer = ottla.Producer(mock_cluster.bootstrap)
    sent = producer.send(single, "v")
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0.1)
    with pytest.raises(errors.ClosedError):
        sent.result(timeout=0)


def test_a_dropped_producer_writes_sent_records(mock_cluster: MockCluster, single: str) -> None:
    """Regression: a producer that went out of scope failed records with live deliveries."""
    sent = ottla.Producer(mock_cluster.bootstrap, linger_ms=60_000).send(single, "v")
    gc.collect()
    assert sent.result(timeout=60).offset == 0


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work(), 120)

    asyncio.run(bounded())


def test_asyncio_logs_and_raises_unseen_failures(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(rejecting.bootstrap) as producer:
            futures = [producer.send("single", "v") for _ in range(10)]
            await producer.send_batch("single", ["v", "w"])
            await producer.flush()
            assert len(warnings(caplog, 2)) == 2
            assert all(future.done() for future in futures)

    with pytest.raises(
        errors.KafkaError, match="12 records were not written, and their results were not checked"
    ):
        run(work)
    gc.collect()
    assert len(warnings(caplog)) == 2, "a reported failure was reported again"
    assert not any("never retrieved" in record.getMessage() for record in caplog.records)


def test_asyncio_does_not_report_awaited_failures(
    rejecting: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(rejecting.bootstrap) as producer:
            with pytest.raises(errors.KafkaError):
                await producer.send("single", "v")
            futures = [producer.send("single", "v") for _ in range(10)]
            results = await asyncio.gather(*futures, return_exceptions=True)
            assert all(isinstance(result, errors.KafkaError) for result in results)
            delivery = await producer.send_batch("single", ["v", "w"])
            assert len(await delivery.errors()) == 1

    run(work)
    assert warnings(caplog) == []


def test_asyncio_counts_records_that_never_entered_the_buffer() -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(cluster.bootstrap, max_block_ms=200) as producer:
            await asyncio.wait([producer.send("absent", "v")])

    with (
        MockCluster(brokers=1, auto_create_topics=False) as cluster,
        pytest.raises(errors.UnknownTopicError, match="1 record was not written"),
    ):
        run(work)


def test_a_dropped_async_producer_writes_sent_records(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        future = ottla.AsyncProducer(mock_cluster.bootstrap, linger_ms=60_000).send(single, "v")
        gc.collect()
        assert (await future).offset == 0

    run(work)
