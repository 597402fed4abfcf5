"""The demo's steps, timed and checked: connect, generate, produce, scan, and read with Spark.

Exit code 0 means that both reads returned every event, byte for byte.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import ottla
from ottla._internal.extras import require
from ottla.demo.events import EventSummary, checksum, generate_events
from ottla.demo.spark_step import read_with_spark, start_spark
from ottla.demo.topology import topology_lines
from ottla.testing import MockCluster

EVENTS = int(os.environ.get("OTTLA_DEMO_EVENTS", "1000000"))
PARTITIONS = 12
STEPS = 5


def say(text: str = "") -> None:
    """Print and flush, so that progress shows at once."""
    print(text, flush=True)


def start_step(number: int, title: str) -> None:
    """Print the title of a step."""
    say(f"\n{number} of {STEPS}: {title}")


@contextlib.contextmanager
def timed(what: str, events: int = 0) -> Iterator[None]:
    """Time a part of a step, and print the rate if it has events."""
    began = time.perf_counter()
    yield
    seconds = time.perf_counter() - began
    rate = f", {events / seconds:,.0f} events/s" if events else ""
    say(f"  {what}: {seconds:.2f} s{rate}")


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """Yield the bootstrap servers in ``OTTLA_BOOTSTRAP``, or those of a new mock cluster."""
    configured = os.environ.get("OTTLA_BOOTSTRAP")
    if configured:
        yield configured
        return
    with MockCluster(brokers=3) as mock:
        say("OTTLA_BOOTSTRAP is not set: three mock brokers run in this process.")
        yield mock.bootstrap


def check(reader: str, read: EventSummary, sent: EventSummary) -> None:
    """Exit if any event is missing, duplicated or changed."""
    if read != sent:
        sys.exit(f"{reader}: {read} was read, but {sent} was sent")
    say(f"  checked: {read.count:,} events, checksum {read.checksum:#x}")


def read_table(client: ottla.Client, topic: str) -> Any:
    """Read the whole topic into an Arrow table."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(ottla.scan(topic, client)).read_all()


def main() -> None:
    """Run all steps."""
    try:
        require("ottla.demo", "spark")
    except ImportError as error:
        sys.exit(str(error))
    topic = f"ottla-demo-{os.getpid()}-{int(time.time())}"
    with cluster() as bootstrap:
        start_step(1, "connect to the cluster")
        with timed(f"connected to {bootstrap}"):
            client = ottla.Client(bootstrap, linger_ms=5, batch_size=262_144)
        admin = ottla.Admin(client)
        admin.create_topic(topic, partitions=PARTITIONS)
        say(f"  topic {topic}:")
        for line in topology_lines(client.cluster([topic]), topic):
            say(f"    {line}")

        start_step(2, f"generate {EVENTS:,} JSON events")
        with timed("generated"):
            values, keys, sent = generate_events(EVENTS)

        try:
            start_step(3, f"produce them to {PARTITIONS} partitions")
            with timed("produced and acknowledged", EVENTS), ottla.Producer(client) as producer:
                producer.send_batch(topic, values, keys).result()

            start_step(4, "read them back into Arrow with ottla.scan")
            with timed("read", EVENTS):
                table = read_table(client, topic)
            scanned = EventSummary(table.num_rows, checksum(table["value"].to_pylist()))
            check("scan", scanned, EventSummary(sent.count, sent.checksum))
            del table

            start_step(5, "read them with Spark's format('ottla'), grouped by action")
            with timed("session started"):
                spark = start_spark()
            with timed("first query, which starts Python workers", EVENTS):
                read_with_spark(spark, bootstrap, topic)
            with timed("second query", EVENTS):
                grouped = read_with_spark(spark, bootstrap, topic)
            check("Spark", grouped, sent)
            for action, count in sorted(grouped.actions.items()):
                say(f"    {action:<9} {count:>9,}")
            spark.stop()
        finally:
            admin.delete_topic(topic)
    say("\nBoth reads returned every event.")


if __name__ == "__main__":
    main()
