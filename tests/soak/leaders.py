"""Moves leaders and coordinators: partitions get their replicas in another order, then an election.

The internal topics' leaders are the coordinators of groups, transactions and share groups.
"""

from __future__ import annotations

import random

import ottla
from tests.support.kafka_admin import wait_until

OFFSETS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
_FEWEST = 3


def move_leaders(bootstrap: str, topics: list[str], rng: random.Random) -> int:
    """Move the leaders of about half of the partitions; return how many have another one."""
    with ottla.Admin(bootstrap) as admin:
        known = [
            name
            for name in topics
            if name in {each.name for each in admin.list_topics(internal=True)}
        ]
        before = _leaders(admin, known)
        chosen = [place for place in sorted(before) if rng.random() < 0.5]
        targets = {}
        for topic, description in admin.describe_topics(known).items():
            for each in description.partitions:
                if (topic, each.partition) in chosen and len(each.replicas) >= _FEWEST:
                    first, *rest = each.replicas
                    targets[topic, each.partition] = [*rest, first]
        if not targets:
            return 0
        admin.alter_partition_reassignments(targets, errors="return")
        wait_until(
            lambda: not admin.list_partition_reassignments(),
            lambda: "a reassignment does not end",
        )
        admin.elect_leaders(list(targets), errors="return")
        after = _leaders(admin, known)
    return sum(after[place] != leader for place, leader in before.items() if place in after)


def _leaders(admin: ottla.Admin, topics: list[str]) -> dict[tuple[str, int], int | None]:
    return {
        (topic, each.partition): each.leader
        for topic, description in admin.describe_topics(topics).items()
        for each in description.partitions
    }
