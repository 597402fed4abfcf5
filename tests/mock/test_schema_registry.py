"""Clients of a schema registry: calls, errors, credentials, and typed columns with its schemas.

Confluent's own client and serializers write what ours reads.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import SchemaReference as Named
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.schema import Avro, Registry, Schema, SchemaReference
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support.consumers import KINDS, TIMEOUT
from tests.support.registries import REGISTRIES

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "item", "type": ["null", "string"]}]}"""


@pytest.fixture(params=REGISTRIES)
def client_class(request: pytest.FixtureRequest) -> Any:
    """The registry client: blocking or asyncio."""
    return REGISTRIES[request.param]


def test_each_call_returns_the_schema_with_its_place(
    mock_registry: MockRegistry, client_class: Any
) -> None:
    """Registered schemas are found by id, GUID, version and text."""
    mock_registry.set_compatibility("NONE")
    with client_class(mock_registry.url) as registry:
        first = registry.register("orders-value", Schema(ORDER))
        second = registry.register("orders-value", Schema('"long"'))
        assert (first.id, first.version, first.subject) == (1, 1, "orders-value")
        assert (second.id, second.version) == (2, 2)
        assert registry.register("orders-value", Schema(ORDER)) == first
        assert registry.schema(1) == first == registry.schema_by_version("orders-value", 1)
        assert registry.latest("orders-value") == second == registry.schema(2)
        found = registry.lookup("orders-value", Schema(ORDER))
        assert (found.id, found.version, found.text, found.type) == (1, 1, ORDER, "AVRO")
        assert found.guid is not None
        assert registry.schema(found.guid) == first
        assert registry.subjects() == ["orders-value"]
        assert registry.check_compatibility("orders-value", Schema('"int"'))
        mock_registry.refuse_changes("orders-value")
        refused = registry.check_compatibility("orders-value", Schema('"int"'))
        assert not refused
        assert "differs from version 2" in refused.messages[0]


def test_references_are_resolved(mock_registry: MockRegistry, client_class: Any) -> None:
    """A schema comes with the names of its references, and those are of use to readers."""
    mock_registry.register("item", '{"type": "enum", "name": "Item", "symbols": ["A", "B"]}')
    text = '{"type": "record", "name": "R", "fields": [{"name": "i", "type": "Item"}]}'
    with client_class(mock_registry.url) as registry:
        references = [SchemaReference("Item", "item", 1)]
        registry.register("t-value", Schema(text, "AVRO", references))
        found = registry.latest("t-value")
        assert found.references == references
    with Registry(mock_registry.url) as blocking:
        assert Avro(blocking).deserialize("t", b"\0\0\0\0\2\2") == {"i": "B"}


def test_values_of_schemas_are_values() -> None:
    """Schemas and references compare by content, and have a repr without their text."""
    references = [SchemaReference("a", "b", 1)]
    assert Schema(ORDER) == Schema(ORDER)
    assert len({Schema(ORDER), Schema(ORDER), Schema(ORDER, references=references)}) == 2
    assert repr(Schema(ORDER)) == 'Schema(type="AVRO")'
    assert repr(references[0]) == 'SchemaReference(name="a", subject="b", version=1)'
    with pytest.raises(errors.ConfigError, match='type="XML": expected one of "AVRO"'):
        Schema(ORDER, "XML")  # type: ignore[arg-type]


def test_mistakes_are_errors_before_a_request(mock_registry: MockRegistry) -> None:
    """Wrong keys, values and ids name what is wrong."""
    with pytest.raises(errors.ConfigError, match=r"did you mean schema\.registry\.cache\.capacity"):
        Registry(mock_registry.url, cache_capacityy=3)
    with pytest.raises(errors.ConfigError, match="expected https://host:port"):
        Registry("registry:8081")
    with pytest.raises(errors.ConfigError, match="no address"):
        Registry()
    with pytest.raises(errors.ConfigError, match="passed twice"):
        Registry({"url": mock_registry.url}, {"url": mock_registry.url})
    with Registry({"schema.registry.url": [mock_registry.url]}) as registry:
        assert registry.urls == [mock_registry.url]
        for wrong in ("7", -1, 1.5, None, 2**40):
            with pytest.raises(errors.ConfigError, match="is not the id of a schema"):
                registry.schema(wrong)  # type: ignore[arg-type]
        with pytest.raises(errors.ConfigError, match="versions begin with 1"):
            registry.schema_by_version("s", 0)
    with pytest.raises(errors.ClosedError):
        registry.subjects()
    with pytest.raises(errors.ClosedError):
        Avro(registry)
    with pytest.raises(TypeError, match=r"of type str: expected ottla\.schema\.Registry"):
        Avro(mock_registry.url)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(registry)
    assert mock_registry.requests() == []


