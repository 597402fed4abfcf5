"""Names the transactions that hold a partition of the decision log back, for warnings and errors.

Invariant: what cannot be asked costs a bounded time, changes nothing, and leaves a command that
answers the same later.
"""

from __future__ import annotations

import logging

import ottla
from ottla.admin.open_transactions import OpenTransaction
from ottla.errors import KafkaError

log = logging.getLogger(__name__)

_TIMEOUT = 5.0
"""Seconds: whoever asks is about to report something."""


def held_back_by(client: ottla.Client, topic: str, partition: int) -> str:
    """Return a sentence about the open transactions of a partition, and what ends them."""
    command = f"'ottla transactions describe BOOTSTRAP -t {topic}' names it"
    try:
        with ottla.Admin(client) as admin:
            found = admin.list_open_transactions([topic], errors="return", timeout=_TIMEOUT)
    except KafkaError as error:
        # Brokers before Kafka 3.0 cannot be asked, and a principal may not be allowed to.
        log.debug("open transactions of %s are not known: %s", topic, error)
        return command
    named = [_named(each) for each in found if each.partition == partition]
    return "; ".join(named) or command


def _named(found: OpenTransaction) -> str:
    producer = f"producer {found.producer_id}, epoch {found.producer_epoch}"
    where = f"from offset {found.start_offset}"
    if found.is_hanging:
        return (
            f"that of {producer}, {where}, hangs: no coordinator knows it, and 'ottla transactions "
            f"abort BOOTSTRAP -t {found.topic} -p {found.partition} "
            f"--start-offset {found.start_offset} --yes' ends it"
        )
    known = found.transaction
    if known is None:
        return f"it is that of {producer}, {where}, whose coordinator is not known"
    return (
        f"it is that of {known.transactional_id!r} ({producer}), {where}, {known.state}, which "
        f"times out after {known.timeout:.0f} s"
    )
