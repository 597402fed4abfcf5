"""Numbers that are larger than the type of their field are an error that names the field."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import ottla
from ottla import schema
from ottla.errors import SerializationError
from ottla.testing import MockCluster
from tests.support.subprocesses import run_python

LARGE = 10**400
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": %s}]}'
PROTOBUF = 'syntax = "proto3"; message M { %s f = 1; }'
FORMATS: dict[str, Any] = {
    "avro float": schema.Avro(schema=AVRO % '"float"', wire_format="none"),
    "avro double": schema.Avro(schema=AVRO % '"double"', wire_format="none"),
    "avro union": schema.Avro(schema=AVRO % '["null", "double"]', wire_format="none"),
    "avro long": schema.Avro(schema=AVRO % '"long"', wire_format="none"),
    "json": schema.Json(
        schema='{"type": "object", "properties": {"f": {"type": "number"}}}', wire_format="none"
    ),
    "protobuf float": schema.Protobuf(schema=PROTOBUF % "float", wire_format="none"),
    "protobuf double": schema.Protobuf(schema=PROTOBUF % "double", wire_format="none"),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("number", [LARGE, -LARGE, 10**5000], ids=["large", "negative", "huge"])
def test_a_number_that_is_too_large_is_refused_by_its_field(form: str, number: int) -> None:
    """Regression: OverflowError for floats, without the field."""
    with pytest.raises(ValueError, match=r"field f: .* does not fit into \w+$") as refused:
        FORMATS[form].serialize("t", {"f": number})
    assert len(str(refused.value)) < 200


def test_the_largest_numbers_of_a_double_are_written() -> None:
    form = FORMATS["avro double"]
    largest = int(sys.float_info.max)
    assert form.deserialize("t", form.serialize("t", {"f": largest})) == {"f": float(largest)}


def test_a_producer_raises_it_as_a_serialization_error() -> None:
    with MockCluster(brokers=1) as cluster:
        value = FORMATS["avro double"]
        with (
            ottla.Producer(cluster.bootstrap, value_serializer=value) as producer,
            pytest.raises(SerializationError, match=r"field f: 1000.* does not fit into Float64"),
        ):
            producer.send("t", {"f": LARGE})


def test_a_number_that_python_does_not_print_leaves_no_trace() -> None:
    """Regression: "Exception ignored in" on stderr, since the message had the number."""
    program = """
from ottla import schema

form = schema.Avro(schema='"long"', wire_format="none")
try:
    form.serialize("t", 10**5000)
except ValueError as error:
    print(error)
"""
    assert run_python(program) == "the value: the number does not fit into Int64\n"
