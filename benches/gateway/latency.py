"""What a proxy adds to latencies: the same call directly and through it, in turns.

Invariant: each call through the proxy follows one without it, of the same kind to the same broker,
so that a broker that gets slower or faster meanwhile changes both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import ottla
from benches.gateway.connections import Connection, connection
from benches.gateway.proxies import Certificates, Proxy

_WARM_UP = 100
# Between calls that do not follow each other at once.
_PAUSE = 0.001
_TIMEOUT = 60
_RECORD = bytes(100)

Call = Callable[[int], object]


@dataclass
class Latency:
    """Microseconds of a call: the median and the 99th percentile, directly and through a proxy."""

    direct_p50: float
    direct_p99: float
    p50: float
    p99: float


@dataclass(frozen=True)
class Places:
    """Where the calls go: a broker, and the proxy with what clients need for it."""

    direct: str
    proxy: Proxy
    tls: Certificates | None
    security: Mapping[str, str]
    topic: str

    def brokers(self) -> list[tuple[str, Certificates | None]]:
        """Return the addresses of one broker, with certificates: its own, and the proxy's."""
        return [(self.direct, None), (self.proxy.first_broker, self.tls)]

    def clusters(self) -> list[tuple[str, dict[str, str]]]:
        """Return the addresses for bootstrapping, with the configuration, in the same order."""
        return [(self.direct, {}), (self.proxy.bootstrap, dict(self.security))]


def measure(places: Places, count: int) -> dict[str, Latency]:
    """Return the latencies of each kind of call, from ``count`` calls each."""
    return {
        # The bare protocol, at once after the last response and after a moment without work.
        "request": _alternate(_requests(places), count, 0),
        "request, 1 ms later": _alternate(_requests(places), count, _PAUSE),
        "record, acks=1": _alternate(_records(places, "1"), count, _PAUSE),
        "record, acks=all": _alternate(_records(places, "all"), count, _PAUSE),
        "fetch": _alternate(_fetches(places), count, 0),
    }


@contextmanager
def _requests(places: Places) -> Iterator[list[Call]]:
    with ExitStack() as stack:
        yield [_request(connection(stack, at, tls)) for at, tls in places.brokers()]


def _request(one: Connection) -> Call:
    return lambda _: one.ask()


@contextmanager
def _records(places: Places, acks: str) -> Iterator[list[Call]]:
    with ExitStack() as stack:
        calls = []
        for address, security in places.clusters():
            config = {**security, "acks": acks, "linger.ms": 0, "enable.idempotence": acks == "all"}
            producer = stack.enter_context(ottla.Producer(address, config))
            calls.append(_send(producer, places.topic))
        yield calls


def _send(producer: ottla.Producer, topic: str) -> Call:
    return lambda _: producer.send(topic, _RECORD, partition=0).result(timeout=_TIMEOUT)


@contextmanager
def _fetches(places: Places) -> Iterator[list[Call]]:
    with ExitStack() as stack:
        calls = []
        for address, security in places.clusters():
            config = {**security, "max.partition.fetch.bytes": 2_000, "fetch.max.bytes": 2_000}
            consumer = stack.enter_context(ottla.Consumer(address, config))
            consumer.assign([(places.topic, 0)])
            calls.append(_fetch(consumer, places.topic))
        yield calls


def _fetch(consumer: ottla.Consumer, topic: str) -> Call:
    def fetch(number: int) -> None:
        consumer.seek(topic, 0, number)
        assert consumer.poll(timeout=_TIMEOUT, max_records=1)

    return fetch


def _alternate(opened: AbstractContextManager[list[Call]], count: int, pause: float) -> Latency:
    with opened as calls:
        seconds: list[list[float]] = [[] for _ in calls]
        for number in range(_WARM_UP + count):
            for call, taken in zip(calls, seconds, strict=True):
                time.sleep(pause)
                started = time.perf_counter()
                call(number)
                taken.append(time.perf_counter() - started)
    direct, proxy = (sorted(taken[_WARM_UP:]) for taken in seconds)
    return Latency(*(_at(each, percent) for each in (direct, proxy) for percent in (50, 99)))


def _at(ordered: list[float], percent: int) -> float:
    """Return a percentile in microseconds."""
    return ordered[len(ordered) * percent // 100] * 1e6
