"""The consumer of typed columns: Arrow batches, whose values are compared with what was written.

Each row of a batch is a row (partition, offset, number) of `read`.
"""

from __future__ import annotations

import pyarrow as pa

import ottla
from ottla.errors import CommitFailedError
from tests.soak.ledger import Ledger
from tests.soak.part import Part, run_part
from tests.soak.parts.orders import orders
from tests.soak.settings import PARTITIONS, TYPED

_PLACES = [(TYPED, partition) for partition in range(PARTITIONS)]


class Reader:
    """Reads batches of one group."""

    def __init__(
        self, part: Part, consumer: ottla.Consumer[bytes, bytes], value: ottla.schema.Avro
    ) -> None:
        self._part, self._consumer, self._value = part, consumer, value
        self._read: Ledger = part.ledger("read", 3)

    def step(self) -> int:
        """Read a batch, compare it, write it down, commit it; return its number of rows."""
        batch = self._consumer.poll_arrow(
            timeout=0.5, columns=["partition", "offset", "value"], value_format=self._value
        )
        if batch is None:
            return 0
        table = pa.record_batch(batch)
        values = table.column("value")
        numbers = values.field("number").to_pylist()
        for name, column in zip(orders([]).schema.names, orders(numbers).columns, strict=True):
            if values.field(name).to_pylist() != column.to_pylist():
                self._part.counts["wrong columns"] += 1
                self._part.unexpected(ValueError(f"{name} of {numbers[0]} to {numbers[-1]}"))
        places = zip(table.column("partition"), table.column("offset"), numbers, strict=True)
        for partition, offset, number in places:
            self._read.add(partition.as_py(), offset.as_py(), number)
        self._part.counts["read"] += len(numbers)
        try:
            self._consumer.commit()
        except CommitFailedError:
            self._part.counts["failed commits"] += 1
        return len(numbers)

    def read_the_rest(self) -> None:
        """Read up to the present end."""
        ends = self._consumer.end_offsets(*_PLACES, timeout=60)
        while True:
            with self._part.surviving():
                if not self.step() and all(
                    place in self._consumer.assignment() and self._consumer.position(*place) >= end
                    for place, end in ends.items()
                ):
                    return


def work(part: Part) -> None:
    """Read until the run stops, and then what is left."""
    with ottla.schema.Registry(part.settings.registry) as registry:
        value = ottla.schema.Avro(registry)
        with ottla.Consumer(
            part.settings.bootstrap,
            group_id="soak-typed",
            group_protocol="consumer",
            topics=[TYPED],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            client_id="soak-typed",
        ) as consumer:
            reader = Reader(part, consumer, value)
            while not part.stop.is_set():
                with part.surviving():
                    reader.step()
            reader.read_the_rest()
            part.report("closing")


if __name__ == "__main__":
    run_part("typed_reading", work)
