"""``Json(validate=True)``: the constraints of JSON Schemas, in every way to read and to write.

The verdicts are those of Confluent's serializers, which validate with another library.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

import ottla
from ottla import errors
from ottla._internal import extras
from ottla.schema import DeadLetters, Json, Registry, Schema, SchemaReference
from ottla.testing import MockCluster, MockRegistry

ORDER = json.dumps(
    {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "code": {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 6},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["id"],
    }
)
GOOD = [{"id": 1, "code": "AB"}, {"id": 2, "tags": ["a", "b"]}]
SECRET = "hunter2"
BAD = {"id": 0, "code": SECRET, "tags": ["x", "x"]}
REASON = r"does not fit the JSON Schema: \$\.\w+ breaks"
CONTEXT = SerializationContext("t", MessageField.VALUE)


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A registry with the schema of the topic's values."""
    registry = Registry(mock_registry.url)
    registry.register("t-value", Schema(ORDER, "JSON"))
    return registry


@pytest.fixture
def topic(mock_cluster: MockCluster, registry: Registry) -> str:
    """A topic with a bad record between two good ones."""
    mock_cluster.create_topic("t", partitions=1)
    loose = Json(registry)
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=loose) as producer:
        for value in (GOOD[0], BAD, GOOD[1]):
            producer.send("t", value)
    return "t"


