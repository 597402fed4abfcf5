"""The order of the checks: the core's, what responds at foreign ports, a second try, the state.

Invariant: everything ends with the timeout; what there is no time for is left out.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ottla.doctor.attempts import is_unsure, merge
from ottla.doctor.checks.balancers import clusters_of
from ottla.doctor.cluster_state import describe_state
from ottla.doctor.facts import Facts
from ottla.doctor.responder import with_responders
from ottla.doctor.steps import endpoints_of
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla.admin import Admin

_DEFAULT_TIMEOUT = 20.0
# Below this, a second try has too little time for a result.
_MIN_SECOND_TRY = 1.0
# Seconds for the cluster's state, of which a part is kept back from the second try.
_STATE_SECONDS, _RESERVE = 4.0, 1.0


def connected_admin(
    bootstrap: Any, config: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> Admin:
    """Return an admin client with the configuration of the diagnosis.

    Raises:
        KafkaError: there is none for a producer or a consumer.
    """
    from ottla.admin import Admin

    return Admin(bootstrap, config, **more)


def examine_thoroughly(
    examine: Callable[[float | None], Facts], admin: Callable[[], Admin], timeout: float | None
) -> Facts:
    """Run the checks; repeat them if one timed out; ask the cluster for its state.

    Args:
        examine: runs the checks within a timeout in seconds.
        admin: returns an admin client.
        timeout: seconds for everything. Default: 20.
    """
    started = time.monotonic()
    deadline = started + (_DEFAULT_TIMEOUT if timeout is None else timeout)
    facts = _with_responders(examine(timeout), deadline)
    left = deadline - time.monotonic() - _RESERVE
    if is_unsure(facts) and not _is_foreign(facts) and left >= _MIN_SECOND_TRY:
        facts = _with_responders(merge(facts, examine(left)), deadline)
    left = min(deadline - time.monotonic(), _STATE_SECONDS)
    # The requests go to the brokers' advertised addresses.
    is_usable = any(broker.endpoint.working is not None for broker in facts.brokers)
    is_usable = is_usable and len(_cluster_ids(facts)) <= 1
    if is_usable and facts.topics is not None and facts.topics.step.ok and left > 0:
        watched = time.monotonic() - started
        with suppress(KafkaError), admin() as client:
            state = describe_state(client, facts, watched, left)
            facts = dataclasses.replace(facts, state=state)
    return dataclasses.replace(facts, seconds=time.monotonic() - started)


def _with_responders(facts: Facts, deadline: float) -> Facts:
    brokers = with_responders((broker.endpoint for broker in facts.brokers), deadline)
    return dataclasses.replace(
        facts,
        bootstrap=with_responders(facts.bootstrap, deadline),
        brokers=tuple(
            dataclasses.replace(broker, endpoint=endpoint)
            for broker, endpoint in zip(facts.brokers, brokers, strict=True)
        ),
    )


def _is_foreign(facts: Facts) -> bool:
    """Return whether another server than a broker responded, so that a second try shows no more."""
    return facts.cluster is None and any(
        address.responder is not None and address.responder.first_bytes
        for server in facts.bootstrap
        for address in server.addresses
    )


def _cluster_ids(facts: Facts) -> set[str]:
    return {cluster for _, endpoint in endpoints_of(facts) for cluster in clusters_of(endpoint)}
