"""Admin's calls about share groups, on the mock; the tests of the same name run on Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from ottla.admin import ShareGroupOffset
from ottla.testing import MockCluster

GROUP = "sharing"


@pytest.fixture
def admin(mock_cluster: MockCluster) -> Iterator[ottla.Admin]:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        yield admin


def test_offsets_without_members(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=2)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for number in range(20):
            producer.send("t", str(number), partition=number % 2)
    first, second, missing = [("t", partition) for partition in (0, 1, 7)]
    assert admin.list_share_group_offsets([GROUP]) == {GROUP: {}}

    altered = admin.alter_share_group_offsets(
        GROUP, {missing: 1, second: 99, first: 3}, errors="return"
    )
    assert isinstance(altered[missing], errors.UnknownTopicError)
    assert altered[first] is altered[second] is None
    admin.alter_share_group_offsets(GROUP, {second: 4})
    plan = admin.alter_share_group_offsets(GROUP, {first: 3, second: 5}, dry_run=True)
    assert str(plan) == f"alter group {GROUP}: t-1 (4 -> 5)"
    offsets = admin.list_share_group_offsets([GROUP])[GROUP]
    assert offsets == {first: ShareGroupOffset(3, 0, 7), second: ShareGroupOffset(4, 0, 6)}

    [listed] = admin.list_groups(types=["Share"])
    assert (listed.group_id, listed.type) == (GROUP, "Share")
    described = admin.describe_groups([GROUP])[GROUP]
    assert (described.type, described.state, described.assignor) == ("Share", "Empty", "simple")

    deleted = admin.delete_share_group_offsets(GROUP, ["t-x", "t"], errors="return")
    assert isinstance(deleted["t-x"], errors.UnknownTopicError)
    assert deleted["t"] is None
    assert admin.list_share_group_offsets([GROUP]) == {GROUP: {}}
    with pytest.raises(errors.UnknownTopicError, match="offset"):
        admin.delete_share_group_offsets(GROUP, ["t"])
    assert admin.delete_groups([GROUP]) == {GROUP: None}


def test_a_group_of_consumers_has_no_share_offsets(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("t")
    admin.alter_group_offsets(GROUP, {("t", 0): 0})
    assert admin.list_share_group_offsets([GROUP]) == {GROUP: {}}
    with pytest.raises(errors.BrokerError, match="is not a share group"):
        admin.alter_share_group_offsets(GROUP, {("t", 0): 0})
    with pytest.raises(errors.BrokerError, match="is not a share group"):
        admin.delete_share_group_offsets(GROUP, ["t"])


def test_older_brokers_have_no_share_groups() -> None:
    apis = ["ShareGroupHeartbeat", "DescribeShareGroupOffsets"]
    with (
        MockCluster(without=apis) as cluster,
        ottla.Admin(cluster.bootstrap) as admin,
        pytest.raises(errors.KafkaError),
    ):
        admin.list_share_group_offsets([GROUP])
