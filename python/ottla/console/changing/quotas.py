"""Sets and removes client quotas.

Invariant: a change names one entity with all of its types, so it never alters the quota of another.
"""

from __future__ import annotations

import math
from typing import Any

from ottla.admin import QuotaEntity
from ottla.console.changing.change import Change, Maker, Planned, text
from ottla.console.group_survey import TIMEOUT
from ottla.console.source import Source
from ottla.errors import ConfigError


def _set(source: Source, body: dict[str, Any]) -> Change:
    quota, limit = text(body, "quota"), text(body, "limit")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"limit: expected a number, got {limit[:40]!r}")
    return _change(source, body, quota, value)


def _remove(source: Source, body: dict[str, Any]) -> Change:
    return _change(source, body, text(body, "quota"), None)


def _change(source: Source, body: dict[str, Any], quota: str, value: float | None) -> Change:
    entity = QuotaEntity(_name(body, "user"), _name(body, "client_id"), _name(body, "ip"))
    # An entity that is wrong is refused before the cluster is asked.
    entity.to_body()
    alterations = {entity: {quota: value}}
    admin = source.admin

    def plan() -> Planned:
        return Planned(admin.alter_client_quotas(alterations, dry_run=True, timeout=TIMEOUT))

    def apply() -> None:
        admin.alter_client_quotas(alterations, timeout=TIMEOUT)

    return Change([entity.user, entity.client_id, entity.ip, quota, value], plan, apply)


def _name(body: dict[str, Any], part: str) -> str | None:
    """Return a part of the entity: empty for all without a quota of their own, None for any."""
    return None if body.get(part) is None else text(body, part, "")


CHANGES: dict[str, Maker] = {"quotas/set": _set, "quotas/remove": _remove}
"""The changes of client quotas."""