def plain(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """A value without what is null."""
    return value and {key: each for key, each in value.items() if each is not None}


def test_a_bad_record_is_an_error_of_each_read(
    mock_cluster: MockCluster, registry: Registry, topic: str
) -> None:
    bootstrap = mock_cluster.bootstrap
    value = Json(registry, validate=True)

    def records(consumer: Any) -> None:
        consumer.assign([(topic, 0)])
        assert [plain(each.value) for each in consumer.poll(timeout=10)] == GOOD[:1]
        for _ in range(2):
            with pytest.raises(errors.SerializationError, match=REASON) as caught:
                consumer.poll(timeout=10)
            assert caught.value.context == {"topic": topic, "partition": 0, "offset": 1}
            assert SECRET not in str(caught.value)
        consumer.seek(topic, 0, 2)
        assert [plain(each.value) for each in consumer.poll(timeout=10)] == GOOD[1:]

    settings: dict[str, Any] = {"auto_offset_reset": "earliest"}
    with ottla.Consumer(bootstrap, value_deserializer=value, **settings) as consumer:
        records(consumer)
    with ottla.Consumer(bootstrap, **settings) as consumer:
        consumer.assign([(topic, 0)])
        first = pa.table(consumer.poll_arrow(timeout=10, value_format=value))
        assert [plain(each) for each in first["value"].to_pylist()] == GOOD[:1]
        with pytest.raises(errors.SerializationError, match=REASON):
            consumer.poll_arrow(timeout=10, value_format=value)
    with pytest.raises(errors.SerializationError, match=REASON):
        list(ottla.scan(topic, bootstrap, value_format=value))

    async def poll() -> None:
        async with ottla.AsyncConsumer(bootstrap, value_deserializer=value, **settings) as one:
            one.assign([(topic, 0)])
            assert [plain(each.value) for each in await one.poll(timeout=10)] == GOOD[:1]
            with pytest.raises(errors.SerializationError, match=REASON):
                await one.poll(timeout=10)

    asyncio.run(poll())


def test_share_consumers_validate(
    mock_cluster: MockCluster, registry: Registry, topic: str
) -> None:
    value = Json(registry, validate=True)
    with ottla.ShareConsumer(
        mock_cluster.bootstrap, group_id="s", topics=[topic], value_deserializer=value
    ) as consumer:
        with ottla.Producer(mock_cluster.bootstrap, value_serializer=Json(registry)) as producer:
            found: list[Any] = []
            while not found:
                producer.send(topic, GOOD[0]).result()
                found = consumer.poll(timeout=1)
            assert plain(found[0].value) == GOOD[0]
            producer.send(topic, BAD).result()
        with pytest.raises(errors.SerializationError, match=REASON):
            consumer.poll(timeout=10)


def test_bad_records_are_null_or_dead_letters(
    mock_cluster: MockCluster, registry: Registry, topic: str
) -> None:
    bootstrap = mock_cluster.bootstrap
    permissive = Json(registry, validate=True, mode="permissive")
    table = pa.table(ottla.scan(topic, bootstrap, value_format=permissive))
    assert [plain(each) for each in table["value"].to_pylist()] == [GOOD[0], None, GOOD[1]]
    first, reason, last = table["_error"].to_pylist()
    assert (first, last) == (None, None)
    assert reason == (
        "value: schema 1: it does not fit the JSON Schema: $.id breaks minimum 1; "
        '$.code breaks maxLength 6; $.code breaks pattern "^[A-Z]+$"; and more'
    )
    mock_cluster.create_topic("dead", partitions=1)
    letters = Json(registry, validate=True, mode=DeadLetters("dead", bootstrap))
    with ottla.Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        table = pa.table(consumer.poll_arrow(timeout=10, value_format=letters))
    assert [plain(each) for each in table["value"].to_pylist()] == GOOD
    (letter,) = pa.table(ottla.scan("dead", bootstrap, columns=["value", "headers"])).to_pylist()
    headers = {each["key"]: each["value"] for each in letter["headers"]}
    assert b"$.code breaks maxLength 6" in headers["__ottla.errors.message"]


def test_nothing_bad_is_written(mock_cluster: MockCluster, registry: Registry) -> None:
    mock_cluster.create_topic("t", partitions=1)
    value = Json(registry, validate=True)
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
        producer.send("t", GOOD[0])
        producer.send_batch("t", pa.array([GOOD[1]]))
        for send in (
            lambda: producer.send("t", BAD),
            lambda: producer.send_batch("t", [GOOD[0], BAD]),
            lambda: producer.send_batch("t", pa.array([None, GOOD[0], BAD])),
            lambda: value.serialize("t", BAD),
        ):
            with pytest.raises(errors.SerializationError, match=REASON) as caught:
                send()
            assert SECRET not in str(caught.value)
        with pytest.raises(errors.SerializationError, match="row 2 "):
            producer.send_batch("t", pa.array([None, GOOD[0], BAD]))
    table = pa.table(ottla.scan("t", mock_cluster.bootstrap, value_format=value))
    assert [plain(each) for each in table["value"].to_pylist()] == GOOD


@dataclass
class Order:
    """An object whose class checks nothing."""

    id: int
    code: str = "A"


@pytest.mark.parametrize("wire_format", ["confluent", "none"])
def test_objects_are_validated_by_the_given_schema(registry: Registry, wire_format: Any) -> None:
    source = None if wire_format == "none" else registry
    value = Json(Order, source, schema=ORDER, validate=True, wire_format=wire_format)
    data = value.serialize("t", Order(3))
    assert data is not None
    assert value.deserialize("t", data) == Order(3)
    with pytest.raises(errors.SerializationError, match=r"\$\.id breaks minimum 1"):
        value.serialize("t", Order(0))
    with pytest.raises(errors.SerializationError, match=r"\$\.code breaks pattern"):
        value.deserialize("t", data.replace(b'"A"', b'"a"'))


def test_records_that_keep_their_schemas_are_validated_by_them(
    mock_cluster: MockCluster, registry: Registry
) -> None:
    """And one whose schema cannot be validated with is an error of its own."""
    mock_cluster.create_topic("t", partitions=1)
    number = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}}
    odd, unusable = (
        Json(
            registry,
            schema=json.dumps({"title": title, **number, **more}),
            register=True,
            subject_strategy="record",
        )
        for title, more in (("Odd", {}), ("Broken", {"not": {"$ref": "http://no.test/x"}}))
    )
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for data in (
            Json(registry).serialize("t", GOOD[0]),
            odd.serialize("t", {"n": 4}),
            odd.serialize("t", {"n": 5}),
            unusable.serialize("t", {"n": 2}),
        ):
            producer.send("t", data)
    value = Json(registry, convert=False, validate=True)
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=value
    ) as consumer:
        consumer.assign([("t", 0)])
        assert [each.value[0] for each in consumer.poll(timeout=10) if each.value] == [
            "Order",
            "Odd",
        ]
        with pytest.raises(errors.SerializationError, match=r"\$\.n breaks multipleOf 2"):
            consumer.poll(timeout=10)
        consumer.seek("t", 0, 3)
        with pytest.raises(errors.SerializationError, match=r"cannot be validated with.*no\.test"):
            consumer.poll(timeout=10)


