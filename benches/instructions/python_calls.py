"""One loop of Python calls, repeated as often as asked.

    python -m benches.instructions.python_calls NAME ROUNDS

A cluster in the process serves the calls; the counts are of the calling thread alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa

import ottla
from ottla.testing import MockCluster

# The records of a round, and of all rounds: as many are there in a shorter run, too.
RECORDS = 2_000
STORED = 40_000
# The rows of a table.
ROWS = 20_000
VALUE = b"v" * 100
TOPIC = "records"


def send(producer: ottla.Producer) -> None:
    """Send records one by one."""
    for _ in range(RECORDS):
        producer.send(TOPIC, VALUE, key=b"some-key", partition=0)
    producer.flush()


def send_list(producer: ottla.Producer) -> None:
    """Send a list of values."""
    producer.send_batch(TOPIC, [VALUE] * RECORDS).result()


def send_arrow(producer: ottla.Producer) -> None:
    """Send a column of values."""
    producer.send_batch(TOPIC, table()).result()


@cache
def table() -> pa.Table:
    """Return a table of the values."""
    return pa.table({"value": pa.array([VALUE] * ROWS, pa.binary())})


def poll(consumer: ottla.Consumer) -> None:
    """Poll records as objects, and touch their values."""
    seen = 0
    while seen < RECORDS:
        for record in consumer.poll(timeout=10, max_records=500):
            seen += record.value is not None


def iterate(consumer: ottla.Consumer) -> None:
    """Iterate over records."""
    for seen, record in enumerate(consumer, start=1):
        if record.value is None or seen == RECORDS:
            return


def poll_arrow(consumer: ottla.Consumer) -> None:
    """Poll batches of columns."""
    seen = 0
    while seen < RECORDS:
        batch = consumer.poll_arrow(timeout=10, max_rows=RECORDS)
        seen += batch.num_rows if batch is not None else 0


PRODUCING: dict[str, Callable[[ottla.Producer], None]] = {
    "send": send,
    "send-list": send_list,
    "send-arrow": send_arrow,
}
CONSUMING: dict[str, Callable[[ottla.Consumer], None]] = {
    "poll": poll,
    "iterate": iterate,
    "poll-arrow": poll_arrow,
}


def main(name: str, rounds: int) -> None:
    """Run a scenario."""
    with MockCluster() as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        if name in PRODUCING:
            with ottla.Producer(cluster.bootstrap) as producer:
                for _ in range(rounds):
                    PRODUCING[name](producer)
            return
        cluster.append(TOPIC, 0, [VALUE] * STORED)
        with ottla.Consumer(cluster.bootstrap) as consumer:
            consumer.assign([(TOPIC, 0)])
            consumer.seek(TOPIC, 0, 0)
            for _ in range(rounds):
                CONSUMING[name](consumer)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
