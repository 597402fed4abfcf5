"""Step five: do the KRaft controllers have a leader, and do they keep up with it?

Without a leader, brokers still serve the partitions that they lead, but no leader is elected and no
topic is created.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.certainty import certainty_of
from ottla.doctor.cluster_state import never_caught_up
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Controllers fetch every 500 ms; one with a longer lag is down or cut off.
MAX_LAG_MS = 10_000


def judge_controllers(facts: Facts) -> Iterator[Finding]:
    """Return the findings about the controllers' quorum, if the cluster reports it."""
    quorum = facts.quorum
    if quorum is None:
        return
    step = quorum.failure
    if step is not None and step.reason == "out_of_time":
        return
    if step is not None or quorum.leader is None:
        why = "DescribeQuorum returns none" if step is None else f"{step.check}: {step.message}"
        yield Finding(
            "error",
            "Controllers",
            "no_quorum",
            f"the KRaft controllers have no leader ({why}): brokers still serve the partitions "
            "that they lead, but no new leader is elected, and no topic is created or changed",
            "bring back a majority of the controllers (controller.quorum.voters or "
            "controller.quorum.bootstrap.servers lists them), and check their logs",
            certainty=certainty_of(step),
        )
        return
    never = never_caught_up(facts)
    looked_again = None if facts.state is None else facts.state.silent_voters
    if looked_again is not None:
        # A voter may fetch for the first time just after the leader was elected.
        never = tuple(voter for voter in never if voter in looked_again)
    behind = [
        voter for voter in quorum.voters if (voter.lag_ms or 0) > MAX_LAG_MS or voter.id in never
    ]
    if behind:
        parts = [
            f"{voter.id} by {voter.lag_ms / 1e3:.0f} s"
            for voter in behind
            if voter.lag_ms is not None
        ]
        if never:
            named = listed([str(voter) for voter in never], limit=10)
            parts.append(f"{named} since before it was elected")
        lags = ", ".join(parts)
        total = len(quorum.voters)
        spare = total - len(behind) - (total // 2 + 1)
        rest = (
            f"{spare} more may fail before the quorum is lost"
            if spare > 0
            else "no other one may fail, or the quorum is lost"
        )
        yield Finding(
            "warning",
            "Controllers",
            "controller_behind",
            f"{len(behind)} of {total} KRaft controllers lag behind the leader "
            f"({quorum.leader}): {lags}; {rest}",
            "start these controllers, or check their logs and the network: they are down or cut "
            "off (ottla quorum describe shows when each was last heard)",
            certainty="likely" if never and looked_again is None else "certain",
        )
