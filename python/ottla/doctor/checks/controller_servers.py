"""What is said of KRaft controllers that were checked in the place of brokers (KIP-919).

Their connections fail as those of brokers do, so the findings are the same ones, with the word for
a controller. Invariant: what cannot be asked of controllers is said, so that nobody takes it for
checked.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# These name brokers and controllers as what they are.
_EXACT = {"broker_port", "controller_port", "not_authorized", "no_quorum", "controller_behind"}
# Notes about what producers and consumers of a cluster need.
_OF_CLIENTS = {"numeric_addresses", "only_from_here"}
_WORDS = (
    (re.compile(r"\bbootstrap\.servers\b"), "bootstrap.controllers"),
    (re.compile(r"\b([Bb]ootstrap) server(?=s?\b)"), r"\1 controller"),
    (re.compile(r"\bbroker(?=(s|'s)?\b)"), "controller"),
    (re.compile(r"\bBroker(?=(s|'s)?\b)"), "Controller"),
)


def of_controllers(text: str) -> str:
    """Return a text about brokers as one about controllers."""
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text


def judge_controller_servers(facts: Facts, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Return the findings in the words for controllers, and what was not asked of them."""
    for finding in findings:
        if finding.code in _EXACT:
            yield finding
        elif finding.code not in _OF_CLIENTS:
            summary, fix = of_controllers(finding.summary), of_controllers(finding.fix)
            yield dataclasses.replace(finding, summary=summary, fix=fix)
    if facts.cluster is None:
        return
    yield Finding(
        "note",
        "Leaders",
        "not_asked_of_controllers",
        "topics, leaders, replicas, disks, groups and transactions were not checked: controllers "
        "do not serve them",
        "check the brokers too: ottla doctor with the address of a broker (bootstrap.servers)",
    )
    if facts.quorum is None:
        yield Finding(
            "note",
            "Controllers",
            "quorum_not_asked",
            "whether the controllers have a leader was not checked: this principal may not ask",
            "allow it to describe the cluster: `ottla acls create --principal User:NAME --allow "
            "describe --cluster`",
        )
