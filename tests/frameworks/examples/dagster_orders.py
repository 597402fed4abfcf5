"""Dagster with ottla.scan and DuckDB: assets that load each record of a topic exactly once."""

import os
from typing import Any

import duckdb
from dagster import Definitions, MaterializeResult, asset

import ottla

KAFKA = {"bootstrap.servers": os.environ["KAFKA"], "isolation.level": "read_committed"}
WAREHOUSE = os.environ["WAREHOUSE"]


def load(topic: str, table: str, columns: str, query: str, **options: Any) -> MaterializeResult:
    """Load what was written since the last time; rows and positions are one transaction."""
    with ottla.Client(KAFKA) as client, duckdb.connect(f"{WAREHOUSE}/{table}.duckdb") as database:
        database.begin()
        database.execute(f"create table if not exists {table} ({columns})")
        database.execute("create table if not exists positions (number int unique, next bigint)")
        partitions = [(topic, number) for number in client.partitions_for(topic)]
        first: Any = client.list_offsets(dict.fromkeys(partitions, "earliest"))
        last: Any = client.list_offsets(dict.fromkeys(partitions, "latest"))
        start = {number: first[topic, number].offset for _, number in partitions}
        start |= dict(database.execute("from positions").fetchall())
        end = {number: last[topic, number].offset for _, number in partitions}
        # The query reads it by its name.
        records = ottla.scan(topic, client, start=start, end=end, **options)  # noqa: F841
        [(count,)] = database.execute(f"insert into {table} {query}").fetchall()
        database.executemany("insert or replace into positions values (?, ?)", list(end.items()))
        database.commit()
    return MaterializeResult(metadata={"records": count, "end": end})


@asset
def orders() -> MaterializeResult:
    """The orders, for queries."""
    return load(
        "orders",
        "orders",
        "number int, position bigint, value varchar, primary key (number, position)",
        'select partition, "offset", decode(value) from records',
    )


@asset
def failures() -> MaterializeResult:
    """The dead letters of the orders, with the reasons."""
    return load(
        "orders.dead-letters",
        "failures",
        "number int, position bigint, value blob, exception varchar, message varchar",
        """
        with letters as (
            select *, map_from_entries(list_transform(list_filter(headers,
                lambda header: starts_with(header.key, '__ottla.errors.')
            ), lambda header: (header.key, decode(header.value)))) as reason from records
        )
        select partition, "offset", value, reason['__ottla.errors.exception'],
            reason['__ottla.errors.message'] from letters
        """,
        include_headers=True,
    )


definitions = Definitions(assets=[orders, failures])
