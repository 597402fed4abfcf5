"""Listings that lack something say so, and commands with several names treat each by itself."""

from __future__ import annotations

import time

import pytest

import ottla
from ottla.admin import NewTopic, SetPassword
from ottla.admin.coordinator_topics import partition_of
from ottla.admin.operation_call import Call, Request, Response
from ottla.cli.metadata_releases import LEVELS, METADATA_RELEASES
from ottla.cli.suggestions import suggestion
from ottla.errors import KafkaError
from ottla.testing import Fault, MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.ports import free_ports

BROKER = 3
"""The broker that is down."""


@pytest.fixture
def alive(mock_cluster: MockCluster, topic: str) -> str:
    """A broker of a cluster in which another is down, with all replicas of some partitions."""
    for name in ("__consumer_offsets", "__transaction_state", "lonely"):
        mock_cluster.create_topic(name, partitions=3, replication=1)
    for group in ("billing", "shipping"):
        mock_cluster.commit(group, topic, 0, 0)
        for partition in range(3):
            mock_cluster.commit(group, "lonely", partition, 0)
    mock_cluster.append(topic, 0, [b"a record"])
    mock_cluster.stop_broker(BROKER)
    return mock_cluster.brokers[1]


@pytest.fixture
def run(mock_cluster: MockCluster, topic: str) -> str:
    """A cluster with a topic and a group."""
    mock_cluster.commit("billing", topic, 0, 0)
    return mock_cluster.bootstrap


def incomplete(address: str, command: str) -> CommandResult:
    started = time.monotonic()
    done = ottla_here(*command.split(), "-b", address)
    assert done.code == 1, done
    assert done.err.startswith("ottla: "), done
    # Nothing waits for default.api.timeout.ms, which is 60 s.
    assert time.monotonic() - started < 30
    return done


def test_groups_without_coordinator_are_not_taken_for_none(alive: str) -> None:
    done = incomplete(alive, "groups list")
    assert "at least 2 groups" in done.text
    assert "1 of 3 partitions of __consumer_offsets has no leader" in done.err
    assert f"start the brokers with their replicas, {BROKER}" in done.err


def test_unknown_lags_are_not_taken_for_zero(alive: str) -> None:
    done = incomplete(alive, "groups lag")
    assert "at least 2 groups, at least lag 2" in done.text
    assert "the lag of 2 groups is unknown: LEADER_NOT_AVAILABLE" in done.err
    done = incomplete(alive, "groups lag billing")
    assert "lag at least 1 in 4 partitions; unknown in 1 partition" in done.text


def test_transactions_without_coordinator_are_not_taken_for_none(alive: str) -> None:
    done = incomplete(alive, "transactions list")
    assert "at least 0 transactional ids" in done.text
    assert "1 of 3 partitions of __transaction_state has no leader" in done.err


def test_admin_raises_unless_errors_are_returned(alive: str) -> None:
    with ottla.Admin(alive) as admin:
        for call in (admin.list_groups, admin.list_transactions):
            with pytest.raises(ottla.errors.BrokerError, match="no leader"):
                call()
        assert [each.name for each in admin.list_groups(errors="return").errors] == [
            "LEADER_NOT_AVAILABLE"
        ]
        assert len(admin.list_transactions(errors="return").errors) == 1


def test_a_broker_that_is_down_is_named(alive: str) -> None:
    assert f"broker {BROKER} is down or starting" in incomplete(alive, "brokers").err
    assert incomplete(alive, f"configs describe broker {BROKER}").out == b""
    offline = incomplete(alive, "topics describe orders lonely")
    assert "orders: 3 partitions" in offline.text
    assert "lonely: 3 partitions" in offline.text
    assert "LEADER_NOT_AVAILABLE" in offline.err
    assert "2 partitions, 0 offsets" in incomplete(alive, "offsets lonely").text


@pytest.mark.parametrize(
    ("command", "api"), [("groups list", "ListGroups"), ("transactions list", "ListTransactions")]
)
def test_a_broker_that_lists_nothing_is_named(
    mock_cluster: MockCluster, run: str, command: str, api: str
) -> None:
    mock_cluster.inject(Fault.error("CLUSTER_AUTHORIZATION_FAILED"), api=api, broker=2)
    done = incomplete(run, command)
    assert "CLUSTER_AUTHORIZATION_FAILED" in done.err
    assert "broker 2" in done.err
    assert "at least" in done.text


@pytest.mark.parametrize(
    ("command", "printed", "missing"),
    [
        ("topics describe orders order", "orders: 3 partitions", "; did you mean orders?"),
        ("topics add-partitions order orders --total 4", "topic orders has 4", "did you mean"),
        ("topics delete orders order", "delete topic orders", "did you mean orders?"),
        ("topics create new orders", "created topic new", "TOPIC_ALREADY_EXISTS"),
        ("offsets orders order", "3 partitions", "did you mean orders?"),
        ("groups describe billing biling", "billing: ", "did you mean billing?"),
        ("groups offsets billing biling", "orders-0", "did you mean billing?"),
        ("groups lag billing biling", "orders-0", "did you mean billing?"),
        ("groups delete billing biling --yes", "deleted group billing", "did you mean billing?"),
        ("configs describe topic orders cleanup.policy clean", "delete", "no key clean"),
    ],
)
def test_each_name_by_itself(run: str, command: str, printed: str, missing: str) -> None:
    done = incomplete(run, command)
    assert printed in done.text
    assert missing in done.err


def test_an_unknown_broker_is_an_error_at_once(run: str) -> None:
    started = time.monotonic()
    done = incomplete(run, "configs describe broker 9")
    assert time.monotonic() - started < 10
    assert "broker 9; the cluster has the brokers 1, 2, 3: BROKER_ID_NOT_REGISTERED" in done.err


