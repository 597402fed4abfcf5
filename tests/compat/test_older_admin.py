"""Every call of Admin on older Kafka: a right result, or an error that names the missing API.

Invariant: the table has every call; a call that is not in it fails a test.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

import ottla
from ottla import errors
from tests.compat import needs
from tests.compat.admin_checks import cluster, groups, security, topics, transactions
from tests.compat.admin_checks.world import World
from tests.compat.conftest import PASSWORD, USER, OlderKafka
from tests.compat.needs import Needs

pytestmark = pytest.mark.cluster


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        call: the method.
        check: calls it and checks the result.
        needs: the API that it needs, if an older release lacks it.
    """

    call: str
    check: Callable[[World], None]
    needs: Needs | None = None


TABLE = [
    Row("create_topic", topics.create_topic),
    Row("delete_topic", topics.delete_topic),
    Row("create_topics", topics.create_topics),
    Row("delete_topics", topics.delete_topics),
    Row("delete_topics", topics.delete_topics_by_id),
    Row("list_topics", topics.list_topics),
    Row("describe_topics", topics.describe_topics),
    Row("create_partitions", topics.create_partitions),
    Row("delete_records", topics.delete_records),
    Row("describe_configs", topics.describe_configs),
    Row("alter_configs", topics.alter_configs),
    Row(
        "list_config_resources",
        topics.list_config_resources,
        needs.LIST_CONFIG_RESOURCES,
    ),
    Row(
        "list_config_resources",
        topics.list_all_config_resources,
        needs.LIST_ALL_CONFIG_RESOURCES,
    ),
    Row("list_offsets", topics.list_offsets),
    Row("list_offsets", topics.list_the_largest_timestamp, needs.LARGEST_TIMESTAMP),
    Row("describe_cluster", cluster.describe_cluster),
    Row("unregister_broker", cluster.unregister_broker, needs.UNREGISTER_BROKER),
    Row("describe_log_dirs", cluster.describe_log_dirs),
    Row("alter_replica_log_dirs", cluster.alter_replica_log_dirs),
    Row("alter_partition_reassignments", cluster.alter_partition_reassignments),
    Row(
        "alter_partition_reassignments",
        cluster.keep_the_replication_factor,
        needs.KEPT_REPLICATION_FACTOR,
    ),
    Row("list_partition_reassignments", cluster.list_partition_reassignments),
    Row("elect_leaders", cluster.elect_leaders),
    Row(
        "describe_metadata_quorum",
        cluster.describe_metadata_quorum,
        needs.DESCRIBE_QUORUM,
    ),
    Row("add_raft_voter", cluster.add_raft_voter, needs.ADD_RAFT_VOTER),
    Row("remove_raft_voter", cluster.remove_raft_voter, needs.REMOVE_RAFT_VOTER),
    Row("describe_features", cluster.describe_features),
    Row("update_features", cluster.update_features),
    Row("list_groups", groups.list_groups),
    Row("describe_groups", groups.describe_groups),
    Row("delete_groups", groups.delete_groups),
    Row("remove_group_members", groups.remove_group_members),
    Row("list_group_offsets", groups.list_group_offsets),
    Row("alter_group_offsets", groups.alter_group_offsets),
    Row("delete_group_offsets", groups.delete_group_offsets),
    Row("reset_group_offsets", groups.reset_group_offsets),
    Row("group_lag", groups.group_lag),
    Row(
        "list_share_group_offsets",
        groups.list_share_group_offsets,
        needs.DESCRIBE_SHARE_GROUP_OFFSETS,
    ),
    Row(
        "alter_share_group_offsets",
        groups.alter_share_group_offsets,
        needs.ALTER_SHARE_GROUP_OFFSETS,
    ),
    Row(
        "delete_share_group_offsets",
        groups.delete_share_group_offsets,
        needs.DELETE_SHARE_GROUP_OFFSETS,
    ),
    Row("describe_acls", security.describe_acls),
    Row("create_acls", security.create_acls),
    Row("delete_acls", security.create_acls),
    Row("describe_user_scram_credentials", security.describe_user_scram_credentials),
    Row("alter_user_scram_credentials", security.alter_user_scram_credentials),
    Row("describe_client_quotas", security.describe_client_quotas),
    Row("alter_client_quotas", security.alter_client_quotas),
    Row("create_delegation_token", security.delegation_tokens),
    Row("renew_delegation_token", security.delegation_tokens),
    Row("expire_delegation_token", security.delegation_tokens),
    Row("describe_delegation_token", security.delegation_tokens),
    Row(
        "create_delegation_token",
        security.token_of_another,
        needs.TOKEN_OF_ANOTHER,
    ),
    Row("list_transactions", transactions.list_transactions, needs.LIST_TRANSACTIONS),
    Row(
        "describe_transactions",
        transactions.describe_transactions,
        needs.DESCRIBE_TRANSACTIONS,
    ),
    Row("describe_producers", transactions.describe_producers),
    Row("list_open_transactions", transactions.list_open_transactions),
    Row("fence_producers", transactions.fence_producers),
    Row("end_prepared_transactions", transactions.end_prepared_transactions),
    Row("abort_hanging_transaction", transactions.abort_hanging_transaction),
]
# What else the error of a missing API says.
SAYS = {"ListConfigResources": "before Kafka 4.1, brokers list client_metrics only"}
# Closing sends nothing.
LOCAL = {"close", "set_sasl_credentials"}
# A check of several calls runs once.
ROWS = {row.check: row for row in TABLE}.values()


@pytest.fixture(scope="module")
def world(older_kafka: OlderKafka) -> Iterator[World]:
    topic = f"older-admin-{uuid.uuid4().hex[:12]}"
    older_kafka.create_topic(topic, 3, 3, {"retention.ms": "-1"})
    with ottla.Producer(older_kafka.bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"x", partition=0, timestamp=1000 + number)
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }
    with (
        ottla.Admin(older_kafka.bootstrap) as admin,
        ottla.Admin(older_kafka.sasl_bootstrap, login) as user_admin,
    ):
        yield World(older_kafka, admin, user_admin, topic)
    older_kafka.delete_topic(topic)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.check.__name__) for row in ROWS])
def test_each_call_works_or_names_the_missing_api(row: Row, world: World) -> None:
    if row.needs is None or row.needs.are_met(world.kafka.release):
        row.check(world)
        return
    with pytest.raises(errors.BrokerError) as raised:
        row.check(world)
    assert_names_the_missing_api(raised.value, row.needs)


def assert_names_the_missing_api(error: errors.KafkaError, needs: Needs) -> None:
    """Assert that an error names the API, its release, the broker, and the versions it offers."""
    message, api = str(error), needs.api
    if "no version" in message:
        assert "Kafka {}.{}".format(*needs.since) in message, message
    assert error.name == "UNSUPPORTED_VERSION", message
    if said := SAYS.get(api):
        assert said in message, message
    offers = rf"supports (no version|versions \d+ to \d+) of {api}\b"
    up_to = rf"supports {api} up to version \d+"
    field = rf"does not exist in version \d+ of {api}\b"
    assert re.search(f"{offers}|{up_to}|{field}", message), message
    assert re.search(r"broker \d|127\.0\.0\.1:\d+", message), message


def test_the_table_has_every_call() -> None:
    public = {
        name
        for kind in (ottla.Admin, ottla.AsyncAdmin)
        for name in dir(kind)
        if not name.startswith("_")
    }
    assert public - LOCAL - {"connect"} == {row.call for row in TABLE}
