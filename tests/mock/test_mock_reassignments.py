"""Reassignments of replicas on MockCluster: they complete at once, or when a test says so."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.admin.operation_call import BlockingCall, Request, finish
from ottla.testing import MockCluster, Reassignment


def reassign(cluster: MockCluster, replicas: list[int] | None) -> None:
    partition = {"partition_index": 0, "replicas": replicas}
    body = {"topics": [{"name": "t", "partitions": [partition]}]}
    with ottla.Admin(cluster.bootstrap) as admin:
        call = BlockingCall(admin._begin("reassigning", 30))
        response = finish(call.ask(Request("AlterPartitionReassignments", body)))
    [topic] = response.body["responses"]
    assert topic["partitions"][0]["error_code"] == 0, response


def replicas(cluster: MockCluster) -> tuple[list[int], list[int]]:
    """Return the replicas of the partition, and those in sync, sorted."""
    with ottla.Admin(cluster.bootstrap) as admin:
        [partition] = admin.describe_topics(["t"])["t"].partitions
    return sorted(partition.replicas), sorted(partition.isr)


@pytest.fixture
def old(mock_cluster: MockCluster) -> int:
    """The only replica of a topic."""
    mock_cluster.create_topic("t", partitions=1, replication=1)
    leader = mock_cluster.leader("t", 0)
    assert leader is not None
    return leader


def test_a_reassignment_completes_at_once(mock_cluster: MockCluster, old: int) -> None:
    new = old % 3 + 1
    reassign(mock_cluster, [new])
    assert mock_cluster.reassignment("t", 0) is None
    assert mock_cluster.leader("t", 0) == new
    assert replicas(mock_cluster) == ([new], [new])


def test_a_held_reassignment_is_completed_or_cancelled(mock_cluster: MockCluster, old: int) -> None:
    new = old % 3 + 1
    mock_cluster.hold_reassignments()
    reassign(mock_cluster, [new])
    assert mock_cluster.reassignment("t", 0) == Reassignment((new,), (old,))
    assert replicas(mock_cluster) == (sorted([old, new]), [old])
    reassign(mock_cluster, None)
    assert mock_cluster.reassignment("t", 0) is None
    assert replicas(mock_cluster) == ([old], [old])
    with pytest.raises(errors.ConfigError, match="NO_REASSIGNMENT_IN_PROGRESS"):
        mock_cluster.complete_reassignment("t", 0)
    reassign(mock_cluster, [new])
    mock_cluster.complete_reassignment("t", 0)
    assert replicas(mock_cluster) == ([new], [new])
    reassign(mock_cluster, [old])
    mock_cluster.hold_reassignments(False)
    assert mock_cluster.leader("t", 0) == old
