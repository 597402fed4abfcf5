"""Both registry clients with Apicurio Registry: each call and refusal, a registry that is down."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ottla import errors
from ottla.schema import Avro, Registry, Schema, SchemaReference
from tests.support.apicurio import ApicurioRegistry
from tests.support.registries import REGISTRIES

pytestmark = pytest.mark.deep


@pytest.fixture(params=REGISTRIES)
def client_class(request: pytest.FixtureRequest) -> Any:
    """The registry client: blocking or asyncio."""
    return REGISTRIES[request.param]


def record(name: str, **fields: Any) -> str:
    """Return the text of a record's schema. Its name makes it one that no other test has."""
    items = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": items})


@pytest.fixture
def name(subject: str) -> str:
    """The name of a record that no other test has."""
    return f"R{subject.split()[1][:8]}"


def test_each_call_returns_the_schema_with_its_place(
    apicurio: ApicurioRegistry, subject: str, name: str, client_class: Any
) -> None:
    """Registered schemas are found by id, version and text, and registering again adds nothing."""
    one, two = Schema(record(name, id="long")), Schema(record(name, id="long", n="string"))
    with client_class(apicurio.url) as registry:
        first = registry.register(subject, one)
        second = registry.register(subject, two)
        assert (first.subject, first.version, second.version) == (subject, 1, 2)
        assert first.id != second.id
        assert registry.register(subject, one) == first
        other = registry.register(f"{subject}-other", one)
        assert (other.id, other.version) == (first.id, 1)
    # Another client has nothing in its cache.
    with client_class(apicurio.url) as registry:
        assert registry.schema(first.id).text == one.text
        assert registry.schema_by_version(subject, 1) == first
        assert registry.latest(subject) == second
        assert registry.lookup(subject, two).version == 2
        assert {subject, f"{subject}-other"} <= set(registry.subjects())


def test_references_are_resolved(
    apicurio: ApicurioRegistry, subject: str, name: str, client_class: Any
) -> None:
    """A schema comes with its references, and theirs, and records are read with them."""
    item = f"{name}Item"
    with client_class(apicurio.url) as registry:
        symbols = json.dumps({"type": "enum", "name": item, "symbols": ["A", "B"]})
        registry.register(f"{subject}-item", Schema(symbols))
        middle = Schema(
            record(f"{name}Line", item=item),
            references=[SchemaReference(item, f"{subject}-item", 1)],
        )
        registry.register(f"{subject}-line", middle)
        references = [SchemaReference(f"{name}Line", f"{subject}-line", 1)]
        top = Schema(record(name, line=f"{name}Line"), references=references)
        registered = registry.register(subject, top)
        assert registry.lookup(subject, top).version == 1
        assert registry.latest(subject).references == references
    with Registry(apicurio.url) as registry:
        value = b"\0" + registered.id.to_bytes(4, "big") + b"\2"
        decoded = Avro(registry, subject=subject).deserialize("t", value)
        assert decoded == {"line": {"item": "B"}}


def test_incompatible_schemas_are_refused(
    apicurio: ApicurioRegistry,
    peer: SchemaRegistryClient,
    subject: str,
    name: str,
    client_class: Any,
) -> None:
    """The check says so without registering, and registering is one error."""
    old, bad = Schema(record(name, id="long")), Schema(record(name, id="long", added="int"))
    with client_class(apicurio.url) as registry:
        registry.register(subject, old)
        peer.set_compatibility(subject, "BACKWARD")
        assert registry.check_compatibility(subject, old)
        assert not registry.check_compatibility(subject, bad)
        assert not registry.check_compatibility(subject, bad, 1)
        with pytest.raises(errors.SchemaError, match="incompatible with earlier") as refused:
            registry.register(subject, bad)
        assert refused.value.context == {"subject": subject, "registry_code": 409}
        assert registry.latest(subject).version == 1


def test_each_failure_has_one_clear_error(
    apicurio: ApicurioRegistry, subject: str, client_class: Any
) -> None:
    """Unknown ids, subjects, versions and schemas, and schemas that are none, are told apart."""
    with client_class(apicurio.url) as registry:
        with pytest.raises(errors.SchemaError, match="it does not exist in") as unknown:
            registry.schema(2_000_000_000)
        assert unknown.value.context == {"schema_id": "2000000000", "registry_code": 40403}
        with pytest.raises(errors.SchemaError, match=f'subject "{subject}" does not exist'):
            registry.latest(subject)
        invalid = [Schema("{"), Schema("message {", "PROTOBUF"), Schema("[", "JSON")]
        for schema in invalid:
            with pytest.raises(errors.SchemaError, match="refused the request as invalid"):
                registry.register(subject, schema)
        missing = [SchemaReference("R", f"{subject}-none", 1)]
        with pytest.raises(errors.SchemaError, match="refused the request as invalid"):
            registry.register(subject, Schema('"R"', references=missing))
        registry.register(subject, Schema('"long"'))
        with pytest.raises(errors.SchemaError, match="does not have this version"):
            registry.schema_by_version(subject, 9)
        with pytest.raises(errors.SchemaError, match="does not have this schema"):
            registry.lookup(subject, Schema('"string"'))


def test_apicurio_has_no_guids(apicurio: ApicurioRegistry, client_class: Any) -> None:
    """Confluent's look-up by GUID is missing, and the error says so; the mock has it."""
    guid = "00112233-4455-6677-8899-aabbccddeeff"
    with (
        client_class(apicurio.url) as registry,
        pytest.raises(errors.SchemaError, match="GUIDs need Confluent Platform 8"),
    ):
        registry.schema(guid)


@pytest.mark.parametrize("path", ["", "/apis/ccompat/v9", "/apis/registry/v3", "/apis/registry/v2"])
def test_a_wrong_path_names_the_right_one(
    apicurio: ApicurioRegistry, client_class: Any, path: str
) -> None:
    """It is an error at once."""
    url = apicurio.url.replace("/apis/ccompat/v7", path)
    started = time.monotonic()
    with (
        client_class(url) as registry,
        pytest.raises(errors.SchemaError, match=r"check the path .* is /apis/ccompat/v7"),
    ):
        registry.subjects()
    assert time.monotonic() - started < 20, "a call takes up to 30 s while it is retried"


def test_a_registry_that_does_not_respond_is_a_timeout_with_the_cause(
    apicurio: ApicurioRegistry, subject: str, client_class: Any
) -> None:
    """Frozen or dead, it is one error; what is cached remains available; then calls succeed."""
    with client_class(apicurio.url, retry_backoff_max_ms=100) as registry:
        known = registry.register(subject, Schema('"long"'))
        registry.schema(known.id)
        apicurio.node.pause()
        with pytest.raises(errors.TimeoutError, match=r"listing the subjects .*no response"):
            registry.subjects(timeout=1.0)
        with pytest.raises(errors.TimeoutError, match="registering a schema") as unknown:
            registry.register(subject, Schema('"string"'), timeout=1.0)
        assert unknown.value.context["subject"] == subject
        assert registry.schema(known.id).text == '"long"'
        apicurio.node.resume()
        # The request from before may have been carried out, and is not carried out twice.
        assert registry.register(subject, Schema('"string"')).version == 2
        apicurio.node.kill()
        with pytest.raises(errors.TimeoutError, match="Connection refused"):
            registry.subjects(timeout=1.0)
        assert registry.schema(known.id).text == '"long"'
        apicurio.restart()
        assert registry.subjects() == []
