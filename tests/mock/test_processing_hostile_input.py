"""``ottla.processing`` on the mock: headers, metadata and exceptions that nobody should write."""

from __future__ import annotations

import time
from typing import Any

import pytest

import ottla
from ottla.admin import CommittedOffset
from ottla.processing.letter_headers import PREFIX, describe
from ottla.testing import MockCluster
from tests.support.processing import (
    PROCESSORS,
    errors_of,
    make,
    run_until,
    send,
    written,
)


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


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


def test_a_record_of_another_topic_in_a_retry_topic_is_a_dead_letter_that_says_so(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """Its handler would take it for an order."""
    name = "orders.retry.10ms"
    mock_cluster.create_topic(name, partitions=1)
    place = {"topic": "payments", "partition": "3", "offset": "7", "attempts": "1"}
    headers = [(PREFIX + field, value.encode()) for field, value in place.items()]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(name, b"a payment", headers=headers)
        producer.send(name, b"an order", headers=[(PREFIX + "topic", topic.encode()), *headers[1:]])
    seen: list[Any] = []
    processor = make(kind, mock_cluster, seen.append, retry_delays=[0.01])
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] and seen)
    assert [each.value for each in seen] == [b"an order"]
    (letter,) = written(mock_cluster.bootstrap, "orders.dead-letters")
    assert letter.value == b"a payment"
    found = errors_of(letter)
    assert (found["topic"], found["partition"], found["offset"]) == ("payments", "3", "7")
    assert found["message"].startswith(
        "headers: orders.retry.10ms has the records of orders that failed, but this one says that "
        "it is from payments"
    )


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
