"""Group members with both protocols: rebalance callbacks, commits and leaving."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.consumers import KINDS, TIMEOUT, positions_of, read

ALL = [("orders", 0), ("orders", 1), ("orders", 2)]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.fixture(params=["classic", "consumer"])
def member(request: pytest.FixtureRequest, kind: Any, mock_cluster: MockCluster, topic: str) -> Any:
    """A factory of members of the group `g`."""
    assert topic == "orders"

    def make(**config: Any) -> Any:
        heartbeat = {"heartbeat_interval_ms": 100} if request.param == "classic" else {}
        options = {"group_id": "g", "auto_offset_reset": "earliest", **heartbeat, **config}
        return kind(mock_cluster.bootstrap, group_protocol=request.param, **options)

    return make


class CallbackRecorder:
    """Records rebalance callbacks and their partitions, in order."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, list[tuple[str, int]]]] = []
        self.consumers: set[type] = set()

    def record(self, what: str) -> Any:
        def callback(consumer: Any, partitions: list[tuple[str, int]]) -> None:
            self.consumers.add(type(consumer))
            self.entries.append((what, partitions))

        return callback

    def callbacks(self) -> dict[str, Any]:
        return {f"on_{what}": self.record(what) for what in ("assigned", "revoked", "lost")}

    def partitions(self, what: str) -> list[tuple[str, int]]:
        return [p for entry, partitions in self.entries if entry == what for p in partitions]


def fill(cluster: MockCluster, count: int) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for partition in range(3):
            for _ in range(count):
                producer.send("orders", b"v", partition=partition)


