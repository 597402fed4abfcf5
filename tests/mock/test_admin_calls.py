"""Admin's calls when requests fail: what is repeated, what is in doubt, and what says so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

import ottla
from ottla import errors
from ottla.admin import Acl, ConfigResource, NewTopic, QuotaEntity
from ottla.testing import Fault, MockCluster
from tests.support.admins import admin_of_kind


@pytest.fixture(params=["sync", "asyncio"])
def admin(request: pytest.FixtureRequest, mock_cluster: MockCluster) -> Iterator[ottla.Admin]:
    with admin_of_kind(request.param, mock_cluster.bootstrap) as admin:
        yield admin


def test_a_lost_response_leaves_doubt(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.disconnect("after"), api="CreateTopics", times=1)
    with pytest.raises(errors.TopicExistsError) as raised:
        admin.create_topics([NewTopic("t", 1, 1)])
    assert raised.value.maybe_done
    assert admin.describe_topics(["t"])["t"].partitions


def test_a_lost_response_to_a_call_about_one_topic_leaves_doubt(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    for number, lost in enumerate(
        (
            Fault.disconnect("after"),
            Fault.error_after_handling("NOT_CONTROLLER"),
            Fault.error_after_handling("REQUEST_TIMED_OUT"),
        )
    ):
        topic = f"t-{number}"
        mock_cluster.inject(lost, api="CreateTopics", times=1)
        with pytest.raises(errors.TopicExistsError) as created:
            admin.create_topic(topic, 1)
        assert created.value.maybe_done
        with pytest.raises(errors.TopicExistsError) as existed:
            admin.create_topic(topic, 1)
        assert not existed.value.maybe_done, "another client has created it"
        mock_cluster.inject(lost, api="DeleteTopics", times=1)
        with pytest.raises(errors.UnknownTopicError) as deleted:
            admin.delete_topic(topic)
        assert deleted.value.maybe_done
        with pytest.raises(errors.UnknownTopicError) as missing:
            admin.delete_topic(topic)
        assert not missing.value.maybe_done


def test_a_principal_may_create_topics_that_it_may_not_describe(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    hidden = Fault.error("TOPIC_AUTHORIZATION_FAILED")
    for name in ("one", "many"):
        mock_cluster.inject(hidden, api="Metadata", topic=name)
    admin.create_topic("one", 2)
    assert admin.create_topics([NewTopic("many", 3)]) == {"many": None}
    mock_cluster.clear_faults()
    found = admin.describe_topics(["one", "many"])
    assert {name: len(topic.partitions) for name, topic in found.items()} == {"one": 2, "many": 3}


def test_created_topics_are_not_requested_again(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    throttled = Fault.error("THROTTLING_QUOTA_EXCEEDED")
    mock_cluster.inject(throttled, api="CreateTopics", topic="b", times=1)
    new = [NewTopic("a", 1), NewTopic("b", 1)]
    assert admin.create_topics(new) == {"a": None, "b": None}
    # A topic that exists does not prevent the others, either.
    mock_cluster.inject(throttled, api="CreateTopics", topic="c", times=1)
    created = admin.create_topics([NewTopic("a", 1), NewTopic("c", 1)], errors="return")
    assert isinstance(created["a"], errors.TopicExistsError)
    assert not created["a"].maybe_done
    assert created["c"] is None
    assert mock_cluster.request_count("CreateTopics") == 4


def test_a_lost_request_is_sent_again(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.disconnect("before"), api="CreateTopics", times=2)
    mock_cluster.inject(Fault.disconnect("after"), api="Metadata", times=2)
    created = admin.create_topics([NewTopic("t", 3, 1), NewTopic("t", 3, 1)], errors="return")
    assert set(created) == {"t"}
    assert [each.name for each in admin.list_topics()] == ["t"]


def test_a_controller_that_refuses_is_asked_again(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    mock_cluster.inject(Fault.error("NOT_CONTROLLER"), api="DeleteTopics", times=2)
    mock_cluster.create_topic("t", 1)
    assert admin.delete_topics(["t"]) == {"t": None}


def test_a_deadline_names_the_call_and_the_cause(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("t", 1)
    mock_cluster.inject(Fault.error("NOT_CONTROLLER"), api="DeleteTopics")
    began = time.monotonic()
    with pytest.raises(errors.TimeoutError, match=r"deleting topics.*NOT_CONTROLLER") as raised:
        admin.delete_topics(["t"], timeout=1)
    assert 0.5 < time.monotonic() - began < 10
    assert raised.value.maybe_done, "a controller may have resigned after it had written the change"


def test_an_unknown_topic_is_asked_for_again(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", 1)
    mock_cluster.inject(Fault.error("UNKNOWN_TOPIC_OR_PARTITION"), api="Metadata", times=2)
    assert admin.describe_topics(["t"])["t"].partitions
    began = time.monotonic()
    with pytest.raises(errors.UnknownTopicError, match="nowhere"):
        admin.describe_topics(["nowhere"])
    assert time.monotonic() - began < 10


def test_a_moved_coordinator_is_found(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", 1)
    mock_cluster.inject(Fault.error("NOT_COORDINATOR"), api="OffsetCommit", times=2)
    mock_cluster.inject(Fault.error("COORDINATOR_NOT_AVAILABLE"), api="OffsetFetch", times=2)
    admin.alter_group_offsets("g", {("t", 0): 3})
    assert admin.list_group_offsets(["g"])["g"]["t", 0].offset == 3


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"])
def test_a_coordinator_that_resigns_leaves_doubt(
    admin: ottla.Admin, mock_cluster: MockCluster, code: str
) -> None:
    mock_cluster.create_topic("t", 1)
    admin.alter_group_offsets("g", {("t", 0): 3})
    mock_cluster.inject(Fault.error_after_handling(code), api="DeleteGroups", times=1)
    with pytest.raises(errors.KafkaError, match="GROUP_ID_NOT_FOUND") as deleted:
        admin.delete_groups(["g"])
    assert deleted.value.maybe_done
    with pytest.raises(errors.KafkaError, match="GROUP_ID_NOT_FOUND") as missing:
        admin.delete_groups(["g"])
    assert not missing.value.maybe_done


def test_wrong_arguments_are_errors_before_anything_is_sent(
    admin: ottla.Admin, mock_cluster: MockCluster
) -> None:
    for call in (
        lambda: admin.create_topics([NewTopic("t", 0)]),
        lambda: admin.create_topics([NewTopic("t", 3, assignments=[[1]])]),
        lambda: admin.create_partitions({"t": 9}, assignments={"u": [[1]]}),
        lambda: admin.describe_topics(["t"], errors="ignore"),  # type: ignore[call-overload]
        lambda: admin.list_offsets({("t", 0): "first"}),  # type: ignore[dict-item]
        lambda: admin.alter_client_quotas({QuotaEntity(user="a", ip="1.2.3.4"): {"x": 1.0}}),
        lambda: admin.describe_configs([ConfigResource("table", "t")]),  # type: ignore[arg-type]
        lambda: admin.describe_topics(["t"], timeout=-1),
        lambda: admin.alter_partition_reassignments({("t", 0): [1, 1]}),
        lambda: admin.alter_partition_reassignments({("t", 0): []}, dry_run=True),
        lambda: admin.update_features({"x": 1}, downgrade="yes"),  # type: ignore[call-overload]
        lambda: admin.create_delegation_token(owner="alice"),
        lambda: admin.create_delegation_token(max_lifetime=timedelta(hours=-1)),
        lambda: admin.list_config_resources(["table"]),  # type: ignore[list-item]
        lambda: admin.create_acls([Acl("topic", "x", "alice", "read")], dry_run=True),
        lambda: admin.create_acls([Acl("topic", "", "User:alice", "read")], dry_run=True),
        lambda: admin.create_acls([Acl("cluster", "x", "User:alice", "alter")], dry_run=True),
    ):
        with pytest.raises(errors.ConfigError):
            call()
    assert list(admin.list_topics()) == []


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_a_call_that_the_brokers_lack_names_its_api(kind: str) -> None:
    with (
        MockCluster(without=["IncrementalAlterConfigs"]) as cluster,
        admin_of_kind(kind, cluster.bootstrap) as admin,
        pytest.raises(errors.BrokerError, match="IncrementalAlterConfigs"),
    ):
        admin.alter_configs({ConfigResource("topic", "t"): {"retention.ms": "1"}})


def test_a_closed_client_says_so(mock_cluster: MockCluster) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        pass
    with pytest.raises(errors.ClosedError):
        admin.list_topics(timeout=5)


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_a_plan_is_an_error_if_the_brokers_lack_the_call(kind: str) -> None:
    """Regression: the plan said what would change, and the call was UNSUPPORTED_VERSION."""
    with (
        MockCluster(brokers=1, without=["UnregisterBroker"]) as older,
        admin_of_kind(kind, older.bootstrap) as admin,
    ):
        for dry_run in (True, False):
            with pytest.raises(errors.BrokerError, match="supports no version of UnregisterBroker"):
                admin.unregister_broker(9, dry_run=dry_run)


def test_a_plan_does_not_send_the_change(admin: ottla.Admin, mock_cluster: MockCluster) -> None:
    mock_cluster.stop_broker(3)
    [change] = admin.unregister_broker(3, dry_run=True)
    assert change.resource == "broker 3"
    assert mock_cluster.request_count("UnregisterBroker") == 0
    admin.unregister_broker(3)
    assert mock_cluster.request_count("UnregisterBroker") == 1