def test_references_are_those_of_the_registry(registry: Registry) -> None:
    registry.register("zip", Schema('{"type": "string", "pattern": "^[0-9]+$"}', "JSON"))
    city = json.dumps({"properties": {"zip": {"$ref": "zip.json"}}, "type": "object"})
    reference = SchemaReference("zip.json", "zip", 1)
    registry.register("city", Schema(city, "JSON", [reference]))
    for base in ({}, {"$id": "http://shop.test/schemas/person.json"}):
        person = {**base, "type": "object", "properties": {"city": {"$ref": "city.json"}}}
        schema = Schema(json.dumps(person), "JSON", [SchemaReference("city.json", "city", 1)])
        value = Json(registry, schema=schema, subject=f"p{len(base)}", register=True, validate=True)
        data = value.serialize("t", {"city": {"zip": "123"}})
        assert data is not None
        assert value.deserialize("t", data) == {"city": {"zip": "123"}}
        with pytest.raises(errors.SerializationError, match=r"\$\.city\.zip breaks pattern"):
            value.serialize("t", {"city": {"zip": "x"}})
        with pytest.raises(errors.SerializationError, match=r"\$\.city\.zip breaks pattern"):
            value.deserialize("t", data.replace(b"123", b"12x"))


def test_the_verdicts_are_those_of_confluents_serializers(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    registry = Registry(mock_registry.url)
    of_field: list[tuple[dict[str, Any], list[Any]]] = [
        ({"type": "integer", "minimum": 3, "exclusiveMaximum": 5}, [2, 3, 4, 5]),
        ({"type": "number", "multipleOf": 0.5}, [0.5, 0.75, 2]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["a", "ab", "äöü", "abcd", "𝄞𝄞"]),
        ({"type": "string", "pattern": "b+$"}, ["abb", "ba"]),
        ({"type": "string", "enum": ["x", "y"]}, ["x", "z"]),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [[1, 2], [1, 1]]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [[], [1], [1, 2]]),
        (
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
            [{}, {"a": "b"}],
        ),
        ({"type": "string", "not": {"const": "no"}}, ["yes", "no"]),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"const": "a"}]}, ["a", "b", "abc"]),
        (
            {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "^a"}},
            ["b", "ab", "ba"],
        ),
        # Draft 2020-12 takes a format for a remark.
        ({"type": "string", "format": "ipv4"}, ["1.2.3.4", "x"]),
    ]
    verdicts = []
    for number, (schema, values) in enumerate(of_field):
        text = json.dumps({"type": "object", "properties": {"v": schema}, "required": ["v"]})
        subject = f"s{number}"
        ours = Json(registry, schema=text, subject=subject, register=True, validate=True)
        loose = Json(registry, schema=text, subject=subject, register=True)
        confluent = JSONDeserializer(text, schema_registry_client=client)
        for value in values:
            data = loose.serialize("t", {"v": value})
            assert data is not None
            try:
                confluent(data, CONTEXT)
                is_valid = True
            except SerializationError:
                is_valid = False
            for check in (
                partial(ours.deserialize, "t", data),
                partial(ours.serialize, "t", {"v": value}),
            ):
                if is_valid:
                    check()
                else:
                    with pytest.raises(errors.SerializationError, match=r"\$\.v breaks"):
                        check()
            verdicts.append(is_valid)
    assert 10 < sum(verdicts) < len(verdicts) - 10


