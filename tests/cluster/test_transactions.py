"""Transactions, with both versions of the protocol: the same on the mock and on Kafka."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence

import confluent_kafka
import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.support.arrow import read_rows
from tests.support.committed import committed_rows
from tests.support.kafka_admin import wait_until
from tests.support.loops import run

pytestmark = pytest.mark.usefixtures("transaction_version")


def new_id() -> str:
    return f"id-{uuid.uuid4().hex[:12]}"


def producer_of(brokers: Brokers, transactional_id: str | None = None) -> ottla.Producer:
    """Return an initialized transactional producer."""
    producer = ottla.Producer(brokers.bootstrap, transactional_id=transactional_id or new_id())
    producer.init_transactions()
    return producer


def committed_values(brokers: Brokers, topic: str, *, all_ended: bool = True) -> list[bytes]:
    """Return the values that read_committed shows, sorted."""
    rows = committed_rows(brokers.bootstrap, topic, all_ended=all_ended)
    return sorted(row["value"] for row in rows)


def test_committed_records_are_visible_and_aborted_ones_never(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=3)
    expected: list[bytes] = []
    with producer_of(brokers) as producer:
        for round_ in range(8):
            values = [b"%d-%d" % (round_, i) for i in range(30)]
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value)
            if round_ % 3 == 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                expected += values
    assert committed_values(brokers, topic) == sorted(expected)


def failing(producer: ottla.Producer, topic: str) -> None:
    with producer.transaction():
        producer.send(topic, b"aborted").result(timeout=60)
        _ = 1 / 0


def test_a_block_commits_or_aborts(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with producer_of(brokers) as producer:
        with producer.transaction():
            producer.send(topic, b"committed")
        with pytest.raises(ZeroDivisionError):
            failing(producer, topic)
        with producer.transaction():
            producer.send(topic, b"after")
    assert committed_values(brokers, topic) == [b"after", b"committed"]


def test_another_client_reads_the_same(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with producer_of(brokers) as producer:
        for i in range(20):
            producer.begin_transaction()
            producer.send(topic, b"%d" % i)
            if i % 4:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": brokers.bootstrap,
            "group.id": new_id(),
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    expected = [b"%d" % i for i in range(20) if i % 4]
    values: list[bytes | None] = []
    deadline = time.monotonic() + 60
    while len(values) < len(expected) and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.close()
    assert values == expected


def copy_all(
    brokers: Brokers, source: str, target: str, group: str, *, abort_every: int | None = None
) -> int:
    """Copy a topic, offsets included, one transaction a poll; return the number of transactions."""
    config = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
    transactions = 0
    total = sum(1 for _ in read_rows(ottla.scan(source, brokers.bootstrap)))
    with (
        producer_of(brokers) as producer,
        ottla.Consumer(brokers.bootstrap, config, group_id=group, topics=[source]) as consumer,
    ):
        copied = 0
        while copied < total:
            records = consumer.poll(timeout=1.0, max_records=17)
            if not records:
                continue
            producer.begin_transaction()
            transactions += 1
            for record in records:
                producer.send(target, record.value, partition=record.partition)
            producer.send_offsets_to_transaction(None, consumer)
            if abort_every and transactions % abort_every == 0:
                producer.abort_transaction()
                rewind(consumer)
            else:
                producer.commit_transaction()
                copied += len(records)
    return transactions


def rewind(consumer: ottla.Consumer[bytes, bytes]) -> None:
    """Continue from the committed offsets, as after an abort."""
    for (topic, partition), committed in consumer.committed(*consumer.assignment()).items():
        consumer.seek(topic, partition, 0 if committed is None else committed.offset)


def test_consume_and_produce_exactly_once(brokers: Brokers) -> None:
    source, target = brokers.create_topic(partitions=2), brokers.create_topic(partitions=2)
    group = new_id()
    with ottla.Producer(brokers.bootstrap) as producer:
        producer.send_batch(source, [b"%03d" % i for i in range(200)])
    assert copy_all(brokers, source, target, group, abort_every=3) > 12
    assert committed_values(brokers, target) == [b"%03d" % i for i in range(200)]
    partitions = [(source, 0), (source, 1)]
    with ottla.Consumer(brokers.bootstrap, group_id=group) as consumer:
        committed = consumer.committed(*partitions)
        ends = consumer.end_offsets(*partitions)
    assert {p: c.offset for p, c in committed.items() if c} == ends


def calls_of(producer: ottla.Producer, topic: str) -> dict[str, Callable[[], object]]:
    """Return the calls that may notice that brokers refuse the epoch of an open transaction."""
    group = ottla.GroupMetadata(f"group-{topic}")
    return {
        "commit": producer.commit_transaction,
        "send": lambda: producer.send(topic, b"late", partition=0).result(timeout=60),
        "send elsewhere": lambda: producer.send(topic, b"late", partition=1).result(timeout=60),
        "offsets": lambda: producer.send_offsets_to_transaction({(topic, 0): 1}, group),
        "abort": producer.abort_transaction,
    }


def assert_is_final(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(errors.FencedError, match=reason) as fenced:
        call()
    assert fenced.value.fatal
    assert "close this producer, and create another one" in str(fenced.value)
    assert "abort_transaction, then" not in str(fenced.value)


def test_every_call_of_a_fenced_producer_gives_the_same_advice(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=2)
    for first in (*calls_of(producer_of(brokers), topic), "close"):
        transactional_id = new_id()
        zombie = producer_of(brokers, transactional_id)
        zombie.begin_transaction()
        zombie.send(topic, b"zombie", partition=0).result(timeout=60)
        calls = calls_of(zombie, topic)
        with producer_of(brokers, transactional_id) as newer:
            with newer.transaction():
                newer.send(topic, b"newer", partition=0)
            if first != "close":
                for name in dict.fromkeys((first, *calls)):
                    assert_is_final(calls[name], "has taken over")
                assert_is_final(zombie.begin_transaction, "has taken over")
            # What it could say was raised before, and its transaction is over.
            zombie.close()
            with newer.transaction():
                newer.send(topic, b"newest", partition=0)
    assert set(committed_values(brokers, topic)) == {b"newer", b"newest"}


def test_after_a_timeout_on_the_brokers_the_first_error_says_what_works(
    brokers: Brokers, transaction_version: int
) -> None:
    topic = brokers.create_topic(partitions=2)
    names, ids = (*calls_of(producer_of(brokers), topic), "close"), []
    producers: dict[str, ottla.Producer] = {}
    for first in names:
        ids.append(new_id())
        config = {"transactional.id": ids[-1], "transaction.timeout.ms": 300}
        producers[first] = producer = ottla.Producer(brokers.bootstrap, config)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"late", partition=0).result(timeout=60)
    # Its markers are there.
    assert committed_values(brokers, topic) == []
    if brokers.has((3, 0)):
        with ottla.Admin(brokers.bootstrap) as admin:
            wait_until(
                lambda: (
                    {d.state for d in admin.describe_transactions(ids).values()}
                    == {"CompleteAbort"}
                ),
                lambda: "the brokers do not abort them",
            )
    for first, producer in producers.items():
        calls = calls_of(producer, topic)
        order = [name for name in dict.fromkeys((first, *calls)) if name not in ("abort", "close")]
        if transaction_version < 2 and first != "close":
            for name in dict.fromkeys((first, *calls)):
                assert_is_final(calls[name], r"longer than transaction\.timeout\.ms")
        elif first != "close":
            for name in order if first != "abort" else ():
                with pytest.raises(errors.TransactionAbortableError) as failed:
                    calls[name]()
                message = str(failed.value)
                assert "call abort_transaction, then go on" in message, (first, name)
                assert "transaction.timeout.ms (300 ms)" in message, (first, name)
                assert not failed.value.fatal
            producer.abort_transaction()
            with producer.transaction():
                producer.send(topic, first.encode(), partition=0)
        producer.close()
    works = (
        {name.encode() for name in producers if name != "close"} if transaction_version else set()
    )
    assert set(committed_values(brokers, topic)) == works


def test_each_wrong_order_of_calls_is_a_state_error(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    producer = ottla.Producer(brokers.bootstrap, transactional_id=new_id())
    with pytest.raises(errors.StateError, match="call init_transactions first"):
        producer.begin_transaction()
    producer.init_transactions()
    with pytest.raises(errors.StateError, match="once per producer"):
        producer.init_transactions()
    for call in (producer.commit_transaction, producer.abort_transaction):
        with pytest.raises(errors.StateError, match="call begin_transaction first"):
            call()
    with pytest.raises(errors.StateError, match="call begin_transaction first"):
        producer.send(topic, b"v")
    producer.begin_transaction()
    with pytest.raises(errors.StateError, match="commit or abort it first"):
        producer.begin_transaction()
    producer.abort_transaction()
    producer.close()


def test_a_timeout_above_the_maximum_names_both_keys(brokers: Brokers) -> None:
    config = {"transactional.id": new_id(), "transaction.timeout.ms": 3_600_000}
    with ottla.Producer(brokers.bootstrap, config) as producer:
        with pytest.raises(errors.BrokerError, match=r"transaction\.max\.timeout\.ms") as failed:
            producer.init_transactions()
        assert failed.value.fatal
        assert failed.value.name == "INVALID_TRANSACTION_TIMEOUT"


def test_offsets_of_a_consumer_that_commits_automatically_are_refused(brokers: Brokers) -> None:
    source = brokers.create_topic()
    with (
        producer_of(brokers) as producer,
        ottla.Consumer(brokers.bootstrap, group_id=new_id(), topics=[source]) as consumer,
    ):
        consumer.poll(timeout=0.1)
        producer.begin_transaction()
        with pytest.raises(errors.ConfigError, match=r"enable\.auto\.commit=false"):
            producer.send_offsets_to_transaction(None, consumer)
        producer.abort_transaction()


async def failing_async(producer: ottla.AsyncProducer, topic: str) -> None:
    async with producer.transaction():
        await producer.send(topic, b"aborted")
        _ = 1 / 0


def test_asyncio(brokers: Brokers) -> None:
    topic, source, group = brokers.create_topic(), brokers.create_topic(), new_id()

    async def work() -> Sequence[bytes]:
        config = {"transactional.id": new_id()}
        async with ottla.AsyncProducer(brokers.bootstrap, config) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                sending = [producer.send(topic, b"%d" % i) for i in range(50)]
                await producer.send_offsets_to_transaction(
                    {(source, 0): 7}, ottla.GroupMetadata(group)
                )
            await asyncio.gather(*sending)
            with pytest.raises(ZeroDivisionError):
                await failing_async(producer, topic)
            with pytest.raises(errors.StateError):
                await producer.commit_transaction()
        async with ottla.AsyncConsumer(brokers.bootstrap, group_id=group) as consumer:
            committed = (await consumer.committed((source, 0)))[source, 0]
            assert committed is not None
            assert committed.offset == 7
        return committed_values(brokers, topic)

    assert run(work()) == sorted(b"%d" % i for i in range(50))
