"""scan, a bounded read as an Arrow stream: bounds, columns, batches and errors."""

from __future__ import annotations

import gc
import threading
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows, read_table, values
from tests.support.waiting import wait_until

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def filled(producer: ottla.Producer, topic: str) -> str:
    """A topic with ten records in each of three partitions, one second apart."""
    producer.send_batch(
        topic,
        [f"{p}-{i}" for p in range(3) for i in range(10)],
        [f"k{i}" for p in range(3) for i in range(10)],
        timestamps=[START + timedelta(seconds=i) for p in range(3) for i in range(10)],
        partitions=[p for p in range(3) for i in range(10)],
    ).result(timeout=30)
    return topic


def expected(ranges: dict[int, range]) -> list[bytes]:
    return [f"{p}-{i}".encode() for p, offsets in ranges.items() for i in offsets]


ALL = {p: range(10) for p in range(3)}


def test_schema_is_exact(client: ottla.Client, filled: str) -> None:
    table = read_table(ottla.scan(filled, client))
    assert table.schema == SCHEMA
    assert read_table(ottla.scan(filled, client, include_headers=True)).schema == SCHEMA.append(
        pa.field("headers", HEADERS)
    )
    assert pa.schema(ottla.scan(filled, client)) == SCHEMA
    batch = next(ottla.scan(filled, client))
    assert pa.schema(batch) == SCHEMA
    assert pa.record_batch(batch).schema == SCHEMA


def test_rows_match_the_records_sent(client: ottla.Client, filled: str) -> None:
    rows = read_rows(ottla.scan(filled, client))
    assert [row["value"] for row in rows] == expected(ALL)
    assert [row["offset"] for row in rows] == list(range(10)) * 3
    assert {row["topic"] for row in rows} == {filled}
    assert {row["timestampType"] for row in rows} == {0}
    assert rows[7]["key"] == b"k7"
    assert rows[7]["timestamp"] == START + timedelta(seconds=7)


def test_order_within_a_partition(client: ottla.Client, filled: str) -> None:
    offsets: dict[int, list[int]] = {}
    for row in read_table(ottla.scan(filled, client)).to_pylist():
        offsets.setdefault(row["partition"], []).append(row["offset"])
    assert all(found == sorted(found) for found in offsets.values())


def test_iteration_gives_batches(client: ottla.Client, filled: str) -> None:
    batches = list(ottla.scan(filled, client))
    assert sum(len(batch) for batch in batches) == 30
    for batch in batches:
        assert batch.num_columns == 7
        assert batch.column_names == SCHEMA.names
        assert batch.num_rows == len(batch) == pa.record_batch(batch).num_rows
        assert batch.nbytes > 0


def test_batches_outlive_the_scan_and_client(mock_cluster: MockCluster, filled: str) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        batches = [pa.record_batch(batch) for batch in ottla.scan(filled, client)]
    del client
    gc.collect()
    assert sorted(v for b in batches for v in b["value"].to_pylist()) == sorted(expected(ALL))


@pytest.mark.parametrize(
    "columns",
    [
        ["value"],
        ["offset", "key"],
        ["headers", "topic"],
        list(reversed(SCHEMA.names)),
        ["timestampType"],
    ],
)
def test_columns_subset_and_order(client: ottla.Client, filled: str, columns: list[str]) -> None:
    scan = ottla.scan(filled, client, columns=columns)
    assert scan.column_names == columns
    table = read_table(scan)
    assert table.column_names == columns
    assert table.num_rows == 30


def test_headers(mock_cluster: MockCluster, producer: ottla.Producer, single: str) -> None:
    producer.send(single, "v", headers=[("a", b"1"), ("a", None), ("b", b"")])
    producer.send(single, "v").result(timeout=30)
    rows = read_rows(ottla.scan(single, mock_cluster.bootstrap, include_headers=True))
    headers = [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "b", "value": b""}]
    assert [row["headers"] for row in rows] == [headers, None]


