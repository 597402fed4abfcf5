"""Brokers of older releases, for the tests of tests/cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Brokers
from tests.support.kafka_cluster import OLDER, OLDEST, KafkaCluster

# These brokers run next to the session's: small heaps, for CI machines.
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


# The oldest release differs most from the current one.
RELEASES = [
    release if release == OLDEST else pytest.param(release, marks=pytest.mark.deep)
    for release in OLDER
]


@pytest.fixture(scope="module", params=RELEASES)
def older_kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide three brokers of an older release, with ZooKeeper if the release uses it."""
    with KafkaCluster(release=request.param, jvm=_SMALL) as cluster:
        yield cluster


@pytest.fixture
def brokers(older_kafka: KafkaCluster) -> Brokers:
    """Provide the fixture of tests/cluster, with an older release."""
    return Brokers(older_kafka)
