"""The changes that pages make, each by ``POST /api/change/NOUN/VERB``.

Invariants: without permission nothing changes, and only a reset of offsets is planned; a change is
carried out only with the digest of the plan that would be made now.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.console.changing import CHANGES, PLANNED_READ_ONLY
from ottla.console.changing.change import Change, Maker
from ottla.console.confirmed import check_digest, digest_of
from ottla.console.query import json_body
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.errors import StateError

# The digests of plans that were carried out, of changes that must not be repeated.
_MAX_APPLIED = 10_000


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    applied: OrderedDict[str, object] = OrderedDict()
    return [
        Route(
            f"/api/change/{name}",
            _endpoint(context, name, make, applied),
            methods=["POST"],
        )
        for name, make in CHANGES.items()
    ]


def _endpoint(context: Context, name: str, make: Maker, applied: OrderedDict[str, object]) -> Any:
    async def endpoint(request: Request) -> Response:
        body = await json_body(request)
        is_confirmed = body.get("dry_run") is False
        if is_confirmed or name not in PLANNED_READ_ONLY:
            context.check_changes()
        change = make(context.source, body)
        if is_confirmed:
            change.check()
        result = await context.workers.run(
            _perform, context.digest_key, name, change, body, is_confirmed, applied
        )
        if result["changed"]:
            # Pages show what has changed at once.
            context.workers.forget()
            await context.observer.refresh()
        return JSONResponse(result)

    return endpoint


def _perform(
    key: bytes,
    name: str,
    change: Change,
    body: dict[str, Any],
    is_confirmed: bool,
    applied: OrderedDict[str, object],
) -> dict[str, Any]:
    """Plan a change, and carry it out if that plan is confirmed."""
    planned = change.plan()
    digest = digest_of(key, [name, change.request, planned.state], planned.changes)
    outcome = None
    if is_confirmed:
        check_digest(body.get("digest"), digest)
        if change.is_once:
            # Another thread may get the same request at the same time. The change is not kept: its
            # record may be large.
            mark = object()
            if applied.setdefault(digest, mark) is not mark:
                raise StateError("this plan was carried out already: ask for a new plan")
            while len(applied) > _MAX_APPLIED:
                applied.popitem(last=False)
        if planned.changes:
            outcome = change.apply()
    changes = [dataclasses.asdict(each) for each in planned.changes]
    return {
        "changed": is_confirmed and bool(planned.changes),
        "changes": changes,
        "digest": digest,
        "outcome": outcome,
    }
