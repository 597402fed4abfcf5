"""``ottla.processing`` on the mock: retry topics, dead letters, headers, what stops a run."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import threading
import time
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.admin import CommittedOffset
from ottla.processing import FailedRecords
from ottla.processing.letter_headers import PREFIX, describe
from ottla.testing import Fault, MockCluster
from tests.support.processing import (
    PROCESSORS,
    committed,
    run_to_error,
    run_until,
    running,
    written,
)
from tests.support.waiting import wait_until

DELAYS = (0.2, 0.3)


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


def make(kind: Any, cluster: MockCluster, handler: Any, **options: Any) -> Any:
    settings = {"retry_delays": DELAYS, "create_topics": True, "group_id": "billing", **options}
    return kind(handler, "orders", cluster.bootstrap, **settings)


def send(cluster: MockCluster, *values: bytes | None, **options: Any) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for value in values:
            producer.send("orders", value, partition=0, **options)


def errors_of(record: ottla.Record) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX): (value or b"").decode()
        for name, value in record.headers
        if name.startswith(PREFIX)
    }


def content(record: ottla.Record) -> tuple[Any, ...]:
    """Return a record without its leader epoch, which another attempt does not know."""
    place = (record.topic, record.partition, record.offset, record.timestamp)
    return (*place, record.timestamp_type, record.key, record.value, record.headers)


def test_a_record_that_fails_is_retried_with_its_delays_and_then_a_dead_letter(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """The handler sees the record as it was first read; the letter says what happened and where."""
    headers = [("a", b"1"), ("empty", None), ("a", b"2"), ("bytes", b"\xff")]
    send(mock_cluster, b"good", b"bad", b"last", key="k", headers=headers, timestamp=1234)
    seen: list[tuple[float, Any]] = []

    def handle(record: ottla.Record) -> None:
        seen.append((time.monotonic(), record))
        if record.value == b"bad":
            raise ValueError("no such customer, password=hunter2\n")

    processor = make(kind, mock_cluster, handle)
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"])
    bad = [(at, record) for at, record in seen if record.value == b"bad"]
    assert len(bad) == 3
    assert len({content(record) for _, record in bad}) == 1
    assert bad[0][1].headers == tuple(headers)
    for (before, _), (after, _), delay in zip(bad, bad[1:], DELAYS, strict=False):
        assert after - before >= delay - 0.01
    assert [each.value for _, each in seen[:3]] == [b"good", b"bad", b"last"]
    (letter,) = written(mock_cluster.bootstrap, "orders.dead-letters")
    assert (letter.key, letter.value, letter.headers[:4]) == (b"k", b"bad", tuple(headers))
    assert errors_of(letter) == {
        "message": "no such customer, password=***\\n",
        "topic": topic,
        "partition": "0",
        "offset": "1",
        "timestamp": "1234",
        "attempts": "3",
        "exception": "ValueError",
        "group": "billing",
    }
    assert committed(mock_cluster, "billing", topic)[0] == 3
    text = ottla.prometheus.render({"billing": processor})
    assert "# TYPE kafka_processor_record_attempt_total counter" in text
    assert 'kafka_processor_record_dead_letter_total{client_id="billing"} 1.0' in text
    assert processor.metrics() == {
        "record-attempt-total": 5,
        "record-failure-total": 3,
        "record-retry-total": 2,
        "record-dead-letter-total": 1,
        "records-waiting": 0,
    }


def test_odd_records_come_back_as_they_were(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """Tombstones, keys that are null or empty, no headers: another attempt sees the same."""
    send(mock_cluster, None, b"", key=None)
    send(mock_cluster, None, key=b"")
    seen: list[Any] = []

    async def handle_async(record: ottla.Record) -> None:
        handle(record)

    def handle(record: ottla.Record) -> None:
        seen.append(content(record))
        if processor.attempt == 1:
            raise KeyError(record.offset)

    handler = handle_async if kind is PROCESSORS["asyncio"] else handle
    processor = make(kind, mock_cluster, handler)
    run_until(processor, lambda: len(seen) == 6)
    assert [each[2] for each in seen[:3]] == [0, 1, 2]
    assert sorted(seen[3:]) == seen[:3]


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


def test_a_partition_that_keeps_its_order_waits_and_remembers_the_attempt(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """No later record passes it; another process knows how often it failed, and when it is due."""
    send(mock_cluster, b"a", b"bad", b"c")
    seen: list[tuple[bytes, int]] = []

    def handle(record: Any) -> None:
        seen.append((record.value, processor.attempt))
        if record.value == b"bad":
            raise ValueError("bad")

    options = {"keep_order": True, "retry_delays": [0.1, 3600]}
    processor = make(kind, mock_cluster, handle, **options)
    run_until(processor, lambda: len(seen) == 3)
    assert seen == [(b"a", 1), (b"bad", 1), (b"bad", 2)]
    assert processor.metrics()["records-waiting"] == 0
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        offset = admin.list_group_offsets(["billing"])["billing"][topic, 0]
    assert offset.offset == 1
    waiting = json.loads(offset.metadata or "")["ottla.processing"]
    assert waiting["attempts"] == 2
    processor = make(kind, mock_cluster, handle, **options)
    with running(processor):
        wait_until(lambda: processor.metrics()["records-waiting"] == 1)
    assert len(seen) == 3
    # Once the time has come, the last attempt is made, and the partition goes on.
    processor = make(kind, mock_cluster, handle, keep_order=True, retry_delays=[0.1, 0.1])
    run_until(processor, lambda: (b"c", 1) in seen)
    assert seen[3:] == [(b"bad", 3), (b"c", 1)]
    assert len(written(mock_cluster.bootstrap, "orders.dead-letters")) == 1


def test_records_of_other_groups_are_passed_over(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """Two groups share the retry topics: each makes the attempts of its own records."""
    send(mock_cluster, b"a")
    seen: list[str] = []

    def handler(group: str) -> Any:
        def handle(_: Any) -> None:
            seen.append(group)
            raise ValueError(group)

        return handle

    options: dict[str, Any] = {"retry_delays": [0.1]}
    for group in ("one", "two"):
        processor = make(kind, mock_cluster, handler(group), group_id=group, **options)
        run_until(processor, lambda: len(written(mock_cluster.bootstrap, "orders.dead-letters")))
        run_until(processor, lambda: seen.count(group) == 2)  # noqa: B023 - called in the loop
    assert seen == ["one", "one", "two", "two"]


def test_missing_topics_are_an_error_that_names_all(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    processor = kind(print, [topic, "gone"], mock_cluster.bootstrap, group_id="g")
    with pytest.raises(errors.UnknownTopicError) as failed:
        run_to_error(processor)
    for name in ("gone", "orders.retry.1m", "orders.retry.10m", "gone.dead-letters"):
        assert name in str(failed.value)


def test_created_topics_have_the_partitions_of_their_topic(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    processor = make(kind, mock_cluster, print, retry_delays=[90, 3600, 0.25])
    with running(processor):
        wait_until(lambda: committed(mock_cluster, "billing", "orders.retry.90s"))
    with ottla.Client(mock_cluster.bootstrap) as client:
        names = {f"orders.retry.{each}" for each in ("90s", "1h", "250ms")}
        assert {*names, "orders.dead-letters", topic} == set(client.topic_names())
        assert len(client.partitions_for("orders.retry.1h")) == 3


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


def test_bad_arguments_are_refused(mock_cluster: MockCluster, kind: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"group_id": None}, "group.id is missing"),
        ({"retry_delays": [-1]}, r"retry_delays\[0\] is -1"),
        ({"retry_topic": "orders"}, "two purposes"),
        ({"retry_topic": "{topic}.retry"}, "two purposes"),
        ({"dead_letter_topic": "{topic}"}, "is read, and cannot be"),
        ({"batch": True, "keep_order": True}, "leave out batch"),
        ({"retry_on": [ValueError], "stop_on": [ValueError]}, "two arguments"),
        ({"stop_on": [KeyboardInterrupt]}, "subclass of Exception"),
        ({"enable_auto_commit": True}, "enable.auto.commit"),
        ({"acks": 1}, "acks"),
        ({"request_required_acks": 0}, "request.required.acks"),
        ({"exactly_once": True, "isolation_level": "read_uncommitted"}, "needs read_committed"),
        ({"max_records": 0}, "max_records is 0"),
        ({"max_poll_interval_ms": "5m"}, "max.poll.interval.ms is '5m'"),
    ]
    for options, message in cases:
        with pytest.raises(errors.ConfigError, match=message):
            make(kind, mock_cluster, print, **options)
    with pytest.raises(errors.StateError, match="does not run"):
        print(make(kind, mock_cluster, print).producer)


def test_messages_are_bounded_and_without_credentials() -> None:
    error = ValueError(
        "https://user:pass@host/ Authorization: Bearer abc.def {'api_key': 'k1', \"token\"=t2} "
        + "x" * 5000
    )
    failure = describe(error)
    assert failure.exception == "ValueError"
    assert len(failure.message) == 1000
    assert failure.message.startswith("https://***@host/ Authorization: Bearer *** {'api_key': ***")
    for secret in ("pass", "abc", "k1", "t2"):
        assert secret not in failure.message


def test_a_record_with_odd_headers_in_a_retry_topic_is_handled(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """It waits for the delay of its topic at most, and its own place stands for an unknown one."""
    name = "orders.retry.200ms"
    mock_cluster.create_topic(name, partitions=1)
    far = str(int(time.time() * 1000) + 10**9).encode()
    headers: list[list[tuple[str, bytes | None]]] = [
        [],
        [("topic", b"orders"), ("partition", b"-1"), ("offset", b"x"), ("retry.at", far)],
        [("topic", None), ("attempts", b"9" * 30), ("retry.at", b"\xff")],
    ]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for each in headers:
            producer.send(name, b"odd", headers=[(PREFIX + one, data) for one, data in each])
    seen: list[Any] = []
    processor = make(kind, mock_cluster, seen.append, retry_delays=[0.2])
    run_until(processor, lambda: len(seen) == 3)
    assert [(each.topic, each.partition, each.offset) for each in seen] == [
        (name, 0, 0),
        (name, 0, 1),
        (name, 0, 2),
    ]


def test_hostile_headers_in_a_retry_topic_stop_nothing_and_forge_no_line_of_the_log(
    mock_cluster: MockCluster, topic: str, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(_: Any) -> None:
        raise ValueError("no")

    name = "orders.retry.10ms"
    mock_cluster.create_topic(name, partitions=1)
    hostile = {"topic": "orders\n\x1b[31mforged", "partition": "0", "offset": "0", "attempts": "-5"}
    headers = [(PREFIX + field, value.encode()) for field, value in hostile.items()]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(name, b"hostile", headers=headers)
    processor = make(kind, mock_cluster, handle, retry_delays=[0.01])
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 1)
    warning = next(one.getMessage() for one in caplog.records if "forged" in one.getMessage())
    assert warning.isprintable()


@pytest.mark.parametrize(
    ("attempts", "at"), [("-5", "0"), ("Infinity", "0"), ("1", "NaN"), ("1", "9" * 400)]
)
def test_hostile_metadata_of_an_offset_stops_nothing(
    mock_cluster: MockCluster, topic: str, kind: Any, attempts: str, at: str
) -> None:
    send(mock_cluster, b"a")
    metadata = f'{{"ottla.processing": {{"attempts": {attempts}, "at": {at}}}}}'
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("billing", {(topic, 0): CommittedOffset(0, metadata=metadata)})

    def handle(_: Any) -> None:
        raise ValueError("no")

    processor = make(kind, mock_cluster, handle, keep_order=True, retry_delays=[0.01])
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 1)


def test_an_exception_without_a_text_is_a_failure_of_its_record(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("mute")

    def handle(_: Any) -> None:
        raise MuteError

    send(mock_cluster, b"a")
    processor = make(kind, mock_cluster, handle, retry_delays=[])
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 1)
    (letter,) = written(mock_cluster.bootstrap, f"{topic}.dead-letters")
    assert errors_of(letter)["message"] == "no message, since making it raised RuntimeError"


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


def test_no_retry_topic_is_the_dead_letters_of_another_topic(kind: Any) -> None:
    """Its letters would be handled as records to retry."""
    names = {"retry_topic": "{topic}.y", "dead_letter_topic": "{topic}.x.y", "retry_delays": [1]}
    with pytest.raises(errors.ConfigError, match="two purposes"):
        kind(print, ["a", "a.x"], "host:1", group_id="g", **names)


def test_a_signal_that_cannot_be_handled_leaves_the_others_as_they_were(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:

    def run() -> None:
        done = make(kind, mock_cluster, print).run(signals=[signal.SIGTERM, signal.SIGKILL])
        if done is not None:
            asyncio.run(done)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(OSError, match="Invalid argument"):
        run()
    assert signal.getsignal(signal.SIGTERM) is before
