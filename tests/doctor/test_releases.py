"""The doctor at an older broker, and at its ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ottla
from tests.doctor.verdicts import BROKER, OTHER, check_verdict, port_of
from tests.support.golden import Replacements
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_releases import OLDEST

pytestmark = [pytest.mark.cluster, pytest.mark.deep]


@pytest.fixture(scope="module")
def older() -> Iterator[KafkaCluster]:
    """One broker of Kafka 2.8."""
    with KafkaCluster(1, release=OLDEST) as cluster:
        cluster.create_topic("orders", 1, 1)
        yield cluster


def test_an_older_broker(older: KafkaCluster) -> None:
    report = ottla.diagnose(older.bootstrap, topic="orders", group="billing", timeout=60)
    shows = Replacements({port_of(older.bootstrap): BROKER})
    check_verdict("brokers/old_release", report, shows, exact=False)


def test_zookeeper(older: KafkaCluster) -> None:
    [zookeeper] = older.servers
    report = ottla.diagnose(zookeeper.address, timeout=12)
    check_verdict("brokers/zookeeper", report, Replacements({zookeeper.port: OTHER}))
