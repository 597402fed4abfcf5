"""The Access page: access control lists, the users with SCRAM passwords, and client quotas.

Invariant: of a password, only the mechanism and the iterations are known here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Admin
from ottla.admin import AclFilter
from ottla.console import workers as cadences
from ottla.console.group_survey import TIMEOUT
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context

# The largest number of entries that a page lists.
_MAX_ROWS = 2_000


def routes(context: Context) -> list[Route]:
    """Return the routes."""

    def endpoint(key: str, find: Callable[[Admin], list[dict[str, Any]]]) -> Any:
        async def listing(_: Request) -> Response:
            rows = await context.workers.shared(key, cadences.CONFIGS, find, context.source.admin)
            return JSONResponse({"total": len(rows), "rows": rows[:_MAX_ROWS]})

        return listing

    return [
        Route("/api/acls", endpoint("acls", _acls)),
        Route("/api/users", endpoint("users", _users)),
        Route("/api/quotas", endpoint("quotas", _quotas)),
    ]


def _acls(admin: Admin) -> list[dict[str, Any]]:
    found = admin.describe_acls(AclFilter(), timeout=TIMEOUT)
    return [dataclasses.asdict(each) for each in sorted(found)]


def _users(admin: Admin) -> list[dict[str, Any]]:
    found = admin.describe_user_scram_credentials(timeout=TIMEOUT)
    return [
        {"user": user, "mechanism": each.mechanism, "iterations": each.iterations}
        for user, credentials in sorted(found.items())
        for each in credentials
    ]


def _quotas(admin: Admin) -> list[dict[str, Any]]:
    found = admin.describe_client_quotas(timeout=TIMEOUT)
    return [
        {"entity": str(entity), **dataclasses.asdict(entity), "quota": quota, "limit": limit}
        for entity, quotas in sorted(found.items(), key=lambda item: str(item[0]))
        for quota, limit in sorted(quotas.items())
    ]
