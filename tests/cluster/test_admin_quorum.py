"""Admin's calls about the KRaft quorum and features, on Kafka; its own tools show the same."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import ottla
from ottla import errors
from ottla.admin import RaftVoterEndpoint, SupportedVersionRange
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
DIRECTORY = "Vx2rNbq5QmGlMNb4WPUZ0w"
FEATURE = "transaction.version"


def of_tool(kafka: KafkaCluster, main: str, *arguments: str) -> str:
    return kafka.run_tool(main, "--bootstrap-server", kafka.bootstrap, *arguments)


def test_the_quorum(admin: ottla.Admin, kafka: KafkaCluster) -> None:
    quorum = admin.describe_metadata_quorum()
    shown = of_tool(kafka, QUORUM, "describe", "--status")
    assert re.search(rf"LeaderId:\s+{quorum.leader_id}\n", shown), shown
    assert re.search(rf"LeaderEpoch:\s+{quorum.leader_epoch}\n", shown), shown
    mark = re.search(r"HighWatermark:\s+(\d+)\n", shown)
    assert mark is not None
    assert 0 < quorum.high_watermark <= int(mark[1])
    assert [each.replica_id for each in quorum.voters] == [1, 2, 3]
    now = time.time() * 1000
    for voter in quorum.voters:
        assert voter.log_end_offset is not None
        assert (voter.lag == 0) or voter.replica_id != quorum.leader_id
        assert voter.directory_id is None, "the quorum is static"
        assert now - 120_000 < (voter.last_fetch_ms or 0) < now + 5_000
    assert quorum.observers == []
    for broker, node in kafka.nodes.items():
        port = int(node.properties["listeners"].rpartition(":")[2])
        assert quorum.endpoints[broker] == [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", port)]
    assert quorum.voters.to_arrow().column("replica_id").to_pylist() == [1, 2, 3]


def test_a_static_quorum_keeps_its_voters(admin: ottla.Admin) -> None:
    endpoint = RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 1)
    with pytest.raises(errors.BrokerError, match=r"kraft.version feature is 0"):
        admin.add_raft_voter(4, DIRECTORY, [endpoint])
    with pytest.raises(errors.BrokerError, match=r"kraft.version feature is 0"):
        admin.remove_raft_voter(3, DIRECTORY)
    plan = admin.add_raft_voter(4, DIRECTORY, [endpoint], dry_run=True)
    added = f"add voter 4 with directory {DIRECTORY}: 3 of 4 must be alive"
    assert str(plan) == f"{added} (1, 2, 3 -> 1, 2, 3, 4)"
    with pytest.raises(errors.BrokerError, match=r"voter 3 with .*DUPLICATE_VOTER"):
        admin.add_raft_voter(3, DIRECTORY, [endpoint], dry_run=True)
    with pytest.raises(errors.BrokerError, match=r"voter 3 with .*VOTER_NOT_FOUND"):
        admin.remove_raft_voter(3, DIRECTORY, dry_run=True)
    with pytest.raises(errors.ConfigError, match="voter_directory_id"):
        admin.remove_raft_voter(3, "not an id")


def test_features(admin: ottla.Admin, kafka: KafkaCluster) -> None:
    kafka.set_transaction_version(2)
    before = admin.describe_features()
    assert before.finalized_features[FEATURE] == 2
    assert before.finalized_features_epoch is not None
    assert list(before.supported_features) == [1, 2, 3]
    for supported in before.supported_features.values():
        assert supported[FEATURE] == SupportedVersionRange(0, 2)
    with pytest.raises(errors.BrokerError, match="Can't downgrade"):
        admin.update_features({FEATURE: 1})
    refused = admin.update_features({FEATURE: 9, "nonsense": 1}, errors="return")
    assert all(isinstance(each, errors.BrokerError) for each in refused.values())
    with pytest.raises(errors.BrokerError, match="only supports versions 0-2"):
        admin.update_features({FEATURE: 9}, dry_run=True)
    with pytest.raises(errors.ConfigError, match="downgrade is 'yes'"):
        admin.update_features({FEATURE: 1}, downgrade="yes")  # type: ignore[call-overload]
    plan = admin.update_features({FEATURE: 1}, downgrade="safe", dry_run=True)
    assert str(plan) == f"downgrade feature {FEATURE} (2 -> 1)"
    assert admin.describe_features().finalized_features[FEATURE] == 2
    try:
        assert admin.update_features({FEATURE: 1}, downgrade="safe") == {FEATURE: None}
        wait_until(
            lambda: admin.describe_features().finalized_features[FEATURE] == 1,
            lambda: "level 1 is finalized",
        )
        epoch = admin.describe_features().finalized_features_epoch
        assert epoch is not None
        assert epoch > before.finalized_features_epoch
        shown = of_tool(kafka, FEATURES, "describe")
        line = rf"{FEATURE}\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 2\s+"
        assert re.search(line + r"FinalizedVersionLevel: 1\s", shown), shown
    finally:
        plan = admin.update_features({FEATURE: 2}, dry_run=True)
        admin.update_features({FEATURE: 2})
    assert str(plan) == f"upgrade feature {FEATURE} (1 -> 2)"


@contextmanager
def dynamic_quorum() -> Iterator[tuple[KafkaCluster, str]]:
    """Yield a cluster with one voter, broker 1, and the address of the controller of broker 2."""
    cluster = KafkaCluster(2)
    controllers = {
        broker: node.properties["listeners"].rpartition("/")[2]
        for broker, node in cluster.nodes.items()
    }
    for broker, node in cluster.nodes.items():
        node.properties["controller.quorum.voters"] = ""
        node.properties["controller.quorum.bootstrap.servers"] = controllers[1]
        node.format_arguments = ["--standalone" if broker == 1 else "--no-initial-controllers"]
    with cluster:
        yield cluster, controllers[2]


@pytest.mark.deep
def test_voters_of_a_dynamic_quorum() -> None:
    with dynamic_quorum() as (kafka, address), ottla.Admin(kafka.bootstrap) as admin:
        quorum = admin.describe_metadata_quorum()
        [first], [second] = quorum.voters, quorum.observers
        assert (first.replica_id, second.replica_id, quorum.leader_id) == (1, 2, 1)
        properties = (kafka.nodes[2].directory / "data" / "meta.properties").read_text()
        assert f"directory.id={second.directory_id}\n" in properties
        assert admin.describe_features().finalized_features["kraft.version"] == 1
        directory = second.directory_id or ""
        host, _, port = address.rpartition(":")
        endpoints = [RaftVoterEndpoint("CONTROLLER", host, int(port))]

        def voters() -> list[int]:
            return [each.replica_id for each in admin.describe_metadata_quorum().voters]

        plan = admin.add_raft_voter(2, directory, endpoints, dry_run=True)
        added = f"add voter 2 with directory {directory}: 2 of 2 must be alive (1 -> 1, 2)"
        assert str(plan) == added
        with pytest.raises(errors.BrokerError, match="INCONSISTENT_CLUSTER_ID"):
            admin.add_raft_voter(2, directory, endpoints, cluster_id="another")
        assert voters() == [1]
        admin.add_raft_voter(2, directory, endpoints)
        wait_until(lambda: voters() == [1, 2], lambda: f"2 is a voter: {voters()}")
        assert admin.describe_metadata_quorum().endpoints[2] == endpoints
        status = of_tool(kafka, QUORUM, "describe", "--status")
        assert f'"id": 2, "directoryId": "{directory}"' in status
        with pytest.raises(errors.BrokerError, match="DUPLICATE_VOTER"):
            admin.add_raft_voter(2, directory, endpoints)
        with pytest.raises(errors.BrokerError, match="VOTER_NOT_FOUND"):
            admin.remove_raft_voter(2, DIRECTORY)
        plan = admin.remove_raft_voter(2, directory, dry_run=True)
        removed = f"remove voter 2 with directory {directory}: 1 of 1 must be alive (1, 2 -> 1)"
        assert str(plan) == removed
        admin.remove_raft_voter(2, directory)
        wait_until(lambda: voters() == [1], lambda: f"2 is no voter: {voters()}")