BOUNDS: dict[str, tuple[dict[str, Any], dict[int, range]]] = {
    "default": ({}, ALL),
    "names": ({"start": "earliest", "end": "latest"}, ALL),
    "offset": ({"start": 4, "end": 6}, {p: range(4, 6) for p in range(3)}),
    "from latest": ({"start": "latest"}, {}),
    "to earliest": ({"end": "earliest"}, {}),
    "backwards": ({"start": 6, "end": 4}, {}),
    "mapping": (
        {"start": {0: 1, 1: 2, 2: 3}, "end": {0: 2, 1: 2, 2: 9}},
        {0: range(1, 2), 2: range(3, 9)},
    ),
    "mapping for some": ({"start": {1: 8}, "partitions": [1]}, {1: range(8, 10)}),
    "time": (
        {"start": START + timedelta(seconds=3), "end": START + timedelta(seconds=5)},
        {p: range(3, 5) for p in range(3)},
    ),
    "time between": (
        {"start": START + timedelta(seconds=7.5)},
        {p: range(8, 10) for p in range(3)},
    ),
    "time before all": ({"start": START - timedelta(days=1)}, ALL),
    "time after all": ({"start": START + timedelta(days=1)}, {}),
    "end after all": ({"end": START + timedelta(days=1)}, ALL),
    "one partition": ({"partitions": [2]}, {2: range(10)}),
    "partitions twice": ({"partitions": iter([2, 0, 2])}, {0: range(10), 2: range(10)}),
    "no partition": ({"partitions": []}, {}),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_start_end_and_partitions(client: ottla.Client, filled: str, case: str) -> None:
    arguments, ranges = BOUNDS[case]
    assert values(ottla.scan(filled, client, **arguments)) == expected(ranges)


def test_several_topics(
    client: ottla.Client, producer: ottla.Producer, filled: str, single: str
) -> None:
    producer.send(single, "other").result(timeout=30)
    table = read_table(ottla.scan([filled, single], client, partitions=[0]))
    assert table.num_rows == 11
    assert set(table["topic"].to_pylist()) == {filled, single}
    assert values(ottla.scan([single, single], client)) == [b"other"]


def test_records_written_after_the_start_are_not_read(
    client: ottla.Client, producer: ottla.Producer, filled: str
) -> None:
    scan = ottla.scan(filled, client)
    producer.send(filled, "later", partition=0).result(timeout=30)
    assert values(scan) == expected(ALL)


def test_empty_topic(client: ottla.Client, topic: str) -> None:
    assert list(ottla.scan(topic, client)) == []
    table = read_table(ottla.scan(topic, client))
    assert (table.num_rows, table.schema) == (0, SCHEMA)


def test_batches_are_bounded(client: ottla.Client, producer: ottla.Producer, single: str) -> None:
    producer.send_batch(single, ["x" * 100] * 5_000).result(timeout=30)
    rows = [len(batch) for batch in ottla.scan(single, client, max_rows=100)]
    assert sum(rows) == 5_000
    assert max(rows) <= 100
    sizes = [
        pa.record_batch(batch)["value"].nbytes
        for batch in ottla.scan(single, client, columns=["value"], target_bytes=10_000)
    ]
    assert len(sizes) > 20
    assert max(sizes) < 20_000


def test_a_scan_can_be_read_once(client: ottla.Client, filled: str) -> None:
    scan = ottla.scan(filled, client)
    assert sum(len(batch) for batch in scan) == 30
    assert list(scan) == []
    exported = ottla.scan(filled, client)
    assert read_table(exported).num_rows == 30
    for again in (lambda: next(exported), lambda: read_table(exported)):
        with pytest.raises(errors.ClosedError, match="can be read once"):
            again()


def test_close_midway(mock_cluster: MockCluster, client: ottla.Client, filled: str) -> None:
    with ottla.scan(filled, client, max_rows=5) as scan:
        assert len(next(scan)) == 5
    with pytest.raises(errors.ClosedError):
        next(scan)
    scan.close()
    reader = pa.RecordBatchReader.from_stream(ottla.scan(filled, client, max_rows=5))
    reader.read_next_batch()
    reader.close()
    # The client stays usable.
    assert read_table(ottla.scan(filled, client)).num_rows == 30


def test_closing_the_client_fails_a_scan(mock_cluster: MockCluster, filled: str) -> None:
    client = ottla.Client(mock_cluster.bootstrap)
    client.cluster([filled])
    mock_cluster.inject(Fault.silence(), api="Fetch")
    scan = ottla.scan(filled, client)
    client.close()
    with pytest.raises(errors.KafkaError):
        list(scan)


@pytest.mark.parametrize("arrow", [True, False])
def test_data_loss_is_an_error(
    mock_cluster: MockCluster, client: ottla.Client, filled: str, arrow: bool
) -> None:
    mock_cluster.delete_records(filled, 1, 4)
    scan = ottla.scan(filled, client, start=2)
    message = "records from offset 2 to 4 are gone"
    if arrow:
        # Arrow's stream interface carries the message but not the class.
        with pytest.raises((pa.ArrowException, OSError), match=message):
            read_table(scan)
        return
    with pytest.raises(errors.DataLossError, match=message) as raised:
        list(scan)
    assert raised.value.context["partition"] == 1
    assert not raised.value.retriable


def test_data_loss_may_be_skipped_and_is_logged(
    mock_cluster: MockCluster,
    client: ottla.Client,
    filled: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    mock_cluster.delete_records(filled, 1, 4)
    mock_cluster.delete_records(filled, 2, 10)
    scan = ottla.scan(filled, client, start=2, fail_on_data_loss=False)
    assert values(scan) == expected({0: range(2, 10), 1: range(4, 10)})
    # Clients of other tests may have something to say.
    fetching = [record for record in caplog.records if record.name == "ottla.fetch"]
    assert {(record.name, record.getMessage()) for record in fetching} == {
        (
            "ottla.fetch",
            f"{filled}-{partition}: the records from offset 2 to {end} are gone and were skipped",
        )
        for partition, end in ((1, 4), (2, 10))
    }
    # The default start is the earliest available offset.
    assert values(ottla.scan(filled, client)) == expected({0: range(10), 1: range(4, 10)})


@pytest.mark.parametrize("reads", ["scan", "poll_arrow", "poll"])
def test_a_batch_above_the_limit_names_the_setting(
    mock_cluster: MockCluster, single: str, reads: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, compression_type="lz4") as producer:
        for size in (90_000, 110_000):
            producer.send(single, bytes(size)).result(timeout=30)
    config = {"decompressed.batch.max.bytes": 100_000, "auto.offset.reset": "earliest"}
    if reads == "scan":
        with ottla.Client(mock_cluster.bootstrap, config=config) as client:
            scan = ottla.scan(single, client)
            with pytest.raises(errors.ConfigError) as raised:
                list(scan)
    else:
        with ottla.Consumer(mock_cluster.bootstrap, config=config) as consumer:
            consumer.assign([(single, 0)])
            read = getattr(consumer, reads)
            first = read(timeout=30)
            assert len(first) == 1
            with pytest.raises(errors.ConfigError) as raised:
                read(timeout=30)
    assert raised.value.context["topic"] == single
    assert raised.value.context["partition"] == 0
    for message in (
        "batch at offset 1: lz4 data decompresses to more than 100000 bytes",
        "raise decompressed.batch.max.bytes",
    ):
        assert message in str(raised.value)


def test_beyond_the_end(mock_cluster: MockCluster, client: ottla.Client, filled: str) -> None:
    with pytest.raises(errors.TimeoutError, match="the log ends at 10"):
        list(ottla.scan(filled, client, start=0, end=15, partitions=[0], timeout=3))
    with pytest.raises(errors.DataLossError):
        list(ottla.scan(filled, client, start=12, end=15, partitions=[0], timeout=30))


WRONG: list[tuple[dict[str, Any], type, str]] = [
    ({"start": "first"}, errors.ConfigError, "start='first': expected 'earliest' or 'latest'"),
    ({"end": -1}, errors.ConfigError, "end=-1: an offset is 0 or more"),
    ({"start": True}, errors.ArgumentTypeError, "start is the bool True: expected 'earliest'"),
    ({"start": 1.5}, errors.ArgumentTypeError, "start is the float 1.5"),
    ({"end": None}, errors.ArgumentTypeError, "end is the NoneType None"),
    ({"start": {0: 1}}, errors.ConfigError, "no offset is given for partition 1"),
    ({"start": {0: -2, 1: 0, 2: 0}}, errors.ConfigError, "offset"),
    (
        {"partitions": [0, 3]},
        errors.UnknownTopicError,
        r"partition 3 of topic orders.*has 3 \(0 to 2\)",
    ),
    (
        {"columns": ["value", "colour"]},
        errors.ConfigError,
        'column "colour" does not exist: there are key',
    ),
    ({"columns": []}, errors.ConfigError, "columns"),
    ({"columns": ["key", "key"]}, errors.ConfigError, "key"),
    ({"max_rows": 0}, errors.ConfigError, "max_rows"),
    ({"target_bytes": 0}, errors.ConfigError, "target_bytes"),
    ({"linger_ms": 5}, errors.ConfigError, "takes its configuration"),
    ({"timeout": -1}, errors.ConfigError, "timeout"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), WRONG)
def test_invalid_arguments_raise(
    client: ottla.Client, filled: str, arguments: dict[str, Any], kind: type, message: str
) -> None:
    with pytest.raises(kind, match=message):
        ottla.scan(filled, client, **arguments)


def test_unknown_topic_times_out(client: ottla.Client) -> None:
    with pytest.raises(errors.UnknownTopicError, match="nowhere"):
        ottla.scan("nowhere", client, timeout=3)


def test_without_a_client(mock_cluster: MockCluster, filled: str) -> None:
    assert (
        len(values(ottla.scan(filled, mock_cluster.bootstrap, client_id="me", check_crcs=False)))
        == 30
    )
    assert (
        len(values(ottla.scan(filled, config={"bootstrap.servers": mock_cluster.bootstrap}))) == 30
    )


def test_polars_and_pandas_read_it(client: ottla.Client, filled: str) -> None:
    frame = pl.DataFrame(ottla.scan(filled, client, columns=["value", "partition", "timestamp"]))
    assert frame.shape == (30, 3)
    assert frame["value"].sort().to_list() == sorted(expected(ALL))
    assert frame.schema["timestamp"] == pl.Datetime("us", "UTC")
    table = read_table(ottla.scan(filled, client, columns=["offset"]))
    assert table.to_pandas()["offset"].sum() == 135


def test_client_scan_by_ranges(client: ottla.Client, filled: str) -> None:
    scan = client.scan([(filled, 0, 2, 4), (filled, 2, 9, 100_000 - 99_990), (filled, 0, 8, 10)])
    assert values(scan) == expected({0: [2, 3, 8, 9], 2: [9]})  # type: ignore[dict-item]
    with pytest.raises(errors.ConfigError, match="starts at -1"):
        client.scan([(filled, 0, -1, 4)])
    assert list(client.scan([])) == []


def test_large_topic_under_many_batches(client: ottla.Client, topic: str) -> None:
    with ottla.Producer(client) as producer:
        for _ in range(10):
            producer.send_batch(topic, pa.array([f"{i:0200}" for i in range(10_000)]))
    table = read_table(ottla.scan(topic, client, columns=["value"]))
    assert table.num_rows == 100_000


def test_a_scan_without_an_end_follows_until_it_is_closed(
    mock_cluster: MockCluster, client: ottla.Client, filled: str
) -> None:
    before = sum(batch.num_rows for batch in ottla.scan(filled, client))
    with ottla.scan(filled, client, end="never", columns=["offset"]) as scan:
        rows = 0
        while rows < before:
            rows += next(scan).num_rows
        mock_cluster.append(filled, 0, [b"later"])
        rows += next(scan).num_rows
    assert rows == before + 1
    with pytest.raises(ottla.errors.ClosedError):
        next(scan)


def test_closing_ends_a_read_in_another_thread(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=1)
    mock_cluster.append("t", 0, [b"v"])
    scan = ottla.scan("t", mock_cluster.bootstrap, start="earliest", end="never")
    rows: list[int] = []
    reader = threading.Thread(target=lambda: rows.extend(batch.num_rows for batch in scan))
    reader.start()
    wait_until(lambda: rows)
    scan.close()
    reader.join(10)
    assert not reader.is_alive()
    assert rows == [1]
