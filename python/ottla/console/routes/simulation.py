"""The simulation of the Simulation page: its state, actions and scenarios.

Invariant: actions only change the mock cluster, so they need no permission to change the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.console.query import json_body
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.console.simulation import Simulation


def routes(context: Context) -> list[Route]:
    """Return the routes; none without a simulation."""
    simulation, workers = context.simulation, context.workers
    if simulation is None:
        return []

    async def state(_: Request) -> Response:
        return JSONResponse(await workers.run(simulation.state))

    async def action(request: Request) -> Response:
        body = await json_body(request)
        parameters = body.get("parameters", {})
        done = await workers.run(simulation.perform, body.get("name"), parameters)
        return JSONResponse({"done": done})

    async def scenario(request: Request) -> Response:
        body = await json_body(request)
        run = await workers.run(simulation.start_scenario, body.get("name"), body.get("seed"))
        return JSONResponse(run)

    async def cancel(request: Request) -> Response:
        await json_body(request)
        await workers.run(simulation.cancel)
        return JSONResponse({})

    return [
        Route("/api/simulation", state),
        Route("/api/simulation/action", action, methods=["POST"]),
        Route("/api/simulation/scenario", scenario, methods=["POST"]),
        Route("/api/simulation/cancel", cancel, methods=["POST"]),
    ]


@contextmanager
def commentary(context: Context) -> Iterator[None]:
    """Show the commentary of the simulation in the time line, if there is one."""
    simulation: Simulation | None = context.simulation
    if simulation is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def show(event: dict[str, Any]) -> None:
        adding = context.observer.add_event(event)
        try:
            asyncio.run_coroutine_threadsafe(adding, loop)
        except RuntimeError:  # the console has just ended
            adding.close()

    simulation.commentary.connect(show)
    try:
        yield
    finally:
        simulation.commentary.connect(None)
