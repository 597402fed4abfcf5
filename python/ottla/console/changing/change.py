"""A change of the cluster: its plan, and how it is carried out.

Invariant: what a page asks for is checked before the cluster is asked for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ottla.admin import PlannedChange
from ottla.console.source import Source
from ottla.errors import ConfigError


@dataclass(frozen=True)
class Planned:
    """What a change would do now.

    Attributes:
        changes: each change; none if there is nothing to change.
        state: further state of the cluster, as JSON values, that must stay as it is until the plan
            is confirmed, such as the id of a topic.
    """

    changes: Sequence[PlannedChange]
    state: object = None


@dataclass(frozen=True)
class Change:
    """A change that a page asks for.

    Attributes:
        request: what was asked for, as JSON values.
        plan: asks the cluster what the change would do; changes nothing.
        apply: carries the change out; returns what a page shows of the outcome, as JSON values.
        is_once: whether a plan can be carried out only once, since repeating it would add to what
            it did.
        check: raises an error unless the user has confirmed it further, such as by typing a name.
    """

    request: object
    plan: Callable[[], Planned]
    apply: Callable[[], object]
    is_once: bool = False
    check: Callable[[], None] = lambda: None


Maker: TypeAlias = Callable[[Source, dict[str, Any]], Change]
"""Reads the JSON of a request. It raises a ``ConfigError`` that names what is wrong."""


def text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a text of a request, without spaces around it; it must not be empty without a default.

    Raises:
        ConfigError: it is missing, or is no text.
    """
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected a text" if name in body else f"{name} is missing")
    if not value.strip() and default is None:
        raise ConfigError(f"{name} is missing")
    return value.strip()


def count(body: dict[str, Any], name: str, *, least: int = 1) -> int | None:
    """Return a number of a request; None if it is missing.

    Raises:
        ConfigError: it is no whole number, or too small.
    """
    value = body.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name}: expected a whole number, {least} or more")
    return value


def pairs(body: dict[str, Any], name: str) -> list[tuple[str, str]]:
    """Return the lines ``NAME=VALUE`` of a text of a request.

    Raises:
        ConfigError: a line has no name, or no ``=``.
    """
    found = []
    for line in text(body, name, "").splitlines():
        if not line.strip():
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"{name}: expected NAME=VALUE in each line, got {line[:80]!r}")
        found.append((key.strip(), value.strip()))
    return found


def typed(body: dict[str, Any], name: str) -> Callable[[], None]:
    """Return a check that the user has typed the name of what is deleted."""

    def check() -> None:
        if body.get("typed") != name:
            raise ConfigError("the name was not typed: type the name of what is to be deleted")

    return check
