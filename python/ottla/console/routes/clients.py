"""The clients behind gateways: their connections, filtered and ordered, and what happened lately.

Invariants: a response has a bounded number of rows; nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.console import workers as cadences
from ottla.console.gateways import fetch
from ottla.console.query import Query
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context

# The largest numbers of connections and of events in a response.
_MAX_ROWS, _MAX_EVENTS = 300, 200


def routes(context: Context) -> list[Route]:
    """Return the routes; none without a gateway."""
    urls, workers = context.gateways, context.workers
    if not urls:
        return []

    async def clients(request: Request) -> Response:
        wanted = Query(request).text("q").casefold()
        fetched = await asyncio.gather(
            *(workers.shared(("gateway", url), cadences.GATEWAY, fetch, url) for url in urls)
        )
        rows = [row for each in fetched for row in each["connections"]]
        events = [event for each in fetched for event in each["events"]]
        events.sort(key=lambda event: datetime.fromisoformat(event["time"]))
        found = [row for row in rows if _matches(row, wanted)]
        # Those with errors first, then the busiest.
        found.sort(key=lambda row: (not row["errors"], -row["requests"]))
        return JSONResponse(
            {
                "gateways": urls,
                "problems": [each["problem"] for each in fetched if each["problem"]],
                "all": len(rows),
                "total": len(found),
                "rows": found[:_MAX_ROWS],
                "events": events[-_MAX_EVENTS:],
            }
        )

    return [Route("/api/clients", clients)]


def _matches(row: Mapping[str, Any], wanted: str) -> bool:
    broker = "bootstrap" if row["broker"] is None else f"broker {row['broker']}"
    texts = [row["client_id"], row["peer"], row["user"], row["software"], broker]
    texts += [*row["roles"], *row["names"], *row["errors"]]
    return any(wanted in text.casefold() for text in texts if text)
