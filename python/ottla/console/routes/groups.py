"""The groups of the Groups page: their members and lag, and resets of their offsets.

Invariant: a reset is planned first, and changes nothing unless changes are allowed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Admin
from ottla.cli.groups.all_lags import all_lags
from ottla.cli.groups.reset import parse_target
from ottla.cli.groups.trend import Trend
from ottla.cli.parsing import parse_partition
from ottla.console.group_trends import GroupTrends
from ottla.console.query import Query, json_body
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.errors import ConfigError

# Seconds for which pages share a result.
_SHARED = 2.0
# The timeout of a call in seconds: waiting calls occupy the console's few threads.
_TIMEOUT = 8.0
_NO_LAG = {"Share", "Streams"}
# The largest number of partitions to list for a group.
_MAX_PARTITIONS = 5_000


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    admin, workers, trends = context.source.admin, context.workers, GroupTrends()

    async def groups(_: Request) -> Response:
        return JSONResponse(await workers.shared("groups", _SHARED, _groups, admin))

    async def group(request: Request) -> Response:
        name = Query(request).required("name")
        found = await workers.shared(("group", name), _SHARED, _group, admin, name, trends)
        return JSONResponse(found)

    async def reset(request: Request) -> Response:
        body = await json_body(request)
        dry_run = body.get("dry_run") is not False
        if not dry_run:
            context.check_changes()
        name, target = _text(body, "group"), parse_target(_text(body, "to"))
        topics = [parse_partition(each) for each in _text(body, "topics", "").split()] or None
        options: dict[str, Any] = {"dry_run": dry_run, "timeout": _TIMEOUT}
        plan = await workers.run(lambda: admin.reset_group_offsets(name, target, topics, **options))
        changes = [dataclasses.asdict(change) for change in plan]
        return JSONResponse({"changed": not dry_run, "changes": changes})

    return [
        Route("/api/groups", groups),
        Route("/api/group", group),
        Route("/api/group/reset", reset, methods=["POST"]),
    ]


def _text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise ConfigError(f"{name} is missing")
    return value.strip()


def _groups(admin: Admin) -> list[dict[str, Any]]:
    types = {each.group_id: each for each in admin.list_groups(timeout=_TIMEOUT)}
    rows = []
    for lag in all_lags(admin, "read_uncommitted", timeout=_TIMEOUT):
        listing = types.get(lag.group_id)
        row = dataclasses.asdict(lag)
        if listing is not None:
            row |= {"type": listing.type, "coordinator": listing.coordinator}
        if listing is not None and listing.type in _NO_LAG:
            row |= {"lag": None, "error": None}
        rows.append({"type": None, "coordinator": None, **row})
    return rows


def _group(admin: Admin, name: str, trends: GroupTrends) -> dict[str, Any]:
    description = admin.describe_groups([name], timeout=_TIMEOUT)[name]
    members = [
        {
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.host.lstrip("/"),
            "assignment": sorted(member.assignment or []),
        }
        for member in description.members
    ]
    has_lag = description.type not in _NO_LAG
    lags = admin.group_lag(name, timeout=_TIMEOUT) if has_lag else []
    total, by_partition = trends.observe(name, lags)
    partitions = [
        dataclasses.asdict(lag) | {"trend": _plain(by_partition.get((lag.topic, lag.partition)))}
        for lag in list(lags)[:_MAX_PARTITIONS]
    ]
    return {
        "group_id": name,
        "type": description.type,
        "state": description.state,
        "assignor": description.assignor,
        "coordinator": description.coordinator,
        "members": members,
        "has_lag": has_lag,
        "total": len(lags),
        "partitions": partitions,
        "trend": _plain(total),
    }


def _plain(trend: Trend | None) -> dict[str, Any] | None:
    return None if trend is None else dataclasses.asdict(trend)
