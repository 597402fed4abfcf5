"""A planned read is described in one line: in the plan of `read_arrow`, and in the log."""

from __future__ import annotations

import logging

import pytest
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from ottla._internal.planning.offset_range import OffsetRange
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.planning.read_description import describe_read
from ottla.spark.reading import batch_reader
from ottla.spark.reading.batch_reader import PushdownBatchReader, make_batch_reader
from tests.spark.fake_client import FakeClient

VALUE = StructType().add("value", "binary")
VALUE_AND_OFFSET = StructType().add("value", "binary").add("offset", "long")


def test_parts_of_a_range_are_shown_as_one() -> None:
    tasks = [
        (OffsetRange("orders", 0, 200, 400),),
        (OffsetRange("orders", 0, 0, 200), OffsetRange("orders", 1, 7, 9)),
    ]
    customer = StructType().add("name", "string")
    value = StructType().add("id", "long").add("customer", customer)
    read = StructType().add("value", value).add("offset", "long")
    assert describe_read(tasks, read) == (
        "orders[0] 0..400, orders[1] 7..9; columns value.id, value.customer.name, offset"
    )


def test_nothing_to_read() -> None:
    assert describe_read([], VALUE) == "no offsets; columns value"


def test_the_length_is_bounded() -> None:
    tasks = [(OffsetRange("orders", number, 0, 10),) for number in range(1000)]
    read = StructType()
    for number in range(500):
        read.add(f"c{number}", "integer")
    found = describe_read(tasks, read, [datasource.EqualTo(("value", "id"), "x" * 10_000)])
    assert "orders[7] 0..10 and 992 more: 10000 offsets of 1000 partitions" in found
    assert "c11 and 488 more" in found
    assert len(found) < 500


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (datasource.GreaterThan(("value", "id"), 3), "value.id > 3"),
        (datasource.In(("partition",), (1, 2)), "partition in (1, 2)"),
        (datasource.IsNotNull(("key",)), "key is not null"),
        (datasource.Not(datasource.EqualTo(("topic",), "a")), "not (topic = 'a')"),
        (datasource.StringStartsWith(("topic",), "or"), "topic starts with 'or'"),
    ],
)
def test_filters(one: datasource.Filter, shown: str) -> None:
    found = describe_read([], VALUE, [one])
    assert found == f"no offsets; columns value; filters {shown}"


def test_the_reader_logs_what_it_planned_without_secrets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = FakeClient({("orders", 0): (0, 400), ("orders", 1): (0, 100)})
    monkeypatch.setattr(batch_reader, "client_for", lambda *_: client)
    options = {
        "kafka.bootstrap.servers": "b:1",
        "kafka.sasl.password": "CANARY",
        "subscribe": "orders",
        "pushFilters": "true",
    }
    reader = make_batch_reader(parse_batch_options(options), VALUE_AND_OFFSET)
    assert isinstance(reader, PushdownBatchReader)
    reader.pushFilters(
        [datasource.GreaterThan(("offset",), 99), datasource.EqualTo(("partition",), 0)]
    )
    monkeypatch.setattr(logging.getLogger("ottla.spark.plan"), "level", logging.NOTSET)
    with caplog.at_level(logging.DEBUG, logger="ottla"):
        assert len(reader.partitions()) == 1
    line = "planned 1 tasks: orders[0] 100..400; columns value, offset"
    assert f"{line}; filters offset > 99, partition = 0" in caplog.messages
    assert "CANARY" not in caplog.text
