"""Reading the same with Spark's own Kafka connector and with ottla: equal rows, or equal errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.types import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

EPOCH = 1_600_000_000_000
# Or retention would delete records that are as old as these say they are.
KEEP = {"retention.ms": "-1"}

# Ours, which Spark's source has not got; and what is a text, of which none is wrong.
OURS = {"targetBytesPerPartition", "pushFilters", "maxBytesPerTrigger", "commitGroupId"}
ANY_TEXT = {"groupIdPrefix"}


def options_of(kafka: KafkaCluster, **options: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka.bootstrap,
        **{name.replace("__", "."): value for name, value in options.items()},
    }


def load(spark: SparkSession, source: str, kafka: KafkaCluster, **options: str) -> DataFrame:
    return spark.read.format(source).options(**options_of(kafka, **options)).load()


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def same_rows(spark: SparkSession, kafka: KafkaCluster, **options: str) -> list[Row]:
    """The rows that both clients read with these options, with headers, in order."""
    options.setdefault("includeHeaders", "true")
    theirs = in_order(load(spark, "kafka", kafka, **options).collect())
    ours = in_order(load(spark, "ottla", kafka, **options).collect())
    # Not one assert on both lists: a failure would print megabytes.
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our == their
    return ours


def same_error(
    spark: SparkSession, kafka: KafkaCluster, options: dict[str, str], words: list[str]
) -> None:
    """Both refuse, at load or at the first action, for a reason that has these words in it."""
    for source in ("kafka", "ottla"):
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            load(spark, source, kafka, **options).count()
        message = str(caught.value).lower()
        assert [word for word in words if word.lower() not in message] == [], f"{source}: {message}"