def test_older_drafts_check_formats() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "ipv4"}}}
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    loose = Json(schema=json.dumps(schema), wire_format="none", validate=True)
    strict = Json(schema=json.dumps({**draft, **schema}), wire_format="none", validate=True)
    assert loose.serialize("t", {"at": "x"}) == b'{"at":"x"}'
    assert strict.serialize("t", {"at": "1.2.3.4"}) == b'{"at":"1.2.3.4"}'
    with pytest.raises(errors.SerializationError, match='at breaks format "ipv4"'):
        strict.serialize("t", {"at": "x"})


def laughs(depth: int) -> dict[str, Any]:
    """Definitions that each refer twice to the next one."""
    refer = {f"a{n}": {"not": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2}} for n in range(depth)}
    return {"$defs": {**refer, f"a{depth}": {"type": "string"}}, "not": {"$ref": "#/$defs/a0"}}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"not": {"$ref": "http://127.0.0.1:9/schema"}}, "127.0.0.1:9"),
        ({"not": {"$ref": "file:///etc/passwd"}}, "file:///etc/passwd"),
        ({"$schema": "http://127.0.0.1:9/meta"}, "127.0.0.1:9/meta"),
        ({"not": {"$ref": "#/$defs/none"}}, "does not exist"),
        ({"minLength": -1}, "minimum|less than"),
        ({"pattern": "("}, "regex"),
        (laughs(60), "stand for more than 10000 schemas"),
    ],
)
def test_a_schema_that_cannot_be_validated_with_is_an_error(
    keywords: dict[str, Any], message: str
) -> None:
    text = json.dumps({"type": "object", **keywords})
    value = Json(schema=text, wire_format="none", validate=True)
    with pytest.raises(errors.SchemaError, match=message):
        value.serialize("t", {})
    with pytest.raises(errors.SchemaError, match=message):
        value.deserialize("t", b"{}")
    assert Json(schema=text, wire_format="none").deserialize("t", b"{}") is not None


def test_hostile_patterns_and_values_end(registry: Registry) -> None:
    """Patterns with look-around are bounded in steps, others linear in time."""
    patterns = [r"^(a|a)*$", r"^(a+)+$", r"^(?=(a|aa)+$)(a+)+b$", r"^((a+)\2)+$"]
    fields = {f"p{n}": {"type": "string", "pattern": each} for n, each in enumerate(patterns)}
    text = json.dumps({"type": "object", "properties": fields})
    value = Json(schema=text, wire_format="none", validate=True)
    for name in fields:
        with pytest.raises(errors.SerializationError, match=rf"\$\.{name} breaks pattern"):
            value.deserialize("t", json.dumps({name: "a" * 50 + "!"}).encode())
    # A number whose digits Python does not read, in a field of any JSON.
    anything = Json(
        schema='{"type": "object", "properties": {"x": {}}}', wire_format="none", validate=True
    )
    with pytest.raises(errors.SerializationError, match="cannot be validated: ValueError"):
        anything.deserialize("t", b'{"x": 1' + b"0" * 5000 + b"}")
    key = "k\x00\n" * 100
    with pytest.raises(errors.SerializationError) as caught:
        Json(
            schema='{"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}}',
            wire_format="none",
            validate=True,
        ).deserialize("t", json.dumps({key: SECRET}).encode())
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
    assert "\x00" not in str(caught.value)


def test_recursive_schemas_end() -> None:
    loop: dict[str, Any] = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    twice: dict[str, Any] = {
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}
    }
    for keywords in (loop, twice):
        keywords["if"] = {"$ref": "#/$defs/a"}
        text = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, **keywords})
        value = Json(schema=text, wire_format="none", validate=True)
        assert value.deserialize("t", b'{"n": 1}') == {"n": 1}
    # Alternatives that overlap: the search for the place would double with each level.
    twice = {"oneOf": [{"properties": {"x": {"$ref": "#/$defs/a"}}}] * 2}
    text = json.dumps(
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "not": {"not": {"properties": {"x": {"$ref": "#/$defs/a"}}}},
            "$defs": {"a": twice},
        }
    )
    value = Json(schema=text, wire_format="none", validate=True)
    data = b'{"x":' * 50 + b"1" + b"}" * 50
    with pytest.raises(errors.SerializationError, match="which is recursive: no place is searched"):
        value.deserialize("t", data)


