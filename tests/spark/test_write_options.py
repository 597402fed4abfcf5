"""Options of a write, and the columns of the frame."""

from __future__ import annotations

import pytest

from ottla.errors import ConfigError
from ottla.spark import OttlaDataSource
from ottla.spark.options.read_options import parse_stream_options
from ottla.spark.options.write_options import ExactlyOnceOptions, parse_write_options
from tests.spark.sink_schemas import BASE, TO, schema

ONCE = {"exactlyOnce": "true"}


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        ({"topic": "t"}, ["kafka.bootstrap.servers", "must be set"]),
        ({**TO, "subscribe": "x"}, ["'subscribe'", "did you mean topic?"]),
        ({**TO, "includetimestamps": "true"}, ["did you mean includeTimestamp?"]),
        ({**TO, "includeTimestamp": "1"}, ["includeTimestamp", "true or false"]),
        ({**TO, "includeHeaders": "1"}, ["includeHeaders", "true or false"]),
        ({**BASE, "topic": " "}, ["topic", "empty"]),
        ({**TO, "kafka.key.serializer": "x"}, ["kafka.key.serializer", "not supported"]),
        ({**TO, "kafka.value.serializer": "x"}, ["kafka.value.serializer", "not supported"]),
        ({**TO, "kafka.transactional.id": "x"}, ["kafka.transactional.id", "at-least-once"]),
        ({**TO, "exactlyOnce": "yes"}, ["exactlyOnce", "true or false"]),
        ({**TO, "exactlyOnceId": "a"}, ["exactlyOnceId needs exactlyOnce=true"]),
        ({**TO, "exactlyOnceTopic": "a"}, ["exactlyOnceTopic needs exactlyOnce=true"]),
        ({**TO, **ONCE, "exactlyOnceId": "a/b"}, ["exactlyOnceId", "letters", "a/b"]),
        ({**TO, **ONCE, "kafka.acks": "1"}, ["exactlyOnce", "acks=all"]),
        ({**TO, **ONCE, "kafka.enable.idempotence": "false"}, ["enable.idempotence=true"]),
    ],
)
def test_wrong_options(options: dict[str, str], fragments: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_write_options(options)
    assert [f for f in fragments if f not in str(caught.value)] == []


def test_options() -> None:
    options = parse_write_options(
        {
            **BASE,
            "Topic": " t ",
            "includetimestamp": "TRUE",
            "reportpath": "/r",
            "includeHeaders": "true",
            "checkpointLocation": "/c",
            "kafka.linger.ms": "5",
            "kafka.sasl.password": "hunter2",
        }
    )
    assert (options.topic, options.include_timestamp, options.report_path) == ("t", True, "/r")
    assert options.kafka["linger.ms"] == "5"
    assert "hunter2" not in repr(options)


def test_exactly_once_options() -> None:
    assert parse_write_options(TO).exactly_once is None
    options = parse_write_options({**TO, **ONCE, "exactlyOnceId": "load-7"})
    assert options.exactly_once == ExactlyOnceOptions("ottla-exactly-once", "load-7")
    assert options.kafka["transaction.timeout.ms"] == "900000"
    named = {"exactlyOnceTopic": "mine", "kafka.transaction.timeout.ms": "1000"}
    options = parse_write_options({**TO, **ONCE, **named})
    assert options.exactly_once == ExactlyOnceOptions("mine")
    assert options.kafka["transaction.timeout.ms"] == "1000"


def test_a_stream_has_the_id_of_its_checkpoint() -> None:
    source = OttlaDataSource({**TO, **ONCE, "exactlyOnceId": "a"})
    with pytest.raises(ConfigError, match="exactlyOnceId is for batch queries"):
        source.streamWriter(schema("value string"), overwrite=False)


def test_batches_are_large_by_default() -> None:
    bulk = {"batch.size": "500000", "linger.ms": "100"}
    assert parse_write_options(TO).kafka == {"bootstrap.servers": "b:1", **bulk}
    small = parse_write_options({**TO, "kafka.Batch.Size": "16384"}).kafka
    assert small == {"bootstrap.servers": "b:1", **bulk, "batch.size": "16384"}


@pytest.mark.parametrize(
    ("columns", "options", "fragments"),
    [
        ("key binary", {"topic": "t"}, ["'value' not found", "key"]),
        ("value binary", {}, ["topic", "required"]),
        ("value binary, topic int", {}, ["'topic'", "int", "must be string"]),
        ("value int", {"topic": "t"}, ["'value'", "int", "must be string or binary"]),
        ("value binary, key double", {"topic": "t"}, ["'key'", "double", "string or binary"]),
        ("value binary, partition bigint", {"topic": "t"}, ["'partition'", "bigint", "be int"]),
        ("value binary, headers string", {"topic": "t"}, ["'headers'", "array<struct<key:string"]),
        (
            "value binary, headers headers-by-bytes",
            {"topic": "t"},
            ["'headers'", "must be"],
        ),
        ("value binary", {"topic": "t", "includeTimestamp": "true"}, ["no column 'timestamp'"]),
        (
            "value binary, timestamp bigint",
            {"topic": "t", "includeTimestamp": "true"},
            ["'timestamp'", "bigint", "must be timestamp"],
        ),
    ],
)
def test_wrong_schemas(columns: str, options: dict[str, str], fragments: list[str]) -> None:
    source = OttlaDataSource({**BASE, **options})
    for make in (
        lambda: source.writer(schema(columns), overwrite=False),
        lambda: source.streamWriter(schema(columns), overwrite=False),
    ):
        with pytest.raises(ConfigError) as caught:
            make()
        assert [f for f in fragments if f not in str(caught.value)] == []


def test_overwrite_is_rejected_in_a_batch_and_appends_in_a_stream() -> None:
    source = OttlaDataSource(TO)
    with pytest.raises(ConfigError, match="overwrite"):
        source.writer(schema("value binary"), overwrite=True)
    source.streamWriter(schema("value binary"), overwrite=True)


def test_options_of_the_query_are_ignored_by_its_sink() -> None:
    of_query = {
        "checkpointLocation": "/c",
        "queryName": "q",
        "asyncProgressTrackingEnabled": "true",
        "asyncProgressTrackingCheckpointIntervalMs": "1000",
        "asyncProgressTrackingOverrideSinkSupportCheck": "true",
    }
    assert parse_write_options({**TO, **of_query}) == parse_write_options(TO)
    for name, value in of_query.items():
        with pytest.raises(ConfigError, match=f"{name} belongs to a streaming query.*writeStream"):
            parse_stream_options({**BASE, "subscribe": "t", name: value})
