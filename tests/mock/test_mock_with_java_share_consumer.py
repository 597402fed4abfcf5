"""Kafka's Java share consumer works with the mock cluster."""

from __future__ import annotations

import subprocess

import pytest

import ottla
from ottla.admin import ConfigResource
from ottla.testing import MockCluster
from tests.support.jars import class_path, java

TOOL = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
PATIENCE = 120


@pytest.mark.deep
def test_javas_share_consumer_reads_each_record_once(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=2)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for number in range(20):
            producer.send("t", str(number), partition=number % 2)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", "g"): {"share.auto.offset.reset": "earliest"}})
        command = [
            *(java(), "-Xmx128m", "-XX:TieredStopAtLevel=1"),
            *class_path("brokers"),
            TOOL,
            *("--bootstrap-server", mock_cluster.bootstrap, "--topic", "t", "--group", "g"),
            *("--max-messages", "20", "--timeout-ms", str(PATIENCE * 1000)),
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert sorted(map(int, run.stdout.split())) == list(range(20)), run.stderr
        offsets = admin.list_share_group_offsets(["g"])["g"]
        assert {place: each.lag for place, each in offsets.items()} == {("t", 0): 0, ("t", 1): 0}
        described = admin.describe_groups(["g"])["g"]
        assert (described.state, described.members) == ("Empty", [])
