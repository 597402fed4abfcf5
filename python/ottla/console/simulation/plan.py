"""The planned steps of a scenario.

Invariant: a plan depends only on its seed and the layout of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ottla.console.simulation.layout import TOPIC, Layout

_END = (
    "That was all. The cluster is restored now, and the producer pauses until everything is "
    "acknowledged and read."
)


@dataclass(frozen=True)
class Step:
    """A step of a scenario: an action, or only a sentence.

    Attributes:
        at: seconds since the scenario began.
        text: a sentence about what to watch, and why.
        action: the action, or None.
        parameters: its parameters.
    """

    at: float
    text: str
    action: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        name: its name.
        title: its title.
        about: a description of what it shows.
        fill: a function that fills a plan.
    """

    name: str
    title: str
    about: str
    fill: Callable[[Plan], None]

    def steps(self, seed: int, layout: Layout) -> list[Step]:
        """Return the steps.

        Args:
            seed: the seed that determines brokers, partitions and times.
            layout: the cluster.
        """
        # The name is part of the seed, so that different scenarios choose different brokers.
        plan = Plan(Random(f"{self.name} {seed}"), layout)  # noqa: S311 - not for secrets
        self.fill(plan)
        plan.say(_END)
        return plan.steps


class Plan:
    """A plan under construction.

    Args:
        random: the source of all choices.
        layout: the cluster.
    """

    def __init__(self, random: Random, layout: Layout) -> None:
        self.random = random
        self.layout = layout
        self.steps: list[Step] = []
        self._at = 0.0

    def say(self, text: str) -> None:
        """Add a sentence."""
        self.steps.append(Step(self._at, text))

    def do(self, action: str, text: str, **parameters: Any) -> None:
        """Add an action."""
        self.steps.append(Step(self._at, text, action, parameters))

    def wait(self, seconds: float) -> None:
        """Wait for some seconds, randomly varied by up to a fifth."""
        self._at = round(self._at + seconds * self.random.uniform(0.8, 1.2), 1)

    def partition(self) -> int:
        """Choose a partition."""
        return self.random.choice(list(self.layout.replicas))

    def broker(self, *without: int) -> int:
        """Choose a broker."""
        return self.random.choice([each for each in self.layout.brokers if each not in without])

    def leader(self, partition: int) -> int:
        """Return the leader of a partition when the scenario begins."""
        return self.layout.replicas[partition][0]

    def follower(self, partition: int) -> int:
        """Choose a replica that is not the leader."""
        return self.random.choice(self.layout.replicas[partition][1:])

    def led_by(self, broker: int) -> str:
        """Return the names of the partitions that a broker leads when the scenario begins."""
        led = [index for index in self.layout.replicas if self.leader(index) == broker]
        return f"{TOPIC}-" + ", ".join(map(str, led))
