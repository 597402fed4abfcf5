"""Interceptors see what a poll returns and may replace it, learn of commits, and break no poll."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.interceptors import ConsumerInterceptor
from ottla.testing import Fault, MockCluster
from tests.support.consumers import KINDS, read

VALUES = [b"a", b"b", b"c"]


class RecordingInterceptor(ConsumerInterceptor):
    """Records every call."""

    def __init__(self) -> None:
        self.configs: dict[str, str] = {}
        self.polls = 0
        self.seen: list[list[bytes]] = []
        self.batches: list[int] = []
        self.commits: list[dict[tuple[str, int], int]] = []
        self.threads: set[str] = set()
        self.closed = 0

    def configure(self, configs: Any) -> None:
        self.configs = dict(configs)

    def on_poll(self) -> None:
        self.polls += 1

    def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
        self.threads.add(threading.current_thread().name)
        self.seen.append([record.value for record in records])
        return records

    def on_consume_arrow(self, batch: ottla.RecordBatch) -> None:
        self.batches.append(batch.num_rows)

    def on_commit(self, offsets: dict[tuple[str, int], ottla.OffsetAndMetadata]) -> None:
        self.threads.add(threading.current_thread().name)
        self.commits.append({partition: at.offset for partition, at in offsets.items()})

    def close(self) -> None:
        self.closed += 1


class Broken(ConsumerInterceptor):
    """Raises from every method."""

    def configure(self, configs: Any) -> None:
        raise ZeroDivisionError("configure")

    def on_poll(self) -> None:
        raise ZeroDivisionError("on_poll")

    def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
        records.clear()
        raise ZeroDivisionError("on_consume")

    def on_consume_arrow(self, batch: ottla.RecordBatch) -> None:
        raise ZeroDivisionError("on_consume_arrow")

    def on_commit(self, offsets: Any) -> None:
        raise ZeroDivisionError("on_commit")

    def close(self) -> None:
        raise ZeroDivisionError("close")


class Dropping(ConsumerInterceptor):
    """Drops records with some values."""

    def __init__(self, *values: bytes) -> None:
        self.values = values

    def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
        return tuple(record for record in records if record.value not in self.values)


class Interrupted(RecordingInterceptor):
    """Raises ``KeyboardInterrupt`` the first time."""

    def interrupt(self) -> None:
        if self.polls == 1:
            raise KeyboardInterrupt

    def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
        self.interrupt()
        return super().on_consume(records)

    def on_consume_arrow(self, batch: ottla.RecordBatch) -> None:
        self.interrupt()
        super().on_consume_arrow(batch)


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def make(request: pytest.FixtureRequest, mock_cluster: MockCluster, single: str) -> Any:
    """Return a function that creates a consumer of a topic with three records."""
    mock_cluster.append(single, 0, VALUES)

    def create(*interceptors: Any, **config: Any) -> Any:
        defaults = {
            "group_id": "interceptors",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
        }
        return request.param(
            mock_cluster.bootstrap,
            topics=[single],
            interceptors=interceptors,
            **{**defaults, **config},
        )

    return create


def values(records: list[ottla.Record[Any, Any]]) -> list[Any]:
    return [record.value for record in records]


def test_interceptors_run_in_order(make: Any, mock_cluster: MockCluster, single: str) -> None:
    first, second = RecordingInterceptor(), RecordingInterceptor()
    with make(first, Dropping(b"b"), second, value_deserializer=bytes.upper) as consumer:
        assert values(read(consumer, 3)) == [b"A", b"B", b"C"]
    with make(first, Dropping(b"b"), second) as consumer:
        assert values(read(consumer, 2)) == [b"a", b"c"]
    assert first.seen == [[b"A", b"B", b"C"], VALUES]
    assert second.seen == [[b"A", b"B", b"C"], [b"a", b"c"]]
    assert first.threads == {threading.current_thread().name}
    assert first.closed == second.closed == 2
    assert first.configs == {
        "bootstrap.servers": mock_cluster.bootstrap,
        "client.id": "ottla",
        "group.id": "interceptors",
    }


def test_an_iteration_passes_records_one_by_one(make: Any) -> None:
    recording = RecordingInterceptor()
    with make(recording, Dropping(b"a", b"b")) as consumer:
        assert next(iter(consumer)).value == b"c"
        assert recording.polls >= 1
    assert recording.seen == [[value] for value in VALUES]


def test_an_interceptor_may_replace_records(make: Any) -> None:
    class Replacing(ConsumerInterceptor):
        def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
            return [ottla.Record(r.topic, r.partition, r.offset, value=b"new") for r in records]

    with make(Replacing()) as consumer:
        assert values(read(consumer, 3)) == [b"new"] * 3


def test_a_poll_whose_records_are_dropped_returns_an_empty_list(make: Any, single: str) -> None:
    recording = RecordingInterceptor()
    with make(recording, Dropping(*VALUES)) as consumer:
        while not recording.seen:
            assert consumer.poll(timeout=1.0) == []
        assert consumer.position(single, 0) == 3, "dropped records are consumed"


def test_exceptions_are_logged_and_ignored(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(ConsumerInterceptor):
        def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
            return [5]

    class Adding(ConsumerInterceptor):
        def on_consume(self, records: list[ottla.Record[Any, Any]]) -> Any:
            return records * 2

    recording = RecordingInterceptor()
    with make(Broken(), Wrong(), recording) as consumer:
        assert values(read(consumer, 3)) == VALUES
        consumer.commit()
    with make(Adding(), group_id="another") as consumer:
        assert next(iter(consumer)).value == b"a"
    assert recording.seen == [VALUES]
    assert len(recording.commits) == recording.closed == 1
    for name in ("configure", "on_poll", "on_consume", "on_commit", "close"):
        assert f"Broken.{name} failed" in caplog.text
    assert "expected records, not int" in caplog.text
    assert "return at most one" in caplog.text
    assert {entry.name for entry in caplog.records if entry.exc_info} == {"ottla.consumer"}


@pytest.mark.parametrize("arrow", [False, True], ids=["records", "arrow"])
def test_ctrl_c_in_an_interceptor_loses_no_record(make: Any, arrow: bool) -> None:
    with make(Interrupted()) as consumer:

        async def work(consumer: ottla.AsyncConsumer) -> Any:
            # In one task: asyncio ends a task that Ctrl-C has left.
            poll: Any = consumer.poll_arrow if arrow else consumer.poll
            with pytest.raises(KeyboardInterrupt):
                await poll(timeout=60)
            return await poll(timeout=60)

        if isinstance(consumer, ottla.Consumer):
            poll: Any = consumer.poll_arrow if arrow else consumer.poll
            with pytest.raises(KeyboardInterrupt):
                poll(timeout=60)
            read_again = poll(timeout=60)
        else:
            read_again = consumer.run(work(consumer.consumer))
        if arrow:
            assert read_again.num_rows == 3
        else:
            assert values(read_again) == VALUES


def test_arrow_batches_are_shown(make: Any) -> None:
    recording = RecordingInterceptor()
    with make(recording, Broken()) as consumer:
        batch = consumer.poll_arrow(timeout=60)
        assert recording.batches == [batch.num_rows] == [3]
    assert recording.seen == []


def test_arrow_never_bypasses_an_interceptor(make: Any) -> None:
    with make(Dropping(b"a")) as consumer:
        with pytest.raises(errors.ConfigError, match="would bypass the interceptor Dropping"):
            consumer.poll_arrow(timeout=1)
        assert values(read(consumer, 2)) == [b"b", b"c"]


def test_each_commit_is_reported_once(make: Any, single: str) -> None:
    recording = RecordingInterceptor()
    order: list[str] = []
    with make(recording) as consumer:
        read(consumer, 3)
        consumer.commit({(single, 0): 1})
        assert recording.commits == [{(single, 0): 1}]
        consumer.commit_async({(single, 0): 2}, lambda *_: order.append(str(recording.commits)))
        consumer.commit_async()
    assert recording.commits == [{(single, 0): 1}, {(single, 0): 2}, {(single, 0): 3}]
    [known] = order
    assert "2}" in known, "the interceptors learn of a commit before its callback"


def test_automatic_commits_are_reported(make: Any, single: str) -> None:
    recording = RecordingInterceptor()
    with make(recording, enable_auto_commit=True, auto_commit_interval_ms=50) as consumer:
        read(consumer, 3)
        # On a slow machine, the position before the first record is committed, too.
        while {(single, 0): 3} not in recording.commits:
            consumer.poll(timeout=0.1)
        consumer.seek(single, 0, 1)
    assert recording.commits[-2:] == [{(single, 0): 3}, {(single, 0): 1}], "the last by close()"
    assert recording.threads == {threading.current_thread().name}


def test_a_failed_commit_is_not_reported(make: Any, mock_cluster: MockCluster) -> None:
    recording = RecordingInterceptor()
    with make(recording) as consumer:
        read(consumer, 3)
        mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="OffsetCommit", times=1)
        with pytest.raises(errors.AuthorizationError):
            consumer.commit()
    assert recording.commits == []


@pytest.mark.parametrize("kind", [ottla.Consumer, ottla.AsyncConsumer])
def test_invalid_interceptors_are_rejected(mock_cluster: MockCluster, kind: Any) -> None:
    with pytest.raises(errors.ConfigError, match="an object of type int has no on_consume"):
        kind(mock_cluster.bootstrap, interceptors=[5])


def test_unreported_commits_are_bounded_and_end_with_the_newest(make: Any, single: str) -> None:
    recording = RecordingInterceptor()
    with make(recording) as consumer:
        read(consumer, 3)
        for number in range(1_100):
            consumer.commit_async({(single, 0): number % 100 + number // 100})
        # Commits are sent in order, so this one is the last.
        while (committed := consumer.committed((single, 0))[single, 0]) is None or (
            committed.offset != 109
        ):
            assert not recording.commits
        # The broker knows of the last commit, but its response may not be processed yet.
        while recording.commits[-1:] != [{(single, 0): 109}]:
            consumer.poll(timeout=0)
        assert len(recording.commits) in (1_000, 1_001)
        assert recording.commits[0] == {(single, 0): 0}
        assert recording.commits[-1] == {(single, 0): 109}
