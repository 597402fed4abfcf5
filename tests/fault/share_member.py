"""A member of a share group in its own process, which reports what Kafka's own program reports.

    python -m tests.fault.share_member BOOTSTRAP GROUP TOPIC SEED MISHAPS

It accepts each record explicitly, by turns of ``poll`` and ``poll_arrow``. MISHAPS is the fraction
of polls after which it releases some records, or keeps them until their locks have expired; the
seed decides which. A line on standard input ends it.

Standard output has JSON lines in the format of VerifiableShareConsumer: records are reported before
they are acknowledged, acknowledgements once they have a result.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import defaultdict, deque
from typing import Any

import pyarrow as pa

import ottla
from ottla import AcknowledgeType

EXPIRED = 1.5
"""Seconds after which a lock of one second has expired."""


def report(name: str, offsets: dict[int, list[int]], **more: object) -> None:
    """Print an event."""
    partitions = [{"partition": number, "offsets": each} for number, each in offsets.items()]
    now = time.time_ns() // 1_000_000
    print(
        json.dumps({"timestamp": now, "name": name, "partitions": partitions, **more}), flush=True
    )


class Member:
    """Polls, acknowledges and reports."""

    def __init__(self, bootstrap: str, group: str, topic: str, seed: int, mishaps: float) -> None:
        self._topic, self._mishaps, self._random = topic, mishaps, random.Random(seed)
        # The types of acknowledgements without a result, oldest first.
        self._sent: defaultdict[tuple[int, int], deque[AcknowledgeType]] = defaultdict(deque)
        self._consumer = ottla.ShareConsumer(
            bootstrap,
            topics=[topic],
            group_id=group,
            share_acknowledgement_mode="explicit",
        )
        self._consumer.set_acknowledgement_commit_callback(self._report_result)

    def run(self, stop: threading.Event) -> None:
        """Read until the event is set."""
        with self._consumer:
            while not stop.is_set():
                offsets = self._poll()
                if not offsets:
                    continue
                report("records_consumed", offsets)
                mishap = self._random.random() < self._mishaps
                if mishap and self._random.random() < 0.5:
                    time.sleep(EXPIRED)
                    mishap = False
                for partition, each in offsets.items():
                    for offset in each:
                        releases = mishap and self._random.random() < 0.3
                        kind = AcknowledgeType.RELEASE if releases else AcknowledgeType.ACCEPT
                        self._consumer.acknowledge_offsets(
                            self._topic, partition, offset, type=kind
                        )
                        self._sent[partition, offset].append(kind)
                if self._random.random() < 0.5:
                    self._consumer.commit()

    def _poll(self) -> dict[int, list[int]]:
        offsets: dict[int, list[int]] = {}
        if self._random.random() < 0.5:
            for record in self._consumer.poll(timeout=0.5):
                offsets.setdefault(record.partition, []).append(record.offset)
        elif (batch := self._consumer.poll_arrow(timeout=0.5, max_rows=300)) is not None:
            table = pa.record_batch(batch)
            partitions = table.column("partition").to_pylist()
            rows = zip(partitions, table.column("offset").to_pylist(), strict=True)
            for partition, offset in rows:
                offsets.setdefault(partition, []).append(offset)
        return offsets

    def _report_result(self, error: Any, acknowledged: Any) -> None:
        (((_, partition), ranges),) = acknowledged.items()
        offsets = [offset for first, last in ranges for offset in range(first, last + 1)]
        kinds = [self._sent[partition, offset].popleft() for offset in offsets]
        accepted = [
            offset
            for offset, kind in zip(offsets, kinds, strict=True)
            if kind == AcknowledgeType.ACCEPT
        ]
        if accepted:
            more = {} if error is None else {"error": str(error)}
            report("offsets_acknowledged", {partition: accepted}, success=error is None, **more)


def main(bootstrap: str, group: str, topic: str, seed: str, mishaps: str) -> None:
    stop = threading.Event()

    def wait_for_a_line() -> None:
        sys.stdin.readline()
        stop.set()

    threading.Thread(target=wait_for_a_line, daemon=True).start()
    Member(bootstrap, group, topic, int(seed), float(mishaps)).run(stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
