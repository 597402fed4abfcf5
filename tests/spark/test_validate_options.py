"""``value.validate``: reads and writes refuse what ``Json(validate=True)`` refuses."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StringType, StructField, StructType

import ottla
from ottla._internal import extras
from ottla.errors import ConfigError, SchemaError, SerializationError
from ottla.schema import Json, Registry, Schema
from ottla.spark import formats
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.options.write_options import parse_write_options
from ottla.spark.reading.batch_reader import make_batch_reader
from ottla.spark.reading.columns import full_columns
from ottla.spark.writing.writer import BatchWriter
from ottla.testing import MockCluster, MockRegistry
from tests.spark.sink_schemas import BASE, TO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDER = json.dumps(
    {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
        },
        "required": ["id"],
    }
)
VALUES: list[dict[str, Any]] = [{"id": 1, "code": "AB"}, {"id": 0, "code": "hunter2"}, {"id": 3}]
RULES = r"\$\.id breaks minimum 1; \$\.code breaks pattern"
ORDER_TYPE = StructType([StructField("id", LongType()), StructField("code", StringType())])
WITHOUT_IDS = {"value.format": "json", "value.schema": ORDER, "value.wireFormat": "none"}


@pytest.fixture
def options(mock_cluster: MockCluster, mock_registry: MockRegistry) -> dict[str, str]:
    """The options of a topic with a bad record between two good ones."""
    registry = Registry(mock_registry.url)
    registry.register("t-value", Schema(ORDER, "JSON"))
    mock_cluster.create_topic("t", partitions=1)
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=Json(registry)) as producer:
        for value in VALUES:
            producer.send("t", value)
    return {
        "kafka.bootstrap.servers": mock_cluster.bootstrap,
        "value.format": "json",
        "value.validate": "true",
        "schema.registry.url": mock_registry.url,
    }


def read(options: dict[str, str], schema: StructType | None = None) -> list[dict[str, Any]]:
    """Return the rows that the tasks of a batch read, in this process."""
    parsed = parse_batch_options({**options, "subscribe": "t"})
    reader = make_batch_reader(parsed, schema or full_columns(parsed.common))
    in_tasks = pickle.loads(pickle.dumps(reader))
    return [
        row
        for partition in reader.partitions()
        for batch in in_tasks.read(partition)
        for row in batch.to_pylist()
    ]


def test_a_record_that_breaks_a_rule_is_an_error_of_its_place(options: dict[str, str]) -> None:
    with pytest.raises(SerializationError, match=RULES) as caught:
        read(options)
    assert caught.value.context == {"topic": "t", "partition": 0, "offset": 1}
    assert "hunter2" not in str(caught.value)
    assert len(read({**options, "value.validate": "false"})) == 3


def test_a_permissive_read_says_which_rules(options: dict[str, str]) -> None:
    rows = read({**options, "value.mode": "permissive"})
    assert [row["value"] and row["value"]["id"] for row in rows] == [1, None, 3]
    assert "$.id breaks minimum 1" in rows[1]["_error"]


def test_fields_that_are_not_selected_are_validated(options: dict[str, str]) -> None:
    selected = StructType().add("value", StructType([StructField("id", LongType())]))
    with pytest.raises(SerializationError, match="code breaks pattern"):
        read(options, selected)


def write(options: dict[str, str], *values: dict[str, Any]) -> None:
    """Plan a write of values, and run its task in this process."""
    schema = StructType().add("value", ORDER_TYPE)
    writer = BatchWriter(parse_write_options({**options, "topic": "t"}), schema, overwrite=False)
    fields = pa.struct({"id": pa.int64(), "code": pa.string()})
    batch = pa.record_batch({"value": pa.array(values, fields)})
    writer.write_task(iter([batch]))


def test_a_write_of_a_row_that_breaks_a_rule_fails(
    options: dict[str, str], mock_cluster: MockCluster
) -> None:
    write(options, VALUES[0], VALUES[2])
    with pytest.raises(SerializationError, match=rf"row 1 cannot be encoded.*{RULES}"):
        write(options, VALUES[0], VALUES[1])
    # No row of a batch with a bad one is written.
    assert mock_cluster.end_offset("t", 0) == len(VALUES) + 2


@pytest.mark.parametrize("parse", [parse_batch_options, parse_write_options])
def test_the_option_is_for_json_and_a_boolean(parse: Any) -> None:
    options = {**BASE, **WITHOUT_IDS, "topic": "t"}
    if parse is parse_batch_options:
        del options["topic"]
        options["subscribe"] = "t"
    assert parse({**options, "value.validate": "TRUE"})
    for more, text in (
        ({"value.validate": "yes"}, "value.validate must be"),
        ({"key.validate": "true"}, "key.validate needs key.format"),
        ({"value.validate": "true", "value.format": "avro"}, "is for value.format=json only"),
        ({"value.valiate": "true"}, "value.validate"),
    ):
        with pytest.raises(ConfigError, match=text):
            parse({**options, **more})


@pytest.mark.parametrize("text", ["orders.avsc", "@orders.json", "-1", "id bigint"])
@pytest.mark.parametrize("parse", [parse_batch_options, parse_write_options])
def test_a_schema_that_is_none_names_the_option(parse: Any, text: str) -> None:
    """It was an error of a JSON parser, which named no option."""
    options = {**BASE, **WITHOUT_IDS, "value.schema": text}
    options["subscribe" if parse is parse_batch_options else "topic"] = "t"
    with pytest.raises(ConfigError, match=r"option value\.schema='.*expected latest, an id, or"):
        parse(options)


def test_a_schema_that_cannot_be_validated_with_fails_the_plan() -> None:
    elsewhere = json.dumps({**json.loads(ORDER), "not": {"$ref": "http://no.test/x"}})
    with pytest.raises(SchemaError, match="cannot be validated with"):
        write(
            {**BASE, **WITHOUT_IDS, "value.schema": elsewhere, "value.validate": "true"}, VALUES[0]
        )


def test_a_missing_package_is_named_with_its_extra_and_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the driver, for a read and a write, and in a task."""
    monkeypatch.setitem(extras.PACKAGES, "json-validation", ("no_such_validator",))
    monkeypatch.setattr(formats, "_formats", OrderedDict())
    text = r"option value\.validate=true, in .*python.* on .* needs no_such_validator.*\[json-vali"
    options = {**WITHOUT_IDS, "value.validate": "true"}
    with pytest.raises(extras.MissingExtraError, match=text):
        full_columns(parse_batch_options({**BASE, **options, "subscribe": "t"}).common)
    with pytest.raises(extras.MissingExtraError, match=text):
        write({**BASE, **options}, VALUES[0])
    (typed,) = parse_write_options({**TO, **options}).typed.each()
    with pytest.raises(extras.MissingExtraError, match=text):
        formats.format_for(typed)


@pytest.mark.spark
def test_frames_are_validated(spark: SparkSession, options: dict[str, str]) -> None:
    frame = spark.read.format("ottla").options(**options, subscribe="t").load()
    with pytest.raises(PySparkException, match=rf"t-0, offset 1.*{RULES}|{RULES}.*t-0, offset 1"):
        frame.collect()
    rows = spark.createDataFrame([({"id": 0},)], StructType().add("value", ORDER_TYPE))
    with pytest.raises(PySparkException, match="minimum 1"):
        rows.write.format("ottla").options(**options, topic="t").mode("append").save()
