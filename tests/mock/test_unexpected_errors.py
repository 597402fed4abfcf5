"""After UNKNOWN_SERVER_ERROR, which brokers give in passing, reads are repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla.admin import ConfigResource
from ottla.testing import Fault, MockCluster
from tests.support.consumers import KINDS, SHARE_KINDS, read

CODE = -1
TOPIC = ConfigResource("topic", "t")


@pytest.fixture
def cluster() -> Any:
    """A cluster with ten records in the topic ``t``."""
    with MockCluster() as cluster:
        cluster.create_topic("t", partitions=1)
        with ottla.Producer(cluster.bootstrap) as producer:
            for n in range(10):
                producer.send("t", str(n))
        yield cluster


@pytest.mark.parametrize("kind", KINDS)
def test_a_fetch_is_repeated(cluster: MockCluster, kind: str) -> None:
    """Regression: one such error made a poll raise an error that is not retriable."""
    fault = cluster.inject(Fault.error("UNKNOWN_SERVER_ERROR"), api="Fetch", times=2)
    with KINDS[kind](cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        assert len(read(consumer, 10)) == 10
    assert cluster.fault_hits(fault) == 2


@pytest.mark.parametrize("kind", SHARE_KINDS)
def test_a_share_fetch_is_repeated(cluster: MockCluster, kind: str) -> None:
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", "g"): {"share.auto.offset.reset": "earliest"}})
    fault = cluster.inject(Fault.error("UNKNOWN_SERVER_ERROR"), api="ShareFetch", times=2)
    with SHARE_KINDS[kind](cluster.bootstrap, group_id="g", topics=["t"]) as consumer:
        assert len(read(consumer, 10)) == 10
    assert cluster.fault_hits(fault) == 2


def test_a_scan_is_repeated(cluster: MockCluster) -> None:
    for api in ["ListOffsets", "Fetch"]:
        fault = cluster.inject(Fault.error("UNKNOWN_SERVER_ERROR"), api=api, times=2)
        assert pa.table(ottla.scan("t", bootstrap=cluster.bootstrap)).num_rows == 10
        assert cluster.fault_hits(fault) == 2, api


READS: dict[str, Callable[[ottla.Admin], object]] = {
    "ListGroups": lambda admin: admin.list_groups(),
    "DescribeConfigs": lambda admin: admin.describe_configs([TOPIC]),
    "DescribeCluster": lambda admin: admin.describe_cluster(),
    "ListOffsets": lambda admin: admin.list_offsets({("t", 0): "latest"}),
    "FindCoordinator": lambda admin: admin.list_group_offsets(["g"]),
    "OffsetFetch": lambda admin: admin.list_group_offsets(["g"]),
}


@pytest.mark.parametrize("api", READS)
def test_a_read_of_an_admin_is_repeated(cluster: MockCluster, api: str) -> None:
    fault = cluster.inject(Fault.error("UNKNOWN_SERVER_ERROR"), api=api, times=2)
    with ottla.Admin(cluster.bootstrap) as admin:
        READS[api](admin)
    assert cluster.fault_hits(fault) == 2


CHANGES: dict[str, Callable[[ottla.Admin], object]] = {
    "CreateTopics": lambda admin: admin.create_topic("u", 1, 1),
    "DeleteTopics": lambda admin: admin.delete_topics(["t"]),
    "IncrementalAlterConfigs": lambda admin: admin.alter_configs({TOPIC: {"retention.ms": "1"}}),
}


@pytest.mark.parametrize("api", CHANGES)
def test_a_change_by_an_admin_is_not_repeated(cluster: MockCluster, api: str) -> None:
    """It may have been made: the application decides."""
    fault = cluster.inject(Fault.error("UNKNOWN_SERVER_ERROR"), api=api)
    with ottla.Admin(cluster.bootstrap) as admin, pytest.raises(ottla.KafkaError) as raised:
        CHANGES[api](admin)
    assert (raised.value.code, raised.value.retriable) == (CODE, False)
    assert cluster.fault_hits(fault) == 1
