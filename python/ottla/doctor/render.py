"""Formats a report as plain text: a tree of the checks, and the verdict below it.

Thirty brokers fit on one screen: failing brokers come first, and healthy brokers of a large cluster
share a line, unless ``Style.verbose`` is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ottla._internal.style import Style
from ottla._internal.text import clean, counted
from ottla.doctor.checks.controller_servers import of_controllers
from ottla.doctor.checks.replicas import below_minimum
from ottla.doctor.cluster_facts import Broker, PartitionCheck
from ottla.doctor.cluster_state import never_caught_up
from ottla.doctor.connection_facts import Endpoint, Step
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.step_details import is_contradicted, step_result
from ottla.doctor.tree import Node, paragraph, tree

# Partitions of one broker that are shown; the others are only counted.
_PARTITIONS = 5
# Up to this many brokers are shown step by step; of more, healthy ones share a line.
_BROKERS = 3
# Failing brokers that have a line of their own; the others are only listed.
_FAILING = 10


def render(facts: Facts, findings: Sequence[Finding], style: Style) -> str:
    """Return the report's text, without a newline at its end."""
    servers = of_controllers("bootstrap servers") if facts.has_controllers else "bootstrap servers"
    lines = [style.paint("bold", f"{servers} ({facts.security_protocol})")]
    for server in facts.bootstrap:
        lines += tree(_endpoint(server, server.name), style)
    if facts.cluster is not None:
        name = clean(facts.cluster.cluster_id or "without id")
        lines += ["", style.paint("bold", f"cluster {name}, at its advertised addresses")]
        for node in _brokers(facts, style):
            lines += tree(node, style)
        if facts.topics is not None:
            lines += tree(_topics(facts), style)
    if facts.quorum is not None:
        lines += tree(_quorum(facts), style)
    if facts.coordinator is not None:
        lines += tree(_coordinator(facts), style)
    lines += ["", style.paint("bold", "verdict"), *_verdict(facts, findings, style)]
    return "\n".join(lines)


def _verdict(facts: Facts, findings: Sequence[Finding], style: Style) -> list[str]:
    lines: list[str] = []
    if not any(finding.severity == "error" for finding in findings):
        count = len(facts.brokers)
        checked = sum(not broker.endpoint.out_of_time for broker in facts.brokers)
        summary = "the broker responds at its advertised address"
        if count != 1:
            brokers = "both brokers" if count == 2 else f"all {count} brokers"
            summary = f"{brokers} respond at their advertised addresses"
        if checked < count:
            summary = f"the {checked} of {count} brokers that were checked in time respond"
        if facts.has_controllers:
            summary = of_controllers(summary)
        lines.append(f"  {style.mark(True)} {summary}")
    return [*lines, *render_findings(findings, style)]


def render_findings(findings: Iterable[Finding], style: Style) -> list[str]:
    """Return the lines of findings: the cause, how sure it is, and the fix."""
    lines: list[str] = []
    for finding in findings:
        color = {"error": "bad", "warning": "warning", "note": "faint"}[finding.severity]
        head = f"{finding.severity} ({finding.label}): "
        first, *rest = paragraph(head + clean(finding.summary), "  ")
        lines += [first.replace(head, style.paint(color, head[:-2]) + ": ", 1), *rest]
        if finding.fix:
            lines += paragraph("fix: " + clean(finding.fix), "    ")
    return lines


def _brokers(facts: Facts, style: Style) -> list[Node]:
    """Return the brokers, failing ones first, and only as many as fit on a screen."""
    describe = _controller if facts.has_controllers else _broker
    nodes = {broker.id: describe(broker) for broker in facts.brokers}
    failing = [broker for broker in facts.brokers if not nodes[broker.id].ok]
    if style.verbose or len(facts.brokers) <= _BROKERS:
        return list(nodes.values())
    shown = [nodes[broker.id] for broker in failing[:_BROKERS]]
    for broker in failing[_BROKERS:_FAILING]:
        node = nodes[broker.id]
        shown.append(Node(False, node.text, _first_failure(broker)))
    if len(failing) > _FAILING:
        rest = failing[_FAILING:]
        more = f"{len(rest)} more {facts.kind_of_node}s"
        shown.append(Node(False, more, f"failing too: {_ids(rest)}"))
    healthy = [broker for broker in facts.brokers if nodes[broker.id].ok]
    if healthy:
        slowest = max(_slowest(broker) for broker in healthy)
        note = f"{_ids(healthy)}: every step within {slowest * 1e3:.1f} ms"
        kind = f"healthy {facts.kind_of_node}"
        shown.append(Node(True, counted(len(healthy), kind), note))
    return shown


def _first_failure(broker: Broker) -> str:
    """Return a broker's first failure in one line."""
    if not broker.endpoint.dns.ok:
        return f"DNS: {broker.endpoint.dns.message}"
    found = broker.endpoint.failure
    steps = [found[1]] if found is not None else []
    steps += [checked.failure for checked in broker.partitions if checked.failure is not None]
    return f"{steps[0].check}: {steps[0].message}" if steps else ""


def _slowest(broker: Broker) -> float:
    steps = [step for address in broker.endpoint.addresses for step in address.steps]
    steps += [step for checked in broker.partitions for step in checked.steps]
    return max((step.seconds for step in [broker.endpoint.dns, *steps]), default=0.0)


