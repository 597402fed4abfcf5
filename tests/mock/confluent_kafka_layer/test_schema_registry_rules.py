"""Rules of schemas run on the stand-in as they do on confluent-kafka: executors are plug-ins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.support.registry_layers import NAMES, Layer, both

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "name", "type": ["null", "string"], "confluent:tags": ["PII"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
JSON_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["null", "string"], "confluent:tags": ["PII"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
)
ORDER: dict[str, Any] = {"id": 1, "name": "ada", "tags": ["x"]}


def executors(names: Layer, log: list[Any]) -> Any:
    """Return a rule registry with executors that change text, and an action that keeps values."""
    serde: Any = names.module("schema_registry.serde")
    rules = names.RuleRegistry()

    class Upper(serde.FieldRuleExecutor):  # type: ignore[misc]
        def type(self) -> str:
            return "UPPER"

        def new_transform(self, ctx: Any) -> Any:
            def change(rule_ctx: Any, field: Any, value: Any) -> Any:
                log.append((field.full_name, field.type_name(), sorted(field.tags), value))
                return value.upper() if isinstance(value, str) else value

            return change

    class Positive(serde.RuleExecutor):  # type: ignore[misc]
        def type(self) -> str:
            return "POSITIVE"

        def transform(self, ctx: Any, message: Any) -> Any:
            return message["id"] > 0

    class Reverse(serde.RuleExecutor):  # type: ignore[misc]
        def type(self) -> str:
            return "REVERSE"

        def transform(self, ctx: Any, message: Any) -> Any:
            data = message if isinstance(message, bytes) else message.read()
            return data[::-1]

    class Keep(serde.RuleAction):  # type: ignore[misc]
        def type(self) -> str:
            return "KEEP"

        def run(self, ctx: Any, message: Any, ex: Any) -> None:
            log.append((ctx.rule.name, message, type(ex).__name__))

    for executor in (Upper(), Positive(), Reverse()):
        rules.register_executor(executor)
    rules.register_action(Keep())
    return rules


def rule(names: Layer, name: str, kind: str, mode: str, type: str, **values: Any) -> Any:
    document = {"name": name, "kind": kind, "mode": mode, "type": type, **values}
    return names.Rule.from_dict(document)


def set_up(layer: str, text: str, kind: str, rules: list[Any], encoding: list[Any]) -> Any:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    schema = names.Schema(text, kind, rule_set=names.RuleSet([], rules, encoding))
    client.register_schema("orders-value", schema)
    return names, client


LATEST = {"auto.register.schemas": False, "use.latest.version": True}


def trace(layer: str, kind: str) -> Any:
    names, log = Layer(layer), list[Any]()
    rules = [
        rule(names, "up", "TRANSFORM", "WRITEREAD", "UPPER", tags=["PII"]),
        rule(names, "check", "CONDITION", "WRITE", "POSITIVE", onFailure="KEEP"),
        rule(names, "strict", "CONDITION", "READ", "POSITIVE", doc="ids are positive"),
    ]
    encoding = [rule(names, "back", "TRANSFORM", "WRITEREAD", "REVERSE")]
    text = SCHEMA if kind == "AVRO" else JSON_SCHEMA
    names, client = set_up(layer, text, kind, rules, encoding)
    registry = executors(names, log)
    if kind == "AVRO":
        serialize = names.AvroSerializer(client, None, conf=LATEST, rule_registry=registry)
        read = names.AvroDeserializer(client, rule_registry=registry)
    else:
        serialize = names.JSONSerializer(None, client, conf=LATEST, rule_registry=registry)
        read = names.JSONDeserializer(None, None, client, rule_registry=registry)
    context = names.value_context()
    payloads = [serialize(dict(ORDER), context), serialize({**ORDER, "name": None}, context)]
    values = [read(payload, context) for payload in payloads]
    bad = serialize({**ORDER, "id": -1}, context)
    with pytest.raises(names.SerializationError) as error:
        read(bad, context)
    cause = error.value.__cause__
    return payloads, values, bad, (type(cause).__name__, str(cause)), log


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_rules_run_as_on_the_original(kind: str) -> None:
    original, ours = (trace(name, kind) for name in NAMES)
    assert ours == original
    assert ours[1][0] == {**ORDER, "name": "ADA"}
    assert ours[3] == ("RuleConditionError", "ids are positive")


@both
def test_rules_of_migrations_lead_from_version_to_version(layer: str) -> None:
    names = Layer(layer)
    serde: Any = names.module("schema_registry.serde")

    class Rename(serde.RuleExecutor):  # type: ignore[misc]
        def type(self) -> str:
            return "RENAME"

        def transform(self, ctx: Any, message: Any) -> Any:
            old, new = ctx.get_parameter("from"), ctx.get_parameter("to")
            return {new if key == old else key: value for key, value in message.items()}

    registry = names.RuleRegistry()
    registry.register_executor(Rename())
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})

    def schema(field: str, *rules: Any) -> Any:
        text = {"type": "record", "name": "A", "fields": [{"name": field, "type": "int"}]}
        rule_set = names.RuleSet(list(rules), []) if rules else None
        return names.Schema(json.dumps(text), rule_set=rule_set)

    def renames(old: str, new: str) -> list[Any]:
        up = {"from": old, "to": new}
        down = {"from": new, "to": old}
        return [
            rule(names, "up", "TRANSFORM", "UPGRADE", "RENAME", params=up),
            rule(names, "down", "TRANSFORM", "DOWNGRADE", "RENAME", params=down),
        ]

    versions = [schema("a"), schema("b", *renames("a", "b")), schema("c", *renames("b", "c"))]
    context = names.value_context()
    payloads = []
    for version, field in zip(versions, "abc", strict=True):
        client.register_schema("orders-value", version)
        write = names.AvroSerializer(
            client, version, conf={"auto.register.schemas": False}, rule_registry=registry
        )
        payloads.append(write({field: 7}, context))
    read = names.AvroDeserializer(client, conf={"use.latest.version": True}, rule_registry=registry)
    assert [read(payload, context) for payload in payloads] == [{"c": 7}] * 3


@both
def test_fields_of_messages_are_changed_in_place(layer: str) -> None:
    names, log = Layer(layer), list[Any]()
    message = _tagged(names)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    registry = executors(names, log)
    first = names.ProtobufSerializer(message, client)
    context = names.value_context()
    first(message(), context)
    text = client.get_latest_version("orders-value").schema.schema_str
    rules = [rule(names, "up", "TRANSFORM", "WRITE", "UPPER", tags=["PII"])]
    schema = names.Schema(text, "PROTOBUF", rule_set=names.RuleSet([], rules))
    client.register_schema("orders-value", schema)
    client.clear_latest_caches()
    write = names.ProtobufSerializer(message, client, LATEST, rule_registry=registry)
    payload = write(message(name="ada", plain="bob"), context)
    read = names.ProtobufDeserializer(message, None, client, rule_registry=registry)
    assert read(payload, context) == message(name="ADA", plain="bob")
    assert log == [("Tagged.name", "STRING", ["PII"], "ada")]


def _tagged(names: Layer) -> Any:
    meta = names.module("schema_registry.confluent.meta_pb2")
    pool = descriptor_pool.DescriptorPool()
    for module in (descriptor_pb2, meta):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(name="layer/tagged.proto", syntax="proto3")
    file.dependency.append("confluent/meta.proto")
    message = file.message_type.add(name="Tagged")
    for number, name in enumerate(("name", "plain"), 1):
        field = message.field.add(name=name, number=number)
        field.label, field.type = field.LABEL_OPTIONAL, field.TYPE_STRING
    message.field[0].options.Extensions[meta.field_meta].tags.append("PII")
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Tagged"))


@both
def test_conditions_in_the_schemas_text_are_checked(layer: str) -> None:
    names = Layer(layer)
    serde: Any = names.module("schema_registry.serde")
    seen = []

    class Executor(serde.ValidationRuleExecutor):  # type: ignore[misc]
        def execute(self, rule: Any, schema: Any, message: Any) -> Any:
            seen.append((rule.name, message))
            return "" if rule.expr == "true" else rule.expr == "yes" or f"{rule.name} fails"

    def rules(*pairs: tuple[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "expr": expr} for name, expr in pairs]

    text = {
        "type": "record",
        "name": "A",
        "confluent:rules": rules(("whole", "yes")),
        "fields": [
            {"name": "id", "type": "int", "confluent:rules": rules(("one", "true"), ("two", "no"))},
            {"name": "more", "type": ["null", "string"], "confluent:rules": rules(("three", "no"))},
        ],
    }
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    conf = {
        "validation.rules.execution": "AFTER_DOMAIN_RULES",
        "validation.rules.executor": Executor(),
    }
    write = names.AvroSerializer(client, json.dumps(text), conf=conf)
    with pytest.raises(names.SerializationError) as error:
        write({"id": 1, "more": None}, names.value_context())
    assert "(1 violation)" in str(error.value)
    assert "id: two: two fails" in str(error.value)
    assert [name for name, _ in seen] == ["whole", "one", "two"]
