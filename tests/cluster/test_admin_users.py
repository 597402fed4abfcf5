"""Admin's calls about ACLs, users and quotas: on the mock, and on Kafka with its own tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from ottla.admin import (
    Acl,
    AclFilter,
    DeletePassword,
    QuotaEntity,
    ScramCredential,
    SetPassword,
)
from tests.cluster.conftest import Brokers
from tests.support.admins import admin_of_kind
from tests.support.kafka_admin import wait_until

ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "org.apache.kafka.tools.ConfigCommand"


@pytest.fixture(params=["mock", pytest.param("kafka", marks=pytest.mark.cluster)])
def brokers(request: pytest.FixtureRequest) -> Brokers:
    """The mock, then a real cluster that checks ACLs."""
    name = {"mock": "mock_cluster", "kafka": "authorizing_kafka"}
    return Brokers(request.getfixturevalue(name[request.param]))


@pytest.fixture
def admin(admin_kind: str, brokers: Brokers) -> Iterator[ottla.Admin]:
    with admin_of_kind(admin_kind, brokers.bootstrap) as admin:
        yield admin


def test_acls(admin: ottla.Admin, brokers: Brokers) -> None:
    read = Acl("topic", "orders", "User:alice", "read")
    prefixed = Acl("group", "team-", "User:bob", "all", "deny", "10.0.0.1", "prefixed")
    assert str(read) in str(admin.create_acls([read, prefixed], dry_run=True))
    assert admin.describe_acls() == []
    assert admin.create_acls([read, prefixed]) == {read: None, prefixed: None}

    def described(matching: AclFilter | None = None) -> set[Acl]:
        return set(admin.describe_acls(matching) if matching else admin.describe_acls())

    wait_until(lambda: described() == {read, prefixed}, lambda: "the entries are there")
    assert described(AclFilter(principal="User:bob")) == {prefixed}
    assert described(AclFilter("group", "team-1", pattern_type="match")) == {prefixed}
    assert described(AclFilter("topic", operation="write")) == set()
    entry = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
    brokers.assert_tool_shows([entry, "name=team-, patternType=PREFIXED"], ACLS, "--list")

    everything = AclFilter()
    assert len(admin.delete_acls([everything], dry_run=True)) == 2
    deleted = admin.delete_acls([AclFilter(principal="User:alice"), everything])
    entries = [each for each in deleted.values() if not isinstance(each, errors.KafkaError)]
    assert {acl for each in entries for acl in each} == {read, prefixed}
    wait_until(lambda: described() == set(), lambda: "the entries are gone")
    with pytest.raises(errors.ConfigError, match=r"type is .queue"):
        admin.create_acls([Acl("queue", "x", "User:a", "read")])  # type: ignore[arg-type]


def test_passwords(admin: ottla.Admin, brokers: Brokers) -> None:
    secret = SetPassword("a secret", "SCRAM-SHA-256", 8192)
    assert "a secret" not in repr(secret)
    other = SetPassword("another secret")
    assert admin.alter_user_scram_credentials({"alice": [secret, other]}) == {"alice": None}

    def alice() -> list[ScramCredential]:
        found = admin.describe_user_scram_credentials(["alice"], errors="return")["alice"]
        return [] if isinstance(found, errors.KafkaError) else found

    both = [ScramCredential("SCRAM-SHA-256", 8192), ScramCredential("SCRAM-SHA-512", 4096)]
    wait_until(lambda: alice() == both, lambda: "both passwords are there")
    expected = ["SCRAM-SHA-256=iterations=8192", "SCRAM-SHA-512=iterations=4096"]
    brokers.assert_tool_shows(expected, CONFIGS, "--describe", "--entity-type", "users")
    deletions = [DeletePassword("SCRAM-SHA-256"), DeletePassword("SCRAM-SHA-512")]
    admin.alter_user_scram_credentials({"alice": deletions})
    wait_until(lambda: alice() == [], lambda: "both passwords are gone")
    missing = admin.alter_user_scram_credentials({"nobody": deletions[:1]}, errors="return")
    assert isinstance(missing["nobody"], errors.KafkaError)
    with pytest.raises(errors.ConfigError, match="iterations"):
        admin.alter_user_scram_credentials({"alice": [SetPassword("x", iterations=1)]})


def test_quotas(admin: ottla.Admin, brokers: Brokers) -> None:
    alice = QuotaEntity(user="alice", client_id="reports")
    everyone = QuotaEntity(user="")
    limits = {alice: {"consumer_byte_rate": 1e6}, everyone: {"request_percentage": 50.0}}
    plan = admin.alter_client_quotas(limits, dry_run=True)
    assert len(plan) == 2
    assert admin.alter_client_quotas(limits) == {alice: None, everyone: None}
    wait_until(lambda: admin.describe_client_quotas() == limits, lambda: "the quotas are there")
    expected = ["request_percentage=50.0"]
    brokers.assert_tool_shows(expected, CONFIGS, "--describe", "--entity-type", "users")
    admin.alter_client_quotas(
        {alice: {"consumer_byte_rate": None}, everyone: {"request_percentage": None}}
    )
    wait_until(lambda: admin.describe_client_quotas() == {}, lambda: "the quotas are gone")
    refused = admin.alter_client_quotas({alice: {"no_such_quota": 1.0}}, errors="return")
    assert isinstance(refused[alice], errors.KafkaError)
    with pytest.raises(errors.ConfigError):
        admin.alter_client_quotas({QuotaEntity(): {"consumer_byte_rate": 1.0}})
