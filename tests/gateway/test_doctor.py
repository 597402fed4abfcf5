"""The doctor on real brokers behind a gateway: it finds nothing, and says that there is one."""

from __future__ import annotations

import ottla
from ottla.testing import Gateway
from tests.support.guarded_kafka import GuardedKafka


def test_it_finds_nothing_and_says_that_there_is_a_gateway(
    guarded: GuardedKafka, gateway: Gateway, topic: str
) -> None:
    report = ottla.diagnose(gateway.bootstrap, topic=topic, group="billing", timeout=60)
    # A busy machine is slow.
    found = [finding for finding in report.findings if not finding.code.startswith("slow_")]
    assert {finding.severity for finding in found} == {"note"}, str(report)
    [note] = [finding for finding in found if finding.code == "gateway"]
    for address in guarded.guarded.split(","):
        assert address in note.summary
    assert report.exit_code == 0


def test_without_a_gateway_it_does_not_say_so(guarded: GuardedKafka, topic: str) -> None:
    report = ottla.diagnose(guarded.bootstrap, topic=topic, timeout=60)
    assert report.facts.state is not None
    assert {own.broker for own in report.facts.state.own_addresses} == {1, 2, 3}
    assert "gateway" not in {finding.code for finding in report.findings}
