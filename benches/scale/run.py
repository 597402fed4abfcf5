"""A large cluster: 200 brokers, 20,000 topics of 10 partitions, in the process's parent.

    python -m benches.scale.run [--brokers 200] [--topics 20000] [--partitions 10]

The client is in a process of its own, so that its memory is its own. Told are the time to find the
cluster and to learn all of it, the memory that this takes, a look-up, and what a refresh of
everything, over and over, does to the latency of records that the process writes meanwhile. They
go to a small cluster in another process: brokers that answer for 200,000 partitions, all in one
process, are slow themselves.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ottla
from ottla.testing import MockCluster

LOOKUPS = 200_000
RECORDS = 300
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--brokers", type=int, default=200)
    parser.add_argument("--topics", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--child", nargs=2, metavar=("LARGE", "SMALL"), help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        large, small = options.child
        print(json.dumps(measure(large, small, options.partitions)))
        return 0
    if options.small:
        with MockCluster(brokers=3) as cluster:
            cluster.create_topic(name_of(0), 10)
            print(cluster.bootstrap, flush=True)
            sys.stdin.read()
        return 0
    with MockCluster(brokers=options.brokers) as cluster, small_cluster() as small:
        for number in range(options.topics):
            cluster.create_topic(name_of(number), options.partitions)
        child = [sys.executable, "-m", "benches.scale.run", "--child"]
        child += [cluster.bootstrap, small, "--partitions", str(options.partitions)]
        told = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True)
    for what, value in json.loads(told.stdout.splitlines()[-1]).items():
        print(f"{what:<66} {value:>10}")
    return 0


@contextlib.contextmanager
def small_cluster() -> Iterator[str]:
    """A cluster of three brokers in a process of its own; where to find it."""
    command = [sys.executable, "-m", "benches.scale.run", "--small"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def name_of(number: int) -> str:
    """The name of a topic, as long as such names are."""
    return f"events.billing.eu-west.{number:05}"


def measure(large: str, small: str, partitions: int) -> dict[str, str]:
    """All figures, by what they are."""
    started = time.perf_counter()
    client = ottla.Client(large)
    found = time.perf_counter()
    before = resident()
    # The object is not kept: what is counted is what the client keeps. Events keep all topics
    # known for as long as they are there.
    events = client.events(all_topics=True)
    learnt = time.perf_counter()
    topics = len(client.cluster().topics)
    kept, count = resident() - before, topics * partitions
    figures = {
        "find the cluster, ms": f"{(found - started) * 1e3:.1f}",
        f"learn {count} partitions, ms": f"{(learnt - found) * 1e3:.0f}",
        "resident memory, with what the answer took, bytes a partition": f"{kept / count:.0f}",
        "leader of a partition from Python, ns": f"{lookup(client, name_of(topics // 2)):.0f}",
    }
    with ottla.Producer(small, linger_ms=0) as producer:
        name = name_of(0)
        producer.send(name, b"warm", partition=0).result(60)
        figures |= describe("latency of a record, nothing else", latencies(producer, name))
        stop = threading.Event()
        refreshed: list[float] = []
        refresher = threading.Thread(target=refresh, args=(client, stop, refreshed.append))
        refresher.start()
        under = latencies(producer, name)
        stop.set()
        refresher.join()
        figures |= describe("latency of a record, everything being refreshed", under)
        figures["one refresh of everything, ms"] = f"{statistics.median(refreshed) * 1e3:.0f}"
    del events
    client.close()
    return figures


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def lookup(client: ottla.Client, topic: str) -> float:
    """Nanoseconds of a look-up: the least of some runs, without the loop's own time."""
    best = float("inf")
    leader = client.leader
    for _ in range(5):
        started = time.perf_counter_ns()
        for _ in range(LOOKUPS):
            leader(topic, 7)
        looked = time.perf_counter_ns()
        for _ in range(LOOKUPS):
            pass
        empty = time.perf_counter_ns() - looked
        best = min(best, (looked - started - empty) / LOOKUPS)
    return best


def latencies(producer: ottla.Producer, topic: str) -> list[float]:
    """Seconds from sending to the acknowledgement, one record after the other."""
    taken = []
    for number in range(RECORDS):
        started = time.perf_counter()
        producer.send(topic, b"x" * 100, partition=number % 10).result(60)
        taken.append(time.perf_counter() - started)
        time.sleep(0.002)
    return sorted(taken)


def refresh(client: ottla.Client, stop: threading.Event, note: Callable[[float], None]) -> None:
    """Learn everything again and again."""
    while not stop.is_set():
        started = time.perf_counter()
        client.cluster(refresh=True)
        note(time.perf_counter() - started)


def describe(what: str, taken: list[float]) -> dict[str, str]:
    """Median, 99th percentile and maximum, in milliseconds."""
    at = {"p50": taken[len(taken) // 2], "p99": taken[len(taken) * 99 // 100], "max": taken[-1]}
    return {f"{what}, {name}, ms": f"{value * 1e3:.2f}" for name, value in at.items()}


if __name__ == "__main__":
    sys.exit(main())
