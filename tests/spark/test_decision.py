"""The decision record of exactly-once writes: what is written is read, whatever its size."""

from __future__ import annotations

import zlib

import pytest

import ottla
from ottla.errors import ProtocolError
from ottla.spark.writing.exactly_once.decision import Decision, Participant
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity
from ottla.spark.writing.write_report import PartitionWritten


def decision(tasks: int) -> Decision:
    participants = {
        number: Participant(
            number,
            ottla.PreparedTransaction(f"ottla/q/r/{number}/0", 7000 + number, 3, 2),
            100 + number,
            (1, 50 + number),
            {("orders", number): PartitionWritten(100 + number, 5, None)},
        )
        for number in range(tasks)
    }
    return Decision("q", "r", 12, tasks + 1, "f", participants)


@pytest.mark.parametrize("tasks", [0, 3, 20_000])
def test_a_decision_is_read_as_it_was_written(tasks: int) -> None:
    encoded = decision(tasks).encode()
    assert Decision.decode(encoded) == decision(tasks)
    # The limits of brokers and producers are a megabyte.
    assert len(encoded) < 1_000_000


@pytest.mark.parametrize(
    "value", [b"", b"hello", b"{}", b'{"participants": [{}]}', b"[1]", zlib.compress(b"[1]")]
)
def test_what_is_no_decision_is_an_error(value: bytes) -> None:
    with pytest.raises(ProtocolError, match="does anything else write to this topic"):
        Decision.decode(value)


def test_a_decision_that_would_fill_the_memory_is_an_error() -> None:
    bomb = zlib.compress(bytes(300 << 20))
    with pytest.raises(ProtocolError, match="larger than"):
        Decision.decode(bomb)


def test_transactional_ids_tell_the_query_and_the_run() -> None:
    write = WriteIdentity("orders.1", "run-2", 5)
    name = write.transactional_id(3, 1)
    assert name == "ottla/orders.1/run-2/3/1"
    assert write.is_of_this_run(name)
    assert not WriteIdentity("orders.1", "run-3", 5).is_of_this_run(name)
    # The driver's id is none of a task's, and belongs to all runs.
    assert write.driver_transactional_id() == "ottla/orders.1/driver"
    assert write.id_pattern() == r"ottla/orders\.1/[^/]+/[0-9]+/[0-9]+"
