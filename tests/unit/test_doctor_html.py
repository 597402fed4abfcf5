"""The HTML report: complete, inert whatever the cluster sent, bounded, readable by everybody."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise
from typing import Any

import pytest

import ottla
from ottla._internal.markup import element, escaped
from ottla.doctor.cluster_facts import LogDir, OpenTransaction, Quorum, Topics, Voter
from ottla.doctor.connection_facts import Address, Endpoint, Tls, View
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.flowchart import ends_at, flowchart
from ottla.doctor.html.page import POLICY
from ottla.doctor.html.style import COLORS
from ottla.doctor.html.tables import MAX_ROWS
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from tests.support.html_document import Document, parse
from tests.unit.test_doctor_flowchart import BROKEN, healthy
from tests.unit.test_doctor_verdict import endpoint, facts, step

# Ends elements and attributes, runs scripts, moves the cursor, turns the text around, hides.
HOSTILE = (
    "</td><script>alert(1)</script><img src=x onerror='alert(2)'>\"'&amp;\x1b[2J\u202e\u200b\0\n"
)
SHOWN = (
    "</td><script>alert(1)</script><img src=x onerror='alert(2)'>\"'&amp;"
    r"\x1b[2J\u202e\u200b\x00\n"
)


def report(seen: Facts) -> Report:
    return Report(seen, judge(seen), time=1_764_000_000.0)


def document(seen: Facts) -> Document:
    return parse(report(seen).to_html())


def complete() -> Facts:
    """Facts of every kind."""
    tls = Tls("TLSv1.3", "AES", "CN=kafka", "CN=ca", ("kafka", "kafka2"), 2e9, True)
    steps = (step("TCP"), step("TLS"), step("ApiVersions"), step("SASL"), step("Metadata"))
    seen = healthy(
        security_protocol="SASL_SSL",
        topics=Topics(step("Metadata"), "orders", None, 1, 3, (("orders", 1),), 1, 1, ((9, 4),)),
        quorum=Quorum((step("DescribeQuorum"),), 1, (Voter(1, 0), Voter(2, None))),
        open_transactions=(OpenTransaction("orders", 0, 5, 99, 1, "billing", 1, 60.0),),
    )
    address = Address(
        "203.0.113.9", 9092, steps, tls, {"Metadata": (0, 13)}, "3.9", ("PLAIN",), seen.cluster, 1
    )
    server = Endpoint("kafka.example.com", 9092, step("DNS"), (address,))
    dirs = (LogDir("/var/kafka", None, 100, 50), LogDir("/bad", "KAFKA_STORAGE_ERROR"))
    brokers = tuple(
        dataclasses.replace(b, endpoint=server, rack="a", log_dirs=dirs) for b in seen.brokers
    )
    failed = dataclasses.replace(address, steps=(step("TCP", "refused"),), view=None)
    dead = dataclasses.replace(server, host="dead.example.com", addresses=(failed,))
    return dataclasses.replace(seen, bootstrap=(server, dead), brokers=brokers)


def hostile(value: Any, name: str = "") -> Any:
    """Replace each text that a cluster or a user can choose."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            f.name: hostile(getattr(value, f.name), f.name) for f in dataclasses.fields(value)
        }
        return type(value)(**fields)
    if isinstance(value, tuple):
        return tuple(hostile(item, name) for item in value)
    if isinstance(value, str) and name not in {"check", "reason", "security_protocol"}:
        return HOSTILE
    return value


def test_hostile_texts_are_shown_and_not_interpreted() -> None:
    seen = hostile(complete())
    found = document(seen)
    assert "script" not in found.tags
    assert "img" not in found.tags
    # In the header, the chart, the findings and most tables.
    assert found.text.count(SHOWN) > 40


@pytest.mark.parametrize("seen", [seen for seen, _, _ in BROKEN], ids=[p for _, p, _ in BROKEN])
def test_each_broken_cluster_has_a_complete_report(seen: Facts) -> None:
    found = document(seen)
    assert found.text.count("the diagnosis ends here") == 1
    end = ends_at(flowchart(seen))
    assert end is not None
    assert ("Likely cause: " if end.certainty == "likely" else "Cause: ") in found.text
    assert "Remedy: " in found.text
    for finding in judge(seen):
        assert finding.summary in found.text
        assert finding.code in found.text


