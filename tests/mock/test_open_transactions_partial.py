"""The open transactions of a cluster of which a part does not respond."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.loops import run
from tests.support.ports import free_ports

SHORT = {"default.api.timeout.ms": 400}


@pytest.fixture
def hanging(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with a transaction that hangs in each of three partitions."""
    mock_cluster.create_topic("orders", 3)
    for partition in range(3):
        mock_cluster.append_in_transaction("orders", partition, 7 + partition, [b"a record"])
    return mock_cluster


def unreachable_leader(cluster: MockCluster) -> tuple[int, str]:
    """Make the leader of partition 1 unreachable; return it and another broker's address."""
    broker = cluster.leader("orders", 1)
    assert broker is not None
    [closed] = free_ports(1)
    cluster.advertise(broker, f"127.0.0.1:{closed}")
    return broker, next(address for other, address in cluster.brokers.items() if other != broker)


def test_a_leader_that_does_not_respond_hides_nothing_of_the_others(hanging: MockCluster) -> None:
    broker, address = unreachable_leader(hanging)
    with ottla.Admin(address, SHORT) as admin:
        found = admin.list_open_transactions(["orders"], errors="return")
        assert [each.partition for each in found] == [0, 2]
        # Its broker may coordinate them, so whether they hang is unknown.
        assert [each.is_hanging for each in found] == [False, False]
        leader, coordinator = found.errors
        assert f"broker {broker} leads orders-1" in str(leader)
        assert leader.context["broker"] == broker
        assert coordinator.context["broker"] == broker
        with pytest.raises(errors.TimeoutError):
            admin.list_open_transactions(["orders"])


def test_with_asyncio(hanging: MockCluster) -> None:
    _, address = unreachable_leader(hanging)

    async def ask() -> None:
        async with ottla.AsyncAdmin(address, SHORT) as admin:
            found = await admin.list_open_transactions(["orders"], errors="return")
            assert [each.partition for each in found] == [0, 2]
            assert len(found.errors) == 2
            with pytest.raises(errors.TimeoutError):
                await admin.list_open_transactions(["orders"])

    run(ask())


def test_a_topic_that_does_not_exist_hides_nothing_of_the_others(hanging: MockCluster) -> None:
    with ottla.Admin(hanging.bootstrap) as admin:
        found = admin.list_open_transactions(["orders", "missing"], errors="return")
        assert [(each.place, each.is_hanging) for each in found] == [
            (("orders", partition, 0, 7 + partition), True) for partition in range(3)
        ]
        [missing] = found.errors
        assert isinstance(missing, errors.UnknownTopicError)
        with pytest.raises(errors.ConfigError, match='expected "raise" or "return"'):
            admin.list_open_transactions(["orders"], errors="ignore")  # type: ignore[arg-type]


def test_what_cannot_be_asked_again_stays_in_the_list(hanging: MockCluster) -> None:
    """A leader that fails after it named an open transaction does not make that one disappear."""
    with ottla.Admin(hanging.bootstrap, SHORT) as admin:
        before = admin.list_open_transactions(["orders"])
        assert [each.is_hanging for each in before] == [True, True, True]
        denied = Fault.error("TOPIC_AUTHORIZATION_FAILED")
        # The first look at each leader passes; the second one is denied.
        asked = len({hanging.leader("orders", partition) for partition in range(3)})
        hanging.inject(denied, api="DescribeProducers", skip=asked)
        found = admin.list_open_transactions(["orders"], errors="return")
        assert [each.place for each in found] == [each.place for each in before]
        assert [each.is_hanging for each in found] == [False, False, False]
        assert len(found.errors) == asked
