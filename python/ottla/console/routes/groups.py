"""The groups of the Groups page: their members and lag, and resets of their offsets.

Invariant: a reset is planned first, and changes nothing unless changes are allowed and the plan is
confirmed by its digest.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Admin
from ottla._measurements.lag_trend import Trend
from ottla.admin import PartitionLag
from ottla.cli.groups.reset import parse_target
from ottla.cli.parsing import parse_partition
from ottla.console import workers as cadences
from ottla.console.confirmed import check_digest, digest_of
from ottla.console.group_survey import MAX_ROWS, NO_LAG, TIMEOUT, Order
from ottla.console.group_trends import GroupTrends
from ottla.console.query import Query, json_body
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.errors import ConfigError, KafkaError

# The largest numbers of partitions and of members to list for a group.
_MAX_PARTITIONS, _MAX_MEMBERS = 5_000, 300


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    admin, workers, survey = context.source.admin, context.workers, context.groups

    async def groups(request: Request) -> Response:
        query = Query(request)
        order = cast(Order, query.choice("order", "lag", "name", "behind", "members", "errors"))
        rows = query.number("start", 0), query.number("count", MAX_ROWS)
        return JSONResponse((await survey.groups()).page(*rows, query.text("q"), order))

    async def group(request: Request) -> Response:
        name = Query(request).required("name")
        found = await workers.shared(
            ("group", name), cadences.GROUP, _group, admin, name, survey.trends
        )
        return JSONResponse({**found, "history": survey.history(name)})

    async def reset(request: Request) -> Response:
        body = await json_body(request)
        dry_run = body.get("dry_run") is not False
        if not dry_run:
            context.check_changes()
        name, target = _text(body, "group"), parse_target(_text(body, "to"))
        topics = [parse_partition(each) for each in _text(body, "topics", "").split()] or None

        def perform() -> dict[str, Any]:
            plan = admin.reset_group_offsets(name, target, topics, dry_run=True, timeout=TIMEOUT)
            digest = digest_of(context.digest_key, ["reset", name, _text(body, "to"), topics], plan)
            if not dry_run:
                check_digest(body.get("digest"), digest)
                plan = admin.reset_group_offsets(name, target, topics, timeout=TIMEOUT)
            changes = [dataclasses.asdict(change) for change in plan]
            return {"changed": not dry_run, "changes": changes, "digest": digest}

        return JSONResponse(await workers.run(perform))

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


def _group(admin: Admin, name: str, trends: GroupTrends) -> dict[str, Any]:
    description = admin.describe_groups([name], timeout=TIMEOUT)[name]
    members = [
        {
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.host.lstrip("/"),
            "assignment": sorted(member.assignment or []),
        }
        for member in description.members[:_MAX_MEMBERS]
    ]
    has_lag = description.type not in NO_LAG
    error = None
    lags: Sequence[PartitionLag] = []
    try:
        lags = admin.group_lag(name, timeout=TIMEOUT) if has_lag else []
    except KafkaError as failure:
        # Its members are known nevertheless.
        error = str(failure)
    total, by_partition = trends.observe(name, lags)
    partitions = [
        dataclasses.asdict(lag) | {"trend": _plain(by_partition.get((lag.topic, lag.partition)))}
        for lag in list(lags)[:_MAX_PARTITIONS]
    ]
    return {
        "group_id": name,
        "time": time.time(),
        "trend": _plain(total),
        "type": description.type,
        "state": description.state,
        "assignor": description.assignor,
        "coordinator": description.coordinator,
        "members": members,
        "all_members": len(description.members),
        "has_lag": has_lag,
        "lag_error": error,
        "total": len(lags),
        "partitions": partitions,
    }


def _plain(trend: Trend | None) -> dict[str, Any] | None:
    return None if trend is None else dataclasses.asdict(trend)
