"""Dead letters: records that a format cannot decode, written to a topic with the reason."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.schema import Avro, DeadLetters
from ottla.testing import Fault, MockCluster
from tests.support.consumers import KINDS, TIMEOUT


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def longs(letters: DeadLetters) -> Avro:
    """Return a format of numbers."""
    return Avro(schema='"long"', wire_format="none", mode=letters)


def dead(cluster: MockCluster) -> list[ottla.Record]:
    """Return the records of the topic of dead letters."""
    with ottla.Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("dead", 0)])
        return list(consumer.poll(timeout=TIMEOUT))


def test_a_dead_letter_is_the_whole_record_with_the_reason(
    mock_cluster: MockCluster, single: str, kind: Any
) -> None:
    """Key, value, headers and timestamp are the record's; headers say what is wrong, and where."""
    mock_cluster.create_topic("dead", partitions=1)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, b"\2")
        producer.send(single, b"\xff", b"key", headers=[("h", b"1")], timestamp=1_700_000_000_123)
        producer.send(single, b"\4")
    letters = DeadLetters("dead", mock_cluster.bootstrap)
    assert (letters.topic, repr(letters)) == ("dead", 'DeadLetters("dead")')
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        rows: list[int] = []
        while len(rows) < 2:
            rows += pa.record_batch(
                consumer.poll_arrow(timeout=TIMEOUT, columns=["value"], value_format=longs(letters))
            )["value"].to_pylist()
        assert rows == [1, 2]
        assert consumer.position(single, 0) == 3
    (letter,) = dead(mock_cluster)
    assert (letter.key, letter.value, letter.timestamp) == (b"key", b"\xff", 1_700_000_000_123)
    headers = dict(letter.headers)
    assert headers["h"] == b"1"
    assert headers["__ottla.errors.topic"] == single.encode()
    assert headers["__ottla.errors.partition"] == b"0"
    assert headers["__ottla.errors.offset"] == b"1"
    assert (headers["__ottla.errors.message"] or b"").startswith(b"value: ")


def test_letters_that_cannot_be_written_pass_no_record(
    mock_cluster: MockCluster, single: str, kind: Any
) -> None:
    """While the topic cannot be written, polls raise; then the record is there once."""
    mock_cluster.create_topic("dead", partitions=1)
    mock_cluster.append(single, 0, [b"\xff", b"\4"])
    fault = Fault.error("TOPIC_AUTHORIZATION_FAILED")
    mock_cluster.inject(fault, api="Produce", topic="dead", times=1)
    value = longs(DeadLetters("dead", mock_cluster.bootstrap))
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        with pytest.raises(errors.AuthorizationError, match="writing dead letters"):
            consumer.poll_arrow(timeout=TIMEOUT, value_format=value)
        assert consumer.position(single, 0) == 0
        batch = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT, value_format=value))
        assert batch["value"].to_pylist() == [2]
    assert [record.value for record in dead(mock_cluster)] == [b"\xff"]


def test_a_scan_writes_dead_letters(mock_cluster: MockCluster, single: str) -> None:
    """A scan leaves the records out likewise."""
    mock_cluster.append(single, 0, [b"\2", b"\xff", b"\4", b"\xff"])
    with ottla.Client(mock_cluster.bootstrap) as client:
        value = longs(DeadLetters("dead", client))
        table = pa.table(ottla.scan(single, mock_cluster.bootstrap, value_format=value))
    assert table["value"].to_pylist() == [1, 2]
    assert len(dead(mock_cluster)) == 2


def test_mistakes(mock_cluster: MockCluster, single: str) -> None:
    """Deserializers, unknown modes, transactions and the topic itself are refused."""
    letters = DeadLetters(single, mock_cluster.bootstrap)
    with pytest.raises(errors.ConfigError, match="takes records one by one"):
        ottla.Consumer(mock_cluster.bootstrap, value_deserializer=longs(letters))
    with pytest.raises(errors.ConfigError, match="mode='dead': expected"):
        Avro(schema='"long"', wire_format="none", mode="dead")  # type: ignore[call-overload]
    with pytest.raises(errors.ConfigError, match="not written in transactions"):
        DeadLetters("dead", mock_cluster.bootstrap, transactional_id="t")
    mock_cluster.append(single, 0, [b"\xff"])
    scan = ottla.scan(single, mock_cluster.bootstrap, value_format=longs(letters))
    with pytest.raises(errors.ConfigError, match="its own dead letters"):
        list(scan)
