"""The same calls with confluent-kafka's ``AdminClient`` and with its stand-in have equal results.

On the mock they run in `make test`; on real brokers with the marker `cluster`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

import ottla.compat.confluent_kafka as stand_in
from ottla.compat.confluent_kafka.admin import (
    ClusterMetadata,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    GroupMetadata,
)
from tests.support.confluent_admin import Scenario

if TYPE_CHECKING:
    from tests.cluster.conftest import Brokers


def topics(run: Scenario) -> None:
    """Create, describe, enlarge and delete topics."""
    ck, m, admin, name = run.ck, run.admin_module, run.admin, run.name
    note = run.note
    note("validate", lambda: admin.create_topics([m.NewTopic(name, 2, 1)], validate_only=True))
    config = {"retention.ms": 7_000_000}
    note("create", lambda: admin.create_topics([m.NewTopic(name, 2, 1, config=config)]))
    note("create again", lambda: admin.create_topics([m.NewTopic(name, 2, 1)]))
    note(
        "create two",
        lambda: admin.create_topics([m.NewTopic(f"{name}-9", 1, 99), m.NewTopic(f"{name}-2", 1)]),
    )
    note("create by default", lambda: admin.create_topics([m.NewTopic(f"{name}-3")]))
    assigned = m.NewTopic(f"{name}-4", 2, replica_assignment=[[1], [2]])
    note("create assigned", lambda: admin.create_topics([assigned]))
    note("no name", lambda: admin.create_topics([m.NewTopic("")]))
    note("more", lambda: admin.create_partitions([m.NewPartitions(name, 3)]))
    less = [m.NewPartitions(name, 1), m.NewPartitions(f"{name}-no", 4)]
    note("less", lambda: admin.create_partitions(less))
    described = ck.TopicCollection([name])
    partitions = run.until(
        lambda: admin.describe_topics(described)[name].result(30).partitions,
        lambda found: len(found) == 3,
    )
    note("describe", lambda: [(e.id, e.leader is not None, len(e.isr)) for e in partitions])
    note("missing", lambda: admin.describe_topics(ck.TopicCollection([f"{name}-no"])))
    note("none", lambda: admin.describe_topics(ck.TopicCollection([])))
    listed = run.until(
        lambda: admin.list_topics(name, timeout=30),
        lambda found: len(found.topics[name].partitions) == 3,
    )
    note("list", lambda: _listed(listed))
    everything = run.until(
        lambda: admin.list_topics(timeout=30).topics, lambda found: name in found
    )
    note("list all", lambda: everything[name].error)
    one_missing, enough = (m.NewPartitions(name, 5, each) for each in ([[1]], [[1], [1]]))
    note("one replica is missing", lambda: admin.create_partitions([one_missing]))
    note("more assigned", lambda: admin.create_partitions([enough]))
    run.until(
        lambda: admin.describe_topics(described)[name].result(30).partitions,
        lambda found: [[node.id for node in each.replicas] for each in found[3:]] == [[1], [1]],
    )
    note("delete", lambda: admin.delete_topics([name, f"{name}-no"]))


def _listed(cluster: ClusterMetadata) -> object:
    topics = {
        name: (
            each.error,
            {n: (p.id, p.error, len(p.replicas)) for n, p in each.partitions.items()},
        )
        for name, each in cluster.topics.items()
    }
    return len(cluster.brokers), sorted(cluster.brokers), cluster.cluster_id is not None, topics


def configurations(run: Scenario) -> None:
    """Describe and alter configurations, as a whole and key by key."""
    m, admin, name, note = run.admin_module, run.admin, run.topic(1), run.note
    resource = m.ConfigResource("topic", name)

    def entries(retention: str) -> object:
        found = run.until(
            lambda: admin.describe_configs([resource])[resource].result(30),
            lambda found: found["retention.ms"].value == retention,
        )
        return {key: found[key] for key in keys}

    def alter(*entries: object, resource_name: str = name) -> object:
        altered = m.ConfigResource("topic", resource_name, incremental_configs=list(entries))
        return admin.incremental_alter_configs([altered])

    keys = ("retention.ms", "cleanup.policy", "max.message.bytes")
    operation = m.AlterConfigOpType
    note("first", lambda: entries("-1"))
    two = [m.ConfigResource("broker", "1"), m.ConfigResource("broker", "2")]
    note("two brokers", lambda: admin.describe_configs(two))
    note("no broker", lambda: admin.describe_configs([m.ConfigResource("broker", "x")]))
    set_time = m.ConfigEntry("retention.ms", "9000", incremental_operation=operation.SET)
    set_size = m.ConfigEntry("max.message.bytes", "5000", incremental_operation=operation.SET)
    append = m.ConfigEntry("cleanup.policy", "compact", incremental_operation=operation.APPEND)
    wrong = m.ConfigEntry("retention.ms", "x", incremental_operation=operation.SET)
    note("set", lambda: alter(set_time, set_size, append))
    note("after set", lambda: entries("9000"))
    note("wrong", lambda: alter(wrong))
    note("twice", lambda: alter(set_time, set_time))
    note("set of missing", lambda: alter(set_time, resource_name=f"{name}-no"))
    delete = m.ConfigEntry("retention.ms", None, incremental_operation=operation.DELETE)
    note("delete", lambda: alter(delete))
    note("after delete", lambda: entries("604800000"))
    replaced = m.ConfigResource("topic", name, set_config={"retention.ms": 8000})
    note("set before replacing", lambda: alter(set_size, append))
    note("replace", lambda: admin.alter_configs([replaced]))
    note("after replacing", lambda: entries("8000"))
    invalid = m.ConfigResource("topic", name, set_config={"retention.ms": "x"})
    note("replace wrongly", lambda: admin.alter_configs([invalid]))


def largest_timestamps(run: Scenario) -> None:
    """Look up the offsets of the largest timestamps."""
    ck, admin, name, note = run.ck, run.admin, run.topic(3), run.note
    run.produce(name, [1000, 4000, 2000])
    first, second = ck.TopicPartition(name, 0), ck.TopicPartition(name, 1)
    spec = run.admin_module.OffsetSpec.max_timestamp()
    note("maximum", lambda: admin.list_offsets({first: spec}))
    note("empty", lambda: admin.list_offsets({second: spec}))


def partitions(run: Scenario) -> None:
    """Look up offsets, delete records and elect leaders."""
    ck, m, admin, name, note = run.ck, run.admin_module, run.admin, run.topic(3), run.note
    run.produce(name, [1000, 4000, 2000])
    first, second = ck.TopicPartition(name, 0), ck.TopicPartition(name, 1)
    spec = m.OffsetSpec
    committed = ck.IsolationLevel.READ_COMMITTED
    note("earliest", lambda: admin.list_offsets({first: spec.earliest(), second: spec.latest()}))
    note("latest", lambda: admin.list_offsets({first: spec.latest()}, isolation_level=committed))
    note("by time", lambda: admin.list_offsets({first: spec.for_timestamp(1500)}))
    note("too late", lambda: admin.list_offsets({first: spec.for_timestamp(9500)}))
    no_topic = ck.TopicPartition(f"{name}-no", 0)
    note("nothing", lambda: admin.list_offsets({}))
    before = [ck.TopicPartition(name, 0, 2), ck.TopicPartition(name, 1, 100)]
    note("delete", lambda: admin.delete_records(before))
    note("delete all", lambda: admin.delete_records([ck.TopicPartition(name, 0, ck.OFFSET_END)]))
    note("delete twice", lambda: admin.delete_records([first, ck.TopicPartition(name, 0, 1)]))
    election = ck.ElectionType
    note("elect", lambda: admin.elect_leaders(election.PREFERRED, [first, no_topic]))
    note("elect twice", lambda: admin.elect_leaders(election.PREFERRED, [first, first]))
    note("elect none", lambda: admin.elect_leaders(election.PREFERRED, []))


def groups(run: Scenario) -> None:
    """List, describe, alter and delete groups, with and without members."""
    ck, admin, name, note = run.ck, run.admin, run.topic(2), run.note
    run.produce(name, [1000])
    member = confluent_kafka.Consumer(
        {
            "bootstrap.servers": run.bootstrap,
            "group.id": name,
            "client.id": "member",
            "auto.offset.reset": "earliest",
        }
    )
    member.subscribe([name])
    assert member.consume(1, timeout=120)
    member.commit(asynchronous=False)
    offsets = ck.ConsumerGroupTopicPartitions
    wanted = [ck.TopicPartition(name, 0), ck.TopicPartition(name, 1), ck.TopicPartition(name, 9)]

    def altered(group: str, *places: object) -> object:
        return admin.alter_consumer_group_offsets([offsets(group, list(places))])

    note("describe", lambda: _described(admin.describe_consumer_groups([name])[name].result(30)))
    note("describe missing", lambda: _state(admin.describe_consumer_groups([f"{name}-no"])))
    note("describe twice", lambda: admin.describe_consumer_groups([name, name]))
    note("list", lambda: [_listing(e) for e in _listed_groups(run) if e.group_id == name])
    stable = {ck.ConsumerGroupState.STABLE}
    note("stable", lambda: name in [e.group_id for e in _listed_groups(run, states=stable)])
    empty = {ck.ConsumerGroupState.EMPTY}
    note("empty", lambda: name in [e.group_id for e in _listed_groups(run, states=empty)])
    note("metadata", lambda: [_metadata(each) for each in admin.list_groups(name, timeout=30)])
    note("no metadata", lambda: admin.list_groups(f"{name}-no", timeout=30))
    note("offsets", lambda: admin.list_consumer_group_offsets([offsets(name)]))
    note("some offsets", lambda: admin.list_consumer_group_offsets([offsets(name, wanted)]))
    note("alter with members", lambda: altered(name, ck.TopicPartition(name, 0, 0)))
    note("delete with members", lambda: admin.delete_consumer_groups([name]))
    member.close()
    place = ck.TopicPartition(name, 0, 0, "note")
    note("alter", lambda: altered(name, place, ck.TopicPartition(f"{name}-no", 0, 3)))
    note("offsets after", lambda: admin.list_consumer_group_offsets([offsets(name)]))
    note("alter a new one", lambda: altered(f"{name}-new", place))
    note("describe a simple one", lambda: _state(admin.describe_consumer_groups([f"{name}-new"])))
    note("delete", lambda: admin.delete_consumer_groups([name, f"{name}-no"]))


def _described(group: ConsumerGroupDescription) -> object:
    members = [
        (
            each.client_id,
            each.group_instance_id,
            each.assignment.topic_partitions,
            each.target_assignment,
        )
        for each in group.members
    ]
    assignor, operations = group.partition_assignor, group.authorized_operations
    return group.group_id, group.state, group.type, assignor, operations, members


def _state(futures: object) -> object:
    assert isinstance(futures, dict)
    [future] = futures.values()
    group = future.result(30)
    simple, has_coordinator = group.is_simple_consumer_group, group.coordinator is not None
    return simple, group.state, group.type, group.members, has_coordinator


def _listed_groups(run: Scenario, **options: object) -> list[ConsumerGroupListing]:
    result = run.admin.list_consumer_groups(**options).result(30)
    assert result.errors == []
    found: list[ConsumerGroupListing] = result.valid
    return found


def _listing(group: ConsumerGroupListing) -> object:
    return group.is_simple_consumer_group, group.state, group.type


def _metadata(group: GroupMetadata) -> object:
    members = [
        (each.client_id, each.client_host, type(each.metadata), bool(each.assignment))
        for each in group.members
    ]
    return group.id, group.error, group.state, group.protocol_type, group.protocol, str(members)


def users(run: Scenario) -> None:
    """Describe and alter credentials."""
    m, admin, name, note = run.admin_module, run.admin, run.name, run.note
    sha256, sha512 = m.ScramMechanism.SCRAM_SHA_256, m.ScramMechanism.SCRAM_SHA_512

    def password(mechanism: object, iterations: int, salt: bytes | None = None) -> object:
        info = m.ScramCredentialInfo(mechanism, iterations)
        return m.UserScramCredentialUpsertion(name, info, b"secret", salt)

    alter = admin.alter_user_scram_credentials
    note("none", lambda: admin.describe_user_scram_credentials([name]))
    note("set", lambda: alter([password(sha256, 5000, b"salt")]))
    note("too few", lambda: alter([password(sha256, 100)]))
    note("unknown", lambda: alter([password(m.ScramMechanism.UNKNOWN, 5000)]))
    described = run.until(
        lambda: admin.describe_user_scram_credentials([name])[name].result(30), lambda _: True
    )
    note("describe", lambda: described)
    everyone = run.until(
        lambda: admin.describe_user_scram_credentials().result(30), lambda found: name in found
    )
    note("all", lambda: everyone[name])
    note("twice", lambda: admin.describe_user_scram_credentials([name, name]))
    note("delete", lambda: alter([m.UserScramCredentialDeletion(name, sha256)]))
    note("delete none", lambda: alter([m.UserScramCredentialDeletion(name, sha512)]))


def access(run: Scenario) -> None:
    """Create, describe and delete access control lists, or learn that there is no authorizer."""
    m, admin, name, note = run.admin_module, run.admin, run.name, run.note

    def entry(kind: str, resource: str, operation: str) -> object:
        return m.AclBinding(kind, resource, "literal", f"User:{name}", "*", operation, "allow")

    entries = [entry("topic", name, "read"), entry("broker", "kafka-cluster", "alter")]
    mine = m.AclBindingFilter("any", None, "any", f"User:{name}", None, "any", "any")
    other = m.AclBindingFilter("group", name, "match", None, None, "any", "any")
    note("create", lambda: admin.create_acls(entries))
    note("describe", lambda: sorted(admin.describe_acls(mine).result(30)))
    note("describe others", lambda: admin.describe_acls(other))
    note("delete", lambda: [sorted(f.result(30)) for f in admin.delete_acls([mine]).values()])
    note("describe none", lambda: admin.describe_acls(mine))


def cluster(run: Scenario) -> None:
    """Describe the cluster."""
    run.note("nodes", lambda: len(run.admin.describe_cluster().result(30).nodes))
    found = run.admin.describe_cluster(include_authorized_operations=True).result(30)
    run.note("operations", lambda: sorted(found.authorized_operations or []))
    run.note("controller", lambda: found.controller is not None and found.cluster_id is not None)
    run.note("length", lambda: len(run.admin))


@pytest.mark.parametrize(
    "scenario",
    [topics, configurations, largest_timestamps, partitions, groups, users, access, cluster],
)
def test_equal_traces(scenario: Callable[[Scenario], None], brokers: Brokers) -> None:
    traces = []
    for module in (confluent_kafka, stand_in):
        run = Scenario(module, brokers.bootstrap, brokers.create_topic)
        scenario(run)
        traces.append(run.trace)
    original, ours = traces
    for expected, found in zip(original, ours, strict=True):
        assert found == expected
