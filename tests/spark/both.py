"""Reading the same with Spark's own Kafka connector and with ottla: equal rows, or equal errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.types import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

T = TypeVar("T")

SOURCES = ("kafka", "ottla")
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


def at_once(act: Callable[[str], T]) -> list[T]:
    """What comes of the same with Spark's connector and with ottla, in this order.

    At the same time: much of a short query is one thread that plans, or a process that starts.
    """
    with ThreadPoolExecutor(len(SOURCES)) as pool:
        return list(pool.map(act, SOURCES))


def same_rows(spark: SparkSession, kafka: KafkaCluster, **options: str) -> list[Row]:
    """The rows that both clients read with these options, with headers, in order."""
    options.setdefault("includeHeaders", "true")
    theirs, ours = at_once(lambda source: in_order(load(spark, source, kafka, **options).collect()))
    # Not one assert on both lists: a failure would print megabytes.
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our == their
    return ours


def same_error(
    spark: SparkSession, kafka: KafkaCluster, options: dict[str, str], words: list[str]
) -> None:
    """Both refuse, at load or at the first action, for a reason that has these words in it."""
    refused(lambda source: load(spark, source, kafka, **options).count(), words)


def refused(
    act: Callable[[str], object], words: list[str] | dict[str, list[str]], *, together: bool = True
) -> None:
    """With either source it is an error that has these words in it, or its own, in any case.

    Not ``together`` for writes: Spark finds sinks in Python by the session of the thread.
    """

    assert words, "without a word any error would do"

    def message(source: str) -> str:
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            act(source)
        return str(caught.value).lower()

    messages = at_once(message) if together else list(map(message, SOURCES))
    for source, text in zip(SOURCES, messages, strict=True):
        expected = words if isinstance(words, list) else words[source]
        assert [word for word in expected if word.lower() not in text] == [], f"{source}: {text}"