def _ids(brokers: Iterable[Broker]) -> str:
    """Return the ids, with consecutive ones as ranges: ``1-3, 7``."""
    ranges: list[list[int]] = []
    for broker in sorted(broker.id for broker in brokers):
        if ranges and broker == ranges[-1][1] + 1:
            ranges[-1][1] = broker
        else:
            ranges.append([broker, broker])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def _endpoint(endpoint: Endpoint, text: str) -> Node:
    """Return a server's name with its addresses; without a DNS step if the name is an address."""
    literal = [address.ip for address in endpoint.addresses] == [endpoint.host]
    node = Node(endpoint.working is not None, text)
    if not literal:
        addresses = ", ".join(address.ip for address in endpoint.addresses)
        node.below.append(_plain_step(endpoint.dns, addresses))
    for address in endpoint.addresses:
        steps = [_step(step, *step_result(step, address)) for step in address.steps]
        if literal or len(endpoint.addresses) == 1:
            node.below += steps
        else:
            node.below.append(Node(address.failure is None, address.ip, "", steps))
    if literal:
        node.ok = node.ok and all(child.ok for child in node.below)
    node.ok = node.ok and not any(is_contradicted(address) for address in endpoint.addresses)
    return node


def _broker(broker: Broker) -> Node:
    roles = [f"in {broker.rack}"] if broker.rack else []
    roles.append(f"leads {counted(broker.leads, 'partition')}")
    node = _endpoint(broker.endpoint, f"broker {broker.id} at {broker.endpoint.name}")
    node.note = "" if not node.ok else ", ".join(roles)
    # Failed partitions first, because many may be left out.
    partitions = sorted(broker.partitions, key=lambda checked: checked.failure is None)
    for checked in partitions[:_PARTITIONS]:
        node.below += _partition(checked)
    node.ok = node.ok and all(checked.failure is None for checked in partitions)
    rest = partitions[_PARTITIONS:]
    if rest:
        failed = sum(checked.failure is not None for checked in rest)
        note = f"{failed} of them failed" if failed else "all passed"
        node.below.append(Node(not failed, counted(len(rest), "more partition"), note))
    return node


def _controller(controller: Broker) -> Node:
    """Return a controller, which leads no partitions of topics."""
    endpoint = controller.endpoint
    node = _endpoint(endpoint, f"controller {controller.id} at {endpoint.name}")
    node.note = f"in {controller.rack}" if controller.rack and node.ok else ""
    return node


def _partition(checked: PartitionCheck) -> list[Node]:
    name = f"{checked.topic}-{checked.partition}"
    nodes = []
    for step in checked.steps:
        detail = name
        if step.check == "ListOffsets" and checked.end is not None:
            detail = f"{name}, offsets {checked.start} to {checked.end}"
        node = _plain_step(step, detail)
        node.note = node.note if step.ok else f"{node.note} [{name}]"
        nodes.append(node)
    return nodes


def _topics(facts: Facts) -> Node:
    topics = facts.topics
    assert topics is not None
    ok = topics.step.ok and topics.error is None and not topics.leaderless_count
    count = f"{counted(topics.topics, 'topic')}, {counted(topics.partitions, 'partition')}"
    text = count if topics.name is None else f"topic {topics.name}"
    notes = [] if topics.name is None or topics.error else [counted(topics.partitions, "partition")]
    if topics.error or not topics.step.ok:
        notes.append(topics.error or topics.step.message or "")
    if topics.leaderless_count:
        notes.append(f"{topics.leaderless_count} without a leader")
    if topics.under_replicated:
        notes.append(f"{topics.under_replicated} under-replicated")
    weak = below_minimum(facts)
    if weak:
        notes.append(f"{len(weak)} below min.insync.replicas")
    return Node(ok and not weak, text, ", ".join(notes))


def _quorum(facts: Facts) -> Node:
    found = facts.quorum
    assert found is not None
    step = found.failure
    if step is not None:
        return Node(False, "KRaft controllers", f"{step.check}: {step.message}")
    voters = ", ".join(str(voter.id) for voter in found.voters)
    if found.leader is None:
        return Node(False, "KRaft controllers", f"quorum of {voters}, without a leader")
    notes = [f"quorum of {voters}", f"{found.leader} leads"]
    silent = never_caught_up(facts)
    if silent:
        notes.append(f"nothing heard from {', '.join(map(str, silent))}")
    return Node(not silent, "KRaft controllers", "; ".join(notes))


def _coordinator(facts: Facts) -> Node:
    found = facts.coordinator
    assert found is not None
    where = "" if found.broker is None else f"coordinator: broker {found.broker}"
    node = Node(found.failure is None, f"group {found.group}", where)
    for step in found.steps:
        detail = ""
        if step.check == "DescribeGroups" and found.state is not None:
            detail = f"{found.state}, {counted(found.members or 0, 'member')}"
        node.below.append(_plain_step(step, detail))
    return node


def _plain_step(step: Step, detail: str) -> Node:
    return _step(step, step.ok, detail if step.ok else step.message or "")


def _step(step: Step, ok: bool, about: str) -> Node:
    took = f"{step.seconds * 1e3:.1f} ms"
    return Node(ok, f"{step.check:<15} {took:>10}", about)
