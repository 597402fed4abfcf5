"""Listings that lack something say so, and commands with several names treat each by itself."""

from __future__ import annotations

import io
import logging
import time

import pytest

import ottla
from ottla.admin import NewTopic, SetPassword
from ottla.admin.coordinator_topics import partition_of
from ottla.admin.operation_call import Call, Request, Response
from ottla.cli import waiting
from ottla.cli.metadata_releases import LEVELS, METADATA_RELEASES
from ottla.cli.suggestions import suggestion
from ottla.errors import KafkaError
from ottla.testing import Fault, MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.ports import free_ports
from tests.support.waiting import wait_until

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


@pytest.mark.parametrize(
    ("command", "printed", "lines"),
    [
        ("groups list", "at least 1 group\n", 1),
        ("offsets orders", "orders-1", 1),
        ("topics describe orders", "orders: 3 partitions", 1),
        ("transactions describe -t orders", "at least 1 open transaction\n", 2),
        ("transactions list", "at least 0 transactional ids\n", 1),
        ("brokers", "3 brokers", 1),
    ],
)
def test_what_the_other_brokers_say_is_printed(
    mock_cluster: MockCluster, run: str, command: str, printed: str, lines: int
) -> None:
    """A broker that cannot be reached is named once for each thing that it does not say."""
    led = {mock_cluster.leader("orders", each): each for each in range(3)}
    mock_cluster.append_in_transaction("orders", led[1], 7, [b"a record"])
    unreachable = 2 if mock_cluster.coordinator("billing") == BROKER else BROKER
    [closed] = free_ports(1)
    mock_cluster.advertise(unreachable, f"127.0.0.1:{closed}")
    done = incomplete(mock_cluster.brokers[1], f"{command} -X default.api.timeout.ms=400")
    assert printed in done.text
    errors = done.err.splitlines()
    assert len(errors) == lines
    assert all(f"127.0.0.1:{closed}" in each for each in errors)


def test_transactions_of_partitions_without_leader_are_not_waited_for(alive: str) -> None:
    started = time.monotonic()
    done = incomplete(alive, "transactions describe -t lonely")
    assert time.monotonic() - started < 10
    assert "at least 0 open transactions" in done.text
    [line] = done.err.splitlines()
    assert "LEADER_NOT_AVAILABLE" in line


def test_records_are_deleted_where_a_leader_responds(mock_cluster: MockCluster, alive: str) -> None:
    mock_cluster.append("lonely", 0, [b"a record"])
    done = incomplete(alive, "topics delete-records lonely --before latest --yes")
    assert done.text == "deleted records: lonely-0 before 1\n"
    assert "LEADER_NOT_AVAILABLE" in done.err


@pytest.mark.parametrize("command", ["delete-records missing --before latest", "elect-leaders no"])
def test_an_unknown_topic_is_not_said_to_need_no_change(run: str, command: str) -> None:
    assert incomplete(run, f"topics {command}").out == b""


def test_rates_without_a_partition_are_no_totals(alive: str) -> None:
    done = incomplete(alive, "topics top lonely --for 0.1s")
    assert "at least 0 records/s, at least 0 B/s" in done.text


@pytest.mark.parametrize("code", ["GROUP", "TOPIC", "TRANSACTIONAL_ID", "CLUSTER"])
def test_no_remedy_grants_something_without_a_name(
    mock_cluster: MockCluster, run: str, code: str
) -> None:
    for api in ("ListGroups", "DescribeLogDirs", "DescribeConfigs"):
        mock_cluster.inject(Fault.error(f"{code}_AUTHORIZATION_FAILED"), api=api)
    for command in ("groups list", "brokers", "configs describe broker 1"):
        done = incomplete(run, command)
        assert "AUTHORIZATION_FAILED" in done.err
        assert "''" not in done.err


def test_the_cause_of_a_wait_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SECONDS", 0.01)
    # Unlike pytest's, nothing of it is lost that another thread writes while it is read.
    monkeypatch.setattr("sys.stderr", reported := io.StringIO())
    cause = "connection refused [broker 3]"

    def warning(text: str) -> bool:
        return waiting.is_news(logging.makeLogRecord({"msg": text}))

    with waiting.report_waiting(lambda: f"broker 3 at kafka3:9092: {cause}"):
        wait_until(reported.getvalue)
        assert not warning(f"connecting to broker 3 has been failing for 2 s: {cause}")
        assert warning("connecting to broker 2 has been failing for 2 s: the host is unknown")
    assert reported.getvalue() == f"ottla: waiting for broker 3 at kafka3:9092: {cause}\n"
    assert warning(f"connecting to broker 3 has been failing for 2 s: {cause}")


def test_an_unknown_user_has_a_suggestion(run: str) -> None:
    with ottla.Admin(run) as admin:
        admin.alter_user_scram_credentials({"alice": [SetPassword("a password")]})
    done = incomplete(run, "users delete-password alise --yes")
    assert "did you mean alice?" in done.err
    done = incomplete(run, "users delete-password zzz --yes")
    assert "did you mean" not in done.err


@pytest.mark.parametrize(
    "command",
    [
        "groups clone biling copy",
        "groups reset biling --to latest",
        "groups delete-offsets biling orders",
        "groups remove-members biling --all",
    ],
)
def test_a_group_that_does_not_exist_has_a_suggestion(run: str, command: str) -> None:
    done = ottla_here(*command.split(), "-b", run)
    assert (done.code in {1, 2}, done.out) == (True, b"")
    assert done.err.endswith("; did you mean billing?\n")


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