def test_the_report_has_all_facts() -> None:
    text = document(complete()).text
    for expected in (
        *("2025-11-24 16:00:00 UTC", ottla.__version__, "SASL_SSL", "kafka.example.com:9092"),
        *("CN=kafka", "CN=ca", "kafka, kafka2", "TLSv1.3", "AES", "/var/kafka (50% free)"),
        *("KAFKA_STORAGE_ERROR", "offsets 0 to 7", "9 (4 replicas)", "Stable, 3 members", "1.0 ms"),
        *("Coordinator of group billing", "Voters of the quorum", "Open transactions", "billing"),
        *("Kafka 3.9 or newer, 1 API", "offered: PLAIN", "passed", "failed"),
    ):
        assert expected in text, expected


def test_the_policy_forbids_scripts_and_requests() -> None:
    assert POLICY == "default-src 'none'; style-src 'unsafe-inline'"
    found = document(complete())
    metas = [value for tag, name, value in found.attributes if tag == "meta" and name == "content"]
    assert metas[0] == POLICY
    assert found.tags[:4] == ["html", "head", "meta", "meta"]
    assert "http" not in "".join(found.styles)


def test_headings_are_in_order_and_landmarks_are_named() -> None:
    found = document(complete())
    assert found.tags.count("h1") == found.tags.count("main") == found.tags.count("header") == 1
    levels = [int(tag[1]) for tag in found.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [value for _, name, value in found.attributes if name == "id"]
    labels = [value for _, name, value in found.attributes if name == "aria-labelledby"]
    assert labels == ids
    assert len(set(ids)) == len(ids)
    assert found.tags.count("table") == found.tags.count("caption")
    assert all(value in {"row", "col"} for _, name, value in found.attributes if name == "scope")
    assert ("html", "lang", "en") in found.attributes


def test_a_state_is_text_and_not_only_a_colour() -> None:
    text = document(BROKEN[0][0]).text
    assert "failed: the diagnosis ends here" in text
    assert "not reached" in text
    assert "not used" in text
    assert "Clients fail at DNS" in text
    assert "Clients can use the cluster." in document(healthy()).text


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("background", ["page", "box"])
@pytest.mark.parametrize("name", ["text", "faint", "passed", "warning", "failed"])
def test_texts_have_the_contrast_of_wcag_aa(theme: int, background: str, name: str) -> None:
    pair = luminance(COLORS[name][theme]), luminance(COLORS[background][theme])
    assert (max(pair) + 0.05) / (min(pair) + 0.05) >= 4.5


def test_a_huge_cluster_has_a_bounded_report_with_failures_first() -> None:
    count = 3 * MAX_ROWS
    brokers = [endpoint(f"b{i}.example.com") for i in range(count - 1)]
    seen = facts([*brokers, endpoint("last.example.com", step("TCP", "refused"))])
    source = report(seen).to_html()
    found = parse(source)
    assert len(source) < 1_000_000
    assert f"… and {count - MAX_ROWS} more rows" in found.text
    assert "last.example.com" in found.text
    assert found.tags.count("tr") < 3 * MAX_ROWS + 100


def test_long_texts_are_cut() -> None:
    long = View("x" * 1_000_000, ())
    seen = facts([endpoint("a.example.com")], cluster=long)
    source = report(seen).to_html()
    assert len(source) < 50_000
    assert f"{'x' * 1000}" in source
    assert "x…" in source


def test_what_has_no_brokers_and_no_findings_is_a_report_too() -> None:
    empty = Report(Facts("PLAINTEXT", ()), (), time=0.0)
    found = parse(empty.to_html())
    assert "There are no findings." in found.text
    assert "1970-01-01 00:00:00 UTC" in found.text
    note = Finding("note", "Advertised", "only_from_here", "nothing to do")
    assert "Fix: " not in parse(Report(Facts("SSL", ()), (note,)).to_html()).text


def test_elements_escape_texts_and_attributes() -> None:
    made = element("p", "<b>", element("strong", "&"), class_='"x"', aria_label="a>b")
    assert made == (
        '<p class="&quot;x&quot;" aria-label="a&gt;b">&lt;b&gt;<strong>&amp;</strong></p>'
    )
    assert escaped(element("p")) == "<p></p>"
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_the_time_of_a_report_is_that_of_the_diagnosis() -> None:
    made = Report(Facts("PLAINTEXT", ()), ())
    assert made.to_html() == made.to_html()
    assert made == Report(Facts("PLAINTEXT", ()), ())


def test_a_broker_that_fails_is_marked() -> None:
    seen = facts([endpoint("10.0.1.5", step("TCP", "timed_out"))])
    source = report(seen).to_html()
    assert '<span class="state failed">failed</span>' in source
    assert "10.0.1.5:9092" in parse(source).text