def poll_until(condition: Any, *consumers: Any) -> None:
    """Poll the consumers until the condition holds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)
        for consumer in consumers:
            consumer.poll(timeout=0.02)


def test_members_share_and_hand_over_partitions(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 10)
    recorder, other = CallbackRecorder(), CallbackRecorder()
    with member() as first:
        first.subscribe(["orders"], **recorder.callbacks())
        assert sorted(positions_of(read(first, 30))) == [
            (p, n) for p in range(3) for n in range(10)
        ]
        assert recorder.entries == [("assigned", ALL)]
        assert first.assignment() == ALL
        metadata = first.group_metadata()
        assert metadata.group_id == "g"
        assert metadata.generation > 0
        assert metadata.member_id
        with member() as second:
            second.subscribe(["orders"], **other.callbacks())
            poll_until(lambda: second.assignment() and len(first.assignment()) < 3, first, second)
            poll_until(
                lambda: sorted(first.assignment() + second.assignment()) == ALL, first, second
            )
            assert set(second.assignment()) <= set(recorder.partitions("revoked"))
            # The second member does not read what the first committed before the revocation.
            assert second.poll(timeout=0.2) == []
        assert other.entries[-1][0] == "revoked"
        poll_until(lambda: first.assignment() == ALL, first)
        assert first.poll(timeout=0.2) == []
    assert recorder.partitions("lost") == []
    assert sorted(recorder.partitions("revoked")[-3:]) == ALL
    assert recorder.consumers <= {ottla.Consumer, ottla.AsyncConsumer}


def test_close_commits_exactly_the_returned_records(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 100)
    with member(topics=["orders"]) as consumer:
        seen = positions_of([next(consumer) for _ in range(77)])
    with member() as reader:
        # A partition without returned records may have no committed offset.
        positions = {p: c.offset if c else 0 for p, c in reader.committed(*ALL).items()}
        assert sum(positions.values()) == 77
        assert all(positions["orders", p] == n + 1 for p, n in dict(seen).items())
        reader.subscribe(["orders"])
        rest = positions_of(read(reader, 223))
    assert sorted(seen + rest) == [(p, n) for p in range(3) for n in range(100)]


class ProcessingError(Exception):
    """An error of the application."""


def test_an_exception_in_the_with_block_commits_nothing(
    mock_cluster: MockCluster, member: Any
) -> None:
    """Regression: records that were returned but not processed were committed, and lost."""
    fill(mock_cluster, 10)

    def block() -> None:
        with member(topics=["orders"]) as consumer:
            next(consumer)
            consumer.commit({("orders", 0): 1})
            consumer.poll(timeout=TIMEOUT)
            raise ProcessingError

    with pytest.raises(ProcessingError):
        block()
    with member() as reader:
        committed = reader.committed(*ALL)
    assert committed == {ALL[0]: ottla.OffsetAndMetadata(1), ALL[1]: None, ALL[2]: None}


def test_an_exception_in_the_with_block_wins_over_a_close_failure(
    mock_cluster: MockCluster, member: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fill(mock_cluster, 1)

    def fail(_consumer: Any, _partitions: Any) -> None:
        raise ValueError("in the callback")

    consumer = member()

    def block() -> None:
        with consumer:
            consumer.subscribe(["orders"], on_revoked=fail)
            read(consumer, 3)
            raise ProcessingError

    with pytest.raises(ProcessingError):
        block()
    assert consumer.closed
    poll_until(lambda: "in the callback" in caplog.text)


def test_without_auto_commit_only_explicit_commits_count(
    mock_cluster: MockCluster, member: Any
) -> None:
    fill(mock_cluster, 10)
    with member(topics=["orders"], enable_auto_commit=False) as consumer:
        read(consumer, 30)
        assert consumer.committed() == dict.fromkeys(ALL)
        kept = ottla.OffsetAndMetadata(5, "half of it", 0)
        consumer.commit({("orders", 0): 3, ("orders", 1): kept})
        committed = consumer.committed()
        assert committed["orders", 0] == ottla.OffsetAndMetadata(3)
        assert committed["orders", 1] == kept
        assert committed["orders", 2] is None
        assert consumer.committed(("orders", 1)) == {("orders", 1): kept}
        for wrong in ({("orders", 0): -1}, {("orders", 0): "5"}, {"orders": 5}):
            with pytest.raises((TypeError, errors.ConfigError)):
                consumer.commit(wrong)
    with member(topics=["orders"], enable_auto_commit=False) as consumer:
        found = positions_of(read(consumer, 22))
        assert min(n for p, n in found if p == 0) == 3
        assert min(n for p, n in found if p == 1) == 5
        consumer.commit()
        assert {c.offset for c in consumer.committed().values()} == {10}


def test_a_rebalance_callback_exception_is_raised_from_poll(
    mock_cluster: MockCluster, member: Any
) -> None:
    fill(mock_cluster, 10)

    def fail(consumer: Any, partitions: list[tuple[str, int]]) -> None:
        raise LookupError("mine")

    with member() as consumer:
        consumer.subscribe(["orders"], on_assigned=fail)
        with pytest.raises(LookupError, match="mine"):
            poll_until(lambda: False, consumer)
        # The rebalance completes regardless.
        assert len(read(consumer, 30)) == 30


def test_callbacks_may_seek_and_pause_but_not_poll(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 10)
    poll_errors: list[BaseException] = []

    def assigned(consumer: Any, partitions: list[tuple[str, int]]) -> None:
        for topic, partition in partitions:
            consumer.seek(topic, partition, 8)
        consumer.pause(("orders", 0))
        if isinstance(consumer, ottla.Consumer):
            for call in (consumer.poll, consumer.poll_arrow, consumer.close):
                try:
                    call()
                except errors.StateError as error:
                    poll_errors.append(error)

    with member() as consumer:
        consumer.subscribe(["orders"], on_assigned=assigned)
        assert sorted(positions_of(read(consumer, 4))) == [(1, 8), (1, 9), (2, 8), (2, 9)]
        assert len(poll_errors) in {0, 3}
        consumer.resume()
        assert positions_of(read(consumer, 2)) == [(0, 8), (0, 9)]


def test_a_pattern_matches_topics_created_later(mock_cluster: MockCluster, member: Any) -> None:
    with member(metadata_max_age_ms=200) as consumer:
        consumer.subscribe(pattern="ord.*|late-.*")
        assert consumer.subscription() == "ord.*|late-.*"
        poll_until(lambda: consumer.assignment() == ALL, consumer)
        mock_cluster.create_topic("late-one", partitions=1)
        mock_cluster.create_topic("too-late-one", partitions=1)
        poll_until(lambda: consumer.assignment() == [("late-one", 0), *ALL], consumer)


def test_the_flags_of_a_compiled_pattern_count(mock_cluster: MockCluster, member: Any) -> None:
    mock_cluster.create_topic("ORDERS", partitions=1)
    with member() as consumer:
        consumer.subscribe(pattern=re.compile("ord.*", re.IGNORECASE))
        assert consumer.subscription() == "(?i)ord.*"
        poll_until(lambda: consumer.assignment() == [("ORDERS", 0), *ALL], consumer)
        with pytest.raises(errors.ArgumentTypeError, match=r"pattern is of type Pattern"):
            consumer.subscribe(pattern=re.compile(b"ord.*"))


def test_an_invalid_pattern_raises_at_once(mock_cluster: MockCluster) -> None:
    with (
        ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer,
        pytest.raises(errors.ConfigError),
    ):
        consumer.subscribe(pattern="(")


def test_unsubscribe_calls_on_revoked_and_leaves(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 1)
    recorder = CallbackRecorder()
    with member() as consumer:
        consumer.subscribe(["orders"], **recorder.callbacks())
        read(consumer, 3)
        consumer.unsubscribe()
        assert recorder.entries[-1] == ("revoked", ALL)
        assert consumer.assignment() == []
        consumer.subscribe(["orders"], **recorder.callbacks())
        poll_until(lambda: consumer.assignment() == ALL, consumer)


def test_lost_partitions_call_on_lost(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 1)
    for options in ("on_lost", "on_revoked"):
        lost: list[tuple[str, int]] = []
        with member() as consumer:
            consumer.subscribe(
                ["orders"], **{options: lambda _, partitions, lost=lost: lost.extend(partitions)}
            )
            poll_until(lambda consumer=consumer: consumer.assignment() == ALL, consumer)
            mock_cluster.expire_member("g", consumer.group_metadata().member_id)
            poll_until(lambda lost=lost: sorted(lost) == ALL, consumer)
            poll_until(lambda consumer=consumer: consumer.assignment() == ALL, consumer)


def test_a_rejected_commit_raises(mock_cluster: MockCluster, member: Any) -> None:
    fill(mock_cluster, 1)
    with member(topics=["orders"], enable_auto_commit=False) as consumer:
        read(consumer, 3)
        mock_cluster.inject(Fault.error("UNKNOWN_MEMBER_ID"), api="OffsetCommit", times=1)
        with pytest.raises(errors.KafkaError) as raised:
            consumer.commit()
        assert raised.value.name == "UNKNOWN_MEMBER_ID"


def test_commits_in_on_revoked_precede_the_next_owner(
    mock_cluster: MockCluster, member: Any
) -> None:
    # Regression: queued commits were not waited for, so the next owner started from an older offset
    # and the late commit then overwrote its own.
    mock_cluster.inject(Fault.delay(0.03), api="OffsetCommit")
    completed: list[Any] = []

    def hand_over(consumer: Any, partitions: list[tuple[str, int]]) -> None:
        for n in range(1, 11):
            offsets = dict.fromkeys(partitions, n)
            consumer.commit_async(offsets, lambda error, _: completed.append(error))

    with member(enable_auto_commit=False) as first:
        first.subscribe(["orders"], on_revoked=hand_over)
        poll_until(lambda: first.assignment() == ALL, first)
        with member(enable_auto_commit=False) as second:
            second.subscribe(["orders"])
            poll_until(lambda: second.assignment(), first, second)
            committed = mock_cluster.committed("g")
            assert {committed[partition] for partition in second.assignment()} == {10}
        poll_until(lambda: len(completed) >= 10, first)
    assert set(completed) == {None}


def test_commit_callbacks_run_in_order_in_a_later_call(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    with kind(mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        completed: list[tuple[Any, int]] = []
        for n in range(20):
            consumer.commit_async(
                {(topic, 0): n},
                lambda error, offsets: completed.append((error, offsets[topic, 0].offset)),
            )
        assert completed == []
        poll_until(lambda: len(completed) == 20, consumer)
        assert completed == [(None, n) for n in range(20)]
        assert consumer.committed()[topic, 0].offset == 19
        mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="OffsetCommit", times=1)
        failed: list[Any] = []
        consumer.commit_async({(topic, 0): 20}, lambda error, offsets: failed.append(error))
        poll_until(lambda: failed, consumer)
        assert isinstance(failed[0], errors.AuthorizationError)

        def fail(error: Any, offsets: Any) -> None:
            raise LookupError("mine")

        consumer.commit_async({(topic, 0): 21}, fail)
        with pytest.raises(LookupError, match="mine"):
            poll_until(lambda: False, consumer)


def test_close_waits_for_async_commits_and_calls_back(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    mock_cluster.inject(Fault.delay(0.3), api="OffsetCommit")
    completed: list[tuple[Any, int]] = []

    def note(error: Any, offsets: Any) -> None:
        completed.append((error, offsets[topic, 0].offset))

    consumer = kind(mock_cluster.bootstrap, group_id="g", enable_auto_commit=False)
    with consumer:
        consumer.assign([(topic, 0)])
        consumer.commit_async({(topic, 0): 1}, note)
        consumer.commit_async({(topic, 0): 2}, note)
    assert completed == [(None, 1), (None, 2)]
    assert mock_cluster.committed("g") == {(topic, 0): 2}


def test_a_commit_callback_may_be_a_coroutine(mock_cluster: MockCluster, topic: str) -> None:
    completed: list[tuple[str, Any]] = []

    async def run() -> None:
        async with ottla.AsyncConsumer(mock_cluster.bootstrap, group_id="g") as consumer:
            consumer.assign([(topic, 0)])

            async def note(error: Any, offsets: Any) -> None:
                await asyncio.sleep(0)
                completed.append(("begun", error))
                # The callback may await other calls of the consumer.
                committed = await consumer.committed((topic, 0))
                completed.append(("done", committed[topic, 0]))

            consumer.commit_async({(topic, 0): 5}, note)
            deadline = time.monotonic() + TIMEOUT
            while len(completed) < 2 and time.monotonic() < deadline:
                await consumer.poll(timeout=0.05)

    asyncio.run(run())
    assert completed == [("begun", None), ("done", ottla.OffsetAndMetadata(5))]
