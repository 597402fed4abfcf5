"""The disks of the brokers, one broker of the Map page, and what is written to all of them.

Invariant: a broker that does not report its directories does not hide those of the others.
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.console.query import Query
from ottla.console.responses import JSONResponse, problem
from ottla.console.routes.context import Context
from ottla.console.survey import log_dir

# The busiest topics in a response.
_BUSIEST = 10


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    survey = context.survey

    async def log_dirs(_: Request) -> Response:
        return JSONResponse([log_dir(each) for each in await survey.log_dirs()])

    async def broker(request: Request) -> Response:
        number = Query(request).number("id", 0)
        topology = await survey.topology()
        found = topology.broker(number)
        if found is None:
            return problem(404, f"there is no broker {number}")
        await survey.soon(survey.refresh_writes())
        configs = (
            {"error": f"broker {number} is down or gone", "entries": []}
            if found["missing"]
            else await survey.configs("broker", str(number))
        )
        # What a broker reported before it went down is not true any more.
        reported = [] if found["missing"] else await survey.soon(survey.log_dirs()) or []
        directories = [log_dir(each) for each in reported if each.broker == number]
        return JSONResponse(
            {
                **found,
                "time": time.time(),
                "configs": configs,
                "log_dirs": directories,
                "writes": survey.writes.of_broker(number),
            }
        )

    async def writes(_: Request) -> Response:
        await survey.refresh_writes()
        brokers = (await survey.topology()).broker_ids
        return JSONResponse(
            {
                "history": list(survey.writes.history),
                "brokers": [{"broker": each, **survey.writes.of_broker(each)} for each in brokers],
                "topics": survey.writes.busiest(_BUSIEST),
            }
        )

    return [
        Route("/api/log-dirs", log_dirs),
        Route("/api/broker", broker),
        Route("/api/writes", writes),
    ]
