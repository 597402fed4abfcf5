"""``ottla quorum`` and ``features``: on the mock and on Kafka; its own tools show the same."""

from __future__ import annotations

import json
import re

import pytest

from ottla.testing import MockCluster
from tests.cluster.conftest import Brokers
from tests.cluster.test_admin_quorum import (
    DIRECTORY,
    FEATURE,
    FEATURES,
    QUORUM,
    dynamic_quorum,
    of_tool,
)
from tests.cluster.test_command_line_topics import lines, run, run_well
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

ROLES = (["leader"], ["voter"], ["observer"])
ENDPOINT = ("--endpoint", "CONTROLLER://127.0.0.1:1")


def test_the_quorum_is_described(brokers: Brokers) -> None:
    quorum = json.loads(run_well(brokers, "quorum", "describe", "--json"))
    assert [each["replica_id"] for each in quorum["voters"]] == [1, 2, 3]
    assert quorum["observers"] == []
    text = run_well(brokers, "quorum", "describe")
    # The leader may have changed.
    first = re.match(r"leader (\d), epoch \d+, high watermark \d+\n", text)
    assert first is not None, text
    table = lines(text)
    roles = {row[0]: row[1] for row in table if row[1:2] in ROLES}
    assert roles == {node: "leader" if node == first[1] else "voter" for node in ("1", "2", "3")}
    [leader] = [row for row in table if row[1:2] == ["leader"]]
    assert leader[3:] == ["0", "0", "s", "0", "s"]
    assert "3 voters, of which 2 must be alive" in text
    assert [row[1] for row in table if row[1:2] == ["CONTROLLER"]] == ["CONTROLLER"] * 3
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_change_of_voters_is_refused(brokers: Brokers) -> None:
    with_directory = ("--directory", DIRECTORY)
    addition = ("quorum", "add-voter", "4", *with_directory, *ENDPOINT)
    if brokers.is_mock:
        done = run(brokers, *addition)
        assert (done.code, done.out) == (1, b"")
        assert "supports no version of AddRaftVoter" in done.err
        return
    shown = run(brokers, *addition)
    assert shown.code == 1
    assert shown.text == (
        f"add voter 4 with directory {DIRECTORY}: 3 of 4 must be alive (1, 2, 3 -> 1, 2, 3, 4)\n"
    )
    assert shown.err == "ottla: nothing was changed; repeat with --yes\n"
    for arguments, code, message in (
        ((*addition, "--yes"), 1, "kraft.version feature is 0"),
        (("quorum", "remove-voter", "3", *with_directory, "--yes"), 1, "VOTER_NOT_FOUND"),
        (("quorum", "remove-voter", "3", "--yes"), 2, "the quorum is static"),
        (("quorum", "remove-voter", "9"), 2, "the quorum has no voter 9; its voters are: 1, 2, 3"),
        (("quorum", "add-voter", "4", *ENDPOINT), 2, "no observer 4; its observers are: none"),
    ):
        done = run(brokers, *arguments)
        assert (done.code, done.out) == (code, b"")
        assert message in done.err


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:1", "C://host", "C://host:0", "C://host:70000", "C://a:b:1", "C://:1"]
)
def test_an_endpoint_names_a_listener_and_an_address(
    mock_cluster: MockCluster, endpoint: str
) -> None:
    done = run(Brokers(mock_cluster), "quorum", "add-voter", "4", "--endpoint", endpoint)
    assert (done.code, done.out) == (2, b"")
    assert "expected LISTENER://HOST:PORT" in done.err


