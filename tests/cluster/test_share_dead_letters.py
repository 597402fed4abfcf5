"""The brokers' dead letters of share groups (KIP-1191), since Kafka 4.4 with share.version 2.

The mock has none. All is set and read as operators do it, with the command line.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

import ottla
from ottla import AcknowledgeType
from tests.conftest import TopicFactory
from tests.support.command import ottla_here
from tests.support.consumers import TIMEOUT
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

COPY = "errors.deadletterqueue.copy.record.enable"


def command(kafka: KafkaCluster, *arguments: str) -> Any:
    done = ottla_here(*arguments, "-b", kafka.bootstrap, "--json")
    assert done.code == 0, done.err
    return json.loads(done.text) if done.text else None


@pytest.mark.parametrize("copies", ["true", "false"])
def test_rejected_and_exhausted_records_are_listed_and_replayed(
    kafka: KafkaCluster, kafka_topic: TopicFactory, copies: str
) -> None:
    topic, dead = kafka_topic(), f"dlq.{uuid.uuid4().hex}"
    group = f"group-{dead}"
    assert command(kafka, "features", "list")["finalized_features"]["share.version"] == 2
    kafka.create_topic(dead, 1, 3, {"errors.deadletterqueue.group.enable": "true"})
    configs = [f"errors.deadletterqueue.topic.name={dead}", f"{COPY}={copies}"]
    configs += ["share.auto.offset.reset=earliest", "share.delivery.count.limit=2"]
    command(kafka, "configs", "set", "group", group, *configs)
    with ottla.Producer(kafka.bootstrap) as producer:
        for n in range(3):
            producer.send(topic, f"v{n}", f"k{n}", headers=[("own", b"h")])
    acknowledged = [AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE]

    def letters() -> list[Any]:
        listed: list[Any] = command(kafka, "dead-letters", "list", dead, "--records")
        return listed

    with ottla.ShareConsumer(
        kafka.bootstrap, topics=[topic], group_id=group, share_acknowledgement_mode="explicit"
    ) as consumer:

        def both_are_written() -> bool:
            for record in consumer.poll(timeout=1):
                consumer.acknowledge(record, acknowledged[record.offset])
            consumer.commit()
            counts: list[int] = [each["count"] for each in letters()]
            return sum(counts) == 2

        wait_until(both_are_written, lambda: f"two dead letters: {letters()}", TIMEOUT)
    found = {each["reason"]: each for each in letters()}
    assert {(each["origin"], each["group_id"]) for each in found.values()} == {(topic, group)}
    places = {
        reason: [
            (letter["origin_partition"], letter["origin_offset"]) for letter in each["letters"]
        ]
        for reason, each in found.items()
    }
    assert places == {
        "Offset rejected by client.": [(0, 1)],
        "Offset delivery count exceeded the threshold.": [(0, 2)],
    }
    command(kafka, "dead-letters", "replay", dead, "--yes")
    columns = ["key", "value", "headers"]
    with (
        ottla.Client(kafka.bootstrap) as client,
        client.scan([(topic, 0, 3, 5)], columns=columns) as scan,
    ):
        replayed = [row for batch in scan for row in batch.rows()]
    assert sorted(row[:2] for row in replayed) == [(b"k1", b"v1"), (b"k2", b"v2")]
    # Brokers copy no headers; without a copy, the record itself is read.
    own = [[value for name, value in headers if name == "own"] for *_, headers in replayed]
    assert own == ([[], []] if copies == "true" else [[b"h"], [b"h"]])
