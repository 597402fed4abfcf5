"""The initial layout of a simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass

TOPIC = "orders"
GROUP = "billing"


@dataclass(frozen=True)
class Layout:
    """The layout of the cluster at its start, and whenever a scenario begins.

    Attributes:
        brokers: the ids of the brokers.
        replicas: the replicas of each partition of the topic; the first one leads.
        coordinator: the coordinator of the group.
    """

    brokers: tuple[int, ...]
    replicas: dict[int, tuple[int, ...]]
    coordinator: int
