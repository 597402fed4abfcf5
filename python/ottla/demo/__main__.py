"""The demo's steps, in order: find, produce, scan, Spark; each timed and checked.

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
from ottla.testing import MockCluster

EVENTS = int(os.environ.get("OTTLA_DEMO_EVENTS", "1000000"))
PARTITIONS = 12


def say(text: str = "") -> None:
    """Print at once: the demo shows what it does while it does it."""
    print(text, flush=True)


@contextlib.contextmanager
def step(title: str, events: int = 0) -> Iterator[None]:
    """Time a step, and print its rate if it is about events."""
    say(f"{title} …")
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = f", {events / wall:,.0f} events/s" if events else ""
    say(f"  {wall:.2f} s{rate} (this process: {cpu:.2f} s of CPU)")


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """Give the addresses of the cluster that was named, or of one made here."""
    named = os.environ.get("OTTLA_BOOTSTRAP")
    if named:
        yield named
        return
    with MockCluster(brokers=3) as mock:
        say("no OTTLA_BOOTSTRAP is set: a three-broker cluster runs in this process")
        yield mock.bootstrap


def check(what: str, got: Tally, wanted: Tally) -> None:
    """End the demo if anything is missing, doubled or changed."""
    if got != wanted:
        sys.exit(f"{what}: {got} came back, {wanted} was sent")
    say(f"  count {got.count:,} and checksum {got.checksum:#x} are right")


def scan_tally(client: ottla.Client, topic: str) -> tuple[Tally, Any]:
    """Read the whole topic into an Arrow table."""
    import pyarrow as pa

    table = pa.RecordBatchReader.from_stream(ottla.scan(topic, client)).read_all()
    return Tally(count=table.num_rows), table


def main() -> None:
    """Run all steps."""
    topic = f"ottla-demo-{os.getpid()}-{int(time.time())}"
    with cluster() as bootstrap:
        with step(f"finding the cluster from {bootstrap}"):
            client = ottla.Client(bootstrap, linger_ms=5, batch_size=262_144)
            admin = ottla.Admin(client)
            admin.create_topic(topic, partitions=PARTITIONS)
        for line in topology_lines(client.cluster([topic]), topic):
            say(line)

        with step(f"making {EVENTS:,} JSON events"):
            values, keys, wanted = make_events(EVENTS)

        try:
            with (
                step(f"producing them to {PARTITIONS} partitions", EVENTS),
                ottla.Producer(client) as producer,
            ):
                producer.send_batch(topic, values, keys).result()

            with step("reading them back with ottla.scan into Arrow", EVENTS):
                got, table = scan_tally(client, topic)
            got.checksum = checksum(table["value"].to_pylist())
            check("scan", got, Tally(wanted.count, wanted.checksum))
            del table

            with step("starting Spark"):
                spark = start_spark()
            with step("reading them with Spark's format('ottla'), grouped by action", EVENTS):
                grouped = read_with_spark(spark, bootstrap, topic)
            check("Spark", grouped, wanted)
            for action, count in sorted(grouped.actions.items()):
                say(f"    {action:<9} {count:>9,}")
            spark.stop()
        finally:
            admin.delete_topic(topic)
    say("every event came back, both ways")


if __name__ == "__main__":
    main()
