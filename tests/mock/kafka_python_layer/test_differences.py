"""kafka-python's layer: differences on purpose; docs/compare/stand-ins.md has their reasons."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.compat.kafka import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
    codec,
)
from ottla.testing import Fault, MockCluster
from tests.mock.kafka_python_layer.reading import fill, read
from tests.support.waiting import wait_until


def test_polls_return_the_records_of_several_topics(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 5)
    mock_cluster.create_topic("other", partitions=1)
    mock_cluster.append("other", 0, [b"a", b"b"])
    consumer = consumer_of()
    consumer.assign([TopicPartition("orders", 0), TopicPartition("other", 0)])
    assert sorted(record.value for record in read(consumer, 7)) == [
        *(b"%d" % number for number in range(5)),
        b"a",
        b"b",
    ]


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_there(name: str, topic: str, producer_of: Any, consumer_of: Any) -> None:
    assert getattr(codec, f"has_{name}")()
    producer_of(compression_type=name).send(topic, b"v" * 1000).get(timeout=30)
    assert read(consumer_of(topic), 1)[0].value == b"v" * 1000


def test_records_have_the_newest_format() -> None:
    assert KafkaProducer.max_usable_produce_magic((0, 8, 2)) == 2


def test_a_failure_that_nobody_asks_for_is_a_warning(
    mock_cluster: MockCluster, topic: str, producer_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce", topic=topic)
    producer = producer_of()
    producer.send(topic, b"v")
    producer.flush(timeout=30)
    # The core logs on a thread of its own.
    wait_until(lambda: "records were not written" in caplog.text)


def test_what_admin_clients_do_not_have(mock_cluster: MockCluster) -> None:
    with KafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin:
        for name in (
            *("abort_transaction", "api_versions", "find_hanging_transactions"),
            "get_broker_version_data",
        ):
            with pytest.raises(AttributeError):
                getattr(admin, name)


def test_internals_are_not_there(
    mock_cluster: MockCluster, topic: str, consumer_of: Any, producer_of: Any
) -> None:
    consumer: KafkaConsumer = consumer_of(topic)
    assert not any(hasattr(consumer, name) for name in ("_fetcher", "_net", "_metrics"))
    producer: KafkaProducer = producer_of()
    assert not any(hasattr(producer, name) for name in ("_sender", "_accumulator", "_net"))
