"""Two records written and read with each client, as its programs do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

NAME = "instrumented"


def confluent_kafka(bootstrap: str, topic: str) -> None:
    """Read the first record with `poll`, the second one with `consume`."""
    client: Any = import_module("confluent_kafka")
    config = {"bootstrap.servers": bootstrap, "client.id": NAME}
    producer = client.Producer(config)
    for value in (b"first", b"second"):
        producer.produce(topic, value=value, key=b"key")
    producer.flush()
    consumer = client.Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    while consumer.poll(1) is None:
        pass
    while not consumer.consume(1, 1):
        pass
    consumer.close()


def kafka(bootstrap: str, topic: str) -> None:
    """Read both records by iterating."""
    client: Any = import_module("kafka")
    config = {"bootstrap_servers": bootstrap, "client_id": NAME}
    producer = client.KafkaProducer(**config)
    for value in (b"first", b"second"):
        producer.send(topic, value, b"key").get(60)
    producer.close()
    consumer = client.KafkaConsumer(topic, auto_offset_reset="earliest", **config)
    for _ in range(2):
        next(consumer)
    consumer.close()


def aiokafka(bootstrap: str, topic: str) -> None:
    """Read the first record with `getone`, the second one with `getmany`."""
    asyncio.run(_aiokafka(bootstrap, topic))


async def _aiokafka(bootstrap: str, topic: str) -> None:
    client: Any = import_module("aiokafka")
    config = {"bootstrap_servers": bootstrap, "client_id": NAME}
    async with client.AIOKafkaProducer(**config) as producer:
        for value in (b"first", b"second"):
            await producer.send_and_wait(topic, value, b"key")
    consumer = client.AIOKafkaConsumer(
        topic, group_id=topic, auto_offset_reset="earliest", **config
    )
    async with consumer:
        await consumer.getone()
        while not await consumer.getmany(timeout_ms=1000):
            pass


EXCHANGES: dict[str, Callable[[str, str], None]] = {
    each.__name__: each for each in (confluent_kafka, aiokafka, kafka)
}
