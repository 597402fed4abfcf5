"""Responses with items that were not asked for, without asked items, and with items twice.

The requests go to the mock cluster; its responses are edited on their way back. Invariant: what was
not asked for is ignored, and an item that is missing is a typed error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

import ottla
from ottla.admin import (
    Acl,
    AclFilter,
    ConfigResource,
    DeletePassword,
    NewTopic,
    QuotaEntity,
    SetPassword,
    operation_runners,
)
from ottla.admin.operation_call import BlockingCall
from ottla.errors import KafkaError, ProtocolError
from ottla.testing import MockCluster

T = ("t", 0)
REPLICA = ("t", 0, 1)
USER = QuotaEntity(user="u")
ACL = Acl("topic", "t", "User:u", "read")
TOPIC = ConfigResource("topic", "t")

Operation = Callable[[ottla.Admin], Any]

# With every operation, how to call it, and the items of its result.
READS: dict[str, tuple[Operation, set[Any] | None]] = {
    "describe_acls": (lambda a: a.describe_acls(AclFilter()), None),
    "describe_client_quotas": (lambda a: a.describe_client_quotas(), None),
    "describe_cluster": (lambda a: a.describe_cluster(), None),
    "describe_configs": (lambda a: a.describe_configs([TOPIC], errors="return"), {TOPIC}),
    "describe_delegation_token": (lambda a: a.describe_delegation_token(), None),
    "describe_features": (lambda a: a.describe_features(), None),
    "describe_groups": (lambda a: a.describe_groups(["g"], errors="return"), {"g"}),
    "describe_log_dirs": (lambda a: a.describe_log_dirs([1], errors="return"), {1}),
    "describe_metadata_quorum": (lambda a: a.describe_metadata_quorum(), None),
    "describe_topics": (lambda a: a.describe_topics(["t"], errors="return"), {"t"}),
    "describe_user_scram_credentials": (
        lambda a: a.describe_user_scram_credentials(["u"], errors="return"),
        {"u"},
    ),
    "all users": (lambda a: a.describe_user_scram_credentials(errors="return"), None),
    "group_lag": (lambda a: a.group_lag("g"), None),
    "list_config_resources": (lambda a: a.list_config_resources(), None),
    "list_group_offsets": (lambda a: a.list_group_offsets(["g"], errors="return"), {"g"}),
    "list_groups": (lambda a: a.list_groups(), None),
    "list_partition_reassignments": (lambda a: a.list_partition_reassignments(), None),
    "list_share_group_offsets": (
        lambda a: a.list_share_group_offsets(["s"], errors="return"),
        {"s"},
    ),
    "list_topics": (lambda a: a.list_topics(), None),
}
WRITES: dict[str, tuple[Operation, set[Any] | None]] = {
    "alter_client_quotas": (
        lambda a: a.alter_client_quotas({USER: {"producer_byte_rate": 1e6}}, errors="return"),
        {USER},
    ),
    "alter_configs": (
        lambda a: a.alter_configs({TOPIC: {"retention.ms": "1000"}}, errors="return"),
        {TOPIC},
    ),
    "alter_group_offsets": (lambda a: a.alter_group_offsets("g", {T: 1}, errors="return"), {T}),
    "alter_partition_reassignments": (
        lambda a: a.alter_partition_reassignments({T: [1]}, errors="return"),
        {T},
    ),
    "alter_replica_log_dirs": (
        lambda a: a.alter_replica_log_dirs({REPLICA: "/data"}, errors="return"),
        {REPLICA},
    ),
    "alter_share_group_offsets": (
        lambda a: a.alter_share_group_offsets("s", {T: 1}, errors="return"),
        {T},
    ),
    "alter_user_scram_credentials": (
        lambda a: a.alter_user_scram_credentials(
            {"u": [DeletePassword("SCRAM-SHA-256")]}, errors="return"
        ),
        {"u"},
    ),
    "create_acls": (
        lambda a: a.create_acls([ACL], errors="return"),
        None,
    ),
    "create_partitions": (lambda a: a.create_partitions({"t": 3}, errors="return"), {"t"}),
    "create_topics": (lambda a: a.create_topics([NewTopic("new")], errors="return"), {"new"}),
    "delete_acls": (lambda a: a.delete_acls([AclFilter()], errors="return"), {AclFilter()}),
    "delete_group_offsets": (lambda a: a.delete_group_offsets("g", [T], errors="return"), {T}),
    "delete_groups": (lambda a: a.delete_groups(["g"], errors="return"), {"g"}),
    "delete_records": (lambda a: a.delete_records({T: 1}, errors="return"), {T}),
    "delete_share_group_offsets": (
        lambda a: a.delete_share_group_offsets("s", ["t"], errors="return"),
        {"t"},
    ),
    "delete_topics": (lambda a: a.delete_topics(["t"], errors="return"), {"t"}),
    "elect_leaders": (lambda a: a.elect_leaders([T], errors="return"), {T}),
    "remove_group_members": (
        lambda a: a.remove_group_members("g", member_ids=["m"], errors="return"),
        None,
    ),
    "reset_group_offsets": (lambda a: a.reset_group_offsets("g", "earliest", [T]), None),
    "update_features": (
        lambda a: a.update_features({"transaction.version": 2}, errors="return"),
        {"transaction.version"},
    ),
}


# Operations for which a response without items is complete, or whose items come from the metadata.
MAY_BE_EMPTY = {
    "delete_share_group_offsets",  # The group does not exist.
    "describe_log_dirs",  # A broker without directories.
    "describe_topics",
    "update_features",  # Since Kafka 4.0, one result for all.
}


def lists(body: Any) -> Iterator[list[Any]]:
    """Yield every list of items in a message, the innermost first."""
    for value in body.values() if isinstance(body, dict) else body:
        if isinstance(value, (dict, list)):
            yield from lists(value)
    if isinstance(body, list) and body and isinstance(body[0], dict):
        yield body


def other(value: Any, name: str = "") -> Any:
    """Return what identifies something else."""
    match value:
        case dict():
            return {key: other(each, key) for key, each in value.items()}
        case list():
            return [other(each) for each in value]
        case str():
            return f"other {value}"
        case bool() | float() | bytes() | None:
            return value
        case int() if name not in {"error_code", "leader_epoch"}:
            return value + 90
    return value


def add_others(body: Any) -> None:
    for items in list(lists(body)):
        items.append(other(deepcopy(items[-1])))
        items.insert(0, other(deepcopy(items[-1])))


def double(body: Any) -> None:
    for items in list(lists(body)):
        items.extend(deepcopy(items))


def leave_out(body: Any) -> None:
    for items in list(lists(body)):
        items.clear()


@pytest.fixture
def admin(mock_cluster: MockCluster) -> Iterator[ottla.Admin]:
    mock_cluster.create_topic("t", partitions=2)
    mock_cluster.append("t", 0, [b"0", b"1"])
    mock_cluster.commit("g", "t", 0, 1)
    with ottla.Admin(mock_cluster.bootstrap, default_api_timeout_ms=3000) as admin:
        admin.create_acls([ACL])
        admin.alter_user_scram_credentials({"u": [SetPassword("secret", "SCRAM-SHA-256")]})
        yield admin


def edit(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None], spare: set[str]) -> None:
    """Change the responses of all calls, except those of some APIs."""

    class EditingCall(BlockingCall):
        async def _send(self, requests: Any) -> Any:
            responses = await super()._send(requests)
            for request, response in zip(requests, responses, strict=True):
                if not isinstance(response, KafkaError) and request[0] not in spare:
                    change(response[1])
            return responses

    monkeypatch.setattr(operation_runners, "BlockingCall", EditingCall)


def results(operation: Operation, admin: ottla.Admin) -> Any:
    try:
        return operation(admin)
    except KafkaError as error:
        return error


@pytest.mark.parametrize("name", [*READS, *WRITES])
@pytest.mark.parametrize("change", [add_others, double])
def test_what_was_not_asked_for_is_ignored(
    name: str, change: Callable[[Any], None], admin: ottla.Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, items = (READS | WRITES)[name]
    expected: Any = results(operation, admin) if name in READS else None
    edit(monkeypatch, change, {"Metadata"})
    found = results(operation, admin)
    if items is not None and not isinstance(found, KafkaError):
        assert set(found) == items
        if name in READS:
            assert [type(each) for each in found.values()] == [
                type(each) for each in expected.values()
            ]
    elif isinstance(found, KafkaError):
        assert isinstance(found, (ProtocolError, type(expected))), found


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_an_item_that_a_response_lacks_is_a_typed_error(
    name: str, admin: ottla.Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, items = (READS | WRITES)[name]
    edit(monkeypatch, leave_out, {"Metadata", "FindCoordinator"})
    found = results(operation, admin)
    if items is not None and not isinstance(found, KafkaError) and name not in MAY_BE_EMPTY:
        assert set(found) == items
        assert all(isinstance(each, ProtocolError) for each in found.values()), found