def test_each_failure_has_one_clear_error(mock_registry: MockRegistry, client_class: Any) -> None:
    """Unknown ids and subjects, refused schemas, a registry that is down or silent."""
    with client_class(mock_registry.url, retry_backoff_ms=20, retry_backoff_max_ms=20) as registry:
        with pytest.raises(errors.SchemaError, match="it does not exist in") as unknown:
            registry.schema(9)
        assert unknown.value.context["schema_id"] == "9"
        assert unknown.value.context["registry_code"] == 40403
        with pytest.raises(errors.SchemaError, match='subject "none" does not exist') as missing:
            registry.latest("none")
        assert missing.value.context["subject"] == "none"
        with pytest.raises(errors.SchemaError, match="refused the request as invalid"):
            registry.register("s", Schema("{"))
        registry.register("s", Schema(ORDER))
        mock_registry.refuse_changes("s")
        with pytest.raises(errors.SchemaError, match="incompatible with earlier versions"):
            registry.register("s", Schema('"int"'))
        mock_registry.inject(RegistryFault.status(503, code=50001, message="later"), times=2)
        assert registry.schema_by_version("s", 1).id == 1
        mock_registry.inject(RegistryFault.silence())
        with pytest.raises(errors.TimeoutError, match="listing the subjects") as silent:
            registry.subjects(timeout=0.3)
        assert silent.value.retriable
        mock_registry.clear_faults()
        mock_registry.stop()
        with pytest.raises(errors.TimeoutError, match="refused"):
            registry.subjects(timeout=2.0)
        mock_registry.restart()
        assert registry.subjects() == ["s"]


@pytest.mark.parametrize(
    ("server", "right", "wrong"),
    [
        ({"user_info": "key:p@ss"}, {"basic_auth_user_info": "key:p@ss"}, "key:hunter2"),
        ({"token": "t0ken"}, {"bearer_auth_token": "t0ken"}, "hunter2"),
    ],
)
def test_credentials(
    server: dict[str, str], right: dict[str, str], wrong: str, client_class: Any
) -> None:
    """Right credentials are accepted; wrong and missing ones are errors without the secret."""
    key = next(iter(right))
    with MockRegistry(**server) as mock:
        with client_class(mock.url, **right) as registry:
            assert registry.subjects() == []
            assert "p@ss" not in repr(registry)
        with client_class(mock.url, **{key: wrong}) as registry:
            with pytest.raises(errors.AuthenticationError, match="rejected the credentials") as bad:
                registry.subjects()
            assert "hunter2" not in str(bad.value)
        with (
            client_class(mock.url) as registry,
            pytest.raises(errors.AuthenticationError, match="requires credentials"),
        ):
            registry.subjects()


def test_mock_addresses_name_registries_of_the_process() -> None:
    """`mock://` is a named registry, started by its first use unless a test created it."""
    with MockRegistry("invoices") as mock, Registry("mock://invoices") as registry:
        registry.register("s", Schema('"int"'))
        assert mock.subjects() == ["s"]
        with pytest.raises(errors.ConfigError, match="exists already"):
            MockRegistry("invoices")
    with MockRegistry("invoices"), Registry("mock://invoices") as registry:
        assert registry.subjects() == []
    with Registry("mock://on-demand") as one, Registry(["mock://on-demand"]) as other:
        one.register("s", Schema('"int"'))
        assert other.subjects() == ["s"]
    with pytest.raises(errors.ConfigError, match="needs a name"):
        Registry("mock://")


