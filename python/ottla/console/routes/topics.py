"""The topics and partitions of the Map page. A page requests only the rows that it shows."""

from __future__ import annotations

import time
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Admin
from ottla.admin.offsets import OffsetSpec
from ottla.console import workers as cadences
from ottla.console.group_survey import MAX_ROWS, Groups
from ottla.console.query import Query
from ottla.console.responses import JSONResponse, problem
from ottla.console.routes.context import Context
from ottla.console.survey import TIMEOUT
from ottla.console.topology import Order
from ottla.errors import KafkaError

# The largest number of partitions whose offsets are requested for a topic.
_MAX_PARTITIONS = 5_000


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    survey, workers = context.survey, context.workers

    async def topics(request: Request) -> Response:
        query = Query(request)
        order = cast(Order, query.choice("order", "name", "health", "partitions"))
        rows = query.number("start", 0), query.number("count", 50)
        return JSONResponse((await survey.topology()).page(*rows, query.text("q"), order))

    async def topic(request: Request) -> Response:
        query = Query(request)
        name = query.required("name")
        rows = query.number("start", 0), query.number("count", 50)
        found = (await survey.topology()).topic(name, *rows)
        return problem(404, f"there is no topic {name!r}") if found is None else JSONResponse(found)

    async def details(request: Request) -> Response:
        name = Query(request).required("name")
        topic = (await survey.topology()).cluster.topics.get(name)
        if topic is None:
            return problem(404, f"there is no topic {name!r}")
        indexes = sorted(topic.partitions)[:_MAX_PARTITIONS]
        await survey.soon(survey.refresh_writes())
        offsets = await workers.shared(
            ("offsets", name),
            cadences.TOPIC_OFFSETS,
            _offsets,
            context.source.admin,
            name,
            tuple(indexes),
        )
        sizes = survey.writes.leader_sizes()
        partitions = [
            {"index": index, **offsets[index], "size": sizes.get((name, index))}
            for index in indexes
        ]
        return JSONResponse(
            {
                "time": time.time(),
                "partitions": partitions,
                "configs": await survey.configs("topic", name),
                "writes": survey.writes.of_topic(name),
                "groups": _groups_of(context, name, await survey.soon(context.groups.groups())),
            }
        )

    return [
        Route("/api/topics", topics),
        Route("/api/topic", topic),
        Route("/api/topic/details", details),
    ]


def _groups_of(context: Context, topic: str, groups: Groups | None) -> Any:
    """Return the groups with committed offsets of a topic; None if they are unknown."""
    if groups is None:
        return None
    rows = [row for row in groups.rows if topic in context.groups.topics_of(row["group_id"])]
    # A group whose offsets are unknown may be one of them.
    failed = [
        f"{row['group_id']}: {row['error']}" for row in groups.rows if row["error"] is not None
    ]
    return Groups(rows, [*groups.errors, *failed]).page(0, MAX_ROWS)


def _offsets(admin: Admin, topic: str, indexes: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """Return the first and the end offset of each partition; None where it is unknown."""
    rows: dict[int, dict[str, Any]] = {index: {} for index in indexes}
    specs: dict[str, OffsetSpec] = {"start": "earliest", "end": "latest"}
    for name, spec in specs.items():
        wanted = dict.fromkeys(((topic, index) for index in indexes), spec)
        found = admin.list_offsets(wanted, errors="return", timeout=TIMEOUT)
        for (_, index), offset in found.items():
            rows[index][name] = None if isinstance(offset, KafkaError) else offset.offset
    return rows