@pytest.mark.cluster
@pytest.mark.deep
def test_voters_of_a_dynamic_quorum() -> None:
    with dynamic_quorum() as (kafka, address):
        brokers = Brokers(kafka)

        def rows() -> dict[str, list[str]]:
            table = lines(run_well(brokers, "quorum", "describe"))
            return {row[0]: row for row in table if row[1:2] in ROLES}

        assert [rows()[node][1] for node in ("1", "2")] == ["leader", "observer"]
        directory = rows()["2"][2]
        addition = ("quorum", "add-voter", "2", "--endpoint", f"CONTROLLER://{address}")
        planned = f"add voter 2 with directory {directory}: 2 of 2 must be alive (1 -> 1, 2)\n"
        shown = run(brokers, *addition)
        assert (shown.code, shown.text) == (1, planned)
        assert rows()["2"][1] == "observer"
        added = f"added voter 2 with directory {directory}\n"
        assert run_well(brokers, *addition, "--yes") == added
        wait_until(lambda: rows()["2"][1] == "voter", lambda: f"2 is a voter: {rows()}")
        text = run_well(brokers, "quorum", "describe")
        assert ["2", "CONTROLLER", address] in lines(text)
        assert all(len(line) <= 80 for line in text.splitlines())
        status = of_tool(kafka, QUORUM, "describe", "--replication")
        tool = {row[0]: row for row in lines(status) if row and row[0].isdecimal()}
        assert {node: (row[1], row[-1]) for node, row in tool.items()} == {
            node: (row[2], {"leader": "Leader", "voter": "Follower"}[row[1]])
            for node, row in rows().items()
        }
        removal = ("quorum", "remove-voter", "2")
        planned = f"remove voter 2 with directory {directory}: 1 of 1 must be alive (1, 2 -> 1)\n"
        shown = run(brokers, *removal)
        assert (shown.code, shown.text) == (1, planned)
        removed = f"removed voter 2 with directory {directory}\n"
        assert run_well(brokers, *removal, "--yes") == removed
        wait_until(lambda: rows()["2"][1] == "observer", lambda: f"2 is an observer: {rows()}")
        status = of_tool(kafka, QUORUM, "describe", "--status")
        assert f'"directoryId": "{directory}"' in status.split("CurrentObservers")[1]


def features(brokers: Brokers) -> dict[str, list[str]]:
    """The rows of ``ottla features list``, by feature."""
    rows = lines(run_well(brokers, "features", "list"))
    return {row[0]: row[1:] for row in rows if row[2:3] != ["by"] and len(row) > 4}


def test_features_are_listed(brokers: Brokers) -> None:
    brokers.set_transaction_version(2)
    assert features(brokers)[FEATURE] == ["2", "0", "to", "2", "all"]
    text = run_well(brokers, "features", "list")
    assert re.search(r"\n\d+ features, epoch \d+\n$", text), text
    assert all(len(line) <= 80 for line in text.splitlines())
    plain = json.loads(run_well(brokers, "features", "list", "--json"))
    assert plain["finalized_features"][FEATURE] == 2
    assert plain["supported_features"]["3"][FEATURE] == {"min_version": 0, "max_version": 2}


def test_a_level_is_not_lowered_by_mistake(brokers: Brokers) -> None:
    brokers.set_transaction_version(2)
    shown = run(brokers, "features", "update", f"{FEATURE}=1", "--downgrade", "safe")
    assert (shown.code, shown.text) == (1, f"downgrade feature {FEATURE} (2 -> 1)\n")
    assert shown.err == "ottla: nothing was changed; repeat with --yes\n"
    assert features(brokers)[FEATURE][0] == "2"
    assert run_well(brokers, "features", "update", f"{FEATURE}=2") == "nothing to change\n"
    for arguments, code, message in (
        ((f"{FEATURE}=1", "--yes"), 1, "INVALID_UPDATE_VERSION"),
        ((f"{FEATURE}=9",), 1, "INVALID_UPDATE_VERSION"),
        (("nonsense=1", "--yes"), 1, "nonsense"),
        ((f"{FEATURE}=high",), 2, "expected a level"),
        ((f"{FEATURE}=-1",), 2, "expected a level"),
        ((f"{FEATURE}=99999",), 2, "expected a level"),
        ((FEATURE,), 2, "expected FEATURE=LEVEL"),
        ((f"{FEATURE}=1", f"{FEATURE}=2"), 2, "is given twice"),
        ((f"{FEATURE}=1", "--downgrade", "maybe"), 2, "invalid choice"),
    ):
        done = run(brokers, "features", "update", *arguments)
        assert (done.code, done.out) == (code, b""), done
        assert message in done.err
    assert features(brokers)[FEATURE][0] == "2"


def test_levels_are_updated(mock_cluster: MockCluster) -> None:
    update(Brokers(mock_cluster))


@pytest.mark.cluster
@pytest.mark.deep
def test_levels_are_updated_on_kafka(kafka: KafkaCluster) -> None:
    brokers = Brokers(kafka)
    brokers.set_transaction_version(2)
    try:
        update(brokers)
        shown = of_tool(kafka, FEATURES, "describe")
        assert re.search(rf"{FEATURE}\s.*FinalizedVersionLevel: 1\s", shown), shown
    finally:
        run_well(brokers, "features", "update", f"{FEATURE}=2", "--yes")


def update(brokers: Brokers) -> None:
    """Lower a level."""
    change = ("features", "update", f"{FEATURE}=1", "--downgrade", "safe", "--yes")
    assert run_well(brokers, *change) == f"set the level of {FEATURE} to 1\n"
    wait_until(lambda: features(brokers)[FEATURE][0] == "1", lambda: "level 1 is listed")