def test_a_forked_child_refuses_the_parents_registry(mock_registry: MockRegistry) -> None:
    """In a forked child the parent's client is a clear error, and a new one works."""
    url = mock_registry.url
    with Registry(url) as registry:
        registry.register("s", Schema('"int"'))
        pid = os.fork()
        if pid == 0:
            try:
                try:
                    registry.subjects()
                except errors.ClosedError:
                    with Registry(url) as new:
                        os._exit(0 if new.subjects() == ["s"] else 2)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert registry.subjects() == ["s"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def serializer(url: str, topic: str, schema: str) -> Callable[[object], bytes]:
    """Return Confluent's serializer of values."""
    context = SerializationContext(topic, MessageField.VALUE)
    serialize = AvroSerializer(SchemaRegistryClient({"url": url}), schema)
    return lambda value: serialize(value, context)


def test_values_of_confluents_serializer_become_columns(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str, kind: Any
) -> None:
    """Values of two schemas that Confluent's serializer wrote are one column of the latest."""
    old = serializer(mock_registry.url, single, ORDER)
    price = ', {"name": "price", "type": "double", "default": 0.5}]}'
    added = ORDER.removesuffix("]}") + price
    values = [old({"id": n, "item": None if n else "pen"}) for n in range(3)]
    new = serializer(mock_registry.url, single, added)
    values += [new({"id": 3, "item": "cup", "price": 2.0})]
    mock_cluster.append(single, 0, values)
    with (
        Registry(mock_registry.url) as registry,
        kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(single, 0)])
        batch = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(registry)))
        assert batch.column("value").to_pylist() == [
            {"id": 0, "item": "pen", "price": 0.5},
            {"id": 1, "item": None, "price": 0.5},
            {"id": 2, "item": None, "price": 0.5},
            {"id": 3, "item": "cup", "price": 2.0},
        ]
    with kind(
        mock_cluster.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=Avro(Registry(mock_registry.url), version=1),
    ) as consumer:
        consumer.assign([(single, 0)])
        records = consumer.poll(timeout=TIMEOUT, max_records=4)
        assert records[3].value == {"id": 3, "item": "cup"}


def test_a_registry_that_is_down_passes_no_record(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str, kind: Any
) -> None:
    """While the registry is down, polls raise and the position stays; then all records come."""
    serialize = serializer(mock_registry.url, single, ORDER)
    mock_cluster.append(single, 0, [serialize({"id": n, "item": None}) for n in range(3)])
    mock_registry.stop()
    with (
        Registry(mock_registry.url, default_api_timeout_ms=300) as registry,
        kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(single, 0)])
        for mode in ("failfast", "permissive"):
            value = Avro(registry, mode=mode)
            with pytest.raises(errors.TimeoutError, match="single-value"):
                consumer.poll_arrow(timeout=TIMEOUT, value_format=value)
            assert consumer.position(single, 0) == 0
        mock_registry.restart()
        batch = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT, value_format=Avro(registry)))
        assert [row["id"] for row in batch.column("value").to_pylist()] == [0, 1, 2]


def test_a_scan_with_unknown_ids(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """An unknown id is an error of its record, or a null row with the registry's reason."""
    serialize = serializer(mock_registry.url, single, ORDER)
    mock_cluster.append(single, 0, [serialize({"id": 7, "item": None}), b"\0\0\0\0\x63\2"])
    with Registry(mock_registry.url) as registry:
        scan = ottla.scan(
            single, mock_cluster.bootstrap, value_format=Avro(registry, mode="permissive")
        )
        table = pa.table(scan)
        assert table.column("value").to_pylist() == [{"id": 7, "item": None}, None]
        reason = table.column("_error").to_pylist()[1]
        assert "schema 99: it does not exist in" in reason
        with pytest.raises(errors.SerializationError, match="schema 99") as failed:
            list(ottla.scan(single, mock_cluster.bootstrap, value_format=Avro(registry)))
        assert failed.value.context["offset"] == 1


def test_confluents_client_agrees_with_the_mock(mock_registry: MockRegistry) -> None:
    """Confluent's client finds what ours registered in the mock, and the other way round."""
    confluent = SchemaRegistryClient({"url": mock_registry.url})
    with Registry(mock_registry.url) as registry:
        mine = registry.register("a", Schema(ORDER))
        assert confluent.get_latest_version("a").schema_id == mine.id
        assert mine.id is not None
        assert confluent.get_schema(mine.id).schema_str == ORDER
        text = '{"type": "record", "name": "R", "fields": [{"name": "o", "type": "Order"}]}'
        theirs = confluent.register_schema(
            "b", ConfluentSchema(text, "AVRO", [Named(name="Order", subject="a", version=1)])
        )
        found = registry.schema(theirs)
        assert found.references == [SchemaReference("Order", "a", 1)]
        assert registry.lookup("b", found).version == 1
