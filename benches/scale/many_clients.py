"""Many clients in one process: memory, threads and CPU of each, on a mock cluster in another one.

    python -m benches.scale.many_clients [--clients 1000] [--partitions 10000] [--processes 100]

Measured are producers and consumers with connections of their own and on one shared client, after
each has written or polled once, and one consumer of many partitions. Idle CPU is that of all
clients together while each consumer is polled once a second or nothing is sent. The last rows are
the cost of ``import ottla`` in processes that start one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ottla
from benches.scale.run import resident
from ottla.testing import MockCluster

# Few partitions, for many clients; and many, for one.
TOPIC, WIDE_TOPIC = "many", "wide"
TOPIC_PARTITIONS = 12
IDLE_SECONDS = 5.0


@dataclass(frozen=True)
class Cost:
    """What `count` clients or partitions take in one process."""

    count: int
    # KiB of memory for each, above that of a process with one.
    memory_kib: float
    # All threads of the process with one, and with all.
    threads_of_one: int
    threads: int
    # Milliseconds until each has done its first work, and of CPU.
    start_ms: float
    start_cpu_ms: float
    # Per cent of a core while they are idle, together.
    idle_cpu: float


def _threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def _measure(count: int, start: Callable[[], object], idle: Callable[[list[Any]], None]) -> Cost:
    """Measure `count` of what `start` makes, beyond a first one."""
    kept = [start()]
    memory, threads = resident(), _threads()
    began, cpu = time.perf_counter(), time.process_time()
    kept.extend(start() for _ in range(count))
    took, took_cpu = time.perf_counter() - began, time.process_time() - cpu
    # Threads that only started for the beginning end when they are idle.
    _idle_until(kept, idle, time.monotonic() + 1)
    cpu, since = time.process_time(), time.monotonic()
    _idle_until(kept, idle, since + IDLE_SECONDS)
    idle_cpu = (time.process_time() - cpu) / (time.monotonic() - since) * 100
    return Cost(
        count=count,
        memory_kib=(resident() - memory) / count / 1024,
        threads_of_one=threads,
        threads=_threads(),
        start_ms=took / count * 1000,
        start_cpu_ms=took_cpu / count * 1000,
        idle_cpu=idle_cpu,
    )


def _idle_until(kept: list[Any], idle: Callable[[list[Any]], None], end: float) -> None:
    while time.monotonic() < end:
        began = time.monotonic()
        idle(kept)
        time.sleep(max(0.0, began + 1 - time.monotonic()))


def _producers(bootstrap: str, count: int, *, shared: bool) -> Cost:
    client = ottla.Client(bootstrap) if shared else bootstrap

    def start() -> ottla.Producer:
        producer = ottla.Producer(client)
        producer.send(TOPIC, b"first").result(timeout=60)
        return producer

    return _measure(count, start, lambda _: None)


def _consumers(bootstrap: str, count: int, *, shared: bool) -> Cost:
    client = ottla.Client(bootstrap) if shared else bootstrap

    def start() -> ottla.Consumer[bytes, bytes]:
        consumer = ottla.Consumer(client)
        consumer.assign([(TOPIC, 0)])
        consumer.seek(TOPIC, 0, 0)
        if not consumer.poll(timeout=60):
            raise SystemExit("a consumer got no record")
        return consumer

    def poll(consumers: list[ottla.Consumer[bytes, bytes]]) -> None:
        for consumer in consumers:
            consumer.poll(timeout=0)

    return _measure(count, start, poll)


def _partitions(bootstrap: str, count: int) -> Cost:
    consumers: list[ottla.Consumer[bytes, bytes]] = []

    def start() -> None:
        consumers.append(ottla.Consumer(bootstrap))
        consumers[-1].assign(
            [(WIDE_TOPIC, number) for number in range(1 if len(consumers) == 1 else count)]
        )
        consumers[-1].poll(timeout=1)

    def poll(_: list[None]) -> None:
        consumers[-1].poll(timeout=0)

    one = _measure(1, start, poll)
    return Cost(**{**asdict(one), "count": count, "memory_kib": one.memory_kib / count})


SCENARIOS: dict[str, Callable[[str, argparse.Namespace], Cost]] = {
    "producers": lambda bootstrap, options: _producers(bootstrap, options.clients, shared=False),
    "producers on one client": lambda bootstrap, options: _producers(
        bootstrap, options.clients, shared=True
    ),
    "consumers": lambda bootstrap, options: _consumers(bootstrap, options.clients, shared=False),
    "consumers on one client": lambda bootstrap, options: _consumers(
        bootstrap, options.clients, shared=True
    ),
    "partitions of one consumer": lambda bootstrap, options: _partitions(
        bootstrap, options.partitions
    ),
}


@contextmanager
def _cluster(partitions: int) -> Iterator[str]:
    """Run a mock cluster in a process of its own, since its memory and threads must not count."""
    command = [sys.executable, "-m", "benches.scale.many_clients", "--cluster", str(partitions)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def _serve(partitions: int) -> None:
    _allow_files()
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic(TOPIC, TOPIC_PARTITIONS)
        cluster.create_topic(WIDE_TOPIC, partitions)
        cluster.append(TOPIC, 0, [b"first"])
        print(cluster.bootstrap, flush=True)
        sys.stdin.read()


def _allow_files() -> None:
    """Allow as many open sockets as the system does: each client has several."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _environment() -> dict[str, str]:
    # NumPy, which pyarrow imports, starts threads of its own.
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def measure(scenario: str, clients: int, partitions: int) -> Cost:
    """Measure a scenario in a process of its own."""
    with _cluster(partitions) as bootstrap:
        command = [
            sys.executable,
            "-m",
            "benches.scale.many_clients",
            "--child",
            scenario,
            bootstrap,
        ]
        command += ["--clients", str(clients), "--partitions", str(partitions)]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=_environment()
        )
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def import_costs(processes: int) -> tuple[float, float]:
    """Return the milliseconds of CPU of ``import ottla``, and those of Python alone."""

    def cpu_of(statement: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(processes):
            subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used / processes * 1000

    return cpu_of("import ottla; ottla.Producer, ottla.Consumer"), cpu_of("pass")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--cluster", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cluster:
        _serve(options.cluster)
        return 0
    if options.child:
        _allow_files()
        scenario, bootstrap = options.child
        print(json.dumps(asdict(SCENARIOS[scenario](bootstrap, options))), flush=True)
        # Closing a thousand clients one after the other is not measured.
        os._exit(0)
    print("| | memory each, KiB | threads, of one | start each, ms | CPU, ms | idle CPU, % |")
    print("|---|---:|---:|---:|---:|---:|")
    for scenario in SCENARIOS:
        cost = measure(scenario, options.clients, options.partitions)
        figures = [
            f"{cost.memory_kib:.1f}",
            f"{cost.threads}, {cost.threads_of_one}",
            f"{cost.start_ms:.2f}",
            f"{cost.start_cpu_ms:.2f}",
            f"{cost.idle_cpu:.1f}",
        ]
        print(f"| {cost.count} {scenario} | {' | '.join(figures)} |", flush=True)
    ottla_ms, python_ms = import_costs(options.processes)
    print(f"\nCPU of a process with `import ottla`: {ottla_ms:.0f} ms; without: {python_ms:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
