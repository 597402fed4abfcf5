"""The demo's steps, in order: find, make, produce, scan, Spark; each timed and checked.

Exit code 0 means that every event came back, byte for byte, both ways.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import ottla
from ottla.demo.events import Tally, checksum, make_events
from ottla.demo.spark_step import read_with_spark, start_spark
from ottla.demo.topology import topology_lines
from ottla.extras import require
from ottla.testing import MockCluster

EVENTS = int(os.environ.get("OTTLA_DEMO_EVENTS", "1000000"))
PARTITIONS = 12
STEPS = 5


def say(text: str = "") -> None:
    """Print at once: the demo shows what it does while it does it."""
    print(text, flush=True)


def step(number: int, title: str) -> None:
    """Say which step begins."""
    say(f"\n{number} of {STEPS}: {title}")


@contextlib.contextmanager
def timed(what: str, events: int = 0) -> Iterator[None]:
    """Time a part of a step, and print its rate if it is about events."""
    began = time.perf_counter()
    yield
    seconds = time.perf_counter() - began
    rate = f", {events / seconds:,.0f} events/s" if events else ""
    say(f"  {what}: {seconds:.2f} s{rate}")


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """Give the addresses of the cluster that was named, or of one made here."""
    named = os.environ.get("OTTLA_BOOTSTRAP")
    if named:
        yield named
        return
    with MockCluster(brokers=3) as mock:
        say("OTTLA_BOOTSTRAP is not set: three mock brokers run in this process.")
        yield mock.bootstrap


def check(what: str, got: Tally, wanted: Tally) -> None:
    """End the demo if anything is missing, doubled or changed."""
    if got != wanted:
        sys.exit(f"{what}: {got} came back, but {wanted} was sent")
    say(f"  checked: {got.count:,} events, checksum {got.checksum:#x}")


def scan_tally(client: ottla.Client, topic: str) -> tuple[Tally, Any]:
    """Read the whole topic into an Arrow table."""
    import pyarrow as pa

    table = pa.RecordBatchReader.from_stream(ottla.scan(topic, client)).read_all()
    return Tally(count=table.num_rows), table


def main() -> None:
    """Run all steps."""
    try:
        require("ottla.demo", "spark")
    except ImportError as error:
        sys.exit(str(error))
    topic = f"ottla-demo-{os.getpid()}-{int(time.time())}"
    with cluster() as bootstrap:
        step(1, "find the cluster")
        with timed(f"connected to {bootstrap}"):
            client = ottla.Client(bootstrap, linger_ms=5, batch_size=262_144)
        admin = ottla.Admin(client)
        admin.create_topic(topic, partitions=PARTITIONS)
        say(f"  topic {topic}:")
        for line in topology_lines(client.cluster([topic]), topic):
            say(f"    {line}")

        step(2, f"make {EVENTS:,} JSON events")
        with timed("made"):
            values, keys, wanted = make_events(EVENTS)

        try:
            step(3, f"produce them to {PARTITIONS} partitions")
            with timed("produced and acknowledged", EVENTS), ottla.Producer(client) as producer:
                producer.send_batch(topic, values, keys).result()

            step(4, "read them back into Arrow with ottla.scan")
            with timed("read", EVENTS):
                got, table = scan_tally(client, topic)
            got.checksum = checksum(table["value"].to_pylist())
            check("scan", got, Tally(wanted.count, wanted.checksum))
            del table

            step(5, "read them with Spark's format('ottla'), grouped by action")
            with timed("session started"):
                spark = start_spark()
            with timed("first query, which starts Python workers", EVENTS):
                read_with_spark(spark, bootstrap, topic)
            with timed("second query", EVENTS):
                grouped = read_with_spark(spark, bootstrap, topic)
            check("Spark", grouped, wanted)
            for action, count in sorted(grouped.actions.items()):
                say(f"    {action:<9} {count:>9,}")
            spark.stop()
        finally:
            admin.delete_topic(topic)
    say("\nEvery event came back, both ways.")


if __name__ == "__main__":
    main()
