"""The asyncio twin of ``Producer``: the same promises as native futures, thousands at once."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
import weakref
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

import ottla
from ottla import AsyncProducer, errors
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.arrow import read_rows
from tests.support.child import interrupt_child, run_child

T = TypeVar("T")
# Room for some twenty records of 1000 bytes.
SMALL = {"buffer_memory": 20_000, "batch_size": 4000, "linger_ms": 0}


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return loops.run(coroutine, 300)


def values(cluster: MockCluster, topic: str) -> list[bytes]:
    return [row["value"] for row in read_rows(ottla.scan(topic, cluster.bootstrap))]


async def until_idle(producer: AsyncProducer) -> None:
    """Wait until nothing is in the buffer: what was taken was given back."""
    deadline = time.monotonic() + 90
    while producer.buffered_bytes:
        assert time.monotonic() < deadline, f"{producer.buffered_bytes} bytes are still held"
        await asyncio.sleep(0.01)


async def hit(cluster: MockCluster, fault: int) -> None:
    """Wait until a request has met a fault."""
    deadline = time.monotonic() + 90
    while not cluster.fault_hits(fault):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


def test_the_methods_are_those_of_the_sync_producer() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(AsyncProducer) == public(ottla.Producer) | {"connect"}
    assert public(ottla.AsyncBatchDelivery) == public(ottla.BatchDelivery)


def test_a_record_is_where_its_metadata_says(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> list[ottla.RecordMetadata]:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            assert repr(producer).startswith("AsyncProducer(bootstrap=")
            first = await producer.send(topic, b"v0", "k", headers={"h": b"x"}, timestamp=17)
            second = await producer.send(topic, "v1", partition=2)
            return [first, second]

    first, second = run(work())
    assert first.topic == second.topic == topic
    assert (first.timestamp, first.offset) == (17, 0)
    assert first.partition == ottla.partition_for_key(b"k", 3)
    assert second.partition == 2
    written = read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    found = {(row["partition"], row["offset"]): row["value"] for row in written}
    assert found[first.partition, first.offset] == b"v0"
    assert found[second.partition, second.offset] == b"v1"


def test_without_async_with_the_first_record_connects(
    mock_cluster: MockCluster, topic: str
) -> None:
    async def work() -> None:
        producer = AsyncProducer(mock_cluster.bootstrap)
        assert (await producer.send(topic, b"v", partition=0)).offset == 0
        await producer.close()
        with pytest.raises(errors.ClosedError):
            await producer.send(topic, b"late")

    run(work())


def test_on_a_client_it_takes_its_connections(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with ottla.AsyncClient(mock_cluster.bootstrap) as client:
            async with AsyncProducer(client) as producer:
                await producer.send(topic, b"v", partition=0)
            assert await client.list_topics() == [topic], "the client is not closed with it"
            with pytest.raises(errors.ConfigError, match="takes its configuration from it"):
                AsyncProducer(client, linger_ms=0)
        with ottla.Client(mock_cluster.bootstrap) as twin:
            async with AsyncProducer(twin) as producer:
                assert (await producer.send(topic, b"v", partition=0)).offset == 1

    run(work())


def test_what_is_wrong_with_a_record_concerns_it_alone(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, max_request_size=10_000) as producer:
            await producer.send(single, b"first")
            good = producer.send(single, b"good")
            with pytest.raises(errors.ConfigError, match=r"max\.request\.size"):
                await producer.send(single, b"x" * 10_001)
            with pytest.raises(errors.UnknownTopicError, match="partition 7 does not exist"):
                await producer.send(single, b"", partition=7)
            with pytest.raises(TypeError, match="value is of type float"):
                await producer.send(single, 1.5)  # type: ignore[arg-type]
            assert (await good).offset == 1

    run(work())


def test_a_refused_record_raises_what_the_broker_said(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(single, b"before")
            mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
            sent = [producer.send(single, b"%d" % n) for n in range(3)]
            results = await asyncio.gather(*sent, return_exceptions=True)
            assert {type(result) for result in results} == {errors.BrokerError}
            assert len({id(result) for result in results}) == 3, "each has an exception of its own"
            first = results[0]
            assert isinstance(first, errors.BrokerError)
            assert (first.name, first.maybe_done) == ("INVALID_RECORD", False)
            assert (first.context["topic"], first.context["partition"]) == (single, 0)

    run(work())


def threads() -> int:
    """Of the process: Python's and the engine's."""
    return len(list(Path("/proc/self/task").iterdir()))


def test_ten_thousand_at_once(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.create_topic("another")

    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, linger_ms=5) as producer:

            async def one(number: int) -> tuple[int, ottla.RecordMetadata]:
                return number, await producer.send(topic, b"%d" % number, b"%d" % (number % 100))

            await producer.send("another", b"has connected")
            before = threads()
            tasks = [asyncio.create_task(one(number)) for number in range(10_000)]
            await asyncio.sleep(0)
            assert threads() <= before, "no thread waits for them"
            written = await asyncio.gather(*tasks)
            assert threads() <= before
        rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
        found = {(row["partition"], row["offset"]): int(row["value"]) for row in rows}
        assert len(found) == len(written) == 10_000
        for number, metadata in written:
            assert metadata.offset is not None
            assert found[metadata.partition, metadata.offset] == number

    run(work())


class OwnFutures(asyncio.SelectorEventLoop):
    """A loop that makes its futures in a way of its own."""

    made = 0

    def create_future(self) -> asyncio.Future[Any]:
        self.made += 1
        return super().create_future()


def test_a_loop_that_makes_its_own_futures_is_asked_for_them(
    mock_cluster: MockCluster, topic: str
) -> None:
    own = OwnFutures()

    async def work() -> int:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(topic, b"connects")
            before = own.made
            sent = [producer.send(topic, b"v") for _ in range(100)]
            made = own.made - before
            await asyncio.gather(*sent)
            return made

    try:
        assert own.run_until_complete(asyncio.wait_for(work(), 60)) == 100
    finally:
        own.close()


def test_one_producer_serves_loops_one_after_the_other(
    mock_cluster: MockCluster, single: str
) -> None:
    async def first() -> AsyncProducer:
        producer = AsyncProducer(mock_cluster.bootstrap)
        await producer.send(single, b"0")
        return producer

    async def then(producer: AsyncProducer, number: int) -> int | None:
        sent = await asyncio.gather(producer.send(single, b"v"), producer.send(single, b"v"))
        assert sent[0].offset == 2 * number + 1
        return sent[1].offset

    producer = run(first())
    for number in range(3):
        assert run(then(producer, number)) == 2 * number + 2

    async def last() -> None:
        await producer.close()

    run(last())


def test_a_loop_that_nobody_closed_is_collected(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(topic, b"v")

    def abandoned() -> weakref.ref[asyncio.AbstractEventLoop]:
        left = asyncio.new_event_loop()
        left.run_until_complete(asyncio.wait_for(work(), 60))
        return weakref.ref(left)

    def collected() -> bool:
        left = abandoned()
        gc.collect()
        return left() is None

    with pytest.warns(ResourceWarning, match="unclosed event loop"):
        assert collected()


@pytest.mark.parametrize("seed", range(3))
def test_any_of_ten_thousand_may_be_cancelled(
    mock_cluster: MockCluster, topic: str, seed: int
) -> None:
    """Some while they wait for room, some while they are on their way."""
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
            doomed = chosen.sample(range(10_000), 3000)
            for turn, number in enumerate(doomed):
                tasks[number].cancel()
                if turn % 100 == 0:
                    await asyncio.sleep(0)
            results = await asyncio.gather(*tasks, return_exceptions=True)
            mock_cluster.clear_faults()
            await until_idle(producer)
            assert (await producer.send(topic, b"last", partition=1)).partition == 1
        rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
        found = {(row["partition"], row["offset"]): row["value"] for row in rows}
        assert len(set(found.values())) == len(found), "nothing is written twice"
        for number, result in enumerate(results):
            if isinstance(result, asyncio.CancelledError):
                assert number in doomed
            else:
                assert isinstance(result, ottla.RecordMetadata), result
                assert result.offset is not None
                assert found[result.partition, result.offset] == b"%d" % number

    run(work())


def test_a_full_buffer_holds_back_in_order(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            await producer.send(single, b"")
            mock_cluster.inject(Fault.delay(0.02), api="Produce")
            sent = [producer.send(single, b"%3d" % n + b"x" * 1000) for n in range(200)]
            assert producer.buffered_bytes <= 20_000
            beats = 0
            while not all(future.done() for future in sent):
                await asyncio.sleep(0.005)
                beats += 1
            assert beats > 5, "the loop goes on meanwhile"
            assert [(await future).offset for future in sent] == list(range(1, 201))

    run(work())
    assert [int(value[:3]) for value in values(mock_cluster, single)[1:]] == list(range(200))


def test_a_record_that_waits_and_is_cancelled_is_not_sent(
    mock_cluster: MockCluster, single: str
) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            await producer.send(single, b"")
            # Long enough to cancel in, whatever the machine does meanwhile.
            fault = mock_cluster.inject(Fault.delay(3), api="Produce", times=1)
            sent = [producer.send(single, b"%3d" % n + b"x" * 1000) for n in range(40)]
            await hit(mock_cluster, fault)
            for future in sent[30:]:
                future.cancel()
            assert [(await future).offset for future in sent[:30]] == list(range(1, 31))
            await until_idle(producer)

    run(work())
    assert [int(value[:3]) for value in values(mock_cluster, single)[1:]] == list(range(30))


def test_a_buffer_that_stays_full_is_a_time_out(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        client = ottla.AsyncClient(mock_cluster.bootstrap, max_block_ms=300, **SMALL)
        # Or the first would have no more time to be looked up in.
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
        # Each counts from its own call, so seventy take no longer than one.
        assert 0.25 < time.monotonic() - started < 15
        assert not sent[0].done()
        with pytest.raises(errors.TimeoutError):
            await producer.close(timeout=0)
        with pytest.raises(errors.KafkaError) as told:
            await sent[0]
        assert told.value.maybe_done
        await asyncio.gather(*sent, return_exceptions=True)
        await client.close()

    run(work())


def test_a_topic_that_is_missing_holds_up_no_other() -> None:
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


def test_flush_waits_also_for_what_waits_for_room(mock_cluster: MockCluster, single: str) -> None:
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


def test_close_sends_what_waits_and_is_not_undone_by_cancelling(
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


def test_loops_of_several_threads_share_one(mock_cluster: MockCluster, topic: str) -> None:
    producer = AsyncProducer(mock_cluster.bootstrap)
    offsets: dict[int, list[tuple[int, int | None]]] = {}

    def use(thread: int) -> None:
        async def work() -> None:
            sent = [producer.send(topic, b"%d" % thread, partition=n % 3) for n in range(300)]
            written = await asyncio.gather(*sent)
            offsets[thread] = [(metadata.partition, metadata.offset) for metadata in written]

        run(work())

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(_close(producer))
    everything = [place for places in offsets.values() for place in places]
    assert len(set(everything)) == len(everything) == 1200
    assert len(values(mock_cluster, topic)) == 1200


async def _close(producer: AsyncProducer) -> None:
    await producer.close()


def test_a_loop_that_is_gone_leaves_the_others_alone(
    mock_cluster: MockCluster, single: str
) -> None:
    producer = AsyncProducer(mock_cluster.bootstrap)
    mock_cluster.inject(Fault.delay(0.2), api="Produce", times=1)

    async def leave() -> None:
        for _ in range(10):
            producer.send(single, b"left")

    async def stay() -> int | None:
        return (await producer.send(single, b"stayed")).offset

    asyncio.run(leave())
    assert run(stay()) == 10
    run(_close(producer))
    assert len(values(mock_cluster, single)) == 11


@pytest.mark.parametrize("kind", ["lists", "arrow"])
def test_batches(mock_cluster: MockCluster, single: str, kind: str) -> None:
    many = [b"%d" % number for number in range(5000)]
    given = pa.table({"value": many, "key": many}) if kind == "arrow" else many

    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, **SMALL) as producer:
            sent = await producer.send_batch(single, given)
            assert len(sent) == 5000
            assert await sent.result() == 5000
            assert sent.done()
            assert await sent.errors() == []
            assert [count for _, _, count in await sent.written()] == [5000]
            assert repr(sent) == "AsyncBatchDelivery(count=5000, done=True)"

    run(work())
    assert values(mock_cluster, single) == many


def test_a_batch_tells_which_rows_failed(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, max_request_size=10_000) as producer:
            sent = await producer.send_batch(single, [b"a", b"x" * 10_001, b"c"])
            with pytest.raises(
                errors.ConfigError, match="1 of 3 records failed, the first at index 1"
            ):
                await sent.result()
            failed = await sent.errors()
            assert [(first, count) for first, count, _ in failed] == [(1, 1)]
            with pytest.raises(TypeError, match=r"values\[1\]"):
                await producer.send_batch(single, [b"a", 1])

    run(work())
    assert values(mock_cluster, single) == [b"a", b"c"]


SETUP = """
import asyncio
cluster = MockCluster()
cluster.create_topic("t")
"""


def test_ctrl_c_ends_the_wait() -> None:
    program = f"""{SETUP}
