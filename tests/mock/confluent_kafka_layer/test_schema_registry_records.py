"""Producers and consumers with serializers of the registry: the stand-in with the original."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.testing import MockCluster, MockRegistry
from tests.support.registry_layers import NAMES, Layer

AVRO = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'


def produce(layer: str, cluster: MockCluster, registry: MockRegistry) -> None:
    names = Layer(layer)
    producer = names.module("serializing_producer").SerializingProducer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "key.serializer": names.StringSerializer(),
            "value.serializer.builder": names.AvroSerializerBuilder(
                {"url": registry.url}, schema=AVRO
            ),
        }
    )
    for number in range(3):
        producer.produce("orders", key=str(number), value={"id": number})
    assert producer.flush(30) == 0
    producer.close()


def consume(layer: str, cluster: MockCluster, registry: MockRegistry) -> list[Any]:
    names = Layer(layer)
    consumer = names.module("deserializing_consumer").DeserializingConsumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": layer,
            "auto.offset.reset": "earliest",
            "key.deserializer": names.StringDeserializer(),
            "value.deserializer": names.AvroDeserializer(
                names.SchemaRegistryClient({"url": registry.url})
            ),
        }
    )
    consumer.subscribe(["orders"])
    found: list[Any] = []
    while len(found) < 3:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        found.append((message.key(), message.value()))
    consumer.close()
    return found


@pytest.mark.parametrize(("writer", "reader"), [NAMES, NAMES[::-1]], ids=["read", "write"])
def test_records_pass_between_the_original_and_ours(
    writer: str, reader: str, mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    produce(writer, mock_cluster, mock_registry)
    found = consume(reader, mock_cluster, mock_registry)
    assert found == [(str(number), {"id": number}) for number in range(3)]


def test_the_clusters_id_narrows_the_associated_subject(mock_cluster: MockCluster) -> None:
    """The client tells a serializer that it has built which cluster it is connected to."""
    mock_cluster.create_topic("orders", partitions=1)
    paths = []
    for layer in NAMES:
        with MockRegistry() as registry:
            produce(layer, mock_cluster, registry)
            paths.append([request.path.partition("?")[0] for request in registry.requests()])
    assert paths[0] == paths[1]
    assert not paths[1][0].startswith("/associations/resources/-/")