def test_arguments() -> None:
    with pytest.raises(errors.ConfigError, match="validate=True needs a JSON Schema"):
        Json(schema=pa.schema([("a", pa.int64())]), wire_format="none", validate=True)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_is_installed", lambda _: False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ottla\[json-validation\]'"):
        Json(schema=ORDER, wire_format="none", validate=True)


def test_nothing_is_imported_without_it() -> None:
    program = f"""
import sys
from ottla.schema import Json
value = Json(schema={ORDER!r}, wire_format="none")
assert value.deserialize("t", b'{{"id": 0}}')["id"] == 0
assert not {{"jsonschema_rs", "ottla._internal.json_validation"}} & set(sys.modules)
validated = Json(schema={ORDER!r}, wire_format="none", validate=True)
assert "jsonschema_rs" not in sys.modules
validated.deserialize("t", b'{{"id": 1}}')
assert "jsonschema_rs" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_keys_are_validated(mock_cluster: MockCluster, registry: Registry) -> None:
    mock_cluster.create_topic("t", partitions=1)
    registry.register("t-key", Schema('{"type": "integer", "maximum": 9}', "JSON"))
    key, value = Json(registry, validate=True), Json(registry, validate=True)
    with ottla.Producer(
        mock_cluster.bootstrap, key_serializer=Json(registry), value_serializer=Json(registry)
    ) as producer:
        producer.send("t", GOOD[0], 3)
        producer.send("t", GOOD[0], 30)
        producer.send("t", BAD, 3)
    permissive: dict[str, Any] = {"mode": "permissive", "validate": True}
    key, value = Json(registry, **permissive), Json(registry, **permissive)
    table = pa.table(ottla.scan("t", mock_cluster.bootstrap, key_format=key, value_format=value))
    assert table["key"].to_pylist() == [3, None, 3]
    assert [plain(each) for each in table["value"].to_pylist()] == [GOOD[0], GOOD[0], None]
    reasons = [each and each.partition(":")[0] for each in table["_error"].to_pylist()]
    assert reasons == [None, "key", "value"]


def test_confluents_serializer_refuses_the_same(
    registry: Registry, mock_registry: MockRegistry
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    serialize = JSONSerializer(ORDER, client, conf={"auto.register.schemas": False})
    assert serialize(GOOD[0], CONTEXT)
    with pytest.raises(SerializationError):
        serialize(BAD, CONTEXT)


def test_a_validated_read_looks_its_schema_up_once(mock_cluster: MockCluster) -> None:
    """Also where the latest version is never kept: another one might be newer."""
    mock_cluster.create_topic("t", partitions=1)
    mock_cluster.append("t", 0, [b'{"id": 1}'])
    text = '{"type":"object","properties":{"id":{"type":"integer"}}}'
    with MockRegistry() as mock:
        mock.register("t-value", text, "JSON")
        registry = Registry(mock.url, {"schema.registry.latest.cache.ttl.ms": 0})
        value: Any = Json(registry, wire_format="none", validate=True)
        assert value.deserialize("t", b'{"id": 1}') == {"id": 1}
        found = [each.path for each in mock.requests() if "/versions/latest" in each.path]
        assert len(found) == 1


_INTERRUPTED = """
import os, signal, sys, threading
import ottla
from ottla.schema import Json
from ottla.testing import MockCluster

validated = Json(schema=sys.argv[1], validate=True, wire_format="none")
with MockCluster() as cluster, ottla.Client(cluster.bootstrap) as client:
    cluster.create_topic("t", partitions=1)
    for _ in range(20):
        cluster.append("t", 0, [b'{"id": 7}'] * 1000)
    for n in range(8):
        timer = threading.Timer(0.02 + 0.01 * n, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            while True:
                for batch in ottla.scan("t", client, value_format=validated):
                    pass
        except KeyboardInterrupt:
            print("interrupted")
        timer.join()
"""


def test_ctrl_c_while_a_scan_validates() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, ORDER],
        check=False,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert (done.stdout.split(), done.stderr) == (["interrupted"] * 8, "")
