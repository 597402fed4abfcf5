"""The scenarios: named variants that read or write the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benches.spark.session import PARTITIONS, RECORDS_PER_SMALL_PARTITION, SMALL_PARTITIONS

TUNED = {
    "kafka.max.poll.records": "100000",
    "kafka.fetch.max.bytes": "100000000",
    "kafka.max.partition.fetch.bytes": "16000000",
    "kafka.receive.buffer.bytes": "1048576",
}
# Spark's sink gains from the settings of the producer that it uses.
TUNED_SINK = {"kafka.linger.ms": "20", "kafka.batch.size": "500000"}
# Without it, the connector waits half a second at each partition: its consumer's fetch beyond the
# last record of the previous partition is answered only then, before the next partition's records.
NO_WAIT = {"kafka.fetch.max.wait.ms": "10"}
# With a byte limit, Spark adds up the bytes of a batch at each of its rows.
NO_LIMIT = str(2**31 - 1)
MANY = "1,000 small partitions"
Frame = Callable[[], Any]
VALUE_AND_OFFSET = "value binary, offset bigint"


@dataclass(frozen=True)
class Variant:
    """A measured variant: its scenario, its name in the table, and the function that runs it."""

    scenario: str
    name: str
    records: int
    run: Callable[[], None]
    # Too slow for all rounds: measured in the first one only.
    once: bool = False


def variants(spark: Any, bootstrap: str, records: int) -> Iterator[Variant]:
    """Yield all variants, grouped by scenario."""
    from benches.spark.synthetic_source import discarding_sink, generating_source

    servers = {"kafka.bootstrap.servers": bootstrap}

    def noop(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def run(frame: Frame) -> None:
        noop(frame())

    def read(source: str, topic: str | None, schema: str | None = None, **more: str) -> Any:
        topics = {"subscribe": topic} if topic else {}
        reader = spark.read.format(source).options(**servers, **topics, **more)
        return (reader.schema(schema) if schema else reader).load()

    spark.dataSource.register(generating_source(PARTITIONS))
    spark.dataSource.register(discarding_sink())

    def generate(schema: str | None = None, rows: int = records, value_bytes: int = 100) -> Any:
        reader = spark.read.format("generated").options(rows=str(rows), bytes=str(value_bytes))
        return (reader.schema(schema) if schema else reader).load()

    small, large = "bytes-100", "bytes-1000"
    frames: dict[str, Frame] = {
        "connector, defaults": lambda: read("kafka", small),
        "connector, tuned": lambda: read("kafka", small, **TUNED),
        "ottla": lambda: read("ottla", small),
        "hand-over alone": lambda: generate(),
    }
    for name, frame in frames.items():
        yield Variant("read 100 B, all columns", name, records, partial(run, frame))
    frames = {
        "connector, defaults": lambda: read("kafka", small).select("value", "offset"),
        "connector, tuned": lambda: read("kafka", small, **TUNED).select("value", "offset"),
        "ottla": lambda: read("ottla", small, VALUE_AND_OFFSET),
        "hand-over alone": lambda: generate(VALUE_AND_OFFSET),
    }
    for name, frame in frames.items():
        yield Variant("read 100 B, value + offset", name, records, partial(run, frame))
    frames = {
        "connector, defaults": lambda: read("kafka", large),
        "connector, tuned": lambda: read("kafka", large, **TUNED),
        "ottla": lambda: read("ottla", large),
        "ottla, value + offset": lambda: read("ottla", large, VALUE_AND_OFFSET),
        "hand-over alone": lambda: generate(None, records // 4, 1000),
    }
    for name, frame in frames.items():
        yield Variant("read 1000 B", name, records // 4, partial(run, frame))
    yield from _transform_variants(spark, servers, small, records, read, noop)
    yield from _write_variants(spark, servers, records)
    yield from _small_partition_variants(read, run)


def _small_partition_variants(read: Any, run: Callable[[Frame], None]) -> Iterator[Variant]:
    count = SMALL_PARTITIONS * RECORDS_PER_SMALL_PARTITION
    tenth = json.dumps({"small": list(range(SMALL_PARTITIONS // 10))})

    def read_tenth() -> None:
        run(lambda: read("kafka", None, assign=tenth))

    yield Variant(MANY, "connector, defaults, 100 of them", count // 10, read_tenth, once=True)
    frames: dict[str, Frame] = {
        "connector, fetch.max.wait.ms 10": lambda: read("kafka", "small", **TUNED, **NO_WAIT),
        "ottla": lambda: read("ottla", "small"),
        "ottla, targetBytesPerPartition": lambda: read(
            "ottla", "small", targetBytesPerPartition="100000000"
        ),
    }
    for name, frame in frames.items():
        yield Variant(MANY, name, count, partial(run, frame), once=name.startswith("connector"))


def _transform_variants(
    spark: Any, servers: dict[str, str], topic: str, records: int, read: Any, noop: Any
) -> Iterator[Variant]:
    import ottla.spark

    def lengths(batches: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            yield pa.record_batch([pc.binary_length(batch["value"])], names=["bytes"])

    def theirs(**tuned: str) -> None:
        noop(read("kafka", topic, **tuned).select("value").mapInArrow(lengths, "bytes int"))

    def ours() -> None:
        noop(
            ottla.spark.read_arrow(
                spark,
                {**servers, "subscribe": topic},
                columns="value binary",
                transform=lengths,
                schema="bytes int",
            )
        )

    scenario = "read + mapInArrow"
    yield Variant(scenario, "connector, defaults", records, theirs)
    yield Variant(scenario, "connector, tuned", records, partial(theirs, **TUNED))
    yield Variant(scenario, "ottla, read_arrow", records, ours)


def _write_variants(spark: Any, servers: dict[str, str], records: int) -> Iterator[Variant]:
    def write(source: str, **more: str) -> None:
        frame = spark.range(0, records, 1, 4).selectExpr(
            "CAST(CAST(id AS STRING) AS BINARY) AS key",
            "CAST(repeat('v', 100) AS BINARY) AS value",
        )
        writer = frame.write.format(source).mode("append")
        writer.options(**servers, topic="sink", **more).save()

    def without_limit(source: str) -> None:
        limit = "spark.sql.execution.arrow.maxBytesPerBatch"
        default = spark.conf.get(limit)
        spark.conf.set(limit, NO_LIMIT)
        try:
            write(source)
        finally:
            spark.conf.set(limit, default)

    scenario = "sink, key + 100 B"
    yield Variant(scenario, "connector, defaults", records, lambda: write("kafka"))
    yield Variant(scenario, "connector, tuned", records, lambda: write("kafka", **TUNED_SINK))
    yield Variant(scenario, "ottla", records, lambda: write("ottla"))
    yield Variant(
        scenario, "ottla, exactlyOnce", records, lambda: write("ottla", exactlyOnce="true")
    )
    yield Variant(scenario, "ottla, maxBytesPerBatch off", records, lambda: without_limit("ottla"))
    yield Variant(scenario, "hand-over alone", records, lambda: write("discarding"))
    yield Variant(
        scenario, "hand-over, maxBytesPerBatch off", records, lambda: without_limit("discarding")
    )
