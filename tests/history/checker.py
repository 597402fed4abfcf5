"""Names the anomalies of a history: what transactions and read_committed consumers rule out.

The names are those of Jepsen's analyses of Kafka. Invariant: a pure function; a history without an
``End`` shows no lost writes, since a record may not have been read yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.history.events import End, Event, Poll, Seek, Send, Transaction

Place = tuple[int, int]
"""A partition and an offset."""


@dataclass(frozen=True, order=True)
class Anomaly:
    """Something that must not happen: its kind, and where it is."""

    kind: str
    where: str


def check(events: Sequence[Event]) -> list[Anomaly]:
    """Return the anomalies of a history, sorted."""
    transactions = [event for event in events if isinstance(event, Transaction)]
    reads = list(_reads(events))
    found = {
        *_lost_writes(transactions, events, reads),
        *_duplicates(reads),
        *_wrong_reads(transactions, reads),
        *_torn_transactions(transactions, events, reads),
        *_inconsistent_offsets(transactions, reads),
        *_reordered(transactions, reads),
        *_polls(events, _committed_places(transactions, reads)),
    }
    return sorted(found)


def _reads(events: Iterable[Event]) -> Iterator[tuple[Place, str]]:
    for event in events:
        if isinstance(event, Poll):
            for partition, offset, value in event.records:
                yield (partition, offset), value


def _ends(events: Iterable[Event]) -> dict[int, int]:
    """The offsets up to which everything was read, by partition."""
    ends: dict[int, int] = {}
    for event in events:
        if isinstance(event, End):
            ends |= event.offsets
    return ends


def _lost_writes(
    transactions: Iterable[Transaction], events: Sequence[Event], reads: list[tuple[Place, str]]
) -> Iterator[Anomaly]:
    """Find what was committed and never read, though everything was."""
    ends, seen = _ends(events), {value for _, value in reads}
    for transaction in transactions:
        for send in transaction.sends if transaction.outcome == "committed" else ():
            if send.partition in ends and send.value not in seen:
                yield Anomaly("lost write", _of(send))


def _duplicates(reads: list[tuple[Place, str]]) -> Iterator[Anomaly]:
    """Find values that are in the log twice."""
    places: dict[str, set[Place]] = defaultdict(set)
    for place, value in reads:
        places[value].add(place)
    for value, found in places.items():
        if len(found) > 1:
            yield Anomaly("duplicate", f"{value} at {sorted(found)}")


def _wrong_reads(
    transactions: Iterable[Transaction], reads: list[tuple[Place, str]]
) -> Iterator[Anomaly]:
    """Find reads of aborted records, and of records that were never sent."""
    outcomes = {send.value: each.outcome for each in transactions for send in each.sends}
    for place, value in reads:
        outcome = outcomes.get(value)
        if outcome is None:
            yield Anomaly("unknown read", f"{value} at {place}")
        elif outcome == "aborted":
            yield Anomaly("aborted read", f"{value} at {place}")


def _torn_transactions(
    transactions: Iterable[Transaction], events: Sequence[Event], reads: list[tuple[Place, str]]
) -> Iterator[Anomaly]:
    """Find transactions without a known outcome of which a part is visible."""
    ends, seen = _ends(events), {value for _, value in reads}
    for transaction in transactions:
        if transaction.outcome != "unknown":
            continue
        visible = [send.value in seen for send in transaction.sends if send.partition in ends]
        if any(visible) and not all(visible):
            missing = [_of(send) for send in transaction.sends if send.value not in seen]
            yield Anomaly("torn transaction", f"of {transaction.process}, without {missing}")


def _inconsistent_offsets(
    transactions: Iterable[Transaction], reads: list[tuple[Place, str]]
) -> Iterator[Anomaly]:
    """Find offsets at which two values were seen, by producers or by consumers."""
    values: dict[Place, set[str]] = defaultdict(set)
    for place, value in reads:
        values[place].add(value)
    for transaction in transactions:
        for send in transaction.sends if transaction.outcome == "committed" else ():
            if send.offset is not None:
                values[send.partition, send.offset].add(send.value)
    for place, seen in values.items():
        if len(seen) > 1:
            yield Anomaly("inconsistent offsets", f"{sorted(seen)} at {place}")


def _reordered(
    transactions: Iterable[Transaction], reads: list[tuple[Place, str]]
) -> Iterator[Anomaly]:
    """Find records of one producer and partition whose offsets do not follow its sends."""
    offsets: dict[str, int] = {}
    for (_, offset), value in reads:
        offsets[value] = min(offset, offsets.get(value, offset))
    last: dict[tuple[str, int], tuple[int, str]] = {}
    for transaction in transactions:
        for send in transaction.sends:
            if send.value not in offsets:
                continue
            offset, key = offsets[send.value], (transaction.process, send.partition)
            before = last.get(key)
            if before is not None and offset < before[0]:
                yield Anomaly("reordered", f"{send.value} before {before[1]}")
            last[key] = offset, send.value


def _committed_places(
    transactions: Iterable[Transaction], reads: list[tuple[Place, str]]
) -> dict[int, list[int]]:
    """The offsets of committed records, by partition."""
    places = {place for place, _ in reads}
    for transaction in transactions:
        if transaction.outcome == "committed":
            places |= {
                (send.partition, send.offset)
                for send in transaction.sends
                if send.offset is not None
            }
    by_partition: dict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(places):
        by_partition[partition].append(offset)
    return by_partition


def _polls(events: Iterable[Event], committed: dict[int, list[int]]) -> Iterator[Anomaly]:
    """Find polls that go back, or that leave out a committed record."""
    position: dict[tuple[str, int], int] = {}
    for event in events:
        if isinstance(event, Seek):
            position |= {(event.process, part): at for part, at in event.positions.items()}
        if not isinstance(event, Poll):
            continue
        for partition, offset, _ in event.records:
            key = event.process, partition
            at = position.get(key)
            where = f"{event.process}, partition {partition}: {offset} after {at}"
            if at is not None and offset < at:
                yield Anomaly("non-monotonic poll", where)
            elif at is not None:
                skipped = [each for each in committed[partition] if at <= each < offset]
                if skipped:
                    yield Anomaly("skipped poll", f"{where} without {skipped}")
            position[key] = offset + 1


def _of(send: Send) -> str:
    return f"{send.value} in partition {send.partition}"
