"""Admin refuses an item of another type by name, before anything is sent, and never its password.

Invariant: the error is a ``ConfigError`` and a ``TypeError`` that says what was expected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import ottla
from ottla.admin import RaftVoterEndpoint
from ottla.errors import ArgumentTypeError, ConfigError
from ottla.testing import MockCluster

PORT: Any = "9093"
CALLS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda admin: admin.create_topics(["orders"]), r"new_topics\[0\] is of type str: .*NewTopic"),
    (lambda admin: admin.create_topics(None), "new_topics is None: expected a list"),
    (lambda admin: admin.create_topics(["orders"], dry_run=True), r"new_topics\[0\] is of type"),
    (lambda admin: admin.create_acls([{}]), r"acls\[0\] is of type dict: expected Acl"),
    (lambda admin: admin.create_acls(["a"], dry_run=True), r"acls\[0\] is of type str"),
    (lambda admin: admin.delete_acls(["orders"]), r"filters\[0\] is of type str: .*AclFilter"),
    (lambda admin: admin.delete_acls([1], dry_run=True), r"filters\[0\] is of type int"),
    (lambda admin: admin.describe_acls("orders"), "matching is of type str: expected AclFilter"),
    (lambda admin: admin.describe_acls({}), "matching is of type dict: expected AclFilter"),
    (lambda admin: admin.describe_configs(["orders"]), r"resources\[0\] is of type str: .*Config"),
    (lambda admin: admin.describe_configs(None), "resources is None: expected a list"),
    (lambda admin: admin.alter_configs({"orders": {"a": "1"}}), "alterations: 'orders' is of type"),
    (lambda admin: admin.describe_client_quotas("alice"), "matching is of type str: .*QuotaEntity"),
    (lambda admin: admin.alter_client_quotas({"alice": {"a": 1}}), "alterations: 'alice' is of"),
    (
        lambda admin: admin.alter_user_scram_credentials({"alice": None}),
        r"alterations\['alice'\] is None: expected a list",
    ),
    (
        lambda admin: admin.alter_user_scram_credentials({"alice": ["new"]}, dry_run=True),
        r"alterations\['alice'\]\[0\] is of type str: expected SetPassword",
    ),
    (lambda admin: admin.create_delegation_token(max_lifetime=60), "max_lifetime is of type int"),
    (lambda admin: admin.create_delegation_token(owner=1), "owner is the int 1: expected a str"),
    (lambda admin: admin.renew_delegation_token(b"1", period=60), "period is of type int"),
    (lambda admin: admin.renew_delegation_token("1"), "hmac is of type str: expected bytes"),
    (lambda admin: admin.expire_delegation_token(None), "hmac is of type NoneType: expected bytes"),
    (
        lambda admin: admin.delete_groups(None),
        r'groups is None: expected a list, such as \["abc"\]',
    ),
    (lambda admin: admin.describe_groups(None), "groups is None: expected a list"),
    (lambda admin: admin.remove_group_members(1), "group is the int 1: expected a str"),
    (lambda admin: admin.remove_group_members("g", member_ids=None), "member_ids is None"),
    (lambda admin: admin.remove_group_members("g", reason=1), "reason is the int 1"),
    (lambda admin: admin.group_lag(None), "group is the NoneType None: expected a str"),
    (lambda admin: admin.delete_group_offsets("g", None), "partitions is None: expected a list"),
    (lambda admin: admin.describe_cluster(fenced="yes"), "fenced is of type str: expected True"),
    (lambda admin: admin.describe_groups(["g"], authorized_operations="yes"), "authorized_oper"),
    (lambda admin: admin.delete_groups(["g"], dry_run="false"), "dry_run is of type str"),
    (lambda admin: admin.create_partitions({5: 5}), "counts has the key 5 of type int"),
    (
        lambda admin: admin.alter_replica_log_dirs({"t": "/data"}),
        r"paths\['t'\]: expected \(topic, partition, broker\)",
    ),
    (
        lambda admin: admin.alter_replica_log_dirs({("t", 0): "/data"}, dry_run=True),
        r"paths\[\('t', 0\)\]: expected \(topic, partition, broker\)",
    ),
    (lambda admin: admin.alter_replica_log_dirs({("t", 0, 1): 5}), "is the int 5: expected a str"),
    (
        lambda admin: admin.add_raft_voter(1, "d", ["host:9093"]),
        r"endpoints\[0\] is of type str: expected RaftVoterEndpoint",
    ),
    (
        lambda admin: admin.add_raft_voter(1, "d", [RaftVoterEndpoint("C", "host", PORT)]),
        r"endpoints\[0\].port is the str '9093': expected a port",
    ),
    (lambda admin: admin.remove_raft_voter(1, None), "directory_id is the NoneType None"),
    (
        lambda admin: admin.end_prepared_transactions(["t"], commit=True, dry_run=True),
        r"transactions\[0\] is of type str: expected PreparedTransaction",
    ),
]


@pytest.mark.parametrize(("function", "message"), CALLS)
def test_an_item_of_another_type_is_refused_by_name(
    mock_cluster: MockCluster, function: Callable[[Any], Any], message: str
) -> None:
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        pytest.raises(ArgumentTypeError, match=message) as refused,
    ):
        function(admin)
    assert isinstance(refused.value, ConfigError)

    async def with_asyncio() -> None:
        async with ottla.AsyncAdmin(mock_cluster.bootstrap) as admin:
            await function(admin)

    with pytest.raises(ArgumentTypeError, match=message):
        asyncio.run(with_asyncio())


def test_a_password_in_place_of_the_alterations_is_not_shown(mock_cluster: MockCluster) -> None:
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        pytest.raises(ArgumentTypeError, match=r"alterations\['alice'\] is of type str") as refused,
    ):
        admin.alter_user_scram_credentials({"alice": "hunter2"})  # type: ignore[dict-item]
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("errors", [["raise"], {}, b"raise", None])
def test_errors_of_another_type_are_refused(mock_cluster: MockCluster, errors: Any) -> None:
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        pytest.raises(ConfigError, match='expected "raise" or "return"'),
    ):
        admin.delete_topics(["orders"], errors=errors)


def test_right_items_are_accepted(mock_cluster: MockCluster) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        new = (ottla.admin.NewTopic(name, partitions=1) for name in ("a", "b"))
        assert admin.create_topics(new) == {"a": None, "b": None}
        resource = ottla.admin.ConfigResource("topic", "a")
        assert "retention.ms" in admin.describe_configs((resource,))[resource]
        with pytest.raises(ottla.KafkaError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"):
            admin.create_delegation_token(max_lifetime=timedelta(hours=1))
