"""An asyncio program that opens and closes clients of all kinds all the time.

Each acknowledged number is a row (number, partition, offset) of `acknowledged`. What a client does
not give back when it is closed shows here first.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count

import ottla
from tests.soak.part import Part, run_part
from tests.soak.settings import NUMBERS, PARTITIONS, SHORT_LIVED, key_of, value_of

_RECORDS = 10
_PLACES = [(SHORT_LIVED, partition) for partition in range(PARTITIONS)]


class ShortLived:
    """The kinds of clients, each with something that it does before it is closed."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._bootstrap = part.settings.gateway
        self._numbers = count()
        self._ledger = part.ledger("acknowledged", 3)
        self.kinds: list[Callable[[], Awaitable[None]]] = [
            self.producer,
            self.producer,
            self.consumer,
            self.member,
            self.scan,
            self.client,
            self.share_consumer,
            self.transaction,
        ]

    async def _send(self, producer: ottla.AsyncProducer) -> list[tuple[int, int, int]]:
        numbers = [next(self._numbers) for _ in range(_RECORDS)]
        sent = [producer.send(SHORT_LIVED, value_of(n), key_of(n)) for n in numbers]
        results = zip(numbers, await asyncio.gather(*sent), strict=True)
        return [
            (n, each.partition, -1 if each.offset is None else each.offset) for n, each in results
        ]

    def _acknowledge(self, rows: list[tuple[int, int, int]]) -> None:
        for row in rows:
            self._ledger.add(*row)
        self._part.counts["acknowledged"] += len(rows)

    async def producer(self) -> None:
        """Write some records."""
        async with ottla.AsyncProducer(self._bootstrap, compression_type="gzip") as producer:
            self._acknowledge(await self._send(producer))

    async def transaction(self) -> None:
        """Write some records in a transaction."""
        async with ottla.AsyncProducer(
            self._bootstrap, transactional_id="soak-short-lived"
        ) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                rows = await self._send(producer)
            self._acknowledge(rows)

    async def consumer(self) -> None:
        """Read from assigned partitions."""
        async with ottla.AsyncConsumer(
            self._bootstrap, auto_offset_reset="earliest", max_poll_records=100
        ) as consumer:
            consumer.assign(_PLACES)
            self._part.counts["read"] += len(await consumer.poll(timeout=0.2))

    async def member(self) -> None:
        """Join a group, read, commit, leave."""
        async with ottla.AsyncConsumer(
            self._bootstrap,
            group_id="soak-short-lived",
            group_protocol="consumer",
            topics=[SHORT_LIVED],
            auto_offset_reset="latest",
        ) as consumer:
            self._part.counts["read"] += len(await consumer.poll(timeout=1.0))
            await consumer.commit()

    async def share_consumer(self) -> None:
        """Join a share group, leave."""
        async with ottla.AsyncShareConsumer(
            self._bootstrap, group_id="soak-short-lived-share", topics=[SHORT_LIVED]
        ) as consumer:
            await consumer.poll(timeout=0.5)

    async def scan(self) -> None:
        """Begin a scan, and leave it after its first batch."""
        async with ottla.scan_async(
            NUMBERS, self._bootstrap, columns=["offset", "value"], max_rows=100
        ) as scan:
            async for batch in scan:
                self._part.counts["read"] += batch.num_rows
                break

    async def client(self) -> None:
        """Look at the cluster."""
        async with ottla.AsyncClient(self._bootstrap) as client:
            await client.list_offsets(dict.fromkeys(_PLACES, "latest"))


async def run(part: Part) -> None:
    """Open and close until the run stops."""
    rng = random.Random(f"{part.settings.seed} short-lived")
    clients = ShortLived(part)
    while not part.stop.is_set():
        with part.surviving():
            await rng.choice(clients.kinds)()
            part.counts["opened and closed"] += 1
        await asyncio.sleep(0.2)
    part.report("closing")


def work(part: Part) -> None:
    """Run the program."""
    asyncio.run(run(part))


if __name__ == "__main__":
    run_part("short_lived", work)
