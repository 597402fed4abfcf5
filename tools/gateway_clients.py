"""Clients behind a gateway, for the screenshots of the console's page Clients.

with gateway_with_clients(bootstrap) as status_url:
    ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import confluent_kafka

import ottla
from ottla import _core
from ottla.testing import Gateway

_TOPIC = "orders"
_INTERVAL = 0.05

Step = Callable[[], object]


@contextmanager
def gateway_with_clients(bootstrap: str) -> Iterator[str]:
    """Run a gateway and clients of two libraries behind it; yield the address of its status."""
    stop = threading.Event()
    with ExitStack() as running:
        gateway = running.enter_context(Gateway(bootstrap))
        served = _core.GatewayStatus(_core_of(gateway), "127.0.0.1", 0)
        status = running.enter_context(closing(served))
        steps = [
            *_ottla_clients(running, gateway.bootstrap),
            *_other_clients(running, gateway.bootstrap),
        ]
        threads = [threading.Thread(target=_repeat, args=(step, stop)) for step in steps]
        for thread in threads:
            thread.start()
        try:
            yield f"http://{status.address}"
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _core_of(gateway: Gateway) -> _core.Gateway:
    """Return the gateway itself, as the command has it."""
    return gateway._core  # noqa: SLF001 - the class is for tests, which need no status


def _repeat(step: Step, stop: threading.Event) -> None:
    while not stop.wait(_INTERVAL):
        step()


def _ottla_clients(running: ExitStack, bootstrap: str) -> Iterator[Step]:
    for number in (1, 2):
        client = {"client.id": f"shop-{number}"}
        producer = running.enter_context(ottla.Producer(bootstrap, client))
        yield lambda producer=producer: producer.send(_TOPIC, value=b"x" * 200)
    for number in (1, 2, 3):
        config = {"client.id": f"billing-{number}", "group.id": "billing-eu"}
        consumer = running.enter_context(ottla.Consumer(bootstrap, config))
        consumer.subscribe([_TOPIC])
        yield lambda consumer=consumer: consumer.poll(timeout=0.2)


def _other_clients(running: ExitStack, bootstrap: str) -> Iterator[Step]:
    config = {"bootstrap.servers": bootstrap, "client.id": "reports", "group.id": "reports-eu"}
    consumer = confluent_kafka.Consumer(config)
    running.callback(consumer.close)
    consumer.subscribe([_TOPIC])
    yield lambda: consumer.consume(100, 0.2)
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "client.id": "audit"})
    running.callback(producer.flush, 5)
    yield lambda: (producer.produce(_TOPIC, b"x" * 200), producer.poll(0))
