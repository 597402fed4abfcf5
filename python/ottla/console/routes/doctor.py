"""The diagnosis of the Doctor page: each check as it starts and ends, then the report.

Invariant: a diagnosis ends at its next check if its page is gone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import ottla
from ottla.console.events import server_sent_event
from ottla.console.query import Query
from ottla.console.responses import JSONResponse, event_stream, problem
from ottla.console.routes.context import Context
from ottla.console.workers import DIAGNOSES
from ottla.doctor import DiagnosisStep, Report
from ottla.doctor.flowchart import QUESTIONS, ends_at, flowchart
from ottla.errors import KafkaError

_log = logging.getLogger(__name__)


def routes(context: Context) -> list[Route]:
    """Return the routes."""
    # The last report, which a page can save.
    reports: list[Report] = []
    # The threads release it, since a diagnosis whose page is gone runs until its next check.
    free = threading.BoundedSemaphore(DIAGNOSES)

    async def questions(_: Request) -> Response:
        boxes = [{"phase": phase, "question": text} for phase, text in QUESTIONS.items()]
        return JSONResponse(boxes)

    async def diagnosis(request: Request) -> Response:
        query = Query(request)
        topic, group = query.text("topic") or None, query.text("group") or None
        if not free.acquire(blocking=False):
            return problem(409, f"{DIAGNOSES} diagnoses are running: try again when one has ended")
        diagnosis = _Diagnosis(context, topic, group)
        context.workers.diagnose(diagnosis.run).add_done_callback(lambda _: free.release())

        async def events() -> AsyncIterator[str]:
            async for kind, value in diagnosis.progress():
                yield server_sent_event(kind, value)
            if diagnosis.report is not None:
                reports[:] = [diagnosis.report]

        return event_stream(events())

    async def saved(_: Request) -> Response:
        if not reports:
            return problem(404, "there is no report yet: run the diagnosis first")
        headers = {"content-disposition": 'attachment; filename="ottla-doctor.html"'}
        return Response(reports[0].to_html(), media_type="text/html", headers=headers)

    return [
        Route("/api/doctor", diagnosis),
        Route("/api/doctor/questions", questions),
        Route("/api/doctor/report.html", saved),
    ]


class _GoneError(Exception):
    """The page is gone."""


class _Diagnosis:
    """A diagnosis in a thread. An asynchronous iterator yields its progress."""

    def __init__(self, context: Context, topic: str | None, group: str | None) -> None:
        self.report: Report | None = None
        self._context = context
        self._targets: dict[str, Any] = {"topic": topic, "group": group}
        self._is_gone = False
        self._loop = asyncio.get_running_loop()
        # The queue holds at most all checks, whose number depends on the size of the cluster.
        self._queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def progress(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield ``("step", …)`` for each check, then ``("report", …)`` or ``("problem", …)``."""
        try:
            while True:
                kind, value = await self._queue.get()
                yield kind, value
                if kind != "step":
                    return
        finally:
            self._is_gone = True

    def run(self) -> None:
        """Run the diagnosis in this thread."""
        try:
            handle = self._context.source.blocking
            self.report = ottla.diagnose(handle, on_step=self._on_step, **self._targets)
        except _GoneError:
            return
        except KafkaError as error:
            self._put("problem", {"message": str(error)})
        except Exception:  # noqa: BLE001 - the page would wait for ever
            _log.exception("the diagnosis has failed")
            message = "the diagnosis has failed: see the console's log for the cause"
            self._put("problem", {"message": message})
        else:
            self._put("report", _report(self.report))

    def _on_step(self, step: DiagnosisStep) -> None:
        if self._is_gone:
            raise _GoneError
        self._put("step", dataclasses.asdict(step))

    def _put(self, kind: str, value: Any) -> None:
        with suppress(RuntimeError):  # the console has just ended
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (kind, value))


def _report(report: Report) -> dict[str, Any]:
    boxes = flowchart(report)
    end = ends_at(boxes)
    return {
        "ok": report.ok,
        "exit_code": report.exit_code,
        "seconds": report.facts.seconds,
        "ends_at": None if end is None else end.phase,
        "boxes": [
            {
                **dataclasses.asdict(box),
                "cause": box.cause,
                "certainty": box.certainty,
                "remedy": box.remedy,
            }
            for box in boxes
        ],
        "text": str(report),
    }
