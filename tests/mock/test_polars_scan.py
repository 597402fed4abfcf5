"""polars' lazy frames of topics: the rows of reading everything, and less that is read."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest

import ottla
from ottla import errors
from ottla.polars import scan_kafka
from ottla.testing import MockCluster
from tests.support.pinned_reads import Scans, record_scans

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
PER_PARTITION = 100
TOPICS = ("orders", "single")
ORDER = ["topic", "partition", "offset"]
ENGINES: list[Any] = ["in-memory", "streaming"]

topic, partition, offset, time = (
    pl.col(name) for name in ("topic", "partition", "offset", "timestamp")
)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Scans:
    return record_scans(monkeypatch)


@pytest.fixture
def filled(producer: ottla.Producer, topic: str, single: str) -> list[str]:
    """Two topics, of three partitions and of one, with records one second apart.

    In partition 0 of the first one, times decrease.
    """
    for name, partitions in ((topic, 3), (single, 1)):
        places = [(p, i) for p in range(partitions) for i in range(PER_PARTITION)]
        producer.send_batch(
            name,
            [f"{p}-{i}" for p, i in places],
            timestamps=[
                START + timedelta(seconds=PER_PARTITION - i if (name, p) == (topic, 0) else i)
                for p, i in places
            ],
            partitions=[p for p, _ in places],
        ).result(timeout=30)
    return [topic, single]


@pytest.fixture
def frame(client: ottla.Client, filled: list[str]) -> pl.LazyFrame:
    return scan_kafka(filled, client)


def everything(client: ottla.Client, topics: list[str]) -> pl.DataFrame:
    return pl.DataFrame(ottla.scan(topics, client))


def random_filter(chance: random.Random, depth: int = 0) -> pl.Expr:
    """Return a filter, of which some parts can be pushed down and others cannot."""
    if depth < 3 and chance.random() < 0.5:
        first, second = random_filter(chance, depth + 1), random_filter(chance, depth + 1)
        return chance.choice([first & second, first | second, ~first, first ^ second])
    number = chance.randrange(-5, PER_PARTITION + 5)
    moment = START + timedelta(seconds=number, microseconds=chance.choice([0, 1, 999_999]))
    closed: Any = chance.choice(["both", "left", "right", "none"])
    leaves: list[Any] = [
        offset == number,
        offset != number,
        offset < number,
        offset >= number,
        number > offset,
        offset.is_in([number, number + 1, None]),
        offset.is_between(number, number + 20, closed=closed),
        offset % 3 == 1,
        offset > number + 0.5,
        offset + partition > number,
        partition == chance.randrange(4),
        partition.is_in([0, 2]),
        partition > 0,
        topic == chance.choice(TOPICS),
        topic.str.starts_with("s"),
        topic.str.contains("r"),
        topic.is_in(["orders"]),
        time >= moment,
        time < moment,
        time == moment,
        time.is_between(moment, moment + timedelta(seconds=9), closed=closed),
        time.dt.minute() == 1,
        time.is_null(),
        pl.col("value") > b"1",
        pl.col("key").is_null(),
        pl.lit(value=False),
    ]
    found: pl.Expr = chance.choice(leaves)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_filter_finds_the_rows_that_reading_everything_finds(
    client: ottla.Client, filled: list[str], frame: pl.LazyFrame, seed: int
) -> None:
    chance = random.Random(seed)
    whole = everything(client, filled)
    for _ in range(40):
        condition = random_filter(chance)
        columns = chance.sample(whole.columns, chance.randrange(1, 7))
        chosen = [*ORDER, *(name for name in columns if name not in ORDER)]
        expected = whole.filter(condition).select(chosen).sort(ORDER)
        found = frame.filter(condition).select(chosen).collect(engine=chance.choice(ENGINES))
        assert found.sort(ORDER).equals(expected), str(condition)
        count = frame.filter(condition).select(pl.len()).collect().item()
        assert count == expected.height, str(condition)


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        (partition == 1, [("orders", 1, 0, 100)]),
        (topic == "single", [("single", 0, 0, 100)]),
        ((topic == "single") & (offset >= 90), [("single", 0, 90, 100)]),
        ((partition == 2) & offset.is_between(5, 7), [("orders", 2, 5, 8)]),
        ((partition == 2) & offset.is_in([5, 9]), [("orders", 2, 5, 6), ("orders", 2, 9, 10)]),
        (
            (topic == "single") & ((offset < 2) | (offset > 97)),
            [("single", 0, 0, 2), ("single", 0, 98, 100)],
        ),
        # The look-up begins a millisecond early.
        ((partition == 1) & (time >= START + timedelta(seconds=50)), [("orders", 1, 50, 100)]),
        ((partition == 1) & (time > START + timedelta(seconds=200)), []),
        # Records need not be in order of time.
        ((partition == 1) & (time < START + timedelta(seconds=50)), [("orders", 1, 0, 100)]),
        ((partition == 1) & (offset % 2 == 0), [("orders", 1, 0, 100)]),
        ((partition == 1) | (pl.col("value") == b"1-1"), None),
        (offset > 100, []),
        (pl.lit(value=False), []),
    ],
)
def test_a_filter_limits_what_is_read(
    frame: pl.LazyFrame, scans: Scans, condition: pl.Expr, read: list[Any] | None
) -> None:
    frame.filter(condition).collect()
    found = scans.take()
    assert found == (read if read is not None else found)
    assert sum(end - start for *_, start, end in found) == (
        400 if read is None else sum(end - start for *_, start, end in read)
    )


def test_only_the_columns_of_a_query_are_read(frame: pl.LazyFrame, scans: Scans) -> None:
    frame.filter(partition == 1).select("value").collect()
    assert scans.columns == [["value", "partition"]]
    scans.take()
    assert frame.select(pl.len()).collect().item() == 400
    assert all(len(columns) == 1 for columns in scans.columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_head_reads_as_many_offsets_as_it_needs(
    frame: pl.LazyFrame, scans: Scans, engine: Any
) -> None:
    for rows in (0, 1, 7, 150, 400, 1000):
        assert frame.head(rows).collect(engine=engine).height == min(rows, 400)
        assert scans.offsets() == min(rows, 400)
    # The rows of head are chosen before the filter.
    first = frame.head(150).collect()
    assert frame.head(150).filter(offset > 60).collect().height == first.filter(offset > 60).height


def test_head_reads_on_behind_records_that_are_gone(
    client: ottla.Client, mock_cluster: MockCluster, single: str, scans: Scans
) -> None:
    """Aborted records, and the markers of transactions, take offsets and are no rows."""
    for number in range(5):
        mock_cluster.append(single, 0, [b"%d" % number])
        mock_cluster.append_in_transaction(single, 0, 7, [b"aborted"] * 20)
        mock_cluster.end_transaction(single, 0, 7, commit=False)
    with ottla.Client(mock_cluster.bootstrap, isolation_level="read_committed") as committed:
        frame = scan_kafka(single, committed)
        assert frame.head(3).collect()["value"].to_list() == [b"0", b"1", b"2"]
        assert scans.offsets() < 110
        assert frame.collect().height == frame.head(99).collect().height == 5
    assert scan_kafka(single, client).collect().height == 105


def test_each_query_has_the_same_rows(
    frame: pl.LazyFrame, producer: ottla.Producer, filled: list[str]
) -> None:
    """Records that were written after the call are in none, and a query can be repeated."""
    producer.send_batch(filled[1], ["late"]).result(timeout=30)
    assert frame.collect().height == frame.collect().height == 400
    assert frame.join(frame, on=ORDER).collect().height == 400


def test_records_that_retention_deleted_are_an_error(
    frame: pl.LazyFrame, client: ottla.Client, mock_cluster: MockCluster, filled: list[str]
) -> None:
    skipping = scan_kafka(filled, client, fail_on_data_loss=False)
    mock_cluster.delete_records("single", 0, 10)
    for engine in ENGINES:
        with pytest.raises(Exception, match="the records from offset 0 to 10 are gone"):
            frame.collect(engine=engine)
    assert frame.filter(partition == 1).collect().height == 100
    assert skipping.collect().height == 390


def test_empty_topics_have_columns(client: ottla.Client, single: str) -> None:
    frame = scan_kafka(single, client, include_headers=True)
    assert frame.collect().is_empty()
    assert frame.head(3).collect().schema == frame.collect_schema()
    assert frame.collect_schema()["headers"] == pl.List(
        pl.Struct({"key": pl.String, "value": pl.Binary})
    )
    assert frame.select(pl.len()).collect().item() == 0


def test_bad_input_is_an_error_of_the_call(client: ottla.Client, single: str) -> None:
    with pytest.raises(errors.UnknownTopicError, match="nope"):
        scan_kafka("nope", client, timeout=0.2)
    with pytest.raises(errors.UnknownTopicError, match="partition 7 of topic single"):
        scan_kafka(single, client, partitions=[7])
    with pytest.raises(errors.ConfigError, match='column "nope" does not exist'):
        scan_kafka(single, client, columns=["nope"])
    with pytest.raises(errors.ConfigError, match="value_format is of type str"):
        scan_kafka(single, client, value_format="avro")  # type: ignore[arg-type]
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="nope"):
        scan_kafka(single, client).filter(pl.col("nope") == 1).collect()


def test_a_predicate_that_cannot_be_read_sets_no_bounds(
    frame: pl.LazyFrame, scans: Scans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars may change the form of its expressions with any version."""
    monkeypatch.setattr(
        "ottla._internal.planning.polars_bounds.json.loads", lambda _: {"New": [{"form": 1}]}
    )
    assert frame.filter(partition == 1).collect().height == 100
    assert scans.offsets() == 400
    deep = pl.any_horizontal([offset == i for i in range(3)])
    for number in range(200):
        deep = deep | (offset == number % 3)
    assert frame.filter(deep).collect().height == 12


def test_a_query_that_ends_early_stops_reading(frame: pl.LazyFrame) -> None:
    batches = frame.collect_batches(chunk_size=10) if hasattr(frame, "collect_batches") else None
    if batches is not None:
        assert next(iter(batches)).height > 0
    assert frame.filter(offset > 3).head(2).collect(engine="streaming").height == 2
