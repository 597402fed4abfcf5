"""Which open transactions keep consumers of committed records from reading on?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import counted, duration, listed
from ottla.doctor.cluster_facts import OpenTransaction
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Most transactions take less than a second; a streaming job may commit once a minute.
LONG_SECONDS = 60.0


def judge_transactions(facts: Facts, now: float) -> Iterator[Finding]:
    """Return the findings about transactions that hang or have been open for long.

    Args:
        facts: the facts.
        now: seconds since 1970.
    """
    hanging = [found for found in facts.open_transactions if found.is_hanging]
    if hanging:
        yield _hanging(hanging, now)
    by_producer: dict[int, list[OpenTransaction]] = {}
    for found in facts.open_transactions:
        if not found.is_hanging and _age(found, now) > LONG_SECONDS:
            by_producer.setdefault(found.producer_id, []).append(found)
    for transactions in by_producer.values():
        yield _long(transactions, now)


def _hanging(hanging: list[OpenTransaction], now: float) -> Finding:
    first = hanging[0]
    return Finding(
        "warning",
        "Leaders",
        "transaction_hangs",
        f"{counted(len(hanging), 'transaction')} of unknown producers will never end "
        f"({listed([_place(found) for found in hanging])}; the last record was written "
        f"{duration(_age(first, now))} ago): consumers with isolation.level=read_committed read "
        "nothing from these offsets on",
        f"abort each: ottla transactions abort -t {first.topic} -p {first.partition} "
        f"--start-offset {first.start_offset} --yes (needs ClusterAction); brokers with "
        "transaction.version=2 prevent such transactions",
    )


def _long(transactions: list[OpenTransaction], now: float) -> Finding:
    first = transactions[0]
    limit = "" if first.timeout is None else f" of at most {duration(first.timeout)}"
    whose = (
        f"producer {first.producer_id}, whose transactional id this principal may not see,"
        if first.transactional_id is None
        else f"{first.transactional_id!r}"
    )
    abort = (
        ""
        if first.transactional_id is None
        else f"; to abort it at once, which fences the producer: ottla transactions abort --id "
        f"{first.transactional_id} --yes"
    )
    return Finding(
        "warning",
        "Leaders",
        "transaction_open",
        f"the transaction of {whose} has been open for {duration(_age(first, now))}{limit} and "
        f"keeps back {counted(len(transactions), 'partition')} "
        f"({listed([_place(found) for found in transactions])}): consumers with "
        "isolation.level=read_committed read nothing from these offsets on",
        f"find out why this producer neither commits nor aborts{abort}",
    )


def _place(found: OpenTransaction) -> str:
    return f"{found.topic}-{found.partition} at offset {found.start_offset}"


def _age(found: OpenTransaction, now: float) -> float:
    """Return the seconds since the transaction began, or since its last record."""
    begun = found.start_time
    if begun is None or found.is_hanging:
        begun = found.last_timestamp
    return 0.0 if begun is None else max(0.0, now - begun / 1000)
