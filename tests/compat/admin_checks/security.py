"""Checks of the calls about ACLs, users, quotas and delegation tokens."""

from __future__ import annotations

from datetime import timedelta

from ottla import errors
from ottla.admin import (
    Acl,
    AclFilter,
    DeletePassword,
    QuotaEntity,
    ScramCredential,
    SetPassword,
)
from tests.compat.admin_checks.world import World
from tests.support.kafka_admin import wait_until


def describe_acls(world: World) -> None:
    assert world.admin.describe_acls(AclFilter(principal="User:nobody")) == []


def create_acls(world: World) -> None:
    acl = Acl("topic", world.new_name(), "User:bob", "read", pattern_type="prefixed")
    matching = AclFilter(resource_name=acl.resource_name)
    assert len(world.admin.create_acls([acl], dry_run=True)) == 1
    assert world.admin.create_acls([acl]) == {acl: None}
    wait_until(lambda: world.admin.describe_acls(matching) == [acl], lambda: "the entry is there")
    assert world.admin.delete_acls([matching]) == {matching: [acl]}


def describe_user_scram_credentials(world: World) -> None:
    missing = world.new_name()
    described = world.admin.describe_user_scram_credentials([missing], errors="return")
    assert isinstance(described[missing], errors.BrokerError)


def alter_user_scram_credentials(world: World) -> None:
    user = world.new_name()
    secret = SetPassword("a secret", "SCRAM-SHA-256", 8192)
    assert world.admin.alter_user_scram_credentials({user: [secret]}) == {user: None}
    credential = [ScramCredential("SCRAM-SHA-256", 8192)]
    wait_until(
        lambda: (
            credential == world.admin.describe_user_scram_credentials([user], errors="return")[user]
        ),
        lambda: "the password is there",
    )
    world.admin.alter_user_scram_credentials({user: [DeletePassword("SCRAM-SHA-256")]})


def describe_client_quotas(world: World) -> None:
    assert world.admin.describe_client_quotas(QuotaEntity(user=world.new_name())) == {}


def alter_client_quotas(world: World) -> None:
    entity = QuotaEntity(user=world.new_name())
    limits = {entity: {"consumer_byte_rate": 1e6}}
    assert len(world.admin.alter_client_quotas(limits, dry_run=True)) == 1
    assert world.admin.alter_client_quotas(limits) == {entity: None}
    wait_until(
        lambda: world.admin.describe_client_quotas(entity) == limits, lambda: "the quota is there"
    )
    world.admin.alter_client_quotas({entity: {"consumer_byte_rate": None}})


def delegation_tokens(world: World) -> None:
    admin, me = world.user_admin, "User:alice"
    token = admin.create_delegation_token(renewers=["User:bob"], max_lifetime=timedelta(hours=2))
    assert (token.owner, token.renewers) == (me, ["User:bob"])

    def described() -> list[bytes]:
        return [each.hmac for each in admin.describe_delegation_token([me])]

    wait_until(lambda: described() == [token.hmac], lambda: "the token is there")
    soon = admin.renew_delegation_token(token.hmac, period=timedelta(hours=1))
    assert token.issue_timestamp_ms < soon < token.max_timestamp_ms
    assert admin.expire_delegation_token(token.hmac) < soon
    wait_until(lambda: described() == [], lambda: "the token is gone")


def token_of_another(world: World) -> None:
    token = world.user_admin.create_delegation_token(owner="User:carol", renewers=["User:alice"])
    assert (token.owner, token.requester) == ("User:carol", "User:alice")
    world.user_admin.expire_delegation_token(token.hmac)
