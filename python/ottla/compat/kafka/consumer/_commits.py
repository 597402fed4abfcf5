"""The calls of a consumer about its group: commits, and the identity of the member.

Invariant: a commit without offsets covers exactly the records that were returned before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ottla
from ottla import errors
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka.consumer._lookups import Lookups
from ottla.compat.kafka.future import Future
from ottla.compat.kafka.structs import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    TopicPartition,
)
from ottla.interceptors import ConsumerInterceptor

__all__ = ["CommitObserver", "Commits", "native_offsets"]

_Offsets = Mapping[TopicPartition, OffsetAndMetadata]
_Callback = Callable[[dict[TopicPartition, OffsetAndMetadata], Any], object]


def native_offsets(offsets: Any) -> dict[tuple[str, int], ottla.OffsetAndMetadata]:
    """Return offsets as ottla's.

    Raises:
        TypeError: a key is no ``TopicPartition``, or a value no ``OffsetAndMetadata``.
    """
    for partition, offset in offsets.items():
        if not isinstance(partition, TopicPartition) or not isinstance(offset, OffsetAndMetadata):
            raise TypeError("offsets must be a dict of TopicPartition and OffsetAndMetadata")
    return {
        (partition.topic, partition.partition): ottla.OffsetAndMetadata(
            each.offset, each.metadata, each.leader_epoch
        )
        for partition, each in offsets.items()
    }


def _peer_offsets(
    offsets: Mapping[tuple[str, int], ottla.OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(*partition): OffsetAndMetadata(each.offset, each.metadata, each.leader_epoch)
        for partition, each in offsets.items()
    }


class CommitObserver(ConsumerInterceptor):
    """Reports commits that the program has not called for to ``default_offset_commit_callback``."""

    def __init__(self, callback: _Callback | None) -> None:
        self.callback = callback
        self.explicit = 0

    def on_commit(self, offsets: dict[tuple[str, int], ottla.OffsetAndMetadata]) -> None:
        """Report an automatic commit."""
        if self.explicit == 0 and self.callback is not None:
            self.callback(_peer_offsets(offsets), True)


class Commits(Lookups):
    """The methods; ``KafkaConsumer`` has the attributes."""

    _observer: CommitObserver

    def commit(self, offsets: _Offsets | None = None, timeout_ms: float | None = None) -> None:
        """Commit offsets, and wait for the response.

        Args:
            offsets: the offset of the next record to read, by partition. Default: after the last
                record that was returned of each assigned partition.
            timeout_ms: milliseconds. Default: ``default_api_timeout_ms``.

        Raises:
            CommitFailedError: the group has given the partitions to other members.
            IllegalStateError: there is no ``group_id``.
            KafkaTimeoutError: there was no response in time.
        """
        self._require_group()
        native = None if offsets is None else native_offsets(offsets)
        if native == {}:
            return
        self._observer.explicit += 1
        try:
            with translating():
                self._consumer.commit(native, timeout=self._seconds(timeout_ms))
        finally:
            self._observer.explicit -= 1

    def commit_async(
        self, offsets: _Offsets | None = None, callback: _Callback | None = None
    ) -> Future:
        """Commit offsets without waiting.

        Args:
            offsets: as for ``commit``.
            callback: is called with the offsets, and with an exception or True, by a later poll,
                commit or close. Default: ``default_offset_commit_callback``.

        Returns:
            A future, which the same calls complete.

        Raises:
            IllegalStateError: there is no ``group_id``.
        """
        self._require_group()
        native = None if offsets is None else native_offsets(offsets)
        future = Future()
        chosen = self._observer.callback if callback is None else callback

        def done(
            error: errors.KafkaError | None,
            committed: dict[tuple[str, int], ottla.OffsetAndMetadata],
        ) -> None:
            self._observer.explicit -= 1
            failure = None if error is None else translated(error)
            if failure is None:
                future.success(True)
            else:
                future.failure(failure)
            if chosen is not None:
                chosen(_peer_offsets(committed), True if failure is None else failure)

        self._observer.explicit += 1
        if native == {}:
            done(None, {})
            return future
        try:
            with translating():
                self._consumer.commit_async(native, done)
        except BaseException:
            self._observer.explicit -= 1
            raise
        return future

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the identity of this consumer in its group; without a group, an empty one."""
        group = self.config["group_id"]
        if group is None:
            return ConsumerGroupMetadata()
        known = self._consumer.group_metadata()
        state = MemberState.UNJOINED
        if known.generation >= 0:
            state = MemberState.STABLE
        elif self._subscription.topics:
            state = MemberState.REBALANCING
        return ConsumerGroupMetadata(
            known.group_id, known.generation, known.member_id, known.instance_id, state
        )
