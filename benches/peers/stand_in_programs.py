"""The programs of `stand_ins.py`: written for another client, run on it or on its stand-in.

Each is what a program of that client does, one record at a time where it does so. The first
argument is "original" or "stand-in": nothing else differs. Interpreter start, connecting and the
first record are not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

KEYS = 100
# How many records of the topic a reading program may leave, since its last call may return fewer.
REST = 1000

Measured = dict[str, float]


class Program:
    """One run: where, how many records, and the measurements."""

    def __init__(self, bootstrap: str, topic: str, registry: str, size: int, records: int) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.registry = registry
        self.size = size
        self.value = b"x" * size
        self.records = records
        self.measured: Measured = {}

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Measure the whole process."""
        cpu, clock = time.process_time(), time.perf_counter()
        yield
        seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
        self.measured = {"seconds": seconds, "cpu_seconds": cpu_seconds}

    def record_keys(self) -> Iterator[bytes]:
        """Yield a key for each record."""
        some = [b"key-%d" % number for number in range(KEYS)]
        return itertools.islice(itertools.cycle(some), self.records)


def confluent_produce(run: Program) -> None:
    """Produce with ``on_delivery``, polling now and then."""
    from confluent_kafka import Producer

    reported = [0]

    def on_delivery(error: object, _message: object) -> None:
        assert error is None, error
        reported[0] += 1

    producer = Producer({"bootstrap.servers": run.bootstrap})
    producer.produce(run.topic, run.value, on_delivery=on_delivery)
    producer.flush()
    with run.counted():
        for number, key in enumerate(run.record_keys()):
            while True:
                try:
                    producer.produce(run.topic, run.value, key=key, on_delivery=on_delivery)
                    break
                except BufferError:
                    producer.poll(0.01)
            if number % 100 == 0:
                producer.poll(0)
        producer.flush()
    assert reported[0] == run.records + 1, reported


def _confluent_consumer(run: Program) -> Any:
    from confluent_kafka import Consumer

    group = f"{run.topic}-{time.time()}"
    config = {"bootstrap.servers": run.bootstrap, "group.id": group}
    consumer = Consumer({**config, "auto.offset.reset": "earliest"})
    consumer.subscribe([run.topic])
    while consumer.poll(1.0) is None:
        pass
    return consumer


def confluent_poll(run: Program) -> None:
    """Poll one message at a time."""
    consumer = _confluent_consumer(run)
    count = 0
    with run.counted():
        while count < run.records - 1:
            message = consumer.poll(1.0)
            if message is None:
                continue
            assert message.error() is None, message.error()
            count += len(message.value()) // run.size
    consumer.close()


def confluent_consume(run: Program) -> None:
    """Consume up to 500 messages at a time."""
    consumer = _confluent_consumer(run)
    count = 0
    with run.counted():
        while count < run.records - 1:
            for message in consumer.consume(500, 1.0):
                assert message.error() is None, message.error()
                count += len(message.value()) // run.size
    consumer.close()


def confluent_aio(run: Program) -> None:
    """Produce with ``AIOProducer``, a thousand futures at a time."""
    from confluent_kafka.aio import AIOProducer

    async def main() -> None:
        producer = AIOProducer({"bootstrap.servers": run.bootstrap})
        await (await producer.produce(run.topic, run.value))
        with run.counted():
            keys = run.record_keys()
            while some := list(itertools.islice(keys, 1000)):
                sent = [await producer.produce(run.topic, run.value, key=key) for key in some]
                await asyncio.gather(*sent)
        await producer.close()

    asyncio.run(main())


