"""The picture of a report: a tree of what was checked, and the verdict below it, as plain text.

What came from the network (host names, messages of brokers) is shown with its control characters
escaped, so that it cannot steer the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from ottla.doctor.facts import Address, Broker, Endpoint, Facts, PartitionCheck, Step, Tls
from ottla.doctor.findings import Finding

_WIDTH = 100
# The column at which notes begin where the text leaves room.
_NOTES = 32
# Partitions of one broker that are shown; the others are counted.
_PARTITIONS = 5
# Names of a certificate that are shown.
_NAMES = 3
_COLORS = {"ok": "32", "bad": "31", "warning": "33", "faint": "2", "bold": "1"}


@dataclass(frozen=True)
class Style:
    """How to draw: with colours or without, with marks beyond ASCII or without."""

    color: bool = False
    ascii: bool = False

    def paint(self, name: str, text: str) -> str:
        """Return the text in a colour of the table, if there are colours."""
        return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if self.color else text

    def mark(self, ok: bool) -> str:
        """Return the mark of success or of failure."""
        if ok:
            return self.paint("ok", "ok" if self.ascii else "✓")
        return self.paint("bad", "NO" if self.ascii else "✗")


@dataclass
class Node:
    """A line of the tree and those below it."""

    ok: bool
    text: str
    note: str = ""
    below: list[Node] = field(default_factory=list)


def draw(facts: Facts, findings: Sequence[Finding], style: Style) -> str:
    """Return the whole picture, without a newline at its end."""
    lines = [style.paint("bold", f"bootstrap servers ({facts.security_protocol})")]
    for server in facts.bootstrap:
        lines += _lines(_endpoint(server, server.name), style)
    if facts.cluster is not None:
        name = clean(facts.cluster.cluster_id or "without id")
        lines += ["", style.paint("bold", f"cluster {name}, at the addresses that it advertises")]
        for broker in facts.brokers:
            lines += _lines(_broker(broker, facts), style)
        if facts.topics is not None:
            lines += _lines(_topics(facts), style)
    if facts.coordinator is not None:
        lines += _lines(_coordinator(facts), style)
    lines += ["", style.paint("bold", "verdict"), *_verdict(facts, findings, style)]
    return "\n".join(lines)


def _verdict(facts: Facts, findings: Sequence[Finding], style: Style) -> list[str]:
    lines: list[str] = []
    if not any(finding.severity == "error" for finding in findings):
        count = len(facts.brokers)
        brokers = "the broker answers where clients are told to find it"
        if count != 1:
            brokers = f"the {count} brokers answer where clients are told to find them"
        lines.append(f"  {style.mark(True)} {brokers}")
    for finding in findings:
        color = {"error": "bad", "warning": "warning", "note": "faint"}[finding.severity]
        head = f"{finding.severity} ({finding.phase}): "
        first, *rest = _wrapped(head + clean(finding.summary), "  ")
        lines += [first.replace(head, style.paint(color, head[:-2]) + ": ", 1), *rest]
        if finding.fix:
            lines += _wrapped("what to do: " + clean(finding.fix), "    ")
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(node: Node, style: Style, lead: str = "", link: str = "") -> list[str]:
    text = clean(node.text)
    note = clean(node.note)
    if note:
        gap = " " * max(2, _NOTES - len(lead) - len(link) - len(text))
        note = gap + (style.paint("faint", note) if node.ok else style.paint("bad", note))
    lines = [f"{style.paint('faint', lead + link)}{style.mark(node.ok)} {text}{note}"]
    tee, last, bar = ("|- ", "`- ", "|  ") if style.ascii else ("├─ ", "└─ ", "│  ")
    deeper = lead + {"": "", tee: bar, last: "   "}[link]
    for i, child in enumerate(node.below):
        lines += _lines(child, style, deeper, last if i == len(node.below) - 1 else tee)
    return lines


def _endpoint(endpoint: Endpoint, text: str) -> Node:
    """Return a name with its addresses; a name that is an address is not resolved."""
    literal = [address.ip for address in endpoint.addresses] == [endpoint.host]
    node = Node(endpoint.working is not None, text)
    if not literal:
        addresses = ", ".join(address.ip for address in endpoint.addresses)
        node.below.append(_step(endpoint.dns, addresses))
    for address in endpoint.addresses:
        steps = [_step(step, _detail(step, address)) for step in address.steps]
        if literal or len(endpoint.addresses) == 1:
            node.below += steps
        else:
            node.below.append(Node(address.failure is None, address.ip, "", steps))
    if literal:
        node.ok = node.ok and all(child.ok for child in node.below)
    return node


def _detail(step: Step, address: Address) -> str:
    if step.check == "ApiVersions" and address.apis:
        release = f"Kafka {address.release} or newer, " if address.release else ""
        return f"{release}{_count(len(address.apis), 'API')}"
    if step.check == "TLS" and address.tls is not None:
        return _tls(address.tls)
    if step.check == "SASL":
        return f"offered: {', '.join(address.mechanisms)}"
    if step.check == "Metadata" and address.view is not None:
        return (
            f"{_count(len(address.view.brokers), 'broker')}, controller {address.view.controller}"
        )
    if step.check == "Identity" and address.node is not None:
        return f"it is broker {address.node}"
    return ""


def _tls(tls: Tls) -> str:
    parts = [str(tls.version), tls.subject or "no certificate"]
    if tls.names:
        more = ", …" if len(tls.names) > _NAMES else ""
        parts[1] += f" for {', '.join(tls.names[:_NAMES])}{more}"
    if tls.not_after is not None:
        parts.append(f"until {_day(tls.not_after)}")
    return ", ".join(parts)


def _broker(broker: Broker, facts: Facts) -> Node:
    roles = [f"in {broker.rack}"] if broker.rack else []
    if facts.cluster is not None and facts.cluster.controller == broker.id:
        roles.append("controller")
    roles.append(f"leads {_count(broker.leads, 'partition')}")
    node = _endpoint(broker.endpoint, f"broker {broker.id} at {broker.endpoint.name}")
    node.note = "" if not node.ok else ", ".join(roles)
    # What fails comes first, where many are left out.
    partitions = sorted(broker.partitions, key=lambda checked: checked.failure is None)
    for checked in partitions[:_PARTITIONS]:
        node.below += _partition(checked)
    node.ok = node.ok and all(checked.failure is None for checked in partitions)
    rest = partitions[_PARTITIONS:]
    if rest:
        failed = sum(checked.failure is not None for checked in rest)
        words = f"{failed} of them failed" if failed else "they answered alike"
        node.below.append(Node(not failed, f"{_count(len(rest), 'more partition')}", words))
    return node


def _partition(checked: PartitionCheck) -> list[Node]:
    name = f"{checked.topic}-{checked.partition}"
    nodes = []
    for step in checked.steps:
        detail = name
        if step.check == "ListOffsets" and checked.end is not None:
            detail = f"{name}, offsets {checked.start} to {checked.end}"
        node = _step(step, detail)
        node.note = node.note if step.ok else f"{node.note} [{name}]"
        nodes.append(node)
    return nodes


def _topics(facts: Facts) -> Node:
    topics = facts.topics
    assert topics is not None
    ok = topics.step.ok and topics.error is None and not topics.leaderless_count
    count = f"{_count(topics.topics, 'topic')}, {_count(topics.partitions, 'partition')}"
    text = count if topics.name is None else f"topic {topics.name}"
    notes = [] if topics.name is None or topics.error else [_count(topics.partitions, "partition")]
    if topics.error or not topics.step.ok:
        notes.append(topics.error or topics.step.message or "")
    if topics.leaderless_count:
        notes.append(f"{topics.leaderless_count} without leader")
    if topics.under_replicated:
        notes.append(f"{topics.under_replicated} under-replicated")
    return Node(ok, text, ", ".join(notes))


def _coordinator(facts: Facts) -> Node:
    found = facts.coordinator
    assert found is not None
    where = "" if found.broker is None else f"coordinator: broker {found.broker}"
    node = Node(found.failure is None, f"group {found.group}", where)
    for step in found.steps:
        detail = ""
        if step.check == "DescribeGroups" and found.state is not None:
            detail = f"{found.state}, {_count(found.members or 0, 'member')}"
        node.below.append(_step(step, detail))
    return node


def _step(step: Step, detail: str) -> Node:
    took = f"{step.seconds * 1e3:.1f} ms"
    about = detail if step.ok else step.message or ""
    return Node(step.ok, f"{step.check:<15} {took:>10}", about)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def clean(text: str) -> str:
    """Return a text with its control characters escaped."""
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterable[str]:
    for character in text:
        yield character if character.isprintable() else character.encode("unicode_escape").decode()
