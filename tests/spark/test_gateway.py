"""Both connectors, Spark's and ottla's, behind a gateway that alone reaches the brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ottla.testing import Gateway
from tests.gateway.records import EXPECTED, RECORDS, in_order
from tests.support.guarded_kafka import GuardedKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.cluster, pytest.mark.spark]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Provide three brokers that only the gateway can reach."""
    kafka = GuardedKafka(tmp_path_factory.mktemp("certificates"))
    with kafka:
        yield kafka


@pytest.mark.parametrize("writer", ["kafka", "ottla"])
def test_both_connectors_read_what_each_writes(
    spark: SparkSession, guarded: GuardedKafka, writer: str
) -> None:
    topic = f"spark-{uuid.uuid4().hex[:8]}"
    guarded.create_topic(topic, 6, 3)
    rows = [(bytearray(key), bytearray(value)) for key, value in RECORDS]
    with Gateway(guarded.guarded, guarded.gateway_config) as gateway:
        options = {"kafka.bootstrap.servers": gateway.bootstrap}
        frame = spark.createDataFrame(rows, "key binary, value binary")
        frame.write.format(writer).options(**options, topic=topic).mode("append").save()
        for reader in ("kafka", "ottla"):
            read = spark.read.format(reader).options(**options, subscribe=topic).load()
            found = [(bytes(row.key), bytes(row.value)) for row in read.collect()]
            assert in_order(found) == EXPECTED, reader
