"""The driver's side of a stream: where it starts, how far each micro-batch goes, what tasks read.

Owned by ``stream_reader`` in the one process that Spark keeps for a query's source. Invariant: a
range planned is of offsets that were in the log when its end was chosen; what is gone is reported
as ``failOnDataLoss`` says, never skipped without a word.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from ottla.errors import DataLossError
from ottla.spark.clients import client_for
from ottla.spark.offset_range import OffsetRange
from ottla.spark.options.offset_limits import EARLIEST, LATEST, SpecificOffsets, show, show_all
from ottla.spark.options.read_options import StreamOptions
from ottla.spark.options.subscription import Leaders
from ottla.spark.planning.admission import Delay, at_most_bytes, at_most_offsets
from ottla.spark.planning.group_offsets import GroupProgress
from ottla.spark.planning.log_end_offsets import LogEnds, behind
from ottla.spark.planning.offset_resolver import Resolver, look_up, retrying
from ottla.spark.planning.range_splitting import split_ranges
from ottla.spark.planning.record_size_estimator import RecordSizes
from ottla.spark.planning.task_packing import Task, pack
from ottla.spark.protocols import Client, Offsets, TopicPartition

log = logging.getLogger(__name__)

# How often a bounded run asks again where a log ends that seems to be behind.
_POLL_SECONDS = 0.5


class StreamPlanner:
    """Answers Spark's questions about offsets with a live client."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._source = options.source
        self._leaders: Leaders = {}
        self._told: set[str] = set()
        self._initial: Offsets | None = None
        self._initially_latest: set[TopicPartition] = set()
        self._newest: Offsets | None = None
        self._target: Offsets | None = None
        self._sizes = RecordSizes(self._source.kafka)
        self._ends = LogEnds(time.monotonic, self._warn_once)
        self._progress = None
        if options.commit_group_id is not None:
            self._progress = GroupProgress(options.commit_group_id, time.monotonic)
        self._delay = None
        if options.min_offsets_per_trigger is not None:
            self._delay = Delay(
                options.min_offsets_per_trigger, options.max_trigger_delay, time.monotonic
            )

    @property
    def newest(self) -> Offsets | None:
        """What the log held when it was last asked."""
        return self._newest

    def first_batch(self, *, everything: bool) -> tuple[Offsets, Offsets]:
        """Where a new query starts, and the end of its first micro-batch, for the same partitions.

        Those that come between the one look and the other wait for the second micro-batch.
        """
        start = self._initial_offsets()
        # Nothing was read yet: a start beyond the end of the log is the query's own.
        end = self.end_of_batch(start, everything=everything, first=True)
        both = start.keys() & end.keys()
        return {p: start[p] for p in both}, {p: end[p] for p in both}

    def unsettled_start(self, end: Offsets) -> Offsets:
        """Where a first micro-batch starts whose checkpoint does not say it: as the options do."""
        start = {p: offset for p, offset in self._initial_offsets().items() if p in end}
        if moved := self._initially_latest & start.keys():
            self._lose(
                f"the checkpoint does not say where the query started, and the latest offsets of "
                f"{show_all(moved)} are others by now"
            )
            start |= {partition: end[partition] for partition in moved}
        return start

    def latest(self, known: Offsets, *, first: bool = False) -> Offsets:
        """The end of what can be read now, or of what could when a bounded run began.

        Args:
            known: where the next micro-batch starts.
            first: whether it is the first one, so that nothing was read yet. After it, no end is
                before ``known`` unless there is evidence that the log was cut.
        """
        newest = self._find_newest() if self._target is None else self._target
        # A broker that has just become a leader may report less than was read already.
        for _ in range(self._source.offset_attempts):
            if not behind(newest, known):
                break
            time.sleep(self._source.offset_retry_interval)
            newest = self._find_newest()
        if not first:
            newest = self._ends.settle(self._client(), newest, known)
            # A bounded run has no later trigger that would report a log that was cut.
            while self._target is not None and self._ends.waiting:
                time.sleep(max(self._source.offset_retry_interval, _POLL_SECONDS))
                newest = self._ends.settle(self._client(), self._find_newest(), known)
        if self._target is not None:
            self._target = newest
        self._newest = newest
        return newest

    def end_of_batch(
        self, start: Offsets, *, everything: bool = False, first: bool = False
    ) -> Offsets:
        """The end of a micro-batch from ``start``: within the limits of the options, or not."""
        newest = self.latest(start, first=first)
        if everything:
            return newest
        begin = self._with_new(start, newest)
        # A run that ends when all is read must not wait for more.
        if self._target is None and self._delay and self._delay.holds_back(begin, newest):
            return start
        end = newest
        if (limit := self._options.max_offsets_per_trigger) is not None:
            end = at_most_offsets(begin, end, limit)
        if (limit := self._options.max_bytes_per_trigger) is not None:
            end = self._within_bytes(begin, end, limit)
        return end

    def _within_bytes(self, begin: Offsets, newest: Offsets, limit: int) -> Offsets:
        per_offset = self._sizes.of(self._ranges(begin, newest))
        end = at_most_bytes(begin, newest, limit, per_offset)
        if end == newest:
            return newest
        # Records that are gone weigh nothing: a query far behind retention would otherwise go
        # through them limit by limit, and tell of each what was lost.
        first = self._earliest(begin)
        there = {p: min(max(o, first.get(p, o)), newest[p]) for p, o in begin.items()}
        return at_most_bytes(there, newest, limit, per_offset)

    def fix_target(self) -> None:
        """From now on the log is taken to end where it ends now (Trigger.AvailableNow)."""
        self._newest = self._target = self._find_newest()

    def publish(self, offsets: Offsets) -> None:
        """Show that everything before these offsets is processed, if the options name a group."""
        if self._progress is not None:
            self._progress.publish(self._client(), offsets, self._leaders.keys())

    def plan(self, start: Offsets, end: Offsets) -> list[Task]:
        """What the tasks of one micro-batch read."""
        if deleted := start.keys() - end.keys():
            self._lose(f"partitions {show_all(deleted)} have been deleted")
        added = end.keys() - start.keys()
        begin = self._with_new(start, end)
        if missing := added - begin.keys():
            self._lose(f"partitions {show_all(missing)} are gone before they were read")
        for partition in sorted(added & begin.keys()):
            if begin[partition] > 0:
                self._lose(f"the new partition {show(partition)} starts at {begin[partition]}")
        for partition, until in end.items():
            if until < begin.get(partition, until):
                self._lose(
                    f"{show(partition)} was read up to offset {begin[partition]}, but ends at "
                    f"{until} now: its topic was made anew, or its log was cut"
                )
        ranges = split_ranges(
            self._ranges(begin, end),
            min_partitions=self._source.min_partitions,
            max_records_per_partition=self._source.max_records_per_partition,
        )
        return pack(ranges, self._source, self._sizes.of)

    def _initial_offsets(self) -> Offsets:
        if self._initial is None:
            for warning in self._source.warnings:
                log.warning(warning)
            self._initial = retrying(self._source, self._find_initial)
        return self._initial

    def _find_initial(self) -> Offsets:
        client = self._client()
        leaders = self._find(client)
        resolver = Resolver(client, self._source, leaders.keys())
        found = resolver.sentinels("starting", self._options.start)
        given = found.copy() if isinstance(self._options.start, SpecificOffsets) else {}
        self._initially_latest = {p for p, offset in found.items() if offset == LATEST}
        for sentinel, word in ((EARLIEST, "earliest"), (LATEST, "latest")):
            wanted = {p: word for p, offset in found.items() if offset == sentinel}
            found |= look_up(client, self._source, wanted)
        # The end of a bounded run was found before: what has come since is for the next run.
        ends = self._target or {}
        return {
            p: offset if given.get(p, LATEST) >= 0 else min(offset, ends.get(p, offset))
            for p, offset in found.items()
        }

    def _find_newest(self) -> Offsets:
        def ask() -> Offsets:
            client = self._client()
            return look_up(client, self._source, dict.fromkeys(self._find(client), "latest"))

        return retrying(self._source, ask)

    def _find(self, client: Client) -> Leaders:
        self._leaders = self._source.subscription.find(
            client, self._source.topic_timeout, self._warn_once
        )
        return self._leaders

    def _warn_once(self, words: str, *about: object) -> None:
        # Partitions are looked up at each trigger, many times a second; only what is new is told.
        if (text := words % about) not in self._told:
            self._told.add(text)
            log.warning("%s", text)

    def _with_new(self, start: Offsets, end: Offsets) -> Offsets:
        """The start, with that of partitions that came since: new ones are read from the first.

        Those that are gone again, as of a plan that was made before a restart, are left out.
        """
        kept = {p: offset for p, offset in start.items() if p in end}
        added = end.keys() - start.keys()
        return kept | self._earliest(added) if added else kept

    def _earliest(self, wanted: Iterable[TopicPartition]) -> Offsets:
        """Where the logs start, of the partitions that are still there."""

        def ask() -> Offsets:
            client = self._client()
            there = self._find(client).keys() & set(wanted)
            return look_up(client, self._source, dict.fromkeys(there, "earliest"))

        return retrying(self._source, ask)

    def _ranges(self, begin: Offsets, end: Offsets) -> list[OffsetRange]:
        return [
            OffsetRange(*partition, begin[partition], until, self._leaders.get(partition))
            for partition, until in sorted(end.items())
            if begin.get(partition, until) < until
        ]

    def _lose(self, what: str) -> None:
        if self._source.fail_on_data_loss:
            raise DataLossError(
                f"{what}; records may be lost. Set failOnDataLoss to false to go on without them"
            )
        log.warning("%s; records may be lost", what)

    def _client(self) -> Client:
        return client_for(self._source.kafka)
