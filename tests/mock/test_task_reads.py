"""Reads that are planned in one process and run in tasks of others, as by Ray and dask."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.pinned_read import ScanOptions
from ottla._internal.planning.task_read import Connection, TaskRead
from ottla.schema import Avro
from ottla.testing import MockCluster


def longs() -> Avro:
    """Return a format of numbers, as tasks make it."""
    return Avro(schema='"long"', wire_format="none")


def task_read(cluster: MockCluster, **arguments: Any) -> TaskRead:
    options = ScanOptions(arguments.pop("columns", None))
    return TaskRead(Connection(cluster.bootstrap, None, {}), options, **arguments)


def rows(read: TaskRead, ranges: Iterable[OffsetRange]) -> list[list[tuple[int, int]]]:
    """Return the partition and offset of the rows of each range, read by a pickled task."""
    found = []
    for one in ranges:
        task, part = pickle.loads(pickle.dumps((read, one)))
        table = [pa.record_batch(batch).to_pylist() for batch in task.batches([part])]
        found.append([(row["partition"], row["offset"]) for batch in table for row in batch])
    return found


@pytest.fixture
def filled(mock_cluster: MockCluster, topic: str) -> str:
    """A topic whose three partitions have 10, 0 and 5 records."""
    mock_cluster.append(topic, 0, [b"\x02"] * 10)
    mock_cluster.append(topic, 2, [b"\x04"] * 5)
    return topic


@pytest.mark.parametrize(
    ("max_records", "sizes"),
    [(None, [10, 5]), (100, [10, 5]), (4, [3, 3, 4, 2, 3]), (1, [1] * 15)],
)
def test_tasks_together_read_each_record_once(
    mock_cluster: MockCluster, filled: str, max_records: int | None, sizes: list[int]
) -> None:
    read = task_read(mock_cluster)
    ranges, schema = read.plan(filled, "earliest", "latest", None, max_records=max_records)
    assert schema == pa.schema(ottla.scan(filled, mock_cluster.bootstrap))
    # Records that were written after the plan are in none.
    mock_cluster.append(filled, 1, [b"late"])
    mock_cluster.append(filled, 2, [b"late"])
    found = rows(read, ranges)
    assert [len(part) for part in found] == sizes
    assert sorted(place for part in found for place in part) == [(0, i) for i in range(10)] + [
        (2, i) for i in range(5)
    ]
    # A task that is repeated reads the same.
    assert rows(read, ranges) == found


def test_tasks_make_their_own_formats(mock_cluster: MockCluster, filled: str) -> None:
    read = task_read(mock_cluster, columns=["value", "offset"], value_format=longs)
    ranges, schema = read.plan(filled, "earliest", "latest", None)
    assert schema == pa.schema([("value", pa.int64()), ("offset", pa.int64())])
    task = pickle.loads(pickle.dumps(read))
    (batch,) = task.batches(ranges[1:])
    assert pa.record_batch(batch)["value"].to_pylist() == [2] * 5


def test_a_plan_of_nothing_has_columns(mock_cluster: MockCluster, topic: str) -> None:
    ranges, schema = task_read(mock_cluster).plan(topic, "earliest", "latest", None)
    assert ranges == []
    assert "offset" in schema.names


def test_records_deleted_between_plan_and_task_are_an_error(
    mock_cluster: MockCluster, filled: str
) -> None:
    read = task_read(mock_cluster)
    ranges, _ = read.plan(filled, "earliest", "latest", None)
    mock_cluster.delete_records(filled, 0, 3)
    with pytest.raises(errors.DataLossError, match="the records from offset 0 to 3 are gone"):
        rows(read, ranges)


def test_bad_input_is_an_error_of_the_plan(mock_cluster: MockCluster, topic: str) -> None:
    with pytest.raises(errors.UnknownTopicError, match="nope"):
        TaskRead(
            Connection(mock_cluster.bootstrap, None, {}, timeout=0.2), ScanOptions(timeout=0.2)
        ).plan("nope", "earliest", "latest", None)
    with pytest.raises(errors.ConfigError, match="max_records=0: expected 1 or more"):
        task_read(mock_cluster).plan(topic, "earliest", "latest", None, max_records=0)
    with pytest.raises(errors.ConfigError, match="value_format is of type Avro: expected a func"):
        task_read(mock_cluster, value_format=longs())
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        pytest.raises(errors.ConfigError, match="bootstrap is a Client, which other processes"),
    ):
        Connection(client, None, {})  # type: ignore[arg-type]


def test_no_repr_shows_the_configuration() -> None:
    """Dashboards and logs show the arguments of tasks."""
    config = {"bootstrap.servers": "b:1", "sasl.password": "swordfish"}
    connection = Connection(config, config, {"sasl_password": "swordfish"})
    assert "swordfish" not in repr(TaskRead(connection, ScanOptions()))
