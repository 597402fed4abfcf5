"""A transactional copy: each poll is read, processed, written and committed in one transaction.

`ottla.transform` copies; now and then its function raises, which aborts the transaction and ends
the call, and another call continues with the same transactional id.
"""

from __future__ import annotations

import random
import threading
import time

import ottla
from tests.soak.part import Part, run_part
from tests.soak.settings import COPIED, COPY_GROUP, NUMBERS, PARTITIONS, number_of


class _MishapError(Exception):
    """What the function raises on purpose."""


class _Done:
    """A stop flag that is set when the run stops and all committed records are copied."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._checked = 0.0

    def is_set(self) -> bool:
        """Ask the group for its lag, at most once a second."""
        if not self._part.stop.is_set() or time.monotonic() - self._checked < 1:
            return False
        self._checked = time.monotonic()
        with ottla.Admin(self._part.settings.bootstrap) as admin:
            lags = admin.group_lag(COPY_GROUP, isolation_level="read_committed")
        return len(lags) == PARTITIONS and all(each.lag == 0 for each in lags)


def work(part: Part) -> None:
    """Copy until the run stops and nothing is left."""
    rng = random.Random(f"{part.settings.seed} copy")
    mishap = threading.Event()

    def copy(record: ottla.Record[bytes, bytes]) -> tuple[bytes | None, bytes | None]:
        number_of(record.value)
        if mishap.is_set():
            mishap.clear()
            raise _MishapError
        part.counts["copied"] += 1
        return record.key, record.value

    def cause_mishaps() -> None:
        while not part.stop.wait(rng.uniform(20, 60)):
            mishap.set()

    threading.Thread(target=cause_mishaps, name="mishaps", daemon=True).start()
    config = {
        "group.id": COPY_GROUP,
        "transactional.id": "soak-copy",
        "auto.offset.reset": "earliest",
        "compression.type": "lz4",
        "transaction.timeout.ms": 20_000,
        "client.id": "soak-copy",
    }
    done = _Done(part)
    while not done.is_set():
        with part.surviving():
            try:
                ottla.transform(copy, NUMBERS, COPIED, part.settings.gateway, config, stop=done)
                break
            except _MishapError:
                part.counts["aborted on purpose"] += 1
    part.report("closing")


if __name__ == "__main__":
    run_part("copying", work)
