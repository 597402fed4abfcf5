"""Recursive objects of Avro where they end: small stacks, schemas that differ, and errors."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

import fastavro
import pytest

from ottla import errors
from ottla.schema import Avro, Registry
from ottla.testing import MockRegistry
from tests.support.recursive_types import Link, Node, links, tree

SMALL_STACK = """
import threading
import ottla
from ottla.schema import Avro
from tests.support.recursive_types import Link, links

of = Avro(Link, wire_format="none")
made = links(101)
with ottla.testing.MockCluster() as cluster:
    cluster.create_topic("t", partitions=1)
    data = [b"\\2\\2" * levels + b"\\2\\0" for levels in (300, 100_000)]
    with ottla.Producer(cluster.bootstrap) as producer:
        producer.send_batch("t", [of.serialize("t", made), *data]).result()

    def run():
        assert of.deserialize("t", of.serialize("t", made)) == made
        with ottla.Consumer(
            cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=of
        ) as consumer:
            consumer.assign([("t", 0)])
            assert next(consumer).value == made
            for offset in (1, 2):
                try:
                    consumer.poll(timeout=10)
                except ottla.errors.SerializationError as error:
                    print(error.context["offset"], "nested" in str(error))
                consumer.seek("t", 0, offset + 1)

    threading.stack_size(256 << 10)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
"""


def test_a_thread_with_a_small_stack_reads_and_writes_them() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, "1 True\n2 True\n"), ran.stderr


def record(*fields: Any) -> dict[str, Any]:
    """Return a schema of ``Link`` with other fields."""
    return {"type": "record", "name": "Link", "fields": list(fields)}


NEXT = {"name": "next", "type": ["null", "Link"]}
VALUE = {"name": "value", "type": "long"}


def test_a_field_that_the_schema_lacks_is_an_error() -> None:
    of: Any = Avro(Link, schema=json.dumps(record(NEXT)), wire_format="none")
    with pytest.raises(errors.SerializationError) as caught:
        of.serialize("t", links(3))
    message = 'ValueError: the value: the schema has no field "value": its fields are next'
    assert message in str(caught.value)


def test_a_field_that_the_class_lacks_gets_the_default_of_the_schema() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "string"}]}
    schema = record(
        {"name": "e", "type": "int", "default": 5},
        VALUE,
        {"name": "inner", "type": inner, "default": {"x": "é"}},
        NEXT,
        {"name": "others", "type": {"type": "array", "items": "Link"}, "default": []},
        {"name": "either", "type": ["null", "Link", "int"], "default": None},
    )
    of: Any = Avro(Link, schema=json.dumps(schema), wire_format="none")
    data = of.serialize("t", links(3))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), asdict(links(3)))
    assert data == out.getvalue()
    assert of.deserialize("t", data) == links(3)
    schema = record(VALUE, NEXT, {"name": "e", "type": "int"})
    of = Avro(Link, schema=json.dumps(schema), wire_format="none")
    with pytest.raises(errors.SerializationError, match=r"field next\.e: .*it has no default"):
        of.serialize("t", links(2))


@dataclass
class Deep:
    """A class with many lists, before the next one and without it."""

    flat: list[list[list[list[list[int]]]]]
    inner: dict[str, list[list[dict[str, Deep | None]]] | None] = field(default_factory=dict)


def test_what_is_written_can_be_read() -> None:
    of: Any = Avro(Deep, wire_format="none")
    made = Deep([[[[[1]]]]])
    for _ in range(105):
        try:
            data = of.serialize("t", made)
        except errors.SerializationError as error:
            assert "nested" in str(error)  # noqa: PT017 - each is read or refused
            break
        assert of.deserialize("t", data) == made
        made = Deep([[[[[1]]]]], {"a": [[{"b": made}]]})
    else:
        pytest.fail("nothing is too deep")


@dataclass
class Stamp:
    """A list of times."""

    at: datetime
    rest: dict[str, list[Stamp]] = field(default_factory=dict)


def test_an_error_within_a_record_names_its_place(
    mock_registry: MockRegistry,
) -> None:
    schema = record({"name": "value", "type": "int"}, NEXT)
    of: Any = Avro(Link, schema=json.dumps(schema), wire_format="none")
    with pytest.raises(errors.SerializationError, match=r"field next\.next\.value: 1099511627776 "):
        of.serialize("t", Link(1, Link(2, Link(2**40))))
    nodes = {"type": "record", "name": "Node", "fields": [
        {"name": "name", "type": "int"},
        {"name": "children", "type": {"type": "array", "items": "Node"}},
    ]}  # fmt: skip
    of = Avro(Node, schema=json.dumps(nodes), wire_format="none")
    with pytest.raises(errors.SerializationError, match="field name: expected an int, not str"):
        of.serialize("t", tree(Node))
    nodes["fields"][0] = {"name": "name", "type": "string"}  # type: ignore[index]
    nodes["fields"][1] = {"name": "children", "type": {"type": "map", "values": "Node"}}  # type: ignore[index]
    of = Avro(Node, schema=json.dumps(nodes), wire_format="none")
    with pytest.raises(
        errors.SerializationError, match="field children: expected a dict, not list"
    ):
        of.serialize("t", tree(Node))
    # A time that Python does not have.
    of = Avro(Stamp, wire_format="none")
    now = datetime(2025, 1, 1, tzinfo=timezone.utc)
    data = bytearray(of.serialize("t", Stamp(now, {"k": [Stamp(now), Stamp(now)]})))
    one = of.serialize("t", Stamp(now))[:-1]
    at = data.rindex(one)
    data[at : at + len(one)] = b"\xff" * 9 + b"\x01"
    with pytest.raises(errors.SerializationError, match=r'field rest\["k"\]\[1\]\.at: '):
        of.deserialize("t", bytes(data))


@dataclass
class Flat:
    """A class without itself."""

    n: int


def test_a_recursive_field_that_only_the_writer_has_is_skipped(
    mock_registry: MockRegistry,
) -> None:
    links_schema = {"type": "array", "items": record(VALUE, NEXT)}
    writer = {"type": "record", "name": "Flat", "fields": [
        {"name": "links", "type": links_schema},
        {"name": "n", "type": "long"},
        {"name": "own", "type": ["null", "Flat"]},
    ]}  # fmt: skip
    own = {"links": [], "n": 1, "own": None}
    value = {"links": [asdict(links(3)), asdict(links(1))], "n": 7, "own": own}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(writer), value)
    frame = b"\0" + mock_registry.register("w", json.dumps(writer)).to_bytes(4, "big")
    of: Any = Avro(Flat, Registry(mock_registry.url))
    assert of.deserialize("t", frame + out.getvalue()) == Flat(7)
    deep = b"\2" + b"\2\2" * 100_000
    with pytest.raises(errors.SerializationError, match="nested too deep"):
        of.deserialize("t", frame + deep)
