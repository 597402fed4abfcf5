"""Send records with keys, one call per record, at a client's default settings.

`measure` starts a process for the run: this module itself (`--child`), a Java source file, or the
Go program. Each first sends WARM_RECORDS to another topic with the same producer. Wall time and
CPU are measured from the first record to the last acknowledgement, and every record must be
acknowledged.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from benches.peers import runner
from benches.peers.topic_data import keys, values

WARM_RECORDS = 20_000
PROGRAMS = runner.Programs("DefaultProduce.java", "produce", "benches.peers.producers.defaults")

# Sends `count` records with these keys and values, repeated, to a topic, and returns when all are
# acknowledged.
Pairs = list[tuple[bytes, bytes]]
SendAll = Callable[[str, Pairs, int], None]


@dataclass(frozen=True)
class Job:
    """One run, on a topic that exists."""

    bootstrap: str
    warm_topic: str
    topic: str
    value_bytes: int
    records: int
    codec: str


def measure(client: str, call: str, job: Job) -> dict[str, float]:
    """Return the `records`, `seconds` and `cpu_seconds` of one run."""
    took: dict[str, float] = runner.run_client(PROGRAMS, client, call, astuple(job))
    return took


@contextmanager
def _ottla(job: Job) -> Iterator[SendAll]:
    import ottla

    def send_all(topic: str, pairs: Pairs, count: int) -> None:
        send = producer.send
        for key, value in _repeat(pairs, count):
            send(topic, value, key)
        producer.flush()
        failed = producer.metrics()["record-error-total"]
        if failed:
            raise SystemExit(f"{failed:.0f} records failed")

    with ottla.Producer(job.bootstrap, {"compression.type": job.codec}) as producer:
        yield send_all


@contextmanager
def _ottla_on_delivery(job: Job) -> Iterator[SendAll]:
    import ottla

    reports = _Reports()

    def send_all(topic: str, pairs: Pairs, count: int) -> None:
        send, on_delivery = producer.send, reports.on_delivery
        for key, value in _repeat(pairs, count):
            send(topic, value, key, on_delivery=on_delivery)
        producer.flush()
        reports.check(count)

    with ottla.Producer(job.bootstrap, {"compression.type": job.codec}) as producer:
        yield send_all


@contextmanager
def _confluent(job: Job, **settings: Any) -> Iterator[SendAll]:
    from confluent_kafka import Producer

    servers = {"bootstrap.servers": job.bootstrap, "compression.type": job.codec}
    producer = Producer({**servers, **settings})

    def send_all(topic: str, pairs: Pairs, count: int) -> None:
        produce, poll = producer.produce, producer.poll
        for key, value in _repeat(pairs, count):
            while True:
                try:
                    produce(topic, value, key)
                    break
                except BufferError:
                    poll(0.1)
            poll(0)
        left = producer.flush(120)
        if left:
            raise SystemExit(f"{left} records are not acknowledged")

    yield send_all


@contextmanager
def _confluent_on_delivery(job: Job) -> Iterator[SendAll]:
    reports = _Reports()
    with _confluent(job, on_delivery=reports.on_delivery) as send_all:

        def send_all_checked(topic: str, pairs: Pairs, count: int) -> None:
            send_all(topic, pairs, count)
            reports.check(count)

        yield send_all_checked


def _repeat(pairs: Pairs, count: int) -> Iterator[tuple[bytes, bytes]]:
    return itertools.islice(itertools.cycle(pairs), count)


class _Reports:
    """Counts delivery reports."""

    def __init__(self) -> None:
        self._acknowledged = 0
        self._failure: object = None

    def on_delivery(self, error: object, _: object) -> None:
        if error is None:
            self._acknowledged += 1
        else:
            self._failure = error

    def check(self, sent: int) -> None:
        """Fail unless all records sent since the last check are acknowledged."""
        if self._acknowledged != sent:
            raise SystemExit(f"{self._acknowledged} of {sent} acknowledged: {self._failure}")
        self._acknowledged = 0


_CALLS: dict[tuple[str, str], Callable[[Job], AbstractContextManager[SendAll]]] = {
    ("ottla", "send"): _ottla,
    ("ottla", "send, on_delivery"): _ottla_on_delivery,
    ("confluent-kafka", "produce"): _confluent,
    ("confluent-kafka", "produce, on_delivery"): _confluent_on_delivery,
}


def _run_child(client: str, call: str, job: Job) -> dict[str, float]:
    pairs = list(zip(keys(), values(job.value_bytes), strict=True))
    with _CALLS[client, call](job) as send_all:
        send_all(job.warm_topic, pairs, WARM_RECORDS)
        wall, cpu = time.perf_counter(), time.process_time()
        send_all(job.topic, pairs, job.records)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"records": job.records, "seconds": wall, "cpu_seconds": cpu}


if __name__ == "__main__":
    client, call, *arguments = json.loads(sys.argv[2])
    print(json.dumps(_run_child(client, call, Job(*arguments))))
