"""The groups of the Groups page: their members and lag.

Invariant: a group whose lag is unknown shows what else is known of it.
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
from ottla.console import workers as cadences
from ottla.console.group_survey import MAX_ROWS, NO_LAG, TIMEOUT, Order
from ottla.console.group_trends import GroupTrends
from ottla.console.query import Query
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.errors import KafkaError

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

    return [Route("/api/groups", groups), Route("/api/group", group)]


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
