"""The commands on real brokers: produce, consume and topology."""

from __future__ import annotations

import json

import pytest

from tests.conftest import TopicFactory
from tests.support.command import ottla
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster


def test_produce_consume_and_topology(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=3)
    lines = sorted(b"key-%d:value %d" % (i, i) for i in range(500))
    done = ottla(
        "produce", kafka.bootstrap, "-t", topic, "-K", ":", "-z", "zstd", "-v",
        stdin=b"\n".join(lines) + b"\n",
    )  # fmt: skip
    # Before it, a slow broker has it say how many records are not acknowledged yet.
    written = done.err.splitlines()[-1:]
    assert (done.code, written) == (0, ["ottla: 500 records written, 0 failed"])
    done = ottla("consume", kafka.bootstrap, "-t", topic, "-e", "-K", ":")
    assert (done.code, done.err) == (0, "")
    assert sorted(done.out.splitlines()) == lines
    topology = json.loads(ottla("topology", kafka.bootstrap, "-t", topic, "--json").out)
    assert [broker["rack"] for broker in topology["brokers"]] == ["rack-a", "rack-b", "rack-c"]
    assert [broker["preferred_count"] for broker in topology["brokers"]] == [1, 1, 1]
    assert topology["offline_count"] == 0
    done = ottla("doctor", kafka.bootstrap, "-t", topic, "--timeout", "60")
    assert done.code == 0, done.text
