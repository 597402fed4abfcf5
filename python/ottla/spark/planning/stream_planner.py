"""Plans a stream on the driver: its start, the end of each micro-batch, and the tasks' ranges.

Owned by ``stream_reader``, in the one process that Spark keeps for a query's source. Invariant: a
planned range has offsets that were in the log when its end was chosen; lost records are reported as
``failOnDataLoss`` says, never skipped silently.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.range_splitting import split_ranges
from ottla.errors import DataLossError
from ottla.spark.clients import client_for
from ottla.spark.options.offset_limits import (
    EARLIEST,
    LATEST,
    SpecificOffsets,
    format_partition,
    format_partitions,
)
from ottla.spark.options.read_options import StreamReadOptions
from ottla.spark.options.subscription import PartitionLeaders
from ottla.spark.planning.admission import TriggerDelay, limit_bytes, limit_offsets
from ottla.spark.planning.group_offsets import GroupOffsetCommitter
from ottla.spark.planning.log_end_offsets import LogEndTracker, stale_ends
from ottla.spark.planning.offset_resolver import OffsetResolver, list_offsets, with_retries
from ottla.spark.planning.record_size_estimator import RecordSizeEstimator
from ottla.spark.planning.task_packing import TaskRanges, pack_ranges
from ottla.spark.protocols import Client, Offsets, TopicPartition

log = logging.getLogger(__name__)

# Seconds between lookups while an AvailableNow run waits for a stale log end.
_POLL_SECONDS = 0.5


class StreamPlanner:
    """Computes the offsets that Spark asks for, with a connected client."""

    def __init__(self, options: StreamReadOptions) -> None:
        self._options = options
        self._common = options.common
        self._leaders: PartitionLeaders = {}
        self._logged: set[str] = set()
        self._initial: Offsets | None = None
        self._initially_latest: set[TopicPartition] = set()
        self._latest: Offsets | None = None
        self._available_now_end: Offsets | None = None
        self._size_estimator = RecordSizeEstimator(self._common.kafka)
        self._log_ends = LogEndTracker(time.monotonic, self._warn_once)
        self._committer = None
        if options.commit_group_id is not None:
            self._committer = GroupOffsetCommitter(options.commit_group_id, time.monotonic)
        self._delay = None
        if options.min_offsets_per_trigger is not None:
            self._delay = TriggerDelay(
                options.min_offsets_per_trigger, options.max_trigger_delay, time.monotonic
            )

    @property
    def latest(self) -> Offsets | None:
        """The log end offsets at the last lookup; None before the first."""
        return self._latest

    def first_batch(self, *, unlimited: bool) -> tuple[Offsets, Offsets]:
        """Return the start of a new query and the end of its first micro-batch.

        Both have the same partitions. Partitions that appear between the two lookups wait for the
        second micro-batch.
        """
        start = self._initial_offsets()
        # Nothing was read yet: a start beyond the end of the log is the user's choice.
        end = self.end_of_batch(start, unlimited=unlimited, first=True)
        both = start.keys() & end.keys()
        return {p: start[p] for p in both}, {p: end[p] for p in both}

    def unrecorded_start(self, end: Offsets) -> Offsets:
        """Return the start of a first micro-batch, from the options: its checkpoint has none."""
        start = {p: offset for p, offset in self._initial_offsets().items() if p in end}
        if moved := self._initially_latest & start.keys():
            self._report_data_loss(
                f"the checkpoint does not say where the query started, and the latest offsets of "
                f"{format_partitions(moved)} have moved since"
            )
            start |= {partition: end[partition] for partition in moved}
        return start

    def latest_offsets(self, planned: Offsets, *, first: bool = False) -> Offsets:
        """Return the log end offsets: of now, or with AvailableNow of when the run began.

        Args:
            planned: where the next micro-batch starts.
            first: whether it is the first one, so that nothing was read yet. After it, no end is
                before ``planned`` unless there is evidence that the log was truncated.
        """
        latest = self._available_now_end
        if latest is None:
            latest = self._list_latest()
        # A broker that has just become a leader may report less than was read already.
        for _ in range(self._common.offset_attempts):
            if not stale_ends(latest, planned):
                break
            time.sleep(self._common.offset_retry_interval)
            latest = self._list_latest()
        if not first:
            latest = self._log_ends.reconcile(self._client(), latest, planned)
            # An AvailableNow run has no later trigger that would report a truncated log.
            while self._available_now_end is not None and self._log_ends.waiting:
                time.sleep(max(self._common.offset_retry_interval, _POLL_SECONDS))
                latest = self._log_ends.reconcile(self._client(), self._list_latest(), planned)
        if self._available_now_end is not None:
            self._available_now_end = latest
        self._latest = latest
        return latest

    def end_of_batch(
        self, start: Offsets, *, unlimited: bool = False, first: bool = False
    ) -> Offsets:
        """Return the end of a micro-batch from ``start``, within the limits of the options.

        Args:
            start: where the micro-batch starts.
            unlimited: whether to ignore the limits.
            first: whether this is the query's first micro-batch.
        """
        latest = self.latest_offsets(start, first=first)
        if unlimited:
            return latest
        begin = self._with_new_partitions(start, latest)
        # An AvailableNow run must not wait for more records.
        may_delay = self._available_now_end is None
        if may_delay and self._delay and self._delay.should_delay(begin, latest):
            return start
        end = latest
        if (limit := self._options.max_offsets_per_trigger) is not None:
            end = limit_offsets(begin, end, limit)
        if (limit := self._options.max_bytes_per_trigger) is not None:
            end = self._limit_bytes(begin, end, limit)
        return end

    def _limit_bytes(self, begin: Offsets, latest: Offsets, limit: int) -> Offsets:
        bytes_per_offset = self._size_estimator.estimate(self._ranges(begin, latest))
        end = limit_bytes(begin, latest, limit, bytes_per_offset)
        if end == latest:
            return latest
        # Deleted records count as zero bytes. Otherwise a query far behind retention would advance
        # through them one limit at a time, and report data loss each time.
        earliest = self._list_earliest(begin)
        existing = {p: min(max(o, earliest.get(p, o)), latest[p]) for p, o in begin.items()}
        return limit_bytes(existing, latest, limit, bytes_per_offset)

    def prepare_available_now(self) -> None:
        """Fix the logs' ends where they are now, for Trigger.AvailableNow."""
        self._latest = self._available_now_end = self._list_latest()

    def commit_group_offsets(self, offsets: Offsets) -> None:
        """Commit offsets up to which all is processed, if the options name a group."""
        if self._committer is not None:
            self._committer.commit(self._client(), offsets, self._leaders.keys())

    def plan_tasks(self, start: Offsets, end: Offsets) -> list[TaskRanges]:
        """Return the ranges that each task of one micro-batch reads."""
        if deleted := start.keys() - end.keys():
            self._report_data_loss(f"partitions {format_partitions(deleted)} have been deleted")
        added = end.keys() - start.keys()
        begin = self._with_new_partitions(start, end)
        if missing := added - begin.keys():
            self._report_data_loss(
                f"partitions {format_partitions(missing)} were deleted before they were read"
            )
        for partition in sorted(added & begin.keys()):
            if begin[partition] > 0:
                self._report_data_loss(
                    f"the new partition {format_partition(partition)} starts at offset "
                    f"{begin[partition]}"
                )
        for partition, until in end.items():
            if until < begin.get(partition, until):
                self._report_data_loss(
                    f"{format_partition(partition)} was read up to offset {begin[partition]}, but "
                    f"ends at {until} now: its topic was deleted and created again, or its log was "
                    "truncated"
                )
        ranges = split_ranges(
            self._ranges(begin, end),
            min_partitions=self._common.min_partitions,
            max_records_per_partition=self._common.max_records_per_partition,
        )
        return pack_ranges(ranges, self._common, self._size_estimator.estimate)

    def _initial_offsets(self) -> Offsets:
        if self._initial is None:
            for warning in self._common.warnings:
                log.warning(warning)
            self._initial = with_retries(self._common, self._resolve_initial)
        return self._initial

    def _resolve_initial(self) -> Offsets:
        client = self._client()
        leaders = self._find_partitions(client)
        resolver = OffsetResolver(client, self._common, leaders.keys())
        resolved = resolver.resolve("starting", self._options.start)
        explicit = resolved.copy() if isinstance(self._options.start, SpecificOffsets) else {}
        self._initially_latest = {p for p, offset in resolved.items() if offset == LATEST}
        for sentinel, position in ((EARLIEST, "earliest"), (LATEST, "latest")):
            spec = {p: position for p, offset in resolved.items() if offset == sentinel}
            resolved |= list_offsets(client, self._common, spec)
        # The end of an AvailableNow run was fixed before; later records are for the next run.
        ends = self._available_now_end or {}
        return {
            p: offset if explicit.get(p, LATEST) >= 0 else min(offset, ends.get(p, offset))
            for p, offset in resolved.items()
        }

    def _list_latest(self) -> Offsets:
        def request() -> Offsets:
            client = self._client()
            leaders = self._find_partitions(client)
            return list_offsets(client, self._common, dict.fromkeys(leaders, "latest"))

        return with_retries(self._common, request)

    def _find_partitions(self, client: Client) -> PartitionLeaders:
        self._leaders = self._common.subscription.find_partitions(
            client, self._common.topic_timeout, self._warn_once
        )
        return self._leaders

    def _warn_once(self, message: str, *args: object) -> None:
        # Triggers look up partitions many times a second: log each message once.
        if (text := message % args) not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)

    def _with_new_partitions(self, start: Offsets, end: Offsets) -> Offsets:
        """Return the start, with new partitions at their earliest offset.

        Partitions of ``end`` that were deleted since, as in a plan from before a restart, are left
        out.
        """
        kept = {p: offset for p, offset in start.items() if p in end}
        added = end.keys() - start.keys()
        return kept | self._list_earliest(added) if added else kept

    def _list_earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the earliest offsets of the partitions that still exist."""

        def request() -> Offsets:
            client = self._client()
            existing = self._find_partitions(client).keys() & set(partitions)
            return list_offsets(client, self._common, dict.fromkeys(existing, "earliest"))

        return with_retries(self._common, request)

    def _ranges(self, begin: Offsets, end: Offsets) -> list[OffsetRange]:
        return [
            OffsetRange(*partition, begin[partition], until, self._leaders.get(partition))
            for partition, until in sorted(end.items())
            if begin.get(partition, until) < until
        ]

    def _report_data_loss(self, problem: str) -> None:
        if self._common.fail_on_data_loss:
            raise DataLossError(
                f"{problem}; records may be lost. Set failOnDataLoss to false to continue "
                "without them"
            )
        log.warning("%s; records may be lost", problem)

    def _client(self) -> Client:
        return client_for(self._common.kafka)
