"""The topics and partitions of the Map page. A page requests only the rows that it shows."""

from __future__ import annotations

from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.console.query import Query
from ottla.console.responses import JSONResponse, problem
from ottla.console.routes.context import Context
from ottla.console.topology import Order, Topology
from ottla.errors import StateError


def routes(context: Context) -> list[Route]:
    """Return the routes."""

    async def topology() -> Topology:
        if context.observer.topology is None:
            await context.observer.refresh()
        found = context.observer.topology
        if found is None:
            raise StateError("there is no metadata yet: the client has not found its cluster")
        return found

    async def topics(request: Request) -> Response:
        query = Query(request)
        order = cast(Order, query.choice("order", "name", "health", "partitions"))
        rows = query.number("start", 0), query.number("count", 50)
        return JSONResponse((await topology()).page(*rows, query.text("q"), order))

    async def topic(request: Request) -> Response:
        query = Query(request)
        name = query.required("name")
        rows = query.number("start", 0), query.number("count", 50)
        found = (await topology()).topic(name, *rows)
        return problem(404, f"there is no topic {name!r}") if found is None else JSONResponse(found)

    return [Route("/api/topics", topics), Route("/api/topic", topic)]
