"""``ottla.processing`` on the mock: what a failure does to a record, to a batch and to a run."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.processing import FailedRecords
from ottla.testing import Fault, MockCluster
from tests.support.processing import (
    PROCESSORS,
    committed,
    errors_of,
    make,
    run_to_error,
    run_until,
    running,
    send,
    written,
)


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


def test_the_class_of_an_exception_decides(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """The nearest class counts: dead letters at once, or the end of the run."""

    class Refused(ValueError):
        pass

    raises: dict[bytes | None, Exception] = {b"a": Refused("a"), b"b": ZeroDivisionError("stop")}
    send(mock_cluster, b"a", b"b", b"c")

    def handle(record: ottla.Record) -> None:
        raise raises[record.value]

    options = {"retry_on": [ValueError], "dead_letter_on": [Refused], "stop_on": [ArithmeticError]}
    with pytest.raises(ZeroDivisionError, match="stop"):
        run_to_error(make(kind, mock_cluster, handle, **options))
    (letter,) = written(mock_cluster.bootstrap, "orders.dead-letters")
    assert errors_of(letter)["attempts"] == "1"
    assert errors_of(letter)["exception"].endswith(".Refused")
    assert committed(mock_cluster, "billing", topic)[0] == 1


@pytest.mark.parametrize("error", [errors.TimeoutError("down"), KeyboardInterrupt(), MemoryError()])
def test_what_is_not_the_records_stops_without_an_attempt(
    mock_cluster: MockCluster, topic: str, error: BaseException
) -> None:
    send(mock_cluster, b"a", b"b")
    seen = []

    def handle(record: ottla.Record) -> None:
        seen.append((record.value, processor.attempt))
        if record.value == b"b" and len(seen) == 2:
            raise error

    processor = make(PROCESSORS["blocking"], mock_cluster, handle)
    with pytest.raises(type(error)):
        run_to_error(processor)
    assert committed(mock_cluster, "billing", topic)[0] == 1
    run_until(processor, lambda: len(seen) == 3)
    assert seen == [(b"a", 1), (b"b", 1), (b"b", 1)]
    assert committed(mock_cluster, "billing", topic)[0] == 2


def test_what_cannot_be_decoded_goes_the_same_way(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """As the dead letters of a format: the reason begins with the part of the record."""
    send(mock_cluster, b"\xff", b"\4")
    seen: list[Any] = []
    number = ottla.schema.Avro(schema='"long"', wire_format="none")
    processor = make(
        kind, mock_cluster, lambda each: seen.append(each.value), value_deserializer=number
    )
    run_until(processor, lambda: seen)
    (letter,) = written(mock_cluster.bootstrap, "orders.dead-letters")
    assert (letter.value, seen) == (b"\xff", [2])
    assert errors_of(letter)["message"].startswith("value: ")


def test_a_batch_fails_as_a_whole_or_by_record(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    send(mock_cluster, b"0", b"1", b"2", b"3")
    batches: list[list[bytes]] = []

    def handle(records: list[Any]) -> None:
        batches.append([each.value for each in records])
        if len(batches) == 1:
            raise FailedRecords({1: ValueError("one"), 3: ValueError("three")})
        if processor.attempt == 2:
            raise OSError("all")

    processor = make(kind, mock_cluster, handle, batch=True)
    run_until(processor, lambda: processor.metrics()["record-attempt-total"] == 8)
    assert batches[:1] == [[b"0", b"1", b"2", b"3"]]
    assert sorted(each for batch in batches[1:] for each in batch) == [b"1", b"1", b"3", b"3"]
    assert processor.metrics()["record-dead-letter-total"] == 0


def test_a_broker_that_refuses_the_retry_topic_commits_nothing(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """The error is raised; the next run handles the record again, with the same attempt."""
    send(mock_cluster, b"a", b"bad")

    def handle(record: Any) -> None:
        if record.value == b"bad":
            raise ValueError

    fault = Fault.error("TOPIC_AUTHORIZATION_FAILED")
    mock_cluster.inject(fault, api="Produce", topic="orders.retry.200ms", times=1)
    processor = make(kind, mock_cluster, handle)
    with pytest.raises(errors.AuthorizationError):
        run_to_error(processor)
    assert committed(mock_cluster, "billing", topic)[0] == 1
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"])
    assert len(written(mock_cluster.bootstrap, "orders.retry.200ms")) == 1


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_record_too_large_for_its_retry_topic_is_a_dead_letter_at_once(
    mock_cluster: MockCluster, topic: str, kind: Any, exactly_once: bool
) -> None:
    for name in ("orders.retry.200ms", "orders.retry.300ms"):
        mock_cluster.create_topic(name, partitions=1, configs={"max.message.bytes": "2000"})
    send(mock_cluster, b"x" * 4000, b"next")
    seen: list[int] = []

    def handle(record: Any) -> None:
        seen.append(record.offset)
        if record.offset == 0:
            raise ValueError("bad")

    processor = make(kind, mock_cluster, handle, exactly_once=exactly_once)
    run_until(processor, lambda: 1 in seen)
    (letter,) = written(
        mock_cluster.bootstrap, "orders.dead-letters", isolation_level="read_committed"
    )
    assert errors_of(letter)["message"] == "too large for its retry topic; bad"
    assert processor.metrics()["record-failure-total"] == 1


def test_a_record_too_large_for_its_dead_letters_stops_with_the_remedy(
    mock_cluster: MockCluster, topic: str
) -> None:
    for name in ("orders.retry.200ms", "orders.dead-letters"):
        mock_cluster.create_topic(name, partitions=1, configs={"max.message.bytes": "2000"})
    send(mock_cluster, b"x" * 4000)

    def handle(_: Any) -> None:
        raise ValueError("bad")

    processor = make(PROCESSORS["blocking"], mock_cluster, handle, retry_delays=[0.2])
    with pytest.raises(errors.RecordTooLargeError, match=r"orders-0 at offset 0 .* raise its max"):
        run_to_error(processor)
    assert not committed(mock_cluster, "billing", topic)[0]


def test_repeated_failures_are_one_warning_and_one_line_at_the_end(
    mock_cluster: MockCluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ottla.processing")
    send(mock_cluster, *[b"x"] * 20)

    def handle(record: Any) -> None:
        raise ValueError(record.offset)

    processor = make(PROCESSORS["blocking"], mock_cluster, handle, retry_delays=[])
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 20)
    lines = [
        (each.levelname, each.message) for each in caplog.records if each.name == "ottla.processing"
    ]
    assert [level for level, _ in lines] == ["WARNING", "INFO"]
    assert lines[0][1].startswith(
        "the record of orders-0 at offset 0 failed (attempt 1): ValueError: 0; it was written to "
        "orders.dead-letters"
    )
    assert lines[1][1].startswith("records of orders that fail with ValueError: 20 failures in")


def test_a_stop_ends_the_record_in_hand_commits_and_leaves(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    send(mock_cluster, *[b"x"] * 10)
    began, go_on = threading.Event(), threading.Event()

    def handle(_: Any) -> None:
        began.set()
        assert go_on.wait(60)

    processor = make(kind, mock_cluster, handle)
    with running(processor):
        assert began.wait(60)
        processor.stop()
        go_on.set()
    assert committed(mock_cluster, "billing", topic)[0] == 1
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        assert admin.describe_groups(["billing"])["billing"].members == []


def test_a_lack_of_memory_while_decoding_is_not_the_records(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    def decode(_: bytes) -> None:
        raise MemoryError

    send(mock_cluster, b"a")
    processor = make(kind, mock_cluster, print, value_deserializer=decode)
    with pytest.raises(MemoryError):
        run_to_error(processor)
    assert written(mock_cluster.bootstrap, f"{topic}.dead-letters") == []
