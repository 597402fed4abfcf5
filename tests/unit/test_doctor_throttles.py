"""Quotas: what brokers say of them, and what late responses and empty fetches suggest."""

from __future__ import annotations

import dataclasses

from ottla.doctor.cluster_facts import PartitionCheck
from ottla.doctor.connection_facts import Step
from ottla.doctor.facts import Facts
from ottla.doctor.state_facts import ClusterState, Throttle
from ottla.doctor.verdict import judge
from tests.unit.test_doctor_verdict import endpoint, errors, facts

EMPTY = "the response does not contain the partition [orders-0]"


def with_fetch(seen: Facts, seconds: float) -> Facts:
    """A leader whose fetch is empty, and whose requests take this time."""
    steps = (Step("ListOffsets", seconds), Step("Fetch", seconds, "other", EMPTY))
    [broker] = seen.brokers
    broker = dataclasses.replace(broker, partitions=(PartitionCheck("orders", 0, steps),))
    return dataclasses.replace(seen, brokers=(broker,))


def test_late_requests_and_empty_fetches_suggest_a_quota() -> None:
    """True cause: a quota, of which the broker could not tell in time."""
    seen = with_fetch(facts([endpoint("a.example.com")]), 6.0)
    assert not errors(seen)
    [found] = [finding for finding in judge(seen) if finding.severity == "warning"]
    assert (found.code, found.certainty, found.brokers) == ("throttled", "likely", (1,))
    assert "6.0 s" in found.summary


def test_an_empty_fetch_that_is_quick_is_no_quota() -> None:
    seen = with_fetch(facts([endpoint("a.example.com")]), 0.1)
    assert [finding.code for finding in errors(seen)] == ["leader_fails"]


def test_a_quota_at_one_broker_explains_equal_delays_at_others() -> None:
    """True cause: all brokers throttle alike, and only broker 2 was seen to."""
    seen = facts([endpoint("a.example.com"), endpoint("b.example.com")])
    slow = Step("ListOffsets", 1.6)
    first, second = seen.brokers
    first = dataclasses.replace(first, partitions=(PartitionCheck("orders", 0, (slow,)),))
    seen = dataclasses.replace(seen, brokers=(first, second))
    assert "slow_broker" in {finding.code for finding in judge(seen)}
    state = ClusterState((1, 2), 12.0, throttles=(Throttle(2, 1.5),))
    seen = dataclasses.replace(seen, state=state)
    codes = {finding.code for finding in judge(seen)}
    assert "slow_broker" not in codes
    assert "throttled" in codes
