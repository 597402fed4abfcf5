"""A producer process that writes records at an even pace to a topic's partitions, round-robin.

    python -m benches.peers.background_producer BOOTSTRAP TOPIC PARTITIONS RATE

Each value begins with the time of production in nanoseconds since 1970, the one clock that
Python, Java and Go share. For each line of input, the process waits until acknowledgements keep
up with its pace, and prints the time to acknowledgement since the previous line: no consumer can
receive a record earlier. The process ends when its input is closed.
"""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Message, Producer

VALUE_BYTES = 100
SENT = struct.Struct(">q")
# Acknowledgements keep up while at most this many seconds of records are unacknowledged.
_MAX_LAG_SECONDS = 0.05
_CATCH_UP_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class BackgroundProducer:
    """The running process."""

    process: subprocess.Popen[str]

    def catch_up(self) -> str:
        """Wait until the brokers keep up; return the time to acknowledgement until now."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the producer has exited, or the brokers do not keep up with it")
        return str(json.loads(line))


@contextmanager
def background_producer(
    bootstrap: str, topic: str, partitions: int, rate: float
) -> Iterator[BackgroundProducer]:
    """Run the process; fail at the end if a record was lost."""
    arguments = [bootstrap, topic, str(partitions), str(rate)]
    command = [sys.executable, "-m", "benches.peers.background_producer", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield BackgroundProducer(process)
        process.communicate(timeout=60)
    if process.returncode != 0:
        raise SystemExit(f"the producer exited with status {process.returncode}")


class _Writer:
    """Writes at an even pace until stopped, and records the times to acknowledgement."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 0,
                "queue.buffering.max.messages": 10_000_000,
                "on_delivery": self._on_delivery,
            }
        )
        self._rate = rate
        self._millis: list[float] = []
        self._failed: list[object] = []
        self._stopped = threading.Event()

    def write(self, topic: str, partitions: int) -> int:
        """Write until stopped; return how many records failed."""
        rest = bytes(VALUE_BYTES - SENT.size)
        began = time.monotonic()
        count = 0
        while not self._stopped.is_set():
            value = SENT.pack(time.time_ns()) + rest
            self._producer.produce(topic, value, partition=count % partitions)
            self._producer.poll(0)
            count += 1
            time.sleep(max(0.0, began + count / self._rate - time.monotonic()))
        return self._producer.flush(30) + len(self._failed)

    def serve_requests(self) -> None:
        """Catch up and report for each line of input; stop at its end."""
        for _ in sys.stdin:
            if not self._catch_up():
                break
            millis, self._millis = self._millis, []
            cuts = statistics.quantiles(millis, n=100) if len(millis) > 1 else [0.0] * 99
            report = (
                f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, max {max(millis, default=0):.0f} ms"
            )
            print(json.dumps(report), flush=True)
        self._stopped.set()

    def _catch_up(self) -> bool:
        deadline = time.monotonic() + _CATCH_UP_TIMEOUT_SECONDS
        while len(self._producer) > self._rate * _MAX_LAG_SECONDS:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def _on_delivery(self, error: object, message: Message) -> None:
        if error is None:
            self._millis.append((message.latency() or 0.0) * 1000)
        else:
            self._failed.append(error)


def main(bootstrap: str, topic: str, partitions: int, rate: float) -> int:
    writer = _Writer(bootstrap, rate)
    threading.Thread(target=writer.serve_requests, daemon=True).start()
    failed = writer.write(topic, partitions)
    if failed:
        print(f"{failed} records were not delivered", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
