"""A client of a large cluster: 200 brokers, 20,000 topics of 10 partitions, in the parent process.

    python -m benches.scale.run [--brokers 200] [--topics 20000] [--partitions 10]

The client runs in its own process, so that its memory can be measured. Reported are the time to
connect and to load all metadata, the memory of the metadata, the time of a look-up, and the
effect of continuous full refreshes on the latency of records that the process writes meanwhile.
These go to a small cluster in another process, since brokers that serve 200,000 partitions in one
process are slow themselves.
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
            cluster.create_topic(topic_name(0), 10)
            print(cluster.bootstrap, flush=True)
            sys.stdin.read()
        return 0
    with MockCluster(brokers=options.brokers) as cluster, small_cluster() as small:
        for number in range(options.topics):
            cluster.create_topic(topic_name(number), options.partitions)
        child = [sys.executable, "-m", "benches.scale.run", "--child"]
        child += [cluster.bootstrap, small, "--partitions", str(options.partitions)]
        done = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True)
    for name, value in json.loads(done.stdout.splitlines()[-1]).items():
        print(f"{name:<66} {value:>10}")
    return 0


@contextlib.contextmanager
def small_cluster() -> Iterator[str]:
    """Run a cluster of three brokers in another process; yield its bootstrap servers."""
    command = [sys.executable, "-m", "benches.scale.run", "--small"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def topic_name(number: int) -> str:
    """Return the name of a topic, of typical length."""
    return f"events.billing.eu-west.{number:05}"


def measure(large: str, small: str, partitions: int) -> dict[str, str]:
    """Return all figures, by description."""
    started = time.perf_counter()
    client = ottla.Client(large)
    connected = time.perf_counter()
    before = resident()
    # The cluster object is not kept: only the client's own memory counts. The events keep all
    # topics in the client's metadata.
    events = client.events(all_topics=True)
    loaded = time.perf_counter()
    topics = len(client.cluster().topics)
    kept, count = resident() - before, topics * partitions
    figures = {
        "connect to the cluster, ms": f"{(connected - started) * 1e3:.1f}",
        f"load {count} partitions, ms": f"{(loaded - connected) * 1e3:.0f}",
        "resident memory including the response, bytes per partition": f"{kept / count:.0f}",
        "leader of a partition from Python, ns": f"{lookup(client, topic_name(topics // 2)):.0f}",
    }
    with ottla.Producer(small, linger_ms=0) as producer:
        name = topic_name(0)
        producer.send(name, b"warm", partition=0).result(timeout=60)
        figures |= describe("latency of a record, idle", latencies(producer, name))
        stop = threading.Event()
        refreshed: list[float] = []
        refresher = threading.Thread(target=refresh, args=(client, stop, refreshed.append))
        refresher.start()
        under_load = latencies(producer, name)
        stop.set()
        refresher.join()
        figures |= describe("latency of a record during full refreshes", under_load)
        figures["one full refresh, ms"] = f"{statistics.median(refreshed) * 1e3:.0f}"
    del events
    client.close()
    return figures


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def lookup(client: ottla.Client, topic: str) -> float:
    """Return the nanoseconds of a look-up: the minimum of some runs, without the loop's time."""
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
    """Return the seconds from sending to acknowledgement, of one record at a time."""
    seconds = []
    for number in range(RECORDS):
        started = time.perf_counter()
        producer.send(topic, b"x" * 100, partition=number % 10).result(timeout=60)
        seconds.append(time.perf_counter() - started)
        time.sleep(0.002)
    return sorted(seconds)


def refresh(client: ottla.Client, stop: threading.Event, record: Callable[[float], None]) -> None:
    """Refresh all metadata repeatedly until stopped."""
    while not stop.is_set():
        started = time.perf_counter()
        client.cluster(refresh=True)
        record(time.perf_counter() - started)


def describe(label: str, seconds: list[float]) -> dict[str, str]:
    """Return median, 99th percentile and maximum, in milliseconds."""
    at = {
        "p50": seconds[len(seconds) // 2],
        "p99": seconds[len(seconds) * 99 // 100],
        "max": seconds[-1],
    }
    return {f"{label}, {name}, ms": f"{value * 1e3:.2f}" for name, value in at.items()}


if __name__ == "__main__":
    sys.exit(main())