cluster.inject(Fault.silence(), api="Produce")
async def main():
    producer = ottla.AsyncProducer(cluster.bootstrap)
    sent = producer.send("t", b"v")
    say("waiting")
    await sent
try:
    asyncio.run(main())
except KeyboardInterrupt:
    say("interrupted")
"""
    ended, seconds = interrupt_child(program)
    assert ended.output.endswith("interrupted\n"), ended.output
    assert seconds < 25


def test_exit_with_records_under_way_keeps_the_exit_code() -> None:
    program = f"""{SETUP}
cluster.inject(Fault.silence(), api="Produce")
async def main():
    global producer
    producer = ottla.AsyncProducer(cluster.bootstrap)
    await asyncio.wait([producer.send("t", b"v")], timeout=0.2)
    sys.exit(21)
asyncio.run(main())
"""
    ended = run_child(program)
    assert ended.code == 21, ended.output
    assert ended.seconds < 60


def test_after_a_fork_the_old_refuses_and_a_new_one_works() -> None:
    program = f"""{SETUP}
bootstrap = cluster.bootstrap
producer = ottla.AsyncProducer(bootstrap)
async def use(producer):
    return (await producer.send("t", b"v")).offset
assert asyncio.run(use(producer)) == 0
child = os.fork()
if not child:
    try:
        asyncio.run(use(producer))
    except ottla.errors.ClosedError as error:
        assert "forked from it: make a new one here" in str(error)
    else:
        os._exit(1)
    assert repr(producer) == "AsyncProducer(made in another process)"
    assert asyncio.run(use(ottla.AsyncProducer(bootstrap))) == 1
    os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
assert asyncio.run(use(producer)) == 2
say("fine")
"""
    ended = run_child(program)
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0
