"""Repeated checks: one time-out may be a pause of the broker, so it is tried once more.

``merge`` compares two runs of the checks. Invariant: a check that did not run to its end the second
time keeps the result of the first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from ottla.doctor.connection_facts import Address, Endpoint, Recovery, Step
from ottla.doctor.facts import Facts
from ottla.doctor.steps import all_steps, endpoints_of, steps_after_dns

# Reasons that one attempt does not establish.
UNSURE = frozenset({"timed_out", "large_requests_lost"})


def is_unsure(facts: Facts) -> bool:
    """Return whether a check timed out, so that it should be repeated."""
    return any(step.reason in UNSURE for step in steps_after_dns(facts))


def merge(first: Facts, second: Facts) -> Facts:
    """Return the facts of the second run, with what the first one adds.

    A failure that both runs share has two attempts. A check that timed out at first and passed then
    is a ``Recovery``. If the second run did not get as far as the first, the first one is returned.
    """
    if _is_cut_short(second) or (second.cluster is None and first.cluster is not None):
        return first
    before = {key: step for key, step in _keyed(first) if step.reason in UNSURE}
    recovered = [
        Recovery(server, step.check, broker)
        for (broker, server, _, _), step in (
            (key, step) for key, step in _keyed(second) if step.ok and key in before
        )
    ]

    def endpoint(broker: int | None, found: Endpoint) -> Endpoint:
        def address(each: Address) -> Address:
            steps = tuple(
                dataclasses.replace(step, attempts=2)
                if _same(before.get((broker, found.name, each.ip, step.check)), step)
                else step
                for step in each.steps
            )
            return dataclasses.replace(each, steps=steps)

        return dataclasses.replace(found, addresses=tuple(map(address, found.addresses)))

    return dataclasses.replace(
        second,
        bootstrap=tuple(endpoint(None, server) for server in second.bootstrap),
        brokers=tuple(
            dataclasses.replace(
                broker,
                endpoint=endpoint(broker.id, broker.endpoint),
                partitions=tuple(
                    dataclasses.replace(
                        checked,
                        steps=_again(
                            checked.steps,
                            before,
                            (broker.id, checked.topic, str(checked.partition)),
                        ),
                    )
                    for checked in broker.partitions
                ),
            )
            for broker in second.brokers
        ),
        quorum=None
        if second.quorum is None
        else dataclasses.replace(
            second.quorum, steps=_again(second.quorum.steps, before, (None, "quorum", ""))
        ),
        seconds=first.seconds + second.seconds,
        recovered=tuple(dict.fromkeys(recovered)),
    )


_Key = tuple[int | None, str, str, str]


def _again(
    steps: Iterable[Step], before: dict[_Key, Step], place: tuple[int | None, str, str]
) -> tuple[Step, ...]:
    return tuple(
        dataclasses.replace(step, attempts=2)
        if _same(before.get((*place, step.check)), step)
        else step
        for step in steps
    )


def _same(before: Step | None, step: Step) -> bool:
    return before is not None and not step.ok and before.reason == step.reason


def _keyed(facts: Facts) -> Iterator[tuple[_Key, Step]]:
    """Return the steps by broker, place, address or partition, and check."""
    for broker, endpoint in endpoints_of(facts):
        for address in endpoint.addresses:
            for step in address.steps:
                yield (broker, endpoint.name, address.ip, step.check), step
    for each in facts.brokers:
        for checked in each.partitions:
            for step in checked.steps:
                yield (each.id, checked.topic, str(checked.partition), step.check), step
    for step in () if facts.quorum is None else facts.quorum.steps:
        yield (None, "quorum", "", step.check), step


def _is_cut_short(facts: Facts) -> bool:
    return any(step.reason == "out_of_time" for step in all_steps(facts))
