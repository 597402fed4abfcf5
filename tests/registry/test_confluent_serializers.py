"""Real brokers and a real registry: records of Confluent's serializers; a schema that changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.schema import Avro, Registry
from tests.support import confluent
from tests.support.apicurio import ApicurioRegistry
from tests.support.confluent_serializers import FORMATS
from tests.support.consumers import KINDS, TIMEOUT, read
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

TopicFactory = Callable[..., str]


def write(bootstrap: str, topic: str, values: Sequence[bytes | None]) -> None:
    """Write values with librdkafka."""
    producer = confluent.producer(bootstrap)
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def rows(batch: Any) -> list[Any]:
    """Return the values of a batch or a scan as Python objects."""
    column = pa.table(batch).column("value")
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return values


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.mark.parametrize("name", FORMATS)
def test_what_confluents_serializers_write_is_read(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
    kind: Any,
    name: str,
) -> None:
    """Columns, scans and deserializers have the values that Confluent's deserializer returns."""
    topic = kafka_topic()
    theirs = FORMATS[name](peer, topic)
    data = [theirs.serialize(value) for value in theirs.values]
    write(kafka.bootstrap, topic, [*data, None])
    written = confluent.read_all(kafka.bootstrap, topic, [0])
    values = [written[0, offset].value() for offset in range(len(data))]
    expected = [*(theirs.deserialize(value) for value in values if value is not None), None]
    assert expected == [*theirs.values, None]
    with Registry(apicurio.url) as registry:
        value = theirs.column_format(registry)
        with kind(kafka.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([(topic, 0)])
            found: list[Any] = []
            while len(found) < len(expected):
                batch = consumer.poll_arrow(timeout=TIMEOUT, value_format=value)
                assert batch is not None, f"only {len(found)} of {len(expected)} records arrived"
                found += rows(batch)
            assert found == expected
        assert rows(ottla.scan(topic, kafka.bootstrap, value_format=value)) == expected
        config: dict[str, Any] = {"auto_offset_reset": "earliest", "value_deserializer": value}
        with kind(kafka.bootstrap, **config) as consumer:
            consumer.assign([(topic, 0)])
            assert [record.value for record in read(consumer, len(expected))] == expected


@pytest.mark.parametrize("name", FORMATS)
def test_what_ottla_writes_confluents_deserializers_read(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
    name: str,
) -> None:
    """Objects and columns are written with the latest schema of the subject."""
    topic = kafka_topic()
    theirs = FORMATS[name](peer, topic)
    first, *others = theirs.values
    # Confluent's serializer registers the schema.
    theirs.serialize(first)
    with Registry(apicurio.url) as registry:
        value = theirs.column_format(registry)
        column = pa.array(others, pa.field(value.arrow_type(topic)).type)
        with ottla.Producer(kafka.bootstrap, value_serializer=value) as producer:
            producer.send(topic, first, partition=0)
            producer.flush()
        with ottla.Producer(kafka.bootstrap) as producer:
            producer.send_batch(topic, pa.table({"value": column}), value_format=value).result()
    written = confluent.read_all(kafka.bootstrap, topic, [0])
    values = [written[0, offset].value() for offset in range(len(theirs.values))]
    assert [theirs.deserialize(value) for value in values if value is not None] == theirs.values


def test_ottla_registers_what_confluents_deserializers_read(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
) -> None:
    """A schema is registered if that was asked for, and otherwise must be there."""
    topic = kafka_topic()
    context = SerializationContext(topic, MessageField.VALUE)
    with Registry(apicurio.url) as registry:
        with pytest.raises(errors.SchemaError, match="does not exist"):
            Avro(registry, schema=V1).serialize(topic, {"id": 1, "item": "pen", "gone": 1})
        value = Avro(registry, schema=V1, register=True)
        with ottla.Producer(kafka.bootstrap, value_serializer=value) as producer:
            producer.send(topic, {"id": 1, "item": "pen", "gone": 1})
            producer.flush()
    written = confluent.read_all(kafka.bootstrap, topic, [0])[0, 0].value()
    assert AvroDeserializer(peer)(written, context) == {"id": 1, "item": "pen", "gone": 1}


def order(**fields: Any) -> str:
    """Return the text of a record's schema; a field is a type, or a dict with one."""
    items = [
        {"name": name, **(kind if isinstance(kind, dict) else {"type": kind})}
        for name, kind in fields.items()
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": items})


V1 = order(id="int", item="string", gone="long")
PRICE = {"type": "double", "default": 0.5}
V2 = order(id="int", item="string", gone="long", price=PRICE)
# One field is promoted, one renamed, and one dropped.
V3 = order(id="double", article={"type": "string", "aliases": ["item"]}, price=PRICE)


def test_a_schema_changes(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
    kind: Any,
) -> None:
    """Records of three versions are read as the latest, and by old readers as far as possible."""
    topic = kafka_topic()
    context = SerializationContext(topic, MessageField.VALUE)
    written: list[tuple[str, dict[str, Any]]] = [
        (V1, {"id": 1, "item": "pen", "gone": 1}),
        (V2, {"id": 2, "item": "ink", "gone": 2, "price": 1.0}),
        (V1, {"id": 3, "item": "cap", "gone": 3}),
        (V3, {"id": 4.5, "article": "cup", "price": 2.0}),
    ]
    serializers: dict[str, AvroSerializer] = {}
    values = []
    for schema, value in written:
        if schema not in serializers:
            serializers[schema] = AvroSerializer(peer, schema)
        values.append(serializers[schema](value, context))
        peer.set_compatibility(f"{topic}-value", "BACKWARD")
    write(kafka.bootstrap, topic, values)
    with Registry(apicurio.url) as registry:
        assert rows(ottla.scan(topic, kafka.bootstrap, value_format=Avro(registry))) == [
            {"id": 1.0, "article": "pen", "price": 0.5},
            {"id": 2.0, "article": "ink", "price": 1.0},
            {"id": 3.0, "article": "cap", "price": 0.5},
            {"id": 4.5, "article": "cup", "price": 2.0},
        ]
        old = [
            {"id": n, "item": item, "gone": n} for n, item in enumerate(("pen", "ink", "cap"), 1)
        ]
        first = Avro(registry, version=1, mode="permissive")
        table = pa.table(ottla.scan(topic, kafka.bootstrap, value_format=first))
        assert rows(table) == [*old, None]
        *none, reason = table.column("_error").to_pylist()
        assert none == [None] * 3
        assert "the reader's field Order.item is not written and has no default" in reason
        with kind(
            kafka.bootstrap,
            auto_offset_reset="earliest",
            value_deserializer=Avro(registry, version=2),
        ) as consumer:
            consumer.assign([(topic, 0)])
            prices = [record.value["price"] for record in read(consumer, 3)]
            assert prices == [0.5, 1.0, 0.5]
            with pytest.raises(errors.SerializationError, match=r"Order\.item is not written"):
                consumer.poll(timeout=TIMEOUT)
            assert consumer.position(topic, 0) == 3


def test_while_the_registry_is_frozen_or_down_no_record_is_passed_over(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
    kind: Any,
) -> None:
    """Polls raise one error with the cause, the position stays, and then all records come."""
    topic = kafka_topic()
    context = SerializationContext(topic, MessageField.VALUE)
    serialize = AvroSerializer(peer, order(id="int"))
    write(kafka.bootstrap, topic, [serialize({"id": n}, context) for n in range(3)])
    expected = [{"id": n} for n in range(3)]
    with (
        Registry(apicurio.url, default_api_timeout_ms=1_000) as registry,
        kind(kafka.bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(topic, 0)])
        apicurio.node.pause()
        for mode in ("failfast", "permissive"):
            with pytest.raises(errors.TimeoutError, match=f"{topic}-value.*no response"):
                consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(registry, mode=mode))
            assert consumer.position(topic, 0) == 0
        apicurio.node.resume()
        # A machine that pauses may let a look-up of one second fail.
        with Registry(apicurio.url) as patient:
            batch = consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(patient))
            assert rows(batch) == expected
            apicurio.node.kill()
            # What the registry is not asked again is read without it.
            consumer.seek(topic, 0, 0)
            assert (
                rows(consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(patient))) == expected
            )
        consumer.seek(topic, 0, 0)
        with pytest.raises(errors.TimeoutError, match="Connection refused"):
            consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(registry))
        assert consumer.position(topic, 0) == 0
