"""Ids as Apicurio's serializers write them, of both kinds and sizes, looked up in Apicurio."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any

import pytest

from ottla import errors
from ottla.schema import Avro, Protobuf, Registry, Schema, SchemaReference
from tests.support.apicurio import ApicurioRegistry

pytestmark = pytest.mark.deep


def ids(apicurio: ApicurioRegistry, subject: str) -> tuple[int, int]:
    """Return the id of the content and the global id of a subject's first version."""
    artifact = urllib.parse.quote(subject, safe="")
    url = f"{apicurio.own_url}/groups/default/artifacts/{artifact}/versions/1"
    with urllib.request.urlopen(url, timeout=30) as response:
        version: dict[str, Any] = json.load(response)
    return version["contentId"], version["globalId"]


def framed(schema_id: int, size: int, payload: bytes) -> bytes:
    """Return a value as Apicurio's serializers write it."""
    return b"\0" + schema_id.to_bytes(size, "big") + payload


@pytest.fixture
def subjects(apicurio: ApicurioRegistry, subject: str) -> list[str]:
    """Two subjects with one schema, which refers to another: one content and two global ids."""
    name = f"R{subject.split()[1][:8]}"
    symbols = json.dumps({"type": "enum", "name": f"{name}Item", "symbols": ["A", "B"]})
    field = {"name": "item", "type": f"{name}Item"}
    text = json.dumps({"type": "record", "name": name, "fields": [field]})
    both = [subject, f"{subject}-other"]
    with Registry(apicurio.url) as registry:
        registry.register(f"{subject}-item", Schema(symbols))
        references = [SchemaReference(f"{name}Item", f"{subject}-item", 1)]
        for one in both:
            registry.register(one, Schema(text, references=references))
    return both


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", ["contentId", "globalId"])
def test_ids_are_looked_up_with_their_references(
    apicurio: ApicurioRegistry, subjects: list[str], kind: str, size: int
) -> None:
    """A global id is that of one version, and a content's id that of all that have it."""
    found = [ids(apicurio, subject) for subject in subjects]
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1] != found[1][0]
    with Registry(apicurio.url, apicurio_use_id=kind) as registry:
        value = Avro(registry, subject=subjects[0], wire_format="apicurio")
        for content_id, global_id in found:
            written = content_id if kind == "contentId" else global_id
            assert value.deserialize("t", framed(written, size, b"\2")) == {"item": "B"}
        expected = "no version with this global id" if kind == "globalId" else "does not exist"
        with pytest.raises(errors.SerializationError, match=expected):
            value.deserialize("t", framed(2_000_000_000, size, b"\2"))


def test_ids_in_headers_say_their_kind(apicurio: ApicurioRegistry, subjects: list[str]) -> None:
    """As the serializers write them with ``apicurio.registry.headers.enabled``."""
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        value = Avro(registry, subject=subjects[0], wire_format="apicurio")
        content_id, global_id = ids(apicurio, subjects[1])
        for name, number in (("contentId", content_id), ("globalId", global_id)):
            headers = [(f"apicurio.value.{name}", number.to_bytes(8, "big"))]
            assert value.deserialize("t", b"\2", headers) == {"item": "B"}


def test_messages_are_read_by_their_name(apicurio: ApicurioRegistry, subject: str) -> None:
    """With Protobuf, the name of the message is between the id and the message."""
    text = 'syntax = "proto3"; message Other { int32 y = 1; } message Order { int32 x = 1; }'
    with Registry(apicurio.url, apicurio_use_id="globalId") as registry:
        registry.register(subject, Schema(text, "PROTOBUF"))
        _, global_id = ids(apicurio, subject)
        value = Protobuf(registry, subject=subject, message="Order", wire_format="apicurio")
        payload = b"\x07\x0a\x05Order" + b"\x08\x07"
        assert value.deserialize("t", framed(global_id, 8, payload)) == {"x": 7}
        other = b"\x07\x0a\x05Other" + b"\x08\x07"
        with pytest.raises(errors.SerializationError, match="the message is Other"):
            value.deserialize("t", framed(global_id, 8, other))


def test_a_registry_that_is_down_is_no_statement_about_an_id(
    apicurio: ApicurioRegistry, subjects: list[str]
) -> None:
    """It is a timeout with the cause, and the same call succeeds later."""
    _, global_id = ids(apicurio, subjects[0])
    value = framed(global_id, 8, b"\2")
    with Registry(
        apicurio.url, apicurio_use_id="globalId", default_api_timeout_ms=5_000
    ) as registry:
        read = Avro(registry, subject=subjects[0], wire_format="apicurio")
        read.arrow_type()
        apicurio.node.pause()
        with pytest.raises(errors.TimeoutError, match=f"looking up schema {global_id} .*no resp"):
            read.deserialize("t", value)
        apicurio.node.resume()
        assert read.deserialize("t", value) == {"item": "B"}
