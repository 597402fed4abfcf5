"""Records and topics deleted during a read, compared with Spark's own connector."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

import ottla
from tests.conftest import TopicFactory
from tests.spark.parity import SOURCES, load
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

REFUSED = (PySparkException, Py4JJavaError)


def offsets_read(frame: Any, kafka: KafkaCluster, topic: str, before: int) -> list[int]:
    """Read a frame whose topic loses records to retention between planning and reading."""
    rdd = frame.select("offset").rdd
    assert rdd.getNumPartitions() > 0
    kafka.delete_records(topic, 0, before)
    return sorted(row.offset for row in rdd.collect())


def at(topic: str, offset: int) -> str:
    """Return an offset of partition 0 as an option."""
    return f'{{"{topic}":{{"0":{offset}}}}}'


@pytest.mark.parametrize("source", SOURCES)
def test_retention_of_the_whole_range(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, source: str
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, ["x"] * 100)
    ends = {"startingOffsets": at(topic, 10), "endingOffsets": at(topic, 50)}
    lenient = load(spark, source, kafka, subscribe=topic, failOnDataLoss="false", **ends)
    assert offsets_read(lenient, kafka, topic, 60) == []
    with pytest.raises(REFUSED) as caught:
        load(spark, source, kafka, subscribe=topic, **ends).collect()
    assert f"{topic}-0" in str(caught.value)
    # From earliest, it is no data loss, whatever is left of the range; Spark's source fails because
    # the start is after the end then.
    floating = load(spark, source, kafka, subscribe=topic, endingOffsets=at(topic, 80))
    if source == "ottla":
        assert offsets_read(floating, kafka, topic, 90) == []
    else:
        with pytest.raises(REFUSED):
            offsets_read(floating, kafka, topic, 90)


def test_retention_of_parts_of_a_split_range(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topics = {source: kafka_topic() for source in SOURCES}
    with ottla.Producer(kafka.bootstrap) as producer:
        for topic in topics.values():
            producer.send_batch(topic, ["x"] * 100)

    def read(source: str, before: int, fails: str) -> list[int]:
        topic = topics[source]
        frame = load(spark, source, kafka, subscribe=topic, minPartitions="4", failOnDataLoss=fails)
        assert frame.rdd.getNumPartitions() == 4
        return offsets_read(frame, kafka, topic, before)

    # Delete the first part, all but the last, and all but a few records: earliest moves along.
    for before, fails in ((20, "true"), (80, "true"), (99, "false")):
        assert read("ottla", before, fails) == list(range(before, 100))
    # With Spark's source, only the first part starts at earliest.
    assert read("kafka", 20, "true") == list(range(20, 100))
    with pytest.raises(REFUSED, match="resolved start offset 80"):
        read("kafka", 80, "false")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("fails", [True, False])
def test_retention_during_a_read(
    spark: SparkSession,
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    tmp_path: Path,
    source: str,
    fails: bool,
) -> None:
    topic, count = kafka_topic(), 3000
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, [b"x" * 20_000] * count)
    # Fetch much less ahead than the rest of the log.
    options = {
        "subscribe": topic,
        "failOnDataLoss": str(fails).lower(),
        "kafka__fetch__max__bytes": "1000000",
        "kafka__max__partition__fetch__bytes": "1000000",
    }
    directory = str(tmp_path)

    def pause(batches: Iterator[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            if number == 0:
                Path(directory, "reading").touch()
                while not Path(directory, "go-on").exists():
                    time.sleep(0.02)
            yield batch.select(["offset"])

    def cut() -> None:
        try:
            wait_until((tmp_path / "reading").exists, lambda: "nothing was read", 300)
            kafka.delete_records(topic, 0, count - 100)
        finally:
            (tmp_path / "go-on").touch()

    per_batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(per_batch) or ""
    retention = threading.Thread(target=cut)
    spark.conf.set(per_batch, "10")
    retention.start()
    try:
        frame = load(spark, source, kafka, **options).select("offset", "value")
        frame = frame.mapInArrow(pause, "offset bigint")
        if fails:
            with pytest.raises(REFUSED) as caught:
                frame.collect()
            assert f"{topic}-0" in str(caught.value)
            return
        offsets = [row.offset for row in frame.collect()]
    finally:
        (tmp_path / "go-on").touch()
        retention.join()
        spark.conf.set(per_batch, before)
    # All records read before, and all that are left: no duplicate, and a gap in between.
    gap = next(at for at, offset in enumerate(offsets) if at != offset)
    assert 0 < gap < count - 100
    assert offsets[gap:] == list(range(count - 100, count))


def test_a_deleted_topic_does_not_affect_others(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    stays, goes = kafka_topic(), kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        for topic in (stays, goes):
            producer.send_batch(topic, ["x"] * 10)
    both = {"subscribe": f"{stays},{goes}", "kafka__default__api__timeout__ms": "15000"}
    # The workers load and cache the metadata of both topics.
    assert load(spark, "ottla", kafka, **both).count() == 20
    lenient, strict = (
        load(spark, "ottla", kafka, failOnDataLoss=fails, **both).select("topic").rdd
        for fails in ("false", "true")
    )
    assert lenient.getNumPartitions() + strict.getNumPartitions() == 4
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.delete_topic(goes)
    assert [row.topic for row in lenient.collect()] == [stays] * 10
    with pytest.raises(REFUSED) as caught:
        strict.collect()
    assert goes in str(caught.value)
