"""librdkafka's admin client administers the mock cluster: its APIs are not limited to what ottla's
own client needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from ottla.testing import MockCluster

TIMEOUT = 60


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(users={"admin": "secret"}) as cluster:
        cluster.create_topic("t", partitions=3)
        yield cluster


def settings(cluster: MockCluster, user: str, password: str, mechanism: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
        "log_level": 0,
    }


class Lent:
    """A client that ends with the test.

    librdkafka's ends once nothing refers to it, and an exception's traceback may.
    """

    def __init__(self, client: AdminClient) -> None:
        self.client: AdminClient | None = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


@contextmanager
def logged_in(cluster: MockCluster, user: str, password: str, mechanism: str) -> Iterator[Any]:
    lent = Lent(AdminClient(settings(cluster, user, password, mechanism)))
    yield lent
    lent.client = None


@pytest.fixture
def admin(cluster: MockCluster) -> Iterator[Any]:
    with logged_in(cluster, "admin", "secret", "PLAIN") as admin:
        yield admin


def result_of(futures: dict[Any, Any]) -> Any:
    [future] = futures.values()
    return future.result(TIMEOUT)


def altered(key: str, value: str | None, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(key, value, incremental_operation=operation)


def test_librdkafka_alters_configurations(admin: AdminClient) -> None:
    changes = [
        altered("retention.ms", "1000", AlterConfigOpType.SET),
        altered("cleanup.policy", "compact", AlterConfigOpType.APPEND),
    ]
    topic = ConfigResource(ResourceType.TOPIC, "t", incremental_configs=changes)
    result_of(admin.incremental_alter_configs([topic]))
    described = result_of(admin.describe_configs([ConfigResource(ResourceType.TOPIC, "t")]))
    assert described["retention.ms"].value == "1000"
    assert described["cleanup.policy"].value == "delete,compact"
    assert list(described["cleanup.policy"].synonyms) == ["cleanup.policy", "log.cleanup.policy"]
    assert described["segment.ms"].is_default
    broker = result_of(admin.describe_configs([ConfigResource(ResourceType.BROKER, "2")]))
    assert broker["broker.id"].value == "2"
    assert broker["num.partitions"].is_read_only
    wrong = [altered("retention.ms", "soon", AlterConfigOpType.SET)]
    topic = ConfigResource(ResourceType.TOPIC, "t", incremental_configs=wrong)
    with pytest.raises(KafkaException, match="Not a number of type LONG"):
        result_of(admin.incremental_alter_configs([topic]))


def test_librdkafka_manages_acls(admin: AdminClient) -> None:
    acls = [
        AclBinding(
            ResourceType.TOPIC,
            name,
            pattern,
            "User:alice",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        for name, pattern in (
            ("orders", ResourcePatternType.LITERAL),
            ("or", ResourcePatternType.PREFIXED),
        )
    ]
    for created in admin.create_acls(acls).values():
        created.result(TIMEOUT)

    def matching(name: str | None, pattern: ResourcePatternType) -> AclBindingFilter:
        # Its annotations lack None, which matches anything.
        nothing: Any = None
        text: Any = name
        anything = AclOperation.ANY, AclPermissionType.ANY
        return AclBindingFilter(ResourceType.ANY, text, pattern, nothing, nothing, *anything)

    everything = matching(None, ResourcePatternType.ANY)
    assert set(admin.describe_acls(everything).result(TIMEOUT)) == set(acls)
    found = admin.describe_acls(matching("ore", ResourcePatternType.MATCH)).result(TIMEOUT)
    assert found == [acls[1]]
    assert set(result_of(admin.delete_acls([everything]))) == set(acls)
    assert admin.describe_acls(everything).result(TIMEOUT) == []


def test_librdkafka_logs_in_with_a_password_that_it_has_set(
    cluster: MockCluster, admin: AdminClient
) -> None:
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 5000)
    change = UserScramCredentialUpsertion("alice", credential, b"hers")
    result_of(admin.alter_user_scram_credentials([change]))
    futures: Any = admin.describe_user_scram_credentials(["alice"])
    described = futures["alice"].result(TIMEOUT)
    [info] = described.scram_credential_infos
    assert (info.mechanism, info.iterations) == (ScramMechanism.SCRAM_SHA_512, 5000)
    with logged_in(cluster, "alice", "hers", "SCRAM-SHA-512") as alice:
        assert set(alice.list_topics(timeout=TIMEOUT).topics) == {"t"}
    deletion = UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_512)
    result_of(admin.alter_user_scram_credentials([deletion]))
    futures = admin.describe_user_scram_credentials(["alice"])
    with pytest.raises(KafkaException, match="does not exist"):
        futures["alice"].result(TIMEOUT)


def test_librdkafka_elects_leaders_and_lists_offsets(
    cluster: MockCluster, admin: AdminClient
) -> None:
    preferred = cluster.leader("t", 0)
    assert preferred is not None
    cluster.move_leader("t", 0, preferred % 3 + 1)
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    elected = admin.elect_leaders(ElectionType.PREFERRED, partitions).result(TIMEOUT)
    assert elected[partitions[0]] is None
    assert elected[partitions[1]].name() == "ELECTION_NOT_NEEDED"
    assert cluster.leader("t", 0) == preferred
    cluster.append("t", 0, [b"one", b"two"])
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    offsets = result_of(admin.list_offsets({partitions[0]: latest}))
    assert offsets.offset == 2
