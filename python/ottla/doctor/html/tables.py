"""The facts as HTML tables: endpoints with each step's time, TLS, brokers, topics, group, quorum.

Invariant: a table has at most ``MAX_ROWS`` rows, failed ones first, and the number of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ottla._internal.markup import Markup, element, joined, rows_of
from ottla._internal.text import counted, iso_date, listed
from ottla.doctor.checks.controller_servers import of_controllers
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.connection_facts import Endpoint, Step
from ottla.doctor.facts import Facts
from ottla.doctor.step_details import step_result

MAX_ROWS = 500
_STEP_HEADINGS = ("Step", "Result", "Time", "Detail")
_Row = tuple[bool, Sequence[str]]


def tables(facts: Facts) -> Markup:
    """Return a table for each kind of fact that there is."""
    words = of_controllers if facts.has_controllers else str
    found = [
        _endpoints(words("Bootstrap servers"), [("", server) for server in facts.bootstrap]),
        _tls(facts),
        _brokers(facts),
        _endpoints(
            "Steps at the advertised addresses",
            [(f"{facts.kind_of_node} {broker.id}", broker.endpoint) for broker in facts.brokers],
        ),
        _topics(facts),
        _replicas(facts),
        _throttles(facts),
        _partitions(facts),
        _transactions(facts),
        _coordinator(facts),
        _quorum(facts),
    ]
    return joined(table for table in found if table)


def table(caption: str, headings: Sequence[str], rows: Iterable[_Row]) -> Markup:
    """Return a table, with failed rows first if not all are shown; empty without rows.

    Args:
        caption: what it shows.
        headings: the headings of its columns.
        rows: for each row, whether it is fine, and its cells.
    """
    known = list(rows)
    if not known:
        return Markup()
    if len(known) > MAX_ROWS:
        known.sort(key=lambda row: row[0])
    body, more = rows_of((cells for _, cells in known), MAX_ROWS)
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    parts = [element("caption", caption), element("thead", head), element("tbody", joined(body))]
    rest = element("p", f"… and {more} more rows", class_="detail") if more else Markup()
    # It scrolls by itself on small screens, also with the keyboard.
    region = {"role": "region", "tabindex": "0", "aria_label": caption}
    return element("div", element("table", *parts), rest, class_="scroll", **region)


def _plain_cells(step: Step, detail: str) -> tuple[str, str, str, str]:
    return _step_cells(step, step.ok, detail if step.ok else step.message or "")


def _step_cells(step: Step, ok: bool, about: str) -> tuple[str, str, str, str]:
    result = "passed" if ok else "failed"
    return (
        step.check,
        element("span", result, class_=f"state {result}"),
        f"{step.seconds * 1e3:.1f} ms",
        about,
    )


def _endpoints(caption: str, servers: Iterable[tuple[str, Endpoint]]) -> Markup:
    rows: list[_Row] = []
    for label, server in servers:
        name = f"{label} at {server.name}" if label else server.name
        addresses = listed([address.ip for address in server.addresses])
        rows.append((server.dns.ok, (name, "", *_plain_cells(server.dns, addresses))))
        for address in server.addresses:
            for step in address.steps:
                ok, about = step_result(step, address)
                rows.append((ok, (name, address.ip, *_step_cells(step, ok, about))))
    return table(caption, ("Server", "Address", *_STEP_HEADINGS), rows)


def _tls(facts: Facts) -> Markup:
    rows: list[_Row] = []
    for server in (*facts.bootstrap, *(broker.endpoint for broker in facts.brokers)):
        for address in server.addresses:
            tls = address.tls
            if tls is not None:
                until = "" if tls.not_after is None else iso_date(tls.not_after)
                asked = "yes" if tls.client_certificate_requested else "no"
                names = listed(tls.names)
                subject, issuer = tls.subject or "", tls.issuer or ""
                known = (tls.version or "", tls.cipher or "", subject, issuer, names, until, asked)
                rows.append((address.failure is None, (f"{server.name} ({address.ip})", *known)))
    headings = ("Server", "Version", "Cipher suite", "Subject", "Issuer", "Names", "Valid until")
    return table("TLS", (*headings, "Client certificate requested"), rows)


def _brokers(facts: Facts) -> Markup:
    cluster = "" if facts.cluster is None else facts.cluster.cluster_id or "without id"
    headings = ("Broker", "Advertised address", "Result", "Rack", "Leads", "Replicas", "Log dirs")
    rows = [(broker.endpoint.working is not None, _broker(broker)) for broker in facts.brokers]
    if facts.has_controllers:
        # They lead and store no partitions of topics.
        rows = [(ok, cells[:4]) for ok, cells in rows]
        return table(f"Controllers of cluster {cluster}", ("Controller", *headings[1:4]), rows)
    return table(f"Brokers of cluster {cluster}", headings, rows)


def _broker(broker: Broker) -> tuple[str, ...]:
    state = "passed" if broker.endpoint.working is not None else "failed"
    dirs = []
    for found in broker.log_dirs:
        about = found.error or ""
        if not about and found.total_bytes and found.usable_bytes is not None:
            about = f"{100 * found.usable_bytes / found.total_bytes:.0f}% free"
        dirs.append(f"{found.path} ({about})" if about else found.path)
    return (
        str(broker.id),
        broker.endpoint.name,
        element("span", state, class_=f"state {state}"),
        broker.rack or "",
        str(broker.leads),
        str(broker.replicas),
        listed(dirs),
    )


def _topics(facts: Facts) -> Markup:
    topics = facts.topics
    if topics is None:
        return Markup()
    leaderless = [f"{topic}-{partition}" for topic, partition in topics.leaderless]
    missing = [
        f"{broker} ({counted(replicas, 'replica')})" for broker, replicas in topics.missing_brokers
    ]
    rows: list[_Row] = [
        (True, ("Requested topic", topics.name or "all topics")),
        (True, ("Error", topics.error or topics.step.message or "none")),
        (True, ("Topics", str(topics.topics))),
        (True, ("Partitions", str(topics.partitions))),
        (True, ("Without a leader", f"{topics.leaderless_count} {listed(leaderless)}".strip())),
        (True, ("Under-replicated", str(topics.under_replicated))),
        (True, ("Brokers that are down", listed(missing) or "none")),
    ]
    return table("Topics", ("Fact", "Value"), rows)


def _replicas(facts: Facts) -> Markup:
    found = () if facts.state is None else facts.state.partitions
    rows = [
        (
            False,
            (
                f"{each.topic}-{each.partition}",
                "none" if each.leader is None else str(each.leader),
                listed([str(broker) for broker in each.replicas]),
                listed([str(broker) for broker in each.in_sync]),
                listed([str(broker) for broker in each.alive]),
                "unknown" if each.min_in_sync is None else str(each.min_in_sync),
            ),
        )
        for each in found
    ]
    headings = ("Partition", "Leader", "Replicas", "In sync", "Alive", "Minimum in sync")
    return table("Partitions with too few replicas", headings, rows)


def _throttles(facts: Facts) -> Markup:
    found = () if facts.state is None else facts.state.throttles
    rows = [(False, (str(each.broker), f"{each.throttle_time:.1f} s")) for each in found]
    return table("Brokers that throttle this client", ("Broker", "Throttle time"), rows)


def _partitions(facts: Facts) -> Markup:
    def rows() -> Iterator[_Row]:
        for broker in facts.brokers:
            for checked in broker.partitions:
                name = f"{checked.topic}-{checked.partition}"
                offsets = f"offsets {checked.start} to {checked.end}"
                for step in checked.steps:
                    detail = offsets if step.check == "ListOffsets" else ""
                    yield step.ok, (name, str(broker.id), *_plain_cells(step, detail))

    return table("Checked partitions", ("Partition", "Leader", *_STEP_HEADINGS), rows())


def _transactions(facts: Facts) -> Markup:
    rows = [
        (
            not found.is_hanging,
            (
                f"{found.topic}-{found.partition}",
                str(found.start_offset),
                str(found.producer_id),
                found.transactional_id or "unknown",
                "yes" if found.is_hanging else "no",
            ),
        )
        for found in facts.open_transactions
    ]
    headings = ("Partition", "First offset", "Producer id", "Transactional id", "Hangs")
    return table("Open transactions", headings, rows)


def _coordinator(facts: Facts) -> Markup:
    found = facts.coordinator
    if found is None:
        return Markup()
    where = "" if found.broker is None else f"broker {found.broker}"
    state = "" if found.state is None else f"{found.state}, {found.members} members"
    rows = []
    for step in found.steps:
        detail = where if step.check == "FindCoordinator" else state
        rows.append((step.ok, _plain_cells(step, detail)))
    return table(f"Coordinator of group {found.group}", _STEP_HEADINGS, rows)


def _quorum(facts: Facts) -> Markup:
    found = facts.quorum
    if found is None:
        return Markup()
    steps = table(
        "KRaft controllers",
        _STEP_HEADINGS,
        [(step.ok, _plain_cells(step, "")) for step in found.steps],
    )
    voters: list[_Row] = []
    for voter in found.voters:
        role = "leader" if voter.id == found.leader else "follower"
        lag = "unknown" if voter.lag_ms is None else f"{voter.lag_ms} ms"
        voters.append((True, (str(voter.id), role, lag)))
    return joined([steps, table("Voters of the quorum", ("Controller", "Role", "Lag"), voters)])
