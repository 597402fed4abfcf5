"""The driver's side of a stream: where it starts, how far each micro-batch goes, what tasks read.

Owned by ``stream_reader`` in the one process that Spark keeps for a query's source. Invariant: a
range planned is of offsets that were in the log when its end was chosen; what is gone is reported
as ``failOnDataLoss`` says, never skipped without a word.
"""

from __future__ import annotations

import logging
import time

from ottla.errors import DataLossError, UnknownTopicError
from ottla.spark.admission import Delay, at_most_bytes, at_most_offsets
from ottla.spark.clients import client_for
from ottla.spark.core import Client
from ottla.spark.group_progress import GroupProgress
from ottla.spark.offsets import EARLIEST, LATEST, show, show_all
from ottla.spark.options import StreamOptions
from ottla.spark.packing import Task, pack
from ottla.spark.planning import Offsets, Resolver, look_up, retrying
from ottla.spark.ranges import OffsetRange, split_ranges
from ottla.spark.record_sizes import RecordSizes
from ottla.spark.subscription import Leaders

log = logging.getLogger(__name__)


class StreamPlanner:
    """Answers Spark's questions about offsets with a live client."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._source = options.source
        self._leaders: Leaders = {}
        self._initial: Offsets | None = None
        self._newest: Offsets | None = None
        self._target: Offsets | None = None
        self._sizes = RecordSizes(
            self._source.kafka, fail_on_data_loss=self._source.fail_on_data_loss
        )
        self._progress = None
        if options.commit_group_id is not None:
            self._progress = GroupProgress(options.commit_group_id)
        self._delay = None
        if options.min_offsets_per_trigger is not None:
            self._delay = Delay(
                options.min_offsets_per_trigger, options.max_trigger_delay, time.monotonic
            )

    @property
    def newest(self) -> Offsets | None:
        """What the log held when it was last asked."""
        return self._newest

    def initial(self) -> Offsets:
        """Where a new query starts; the same however often it is asked."""
        if self._initial is None:
            for warning in self._source.warnings:
                log.warning(warning)
            self._initial = retrying(self._source, self._find_initial)
        return self._initial

    def latest(self) -> Offsets:
        """The end of what can be read now, or of what could when a bounded run began."""
        if self._target is not None:
            return self._target
        self._newest = retrying(self._source, self._find_newest)
        return self._newest

    def end_of_batch(self, start: Offsets) -> Offsets:
        """The end of a micro-batch from ``start``, within the limits of the options."""
        newest = self._not_behind(start, self.latest())
        begin = self._with_new(start, newest)
        # A run that ends when all is read must not wait for more.
        if self._target is None and self._delay and self._delay.holds_back(begin, newest):
            return start
        end = newest
        if (limit := self._options.max_offsets_per_trigger) is not None:
            end = at_most_offsets(begin, end, limit)
        if (limit := self._options.max_bytes_per_trigger) is not None:
            there = self._ranges(begin, end)
            per_offset = self._sizes.of(there)
            end = at_most_bytes(begin, end, limit, per_offset)
        return end

    def fix_target(self) -> None:
        """From now on the log is taken to end where it ends now (Trigger.AvailableNow)."""
        self._target = retrying(self._source, self._find_newest)
        self._newest = self._target

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

    def _find_initial(self) -> Offsets:
        client = self._client()
        leaders = self._find(client)
        resolver = Resolver(client, self._source, leaders.keys())
        found = resolver.sentinels("starting", self._options.start)
        for sentinel, word in ((EARLIEST, "earliest"), (LATEST, "latest")):
            wanted = {p: word for p, offset in found.items() if offset == sentinel}
            found |= look_up(client, self._source, wanted)
        return found

    def _find_newest(self) -> Offsets:
        client = self._client()
        return look_up(client, self._source, dict.fromkeys(self._find(client), "latest"))

    def _find(self, client: Client) -> Leaders:
        self._leaders = self._source.subscription.find(client, self._source.topic_timeout)
        return self._leaders

    def _not_behind(self, start: Offsets, newest: Offsets) -> Offsets:
        # A broker that has just become a leader may tell less than was read already; a log that
        # was really cut goes on doing so.
        for _ in range(self._source.offset_attempts):
            if self._target is not None or all(
                newest.get(partition, offset) >= offset for partition, offset in start.items()
            ):
                break
            time.sleep(self._source.offset_retry_interval)
            newest = self.latest()
        return newest

    def _with_new(self, start: Offsets, end: Offsets) -> Offsets:
        """The start, with that of partitions that came since: new ones are read from the first."""
        added = dict.fromkeys(end.keys() - start.keys(), "earliest")
        try:
            found = look_up(self._client(), self._source, added)
        except UnknownTopicError:
            # Planned before a restart, and gone now.
            found = {}
        return {p: offset for p, offset in start.items() if p in end} | found

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
