"""Proves: what a call or a closed client has used is freed at once, without the garbage collector.

A cycle would keep a client's buffers until a collection, which a program with few objects may not
have for minutes: a service that calls ``transform`` again after each failure would grow.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import schema
from ottla.processing import AsyncProcessor, Processor
from ottla.testing import MockCluster, MockRegistry
from tests.support.loops import run

GROUP: dict[str, Any] = {"group_id": "g", "auto_offset_reset": "earliest"}
TRANSFORM = {"group.id": "g", "transactional.id": "x", "auto.offset.reset": "earliest"}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("in", partitions=1)
        cluster.create_topic("out", partitions=1)
        cluster.append("in", 0, [b"1", b"2", b"3"])
        yield cluster


class BrokenError(Exception):
    """What the functions raise."""


def broken(record: Any) -> Any:
    raise BrokenError


def cyclic(work: Callable[[], object]) -> list[str]:
    """Return the types of ottla's objects that only the garbage collector could free."""
    # What is created once for all clients.
    work()
    gc.collect()
    gc.disable()
    before, debug = len(gc.garbage), gc.get_debug()
    try:
        work()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = {type(found) for found in gc.garbage[before:]}
        return sorted(kind.__qualname__ for kind in kinds if kind.__module__.startswith("ottla"))
    finally:
        gc.set_debug(debug)
        del gc.garbage[before:]
        gc.enable()


def transformed(cluster: MockCluster) -> None:
    with pytest.raises(BrokenError):
        ottla.transform(broken, "in", "out", cluster.bootstrap, TRANSFORM)


def transformed_in_batches(cluster: MockCluster) -> None:
    with pytest.raises(BrokenError):
        ottla.transform(broken, "in", "out", cluster.bootstrap, TRANSFORM, arrow=True)


def transformed_by_a_loop(cluster: MockCluster) -> None:
    async def call() -> None:
        async def fail(record: Any) -> Any:
            raise BrokenError

        with pytest.raises(BrokenError):
            await ottla.transform_async(fail, "in", "out", cluster.bootstrap, TRANSFORM)

    run(call())


def processed(cluster: MockCluster) -> None:
    config: dict[str, Any] = {"group_id": "p", "auto_offset_reset": "earliest"}
    config |= {"retry_delays": [], "create_topics": True, "stop_on": [BrokenError]}
    with pytest.raises(BrokenError):
        Processor(broken, "in", cluster.bootstrap, **config).run()


def processed_by_a_loop(cluster: MockCluster) -> None:
    async def fail(record: Any) -> None:
        raise BrokenError

    config: dict[str, Any] = {"group_id": "p", "auto_offset_reset": "earliest"}
    config |= {"retry_delays": [], "create_topics": True, "stop_on": [BrokenError]}

    # An exception that leaves the loop is in a cycle of asyncio's own.
    async def call() -> None:
        with pytest.raises(BrokenError):
            await AsyncProcessor(fail, "in", cluster.bootstrap, **config).run()

    run(call())


def registered(cluster: MockCluster) -> None:
    with MockRegistry() as mock, schema.Registry(mock.url) as registry:
        registry.register("s", schema.Schema('"string"'))
        with pytest.raises(ottla.errors.KafkaError):
            registry.latest("missing")


def refused(cluster: MockCluster) -> None:
    """Errors of every client."""
    with ottla.Client(cluster.bootstrap) as client, pytest.raises(ottla.errors.KafkaError):
        client.list_offsets({("missing", 0): "earliest"}, timeout=1)
    with pytest.raises(ottla.errors.KafkaError):
        ottla.scan("missing", cluster.bootstrap, timeout=1)
    with ottla.Producer(cluster.bootstrap) as producer:
        with pytest.raises(ottla.errors.KafkaError):
            producer.send("out", b"v" * 2_000_000).result()
        with pytest.raises(ottla.errors.KafkaError):
            producer.send("out", b"v", partition=7).result()
    with ottla.Consumer(cluster.bootstrap) as consumer:
        consumer.assign([("in", 0)])
        with pytest.raises(ottla.errors.KafkaError):
            consumer.commit()


def produced(cluster: MockCluster) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        producer.send("out", b"v", on_delivery=lambda *_: None).result()
        producer.send_batch("out", [b"1", b"2"]).result()


def consumed(cluster: MockCluster) -> None:
    with ottla.Consumer(cluster.bootstrap, enable_auto_commit=False, **GROUP) as consumer:
        consumer.subscribe(["in"], on_assigned=lambda *_: None)
        while not consumer.poll(timeout=0.1):
            pass


def iterated(cluster: MockCluster) -> None:
    config = GROUP | {"group_id": "i", "enable_auto_commit": False}
    with ottla.Consumer(cluster.bootstrap, topics=["in"], **config) as consumer:
        for _ in consumer:
            break


def shared(cluster: MockCluster) -> None:
    with ottla.ShareConsumer(cluster.bootstrap, topics=["in"], group_id="s") as consumer:
        consumer.poll(timeout=0.1)


def scanned(cluster: MockCluster) -> None:
    assert pa.table(ottla.scan("in", cluster.bootstrap)).num_rows == 3


def administered(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.describe_topics(["in"])
        with pytest.raises(ottla.errors.KafkaError):
            admin.describe_topics(["missing"])


def of_asyncio(cluster: MockCluster) -> None:
    async def call() -> None:
        async with (
            ottla.AsyncProducer(cluster.bootstrap) as producer,
            ottla.AsyncConsumer(cluster.bootstrap, topics=["in"], **GROUP) as consumer,
            ottla.AsyncAdmin(cluster.bootstrap) as admin,
        ):
            await producer.send("out", b"v")
            await consumer.poll(timeout=0.1)
            await admin.list_topics()

    run(call())


def diagnosed(cluster: MockCluster) -> None:
    ottla.diagnose(cluster.bootstrap)


@pytest.mark.parametrize(
    "use",
    [
        transformed,
        transformed_in_batches,
        transformed_by_a_loop,
        processed,
        processed_by_a_loop,
        registered,
        refused,
        produced,
        consumed,
        iterated,
        shared,
        scanned,
        administered,
        of_asyncio,
        diagnosed,
    ],
    ids=lambda use: use.__name__,
)
def test_nothing_waits_for_a_collection(
    cluster: MockCluster, use: Callable[[MockCluster], None]
) -> None:
    assert cyclic(lambda: use(cluster)) == []
