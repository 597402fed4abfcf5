"""Exactly-once writes through a real Spark session: batches run again, failures, and a stream."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import ottla
import ottla.spark
from ottla.spark.writing.write_report import read_reports
from tests.conftest import TopicFactory
from tests.support.committed import committed_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def options_for(kafka: KafkaCluster, topic: str, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "topic": topic,
        "exactlyOnce": "true",
        **more,
    }


def write(frame: DataFrame, options: dict[str, str]) -> None:
    frame.write.format("ottla").mode("append").options(**options).save()


def visible(kafka: KafkaCluster, topic: str, *, all_ended: bool = True) -> list[int]:
    """Return the numbers that readers see; waits until no transaction holds them back."""
    rows = committed_rows(kafka.bootstrap, topic, all_ended=all_ended)
    return sorted(int(row["value"]) for row in rows)


def fails_at(number: int, column: str) -> str:
    return f"IF({column} = {number}, raise_error('planted'), CAST({column} AS STRING)) AS value"


def test_batches(spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    target = kafka_topic(partitions=3)
    frame = spark.range(0, 1000, 1, 4).selectExpr("CAST(id AS STRING) AS value")
    # A batch without an id is written each time; one with an id once, however often it is run.
    write(frame, options_for(kafka, target))
    assert visible(kafka, target) == [*range(1000)]
    more = spark.range(1000, 2000, 1, 3).selectExpr("CAST(id AS STRING) AS value")
    for _ in range(3):
        write(more, options_for(kafka, target, exactlyOnceId=f"load-{target}"))
    assert visible(kafka, target) == [*range(2000)]
    report = ottla.spark.write(frame.limit(10), options_for(kafka, target))
    assert report.records == 10
    # One that fails after its first rows is not visible at all, and leaves nothing open.
    failing = spark.range(5000, 45000, 1, 1).selectExpr(fails_at(44000, "id"))
    with pytest.raises(PySparkException, match="planted"):
        write(failing, options_for(kafka, target))
    assert len(visible(kafka, target)) == 2010
    # Its name was that of other rows.
    other = spark.range(1000, 1999, 1, 3).selectExpr("CAST(id AS STRING) AS value")
    with pytest.raises(PySparkException, match=r"had 33[34] rows when it was decided"):
        write(other, options_for(kafka, target, exactlyOnceId=f"load-{target}"))
    assert len(visible(kafka, target)) == 2010


def test_a_stream_with_restarts(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    source, target = kafka_topic(partitions=3), kafka_topic(partitions=2)
    report = tmp_path / "report"

    def produce(numbers: range) -> None:
        with ottla.Producer(kafka.bootstrap) as producer:
            producer.send_batch(source, [b"%d" % number for number in numbers])

    def run(fail_at: int = -1) -> None:
        frame = (
            spark.readStream.format("ottla")
            .options(**{"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": source})
            .options(startingOffsets="earliest", maxOffsetsPerTrigger="700")
            .load()
            .selectExpr(fails_at(fail_at, "CAST(CAST(value AS STRING) AS INT)"))
        )
        decisions = f"decisions-{uuid.uuid5(uuid.NAMESPACE_OID, target).hex[:8]}"
        query = (
            frame.writeStream.format("ottla")
            .options(**options_for(kafka, target, exactlyOnceTopic=decisions))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .option("reportPath", str(report))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)

    produce(range(2000))
    run()
    assert visible(kafka, target) == [*range(2000)]
    assert sum(each.records for each in read_reports(str(report))) == 2000
    produce(range(2000, 4000))
    with pytest.raises(PySparkException, match="planted"):
        run(fail_at=3500)
    # A task that Spark had not killed yet may have prepared its transaction after the abort.
    some = visible(kafka, target, all_ended=False)
    assert some[:2000] == [*range(2000)]
    assert len(set(some)) == len(some) < 4000
    run()
    assert visible(kafka, target) == [*range(4000)]
