"""The records of the Messages page, as ``ottla consume`` reads them.

The parameters of a request become the arguments of that command, and the command's own parser,
ranges, filters and formats process them. So the command that the page offers to copy reads the same
records. Invariants: a request reads for a bounded time and returns a bounded number of records and
bytes; few files are sent at a time; no group is joined, and nothing is committed.
"""

from __future__ import annotations

import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla import Client
from ottla.cli.formats import Record
from ottla.console.messages.command import Command, command_of
from ottla.console.messages.download import Download, download
from ottla.console.messages.newest import read_newest
from ottla.console.messages.reading import Convert, Message, Reading, as_message, read
from ottla.console.messages.rendering import rendered
from ottla.console.query import Query
from ottla.console.responses import JSONResponse, problem
from ottla.console.routes.context import Context

_MAX_SHOWN = 1_000
_MAX_DOWNLOADED = 100_000
_SHOWN_LIMIT = (
    f"a page shows at most {_MAX_SHOWN:,} records at a time: read fewer and go on with `Read on`, "
    f"or save them as a file, which has up to {_MAX_DOWNLOADED:,}"
)
_DOWNLOADED_LIMIT = (
    f"a file has at most {_MAX_DOWNLOADED:,} records: the command beside it has no such limit"
)
# The number of files that may be sent at a time.
_DOWNLOADS = 2
# The largest number of characters of a key or value in a list, and in a single record.
_SHORT, _LONG = 2_000, 1_000_000


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    client, workers = context.source.blocking, context.workers
    free = threading.BoundedSemaphore(_DOWNLOADS)

    def command(query: Query) -> Command:
        return command_of(query, context.cluster_arguments(), context.registry, context.limits)

    async def messages(request: Request) -> Response:
        query = Query(request)
        wanted = command(query)
        count = query.number("count", 100, most=_MAX_SHOWN, limit=_SHOWN_LIMIT)
        return JSONResponse(await workers.run(_page, client, wanted, count))

    async def save(request: Request) -> Response:
        query = Query(request)
        wanted = command(query)
        kind = query.choice("as", "jsonl", "csv", "parquet")
        count = query.number(
            "count", _MAX_DOWNLOADED, most=_MAX_DOWNLOADED, limit=_DOWNLOADED_LIMIT
        )
        if not free.acquire(blocking=False):
            return problem(409, f"{_DOWNLOADS} files are being sent: try again when one is done")
        try:
            file = await workers.run(_file, client, wanted, count, kind)
        except BaseException:
            free.release()
            raise
        file.on_sent = free.release
        return file

    return [Route("/api/messages", messages), Route("/api/messages/download", save)]


def _read(client: Client, command: Command, count: int, convert: Convert = as_message) -> Reading:
    if command.last is not None and not command.after:
        return read_newest(client, command, min(count, command.last), convert)
    return read(client, command, count, convert)


def _page(client: Client, command: Command, count: int) -> dict[str, Any]:
    most = _LONG if count == 1 else _SHORT

    def shown(record: Record) -> Message:
        return as_message(record)._replace(data=rendered(record, command, most))

    reading = _read(client, command, count, shown)
    return {
        "command": command.text,
        "records": [record.data for record in reading.records],
        "read": reading.read,
        "ended": reading.ended,
        "next": reading.next,
    }


def _file(client: Client, command: Command, count: int, kind: str) -> Download:
    return download(_read(client, command, count), command, kind)
