"""Kafka's own tools administer the mock cluster, with Java's admin client."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ottla.testing import MockCluster, Reassignment
from tests.support.jars import REPOSITORY, class_path, java

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

CONFIGS = "org.apache.kafka.tools.ConfigCommand"
TOOLS = "org.apache.kafka.tools"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

Tool: TypeAlias = Callable[..., str]


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(users={"admin": "secret"}) as cluster:
        cluster.create_topic("t", partitions=1)
        yield cluster


def login_file(path: Path, mechanism: str, module: str, **options: str) -> Path:
    """Write the configuration of a tool that logs in."""
    written = " ".join(f'{name}="{value}"' for name, value in options.items())
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config={module} required {written};\n"
    )
    return path


def run_java(main: str, *arguments: str) -> str:
    log4j = REPOSITORY / "tests" / "support" / "log4j2.properties"
    command = [
        *(java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log4j}"),
        *("-Dottla.log.target=SYSTEM_ERR", "-Dottla.log.level=error"),
        *class_path("brokers"),
        main,
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"{command!r}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def login(tmp_path: Path) -> Path:
    """The configuration of tools that log in as the administrator."""
    return login_file(tmp_path / "admin", "PLAIN", PLAIN, username="admin", password="secret")


@pytest.fixture
def tool(cluster: MockCluster, login: Path) -> Tool:
    """Return a function that runs a tool and returns its output."""
    servers = "--bootstrap-server", cluster.bootstrap

    def run(main: str, *arguments: str, login: Path = login) -> str:
        return run_java(main, *servers, "--command-config", str(login), *arguments)

    return run


def test_configurations_users_and_quotas(tool: Tool) -> None:
    topic = "--entity-type", "topics", "--entity-name", "t"
    tool(CONFIGS, "--alter", *topic, "--add-config", "retention.ms=1000")
    shown = tool(CONFIGS, "--describe", *topic)
    assert "retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG" in shown
    brokers = "--entity-type", "brokers", "--entity-default"
    tool(CONFIGS, "--alter", *brokers, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in tool(CONFIGS, "--describe", *brokers)
    user = "--entity-type", "users", "--entity-name", "alice"
    password = "SCRAM-SHA-256=[iterations=8192,password=hers]"
    tool(CONFIGS, "--alter", *user, "--add-config", password)
    tool(CONFIGS, "--alter", *user, "--add-config", "producer_byte_rate=1000")
    shown = tool(CONFIGS, "--describe", *user)
    assert "SCRAM-SHA-256=iterations=8192" in shown
    assert "producer_byte_rate=1000.0" in shown


def test_acls(tool: Tool) -> None:
    entry = "--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders"
    tool(f"{TOOLS}.AclCommand", "--add", *entry)
    shown = tool(f"{TOOLS}.AclCommand", "--list")
    assert "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)" in shown
    tool(f"{TOOLS}.AclCommand", "--remove", "--force", *entry)
    assert "alice" not in tool(f"{TOOLS}.AclCommand", "--list")


def test_reassignments_and_elections(cluster: MockCluster, tool: Tool, tmp_path: Path) -> None:
    cluster.create_topic("single", partitions=1, replication=1)
    old = cluster.leader("single", 0)
    assert old is not None
    new = old % 3 + 1
    partition: dict[str, Any] = {"topic": "single", "partition": 0, "replicas": [new]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    cluster.hold_reassignments()
    main, file = (
        f"{TOOLS}.reassign.ReassignPartitionsCommand",
        ("--reassignment-json-file", str(plan)),
    )
    tool(main, *file, "--execute")
    assert cluster.reassignment("single", 0) == Reassignment((new,), (old,))
    assert f"single-0: replicas: {new},{old}." in tool(main, "--list")
    tool(main, *file, "--cancel")
    assert cluster.reassignment("single", 0) is None
    assert cluster.leader("single", 0) == old
    cluster.hold_reassignments(False)
    tool(main, *file, "--execute")
    assert "Reassignment of partition single-0 is completed" in tool(main, *file, "--verify")
    assert cluster.leader("single", 0) == new

    preferred = cluster.leader("t", 0)
    assert preferred is not None
    cluster.move_leader("t", 0, preferred % 3 + 1)
    everything = "--election-type", "PREFERRED", "--all-topic-partitions"
    shown = tool(f"{TOOLS}.LeaderElectionCommand", *everything)
    assert "Successfully completed leader election (PREFERRED) for partitions t-0" in shown
    assert cluster.leader("t", 0) == preferred


def test_log_directories(cluster: MockCluster, tool: Tool, tmp_path: Path) -> None:
    leader = cluster.leader("t", 0)
    assert leader is not None
    replicas = [leader, leader % 3 + 1, (leader + 1) % 3 + 1]
    partition: dict[str, Any] = {"topic": "t", "partition": 0, "replicas": replicas}
    partition["log_dirs"] = ["/var/lib/kafka-2", "any", "any"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    main = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    tool(main, "--reassignment-json-file", str(plan), "--execute")
    shown = tool(f"{TOOLS}.LogDirsCommand", "--describe", "--broker-list", str(leader))
    [line] = [line for line in shown.splitlines() if line.startswith("{")]
    [broker] = json.loads(line)["brokers"]
    found = {each["logDir"]: len(each["partitions"]) for each in broker["logDirs"]}
    assert found == {"/var/lib/kafka": 0, "/var/lib/kafka-2": 1}


def test_features_and_the_quorum(tool: Tool) -> None:
    features = f"{TOOLS}.FeatureCommand"
    tool(features, "downgrade", "--feature", "transaction.version=1")
    shown = re.sub(" +", " ", tool(features, "describe"))
    assert (
        "Feature: transaction.version SupportedMinVersion: 0 "
        "SupportedMaxVersion: 2 FinalizedVersionLevel: 1"
    ) in shown.replace("\t", " ")
    shown = tool(f"{TOOLS}.MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", shown), shown


def test_a_broker_is_unregistered(cluster: MockCluster, login: Path) -> None:
    cluster.stop_broker(3)
    arguments = "--bootstrap-server", cluster.bootstrap, "--config", str(login), "--id", "3"
    shown = run_java(f"{TOOLS}.ClusterTool", "unregister", *arguments)
    assert "Broker 3 is no longer registered." in shown


def test_delegation_tokens(tool: Tool, tmp_path: Path) -> None:
    main = f"{TOOLS}.DelegationTokenCommand"
    week = "--max-life-time-period", "-1"
    shown = tool(main, "--create", *week, "--renewer-principal", "User:bob")
    found = re.search(r"^(\S+)\s+(\S+)\s+User:admin\s", shown, re.MULTILINE)
    assert found, shown
    number, hmac = found.groups()
    own = "--describe", "--owner-principal", "User:admin"
    assert "User:bob" in tool(main, *own)
    options = {"username": number, "password": hmac, "tokenauth": "true"}
    token = login_file(tmp_path / "token", "SCRAM-SHA-256", SCRAM, **options)
    shown = tool(f"{TOOLS}.TopicCommand", "--list", login=token)
    assert shown.split() == ["t"]
    tool(main, "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    tool(main, "--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert number not in tool(main, *own)
