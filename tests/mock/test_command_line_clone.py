"""``ottla topics clone`` and ``ottla groups clone``."""

from __future__ import annotations

import pytest

import ottla
from ottla.admin import CommittedOffset, ConfigResource, NewTopic
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here


def run(mock_cluster: MockCluster, *arguments: str) -> CommandResult:
    return ottla_here(*arguments, "-b", mock_cluster.bootstrap)


@pytest.fixture
def source(mock_cluster: MockCluster) -> str:
    """A topic with a configuration of its own and records."""
    configs = {"retention.ms": "5000", "cleanup.policy": "compact"}
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.create_topics([NewTopic("orders", 4, 2, configs=configs)])
        throttled = {"leader.replication.throttled.replicas": "0:1"}
        admin.alter_configs({ConfigResource("topic", "orders"): throttled})
    mock_cluster.append("orders", 0, [b"x"] * 10)
    return "orders"


def test_a_topic_is_cloned_without_its_records(mock_cluster: MockCluster, source: str) -> None:
    clone = ("topics", "clone", source, "copy")
    done = run(mock_cluster, *clone, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.text.splitlines() == [
        "create topic copy: 4 partitions, 2 replicas",
        "set topic copy: cleanup.policy (none -> compact)",
        "set topic copy: retention.ms (none -> 5000)",
        "no records will be copied",
    ]
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        assert "copy" not in {each.name for each in admin.list_topics()}
        done = run(mock_cluster, *clone, "-r", "3", "-c", "retention.ms=7000")
        assert (done.code, done.err) == (0, "")
        assert done.text == (
            "created topic copy like orders: 4 partitions, 3 replicas, 2 configuration keys\n"
            "no records were copied from orders\n"
        )
        described = admin.describe_topics(["copy"])["copy"]
        assert [len(each.replicas) for each in described.partitions] == [3] * 4
        resource = ConfigResource("topic", "copy")
        configs = admin.describe_configs([resource])[resource]
        assert {key: each.value for key, each in configs.items() if not each.is_default} == {
            "cleanup.policy": "compact",
            "retention.ms": "7000",
        }
        assert admin.list_offsets({("copy", 0): "latest"})["copy", 0].offset == 0
    done = run(mock_cluster, *clone)
    assert (done.code, done.out) == (1, b"")
    assert "TOPIC_ALREADY_EXISTS" in done.err
    done = run(mock_cluster, "topics", "clone", "nosuch", "another")
    assert (done.code, done.out) == (1, b"")
    assert "nosuch" in done.err


def test_a_group_is_cloned(mock_cluster: MockCluster, source: str) -> None:
    before = {(source, 0): CommittedOffset(3, None, "note"), (source, 1): CommittedOffset(0)}
    clone = ("groups", "clone", "billing", "copy")
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("billing", before)

        def copied() -> dict[tuple[str, int], CommittedOffset]:
            return admin.list_group_offsets(["copy"])["copy"]

        done = run(mock_cluster, *clone, "--dry-run")
        assert (done.code, done.err) == (0, "")
        assert len(done.text.splitlines()) == 2
        assert copied() == {}
        done = run(mock_cluster, *clone)
        assert (done.code, done.err) == (0, "")
        assert done.text.splitlines() == [
            f"copied the offset of orders-{partition} of group billing to group copy"
            for partition in (0, 1)
        ]
        assert copied() == before
        assert run(mock_cluster, *clone).text == "nothing to change\n"

        # What it has committed itself is replaced with --yes only; the rest stays.
        admin.alter_group_offsets("copy", {(source, 0): 9, (source, 2): 0})
        done = run(mock_cluster, *clone)
        assert (done.code, done.text.count("\n")) == (1, 1)
        assert "nothing was changed" in done.err
        assert copied()[source, 0].offset == 9
        assert run(mock_cluster, *clone, "--yes").code == 0
        assert copied() == before | {(source, 2): CommittedOffset(0)}

        done = run(mock_cluster, "groups", "clone", "billing", "other", "-t", f"{source}:1")
        assert done.code == 0
        assert [*admin.list_group_offsets(["other"])["other"]] == [(source, 1)]


def test_what_cannot_be_cloned(mock_cluster: MockCluster, source: str) -> None:
    clone = ("groups", "clone", "billing")
    done = run(mock_cluster, *clone, "copy")
    assert (done.code, done.out) == (2, b"")
    assert "group billing has no committed offsets" in done.err
    mock_cluster.commit("billing", source, 0, 3)
    assert run(mock_cluster, *clone, "billing").code == 2
    assert run(mock_cluster, *clone, "copy", "-t", "elsewhere").code == 2
    config = {"group.id": "busy", "auto.offset.reset": "earliest"}
    with ottla.Consumer(mock_cluster.bootstrap, config, topics=[source]) as consumer:
        assert consumer.poll(timeout=30)
        done = run(mock_cluster, *clone, "busy")
        assert (done.code, done.out) == (1, b"")
        assert "active members" in done.err
    mock_cluster.create_topic("gone", partitions=1)
    mock_cluster.commit("billing", "gone", 0, 0)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.delete_topics(["gone"])
        mock_cluster.commit("billing", source, 1, 0)
        missing = ("gone", 0) in admin.list_group_offsets(["billing"])["billing"]
        done = run(mock_cluster, *clone, "copy")
        assert len(admin.list_group_offsets(["copy"])["copy"]) == 2
    assert done.code == (1 if missing else 0)
    assert ("not copied, the topic does not exist: gone-0" in done.err) == missing
