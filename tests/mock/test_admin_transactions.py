"""Admin on transactions when brokers fail, and the commands, on the mock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

import ottla
from ottla import errors
from ottla.admin import CommittedOffset
from ottla.testing import Fault, MockCluster
from tests.support.command import ottla as command
from tests.support.loops import run


@contextmanager
def open_transaction(
    mock_cluster: MockCluster, topic: str, transactional_id: str = "billing-7"
) -> Iterator[ottla.Producer]:
    """A producer with an open transaction in partition 1, which the block may fence."""
    producer = ottla.Producer(mock_cluster.bootstrap, transactional_id=transactional_id)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"open", partition=1).result(timeout=10)
    try:
        yield producer
    finally:
        with suppress(errors.FencedError):
            producer.close()


def test_coordinators_that_load_or_move_are_asked_again(
    mock_cluster: MockCluster, topic: str
) -> None:
    with open_transaction(mock_cluster, topic), ottla.Admin(mock_cluster.bootstrap) as admin:
        loading = Fault.error("COORDINATOR_LOAD_IN_PROGRESS")
        mock_cluster.inject(loading, api="ListTransactions", times=2)
        mock_cluster.inject(Fault.disconnect(), api="ListTransactions", times=1)
        assert [each.state for each in admin.list_transactions()] == ["Ongoing"]
        mock_cluster.inject(Fault.error("NOT_COORDINATOR"), api="DescribeTransactions", times=2)
        mock_cluster.inject(Fault.disconnect(), api="DescribeTransactions", times=1)
        assert admin.describe_transactions(["billing-7"])["billing-7"].state == "Ongoing"
        mock_cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="DescribeProducers", times=2)
        assert len(admin.list_open_transactions([topic])) == 1
        mock_cluster.inject(Fault.error("CONCURRENT_TRANSACTIONS"), api="InitProducerId", times=2)
        admin.fence_producers(["billing-7"])
        assert admin.list_open_transactions([topic]) == []


def test_a_broker_that_stays_down_fails_the_list_and_one_id(mock_cluster: MockCluster) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        mock_cluster.inject(Fault.error("COORDINATOR_NOT_AVAILABLE"), api="ListTransactions")
        with pytest.raises(errors.TimeoutError, match="listing transactions"):
            admin.list_transactions(timeout=0.5)
        admin.fence_producers(["a", "b"])
        mock_cluster.inject(Fault.error("COORDINATOR_NOT_AVAILABLE"), api="FindCoordinator")
        results = admin.describe_transactions(["a", "b"], errors="return", timeout=0.5)
        assert [type(result) for result in results.values()] == [errors.TimeoutError] * 2


def test_denied_requests(mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        denied = Fault.error("TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
        mock_cluster.inject(denied, api="DescribeTransactions", times=1)
        with pytest.raises(errors.AuthorizationError, match="billing-7"):
            admin.describe_transactions(["billing-7"])
        mock_cluster.append_in_transaction(topic, 1, 99, [b"hanging"])
        denied = Fault.error("CLUSTER_AUTHORIZATION_FAILED")
        mock_cluster.inject(denied, api="WriteTxnMarkers", times=1)
        with pytest.raises(errors.AuthorizationError, match="ClusterAction"):
            admin.abort_hanging_transaction(topic, 1, 0)
        admin.abort_hanging_transaction(topic, 1, 0)


def test_older_brokers() -> None:
    absent = ["ListTransactions", "DescribeTransactions", "DescribeProducers"]
    with (
        MockCluster(brokers=1, without=absent) as cluster,
        ottla.Admin(cluster.bootstrap) as admin,
    ):
        cluster.create_topic("t")
        with pytest.raises(
            errors.BrokerError, match="supports no version of ListTransactions"
        ) as error:
            admin.list_transactions()
        assert error.value.code == 35
        with pytest.raises(errors.BrokerError, match="supports no version of DescribeTransactions"):
            admin.describe_transactions(["x"])
        with pytest.raises(errors.BrokerError, match="supports no version of DescribeProducers"):
            admin.list_open_transactions(["t"])


def test_async_admin_connects_with_its_first_call(mock_cluster: MockCluster) -> None:
    async def use() -> None:
        admin = ottla.AsyncAdmin(mock_cluster.bootstrap)
        await admin.fence_producers(["a"])
        assert [each.transactional_id for each in await admin.list_transactions()] == ["a"]
        await admin.create_topic("t", 2)
        await admin.alter_group_offsets("g", {("t", 1): 0})
        committed = await admin.list_group_offsets(["g"])
        assert committed == {"g": {("t", 1): CommittedOffset(0)}}
        await admin.delete_topic("t")
        with pytest.raises(errors.ConfigError, match="expected 1 or more"):
            await admin.create_topic("t", 0)
        await admin.connect()
        await admin.close()

    run(use())


def test_list_and_describe_as_tables_and_json(mock_cluster: MockCluster, topic: str) -> None:
    where = mock_cluster.bootstrap
    with open_transaction(mock_cluster, topic):
        done = command("transactions", "list", where, "--state", "Ongoing")
        assert (done.code, done.err) == (0, "")
        assert done.text.splitlines()[1].split()[:2] == ["billing-7", "Ongoing"]
        [listed] = json.loads(command("transactions", "list", where, "--json").text)
        assert listed["transactional_id"] == "billing-7"
        done = command("transactions", "describe", where, "--id", "billing-7")
        cells = done.text.splitlines()[1].split()
        assert (cells[:2], cells[-1]) == (["billing-7", "Ongoing"], "orders-1")
        decoded = command("transactions", "describe", where, "--id", "billing-7", "--json").text
        [described] = json.loads(decoded)
        assert described["timeout"] == 60.0
        assert described["partitions"] == [{"topic": "orders", "partition": 1}]
        done = command("transactions", "describe", where, "-t", topic)
        assert (done.code, done.err) == (0, "")
        assert "billing-7" in done.text
        assert "1 open transaction" in done.text
        mock_cluster.append_in_transaction(topic, 0, 99, [b"hanging"])
        done = command("transactions", "describe", where, "-t", topic)
        assert (done.code, done.err) == (0, "")
        assert f"ottla transactions abort -t {topic} -p 0 --start-offset 0" in done.text
        found = json.loads(command("transactions", "describe", where, "-t", topic, "--json").text)
        assert [each["is_hanging"] for each in found] == [True, False]


def test_abort_changes_nothing_without_yes(mock_cluster: MockCluster, topic: str) -> None:
    where = mock_cluster.bootstrap
    with open_transaction(mock_cluster, topic) as producer:
        done = command("transactions", "abort", where, "--id", "billing-7")
        assert (done.code, done.err) == (1, "ottla: nothing was changed; repeat with --yes\n")
        assert done.text.startswith("fence transactional id billing-7: producer id ")
        assert "aborts its transaction in orders 1 (epoch 0 -> a newer epoch)" in done.text
        producer.commit_transaction()
        done = command("transactions", "abort", where, "--id", "billing-7", "--yes")
        assert done.code == 1
        assert "has no open transaction: its state is CompleteCommit" in done.err
        producer.begin_transaction()
        producer.send(topic, b"again", partition=1).result(timeout=10)
        done = command("transactions", "abort", where, "--id", "billing-7", "--yes")
        assert (done.code, done.err) == (0, "")
        with pytest.raises(errors.FencedError):
            producer.commit_transaction()


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["abort", "--id", "missing"], 1, "TRANSACTIONAL_ID_NOT_FOUND"),
        (["abort", "-t", "orders", "-p", "1"], 2, "-t needs -p and --start-offset"),
        (["abort", "--id", "x", "-p", "1"], 2, "belong to -t"),
        (["abort", "-t", "orders", "-p", "1", "--start-offset", "5"], 1, "no open transaction"),
        (["describe", "-t", "missing"], 1, "UNKNOWN_TOPIC"),
        (["describe"], 2, "one of the arguments --id --topic"),
        (["list", "--state", "Nonsense"], 2, "is not a state of transactions"),
    ],
)
def test_wrong_commands(
    mock_cluster: MockCluster, topic: str, arguments: list[str], code: int, expected: str
) -> None:
    subcommand, *rest = arguments
    short = ("-X", "default.api.timeout.ms=2000", "-X", "request.timeout.ms=1000")
    done = command("transactions", subcommand, mock_cluster.bootstrap, *rest, *short)
    assert (done.code, done.text) == (code, "")
    assert expected in done.err
    assert topic == "orders"
