"""The producer of typed columns: Arrow tables, encoded as Avro with a schema of the registry.

Each acknowledged number is a row (number, partition, offset) of `acknowledged`.
"""

from __future__ import annotations

from collections import deque

import pyarrow as pa

import ottla
from tests.soak.part import Part, run_part
from tests.soak.parts.orders import SCHEMA, orders
from tests.soak.parts.writing import ticks
from tests.soak.settings import TYPED, key_of


def work(part: Part) -> None:
    """Send until the run stops; the end waits for all acknowledgements."""
    ledger = part.ledger("acknowledged", 3)
    pending: deque[tuple[range, ottla.BatchDelivery]] = deque()
    part.gauges["pending calls"] = lambda: len(pending)

    def collect() -> None:
        while pending and pending[0][1].done():
            numbers, delivery = pending.popleft()
            for _, count, error in delivery.errors():
                part.counts["failed"] += count
                part.unexpected(error)
            if delivery.errors():
                continue
            partitions = pa.array(delivery.partitions()).to_pylist()
            offsets = pa.array(delivery.offsets()).to_pylist()
            for number, partition, offset in zip(numbers, partitions, offsets, strict=True):
                ledger.add(number, partition, -1 if offset is None else offset)
            part.counts["acknowledged"] += len(numbers)

    settings = part.settings
    with ottla.schema.Registry(settings.registry) as registry:
        value = ottla.schema.Avro(registry, schema=SCHEMA, register=True)
        with ottla.Producer(
            settings.gateway, compression_type="lz4", linger_ms=20, client_id="soak-typed"
        ) as producer:
            part.gauges["buffered bytes"] = lambda: producer.buffered_bytes
            for numbers in ticks(part, settings.rate / 2):
                if numbers:
                    keys = pa.array([key_of(number) for number in numbers])
                    table = orders(numbers)
                    pending.append(
                        (numbers, producer.send_batch(TYPED, table, keys, value_format=value))
                    )
                    part.counts["sent"] += len(numbers)
                collect()
            producer.flush(timeout=150)
            collect()
            part.report("closing")


if __name__ == "__main__":
    run_part("typed_writing", work)
