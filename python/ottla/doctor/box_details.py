"""The detail line of each box of the flowchart: what was checked, its result and its duration.

A line is made of the facts alone. It may contain text from the network, which the caller escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ottla._internal.text import counted, iso_date, listed
from ottla.doctor.connection_facts import Address, Step
from ottla.doctor.facts import Facts


def detail_of(facts: Facts, phase: str) -> str:
    """Return a phase's detail line: ``3 addresses within 2 ms``; empty if nothing was checked."""
    return _DETAILS[phase](facts)


def bootstrap_steps(facts: Facts, check: str) -> list[Step]:
    """Return one check of all addresses of the bootstrap servers; of their names, for ``DNS``."""
    if check == "DNS":
        return [server.dns for server in facts.bootstrap]
    return [step for found in _addresses(facts) for step in found.steps if step.check == check]


def _addresses(facts: Facts) -> list[Address]:
    return [address for server in facts.bootstrap for address in server.addresses]


def _first(facts: Facts, check: str) -> Address | None:
    """Return the first address of a bootstrap server that passed a check."""
    for address in _addresses(facts):
        if any(step.check == check and step.ok for step in address.steps):
            return address
    return None


def took(steps: Sequence[Step]) -> str:
    """Return the time of the slowest step: ``in 2 ms``, or ``within 2 ms`` for several."""
    slowest = max((step.seconds for step in steps), default=0.0)
    millis = slowest * 1e3
    shown = f"{millis:.0f} ms" if millis >= 10 else f"{max(millis, 0.1):.2g} ms"
    if slowest >= 1:
        shown = f"{slowest:.1f} s"
    return f"within {shown}" if len(steps) > 1 else f"in {shown}"


def _summed(steps: Sequence[Step], noun: str, *about: str) -> str:
    """Return how many targets passed, the facts about them, and the time; or why none did."""
    passed = [step for step in steps if step.ok]
    if not passed:
        return (steps[0].message or "") if steps else ""
    shown = f"{len(passed)} of {counted(len(steps), noun)}"
    if len(passed) == len(steps):
        shown = counted(len(steps), noun)
    known = [part for part in about if part]
    return ", ".join([*known, f"{shown} {took(passed)}"])


def _dns(facts: Facts) -> str:
    steps = bootstrap_steps(facts, "DNS")
    passed = [step for step in steps if step.ok]
    if not passed:
        return _summed(steps, "name")
    shown = f"{counted(len(_addresses(facts)), 'address', 'addresses')} {took(passed)}"
    return shown if len(steps) == len(passed) else f"{len(passed)} of {len(steps)} names, {shown}"


def _tcp(facts: Facts) -> str:
    return _summed(bootstrap_steps(facts, "TCP"), "connection")


def _tls(facts: Facts) -> str:
    address = _first(facts, "TLS")
    about = []
    if address is not None and address.tls is not None:
        tls = address.tls
        about = [tls.version or "", tls.subject or ""]
        if tls.not_after is not None:
            about.append(f"until {iso_date(tls.not_after)}")
    return _summed(bootstrap_steps(facts, "TLS"), "handshake", *about)


def _api_versions(facts: Facts) -> str:
    address = _first(facts, "ApiVersions")
    about = ""
    if address is not None and address.release is not None:
        about = f"Kafka {address.release} or newer"
    return _summed(bootstrap_steps(facts, "ApiVersions"), "response", about)


def _sasl(facts: Facts) -> str:
    address = _first(facts, "SASL")
    offered = () if address is None else address.mechanisms
    about = f"offered: {', '.join(offered)}" if offered else ""
    return _summed(bootstrap_steps(facts, "SASL"), "login", about)


def _metadata(facts: Facts) -> str:
    about = []
    if facts.cluster is not None:
        about.append(counted(len(facts.cluster.brokers), facts.kind_of_node))
    topics = facts.topics
    if topics is not None and topics.step.ok:
        named = counted(topics.topics, "topic") if topics.name is None else f"topic {topics.name}"
        failed = f" ({topics.error})" if topics.error is not None else ""
        about += [f"{named}{failed}"]
        about += [counted(topics.partitions, "partition")] if topics.error is None else []
    return _summed(bootstrap_steps(facts, "Metadata"), "response", *about)


def _advertised(facts: Facts) -> str:
    if not facts.brokers:
        return ""
    working = [found for b in facts.brokers if (found := b.endpoint.working) is not None]
    steps = [step for address in working for step in address.steps if step.ok]
    total = counted(len(facts.brokers), facts.kind_of_node)
    if len(working) < len(facts.brokers):
        responding = "responds" if len(working) == 1 else "respond"
        return f"{len(working)} of {total} {responding}"
    return f"{total}, every step {took(steps)}" if steps else total


def _leaders(facts: Facts) -> str:
    checked = [found for broker in facts.brokers for found in broker.partitions]
    passed = [found for found in checked if found.failure is None]
    topics = facts.topics
    parts = []
    if checked:
        steps = [step for found in passed for step in found.steps]
        if len(passed) == len(checked):
            parts.append(f"{counted(len(checked), 'partition')} {took(steps)}")
        else:
            parts.append(f"{len(passed)} of {counted(len(checked), 'partition')} can be read")
    if topics is not None and topics.leaderless_count:
        parts.append(f"{counted(topics.leaderless_count, 'partition')} without a leader")
    return ", ".join(parts)


def _coordinators(facts: Facts) -> str:
    found = facts.coordinator
    if found is None:
        return ""
    if found.failure is not None:
        return found.failure.message or ""
    state = "" if found.state is None else f", {found.state}"
    members = "" if found.members is None else f", {counted(found.members, 'member')}"
    return f"group {found.group} at broker {found.broker}{state}{members}"


def _controllers(facts: Facts) -> str:
    found = facts.quorum
    if found is None:
        return ""
    if found.failure is not None:
        return found.failure.message or ""
    leads = "without a leader" if found.leader is None else f"{found.leader} leads"
    return f"quorum of {listed([str(voter.id) for voter in found.voters])}; {leads}"


_DETAILS: Mapping[str, Callable[[Facts], str]] = {
    "DNS": _dns,
    "TCP": _tcp,
    "TLS": _tls,
    "ApiVersions": _api_versions,
    "SASL": _sasl,
    "Metadata": _metadata,
    "Advertised": _advertised,
    "Leaders": _leaders,
    "Coordinators": _coordinators,
    "Controllers": _controllers,
}
