"""Every dry run of Admin on older Kafka: its plan, or an error that names the missing API.

Invariants: the table has every call that changes something; a dry run changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

import ottla
from ottla import errors
from ottla.admin import Plan
from tests.compat import needs
from tests.compat.admin_checks import dry_runs
from tests.compat.admin_checks.dry_runs import Scene, build_scene
from tests.compat.admin_checks.world import World
from tests.compat.needs import Needs
from tests.compat.test_older_admin import assert_names_the_missing_api, world
from tests.unit.test_dry_runs import READ_ONLY, calls

__all__ = ["world"]

pytestmark = [pytest.mark.cluster, pytest.mark.deep]


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        call: the method.
        plan: makes its plan.
        changes: how many changes the plan has; None if the brokers refuse them.
        needs: the API that it needs, if an older release lacks it.
        error: by release, what the brokers, or the plan's own checks, say otherwise.
    """

    call: str
    plan: Callable[[Scene], Plan]
    changes: int = 1
    needs: Needs | None = None
    error: dict[str, str] = dataclasses.field(default_factory=dict)


TABLE = [
    Row("create_topic", dry_runs.create_topic),
    Row("create_topics", dry_runs.create_topics),
    Row("delete_topic", dry_runs.delete_topic),
    Row("delete_topics", dry_runs.delete_topics),
    Row("delete_topics", dry_runs.delete_topics_by_id),
    Row("create_partitions", dry_runs.create_partitions),
    Row("delete_records", dry_runs.delete_records),
    Row("alter_configs", dry_runs.alter_configs),
    Row("unregister_broker", dry_runs.unregister_broker, needs=needs.UNREGISTER_BROKER),
    Row("alter_replica_log_dirs", dry_runs.alter_replica_log_dirs),
    Row("alter_partition_reassignments", dry_runs.alter_partition_reassignments),
    Row(
        "alter_partition_reassignments",
        dry_runs.keep_the_replication_factor,
        needs=needs.KEPT_REPLICATION_FACTOR,
    ),
    Row("elect_leaders", dry_runs.elect_leaders, changes=0),
    Row("add_raft_voter", dry_runs.add_raft_voter, needs=needs.ADD_RAFT_VOTER),
    Row(
        "remove_raft_voter",
        dry_runs.remove_raft_voter,
        needs=needs.REMOVE_RAFT_VOTER,
        error={"kafka-4.3": "VOTER_NOT_FOUND", "kafka-3.9": "VOTER_NOT_FOUND"},
    ),
    Row(
        "update_features",
        dry_runs.update_features,
        error={"kafka-4.3": "INVALID_UPDATE_VERSION", "kafka-2.8": "INVALID_UPDATE_VERSION"},
    ),
    Row("delete_groups", dry_runs.delete_groups),
    Row("remove_group_members", dry_runs.remove_group_members, changes=0),
    Row("alter_group_offsets", dry_runs.alter_group_offsets),
    Row("delete_group_offsets", dry_runs.delete_group_offsets),
    Row("reset_group_offsets", dry_runs.reset_group_offsets),
    Row(
        "alter_share_group_offsets",
        dry_runs.alter_share_group_offsets,
        needs=needs.ALTER_SHARE_GROUP_OFFSETS,
    ),
    Row(
        "delete_share_group_offsets",
        dry_runs.delete_share_group_offsets,
        needs=needs.DELETE_SHARE_GROUP_OFFSETS,
        error={"kafka-4.3": "GROUP_ID_NOT_FOUND"},
    ),
    Row("create_acls", dry_runs.create_acls),
    Row("delete_acls", dry_runs.delete_acls),
    Row("alter_user_scram_credentials", dry_runs.alter_user_scram_credentials),
    Row("alter_user_scram_credentials", dry_runs.delete_password),
    Row("alter_client_quotas", dry_runs.alter_client_quotas),
    Row("create_delegation_token", dry_runs.create_delegation_token),
    Row(
        "create_delegation_token",
        dry_runs.token_of_another,
        needs=needs.TOKEN_OF_ANOTHER,
    ),
    Row("renew_delegation_token", dry_runs.renew_delegation_token),
    Row("expire_delegation_token", dry_runs.expire_delegation_token),
    Row("fence_producers", dry_runs.fence_producers, needs=needs.DESCRIBE_TRANSACTIONS),
    Row(
        "end_prepared_transactions",
        dry_runs.end_prepared_transactions,
        needs=needs.DESCRIBE_TRANSACTIONS,
    ),
    Row(
        "abort_hanging_transaction",
        dry_runs.abort_hanging_transaction,
        needs=needs.LIST_TRANSACTIONS,
    ),
]


@pytest.fixture(scope="module")
def scene(world: World) -> Iterator[Scene]:
    group, name = world.new_name(), world.new_name()
    producer = ottla.Producer(world.kafka.bootstrap, transactional_id=name)
    try:
        scene = build_scene(world, producer, group)
        yield scene
        world.admin.end_prepared_transactions([scene.prepared], commit=False)
        world.user_admin.expire_delegation_token(scene.token.hmac)
        world.admin.delete_groups([group])
        world.admin.delete_topics([scene.topic, scene.hanging])
    finally:
        with suppress(errors.FencedError):
            producer.close()


@pytest.mark.parametrize("row", [pytest.param(row, id=row.plan.__name__) for row in TABLE])
def test_each_dry_run_plans_or_names_the_missing_api(row: Row, scene: Scene) -> None:
    before, release = scene.state(), scene.world.kafka.release
    if row.needs is not None and not row.needs.are_met(release):
        with pytest.raises(errors.BrokerError) as raised:
            row.plan(scene)
        assert_names_the_missing_api(raised.value, row.needs)
    elif release in row.error:
        with pytest.raises(errors.BrokerError, match=row.error[release]):
            row.plan(scene)
    else:
        plan = row.plan(scene)
        assert len(plan) == row.changes, plan
        assert len(str(plan).splitlines()) == max(1, row.changes)
    assert scene.state() == before


def test_the_table_has_every_dry_run() -> None:
    assert {row.call for row in TABLE} == calls(ottla.Admin) - READ_ONLY
