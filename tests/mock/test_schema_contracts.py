"""The metadata and the rules of a schema, as Confluent's client writes and reads them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    MetadataTags,
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry import Schema as ConfluentSchema

from ottla import errors
from ottla.schema import AsyncRegistry, Avro, Registry, Schema
from ottla.testing import MockRegistry
from tests.support.command import ottla_here
from tests.support.command_schemas import check_document

NUMBER = '{"type": "record", "name": "Number", "fields": [{"name": "n", "type": "long"}]}'
METADATA: dict[str, Any] = {
    "tags": {"Number.n": ["PII"]},
    "properties": {"owner": "team ü"},
    "sensitive": ["owner"],
}
RULE: dict[str, Any] = {
    "name": "positive",
    "kind": "CONDITION",
    "mode": "WRITE",
    "type": "CEL",
    "tags": ["PII"],
    "expr": "message.n > 0",
    "disabled": False,
}


def test_confluents_client_reads_what_is_registered(mock_registry: MockRegistry) -> None:
    given = Schema(NUMBER, metadata=METADATA, rule_set={"domainRules": [RULE]})
    with Registry(mock_registry.url) as registry:
        registered = registry.register("s", given)
        assert registered == given
        assert (registered.metadata, registered.rule_set) == (METADATA, {"domainRules": [RULE]})
        for found in (
            registry.latest("s"),
            registry.schema_by_version("s", 1),
            registry.schema(registered.id or 0),
            registry.lookup("s", given),
        ):
            assert found.metadata == METADATA
            assert found.rule_set == {"domainRules": [RULE]}
        # A schema that was read is registered elsewhere with all that it has.
        registry.register("copy", registry.latest("s"))
    client = SchemaRegistryClient({"url": mock_registry.url})
    for subject in ("s", "copy"):
        theirs = client.get_latest_version(subject).schema
        assert theirs.metadata is not None
        assert theirs.metadata.properties is not None
        assert theirs.metadata.properties.properties == METADATA["properties"]
        assert theirs.rule_set is not None
        assert theirs.rule_set.domain_rules is not None
        (rule,) = theirs.rule_set.domain_rules
        assert (rule.name, rule.mode, rule.expr) == ("positive", RuleMode.WRITE, RULE["expr"])


def test_what_confluents_client_registers_is_read(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    rule = Rule(
        "r", "doc", RuleKind.CONDITION, RuleMode.READ, "CEL", [], None, "x", None, None, False
    )
    metadata = Metadata(MetadataTags({"a": ["b"]}), MetadataProperties({"k": "v"}), ["k"])
    client.register_schema(
        "s", ConfluentSchema(NUMBER, "AVRO", [], metadata, RuleSet(None, [rule], None))
    )

    async def read() -> Schema:
        async with AsyncRegistry(mock_registry.url) as registry:
            return await registry.latest("s")

    found = asyncio.run(read())
    assert found.metadata == {"tags": {"a": ["b"]}, "properties": {"k": "v"}, "sensitive": ["k"]}
    assert found.rule_set is not None
    (first,) = found.rule_set["domainRules"]
    assert (first["name"], first["doc"], first["kind"]) == ("r", "doc", "CONDITION")
    # What is returned is a copy.
    found.rule_set["domainRules"].clear()
    assert found.rule_set["domainRules"]


def test_schemas_differ_by_their_contracts(mock_registry: MockRegistry) -> None:
    plain = Schema(NUMBER)
    assert (plain.metadata, plain.rule_set) == (None, None)
    described = Schema(NUMBER, metadata={"properties": {"b": "1", "a": "2"}})
    assert described == Schema(NUMBER, metadata={"properties": {"a": "2", "b": "1"}})
    assert described != plain
    assert len({plain, described, Schema(NUMBER)}) == 2
    with Registry(mock_registry.url) as registry:
        one, two = (registry.register("s", each) for each in (plain, described))
    assert (one.version, two.version) == (1, 2)


def test_rules_of_a_given_schema_count(mock_registry: MockRegistry) -> None:
    """They are registered with it, and a use that needs one is an error, as with any schema."""
    registry = Registry(mock_registry.url)
    reads = {**RULE, "mode": "READ"}
    schema = Schema(NUMBER, metadata=METADATA, rule_set={"domainRules": [reads]})
    data = Avro(registry, schema=schema, register=True).serialize("t", {"n": 1})
    assert data is not None
    found = registry.latest("t-value")
    assert (found.metadata, found.rule_set) == (METADATA, {"domainRules": [reads]})
    with pytest.raises(errors.SchemaError, match=r'argument schema .* rule "positive"'):
        Avro(registry, schema=schema).deserialize("t", data)
    with pytest.raises(errors.SchemaError, match=r'argument schema .* rule "positive"'):
        Avro(schema=schema, wire_format="none").deserialize("t", data)
    writes = Schema(NUMBER, rule_set={"domainRules": [RULE]})
    for value in (
        Avro(registry, schema=writes, subject="w", register=True),
        Avro(schema=writes, wire_format="none"),
    ):
        with pytest.raises(errors.SchemaError, match=r'rule "positive" \(CEL, WRITE\)'):
            value.serialize("t", {"n": 1})


def _nested(depth: int) -> dict[str, Any]:
    """An object of so many objects, each in the one before."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("metadata", {"property": {}}, "metadata has the key 'property': expected some of tags"),
        ("metadata", {1: {}}, "metadata has the key 1"),
        ("metadata", {"tags": {"a": {1}}}, "metadata is no JSON: Object of type set"),
        ("metadata", {"properties": {"a": "\ud800"}}, "metadata is no JSON: .* surrogates"),
        ("metadata", {"tags": _nested(200)}, "metadata: recursion limit exceeded"),
        ("metadata", {"properties": {"a": [2**64]}}, r"metadata\.properties\.a\[0\] is an integer"),
        (
            "metadata",
            {"properties": {"a": (1, 2**64)}},
            r"metadata\.properties\.a\[1\] is an integer",
        ),
        ("metadata", "tags", "metadata is of type str: expected a mapping"),
        ("rule_set", {"rules": []}, "rule_set has the key 'rules': expected some of domainRules"),
        ("rule_set", {"domainRules": {}}, 'rule_set: the field "domainRules" .* not a list'),
    ],
)
def test_a_malformed_contract_is_an_error(argument: str, value: Any, message: str) -> None:
    with pytest.raises((errors.ConfigError, errors.ArgumentTypeError), match=message):
        Schema(NUMBER, **{argument: value})


def test_the_command_line_shows_them(mock_registry: MockRegistry) -> None:
    with Registry(mock_registry.url) as registry:
        up = {"name": "up", "disabled": True, "tags": 5}
        rules = {"domainRules": [RULE], "migrationRules": [up]}
        registry.register("s", Schema(NUMBER, metadata=METADATA, rule_set=rules))
    show = ("registry", "show", "s", "--schema-registry", mock_registry.url)
    _, *lines = ottla_here(*show).text.splitlines()
    assert lines[:5] == [
        'metadata, properties: {"owner": "team ü"}',
        'metadata, sensitive: ["owner"]',
        'metadata, tags: {"Number.n": ["PII"]}',
        "domainRules: positive (CONDITION, CEL, WRITE, tags PII)",
        "migrationRules: up (tags 5, disabled)",
    ]
    document = check_document("registry show", ottla_here(*show, "--json").text)
    assert (document["schema_metadata"], document["rule_set"]) == (METADATA, rules)
