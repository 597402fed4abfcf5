"""Which partitions a consumer reads, and from where: of a group, or assigned by the application.

In a group, ottla takes over what the group assigns; what a callback leaves out of ``assign()`` is
withheld: it stays assigned to this member, and its records are not read. Invariants: a partition is
read if it is assigned, not paused by the application and not withheld; offsets in an assignment
are where reading starts.
"""

from __future__ import annotations

from collections.abc import Iterable

import ottla
from ottla import errors
from ottla._core import OffsetStore
from ottla.compat.confluent_kafka._constants import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
)
from ottla.compat.confluent_kafka._errors import failure, kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._partitions import Key, key_of
from ottla.compat.confluent_kafka._topic_partition import TopicPartition

# OFFSET_TAIL(n): n records before the end.
_TAIL_BASE = -2000


class Assignment:
    """The assignment of one consumer.

    Args:
        consumer: the ottla consumer.
        store: its offsets.
    """

    def __init__(self, consumer: ottla.Consumer, store: OffsetStore) -> None:
        self._consumer = consumer
        self._store = store
        self._withheld: set[Key] = set()
        self._paused: set[Key] = set()
        self._ever: set[Key] = set()
        # The offsets in assignments of the application.
        self._begins: dict[Key, int] = {}
        # Where the application has sought to, by the last call for each partition.
        self.sought: dict[Key, int] = {}
        # The ends of partitions that were reported, by their offsets.
        self.ends: dict[Key, int] = {}
        self.is_subscribed = False
        # A rebalance callback runs: ottla takes the partitions over, or gives them up, after it.
        self.in_callback = False

    def __len__(self) -> int:
        return len(self._consumer.assignment())

    def partitions(self) -> list[TopicPartition]:
        """Return what is assigned, as the application sees it, with the offsets that it gave."""
        return [
            TopicPartition(*key, self._begins.get(key, OFFSET_STORED))
            for key in self._consumer.assignment()
            if key not in self._withheld
        ]

    def replace(self, partitions: list[TopicPartition]) -> None:
        """Read exactly these partitions (``assign``)."""
        wanted = {key_of(item): item for item in partitions}
        if self.is_subscribed:
            assigned = self._consumer.assignment()
            self._withheld = {key for key in assigned if key not in wanted}
            self._start({key: item for key, item in wanted.items() if key in assigned})
            self._apply_pauses()
            return
        try:
            # A partition that was assigned before is sought, or starts anew at what is committed.
            assigned = self._consumer.assignment()
            self._consumer.assign([k for k in assigned if k in wanted and _is_sought(wanted[k])])
            self._consumer.assign(list(wanted))
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        self._store.remove(self._ever)
        self._begins.clear()
        self._withheld.clear()
        self._paused.clear()
        self._start(wanted)
        self._apply_pauses()

    def add(self, partitions: list[TopicPartition]) -> None:
        """Also read these partitions (``incremental_assign``)."""
        wanted = {key_of(item): item for item in partitions}
        assigned = self._consumer.assignment()
        if self.is_subscribed:
            self._withheld -= set(wanted)
            self._start({key: item for key, item in wanted.items() if key in assigned})
            self._apply_pauses()
            return
        twice = next((key for key in wanted if key in assigned), None)
        if twice is not None:
            reason = f"{twice[0]} [{twice[1]}] is already part of the current assignment"
            raise failure(KafkaError._CONFLICT, reason)
        self._consumer.assign([*assigned, *wanted])
        self._start(wanted)

    def remove(self, partitions: list[TopicPartition]) -> None:
        """Stop reading these partitions (``incremental_unassign``)."""
        unwanted = {key_of(item) for item in partitions}
        assigned = self._consumer.assignment()
        missing = next((key for key in unwanted if key not in assigned), None)
        if missing is not None and not self.in_callback:
            reason = f"{missing[0]} [{missing[1]}] is not part of the current assignment"
            raise failure(KafkaError._INVALID_ARG, reason)
        if self.is_subscribed:
            self.withhold(unwanted)
            return
        self._consumer.assign([key for key in assigned if key not in unwanted])
        self.forget(unwanted)

    def withhold(self, keys: Iterable[Key]) -> None:
        """Do not read partitions that are assigned, until the application assigns or seeks."""
        self._withheld |= set(keys)
        self._apply_pauses()

    def forget(self, keys: Iterable[Key]) -> None:
        """Forget partitions that are not assigned any more."""
        gone = set(keys)
        self._forget_ends(gone)
        for key in gone:
            self._begins.pop(key, None)
        self._withheld -= gone
        self._paused -= gone
        self._store.remove(gone)

    def taken_over(self, keys: Iterable[Key]) -> None:
        """Note partitions that the group has assigned."""
        self._ever |= set(keys)
        self._store.add(keys)

    def seek(self, partition: TopicPartition) -> None:
        """Continue at an offset."""
        key = key_of(partition)
        if key not in self._consumer.assignment():
            code = KafkaError._STATE if key in self._ever else KafkaError._UNKNOWN_PARTITION
            raise failure(code)
        self._store.sought(key)
        self._forget_ends([key])
        self._withheld.discard(key)
        self._go_to(key, partition)
        self._apply_pauses()

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Stop returning records of partitions."""
        self._paused |= {key_of(item) for item in partitions}
        self._apply_pauses()

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Return records of partitions again."""
        self._paused -= {key_of(item) for item in partitions}
        self._apply_pauses()

    def _forget_ends(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.ends.pop(key, None)

    def _start(self, wanted: dict[Key, TopicPartition]) -> None:
        self._forget_ends(wanted)
        self._begins |= {
            key: item.offset if _is_sought(item) else OFFSET_STORED for key, item in wanted.items()
        }
        self._ever |= set(wanted)
        self._store.add(wanted)
        for key, item in wanted.items():
            if _is_sought(item):
                self._go_to(key, item)

    def _go_to(self, key: Key, item: TopicPartition) -> None:
        topic, number = key
        self.sought[key] = item.offset
        try:
            if item.offset == OFFSET_BEGINNING:
                self._consumer.seek_to_beginning(key)
            elif item.offset == OFFSET_END:
                self._consumer.seek_to_end(key)
            elif item.offset == OFFSET_STORED:
                self._go_to_committed(key)
            elif item.offset <= _TAIL_BASE:
                first = self._consumer.beginning_offsets(key)[key]
                last = self._consumer.end_offsets(key)[key]
                offset = max(last - (_TAIL_BASE - item.offset), first)
                self._consumer.seek(topic, number, offset)
            else:
                epoch = item.leader_epoch
                self._consumer.seek(topic, number, item.offset, leader_epoch=epoch)
        except errors.ConfigError as error:
            raise kafka_exception(error, KafkaError._INVALID_ARG) from error
        except errors.KafkaError as error:
            raise kafka_exception(error) from error

    def _go_to_committed(self, key: Key) -> None:
        found = self._consumer.committed(key)[key]
        if found is None:
            raise failure(KafkaError._NO_OFFSET)
        self._consumer.seek(*key, found.offset)

    def _apply_pauses(self) -> None:
        """Make ottla's pauses those of the application and the withheld partitions."""
        assigned = set(self._consumer.assignment())
        wanted = (self._paused | self._withheld) & assigned
        present = set(self._consumer.paused())
        if wanted - present:
            self._consumer.pause(*sorted(wanted - present))
        if present - wanted:
            self._consumer.resume(*sorted(present - wanted))


def _is_sought(partition: TopicPartition) -> bool:
    """Return whether reading starts at an offset that the assignment names."""
    return partition.offset not in (OFFSET_INVALID, OFFSET_STORED)
