"""The disks of the brokers, for their tiles on the Map page.

Invariant: a broker that does not report its directories does not hide those of the others.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Admin
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.errors import KafkaError

# Seconds for which pages share a result, since brokers must list all of their replicas for it.
_SHARED = 30.0
_TIMEOUT = 10.0


def routes(context: Context) -> list[Route]:
    """Return the routes."""

    async def log_dirs(_: Request) -> Response:
        admin, workers = context.source.admin, context.workers
        return JSONResponse(await workers.shared("log dirs", _SHARED, _log_dirs, admin))

    return [Route("/api/log-dirs", log_dirs)]


def _log_dirs(admin: Admin) -> list[dict[str, Any]]:
    found = admin.describe_log_dirs(errors="return", timeout=_TIMEOUT)
    return [
        {
            "broker": broker,
            "path": each.path,
            "error": each.error,
            "total_bytes": each.total_bytes,
            "usable_bytes": each.usable_bytes,
            "replica_bytes": each.replica_bytes,
        }
        for broker, directories in sorted(found.items())
        if not isinstance(directories, KafkaError)
        for each in directories
    ]