def confluent_avro(run: Program) -> None:
    """Deserialize a record of ten fields with ``AvroDeserializer``; no brokers are involved."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    types: dict[str, Any] = {
        "id": "long",
        "name": "string",
        "count": "int",
        "price": "double",
        "active": "boolean",
        "note": ["null", "string"],
        "tags": {"type": "array", "items": "string"},
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "digest": "bytes",
        "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
    }
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    schema = json.dumps({"type": "record", "name": "Order", "fields": fields})
    client = SchemaRegistryClient({"url": run.registry})
    context = SerializationContext(run.topic, MessageField.VALUE)
    value = {
        "id": 1 << 40,
        "name": "a name",
        "count": 7,
        "price": 1.5,
        "active": True,
        "note": "a note",
        "tags": ["one", "two"],
        "at": 1_700_000_000_000,
        "digest": b"0123456789abcdef",
        "kind": "B",
    }
    data = AvroSerializer(client, schema)(value, context)
    deserialize = AvroDeserializer(client, schema)
    assert deserialize(data, context)["name"] == "a name"
    with run.counted():
        for _ in range(run.records):
            deserialize(data, context)


async def _aiokafka_consumer(run: Program) -> Any:
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        run.topic,
        bootstrap_servers=run.bootstrap,
        group_id=f"{run.topic}-{time.time()}",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    await consumer.getone()
    return consumer


def aiokafka_getmany(run: Program) -> None:
    """Read with ``getmany``, up to 500 records at a time."""

    async def main() -> None:
        consumer = await _aiokafka_consumer(run)
        count = 0
        with run.counted():
            while count < run.records - REST:
                records = await consumer.getmany(timeout_ms=1000, max_records=500)
                count += sum(len(some) for some in records.values())
        await consumer.stop()

    asyncio.run(main())


def aiokafka_getone(run: Program) -> None:
    """Read one record at a time."""

    async def main() -> None:
        consumer = await _aiokafka_consumer(run)
        with run.counted():
            for _ in range(run.records - REST):
                await consumer.getone()
        await consumer.stop()

    asyncio.run(main())


def aiokafka_send(run: Program) -> None:
    """Send, and await the futures, a thousand at a time."""
    from aiokafka import AIOKafkaProducer

    async def main() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=run.bootstrap, linger_ms=5)
        await producer.start()
        await producer.send_and_wait(run.topic, run.value)
        with run.counted():
            keys = run.record_keys()
            while some := list(itertools.islice(keys, 1000)):
                for sent in [await producer.send(run.topic, run.value, key=key) for key in some]:
                    await sent
        await producer.stop()

    asyncio.run(main())


def kafka_python_send(run: Program) -> None:
    """Send with a callback."""
    from kafka import KafkaProducer  # type: ignore[import-not-found,unused-ignore]

    reported = [0]

    def on_success(_metadata: object) -> None:
        reported[0] += 1

    producer = KafkaProducer(bootstrap_servers=run.bootstrap, linger_ms=5)
    producer.send(run.topic, run.value).get(timeout=30)
    with run.counted():
        for key in run.record_keys():
            producer.send(run.topic, run.value, key=key).add_callback(on_success)
        producer.flush()
    producer.close()
    assert reported[0] == run.records, reported


def kafka_python_iterate(run: Program) -> None:
    """Iterate over the records."""
    from kafka import KafkaConsumer  # type: ignore[import-not-found,unused-ignore]

    consumer = KafkaConsumer(
        run.topic,
        bootstrap_servers=run.bootstrap,
        group_id=f"{run.topic}-{time.time()}",
        auto_offset_reset="earliest",
    )
    next(consumer)
    with run.counted():
        for _ in itertools.islice(consumer, run.records - REST):
            pass
    consumer.close()


PROGRAMS: dict[str, dict[str, Callable[[Program], None]]] = {
    "confluent_kafka": {
        "produce, on_delivery": confluent_produce,
        "poll, one by one": confluent_poll,
        "consume(500)": confluent_consume,
        "AIOProducer": confluent_aio,
        "AvroDeserializer": confluent_avro,
    },
    "aiokafka": {
        "getmany(max_records=500)": aiokafka_getmany,
        "getone": aiokafka_getone,
        "send": aiokafka_send,
    },
    "kafka": {
        "send, add_callback": kafka_python_send,
        "iterate": kafka_python_iterate,
    },
}


def main() -> None:
    """Run one program, and print its measurements as JSON."""
    which, client, name, bootstrap, topic, registry, size, records = sys.argv[1:]
    if which == "stand-in":
        import ottla.compat

        ottla.compat.install(client)  # type: ignore[arg-type]  # a key of PROGRAMS
    run = Program(bootstrap, topic, registry, int(size), int(records))
    PROGRAMS[client][name](run)
    print(json.dumps(run.measured))


if __name__ == "__main__":
    main()
