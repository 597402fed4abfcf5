"""The mock cluster's methods that inspect and change groups and logs."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster


def test_commit_list_and_delete_offsets(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=2)
    assert mock_cluster.committed("billing") == {}
    assert mock_cluster.group("billing") is None
    mock_cluster.commit("billing", "t", 0, 5)
    mock_cluster.commit("billing", "t", 1, 6)
    assert mock_cluster.committed("billing") == {("t", 0): 5, ("t", 1): 6}
    group = mock_cluster.group("billing")
    assert group is not None
    assert (group.state, group.kind, group.members) == ("Empty", "classic", ())
    mock_cluster.expire_offset("billing", "t", 0)
    assert mock_cluster.committed("billing") == {("t", 1): 6}
    assert mock_cluster.members("billing") == ()
    with pytest.raises(errors.ConfigError, match="UNKNOWN_MEMBER_ID"):
        mock_cluster.expire_member("billing", "nobody")


def test_a_coordinator_moves(mock_cluster: MockCluster) -> None:
    before = mock_cluster.coordinator("billing")
    assert before in mock_cluster.brokers
    after = before % 3 + 1
    mock_cluster.move_coordinator("billing", after)
    assert mock_cluster.coordinator("billing") == after
    mock_cluster.stop_broker(after)
    assert mock_cluster.coordinator("billing") not in (after, None)
    with pytest.raises(errors.ConfigError, match="down"):
        mock_cluster.move_coordinator("billing", after)


def test_only_committed_transactions_are_read(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=1)
    assert mock_cluster.append("t", 0, [b"plain"]) == 0
    assert mock_cluster.append_in_transaction("t", 0, 7, [b"a", b"b"]) == 1
    assert mock_cluster.append_in_transaction("t", 0, 8, [b"c"]) == 3
    assert mock_cluster.end_transaction("t", 0, 7, commit=False) == 4
    assert mock_cluster.end_transaction("t", 0, 8, commit=True) == 5
    with ottla.Client(mock_cluster.bootstrap, isolation_level="read_committed") as client:
        scan = client.scan([("t", 0, 0, 6)], columns=["value"])
        rows = [row for batch in scan for row in batch.rows()]
        assert rows == [(b"plain",), (b"c",)]
    mock_cluster.truncate("t", 0, 1)
    assert mock_cluster.end_offset("t", 0) == 1


def test_older_brokers_lack_newer_features() -> None:
    with MockCluster(1, without=["ConsumerGroupHeartbeat", "DescribeCluster"]) as cluster:
        assert cluster.bootstrap
    with pytest.raises(errors.ConfigError, match="NoSuchApi"):
        MockCluster(1, without=["NoSuchApi"])
    with pytest.raises(errors.ConfigError, match="group_session_timeout"):
        MockCluster(1, group_session_timeout=-1)
