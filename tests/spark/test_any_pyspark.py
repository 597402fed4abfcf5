"""The PySpark of the tests does what every supported one must do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TopicFactory
from tests.spark import any_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster


@pytest.mark.spark
@pytest.mark.cluster
def test_this_pyspark(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    topic, copy = kafka_topic(partitions=3), kafka_topic(partitions=3)
    options = {"kafka.bootstrap.servers": kafka.bootstrap}
    any_pyspark.batches(spark, options, topic)
    any_pyspark.streams(spark, options, topic, copy, tmp_path)
