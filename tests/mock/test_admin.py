"""Admin creates and deletes topics and raises typed errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster


def test_create_and_delete_topics(mock_cluster: MockCluster) -> None:
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        ottla.Client(mock_cluster.bootstrap) as client,
    ):
        admin.create_topic("t", 4, 2, {"cleanup.policy": "compact"}, timeout=5)
        partitions = client.cluster(["t"], timeout=5).topics["t"].partitions
        assert [len(p.replicas) for p in partitions.values()] == [2] * 4
        assert all(p.leader for p in partitions.values())
        admin.create_topic("defaults")
        admin.delete_topic("t")
        assert client.topic_names() == ["defaults"]


def test_wrong_calls_raise(mock_cluster: MockCluster) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.create_topic("t")
        call: Callable[[], object]
        for call in (
            lambda: admin.create_topic("t"),
            lambda: admin.create_topic("x", partitions=0),
            lambda: admin.create_topic("x", replication=9),
            lambda: admin.create_topic("not legal!"),
        ):
            with pytest.raises(errors.KafkaError) as raised:
                call()
            assert not isinstance(raised.value, errors.TimeoutError), raised.value
        with pytest.raises(errors.UnknownTopicError, match="nowhere"):
            admin.delete_topic("nowhere", timeout=2)
        mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="CreateTopics")
        with pytest.raises(errors.AuthorizationError):
            admin.create_topic("secret")
        assert repr(admin)


def test_shared_client_stays_open(mock_cluster: MockCluster) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        with ottla.Admin(client) as admin:
            admin.create_topic("t")
        assert client.topic_names() == ["t"]
        with pytest.raises(errors.ConfigError, match="takes its configuration"):
            ottla.Admin(client, client_id="x")
    with pytest.raises(errors.ClosedError):
        admin.create_topic("u")
