"""Each kind of fault of ottla.testing, and how clients recover from it.

The faults are those of a mock cluster, or of a gateway in front of one, which does the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, Gateway, MockCluster
from tests.support.arrow import values


@pytest.fixture(params=["mock cluster", "gateway"])
def faulty(
    mock_cluster: MockCluster, request: pytest.FixtureRequest
) -> Iterator[MockCluster | Gateway]:
    """Who misbehaves, and where clients bootstrap."""
    if request.param == "mock cluster":
        yield mock_cluster
        return
    with Gateway(mock_cluster.bootstrap) as gateway:
        yield gateway


@pytest.fixture
def written(producer: ottla.Producer, single: str) -> str:
    """A topic with a hundred records in one partition."""
    producer.send_batch(single, [f"{i:03}" for i in range(100)]).result(timeout=30)
    return single


HUNDRED = [f"{i:03}".encode() for i in range(100)]

PASSING: dict[str, Callable[[], Fault]] = {
    "not leader": lambda: Fault.error("NOT_LEADER_OR_FOLLOWER"),
    "leader not available": lambda: Fault.error("LEADER_NOT_AVAILABLE"),
    "unknown epoch": lambda: Fault.error("UNKNOWN_LEADER_EPOCH"),
    "disconnect before": lambda: Fault.disconnect("before"),
    "disconnect after": lambda: Fault.disconnect("after"),
    "delay": lambda: Fault.delay(0.2),
    "throttle": lambda: Fault.throttle(100),
    "move leader": lambda: Fault.move_leader(2),
    "corrupt records": Fault.corrupt_records,
    "truncated frame": Fault.truncate_frame,
    "garbage": lambda: Fault.bytes(b"\x00\x00\x00\x08\xff\xff\xff\xff\x00\x00\x00\x00"),
    "negative length": lambda: Fault.bytes(b"\xff\xff\xff\xff"),
    "http": lambda: Fault.bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}


@pytest.mark.parametrize("kind", PASSING)
def test_a_scan_recovers(faulty: MockCluster | Gateway, written: str, kind: str) -> None:
    if kind == "move leader" and isinstance(faulty, Gateway):
        with pytest.raises(errors.ConfigError, match="no fault move_leader"):
            faulty.inject(PASSING[kind]())
        return
    fault = faulty.inject(PASSING[kind](), api="Fetch", times=2)
    assert values(ottla.scan(written, faulty.bootstrap, timeout=60)) == HUNDRED
    assert faulty.fault_hits(fault) >= 1


WITHOUT_DUPLICATES = {
    "not leader",
    "leader not available",
    "unknown epoch",
    "disconnect before",
    "delay",
    "throttle",
    "move leader",
    "corrupt records",
}


@pytest.mark.parametrize("kind", PASSING)
def test_a_producer_recovers(faulty: MockCluster | Gateway, single: str, kind: str) -> None:
    if kind == "move leader" and isinstance(faulty, Gateway):
        with pytest.raises(errors.ConfigError, match="no fault move_leader"):
            faulty.inject(PASSING[kind]())
        return
    with ottla.Producer(faulty.bootstrap, linger_ms=0) as producer:
        fault = faulty.inject(PASSING[kind](), api="Produce", times=2)
        offsets = [producer.send(single, value).result(timeout=60).offset for value in HUNDRED[:5]]
    assert faulty.fault_hits(fault) >= (0 if kind == "corrupt records" else 1)
    read = values(ottla.scan(single, faulty.bootstrap))
    # Every acknowledged record is at its reported offset. Without idempotence, a lost response may
    # duplicate a record.
    assert [read[offset] for offset in offsets if offset is not None] == HUNDRED[:5]
    if kind in WITHOUT_DUPLICATES:
        assert read == HUNDRED[:5]


def test_a_silent_broker_times_out_and_is_retried(
    faulty: MockCluster | Gateway, written: str
) -> None:
    with ottla.Client(faulty.bootstrap, request_timeout_ms=300, fetch_max_wait_ms=100) as client:
        client.cluster([written])
        faulty.inject(Fault.silence(), api="Fetch", times=1)
        started = time.monotonic()
        assert values(ottla.scan(written, client, timeout=30)) == HUNDRED
        assert 0.3 <= time.monotonic() - started < 20


def test_a_permanently_silent_broker_times_out(faulty: MockCluster | Gateway, written: str) -> None:
    with ottla.Client(faulty.bootstrap, request_timeout_ms=200, fetch_max_wait_ms=50) as client:
        # A leftover fetch of this client would delay later requests.
        list(ottla.scan(written, client, timeout=30))
        faulty.inject(Fault.silence(), api="Fetch")
        scan = ottla.scan(written, client, timeout=1)
        started = time.monotonic()
        with pytest.raises(errors.TimeoutError):
            list(scan)
        assert 0.9 <= time.monotonic() - started < 20


def test_permanent_corruption_names_the_offset(faulty: MockCluster | Gateway, written: str) -> None:
    faulty.inject(Fault.corrupt_records(), api="Fetch")
    with pytest.raises(errors.ProtocolError, match="corrupt") as raised:
        list(ottla.scan(written, faulty.bootstrap, timeout=30))
    assert raised.value.context["topic"] == written
    assert raised.value.context["partition"] == 0


def test_permanent_error(faulty: MockCluster | Gateway, written: str) -> None:
    faulty.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Fetch")
    with pytest.raises(errors.AuthorizationError) as raised:
        list(ottla.scan(written, faulty.bootstrap, timeout=30))
    assert (raised.value.name, raised.value.retriable) == ("TOPIC_AUTHORIZATION_FAILED", False)


def test_a_lost_response_sets_maybe_done(faulty: MockCluster | Gateway, single: str) -> None:
    config = {"delivery.timeout.ms": 3000, "request.timeout.ms": 2500, "linger.ms": 0}
    with ottla.Producer(faulty.bootstrap, config) as producer:
        producer.send(single, "first").result(timeout=30)
        faulty.inject(Fault.disconnect("after"), api="Produce")
        error = producer.send(single, "second").exception(timeout=30)
    assert isinstance(error, errors.TimeoutError)
    assert error.maybe_done
    assert "not known whether it was written" in str(error)


def test_faults_choose_their_requests(
    mock_cluster: MockCluster, faulty: MockCluster | Gateway, topic: str
) -> None:
    broker = mock_cluster.leader(topic, 1)
    fault = faulty.inject(
        Fault.error("INVALID_RECORD"),
        api="Produce",
        broker=broker,
        topic=topic,
        partition=1,
        skip=1,
        times=1,
    )
    with ottla.Producer(faulty.bootstrap, linger_ms=0) as producer:
        errors_by_send = [
            producer.send(topic, "v", partition=p).exception(timeout=30) for p in (1, 0, 2, 1, 1)
        ]
    assert [error is None for error in errors_by_send] == [True, True, True, False, True]
    assert faulty.fault_hits(fault) == 1


def test_faults_can_be_cleared(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce")
    assert producer.send(single, "v").exception(timeout=30)
    mock_cluster.clear_faults()
    assert producer.send(single, "v").exception(timeout=30) is None


def test_a_stopped_broker_comes_back(mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        producer.send_batch(topic, ["x"] * 3, partitions=[0, 1, 2]).result(timeout=30)
        for broker in (1, 2, 3):
            mock_cluster.stop_broker(broker)
            sent = producer.send_batch(topic, ["x"] * 3, partitions=[0, 1, 2])
            assert sent.result(timeout=60) == 3
            mock_cluster.start_broker(broker)
        assert len(values(ottla.scan(topic, mock_cluster.bootstrap))) == 12


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda: Fault.error("NO_SUCH_ERROR"), "not the name of an error code"),
        (lambda: Fault.disconnect("never"), "before. or .after"),  # type: ignore[arg-type]
        (lambda: Fault({}), "exactly one"),
        (lambda: Fault({"noise": 1}), "exactly one"),
        (lambda: Fault({"silence": True, "delay": 1.0}), "exactly one"),
        (lambda: Fault.delay(-1), "delay"),
    ],
)
def test_invalid_faults_raise(
    mock_cluster: MockCluster, fault: Callable[[], Fault], message: str
) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        mock_cluster.inject(fault())
    with pytest.raises(errors.ConfigError, match="not the name of an API"):
        mock_cluster.inject(Fault.silence(), api="Produced")


def test_fault_repr() -> None:
    assert repr(Fault.error("CORRUPT_MESSAGE")) == "Fault.error('CORRUPT_MESSAGE')"
    assert repr(Fault.delay(1)) == "Fault.delay(1.0)"
    assert repr(Fault.bytes(b"x")) == "Fault.bytes(b'x')"
    assert repr(Fault.silence()) == "Fault.silence()"
