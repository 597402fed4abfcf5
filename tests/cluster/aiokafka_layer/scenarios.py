"""Programs for aiokafka; each returns a trace, the same with ottla's layer and with the original.

Invariant: nothing in a trace depends on time or on which member gets which partition.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

Trace = list[Any]


async def write(aiokafka: Any, bootstrap: str, topic: str, count: int = 10) -> None:
    """Write records "0-0" to "1-9" to the topic's two partitions."""
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for partition in range(2):
            for number in range(count):
                value = f"{partition}-{number}".encode()
                await producer.send(topic, value, partition=partition)
        await producer.flush()


def listener(aiokafka: Any, consumer: Any) -> Any:
    """Return a listener that notes its calls, and commits before a rebalance."""

    class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.calls: Trace = []
            self.assigned = asyncio.Event()

        async def on_partitions_revoked(self, revoked: set[Any]) -> None:
            self.calls.append(("revoked", len(revoked)))
            if revoked:
                await consumer.commit()

        async def on_partitions_assigned(self, assigned: set[Any]) -> None:
            await asyncio.sleep(0)
            self.calls.append(("assigned", len(assigned)))
            self.assigned.set()

        async def wait(self) -> None:
            await self.assigned.wait()
            self.assigned.clear()

    return Listener()


async def two_members(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """A second member joins and leaves while the first one does not read."""
    await write(aiokafka, bootstrap, topic)

    def member() -> Any:
        return aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
        )

    first = member()
    calls = listener(aiokafka, first)
    first.subscribe([topic], listener=calls)
    await first.start()
    await calls.wait()
    seen = [(await first.getone()).value for _ in range(6)]
    second = member()
    second.subscribe([topic])
    await second.start()
    await calls.wait()
    halves = [len(first.assignment()), len(second.assignment())]
    while len(seen) < 20:
        for reader in (first, second):
            for records in (await reader.getmany(timeout_ms=100)).values():
                seen += [record.value for record in records]
    await second.commit()
    await second.stop()
    await calls.wait()
    all_again = len(first.assignment())
    nothing = await first.getmany(timeout_ms=300)
    await first.stop()
    return [calls.calls, halves, len(set(seen)), len(seen), all_again, nothing]


async def automatic_commits(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """Each consumer continues after the records of the one before."""
    await write(aiokafka, bootstrap, topic, 5)
    trace = []
    for count in (3, 4, 3):
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest"
        )
        await consumer.start()
        trace += [(await consumer.getone()).value for _ in range(count)]
        await consumer.stop()
    return sorted(trace)


async def offsets(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """Commits with metadata, seeks, positions and look-ups."""
    await write(aiokafka, bootstrap, topic)
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
    )
    place = aiokafka.TopicPartition(topic, 0)
    consumer.assign([place])
    await consumer.start()
    trace: Trace = [await consumer.committed(place), await consumer.position(place)]
    await consumer.commit({place: (4, "four")})
    trace.append(await consumer.seek_to_committed())
    trace.append([(await consumer.getone()).value for _ in range(2)])
    consumer.seek(place, 9)
    trace.append([record.offset for record in (await consumer.getmany(timeout_ms=5000))[place]])
    await consumer.seek_to_beginning()
    trace.append((await consumer.getone(place)).offset)
    await consumer.seek_to_end(place)
    trace.append(await consumer.position(place))
    trace.append(await consumer.beginning_offsets([place]))
    trace.append(await consumer.end_offsets([place]))
    trace.append(await consumer.offsets_for_times({place: 2**45}))
    trace.append((await consumer.offsets_for_times({place: 0}))[place].offset)
    consumer.pause(place)
    trace.append(consumer.paused())
    consumer.seek(place, 0)
    trace.append(await consumer.getmany(timeout_ms=300))
    consumer.resume(place)
    trace.append((await consumer.getone()).offset)
    trace.append(consumer.highwater(place))
    await consumer.stop()
    return [str(item).replace(topic, "topic") for item in trace]


