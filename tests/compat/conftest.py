"""Brokers of older releases, one after the other, under the tests of tests/cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Brokers
from tests.support.kafka_cluster import OLDER, OLDEST, KafkaCluster

# Three brokers of each release and the session's three: small heaps fit CI's machines.
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


# The oldest is the furthest from what all other tests run on.
RELEASES = [
    release if release == OLDEST else pytest.param(release, marks=pytest.mark.deep)
    for release in OLDER
]


@pytest.fixture(scope="module", params=RELEASES)
def older_kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Three brokers of an older release, with ZooKeeper where that was the way."""
    with KafkaCluster(release=request.param, jvm=_SMALL) as cluster:
        yield cluster


@pytest.fixture
def brokers(older_kafka: KafkaCluster) -> Brokers:
    """What tests/cluster runs on, of an older release."""
    return Brokers(older_kafka)
