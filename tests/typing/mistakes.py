# mypy: ignore-errors
"""Mistakes of users: type checkers in strict mode report each line marked `mistake`.

Never run. `tests/unit/test_typing.py` checks it without its first line, which exempts it from the
check of the whole repository.
"""

from __future__ import annotations

from dataclasses import dataclass

import ottla
from ottla import deserializers, errors
from ottla.testing import Fault


@dataclass
class Payment:
    """A class whose schema is derived."""

    id: int
    note: str | None = None


def objects(bootstrap: str) -> None:
    ottla.schema.Json("Payment", wire_format="none")  # mistake: the name of a class
    ottla.schema.Avro(Payment, wire="none")  # mistake: no such argument
    value = ottla.schema.Json(Payment, wire_format="none")
    consumer = ottla.Consumer(bootstrap, group_id="g", value_deserializer=value)
    for record in consumer:
        print(record.value.id)  # mistake: None is a tombstone
        if record.value is not None:
            print(record.value.amount)  # mistake: no such field
            print(record.value.note.upper())  # mistake: a field that may be None
    other: ottla.schema.Json[int] = value  # mistake: another type
    print(other)


def configuration(bootstrap: str) -> None:
    ottla.Producer(bootstrap, lingerms=3)  # mistake: a misspelt key
    ottla.Producer(bootstrap, linger_ms=0.5)  # mistake: a fraction of a millisecond
    ottla.Producer(bootstrap, compression_type="brotli")  # mistake: no such codec
    ottla.Producer(bootstrap, group_id="g")  # mistake: a key of consumers
    ottla.Consumer(bootstrap, enable_auto_commit="no")  # mistake: neither true nor false
    ottla.Consumer(bootstrap, groupid="g")  # mistake: a misspelt key
    ottla.AsyncConsumer(bootstrap, auto_offset_reset=0)  # mistake: an offset, not a policy
    ottla.AsyncProducer(bootstrap, acks=2)  # mistake: only 0, 1 and all exist
    ottla.Client(bootstrap, security_protocol="TLS")  # mistake: Kafka says SSL
    ottla.AsyncClient(bootstrap, client_id=5)  # mistake: a number as a name
    ottla.Admin(bootstrap, batch_size=5)  # mistake: a key of producers
    ottla.scan("t", bootstrap, isolation_level="committed")  # mistake: read_committed
    ottla.scan("t", bootstrap, start=1.5)  # mistake: no offset is a fraction
    ottla.diagnose(bootstrap, topics=["t"])  # mistake: the argument is one topic


def producing(producer: ottla.Producer) -> None:
    producer.sent("t", b"v")  # mistake: a misspelt method
    producer.send(b"t", b"v")  # mistake: a topic is text
    producer.send("t", b"v", partition="0")  # mistake: a partition is a number
    producer.send("t", b"v", headers={"h": 5})  # mistake: a header is bytes or text
    producer.send("t", b"v", on_delivery=len)  # mistake: a callback takes two arguments
    producer.send("t", b"v", on_delivery=delivered)  # mistake: the error may be None
    producer.send("t", b"v").result().offset + 1  # mistake: None with acks=0
    producer.send("t", b"v").result(timeout="5")  # mistake: seconds are a number
    ottla.Producer("a:9092", value_serializer="json")  # mistake: a string is not a serializer
    ottla.Producer("a:9092", value_serializer=len)  # mistake: it does not return bytes


def delivered(error: errors.KafkaError, where: ottla.RecordMetadata) -> None:
    print(error.code, where.offset)


def consuming(consumer: ottla.Consumer) -> None:
    for record in consumer:
        record.key.decode()  # mistake: the key may be None
        record.value.upper() if record.value else None
        record.offset = 5  # mistake: a record does not change
        record.timestamp.isoformat()  # mistake: it is a number
    consumer.assign(["orders"])  # mistake: partitions are pairs
    consumer.assign([("orders", "0")])  # mistake: of a topic and a number
    consumer.subscribe("orders", "invoices")  # mistake: topics are a list
    consumer.subscribe(["a"], on_revoked=lambda partitions: None)  # mistake: two arguments
    consumer.pause("a", 0)  # mistake: a partition is one argument
    consumer.commit({("a", 0): "5"})  # mistake: an offset is a number
    print(consumer.committed()["a", 0].offset)  # mistake: None if nothing is committed
    consumer.commit(next(consumer).offset)  # mistake: of which partition?


def deserializing(bootstrap: str) -> None:
    consumer = ottla.Consumer(bootstrap, value_deserializer=deserializers.int)
    text: str | None = next(consumer).value  # mistake: the deserializer returns numbers
    keys: ottla.Consumer[str, int] = consumer  # mistake: its keys are bytes
    ottla.Consumer(bootstrap, key_deserializer=str.upper)  # mistake: it takes bytes
    print(text, keys)


async def waiting(client: ottla.AsyncClient, producer: ottla.Producer) -> None:
    (await producer.send("t", b"v")).result()  # mistake: awaiting returns the metadata
    producer.send("t", b"v").add_done_callback(len)  # mistake: it is called with the delivery
    await producer.flush()  # mistake: flush() is not awaitable
    client.list_topics().sort()  # mistake: a future is not a list
    async with ottla.Client("a:9092"):  # mistake: Client is not for asyncio
        pass
    for _ in await client.events():  # mistake: AsyncEvents needs async for
        pass
    async with ottla.AsyncConsumer("a:9092") as consumer:
        (await consumer.poll())[0].value.decode()  # mistake: a tombstone has no value
        consumer.poll().append(5)  # mistake: a coroutine is not a list


def reading(client: ottla.Client) -> None:
    client.cluster("orders").generation = 5  # mistake: a snapshot does not change
    client.list_offsets({("a", 0): 1.5})  # mistake: a spec is a name or milliseconds
    client.leader("a", 0) + 1  # mistake: there may be no leader
    Fault.disconnect("never")  # mistake: before or after
