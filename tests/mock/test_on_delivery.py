"""``on_delivery`` is called once per record on a dedicated thread; its exceptions are reported."""

from __future__ import annotations

import asyncio
import random
import threading
from functools import partial
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.child import interrupt_child, run_child
from tests.support.waiting import wait_until

Called = tuple[errors.KafkaError | None, ottla.RecordMetadata]


def test_callbacks_run_once_and_in_order(producer: ottla.Producer, single: str) -> None:
    called: list[tuple[int, Called, str]] = []

    def callback(number: int, error: errors.KafkaError | None, where: ottla.RecordMetadata) -> None:
        called.append((number, (error, where), threading.current_thread().name))

    for number in range(5000):
        producer.send(
            single,
            b"v",
            timestamp=number,
            on_delivery=partial(callback, number),
        )
    producer.flush()
    assert [number for number, _, _ in called] == list(range(5000))
    assert {thread for _, _, thread in called} == {"ottla-delivery"}
    assert all(error is None for _, (error, _), _ in called)
    metadata = [(m.topic, m.partition, m.offset, m.timestamp) for _, (_, m), _ in called]
    assert metadata == [(single, 0, number, number) for number in range(5000)]


def test_callbacks_run_once_despite_faults(mock_cluster: MockCluster, topic: str) -> None:
    """The faults: lost requests and responses, NOT_LEADER errors and rejected batches."""
    calls: dict[int, list[tuple[int, bool, int | None]]] = {0: [], 1: [], 2: []}

    def note(number: int, error: errors.KafkaError | None, where: ottla.RecordMetadata) -> None:
        calls[where.partition].append((number, error is None, where.offset))

    random_faults = random.Random(11)
    with ottla.Producer(
        mock_cluster.bootstrap, linger_ms=0, batch_size=200, request_timeout_ms=20_000
    ) as producer:
        for number in range(3000):
            if number % 100 == 50:
                fault = random_faults.choice(
                    [
                        Fault.disconnect("after"),
                        Fault.disconnect("before"),
                        Fault.error("NOT_LEADER_OR_FOLLOWER"),
                        Fault.error("INVALID_RECORD"),
                    ]
                )
                mock_cluster.inject(fault, api="Produce", times=1)
            producer.send(
                topic,
                b"v" * 40,
                partition=number % 3,
                on_delivery=partial(note, number),
            )
        producer.flush()
    for partition, records in calls.items():
        assert [number for number, _, _ in records] == list(range(partition, 3000, 3))
        offsets = [offset for _, written, offset in records if written and offset is not None]
        assert offsets == sorted(set(offsets))
        written = sum(written for _, written, _ in records)
        assert mock_cluster.end_offset(topic, partition) == written


def test_a_failure_carries_topic_and_partition(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send(single, b"before").result(timeout=10)
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
    called: list[Called] = []
    producer.send(
        single, b"v", timestamp=7, on_delivery=lambda *arguments: called.append(arguments)
    )
    producer.flush()
    [(error, where)] = called
    assert isinstance(error, errors.BrokerError)
    assert error.name == "INVALID_RECORD"
    assert (where.topic, where.partition, where.offset, where.timestamp) == (single, 0, None, 7)


def test_unsent_records_call_back_on_close(mock_cluster: MockCluster, single: str) -> None:
    producer = ottla.Producer(mock_cluster.bootstrap)
    producer.send(single, b"before").result(timeout=10)
    mock_cluster.inject(Fault.silence(), api="Produce")
    called: list[Called] = []
    for _ in range(10):
        producer.send(single, b"v", on_delivery=lambda *arguments: called.append(arguments))
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0)
    assert len(called) == 10
    assert all(isinstance(error, errors.KafkaError) for error, _ in called)


def test_a_callback_exception_is_raised_once(producer: ottla.Producer, single: str) -> None:
    called = []

    def callback(error: object, where: ottla.RecordMetadata) -> None:
        called.append(where.offset)
        if where.offset == 1:
            raise ZeroDivisionError("mine")

    for _ in range(3):
        producer.send(single, b"v", on_delivery=callback)
    with pytest.raises(ZeroDivisionError, match="mine"):
        producer.flush()
    assert called == [0, 1, 2], "the other callbacks were not called"
    producer.flush()


def test_close_raises_callback_exceptions(mock_cluster: MockCluster, single: str) -> None:
    def callback(error: object, where: object) -> None:
        raise ZeroDivisionError("mine")

    with (
        pytest.raises(ZeroDivisionError, match="mine"),
        ottla.Producer(mock_cluster.bootstrap) as producer,
    ):
        producer.send(single, b"v", on_delivery=callback)


def test_further_callback_exceptions_are_logged(
    producer: ottla.Producer, single: str, caplog: pytest.LogCaptureFixture
) -> None:
    def callback(error: object, where: ottla.RecordMetadata) -> None:
        raise ZeroDivisionError(f"number {where.offset}")

    for _ in range(2):
        producer.send(single, b"v", on_delivery=callback)
    with pytest.raises(ZeroDivisionError, match="number 0"):
        producer.flush()
    assert "number 1" in caplog.text


def test_a_callback_may_send(producer: ottla.Producer, single: str) -> None:
    called = []

    def second(error: object, where: ottla.RecordMetadata) -> None:
        called.append(where.offset)

    def first(error: object, where: object) -> None:
        producer.send(single, b"second", on_delivery=second)

    producer.send(single, b"first", on_delivery=first)
    wait_until(lambda: called)
    assert called == [1]


def test_a_blocking_callback_delays_only_flush(producer: ottla.Producer, single: str) -> None:
    free = threading.Event()
    producer.send(single, b"v", on_delivery=lambda error, where: free.wait(60))
    assert producer.send(single, b"v").result(timeout=20).offset is not None
    with pytest.raises(errors.TimeoutError, match="on_delivery is still being called"):
        producer.flush(timeout=0.3)
    free.set()
    producer.flush()


