"""The verdict: facts in, findings out, and nothing else; the flowchart that everybody follows.

1. Can a bootstrap server be reached, and does it speak Kafka as configured? (``at_bootstrap``)
2. Does it tell its metadata? (``at_bootstrap``)
3. Can each broker be reached where it says that clients reach it, and is it that broker?
   (``at_brokers``)
4. Do leaders and coordinators answer? (``at_leaders``)
5. Do the controllers have a leader? (``at_controllers``)

The findings come in that order, errors before the rest. What is slow (``speed``) and what is worth
changing although it works (``advice``) come with them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from ottla.doctor.advice import advise
from ottla.doctor.at_bootstrap import judge_bootstrap
from ottla.doctor.at_brokers import judge_brokers
from ottla.doctor.at_controllers import judge_controllers
from ottla.doctor.at_leaders import judge_coordinator, judge_leaders, judge_topics
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.speed import judge_speed

# A certificate that ends earlier is told before it does.
EXPIRES_SOON_DAYS = 30

_SAY_IT_ALL = {"one_address_for_all", "another_broker", "another_cluster"}
_ORDER = {"error": 0, "warning": 1, "note": 2}


def judge(facts: Facts, now: float | None = None) -> tuple[Finding, ...]:
    """Return what the facts mean at a time (now), the first problem of a client first."""
    now = time.time() if now is None else now
    findings = [
        *judge_bootstrap(facts),
        *judge_brokers(facts),
        *judge_topics(facts),
        *judge_leaders(facts),
        *judge_coordinator(facts),
        *judge_controllers(facts),
        *_judge_certificates(facts, now),
        *judge_speed(facts),
        *advise(facts),
    ]
    # Where another broker answers, that its leader is another one goes without saying.
    elsewhere = {broker for f in findings if f.code in _SAY_IT_ALL for broker in f.brokers}
    findings = [f for f in findings if f.code != "misrouted" or f.brokers[0] not in elsewhere]
    findings.sort(key=lambda f: (_ORDER[f.severity], EXIT_CODES[f.phase]))
    return tuple(findings)


def _judge_certificates(facts: Facts, now: float) -> Iterator[Finding]:
    """Return the certificates that end soon; those that have ended are errors already."""
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
                f"the certificate of {name} ({subject}) expires in {days:.0f} days",
                "renew it: from that day on no client will connect",
            )
