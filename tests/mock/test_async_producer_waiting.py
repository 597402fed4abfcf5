"""Sends of ``AsyncProducer`` that wait for a topic, for buffer space or in flight: their order, and
the effects of cancellation, timeouts, ``flush`` and ``close``."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest

import ottla
from ottla import AsyncProducer, errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows
from tests.support.loops import run

# Holds about twenty records of 1000 bytes.
SMALL: dict[str, Any] = {"buffer_memory": 20_000, "batch_size": 4000, "linger_ms": 0}


def numbers(cluster: MockCluster, topic: str) -> list[int]:
    """Return the numbers that the values start with, except for the first, empty value."""
    rows = read_rows(ottla.scan(topic, cluster.bootstrap))
    return [int(row["value"][:3]) for row in rows[1:]]


async def wait_until_idle(producer: AsyncProducer) -> None:
    """Wait until the buffer is empty: all reserved memory was released."""
    deadline = time.monotonic() + 90
    while producer.buffered_bytes:
        assert time.monotonic() < deadline, f"{producer.buffered_bytes} bytes are still reserved"
        await asyncio.sleep(0.01)


async def wait_until_fault_hit(cluster: MockCluster, fault: int) -> None:
    """Wait until a request hits the fault."""
    deadline = time.monotonic() + 90
    while not cluster.fault_hits(fault):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("seed", range(3))
def test_cancel_some_of_ten_thousand_sends(
    mock_cluster: MockCluster, topic: str, seed: int
) -> None:
    """Some are cancelled while they wait for buffer space, some while in flight."""
    chosen = random.Random(seed)

    async def work() -> None:
        async with AsyncProducer(
            mock_cluster.bootstrap, linger_ms=1, buffer_memory=60_000, batch_size=4000
        ) as producer:
            await producer.send(topic, b"first", partition=0)
            mock_cluster.inject(Fault.delay(0.01), api="Produce")

            async def one(number: int) -> ottla.RecordMetadata:
                return await producer.send(topic, b"%d" % number)

            tasks = [asyncio.create_task(one(number)) for number in range(10_000)]
            cancelled_numbers = chosen.sample(range(10_000), 3000)
            for count, number in enumerate(cancelled_numbers):
                tasks[number].cancel()
                if count % 100 == 0:
                    await asyncio.sleep(0)
            results = await asyncio.gather(*tasks, return_exceptions=True)
            mock_cluster.clear_faults()
            await wait_until_idle(producer)
            assert (await producer.send(topic, b"last", partition=1)).partition == 1
        rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
        found = {(row["partition"], row["offset"]): row["value"] for row in rows}
        assert len(set(found.values())) == len(found), "a record was written twice"
        for number, result in enumerate(results):
            if isinstance(result, asyncio.CancelledError):
                assert number in cancelled_numbers
            else:
                assert isinstance(result, ottla.RecordMetadata), result
                assert result.offset is not None
                assert found[result.partition, result.offset] == b"%d" % number

    run(work())


def test_a_full_buffer_blocks_senders_in_order(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            await producer.send(single, b"")
            mock_cluster.inject(Fault.delay(0.02), api="Produce")
            sent = [producer.send(single, b"%3d" % n + b"x" * 1000) for n in range(200)]
            assert producer.buffered_bytes <= 20_000
            ticks = 0
            while not all(future.done() for future in sent):
                await asyncio.sleep(0.005)
                ticks += 1
            assert ticks > 5, "the loop was blocked"
            assert [(await future).offset for future in sent] == list(range(1, 201))

    run(work())
    assert numbers(mock_cluster, single) == list(range(200))


def test_a_send_cancelled_while_waiting_is_not_sent(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            await producer.send(single, b"")
            # Long enough to cancel during it, even on a busy machine.
            fault = mock_cluster.inject(Fault.delay(3), api="Produce", times=1)
            sent = [producer.send(single, b"%3d" % n + b"x" * 1000) for n in range(40)]
            await wait_until_fault_hit(mock_cluster, fault)
            for future in sent[30:]:
                future.cancel()
            assert [(await future).offset for future in sent[:30]] == list(range(1, 31))
            await wait_until_idle(producer)

    run(work())
    assert numbers(mock_cluster, single) == list(range(30))


def test_a_buffer_that_stays_full_times_out(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        client = ottla.AsyncClient(mock_cluster.bootstrap, max_block_ms=300, **SMALL)
        # Look up the topic first, or the lookup would use up the timeout.
        await client.cluster([single])
        producer = AsyncProducer(client)
        await producer.send(single, b"")
        mock_cluster.inject(Fault.silence(), api="Produce")
        started = time.monotonic()
        sent = [producer.send(single, b"x" * 1000) for _ in range(100)]
        waiting = sent[30:]
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(result) for result in results} == {errors.TimeoutError}
        assert "buffer.memory (20000 bytes) stayed full for max.block.ms (300 ms)" in str(
            results[0]
        )
        # Each timeout starts with its own call, so seventy take no longer than one.
        assert 0.25 < time.monotonic() - started < 15
        assert not sent[0].done()
        with pytest.raises(errors.TimeoutError, match=r"flush: .* unacknowledged after 200 ms"):
            await producer.flush(timeout=0.2)
        with pytest.raises(errors.TimeoutError, match=r"close: .* unacknowledged after 100 ms"):
            await producer.close(timeout=0.1)
        with pytest.raises(errors.KafkaError) as raised:
            await sent[0]
        assert raised.value.maybe_done
        await asyncio.gather(*sent, return_exceptions=True)
        await client.close()

    run(work())


def test_a_missing_topic_does_not_block_other_topics() -> None:
    async def work() -> None:
        with MockCluster(auto_create_topics=False) as cluster:
            cluster.create_topic("there")
            async with AsyncProducer(cluster.bootstrap, max_block_ms=5000) as producer:
                missing = producer.send("missing", b"v")
                assert (await producer.send("there", b"v")).offset == 0
                assert not missing.done()
                with pytest.raises(errors.UnknownTopicError):
                    await missing

    run(work())


def test_a_missing_topic_does_not_use_up_the_close_timeout() -> None:
    """Regression: waiting for the missing topic used up the timeout of ``close``. Lingering records
    then failed, and the missing topic's record was still pending when ``close`` returned."""

    async def work() -> None:
        with MockCluster(auto_create_topics=False) as cluster:
            cluster.create_topic("there")
            client = ottla.AsyncClient(cluster.bootstrap, linger_ms=60_000)
            producer = AsyncProducer(client)
            await producer.send_batch("there", [b"first"])
            missing = producer.send("missing", b"v")
            with pytest.raises(errors.TimeoutError, match=r"flush: .* still waiting .*: 1"):
                await producer.flush(timeout=0.5)
            lingering = producer.send("there", b"second")
            with pytest.raises(errors.TimeoutError, match=r"close: .* still waiting"):
                await producer.close(timeout=1.5)
            assert (await asyncio.wait_for(lingering, 5)).offset == 1
            with pytest.raises(errors.ClosedError, match="waited for its topic") as raised:
                await asyncio.wait_for(missing, 5)
            assert not raised.value.maybe_done
            await client.close()

    run(work())


def test_flush_covers_sends_waiting_for_buffer_space(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            first = producer.send(single, b"")
            await producer.flush()
            assert first.done()
            mock_cluster.inject(Fault.delay(0.05), api="Produce")
            sent = [producer.send(single, b"x" * 1000) for _ in range(60)]
            await producer.flush()
            assert producer.buffered_bytes == 0
            assert len(await asyncio.gather(*sent)) == 60

    run(work())


def test_close_sends_waiting_records_even_if_cancelled(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        producer = AsyncProducer(mock_cluster.bootstrap, **SMALL)
        await producer.send(single, b"")
        mock_cluster.inject(Fault.delay(0.05), api="Produce")
        sent = [producer.send(single, b"x" * 1000) for _ in range(60)]
        closing = producer.close()
        closing.cancel()
        assert len(await asyncio.gather(*sent)) == 60
        await producer.close()

    run(work())
