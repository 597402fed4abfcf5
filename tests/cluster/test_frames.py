"""Sources of polars and DuckDB on the mock and on real brokers: filters on times out of order."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import duckdb
import polars as pl

import ottla
from ottla.duckdb import scan_kafka as duckdb_scan
from ottla.polars import scan_kafka
from tests.cluster.conftest import Brokers

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
COUNT = 300


def test_times_out_of_order_find_the_rows_that_reading_everything_finds(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=2)
    chance = random.Random(7)
    with ottla.Producer(brokers.bootstrap, linger_ms=0, compression_type="zstd") as producer:
        # Several batches, whose times overlap.
        for begin in range(0, COUNT, 50):
            producer.send_batch(
                topic,
                [f"{number}" for number in range(begin, begin + 50)],
                timestamps=[
                    START + timedelta(milliseconds=chance.randrange(10 * begin, 10 * begin + 900))
                    for _ in range(50)
                ],
                partitions=[number % 2 for number in range(50)],
            ).result(timeout=30)
    with ottla.Client(brokers.bootstrap) as client, duckdb.connect() as database:
        database.execute("set timezone = 'UTC'")
        whole = pl.DataFrame(ottla.scan(topic, client))
        frame = scan_kafka(topic, client)
        duckdb_scan(topic, client, connection=database).create_view("records")
        assert frame.collect().height == whole.height == COUNT
        for _ in range(12):
            moment = START + timedelta(milliseconds=chance.randrange(-10, 3500))
            first = chance.randrange(COUNT // 2)
            condition = (pl.col("timestamp") >= moment) & (pl.col("offset") >= first)
            expected = sorted(whole.filter(condition)["value"])
            assert sorted(frame.filter(condition).collect()["value"]) == expected
            query = f"""select value from records
                where timestamp >= timestamptz '{moment.isoformat()}' and "offset" >= {first}"""
            assert sorted(value for (value,) in database.sql(query).fetchall()) == expected
        assert frame.head(7).collect().height == 7
