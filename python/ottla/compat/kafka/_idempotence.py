"""Whether a producer is idempotent, given arguments that contradict it (KIP-679).

Invariant: idempotence is on unless the program has asked for something that excludes it; a program
that has asked for both, or for transactions, gets an error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from ottla.compat.kafka._defaults import PRODUCER
from ottla.compat.kafka.errors import KafkaConfigurationError

__all__ = ["resolve_idempotence"]

log = logging.getLogger("ottla.compat")


def resolve_idempotence(config: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Switch idempotence off where another argument contradicts its default (KIP-679).

    Raises:
        KafkaConfigurationError: the program asks for both, or for transactions.
    """
    if config["acks"] == "all":
        config["acks"] = -1
    transactional = bool(config["transactional_id"])
    demanded = transactional or "enable_idempotence" in given
    if transactional:
        if not config["enable_idempotence"]:
            raise KafkaConfigurationError("Cannot set transactional_id without enable_idempotence.")
        config["enable_idempotence"] = True
    if not config["enable_idempotence"]:
        return
    in_flight = "max_in_flight_requests_per_connection"
    contradictions = [
        f"{name}={config[name]!r}"
        for name, contradicts in (
            ("acks", config["acks"] != PRODUCER["acks"]),
            ("retries", config["retries"] == 0),
            (in_flight, config[in_flight] > PRODUCER[in_flight]),
        )
        if contradicts and name in given
    ]
    version = config["api_version"]
    if version is not None and tuple(version) < (0, 11):
        contradictions.append(f"api_version={version!r}")
    if not contradictions:
        return
    listed = ", ".join(contradictions)
    if demanded:
        raise KafkaConfigurationError(f"enable_idempotence=True contradicts {listed}")
    log.warning("KafkaProducer: idempotence is off because of %s", listed)
    config["enable_idempotence"] = False
