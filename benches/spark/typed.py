"""The scenarios of values in Avro: typed columns, and Spark's connector with ``from_avro``.

Invariant: in a scenario, all variants have the same columns; the schema is fixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from benches.schemas import shapes
from benches.spark.scenarios import TUNED, Variant
from benches.spark.session import TYPED

FEW = "Avro, 4 of 40 fields"
ALL = "Avro, 40 fields"
# The names that the table has, and their expressions.
_COLUMNS = {"id": "id", "state": "state", "total": "total", "name": "customer.name"}
_PROJECTION = "value struct<id:bigint,state:string,total:double,customer:struct<name:string>>"
# A value in Confluent's format begins with 0 and the id of its schema.
_PAYLOAD = "substring(value, 6)"


def typed_records(records: int) -> int:
    """Return the number of values in Avro for a number of plain records."""
    return records // 6


def typed_variants(spark: Any, bootstrap: str, registry: str, records: int) -> Iterator[Variant]:
    """Yield the variants of both scenarios."""
    from pyspark.sql.avro.functions import from_avro
    from pyspark.sql.functions import expr

    text = shapes.avro_text("nested")
    reader = json.dumps(_reader_schema())
    common = {"kafka.bootstrap.servers": bootstrap, "subscribe": TYPED}
    typed = {**common, "value.format": "avro", "schema.registry.url": registry}

    def run(frame: Any, selected: list[str]) -> None:
        frame.selectExpr(*selected).write.format("noop").mode("overwrite").save()

    def theirs(selected: list[str], more: dict[str, str], options: dict[str, str]) -> None:
        source = spark.read.format("kafka").options(**common, **more).load()
        decoded = from_avro(expr(_PAYLOAD), text, options)
        run(source.select(decoded.alias("value")), selected)

    def ours(selected: list[str], schema: str | None) -> None:
        source = spark.read.format("ottla").options(**typed)
        run((source.schema(schema) if schema else source).load(), selected)

    few = [f"value.{path} AS {name}" for name, path in _COLUMNS.items()]
    connector = partial(theirs, few)
    yield Variant(
        FEW,
        "connector, tuned, reader schema",
        records,
        partial(connector, TUNED, {"avroSchema": reader}),
    )
    yield Variant(FEW, "connector, defaults", records, partial(connector, {}, {}))
    yield Variant(FEW, "connector, tuned", records, partial(connector, TUNED, {}))
    yield Variant(FEW, "ottla", records, partial(ours, few, _PROJECTION))
    everything = ["value.*"]
    yield Variant(ALL, "connector, tuned", records, partial(theirs, everything, TUNED, {}))
    yield Variant(ALL, "ottla", records, partial(ours, everything, None))


def _reader_schema() -> dict[str, Any]:
    """Return the schema with only the selected fields."""
    schema: dict[str, Any] = shapes.avro_schema("nested")
    roots = {path.split(".")[0] for path in _COLUMNS.values()}
    schema["fields"] = [field for field in schema["fields"] if field["name"] in roots]
    customer = next(field["type"] for field in schema["fields"] if field["name"] == "customer")
    customer["fields"] = [field for field in customer["fields"] if field["name"] == "name"]
    return schema
