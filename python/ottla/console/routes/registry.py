"""The subjects of the schema registry: their versions, a schema, and what differs between two.

Invariants: nothing is registered or deleted; a registry that is down or refuses is an error of
these routes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.cli.registry.connection import is_missing_subject, is_missing_version
from ottla.cli.registry.diff import difference
from ottla.cli.registry.schemas import plain_schema, pretty
from ottla.cli.registry.versions import older
from ottla.console import workers as cadences
from ottla.console.query import Query
from ottla.console.responses import JSONResponse
from ottla.console.routes.context import Context
from ottla.console.survey import TIMEOUT
from ottla.errors import ConfigError, SchemaError
from ottla.schema import Registry

# The largest number of subjects in a response, and of versions of a subject.
_MAX_SUBJECTS, _MAX_VERSIONS = 200, 50
_MAX_VERSION = 2**31 - 1


def routes(context: Context) -> list[Route]:
    """Return the routes; none without a registry."""
    registry, workers = context.registry, context.workers
    if registry is None:
        return []

    async def all_subjects() -> list[str]:
        return await workers.shared("subjects", cadences.REGISTRY, _subjects, registry)

    async def subjects(request: Request) -> Response:
        query = Query(request)
        wanted = query.text("q").casefold()
        start, count = query.number("start", 0), query.number("count", 50)
        names = await all_subjects()
        found = [name for name in names if wanted in name.casefold()]
        return JSONResponse(
            {
                "urls": registry.urls,
                "all": len(names),
                "total": len(found),
                "start": start,
                "rows": found[start : start + min(count, _MAX_SUBJECTS)],
            }
        )

    async def of_topic(request: Request) -> Response:
        name = Query(request).required("name")
        # The names by which serializers register schemas, unless they are configured otherwise.
        wanted = [f"{name}-key", f"{name}-value"]
        known = set(await all_subjects())
        return JSONResponse([subject for subject in wanted if subject in known])

    async def subject(request: Request) -> Response:
        name = Query(request).required("name")
        key = ("subject", name)
        return JSONResponse(await workers.shared(key, cadences.REGISTRY, _versions, registry, name))

    async def schema(request: Request) -> Response:
        query = Query(request)
        name, version = query.required("name"), _version(query, "version")
        return JSONResponse(await workers.run(_schema, registry, name, version))

    async def diff(request: Request) -> Response:
        query = Query(request)
        name, old, new = query.required("name"), _version(query, "old"), _version(query, "new")
        return JSONResponse({"lines": await workers.run(_diff, registry, name, old, new)})

    return [
        Route("/api/registry/subjects", subjects),
        Route("/api/registry/topic", of_topic),
        Route("/api/registry/subject", subject),
        Route("/api/registry/schema", schema),
        Route("/api/registry/diff", diff),
    ]


def _version(query: Query, name: str) -> int:
    version = query.number(name, 0, most=_MAX_VERSION)
    if version == 0:
        raise ConfigError(f"{name}: expected a version, 1 or more")
    return version


def _subjects(registry: Registry) -> list[str]:
    return sorted(registry.subjects(timeout=TIMEOUT))


@contextmanager
def _missing_is_not_found() -> Iterator[None]:
    """Turn the error about a subject or a version that does not exist into a response 404."""
    try:
        yield
    except SchemaError as error:
        if is_missing_subject(error) or is_missing_version(error):
            raise HTTPException(404, str(error)) from None
        raise


def _versions(registry: Registry, name: str) -> dict[str, Any]:
    with _missing_is_not_found():
        latest = registry.latest(name, timeout=TIMEOUT)
        found = [latest, *older(registry, latest, _MAX_VERSIONS - 1)]
        level = registry.compatibility_level(name, timeout=TIMEOUT)
    # The page requests the text of the version that it shows.
    rows = [
        {field: value for field, value in plain_schema(each).items() if field != "schema"}
        for each in found
    ]
    return {
        "name": name,
        "versions": rows,
        "level": {"level": level.value, "is_global": level.is_global},
        "limit": _MAX_VERSIONS if (latest.version or 1) > _MAX_VERSIONS else None,
    }


def _schema(registry: Registry, name: str, version: int) -> dict[str, Any]:
    with _missing_is_not_found():
        found = registry.schema_by_version(name, version, timeout=TIMEOUT)
    return plain_schema(found) | {"lines": pretty(found)}


def _diff(registry: Registry, name: str, old: int, new: int) -> list[str]:
    with _missing_is_not_found():
        before, after = (
            registry.schema_by_version(name, version, timeout=TIMEOUT) for version in (old, new)
        )
    return difference(before, after)
