"""``ottla.processing`` on the mock: processes that are killed, rebalances, transactions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

import ottla
from ottla.testing import Fault, MockCluster
from tests.support.jars import REPOSITORY
from tests.support.processing import (
    PROCESSORS,
    committed,
    run_to_error,
    run_until,
    running,
    written,
)
from tests.support.waiting import wait_until

_CHILD = """
import sys
from ottla.processing import Processor

def handle(record):
    if exactly_once:
        processor.producer.send("out", record.value)
    raise ValueError("bad")

exactly_once = sys.argv[2] == "True"
options = {"transactional.id": "billing-1"} if exactly_once else {}
processor = Processor(
    handle, "orders", sys.argv[1], options, group_id="billing", retry_delays=[3600],
    exactly_once=exactly_once, session_timeout_ms=6000,
)
processor.run()
"""


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


@pytest.fixture
def orders(mock_cluster: MockCluster) -> str:
    """A topic of one partition, with those of failed records and of results."""
    for name in ("orders", "orders.retry.1h", "orders.dead-letters", "out"):
        mock_cluster.create_topic(name, partitions=1)
    return "orders"


def send(cluster: MockCluster, *values: bytes) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for value in values:
            producer.send("orders", value)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_process_killed_between_the_write_and_the_commit(
    mock_cluster: MockCluster, orders: str, exactly_once: bool
) -> None:
    """At least once, the record is in its retry topic twice at most; exactly once, it is once."""
    send(mock_cluster, b"bad")
    api = "EndTxn" if exactly_once else "OffsetCommit"
    # The first commit is that of the position, and the first end that of the handler's attempt.
    fault = mock_cluster.inject(Fault.silence(), api=api, skip=1)
    command = [sys.executable, "-c", _CHILD, mock_cluster.bootstrap, str(exactly_once)]
    child = subprocess.Popen(command, cwd=REPOSITORY)
    try:
        wait_until(lambda: written(mock_cluster.bootstrap, "orders.retry.1h"))
        wait_until(lambda: mock_cluster.fault_hits(fault))
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(30)
    mock_cluster.clear_faults()
    for member in mock_cluster.members("billing"):
        mock_cluster.expire_member("billing", member.id)
    processor = _processor(mock_cluster, exactly_once)
    run_until(processor, lambda: committed(mock_cluster, "billing", orders).get(0) == 1)
    level = {"isolation_level": "read_committed"}
    copies = written(mock_cluster.bootstrap, "orders.retry.1h", **level)
    assert len(copies) == 1 if exactly_once else len(copies) in {1, 2}
    assert {each.value for each in copies} == {b"bad"}
    # What the handler has sent goes with its attempt, which failed.
    assert not written(mock_cluster.bootstrap, "out", **level)


def _processor(cluster: MockCluster, exactly_once: bool) -> Any:
    def handle(_: Any) -> None:
        raise ValueError("bad")

    options = {"transactional.id": "billing-1"} if exactly_once else {}
    return PROCESSORS["blocking"](
        handle,
        "orders",
        cluster.bootstrap,
        options,
        group_id="billing",
        retry_delays=[3600],
        exactly_once=exactly_once,
    )


def test_what_the_handler_sends_joins_the_transaction(
    mock_cluster: MockCluster, orders: str, kind: Any
) -> None:
    """A failed attempt leaves no trace but the record in its retry topic."""
    send(mock_cluster, b"a", b"bad", b"c")

    def handle(record: Any) -> None:
        processor.producer.send("out", record.value)
        if record.value == b"bad":
            raise ValueError("bad")

    processor = kind(
        handle,
        orders,
        mock_cluster.bootstrap,
        group_id="billing",
        retry_delays=[3600],
        exactly_once=True,
    )
    run_until(processor, lambda: committed(mock_cluster, "billing", orders).get(0) == 3)
    level = {"isolation_level": "read_committed"}
    assert [each.value for each in written(mock_cluster.bootstrap, "out", **level)] == [b"a", b"c"]
    (waiting,) = written(mock_cluster.bootstrap, "orders.retry.1h", **level)
    assert waiting.value == b"bad"


@pytest.mark.parametrize("api", ["EndTxn", "Produce"])
def test_a_transaction_that_fails_is_repeated(
    mock_cluster: MockCluster, orders: str, kind: Any, api: str
) -> None:
    send(mock_cluster, b"a", b"b")
    seen: list[bytes] = []

    def handle(record: Any) -> None:
        seen.append(record.value)
        processor.producer.send("out", record.value)

    processor = kind(
        handle,
        orders,
        mock_cluster.bootstrap,
        group_id="billing",
        retry_delays=[3600],
        exactly_once=True,
    )
    mock_cluster.inject(Fault.error("TRANSACTION_ABORTABLE"), api=api, times=1)
    run_until(processor, lambda: committed(mock_cluster, "billing", orders).get(0) == 2)
    results = written(mock_cluster.bootstrap, "out", isolation_level="read_committed")
    assert [each.value for each in results] == [b"a", b"b"]
    assert seen == [b"a", b"a", b"b"]


def test_waiting_records_survive_a_rebalance(mock_cluster: MockCluster, kind: Any) -> None:
    """A member that joins takes waiting records over; each is handled again, and none early."""
    mock_cluster.create_topic("orders", partitions=4)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for index in range(40):
            producer.send("orders", b"%d" % index, partition=index % 4)
    lock = threading.Lock()
    done: list[bytes] = []

    def handler(get: Any) -> Any:
        def handle(record: Any) -> None:
            if get().attempt == 1:
                raise ValueError("bad")
            with lock:
                done.append(record.value)

        return handle

    def make() -> Any:
        processor: Any = kind(
            handler(lambda: processor),
            "orders",
            mock_cluster.bootstrap,
            group_id="billing",
            retry_delays=[2],
            create_topics=True,
            heartbeat_interval_ms=50,
        )
        return processor

    first, second = make(), make()
    with running(first):
        wait_until(lambda: first.metrics()["record-retry-total"] == 40)
        assert not done
        with running(second):
            wait_until(
                lambda: (
                    [bool(each.assignment) for each in mock_cluster.members("billing")]
                    == [True, True]
                )
            )
            wait_until(lambda: len(set(done)) == 40)
    assert sum(each.metrics()["record-dead-letter-total"] for each in (first, second)) == 0
    assert set(done) == {b"%d" % index for index in range(40)}


def test_a_commit_that_fails_in_passing_is_repeated(
    mock_cluster: MockCluster, orders: str, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its partitions are another member's, or the next round commits; nothing is lost."""
    send(mock_cluster, b"a", b"b")
    mock_cluster.inject(Fault.error("ILLEGAL_GENERATION"), api="OffsetCommit", skip=1, times=1)
    seen: list[bytes] = []
    processor = kind(
        lambda each: seen.append(each.value),
        orders,
        mock_cluster.bootstrap,
        group_id="billing",
        retry_delays=[3600],
    )
    run_until(processor, lambda: committed(mock_cluster, "billing", orders).get(0) == 2)
    assert set(seen) == {b"a", b"b"}


def test_the_outcome_of_a_commit_is_not_awaited_without_limit(
    mock_cluster: MockCluster, orders: str, kind: Any
) -> None:
    """The run ends with a clear error; the next one handles the record again."""
    send(mock_cluster, b"a")
    mock_cluster.inject(Fault.silence(), api="EndTxn")
    limits = {"request_timeout_ms": 300, "delivery_timeout_ms": 500, "max_block_ms": 200}

    def make(**options: Any) -> Any:
        return kind(
            lambda each: None,
            orders,
            mock_cluster.bootstrap,
            {"transactional.id": "billing-1"},
            group_id="billing",
            retry_delays=[3600],
            exactly_once=True,
            **options,
        )

    processor = make(**limits)
    with pytest.raises(ottla.errors.TimeoutError, match=r"unknown after 0.5 s \(delivery"):
        run_to_error(processor)
    assert processor.metrics()["record-success-total"] == 0
    mock_cluster.clear_faults()
    processor = make()
    run_until(processor, lambda: committed(mock_cluster, "billing", orders).get(0) == 1)
    assert processor.metrics()["record-success-total"] == 1
