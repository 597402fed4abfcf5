"""What a console costs the producer that it shows: CPU a record, and its rate, in one run.

    python -m benches.console.run [--rounds 15] [--records 2000000]

Each round sends the records without a console, with one that no page has open, with one page and
with fifty, in random order; the pages and the brokers are other processes. CPU time is that of the
whole sending process: the program, the engine's threads and the console's. Compared are the
medians of the differences within rounds, so that a slow phase of the machine counts for none.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import ottla
from benches.scale.run import small_cluster
from ottla.console import Console, serve

TOPIC = "events"
BATCH = 1_000
VALUE = b"x" * 100
CASES = {"no console": None, "no page": 0, "one page": 1, "50 pages": 50}


@dataclass(frozen=True)
class Cost:
    """The cost of a million records, in seconds of CPU and of time."""

    cpu: float
    elapsed: float


def main() -> int:
    """Measure all cases and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--records", type=int, default=40_000_000)
    parser.add_argument("--pages", nargs=2, metavar=("COUNT", "PORT"))
    options = parser.parse_args()
    if options.pages:
        return _hold_pages(*options.pages)
    costs: dict[str, list[Cost]] = {name: [] for name in CASES}
    order = random.Random(7)
    for number in range(options.rounds):
        # The brokers keep the records, compressed, in memory.
        with (
            small_cluster() as bootstrap,
            ottla.Producer(bootstrap, compression_type="lz4") as producer,
        ):
            _send(producer, options.records // 10)  # warm
            for name in order.sample(list(CASES), len(CASES)):
                with _console(producer, CASES[name]):
                    costs[name].append(_send(producer, options.records))
        print(f"round {number + 1} of {options.rounds}", flush=True)
    _print(costs)
    return 0


@contextlib.contextmanager
def _console(producer: ottla.Producer, pages: int | None) -> Iterator[None]:
    if pages is None:
        yield
        return
    with serve(producer) as console, _open_pages(console, pages):
        yield


@contextlib.contextmanager
def _open_pages(console: Console, count: int) -> Iterator[None]:
    """Keep the streams of some pages open, in another process."""
    if not count:
        yield
        return
    command = [sys.executable, "-m", "benches.console.run", "--pages"]
    command += [str(count), str(console.port)]
    environment = {**os.environ, "TOKEN": str(console.token)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate()


def _hold_pages(count: str, port: str) -> int:
    """Read the streams of pages until standard input ends."""
    program = (
        f"for n in $(seq {count}); do "
        f'curl -sN -o /dev/null -H "Authorization: Bearer $TOKEN" '
        f"http://127.0.0.1:{port}/api/stream & done; echo open; read -r _; kill $(jobs -p)"
    )
    return subprocess.run(["bash", "-c", program], check=False).returncode * 0


def _send(producer: ottla.Producer, records: int) -> Cost:
    values = [VALUE] * BATCH
    cpu, started = time.process_time(), time.perf_counter()
    for _ in range(records // BATCH):
        producer.send_batch(TOPIC, values)
    producer.flush()
    millions = records / 1e6
    return Cost((time.process_time() - cpu) / millions, (time.perf_counter() - started) / millions)


def _print(costs: dict[str, list[Cost]]) -> None:
    base = costs["no console"]
    print(f"{'':12} {'CPU s/M':>9} {'s/M':>9} {'CPU':>8} {'time':>8}")
    for name, found in costs.items():
        cpu = statistics.median(cost.cpu for cost in found)
        elapsed = statistics.median(cost.elapsed for cost in found)
        more_cpu = statistics.median(a.cpu / b.cpu - 1 for a, b in zip(found, base, strict=True))
        more_time = statistics.median(
            a.elapsed / b.elapsed - 1 for a, b in zip(found, base, strict=True)
        )
        print(f"{name:12} {cpu:9.3f} {elapsed:9.3f} {more_cpu:+8.2%} {more_time:+8.2%}")


if __name__ == "__main__":
    sys.exit(main())
