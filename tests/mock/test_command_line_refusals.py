"""Each command that manages a cluster when the cluster refuses, and when names are hostile."""

from __future__ import annotations

from pathlib import Path

import pytest

import ottla
from ottla.admin import Acl, SetPassword
from ottla.testing import Fault, MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.ports import free_ports

CLUSTER, TOPIC, GROUP = (f"{kind}_AUTHORIZATION_FAILED" for kind in ("CLUSTER", "TOPIC", "GROUP"))
COMMANDS = [
    ("topics describe orders", "Metadata", TOPIC),
    ("topics create new", "CreateTopics", TOPIC),
    ("topics add-partitions orders --total 9", "CreatePartitions", TOPIC),
    ("topics delete-records orders --before latest --yes", "DeleteRecords", TOPIC),
    ("topics delete orders --yes", "DeleteTopics", TOPIC),
    ("topics reassign orders --to 3,2 -r 2 --yes", "AlterPartitionReassignments", CLUSTER),
    ("topics reassignments", "ListPartitionReassignments", CLUSTER),
    ("topics elect-leaders orders", "ElectLeaders", CLUSTER),
    ("offsets orders", "ListOffsets", TOPIC),
    ("groups list", "ListGroups", CLUSTER),
    ("groups describe billing", "DescribeGroups", GROUP),
    ("groups lag billing", "OffsetFetch", GROUP),
    ("groups offsets billing", "OffsetFetch", GROUP),
    ("groups reset billing --to latest --yes", "OffsetCommit", GROUP),
    ("groups delete-offsets billing orders --yes", "OffsetDelete", GROUP),
    ("groups delete billing --yes", "DeleteGroups", GROUP),
    ("configs describe topic orders", "DescribeConfigs", TOPIC),
    ("configs set topic orders retention.ms=1", "IncrementalAlterConfigs", TOPIC),
    ("configs unset topic orders retention.ms", "IncrementalAlterConfigs", TOPIC),
    ("quorum describe", "DescribeQuorum", CLUSTER),
    ("features update transaction.version=1 --downgrade safe --yes", "UpdateFeatures", CLUSTER),
    ("acls list", "DescribeAcls", CLUSTER),
    ("acls create --principal User:a --allow read --topic t", "CreateAcls", CLUSTER),
    ("acls delete --principal User:alice --yes", "DeleteAcls", CLUSTER),
    ("users list", "DescribeUserScramCredentials", CLUSTER),
    ("users set-password bob --password-file password", "AlterUserScramCredentials", CLUSTER),
    ("users delete-password alice --yes", "AlterUserScramCredentials", CLUSTER),
    ("quotas list", "DescribeClientQuotas", CLUSTER),
    ("quotas set --user alice consumer_byte_rate=9", "AlterClientQuotas", CLUSTER),
]


@pytest.fixture
def cluster(
    mock_cluster: MockCluster, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MockCluster:
    """A cluster with a topic, a group, an ACL and a user; broker 2 leads all partitions."""
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("billing", {(topic, 0): 0})
        admin.create_acls([Acl("topic", topic, "User:alice", "read")])
        admin.alter_user_scram_credentials({"alice": [SetPassword("a password")]})
    mock_cluster.append(topic, 0, [b"a record"])
    for partition in range(3):
        mock_cluster.move_leader(topic, partition, 2)
    (tmp_path / "password").write_text("a password")
    monkeypatch.chdir(tmp_path)
    return mock_cluster


def run(command: str, bootstrap: str) -> CommandResult:
    return ottla_here(*command.split(), "-b", bootstrap)


def state(cluster: MockCluster) -> list[str]:
    """What the commands would change."""
    commands = (
        "topics describe orders --json",
        "topics list --json",
        "groups offsets billing --json",
        "configs describe topic orders --json",
        "features list --json",
        "acls list --json",
        "users list --json",
        "quotas list --json",
    )
    return [run(command, cluster.bootstrap).text for command in commands]


@pytest.mark.parametrize(("command", "api", "error"), COMMANDS, ids=[each[0] for each in COMMANDS])
def test_a_refusal_is_clear_and_changes_nothing(
    cluster: MockCluster, command: str, api: str, error: str
) -> None:
    before = state(cluster)
    cluster.inject(Fault.error(error), api=api)
    done = run(command, cluster.bootstrap)
    cluster.clear_faults()
    assert done.code == 1
    assert error in done.err
    assert "Traceback" not in done.err
    assert state(cluster) == before


@pytest.mark.parametrize("command", [each[0] for each in COMMANDS])
def test_a_cluster_that_is_not_there(cluster: MockCluster, command: str) -> None:
    [closed] = free_ports(1)
    done = run(command, f"127.0.0.1:{closed}")
    assert (done.code, done.out) == (1, b"")
    assert "connection refused" in done.err
    assert "Traceback" not in done.err


def test_names_cannot_control_the_terminal(cluster: MockCluster, topic: str) -> None:
    hostile = "group\x1b[2J\x07"
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.alter_group_offsets(hostile, {(topic, 0): 0})
    shown = [
        ottla_here("groups", *arguments, "-b", cluster.bootstrap)
        for arguments in (
            ("list",),
            ("lag",),
            ("lag", hostile),
            ("describe", hostile),
            ("reset", hostile, "--to", "latest"),
            ("reset", hostile, "--to", "latest", "--yes"),
            ("delete-offsets", hostile, topic),
            ("delete-offsets", hostile, topic, "--yes"),
            ("delete", hostile, "--yes"),
            ("delete", hostile, "--yes"),
        )
    ]
    for done in shown:
        assert "\x1b" not in done.text + done.err
        assert "\x07" not in done.text + done.err
    assert r"group\x1b[2J\x07" in shown[0].text
