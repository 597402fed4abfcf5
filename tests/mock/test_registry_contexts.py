"""Contexts of a schema registry have ids of their own; in the mode IMPORT, clients choose them.

An id is looked up in the context of the format's subject: elsewhere it is that of another schema.
Confluent's client sees the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ottla import errors
from ottla.schema import Avro, Registry, Schema
from ottla.testing import MockRegistry

LONG, STRING = '"long"', '"string"'


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Iterator[Registry]:
    """A client of the mock registry."""
    with Registry(mock_registry.url) as registry:
        yield registry


def test_an_id_is_looked_up_in_the_context_of_the_subject(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    own = registry.register("numbers-value", Schema(LONG))
    other = registry.register(":.shop:names-value", Schema(STRING))
    assert (own.id, other.id) == (1, 1)
    confluent = SchemaRegistryClient({"url": mock_registry.url})
    assert confluent.get_schema(1).schema_str == LONG
    assert confluent.get_schema(1, ":.shop:names-value").schema_str == STRING
    assert registry.schema(1).text == LONG
    for subject in (":.shop:names-value", ":.shop:"):
        assert registry.schema(1, subject=subject).text == STRING
    assert registry.schema(1, subject="numbers-value").text == LONG

    names = Avro(registry, subject=":.shop:names-value")
    encoded = names.serialize("names", "Ada")
    assert encoded == b"\0\0\0\0\1\6Ada"
    assert names.deserialize("names", encoded) == "Ada"
    by_id = Avro(registry, schema=1, subject=":.shop:names-value")
    assert by_id.deserialize("names", encoded) == "Ada"
    # The same id in the default context.
    assert Avro(registry).deserialize("numbers", b"\0\0\0\0\1\x0e") == 7


def test_the_same_schema_has_one_guid_in_all_contexts(registry: Registry) -> None:
    registry.register("a-value", Schema(STRING))
    registry.register("numbers-value", Schema(LONG))
    registry.register(":.shop:numbers-value", Schema(LONG))
    guids = {registry.latest(f"{context}numbers-value").guid for context in ("", ":.shop:")}
    assert len(guids) == 1
    assert registry.latest(":.shop:numbers-value").id == 1


def test_an_id_of_another_context_is_missing(registry: Registry) -> None:
    registry.register(":.shop:names-value", Schema(STRING))
    with pytest.raises(errors.SchemaError, match="40403"):
        registry.schema(1)
    registry.register("names-value", Schema(STRING))
    registry.delete_subject("names-value")
    registry.delete_subject("names-value", permanent=True)
    assert registry.schema(1, subject=":.shop:").text == STRING


def imported(registry: MockRegistry, subject: str, text: str, **chosen: int) -> Any:
    """Register a schema with an id and a version as tools that copy registries do."""
    body = json.dumps({"schema": text, **chosen}).encode()
    request = Request(f"{registry.url}/subjects/{subject}/versions", body, method="POST")
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=10) as response:
        return json.load(response)


def test_ids_are_chosen_in_the_mode_import(mock_registry: MockRegistry, registry: Registry) -> None:
    with pytest.raises(HTTPError) as refused:
        imported(mock_registry, "s", LONG, id=70, version=7)
    assert refused.value.code == 422
    assert b"42205" in refused.value.read()
    registry.set_mode("IMPORT", subject="s")
    assert imported(mock_registry, "s", LONG, id=70, version=7) == {"id": 70}
    # Again, and an earlier version later; what is there stays.
    assert imported(mock_registry, "s", LONG, id=70, version=7) == {"id": 70}
    assert imported(mock_registry, "s", STRING, id=60, version=6) == {"id": 60}
    for text, chosen in ((STRING, {"id": 70, "version": 8}), (STRING, {"id": 61, "version": 7})):
        with pytest.raises(HTTPError) as refused:
            imported(mock_registry, "s", text, **chosen)
        assert refused.value.code == 422
    with pytest.raises(errors.SchemaError, match="not in read-write mode"):
        registry.register("s", Schema('"int"'))
    assert registry.versions("s") == [6, 7]
    assert (registry.schema(60).text, registry.latest("s").id) == (STRING, 70)
    registry.set_mode("READWRITE", subject="s")
    # The next id is after those that were chosen.
    assert registry.register("t", Schema('"int"')).id == 71
