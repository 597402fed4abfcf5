"""The page: header, flowchart, findings and facts of a report, as one complete HTML document."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from ottla._core import __version__
from ottla._internal.markup import Markup, element, joined
from ottla._internal.text import listed
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.flowchart import Box, ends_at
from ottla.doctor.html.chart import chart, findings_list
from ottla.doctor.html.style import STYLE
from ottla.doctor.html.tables import tables

# Nothing but the style sheet in the page itself.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(
    facts: Facts, findings: Sequence[Finding], boxes: Sequence[Box], exit_code: int, time: float
) -> str:
    """Return the document.

    Args:
        facts: the facts.
        findings: the findings about them.
        boxes: the flowchart of both.
        exit_code: the exit code of the diagnosis.
        time: when it ended, in seconds since 1970.
    """
    servers = listed([server.name for server in facts.bootstrap])
    end = ends_at(boxes)
    summary = "no error" if end is None else f"error at {end.phase}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"ottla doctor: {servers}: {summary}"),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        _header(facts, end, servers, exit_code, time),
        element(
            "main",
            _section("steps", "Steps of a client", chart(boxes)),
            _section("findings", "Findings", findings_list(findings)),
            _section("facts", "Facts", tables(facts)),
        ),
        element("footer", element("p", f"Made by ottla {__version__} (ottla doctor --html).")),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def _section(name: str, title: str, content: Markup) -> Markup:
    heading = element("h2", title, id=name)
    return element("section", heading, content, aria_labelledby=name)


def _header(facts: Facts, end: Box | None, servers: str, exit_code: int, time: float) -> Markup:
    verdict = element("p", facts.good_outcome, class_="state passed")
    if end is not None:
        verdict = element("p", f"Clients fail at {end.phase}: {end.cause}", class_="state failed")
    ended = datetime.fromtimestamp(time, timezone.utc)
    shown = element(
        "time", f"{ended:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{ended:%Y-%m-%dT%H:%M:%SZ}"
    )
    details = {
        "Time": shown,
        "Duration": f"{facts.seconds:.1f} s",
        "Security protocol": facts.security_protocol,
        "Exit code": str(exit_code),
        "ottla": __version__,
    }
    entries = (
        joined([element("dt", name), element("dd", value)]) for name, value in details.items()
    )
    title = element("h1", f"Diagnosis of {servers}")
    return element("header", title, verdict, element("dl", joined(entries)))
