"""A consumer group with committed offsets, and a second member that joins and leaves all the time.

    reading TOPIC PROTOCOL

Each record is a row (partition, offset, number) of `read`, written before its offset is committed:
after a rebalance or a failed commit, a record may be delivered again, and none is passed over.
PROTOCOL is `classic` or `consumer`; both read committed records only.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import ottla
from ottla.errors import CommitFailedError
from tests.soak.ledger import Ledger
from tests.soak.part import Part, run_part
from tests.soak.settings import PARTITIONS, number_of

_POLL = 0.5


class Group:
    """The members of one group in this process."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.topic, protocol = part.options
        self._config: dict[str, Any] = {
            "group.id": part.name,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "client.id": part.name,
        }
        if protocol == "classic":
            self._config |= {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 1_000}
        # One of both protocols through the gateway, so that both ways are tried.
        settings = part.settings
        self._bootstrap = settings.gateway if protocol == "classic" else settings.bootstrap
        self._read: Ledger = part.ledger("read", 3)

    def member(self) -> ottla.Consumer[bytes, bytes]:
        """Create a member, which joins with its first poll."""
        return ottla.Consumer(self._bootstrap, self._config, topics=[self.topic])

    def step(self, consumer: ottla.Consumer[bytes, bytes]) -> int:
        """Poll, write down, commit; return the number of records."""
        records = consumer.poll(timeout=_POLL)
        for record in records:
            self._read.add(record.partition, record.offset, number_of(record.value))
        self._part.counts["read"] += len(records)
        if records:
            try:
                consumer.commit()
            except CommitFailedError:
                # A rebalance has given the partitions to the other member.
                self._part.counts["failed commits"] += 1
        return len(records)

    def join_and_leave(self) -> None:
        """Run the second member, until the run stops."""
        rng = random.Random(f"{self._part.settings.seed} {self._part.name}")
        while not self._part.stop.wait(rng.uniform(5, 20)):
            with self._part.surviving(), self.member() as consumer:
                self._part.counts["members"] += 1
                for _ in range(rng.randrange(10, 40)):
                    if not self._part.stop.is_set():
                        self.step(consumer)

    def read_the_rest(self, consumer: ottla.Consumer[bytes, bytes]) -> None:
        """Read up to the end that committed records have now, as the only member."""
        ends = consumer.end_offsets(
            *((self.topic, partition) for partition in range(PARTITIONS)), timeout=60
        )
        while True:
            with self._part.surviving():
                if not self.step(consumer):
                    mine = set(consumer.assignment())
                    if all(
                        place in mine and consumer.position(*place) >= end
                        for place, end in ends.items()
                    ):
                        return


def work(part: Part) -> None:
    """Read until the run stops, and then what is left."""
    group = Group(part)
    second = threading.Thread(target=group.join_and_leave, name="second member")
    with group.member() as consumer:
        second.start()
        while not part.stop.is_set():
            with part.surviving():
                group.step(consumer)
        while second.is_alive():
            # A member that does not poll would delay the other one's leave.
            group.step(consumer)
        group.read_the_rest(consumer)
        part.report("closing")


if __name__ == "__main__":
    run_part("reading", work)
