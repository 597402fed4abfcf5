"""Each hammer lets many threads use the same objects at once, and checks what they saw.

Invariants: no record is lost, doubled or out of order; an error is one of ottla's documented ones;
a value has the same content in each thread.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import ottla
from ottla import errors
from ottla.testing import MockCluster

THREADS = 8
PARTITIONS = 3
TIMEOUT = 60.0


def together(act: Callable[[int], object], threads: int = THREADS) -> list[object]:
    """Call a function in so many threads that begin at once; return their results in order."""
    barrier = threading.Barrier(threads)

    def begin(number: int) -> object:
        barrier.wait(TIMEOUT)
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads), timeout=2 * TIMEOUT))


def one_producer(cluster: MockCluster, count: int) -> None:
    """Send, flush and look at metrics from all threads, on one producer and its client."""
    delivered: list[tuple[int, int]] = []

    with (
        ottla.Client(cluster.bootstrap) as client,
        ottla.Producer(client) as producer,
    ):

        def act(number: int) -> None:
            sent = [
                producer.send(
                    "hammer",
                    b"%d" % n,
                    b"%d" % number,
                    partition=n % PARTITIONS,
                    # Called on the producer's own thread, one at a time.
                    on_delivery=lambda *_: delivered.append((number, 1)),
                )
                for n in range(count)
            ]
            producer.flush(timeout=TIMEOUT)
            assert [each.result(timeout=TIMEOUT).partition for each in sent] == [
                n % PARTITIONS for n in range(count)
            ]
            assert producer.metrics()
            assert len(client.cluster(["hammer"]).topics["hammer"].partitions) == PARTITIONS

        together(act)
    assert Counter(number for number, _ in delivered) == dict.fromkeys(range(THREADS), count)
    in_order(cluster, count)


def in_order(cluster: MockCluster, count: int) -> None:
    """Read the records of all threads, and check that each thread's are there once, in order."""
    found: defaultdict[tuple[bytes, int], list[int]] = defaultdict(list)
    with ottla.Consumer(
        cluster.bootstrap, topics=["hammer"], group_id="order", auto_offset_reset="earliest"
    ) as consumer:
        total = 0
        while total < count * THREADS:
            records = consumer.poll(timeout=TIMEOUT)
            assert records, f"{total} of {count * THREADS} records within {TIMEOUT:g} s"
            total += len(records)
            for record in records:
                found[record.key or b"", record.partition].append(int(record.value or b""))
    wanted = {
        (b"%d" % number, partition): list(range(partition, count, PARTITIONS))
        for number in range(THREADS)
        for partition in range(PARTITIONS)
    }
    assert found == wanted


def one_consumer(cluster: MockCluster, count: int) -> None:
    """Poll from all threads, of which one at a time may, and call all else meanwhile."""
    _fill(cluster, count)
    seen: Counter[int] = Counter()
    refused = Counter[str]()
    lock, done = threading.Lock(), threading.Event()
    with ottla.Consumer(
        cluster.bootstrap, topics=["hammer"], group_id="one", auto_offset_reset="earliest"
    ) as consumer:

        def act(number: int) -> None:
            while not done.is_set():
                try:
                    records = consumer.poll(timeout=0.2, max_records=50)
                except errors.StateError as error:
                    refused[str(error)] += 1
                    consumer.assignment()
                    assert consumer.metrics()
                    continue
                with lock:
                    seen.update(int(record.value or b"") for record in records)
                    if seen.total() >= count:
                        done.set()

        timer = threading.Timer(TIMEOUT, done.set)
        timer.start()
        together(act)
        timer.cancel()
    assert seen == dict.fromkeys(range(count), 1), seen.total()
    assert len(refused) <= 1, refused


def one_batch(cluster: MockCluster, count: int) -> None:
    """Read the same records' values, headers, hashes and pickles in all threads."""
    _fill(cluster, count)
    with ottla.Consumer(
        cluster.bootstrap, topics=["hammer"], group_id="batch", auto_offset_reset="earliest"
    ) as consumer:
        records: list[ottla.Record] = []
        while len(records) < count:
            records += consumer.poll(timeout=TIMEOUT)

    def act(number: int) -> list[object]:
        start = number * len(records) // THREADS
        for record in records[start:] + records[:start]:
            repr(record)
            assert pickle.loads(pickle.dumps(record)) == record
        return [(r.key, r.value, r.headers, r.offset, r.timestamp) for r in records]

    first, *others = together(act)
    assert all(other == first for other in others)


def many_clients(cluster: MockCluster, count: int) -> None:
    """Create, use and close clients of all kinds, each in its own thread with its own loop."""

    async def on_a_loop(number: int) -> None:
        async with ottla.AsyncProducer(cluster.bootstrap) as producer:
            sends = [producer.send("many", b"%d" % n, partition=0) for n in range(count // 10)]
            for delivered in await asyncio.gather(*sends):
                assert delivered.topic == "many"
        async with ottla.AsyncAdmin(cluster.bootstrap) as admin:
            assert "many" in {topic.name for topic in await admin.list_topics()}

    def act(number: int) -> None:
        for _ in range(3):
            asyncio.run(on_a_loop(number))
            with ottla.Admin(cluster.bootstrap) as admin:
                assert "many" in {topic.name for topic in admin.list_topics()}
            said = ""
            try:
                ottla.Producer(cluster.bootstrap, acks="many")  # type: ignore[arg-type]
            except errors.ConfigError as error:
                said = str(error)
            assert "acks" in said

    cluster.create_topic("many", partitions=1)
    together(act)


def closing(cluster: MockCluster, count: int) -> None:
    """Close a producer, a consumer and a client while all other threads use them."""
    client = ottla.Client(cluster.bootstrap)
    producer = ottla.Producer(client)
    consumer = ottla.Consumer(cluster.bootstrap, topics=["hammer"], group_id="closing")

    closed = threading.Event()
    uses: list[Callable[[], object]] = [
        lambda: producer.send("hammer", b"x", partition=0),
        lambda: consumer.poll(timeout=0),
        lambda: client.cluster(),
    ]

    def is_refused(use: Callable[[], object]) -> bool:
        try:
            use()
        except (errors.ClosedError, errors.StateError):
            return True
        return False

    def act(number: int) -> bool:
        for n in range(count):
            if number == 0 and n == count // 4:
                producer.close()
                consumer.close()
                client.close()
                closed.set()
            for use in uses[:2]:
                is_refused(use)
        # The other threads may have been faster than the one that closes.
        assert closed.wait(TIMEOUT)
        return all(is_refused(use) for use in uses)

    assert all(together(act)), "a closed client was used without an error"


HAMMERS = (one_producer, one_consumer, one_batch, many_clients, closing)


def run(hammer: Callable[[MockCluster, int], None], count: int) -> None:
    """Run a hammer on a mock cluster of its own."""
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("hammer", partitions=PARTITIONS)
        hammer(cluster, count)


def _fill(cluster: MockCluster, count: int) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for n in range(count):
            producer.send("hammer", b"%d" % n, b"k", headers=[("h", b"%d" % n)])
