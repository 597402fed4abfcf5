"""All facts of a diagnosis, from the core's plain values to frozen dataclasses.

``connection_facts.py``, ``cluster_facts.py`` and ``state_facts.py`` have the parts.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ottla.doctor.cluster_facts import Broker, Coordinator, OpenTransaction, Quorum, Topics
from ottla.doctor.connection_facts import Endpoint, Recovery, View
from ottla.doctor.state_facts import ClusterState

_T = TypeVar("_T")


@dataclass(frozen=True)
class Facts:
    """All facts.

    Attributes:
        cluster: the view of the first server that responded.
        quorum: the quorum of KRaft controllers; None if there is none or it is not reported.
        state: what the cluster reports at the end of the checks; None if it could not be asked.
        recovered: checks that timed out once and passed when they were repeated.
        has_controllers: whether KRaft controllers were checked (``bootstrap.controllers``), which
            are in the place of brokers then.
    """

    security_protocol: str
    bootstrap: tuple[Endpoint, ...]
    cluster: View | None = None
    topics: Topics | None = None
    brokers: tuple[Broker, ...] = ()
    coordinator: Coordinator | None = None
    quorum: Quorum | None = None
    open_transactions: tuple[OpenTransaction, ...] = ()
    seconds: float = 0.0
    state: ClusterState | None = None
    recovered: tuple[Recovery, ...] = ()
    has_controllers: bool = False

    @property
    def kind_of_node(self) -> str:
        """What ``brokers`` are: ``broker``, or ``controller``."""
        return "controller" if self.has_controllers else "broker"

    @property
    def good_outcome(self) -> str:
        """What it means that there is no error."""
        if self.has_controllers:
            return "The controllers respond; brokers were not checked."
        return "Clients can use the cluster."


def facts_from(values: Mapping[str, Any]) -> Facts:
    """Return the facts from the core's plain values."""
    return _typed(Facts, values)


def _typed(kind: type[_T], value: Mapping[str, Any]) -> _T:
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], item) for name, item in value.items()})


def _value(hint: Any, value: Any) -> Any:
    """Convert a plain value to its field's type."""
    if value is None:
        return None
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _typed(hint, value)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if parts[1:] == (...,):
            return tuple(_value(parts[0], item) for item in value)
        return tuple(_value(part, item) for part, item in zip(parts, value, strict=True))
    return value