def test_a_broker_that_left_after_it_was_found_is_not_waited_for(mock_cluster: MockCluster) -> None:
    async def ask(call: Call) -> Response | KafkaError:
        [response] = await call.send([Request("ListGroups", {}, to=BROKER)])
        return response

    with ottla.Admin(mock_cluster.brokers[1]) as admin:
        mock_cluster.stop_broker(BROKER)
        started = time.monotonic()
        error = admin._run("asking a broker", 30, ask)
    assert time.monotonic() - started < 10
    assert isinstance(error, KafkaError)
    assert f"broker {BROKER} is not in the cluster's metadata: it is down" in str(error)


def test_unknown_states_and_types_of_groups(run: str) -> None:
    for option in ("--state", "--type"):
        done = ottla_here("groups", "list", "-b", run, option, "Bogus")
        assert (done.code, done.out) == (2, b"")
        assert "'Bogus' is not a" in done.err
    assert ottla_here("groups", "list", "-b", run, "--state", "empty").code == 0


def test_offsets_beyond_the_end(mock_cluster: MockCluster, run: str, topic: str) -> None:
    mock_cluster.append(topic, 1, [b"one", b"two"])
    command = ("consume", run, "-t", topic, "-e", "-o")
    refused = ottla_here(*command, "99999999")
    assert (refused.code, refused.out) == (2, b"")
    assert "beyond the end of each partition: orders-0 at 0, orders-1 at 2" in refused.err
    partly = ottla_here(*command, "1")
    assert (partly.code, partly.text) == (0, "two\n")
    assert "-o 1 is beyond the end of orders-0 at 0, orders-2 at 0" in partly.err


def test_produce_creates_a_topic_only_if_told_to(mock_cluster: MockCluster, run: str) -> None:
    refused = ottla_here("produce", run, "-t", "order", stdin=b"a record\n")
    assert (refused.code, refused.out) == (1, b"")
    assert "did you mean orders?; nothing was written, and --create creates" in refused.err
    with ottla.Admin(run) as admin:
        assert [each.name for each in admin.list_topics()] == ["orders"]
    created = ottla_here("produce", run, "-t", "order", "--create", stdin=b"a record\n")
    assert (created.code, created.err) == (0, "ottla: created topic order\n")
    assert sum(mock_cluster.end_offset("order", each) for each in range(1)) == 1
    again = ottla_here("produce", run, "-t", "order", "--create", stdin=b"another\n")
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize("options", ["-e", "-c 1", "--last 1", "-o end"])
def test_an_unknown_topic_is_reported_once(run: str, options: str) -> None:
    done = ottla_here("consume", run, "-t", "order", *options.split())
    assert (done.code, done.out) == (1, b"")
    [line] = done.err.splitlines()
    assert line.endswith("did you mean orders?")


def test_reading_as_a_group_creates_no_topic(run: str) -> None:
    done = incomplete(run, "consume -t order -G readers -e")
    assert "did you mean orders?" in done.err
    with ottla.Admin(run) as admin:
        assert [each.name for each in admin.list_topics()] == ["orders"]


def test_metadata_levels_have_releases(run: str) -> None:
    done = ottla_here("features", "list", "-b", run)
    assert done.code == 0
    level = METADATA_RELEASES[LEVELS["4.3-IV0"]]
    assert (LEVELS["3.3-IV3"], LEVELS["4.3-IV0"], level) == (7, 30, "4.3-IV0")
    [line] = [each for each in done.text.splitlines() if each.startswith("metadata.version")]
    assert "-IV" in line


def test_one_silent_broker_does_not_hide_the_features_of_the_others(
    mock_cluster: MockCluster,
) -> None:
    [closed] = free_ports(1)
    mock_cluster.advertise(BROKER, f"127.0.0.1:{closed}")
    address = mock_cluster.brokers[1]
    done = incomplete(address, "features list -X default.api.timeout.ms=1500")
    [line] = [each for each in done.text.splitlines() if each.startswith("transaction.version")]
    assert line.endswith("1,2")
    assert f"127.0.0.1:{closed}" in done.err
    with ottla.Admin(address, {"default.api.timeout.ms": 1500}) as admin:
        found = admin.describe_features(errors="return")
        assert sorted(found.supported_features) == [1, 2]
        assert len(found.errors) == 1
        with pytest.raises(KafkaError):
            admin.describe_features()


def test_an_unknown_user_has_a_suggestion(run: str) -> None:
    with ottla.Admin(run) as admin:
        admin.alter_user_scram_credentials({"alice": [SetPassword("a password")]})
    done = incomplete(run, "users delete-password alise --yes")
    assert "did you mean alice?" in done.err
    done = incomplete(run, "users delete-password zzz --yes")
    assert "did you mean" not in done.err


def test_partitions_of_coordinator_topics() -> None:
    # Kafka's choice, seen on brokers with five partitions.
    assert [partition_of(f"group-{each}", 5) for each in range(4)] == [3, 4, 0, 1]


def test_suggestions() -> None:
    assert suggestion("Ordres", ["orders", "payments"]) == "; did you mean orders?"
    assert suggestion("x", ["orders"]) == ""


def test_creating_checks_each_topic(run: str) -> None:
    done = incomplete(run, "topics create new orders --dry-run")
    assert "create topic new" in done.text
    with ottla.Admin(run) as admin:
        assert [each.name for each in admin.list_topics()] == ["orders"]
        assert str(admin.create_topics([NewTopic("new")], dry_run=True))
