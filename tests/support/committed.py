"""Reads what transactions have committed.

A coordinator confirms the end of a transaction before the partitions have its markers, so a reader
sees the records some milliseconds later.
"""

from __future__ import annotations

from typing import Any

import ottla
from tests.support.arrow import read_rows
from tests.support.kafka_admin import wait_until


def committed_rows(bootstrap: str, topic: str, *, all_ended: bool = True) -> list[dict[str, Any]]:
    """Return the rows that read_committed shows, sorted by partition and offset.

    Args:
        bootstrap: the cluster's addresses.
        topic: the topic.
        all_ended: whether every transaction in it was ended, so that their markers are waited for.
    """
    with ottla.Client(bootstrap) as client:
        partitions = [(topic, partition) for partition in client.partitions_for(topic)]
        latest = dict.fromkeys(partitions, "latest")

        def written() -> bool:
            ends = client.list_offsets(latest, isolation_level="read_uncommitted")
            stable = client.list_offsets(latest, isolation_level="read_committed")
            return all((stable[p].offset or 0) >= (ends[p].offset or 0) for p in partitions)

        if all_ended:
            wait_until(written, lambda: f"{topic} lacks the markers of transactions")
    return read_rows(ottla.scan(topic, bootstrap, isolation_level="read_committed"))
