"""Compares Spark's own Kafka connector with ottla: equal rows, or equal errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.types import Row

from ottla.spark.options.typed_columns import TYPED_OPTION_NAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

T = TypeVar("T")

SOURCES = ("kafka", "ottla")
EPOCH = 1_600_000_000_000
# Otherwise retention would delete records with these old timestamps.
KEEP = {"retention.ms": "-1"}

# Options that only ottla has; and options that accept any text.
OTTLA_ONLY = {
    *("targetBytesPerPartition", "pushFilters", "maxBytesPerTrigger", "commitGroupId"),
    *TYPED_OPTION_NAMES,
}
ANY_TEXT = {"groupIdPrefix"}


def options_of(kafka: KafkaCluster, **options: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka.bootstrap,
        **{name.replace("__", "."): value for name, value in options.items()},
    }


def load(spark: SparkSession, source: str, kafka: KafkaCluster, **options: str) -> DataFrame:
    return spark.read.format(source).options(**options_of(kafka, **options)).load()


def sorted_rows(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def run_both(act: Callable[[str], T]) -> list[T]:
    """Run the same with Spark's connector and with ottla, and return both results in this order.

    Both run at once: a short query mostly waits for one planning thread or a starting process.
    """
    with ThreadPoolExecutor(len(SOURCES)) as pool:
        return list(pool.map(act, SOURCES))


def same_rows(spark: SparkSession, kafka: KafkaCluster, **options: str) -> list[Row]:
    """Return the rows that both sources read with these options and headers, in order."""
    options.setdefault("includeHeaders", "true")
    theirs, ours = run_both(
        lambda source: sorted_rows(load(spark, source, kafka, **options).collect())
    )
    # Compare row by row: the diff of a failed comparison of lists would have megabytes.
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our == their
    return ours


def same_error(
    spark: SparkSession, kafka: KafkaCluster, options: dict[str, str], fragments: list[str]
) -> None:
    """Assert that both fail, at load or at the first action, with an error with these fragments."""
    assert_rejected(lambda source: load(spark, source, kafka, **options).count(), fragments)


def assert_rejected(
    act: Callable[[str], object],
    fragments: list[str] | dict[str, list[str]],
    *,
    together: bool = True,
) -> None:
    """Assert that both sources fail with these fragments, or each with its own, in any case.

    Writes need ``together=False``: Spark finds Python sinks by the session of the thread.
    """

    assert fragments, "without a word any error would do"

    def message(source: str) -> str:
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            act(source)
        return str(caught.value).lower()

    messages = run_both(message) if together else list(map(message, SOURCES))
    for source, text in zip(SOURCES, messages, strict=True):
        expected = fragments if isinstance(fragments, list) else fragments[source]
        assert [f for f in expected if f.lower() not in text] == [], f"{source}: {text}"
