"""The actions of a simulation: their names, their parameters, and what they do.

Invariant: parameters are checked before anything is done; an action that is impossible now is a
``StateError`` that says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ottla.console.simulation.cluster import SimulatedCluster
from ottla.errors import ConfigError


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action.

    Attributes:
        name: its name.
        kind: ``broker``, ``partition`` or ``seconds``.
        title: its label.
        least: the smallest number of seconds.
        most: the largest number of seconds.
        default: the default number of seconds.
    """

    name: str
    kind: Literal["broker", "partition", "seconds"]
    title: str
    least: float = 0.0
    most: float = 0.0
    default: float | None = None

    def check(self, value: Any, cluster: SimulatedCluster) -> int | float:
        """Return the value.

        Raises:
            ConfigError: the value is invalid.
        """
        if value is None and self.default is not None:
            return self.default
        if value is None:
            raise ConfigError(f"{self.name} is missing")
        if self.kind == "seconds":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or not self.least <= value <= self.most:
                raise ConfigError(
                    f"{self.name}: expected {self.least:g} to {self.most:g} seconds, "
                    f"got {_shown(value)}"
                )
            return float(value)
        layout = cluster.layout
        known = layout.brokers if self.kind == "broker" else tuple(layout.replicas)
        if not isinstance(value, int) or isinstance(value, bool) or value not in known:
            raise ConfigError(
                f"{self.name}: there is no {self.kind} {_shown(value)}: expected {known[0]} to "
                f"{known[-1]}"
            )
        return value


@dataclass(frozen=True)
class Action:
    """An action.

    Attributes:
        name: its name.
        group: the heading under which the page shows the action.
        title: the text of its button.
        run: performs the action on the cluster with the parameters, and returns a sentence.
        parameters: its parameters.
    """

    name: str
    group: str
    title: str
    run: Callable[..., str]
    parameters: tuple[Parameter, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the values that the page shows."""
        return {
            "name": self.name,
            "group": self.group,
            "title": self.title,
            "parameters": [vars(parameter) for parameter in self.parameters],
        }


_BROKER = Parameter("broker", "broker", "broker")
_TO = Parameter("broker", "broker", "to broker")
_PARTITION = Parameter("partition", "partition", "partition")

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("kill_broker", "Brokers", "Kill", SimulatedCluster.kill_broker, (_BROKER,)),
        Action("start_broker", "Brokers", "Start", SimulatedCluster.start_broker, (_BROKER,)),
        Action(
            "move_leader",
            "Leaders and coordinators",
            "Move the leader",
            SimulatedCluster.move_leader,
            (_PARTITION, _TO),
        ),
        Action(
            "move_coordinator",
            "Leaders and coordinators",
            "Move the coordinator",
            SimulatedCluster.move_coordinator,
            (_TO,),
        ),
        Action(
            "lose_response",
            "Network",
            "Lose a response",
            SimulatedCluster.lose_response,
            (_BROKER,),
        ),
        Action(
            "slow_link",
            "Network",
            "Slow the link",
            SimulatedCluster.slow_link,
            (_BROKER, Parameter("seconds", "seconds", "seconds", 0.05, 2.0, 0.5)),
        ),
        Action(
            "one_address",
            "Network",
            "Put all brokers behind one address",
            SimulatedCluster.share_address,
        ),
        Action(
            "own_addresses",
            "Network",
            "Give each its own address",
            SimulatedCluster.use_own_addresses,
        ),
        Action(
            "fill_buffer",
            "Producer and consumer",
            "Fill the producer's buffer",
            SimulatedCluster.silence_produce,
            (Parameter("seconds", "seconds", "seconds", 1.0, 15.0, 5.0),),
        ),
        Action(
            "expire_session",
            "Producer and consumer",
            "Expire the consumer's session",
            SimulatedCluster.expire_session,
        ),
        Action("clear_faults", "Network", "Clear all faults", SimulatedCluster.clear_faults),
    )
}


def perform(cluster: SimulatedCluster, name: object, parameters: object) -> str:
    """Check the parameters of an action, and perform it.

    Args:
        cluster: the cluster.
        name: the action's name.
        parameters: its parameters by name.

    Returns:
        A sentence that says what was done.

    Raises:
        ConfigError: there is no such action, or a parameter is wrong.
        StateError: the action is impossible now.
    """
    action = ACTIONS.get(name) if isinstance(name, str) else None
    if action is None:
        raise ConfigError(f"there is no action {_shown(name)}: expected {', '.join(ACTIONS)}")
    if not isinstance(parameters, Mapping):
        raise ConfigError("parameters: expected an object")
    known = [parameter.name for parameter in action.parameters]
    for given in parameters:
        if given not in known:
            raise ConfigError(
                f"{action.name} has no parameter {_shown(given)}: "
                f"it has {', '.join(known) or 'none'}"
            )
    values = {
        each.name: each.check(parameters.get(each.name), cluster) for each in action.parameters
    }
    return action.run(cluster, **values)


def _shown(value: object) -> str:
    return repr(value)[:40]
