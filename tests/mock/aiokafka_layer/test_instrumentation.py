"""aiokafka's layer: the private names that instrumentation reads.

tests/frameworks/test_instrumentation.py runs the instrumentation itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ottla.compat.aiokafka import AIOKafkaProducer
from ottla.compat.aiokafka.consumer.group_coordinator import GroupCoordinator
from ottla.compat.aiokafka.protocol.metadata import MetadataRequest
from ottla.testing import MockCluster
from tests.support.loops import run


def test_the_partition_that_a_record_will_have(mock_cluster: MockCluster, pairs: str) -> None:
    def last(_: bytes | None, everything: Sequence[int], available: Sequence[int]) -> int:
        assert everything == available
        return everything[-1]

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=mock_cluster.bootstrap) as writer:
            await writer.partitions_for(pairs)
            for key in (b"a", b"b", b"c"):
                foreseen = writer._partition(pairs, None, key, b"v", key, b"v")
                assert (await writer.send_and_wait(pairs, b"v", key)).partition == foreseen
            assert writer._partition(pairs, 1, None, b"v", None, b"v") == 1
            assert writer._partition(pairs, None, None, b"v", None, b"v") is None
        async with AIOKafkaProducer(
            bootstrap_servers=mock_cluster.bootstrap, partitioner=last
        ) as writer:
            await writer.partitions_for(pairs)
            assert writer._partition(pairs, None, "k", b"v", b"k", b"v") == 1

    run(write())


def test_what_ddtrace_imports_does_nothing() -> None:
    assert MetadataRequest(topics=["pairs"], allow_auto_topic_creation=False).topics == ["pairs"]
    with pytest.raises(NotImplementedError):
        run(GroupCoordinator().commit_offsets(None, {}))
