"""What a simulated cluster has at its start."""

from __future__ import annotations

from dataclasses import dataclass

TOPIC = "orders"
GROUP = "billing"


@dataclass(frozen=True)
class Layout:
    """The cluster at its start, and again whenever a scenario begins.

    Attributes:
        brokers: the ids of the brokers.
        replicas: the replicas of each partition of the topic; the first one leads.
        coordinator: the coordinator of the group.
    """

    brokers: tuple[int, ...]
    replicas: dict[int, tuple[int, ...]]
    coordinator: int
