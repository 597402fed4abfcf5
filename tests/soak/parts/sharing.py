"""Two members of a share group that accept, release and renew.

Each event is a row (milliseconds, kind, partition, offset, number) of `events`: deliveries when a
poll returns, acceptances when their result is there. A release is never the last delivery that the
group's limit allows, so that each record is accepted in the end.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import ottla
from ottla import AcknowledgeType
from tests.soak.ledger import Ledger
from tests.soak.part import Part, run_part
from tests.soak.settings import NUMBERS, PARTITIONS, SHARE_GROUP, number_of

DELIVERED, ACCEPTED, REFUSED = range(3)
_RELEASED, _RENEWED = 0.02, 0.02
_MOST_DELIVERIES = 3
"""A record that was delivered more often is accepted: faults deliver it again, too."""


class Member:
    """A member; both write to one file."""

    def __init__(self, part: Part, events: Ledger, number: int) -> None:
        self._part, self._events = part, events
        self._random = random.Random(f"{part.settings.seed} share {number}")
        # Of acceptances without a result: the numbers of records, by partition and offset.
        self._accepting: dict[tuple[int, int], int] = {}
        self.consumer = ottla.ShareConsumer(
            part.settings.gateway,
            {"client.id": f"soak-share-{number}"},
            topics=[NUMBERS],
            group_id=SHARE_GROUP,
            share_acknowledgement_mode="explicit",
        )
        self.consumer.set_acknowledgement_commit_callback(self._note_results)
        part.gauges[f"acceptances without result, {number}"] = lambda: len(self._accepting)

    def run(self) -> None:
        """Poll and acknowledge until the run stops and nothing is left."""
        with self.consumer:
            while not (self._part.stop.is_set() and self._is_done()):
                with self._part.surviving():
                    self.step()
            # Results of the last acceptances.
            self.consumer.commit(timeout=30)

    def step(self) -> None:
        """Poll, and decide about each record."""
        for record in self.consumer.poll(timeout=0.5):
            place = record.partition, record.offset
            self._note(DELIVERED, *place, number_of(record.value))
            chance = self._random.random()
            kind = AcknowledgeType.ACCEPT
            if (record.delivery_count or 1) <= _MOST_DELIVERIES and not self._part.stop.is_set():
                if chance < _RELEASED:
                    kind = AcknowledgeType.RELEASE
                elif chance < _RELEASED + _RENEWED:
                    kind = AcknowledgeType.RENEW
            self._part.counts[kind.name.lower()] += 1
            if kind == AcknowledgeType.ACCEPT:
                self._accepting[place] = number_of(record.value)
            self.consumer.acknowledge(record, kind)

    def _note(self, kind: int, partition: int, offset: int, number: int) -> None:
        self._events.add(time.time_ns() // 1_000_000, kind, partition, offset, number)

    def _note_results(self, error: Any, acknowledged: Any) -> None:
        kind = ACCEPTED if error is None else REFUSED
        for (_, partition), ranges in acknowledged.items():
            for first, last in ranges:
                for offset in range(first, last + 1):
                    # Releases and renewals have results, too.
                    number = self._accepting.pop((partition, offset), None)
                    if number is not None:
                        self._note(kind, partition, offset, number)
                        self._part.counts["accepted" if error is None else "refused"] += 1

    def _is_done(self) -> bool:
        with ottla.Admin(self._part.settings.bootstrap) as admin:
            offsets = admin.list_share_group_offsets([SHARE_GROUP])[SHARE_GROUP]
        lags = [
            offsets[NUMBERS, p].lag if (NUMBERS, p) in offsets else None for p in range(PARTITIONS)
        ]
        return lags == [0] * PARTITIONS


def work(part: Part) -> None:
    """Run both members."""
    events = part.ledger("events", 5)
    members = [Member(part, events, number) for number in range(2)]
    threads = [threading.Thread(target=member.run) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    part.report("closing")


if __name__ == "__main__":
    run_part("sharing", work)