def test_on_delivery_must_be_callable(producer: ottla.Producer, single: str) -> None:
    with pytest.raises(TypeError, match="on_delivery is of type int"):
        producer.send(single, b"v", on_delivery=1)  # type: ignore[arg-type]


def delivery_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "ottla-delivery"}


def test_the_thread_ends_with_the_producer(mock_cluster: MockCluster, single: str) -> None:
    before = delivery_threads()
    called = []
    closed = []
    for _ in range(20):
        with ottla.Producer(mock_cluster.bootstrap) as producer:
            producer.send(single, b"v", on_delivery=lambda *arguments: called.append(arguments))
        # A closed producer has no thread, even while it is referenced.
        closed.append(producer)
    assert len(called) == 20
    wait_until(lambda: not delivery_threads() - before)
    producer.close()

    dropped = ottla.Producer(mock_cluster.bootstrap, linger_ms=0)
    dropped.send(single, b"v", on_delivery=lambda *arguments: called.append(arguments)).result(
        timeout=10
    )
    del dropped
    wait_until(lambda: len(called) == 21)
    wait_until(lambda: not delivery_threads() - before)


def test_batches_of_a_partition_call_back_in_order(mock_cluster: MockCluster, topic: str) -> None:
    """The order holds for any order of responses, with five requests in flight."""
    called: list[tuple[int, int | None]] = []
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0, batch_size=100) as producer:
        for number in range(3000):
            producer.send(
                topic,
                b"v" * 30,
                partition=number % 3,
                on_delivery=lambda error, where: called.append((where.partition, where.offset)),
            )
        producer.flush()
    for partition in range(3):
        offsets = [offset for where, offset in called if where == partition]
        assert offsets == list(range(1000))


def test_with_asyncio_callbacks_run_on_the_loops_thread(
    mock_cluster: MockCluster, single: str
) -> None:
    called: list[tuple[Called, threading.Thread]] = []

    def callback(*arguments: Any) -> None:
        called.append((arguments, threading.current_thread()))

    async def work() -> None:
        loop = asyncio.get_running_loop()
        complained: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda loop, context: complained.append(context))
        async with ottla.AsyncProducer(mock_cluster.bootstrap, linger_ms=0) as producer:
            # The first send waits for its topic, the others do not.
            sent = [producer.send(single, b"v", on_delivery=callback) for _ in range(3)]
            await asyncio.gather(*sent)
            assert [where.offset for (_, where), _ in called] == [0, 1, 2]
            assert {thread for _, thread in called} == {threading.current_thread()}

            mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
            with pytest.raises(errors.BrokerError):
                await producer.send(single, b"v", on_delivery=callback)
            (error, where), _ = called[-1]
            assert isinstance(error, errors.BrokerError)
            assert (where.topic, where.partition, where.offset) == (single, 0, None)

            producer.send(single, b"v", on_delivery=lambda error, where: 1 / 0)
            await producer.flush()
            [context] = complained
            assert context["message"] == "on_delivery raised"
            assert isinstance(context["exception"], ZeroDivisionError)

    loops.run(work(), 60)


def test_with_asyncio_a_record_that_times_out_waiting_calls_back() -> None:
    called: list[Called] = []

    async def work() -> None:
        async with ottla.AsyncProducer(cluster.bootstrap, max_block_ms=300) as producer:
            future = producer.send(
                "nowhere", b"v", on_delivery=lambda *arguments: called.append(arguments)
            )
            with pytest.raises(errors.KafkaError):
                await future

    with MockCluster(auto_create_topics=False) as cluster:
        loops.run(work(), 60)
    [(error, where)] = called
    assert isinstance(error, errors.KafkaError)
    assert (where.topic, where.partition, where.offset) == ("nowhere", -1, None)


SETUP = """
cluster = MockCluster()
cluster.create_topic("t")
producer = ottla.Producer(cluster.bootstrap)
"""


def test_ctrl_c_while_a_callback_blocks() -> None:
    program = f"""{SETUP}
producer.send("t", b"v", on_delivery=lambda error, where: time.sleep(60))
try:
    say("waiting")
    producer.flush()
except KeyboardInterrupt:
    say("interrupted")
os._exit(0)
"""
    ended, seconds = interrupt_child(program)
    assert ended.output.endswith("interrupted\n"), ended.output
    assert seconds < 25


def test_exit_while_a_callback_blocks_keeps_the_exit_code() -> None:
    program = f"""{SETUP}
begun = threading.Event()
def callback(error, where):
    begun.set()
    time.sleep(60)
producer.send("t", b"v", on_delivery=callback)
producer.send("t", b"v", on_delivery=callback)
begun.wait(20)
sys.exit(21)
"""
    ended = run_child(program)
    assert ended.code == 21, ended.output
    assert ended.seconds < 50


def test_after_fork_the_old_producer_raises_and_a_new_one_calls_back() -> None:
    program = f"""{SETUP}
producer.send("t", b"v", on_delivery=lambda error, where: None)
producer.flush()
bootstrap = cluster.bootstrap
child = os.fork()
if not child:
    try:
        producer.send("t", b"v", on_delivery=lambda error, where: None)
    except ottla.errors.ClosedError:
        pass
    else:
        os._exit(1)
    called = []
    with ottla.Producer(bootstrap) as new:
        new.send("t", b"v", on_delivery=lambda error, where: called.append(where.offset))
    os._exit(5 if called == [1] else 2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
called = []
producer.send("t", b"v", on_delivery=lambda error, where: called.append(where.offset))
producer.flush()
assert called == [2]
say("fine")
"""
    ended = run_child(program)
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0
