"""Airflow with ottla.scan: a run loads the range of a topic that its first task chose."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import dag, task

import ottla

KAFKA = {"bootstrap.servers": os.environ["KAFKA"], "isolation.level": "read_committed"}
LAKE = Path(os.environ["LAKE"])
GROUP = "lake"
# A partition, and the offsets at which the range begins and ends.
Range = tuple[int, int, int]


@dag(
    schedule="@hourly",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=30)},
)
def load_orders() -> None:
    @task
    def choose_ranges() -> list[Range]:
        with ottla.Client(KAFKA) as client, ottla.Admin(KAFKA) as admin:
            partitions = [("orders", number) for number in client.partitions_for("orders")]
            first: dict[Any, Any] = client.list_offsets(dict.fromkeys(partitions, "earliest"))
            last: dict[Any, Any] = client.list_offsets(dict.fromkeys(partitions, "latest"))
            committed = admin.list_group_offsets([GROUP])[GROUP]
        start = {**first, **committed}
        return [(one[1], start[one].offset, last[one].offset) for one in partitions]

    @task
    def load(ranges: list[Range]) -> None:
        for partition, start, end in ranges:
            if start < end:
                records = ottla.scan("orders", KAFKA, partitions=[partition], start=start, end=end)
                table = pa.RecordBatchReader.from_stream(records).read_all()
                # Another attempt, and a run after one that failed, replaces this file.
                file = LAKE / f"orders-{partition}-{start:019}.parquet"
                pq.write_table(table, file.with_suffix(".new"))
                file.with_suffix(".new").replace(file)

    @task
    def commit(ranges: list[Range]) -> None:
        with ottla.Admin(KAFKA) as admin:
            admin.alter_group_offsets(
                GROUP, {("orders", partition): end for partition, _, end in ranges}
            )

    ranges = choose_ranges()
    load(ranges) >> commit(ranges)


load_orders()
