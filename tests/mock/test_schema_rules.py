"""Rules of data contracts, none of which is applied: what needs one is an error that names it.

Confluent's serializers, which apply no rule either without an executor of its type, refuse the same
records. A rule is left out only where the configuration names it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

import ottla
from ottla import errors
from ottla.schema import Avro, DeadLetters, Registry
from ottla.testing import MockCluster, MockRegistry

ORDER = (
    '{"type":"record","name":"Order","fields":'
    '[{"name":"id","type":"long"},{"name":"card","type":"string","confluent:tags":["PII"]}]}'
)
LATER = ORDER.removesuffix("]}") + ',{"name":"note","type":"string","default":""}]}'
CONTEXT = SerializationContext("orders", MessageField.VALUE)
# As a serializer with the rule leaves it: the text of the card is encrypted.
ENCRYPTED = {"id": 7, "card": "GWaP0aMKJ4FoSYMNq9c="}
NAMED = r'rule "encryptCard" \(ENCRYPT, WRITEREAD\)'


def contract(
    mode: RuleMode, rule_type: str = "ENCRYPT", name: str = "encryptCard", *, disabled: bool = False
) -> Rule:
    """A rule for the fields with the tag PII."""
    kind = RuleKind.TRANSFORM
    return Rule(name, None, kind, mode, rule_type, ["PII"], None, None, None, None, disabled)


def register(registry: MockRegistry, *rules: Rule, migration: list[Rule] | None = None) -> int:
    """Register the schema with rules as Confluent's client does, and return its id."""
    client = SchemaRegistryClient({"url": registry.url})
    rule_set = RuleSet(migration, list(rules)) if rules or migration else None
    schema = ConfluentSchema(ORDER, "AVRO", [], None, rule_set)
    return client.register_schema("orders-value", schema)


def written(schema_id: int) -> bytes:
    """The bytes of the encrypted order with this id."""
    plain = Avro(schema=ORDER, wire_format="none").serialize("orders", ENCRYPTED)
    assert plain is not None
    return b"\x00" + schema_id.to_bytes(4, "big") + plain


@pytest.fixture
def encrypted(mock_cluster: MockCluster, mock_registry: MockRegistry) -> int:
    """A topic with a record whose schema has a rule for readers."""
    found = register(mock_registry, contract(RuleMode.WRITEREAD))
    mock_cluster.create_topic("orders", partitions=1)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send("orders", written(found)).result()
    return found


