"""``AsyncProducer`` across tasks, loops, threads and processes: thousands of concurrent sends,
closed loops, Ctrl-C, exit and fork."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla import AsyncProducer
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows, values
from tests.support.child import interrupt_child, run_child
from tests.support.loops import run


def threads() -> int:
    """Return the number of threads of the process, Python's and the engine's."""
    return len(list(Path("/proc/self/task").iterdir()))


def test_ten_thousand_concurrent_sends(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.create_topic("another")

    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, linger_ms=5) as producer:

            async def one(number: int) -> tuple[int, ottla.RecordMetadata]:
                return number, await producer.send(topic, b"%d" % number, b"%d" % (number % 100))

            await producer.send("another", b"has connected")
            before = threads()
            tasks = [asyncio.create_task(one(number)) for number in range(10_000)]
            await asyncio.sleep(0)
            assert threads() <= before, "waiting sends started threads"
            written = await asyncio.gather(*tasks)
            assert threads() <= before
        rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
        found = {(row["partition"], row["offset"]): int(row["value"]) for row in rows}
        assert len(found) == len(written) == 10_000
        for number, metadata in written:
            assert metadata.offset is not None
            assert found[metadata.partition, metadata.offset] == number

    run(work())


class CustomFutureLoop(asyncio.SelectorEventLoop):
    """A loop that overrides `create_future`."""

    made = 0

    def create_future(self) -> asyncio.Future[Any]:
        self.made += 1
        return super().create_future()


def test_futures_come_from_the_loops_create_future(mock_cluster: MockCluster, topic: str) -> None:
    own = CustomFutureLoop()

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


def test_one_producer_serves_consecutive_loops(mock_cluster: MockCluster, single: str) -> None:
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


def test_an_unclosed_loop_is_garbage_collected(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(topic, b"v")

    def abandon_loop() -> weakref.ref[asyncio.AbstractEventLoop]:
        left = asyncio.new_event_loop()
        left.run_until_complete(asyncio.wait_for(work(), 60))
        return weakref.ref(left)

    def collected() -> bool:
        left = abandon_loop()
        gc.collect()
        return left() is None

    with pytest.warns(ResourceWarning, match="unclosed event loop"):
        assert collected()


def test_loops_in_several_threads_share_a_producer(mock_cluster: MockCluster, topic: str) -> None:
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
    all_offsets = [offset for sent in offsets.values() for offset in sent]
    assert len(set(all_offsets)) == len(all_offsets) == 1200
    assert len(values(ottla.scan(topic, mock_cluster.bootstrap))) == 1200


async def _close(producer: AsyncProducer) -> None:
    await producer.close()


def test_a_closed_loop_does_not_affect_the_others(mock_cluster: MockCluster, single: str) -> None:
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
    assert len(values(ottla.scan(single, mock_cluster.bootstrap))) == 11


SETUP = """
import asyncio
cluster = MockCluster()
cluster.create_topic("t")
"""


def test_ctrl_c_interrupts_the_wait() -> None:
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
    # The record must not fail before the program ends.
    assert "interrupted\nottla.errors.TimeoutError: close: " in ended.output, ended.output
    assert seconds < 25


def test_exit_with_records_in_flight_keeps_the_exit_code() -> None:
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


def test_after_fork_the_old_object_raises_and_a_new_one_works() -> None:
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
        assert "forked from it: create a new one here" in str(error)
    else:
        os._exit(1)
    assert repr(producer) == "AsyncProducer(created in another process)"
    assert asyncio.run(use(ottla.AsyncProducer(bootstrap))) == 1
    os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
assert asyncio.run(use(producer)) == 2
say("fine")
"""
    ended = run_child(program)
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0