async def errors(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """The classes of exceptions."""
    await write(aiokafka, bootstrap, topic)
    trace: Trace = []

    async def note(call: Any) -> None:
        try:
            trace.append(await call)
        except Exception as error:  # noqa: BLE001 - the trace has its classes
            trace.append([kind.__name__ for kind in type(error).__mro__[:-2]])

    def consumer(**options: Any) -> Any:
        return aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, **options)

    place = aiokafka.TopicPartition(topic, 0)
    reader = consumer(group_id=topic, auto_offset_reset="none")
    reader.assign([place])
    await reader.start()
    await note(reader.getone())
    reader.seek(place, 1000)
    await note(reader.getone(place))
    await note(reader.commit({aiokafka.TopicPartition(topic, 1): 1}))
    await note(reader.commit({}))
    await note(reader.position(aiokafka.TopicPartition(topic, 1)))
    await reader.stop()
    await note(reader.getone())
    await note(reader.getmany())
    alone = consumer()
    await alone.start()
    await note(alone.commit())
    # The original cannot stop right after its start.
    await asyncio.sleep(0.05)
    await alone.stop()
    short = consumer(group_id=topic, session_timeout_ms=100)
    short.subscribe([topic])
    await note(short.start())
    await short.stop()
    nowhere = aiokafka.AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1", request_timeout_ms=500)
    await note(nowhere.start())
    await nowhere.stop()
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, max_request_size=500)
    await producer.start()
    await note(producer.send(topic, b"v" * 600))
    await note(producer.send(topic, "text"))
    await note(producer.begin_transaction())
    await producer.stop()
    await note(producer.send(topic, b"v"))
    return trace


async def transactions(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """Read, transform and write in transactions, of which one is aborted."""
    await write(aiokafka, bootstrap, topic)
    consumer = aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        fetch_max_wait_ms=100,
    )
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic)
    trace: Trace = []
    async with consumer, producer:
        await producer.partitions_for(f"{topic}-out")
        for fails in (True, False):
            with contextlib.suppress(ValueError):
                count = 0
                while count < 20:
                    batches = await consumer.getmany(timeout_ms=5000, max_records=7)
                    async with producer.transaction():
                        ends = {}
                        for place, records in batches.items():
                            count += len(records)
                            ends[place] = records[-1].offset + 1
                            for record in records:
                                await producer.send(f"{topic}-out", record.value, partition=0)
                        await producer.send_offsets_to_transaction(ends, topic)
                        if fails:
                            raise ValueError
            trace.append(
                [await consumer.committed(place) for place in sorted(consumer.assignment())]
            )
            await consumer.seek_to_beginning()
    reader = aiokafka.AIOKafkaConsumer(
        f"{topic}-out",
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    async with reader:
        trace.append(sorted([(await reader.getone()).value for _ in range(20)]))
        trace.append(await reader.getmany(timeout_ms=300))
    return trace


async def records(aiokafka: Any, bootstrap: str, topic: str) -> Trace:
    """What producers write: partitions by key, headers, timestamps, batches and compression."""
    trace: Trace = []
    for compression in (None, "gzip", "snappy", "lz4", "zstd"):
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=compression,
            enable_idempotence=compression is not None,
            key_serializer=str.encode,
        )
        async with producer:
            for number in range(10):
                sent = await producer.send_and_wait(
                    topic,
                    b"%d" % number,
                    key=f"key-{number}",
                    timestamp_ms=1_700_000_000_000 + number,
                    headers=[("number", b"%d" % number), ("codec", b"")],
                )
                trace.append((sent.partition, sent.offset, sent.timestamp, sent.timestamp_type))
            batch = producer.create_batch()
            added = batch.append(key="k", value=b"first", timestamp=1_700_000_000_100)
            trace.append((added.offset, added.size, batch.size(), batch.record_count()))
            batch.append(key="k", value=None, timestamp=1_700_000_000_200)
            placed = await (await producer.send_batch(batch, topic, partition=1))
            trace.append((placed.topic_partition.partition, placed.offset))
    reader = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest"
    )
    async with reader:
        read = [await reader.getone() for _ in range(60)]
    fields = [
        (r.partition, r.offset, r.timestamp, r.timestamp_type, r.key, r.value, tuple(r.headers))
        for r in read
    ]
    return [*trace, *sorted(fields)]


SCENARIOS = (two_members, automatic_commits, offsets, errors, transactions, records)