def test_confluents_deserializer_refuses_it_too(
    mock_registry: MockRegistry, encrypted: int
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    assert client.get_schema(encrypted).rule_set is not None
    confluent = AvroDeserializer(client)
    with pytest.raises(SerializationError):
        confluent(written(encrypted), CONTEXT)
    serializer = AvroSerializer(
        client, conf={"auto.register.schemas": False, "use.latest.version": True}
    )
    with pytest.raises(SerializationError):
        serializer(ENCRYPTED, CONTEXT)


def test_each_read_of_it_is_an_error_that_names_the_rule(
    mock_cluster: MockCluster, mock_registry: MockRegistry, encrypted: int
) -> None:
    bootstrap = mock_cluster.bootstrap
    # With the latest schema of the subject, and with one that is given.
    of_subject = Avro(Registry(mock_registry.url))
    given = Avro(Registry(mock_registry.url), schema=ORDER)
    settings: dict[str, Any] = {"topics": ["orders"], "auto_offset_reset": "earliest"}
    for value in (of_subject, given):
        with pytest.raises(errors.KafkaError, match=NAMED):
            value.deserialize("orders", written(encrypted))
        with pytest.raises(errors.KafkaError, match=NAMED):
            list(ottla.scan("orders", bootstrap, value_format=value))
        with (
            ottla.Consumer(bootstrap, group_id="poll", **settings) as consumer,
            pytest.raises(errors.KafkaError, match=NAMED),
        ):
            consumer.poll_arrow(timeout=10, value_format=value)
        with (
            ottla.Consumer(
                bootstrap, group_id="one", value_deserializer=value, **settings
            ) as single,
            pytest.raises(errors.KafkaError, match=NAMED),
        ):
            single.poll(timeout=10)

        async def read(value: Avro = value) -> None:
            async with ottla.AsyncConsumer(
                bootstrap, group_id="async", value_deserializer=value, **settings
            ) as consumer:
                await consumer.poll(timeout=10)

        with pytest.raises(errors.KafkaError, match=NAMED):
            asyncio.run(read())


def test_in_the_other_modes_it_is_a_row_that_cannot_be_decoded(
    mock_cluster: MockCluster, mock_registry: MockRegistry, encrypted: int
) -> None:
    bootstrap = mock_cluster.bootstrap
    registry = Registry(mock_registry.url)
    permissive = Avro(registry, schema=ORDER, mode="permissive")
    scan = ottla.scan("orders", bootstrap, columns=["value"], value_format=permissive)
    ((value, reason),) = [row for batch in scan for row in batch.rows()]
    assert value is None
    assert 'value: schema 1: it has the rule "encryptCard"' in reason
    mock_cluster.create_topic("dead", partitions=1)
    letters = Avro(registry, schema=ORDER, mode=DeadLetters("dead", bootstrap))
    assert [batch.num_rows for batch in ottla.scan("orders", bootstrap, value_format=letters)] in (
        [],
        [0],
    )
    ((dead,),) = [
        row for batch in ottla.scan("dead", bootstrap, columns=["value"]) for row in batch.rows()
    ]
    assert dead == written(encrypted)


def test_nothing_is_written_without_a_rule_for_writers(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    register(mock_registry, contract(RuleMode.WRITE, "CEL", "checkCard"))
    registry = Registry(mock_registry.url)
    formats = [
        Avro(registry),
        Avro(registry, schema=1),
        Avro(registry, schema=ORDER),
        Avro(registry, schema=ORDER, register=True),
    ]
    for value in formats:
        with pytest.raises(errors.SchemaError, match=r'rule "checkCard" \(CEL, WRITE\)'):
            value.serialize("orders", ENCRYPTED)
    # Readers have no need of it.
    assert Avro(registry).deserialize("orders", written(1)) == ENCRYPTED


def test_a_schema_that_is_registered_gets_the_rules_of_the_version_before(
    mock_registry: MockRegistry,
) -> None:
    register(mock_registry, contract(RuleMode.WRITEREAD))
    value = Avro(Registry(mock_registry.url), schema=LATER, register=True)
    with pytest.raises(errors.SchemaError, match=NAMED):
        value.serialize("orders", {**ENCRYPTED, "note": "n"})
    latest = SchemaRegistryClient({"url": mock_registry.url}).get_latest_version("orders-value")
    assert latest.version == 2
    assert latest.schema.rule_set is not None


def test_a_rule_that_is_named_is_left_out(mock_registry: MockRegistry) -> None:
    found = register(mock_registry, contract(RuleMode.WRITEREAD))
    registry = Registry(mock_registry.url, ignored_rules="encryptCard")
    value = Avro(registry)
    assert value.serialize("orders", ENCRYPTED) == written(found)
    assert value.deserialize("orders", written(found)) == ENCRYPTED
    other = Avro(Registry(mock_registry.url, ignored_rules=["encryptcard", "card"]))
    with pytest.raises(errors.SchemaError, match=NAMED):
        other.deserialize("orders", written(found))


def test_a_disabled_rule_is_not_needed(mock_registry: MockRegistry) -> None:
    found = register(mock_registry, contract(RuleMode.WRITEREAD, disabled=True))
    value = Avro(Registry(mock_registry.url))
    assert value.deserialize("orders", written(found)) == ENCRYPTED


def test_migrations_are_for_values_of_other_versions(mock_registry: MockRegistry) -> None:
    plain = register(mock_registry)
    upgrade = contract(RuleMode.UPGRADE, "JSONATA", "renameCard")
    client = SchemaRegistryClient({"url": mock_registry.url})
    schema = ConfluentSchema(LATER, "AVRO", [], None, RuleSet([upgrade], []))
    later = client.register_schema("orders-value", schema)
    value = Avro(Registry(mock_registry.url))
    with pytest.raises(errors.SerializationError, match=r'rule "renameCard" \(JSONATA, UPGRADE\)'):
        value.deserialize("orders", written(plain))
    own = written(later) + b"\x00"
    assert value.deserialize("orders", own) == {**ENCRYPTED, "note": ""}
    # To the earlier version, the rule for upgrades is not needed.
    earlier = Avro(Registry(mock_registry.url), version=1)
    assert earlier.deserialize("orders", own) == ENCRYPTED
