"""Streams from real brokers in real Spark, compared with Spark's own source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

import ottla
from tests.conftest import TopicFactory
from tests.spark.streams import Streams, add_partitions, produce
from tests.support.group_offsets import group_offsets

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def test_restarts_new_partitions_and_new_topics(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=1)
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    produce(kafka, topic, 5)
    assert len(streams.same("grows", **options).rows) == 5
    # No new records.
    assert streams.same("grows", **options).ends == []
    add_partitions(kafka, topic, 3)
    kafka.create_topic(f"{topic}-2")
    produce(kafka, topic, 1, 10, 20)
    produce(kafka, f"{topic}-2", 30)
    run = streams.same("grows", maxOffsetsPerTrigger="40", **options)
    assert (len(run.rows), len(run.ends)) == (61, 2)
    assert run.ends[-1] == {topic: {"0": 6, "1": 10, "2": 20}, f"{topic}-2": {"0": 30}}


def test_a_checkpoint_of_sparks_source_continues(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 5, 6)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    assert len(streams.run("kafka", "moved", **options).rows) == 11
    produce(kafka, topic, 1, 2)
    (streams.directory / "kafka-moved").rename(streams.directory / "ottla-moved")
    run = streams.run("ottla", "moved", **options)
    assert [row[1:3] for row in run.rows] == [(0, 5), (1, 6), (1, 7)]


@pytest.mark.parametrize("keeps", ["true", "false"])
def test_topics_deleted_and_recreated(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory, keeps: str
) -> None:
    topic, other = kafka_topic(), kafka_topic()
    options = {
        "subscribePattern": f"^({topic}|{other})$",
        "startingOffsets": "earliest",
        "failOnDataLoss": keeps,
        "fetchOffset__retryIntervalMs": "10",
    }
    produce(kafka, topic, 50)
    produce(kafka, other, 5)
    streams.same("made-anew", **options)
    kafka.delete_topic(topic)
    kafka.create_topic(topic)
    produce(kafka, topic, 10)
    produce(kafka, other, 5)
    if keeps == "true":
        streams.same_error("made-anew", [f"{topic}-0", "50", "10"], **options)
        return
    # Both skip the records of the new log below the old offset.
    run = streams.same("made-anew", **options)
    assert {row[0] for row in run.rows} == {other}
    produce(kafka, topic, 3)
    assert [row[:3] for row in streams.same("made-anew", **options).rows] == [
        (topic, 0, offset) for offset in (10, 11, 12)
    ]
    kafka.delete_topic(topic)
    produce(kafka, other, 5)
    assert len(streams.same("made-anew", **options).rows) == 5


def test_max_bytes_per_trigger(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap, compression_type="zstd") as producer:
        producer.send_batch(topic, ["x" * 1000] * 1000)
    run = streams.run(
        "ottla", "bytes", subscribe=topic, startingOffsets="earliest", maxBytesPerTrigger="300000"
    )
    assert len(run.rows) == 1000
    # Records of slightly more than 1000 bytes: about 290 per batch.
    assert len(run.ends) == 4
    # Within a record's size of the limit; the minimum is one record.
    run = streams.run(
        "ottla",
        "one",
        assign=f'{{"{topic}":[0]}}',
        startingOffsets=f'{{"{topic}":{{"0":998}}}}',
        maxBytesPerTrigger="1",
    )
    assert [end[topic]["0"] for end in run.ends] == [999, 1000]


def test_progress_is_committed_to_a_consumer_group(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 30, 20)
    options = {"subscribe": topic, "startingOffsets": "earliest", "commitGroupId": f"{topic}-g"}
    streams.run("ottla", "shown", maxOffsetsPerTrigger="20", **options)
    with ottla.Admin(kafka.bootstrap) as admin:
        shown = group_offsets(admin, f"{topic}-g")
        assert shown == {(topic, 0): 30, (topic, 1): 20}
        assert group_offsets(admin, "nobody") == {}
    produce(kafka, topic, 5)
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    arguments = ("--bootstrap-server", kafka.bootstrap, "--describe", "--group", f"{topic}-g")
    lines = [line.split() for line in kafka.run_tool(tool, *arguments).splitlines()]
    lags = {line[2]: line[3:6] for line in lines if len(line) > 5 and line[1] == topic}
    assert lags == {"0": ["30", "35", "5"], "1": ["20", "20", "0"]}


def test_a_failed_stream_reports_the_cause(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    produce(kafka, topic, 10)
    streams.same("lost", subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":2}}}}')
    produce(kafka, topic, 10)
    # Retention deletes a part of the next micro-batch.
    kafka.delete_records(topic, 0, 15)
    streams.same_error("lost", [f"{topic}-0", "10"], subscribe=topic)
    with pytest.raises(StreamingQueryException, match="DataLossError") as caught:
        streams.run("ottla", "lost", subscribe=topic)
    assert "10" in str(caught.value)
    assert "15" in str(caught.value)
    run = streams.same("lost", subscribe=topic, failOnDataLoss="false")
    assert [row[2] for row in run.rows] == list(range(15, 20))
