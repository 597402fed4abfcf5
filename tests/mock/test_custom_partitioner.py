"""Custom partitioners: a callable, or an object that partitions whole columns of keys."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.partitioners import Array
from ottla.testing import MockCluster
from tests.support import loops

PARTITIONS = 13


@pytest.fixture
def wide(mock_cluster: MockCluster) -> str:
    """A topic of thirteen partitions."""
    mock_cluster.create_topic("wide", partitions=PARTITIONS)
    return "wide"


@contextmanager
def producing(cluster: MockCluster, partitioner: Any) -> Iterator[ottla.Producer]:
    with ottla.Producer(cluster.bootstrap, linger_ms=0, partitioner=partitioner) as producer:
        yield producer


def partitions(cluster: MockCluster, topic: str) -> dict[bytes, int]:
    """Return the partition of each value."""
    scan = ottla.scan(topic, cluster.bootstrap, columns=["value", "partition"])
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    return {row["value"]: row["partition"] for row in table.to_pylist()}


def by_value(topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
    assert (topic, count) == ("wide", PARTITIONS)
    assert key in (None, b"k")
    return int(value or b"0") % count


class ColumnPartitioner:
    """Partition numeric keys; records without a key go to the last partition."""

    def __init__(self, convert: Callable[[list[int]], Any]) -> None:
        self.convert = convert
        self.calls = 0

    def partition_batch(self, topic: str, keys: Array, count: int) -> Any:
        assert (topic, count) == ("wide", PARTITIONS)
        self.calls += 1
        numbers: list[bytes | str | None] = pa.array(keys).to_pylist()
        assert len(numbers) == len(keys)
        return self.convert([count - 1 if key is None else int(key) % count for key in numbers])


def test_a_callable_partitions_records_without_a_partition(
    mock_cluster: MockCluster, wide: str
) -> None:
    with producing(mock_cluster, by_value) as producer:
        assert producer.send(wide, b"5", b"k").partition == 5
        assert producer.send(wide, "20").partition == 7
        assert producer.send(wide, b"5", b"k", partition=2).partition == 2
        producer.send_batch(wide, [b"31", b"32", b"33"], ["k", None, "k"]).result(timeout=30)
        producer.send_batch(wide, [b"41", b"42"], partitions=[0, None]).result(timeout=30)
        producer.send_batch(wide, pa.chunked_array([[b"51"], [b"52", b"53"]])).result(timeout=30)
        table = pa.table({"value": [b"61", b"62"], "partition": pa.array([None, 1], pa.int32())})
        producer.send_batch(wide, table).result(timeout=30)
    found = partitions(mock_cluster, wide)
    for value in (31, 32, 33, 42, 51, 52, 53, 61):
        assert found[str(value).encode()] == value % PARTITIONS
    assert (found[b"41"], found[b"62"]) == (0, 1)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        lambda chosen: pa.array(chosen, pa.int32()),
        lambda chosen: pa.array(chosen, pa.int64()),
    ],
    ids=["list", "int32", "int64"],
)
def test_an_object_partitions_whole_columns(
    mock_cluster: MockCluster, wide: str, convert: Callable[[list[int]], Any]
) -> None:
    partitioner = ColumnPartitioner(convert)
    with producing(mock_cluster, partitioner) as producer:
        values, keys = [b"a", b"b", b"c"], ["14", None, "16"]
        producer.send_batch(wide, values, keys).result(timeout=30)
        assert partitioner.calls == 1, "called more than once for a list"
        more = pa.table({"key": ["17", None], "value": ["d", "e"]})
        producer.send_batch(wide, more).result(timeout=30)
        producer.send_batch(wide, pa.array([b"f"]), pa.array([b"18"])).result(timeout=30)
        producer.send_batch(wide, pa.array([b"g"])).result(timeout=30)
        assert partitioner.calls == 4
        assert producer.send(wide, b"h", "19").partition == 6
    last = PARTITIONS - 1
    chosen = dict(zip(map(str.encode, "abcdefgh"), [1, last, 3, 4, last, 5, last, 6], strict=True))
    assert partitions(mock_cluster, wide) == chosen


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (13, "returned 13; expected for each record an int from 0 to 12"),
        (-1, "returned -1;"),
        (10**30, "far too large"),
        ("1", "type str"),
        (None, "type NoneType"),
        (True, "type bool"),
        (1.0, "type float"),
    ],
)
def test_invalid_partitions_raise_and_nothing_is_sent(
    mock_cluster: MockCluster, wide: str, returned: object, message: str
) -> None:
    with producing(mock_cluster, lambda *_: returned) as producer:
        calls: list[Callable[[], object]] = [
            lambda: producer.send(wide, b"v"),
            lambda: producer.send_batch(wide, [b"v"]),
            lambda: producer.send_batch(wide, pa.array([b"v"])),
        ]
        for call in calls:
            with pytest.raises(errors.ConfigError, match=message) as caught:
                call()
            assert caught.value.context["topic"] == wide
    with producing(mock_cluster, ColumnPartitioner(lambda _: [returned])) as producer:
        with pytest.raises(errors.ConfigError, match=message):
            producer.send_batch(wide, [b"v"])
        with pytest.raises(errors.ConfigError, match=message):
            producer.send(wide, b"v")
    assert partitions(mock_cluster, wide) == {}


def test_too_few_or_null_partitions_are_errors(mock_cluster: MockCluster, wide: str) -> None:
    def constant(result: Any, _: list[int]) -> Any:
        return result

    for result, message in (
        ([0], "1 partitions for 2 keys"),
        (pa.array([0, None], pa.int32()), "a null"),
        (pa.array(["a", "b"]), "an array of Utf8"),
    ):
        column = ColumnPartitioner(partial(constant, result))
        with (
            producing(mock_cluster, column) as producer,
            pytest.raises(errors.ConfigError, match=message),
        ):
            producer.send_batch(wide, [b"a", b"b"])
    assert partitions(mock_cluster, wide) == {}


def test_partitioner_exceptions_reach_the_caller(mock_cluster: MockCluster, wide: str) -> None:
    def failing(*_: object) -> int:
        raise LookupError("no such region")

    with producing(mock_cluster, failing) as producer:
        with pytest.raises(LookupError, match="no such region"):
            producer.send(wide, b"v")
        with pytest.raises(LookupError, match="no such region"):
            producer.send_batch(wide, pa.array([b"v"]))
        assert producer.send(wide, b"v", partition=3).result(timeout=30).partition == 3
    assert list(partitions(mock_cluster, wide)) == [b"v"]


def test_invalid_batches_raise_the_usual_error(mock_cluster: MockCluster, wide: str) -> None:
    with producing(mock_cluster, by_value) as producer:
        for values in ("text", b"bytes", 5, (n for n in [b"v"])):
            with pytest.raises(TypeError, match="values is of type"):
                producer.send_batch(wide, values)


def test_invalid_partitioners_are_rejected(mock_cluster: MockCluster) -> None:
    with pytest.raises(errors.ConfigError, match="partitioner is of type int; expected a name"):
        ottla.Producer(mock_cluster.bootstrap, partitioner=5)  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="did you mean consistent_random"):
        ottla.Producer(mock_cluster.bootstrap, partitioner="consistent_randon")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_partitions_for_a_column_match_partition_for_key(kind: pa.DataType) -> None:
    made = random.Random(3)
    keys = [None if row % 7 == 0 else made.randbytes(row % 40) for row in range(2_000)]
    column = pa.chunked_array([pa.array(keys[:900], kind), pa.array(keys[900:], kind)])
    found = pa.array(ottla.partitions_for_keys(column, 17))
    assert found.type == pa.int32()
    expected = [None if key is None else ottla.partition_for_key(key, 17) for key in keys]
    assert found.to_pylist() == expected
    texts = pa.array(["ä", None, ""])
    assert pa.array(ottla.partitions_for_keys(texts, 17)).to_pylist()[0] == (
        ottla.partition_for_key("ä", 17)
    )


def test_partitions_for_invalid_keys_raise() -> None:
    with pytest.raises(errors.ConfigError, match="partitions is 0"):
        ottla.partitions_for_keys(pa.array([b"k"]), 0)
    with pytest.raises(errors.ConfigError):
        ottla.partitions_for_keys(pa.array([1, 2]), 3)
    with pytest.raises(TypeError, match="keys is of type list"):
        ottla.partitions_for_keys([b"k"], 3)


@pytest.mark.parametrize("form", [by_value, ColumnPartitioner(lambda numbers: numbers)])
def test_with_asyncio(mock_cluster: MockCluster, wide: str, form: Any) -> None:
    """Includes sends that wait for their topic to be looked up."""

    async def work() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap, partitioner=form) as producer:
            first = [
                producer.send(wide, str(number), b"k" if form is by_value else str(number))
                for number in range(30)
            ]
            partitions_sent = [(await future).partition for future in first]
            assert partitions_sent == [number % PARTITIONS for number in range(30)]
            assert (
                await producer.send(wide, b"5", b"k" if form is by_value else b"5")
            ).partition == 5
            keys = ["k", None] if form is by_value else ["31", "32"]
            await (await producer.send_batch(wide, [b"31", b"32"], keys)).result()
        async with ottla.AsyncProducer(mock_cluster.bootstrap, partitioner=form) as producer:
            table = pa.table({"value": ["41", "42"], "key": ["41", "42"]})
            if form is by_value:
                table = table.drop_columns(["key"])
            await (await producer.send_batch(wide, table)).result()

    loops.run(work(), 60)
    found = partitions(mock_cluster, wide)
    for value in (29, 31, 32, 41, 42):
        assert found[str(value).encode()] == value % PARTITIONS


def test_with_asyncio_partitioner_exceptions_reach_the_caller(
    mock_cluster: MockCluster, wide: str
) -> None:
    def choose(topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
        raise ZeroDivisionError("mine")

    async def work() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap, partitioner=choose) as producer:
            with pytest.raises(ZeroDivisionError, match="mine"):  # waits for its topic
                await producer.send(wide, b"v")
            with pytest.raises(ZeroDivisionError, match="mine"):  # does not wait
                await producer.send(wide, b"v")
            with pytest.raises(ZeroDivisionError, match="mine"):
                await producer.send_batch(wide, [b"v"])
            assert producer.buffered_bytes == 0
            assert (await producer.send(wide, b"v", partition=3)).partition == 3

    loops.run(work(), 60)
