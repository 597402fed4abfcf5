"""Clients with serializers, and the asyncio clients."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.compat.confluent_kafka import (
    DeserializingConsumer,
    KafkaError,
    SerializingProducer,
    TopicPartition,
)
from ottla.compat.confluent_kafka.aio import (
    AIOConsumer,
    AIOProducer,
    AsyncDeserializingConsumer,
    AsyncSerializingProducer,
)
from ottla.compat.confluent_kafka.error import (
    ConsumeError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from ottla.compat.confluent_kafka.serialization import (
    DoubleDeserializer,
    DoubleSerializer,
    IntegerDeserializer,
    IntegerSerializer,
    SerializationContext,
    SerializationError,
    StringDeserializer,
    StringSerializer,
)
from ottla.testing import MockCluster

PATIENCE = 30.0


@pytest.mark.parametrize(
    ("serializer", "deserializer", "value", "encoded"),
    [
        (IntegerSerializer(), IntegerDeserializer(), -7, b"\xff\xff\xff\xf9"),
        (DoubleSerializer(), DoubleDeserializer(), 1.5, b"?\xf8\0\0\0\0\0\0"),
        (StringSerializer("utf_16_be"), StringDeserializer("utf_16_be"), "ä", b"\0\xe4"),
    ],
)
def test_values_survive_their_serializer(
    serializer: Any, deserializer: Any, value: Any, encoded: bytes
) -> None:
    assert serializer(value) == encoded
    assert deserializer(encoded) == value
    assert serializer(None) is deserializer(None) is None
    with pytest.raises(SerializationError):
        deserializer(b"\xd8")


class Builder:
    """A builder that takes a key of its own out of the configuration."""

    def __init__(self) -> None:
        self.closed = 0

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Any, dict[str, Any]]:
        del conf["of.the.builder"]
        return self, conf

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes:
        assert ctx is not None
        return f"{ctx.topic}/{ctx.field}/{obj}".encode()

    def close(self) -> None:
        self.closed += 1


def test_serializers_see_each_message(cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    builder = Builder()
    base = {"bootstrap.servers": cluster.bootstrap}
    config = {**base, "key.serializer": StringSerializer(), "of.the.builder": 1}
    producer = SerializingProducer({**config, "value.serializer.builder": builder})
    producer.produce(name, key="k", value=1)
    with pytest.raises(KeySerializationError) as refused:
        producer.produce(name, key=5)
    assert refused.value.code == KafkaError._KEY_SERIALIZATION
    assert producer.flush(PATIENCE) == 0
    producer.close()
    assert builder.closed == 1
    read = {**base, "group.id": name, "auto.offset.reset": "earliest"}
    consumer = DeserializingConsumer({**read, "value.deserializer": StringDeserializer()})
    consumer.assign([TopicPartition(name, 0)])
    message = consumer.poll(PATIENCE)
    assert message is not None
    assert (message.key(), message.value()) == (b"k", f"{name}/value/1")
    consumer.close()
    other = {**read, "group.id": f"{name}-other"}
    failing = DeserializingConsumer({**other, "value.deserializer": IntegerDeserializer()})
    failing.assign([TopicPartition(name, 0)])
    with pytest.raises(ValueDeserializationError) as broken:
        failing.poll(PATIENCE)
    assert broken.value.kafka_message is not None
    assert broken.value.kafka_message.key() == b"k"
    failing.subscribe([f"{name}-missing"])
    with pytest.raises(ConsumeError) as missing:
        failing.poll(PATIENCE)
    assert missing.value.name == "UNKNOWN_TOPIC_OR_PART"
    failing.close()


def test_a_serializer_that_fails_sends_nothing() -> None:
    producer = SerializingProducer({"value.serializer": IntegerSerializer()})
    with pytest.raises(ValueSerializationError):
        producer.produce("t", value="text")
    assert len(producer) == 0
    with pytest.raises(ValueError, match="Cannot configure both"):
        SerializingProducer({"key.serializer": print, "key.serializer.builder": Builder()})


def test_asyncio_produces_and_consumes(cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    calls: list[tuple[str, Any]] = []

    async def run() -> list[Any]:
        async with AIOProducer({"bootstrap.servers": cluster.bootstrap}) as producer:
            futures = [await producer.produce(name, str(number)) for number in range(20)]
            offsets = [(await future).offset() for future in futures]
            assert offsets == list(range(20))
            failed = await producer.produce(name, b"", partition=9)
            with pytest.raises(Exception, match="_UNKNOWN_PARTITION"):
                await failed

        async def on_assign(consumer: Any, parts: list[Any]) -> None:
            assert asyncio.get_running_loop() is loop
            for part in parts:
                part.offset = 5
            await consumer.assign(parts)
            calls.append(("assign", consumer))

        loop = asyncio.get_running_loop()
        config = {"bootstrap.servers": cluster.bootstrap, "group.id": name}
        consumer = AIOConsumer(config)
        async with consumer:
            await consumer.subscribe([name], on_assign=on_assign)
            found: list[Any] = []
            while len(found) < 15:
                found += await consumer.consume(15, 1.0)
            await consumer.commit(message=found[0], asynchronous=False)
        assert calls == [("assign", consumer)]
        with pytest.raises(RuntimeError, match="Consumer closed"):
            await consumer.poll(0)
        return found

    found = asyncio.run(run())
    assert [message.offset() for message in found] == list(range(5, 20))


def test_asyncio_with_serializers(cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)

    async def serialize(obj: Any, ctx: Any) -> bytes:
        return str(obj).encode()

    async def run() -> Any:
        base = {"bootstrap.servers": cluster.bootstrap}
        producer = await AsyncSerializingProducer({**base, "value.serializer": serialize})
        await (await producer.produce(name, value=42))
        await producer.close()
        config = {**base, "group.id": name, "auto.offset.reset": "earliest"}
        consumer = await AsyncDeserializingConsumer(
            {**config, "value.deserializer": StringDeserializer()}
        )
        await consumer.assign([TopicPartition(name, 0)])
        message = await consumer.poll(PATIENCE)
        await consumer.close()
        return message

    assert asyncio.run(run()).value() == "42"
