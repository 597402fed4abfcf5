"""Step five: do the KRaft controllers have a leader, and do they all keep up?

Without a leader, brokers still serve what they lead, but no leader is elected and no topic made.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Controllers fetch every 500 ms; who is this much behind is down or cut off.
BEHIND_MS = 10_000


def judge_controllers(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the quorum of controllers, where the cluster reports it."""
    quorum = facts.quorum
    if quorum is None:
        return
    step = quorum.failure
    if step is not None and step.reason == "out_of_time":
        return
    if step is not None or quorum.leader is None:
        why = "it names no leader" if step is None else f"{step.check}: {step.message}"
        yield Finding(
            "error",
            "Controllers",
            "no_quorum",
            f"the KRaft controllers have no leader ({why}): brokers serve what they lead, but no "
            "new leader is elected, and no topic is created or changed",
            "bring back a majority of the controllers (controller.quorum.voters or "
            "controller.quorum.bootstrap.servers names them), and look into their logs",
        )
        return
    behind = [voter for voter in quorum.voters if (voter.lag_ms or 0) > BEHIND_MS]
    if behind:
        named = ", ".join(f"{voter.id} by {(voter.lag_ms or 0) / 1e3:.0f} s" for voter in behind)
        total = len(quorum.voters)
        spare = total - len(behind) - (total // 2 + 1)
        rest = f"{spare} more may fail" if spare > 0 else "no other one may fail"
        yield Finding(
            "warning",
            "Controllers",
            "controller_behind",
            f"of {total} KRaft controllers, some are behind the leader ({quorum.leader}): {named}; "
            f"{rest} before the cluster has no controller",
            "they are down or cut off: start them, or look into their logs and the network",
        )
