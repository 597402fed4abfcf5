"""The verdict: a pure function from facts to findings, in the order in which a client fails.

1. Can a bootstrap server be reached, and does it speak Kafka as configured? (``checks.bootstrap``)
2. Does it return metadata? (``checks.bootstrap``)
3. Can each broker be reached at its advertised address, and is it that broker? Are these the
   addresses of a gateway? (``checks.brokers``, ``checks.gateways``)
4. Do leaders and coordinators serve requests? Do partitions have enough replicas?
   Does a reassignment wait for a broker?
   (``checks.leaders``, ``checks.replicas``, ``checks.reassignments``)
5. Do the controllers have a leader? (``checks.controllers``)
6. Does an open transaction keep records from consumers? (``checks.transactions``)

The findings have that order, errors first. ``checks.speed`` and ``checks.throttles`` add findings
about latency and quotas, and ``checks.advice`` about good practice. A finding says how sure it is.
``checks.controller_servers`` has the words for controllers that were checked in place of brokers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from ottla._internal.text import counted
from ottla.doctor.checks.advice import advise
from ottla.doctor.checks.bootstrap import judge_bootstrap
from ottla.doctor.checks.brokers import judge_brokers
from ottla.doctor.checks.controller_servers import judge_controller_servers
from ottla.doctor.checks.controllers import judge_controllers
from ottla.doctor.checks.gateways import judge_gateway
from ottla.doctor.checks.leaders import judge_coordinator, judge_leaders, judge_topics
from ottla.doctor.checks.reassignments import judge_reassignments
from ottla.doctor.checks.replicas import judge_replicas
from ottla.doctor.checks.speed import judge_speed
from ottla.doctor.checks.throttles import judge_throttles
from ottla.doctor.checks.transactions import judge_transactions
from ottla.doctor.connection_facts import Step
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding

# Certificates that expire earlier are reported.
EXPIRES_SOON_DAYS = 30

# Findings about a broker that make "misrouted" redundant.
_IMPLY_MISROUTED = {
    "one_address_for_all",
    "another_broker",
    "another_cluster",
    "several_brokers",
    "several_clusters",
}
_SEVERITIES = {"error": 0, "warning": 1, "note": 2}


def judge(facts: Facts, now: float | None = None) -> tuple[Finding, ...]:
    """Return the findings, in the order in which a client meets the problems.

    Args:
        facts: the facts.
        now: the time for which certificates and open transactions are judged, in seconds since
            1970. Default: the current time.
    """
    now = time.time() if now is None else now
    findings = [
        *judge_bootstrap(facts),
        *judge_gateway(facts),
        *judge_brokers(facts),
        *judge_topics(facts),
        *judge_replicas(facts),
        *judge_reassignments(facts),
        *judge_leaders(facts),
        *judge_coordinator(facts),
        *judge_controllers(facts),
        *judge_transactions(facts, now),
        *_judge_certificates(facts, now),
        *judge_throttles(facts),
        *judge_speed(facts),
        *advise(facts),
    ]
    # If another broker responds at an address, it is obvious that it is not the leader.
    elsewhere = {broker for f in findings if f.code in _IMPLY_MISROUTED for broker in f.brokers}
    findings = [f for f in findings if f.code != "misrouted" or f.brokers[0] not in elsewhere]
    if any(finding.code == "large_requests_lost" for finding in findings):
        # These requests have large responses, or go through a broker whose path drops them.
        explained = {code for code, step in _other_time_outs(facts) if step.reason == "timed_out"}
        findings = [finding for finding in findings if finding.code not in explained]
    if facts.has_controllers:
        findings = list(judge_controller_servers(facts, findings))
    findings.sort(key=lambda f: (_SEVERITIES[f.severity], EXIT_CODES[f.phase]))
    return tuple(findings)


def _other_time_outs(facts: Facts) -> Iterator[tuple[str, Step]]:
    if facts.topics is not None:
        yield "no_topics", facts.topics.step
    if facts.quorum is not None and facts.quorum.failure is not None:
        yield "no_quorum", facts.quorum.failure


def _judge_certificates(facts: Facts, now: float) -> Iterator[Finding]:
    """Return the certificates that expire soon; expired ones are errors of their connections."""
    ends: dict[str, tuple[float, str]] = {}
    for endpoint in (*facts.bootstrap, *(broker.endpoint for broker in facts.brokers)):
        for address in endpoint.addresses:
            tls = address.tls
            if tls is not None and tls.not_after is not None and address.failure is None:
                ends[endpoint.name] = tls.not_after, tls.subject or ""
    for name, (end, subject) in ends.items():
        days = (end - now) / 86400
        if 0 <= days < EXPIRES_SOON_DAYS:
            yield Finding(
                "warning",
                "TLS",
                "expires_soon",
                f"the certificate of {name} ({subject}) expires in {counted(round(days), 'day')}",
                "renew it before that day; after it, no client can connect",
            )
