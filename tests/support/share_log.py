"""Members of a share group in their own processes, of ottla and of Java, and what they reported.

Invariant: a report that was printed before the process was killed is in the log.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster

_TIMEOUT = 120.0

Offset = tuple[int, int]
"""A partition and an offset."""


class ShareLog:
    """Deliveries, and acceptances with their results, by all members."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.delivered: Counter[Offset] = Counter()
        self.accepted_at: dict[Offset, float] = {}
        """The time of the first confirmed acceptance, in milliseconds since 1970."""
        self.delivered_at: dict[Offset, float] = {}
        """The time of the last delivery."""
        self.accepted: Counter[Offset] = Counter()
        self.failed: Counter[Offset] = Counter()
        """Acceptances that were reported with an error."""
        self.errors: Counter[str] = Counter()
        self.unreported: set[Offset] = set()
        """Records that were with a member when it was killed: it may have accepted them."""
        self._history: list[tuple[str, str, frozenset[Offset]]] = []

    def note(self, member: str, event: str, offsets: Iterable[Offset]) -> None:
        """Keep an event for failure messages."""
        self._history.append((member, event, frozenset(offsets)))

    def history(self, record: Offset) -> list[tuple[str, str]]:
        """Return what was reported about a record."""
        return [(member, event) for member, event, offsets in self._history if record in offsets]


class ShareMember:
    """A member; it collects its reports until it ends."""

    def __init__(self, name: str, log: ShareLog, process: subprocess.Popen[str]) -> None:
        self.name = name
        self.has_records = threading.Event()
        self._log = log
        self._process = process
        self._open: set[Offset] = set()
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue  # The last line of a killed process is incomplete.
                with self._log.lock:
                    self._note(event)

    def _note(self, event: dict[str, Any]) -> None:
        offsets = [
            (part["partition"], offset)
            for part in event.get("partitions", ())
            for offset in part["offsets"]
        ]
        self._log.note(self.name, f"{event['name']} {event.get('error', '')}", offsets)
        if event["name"] == "records_consumed":
            self._log.delivered.update(offsets)
            self._log.delivered_at.update(dict.fromkeys(offsets, event["timestamp"]))
            self._open.update(offsets)
            self.has_records.set()
        elif event["name"] == "offsets_acknowledged":
            self._open.difference_update(offsets)
            (self._log.accepted if event["success"] else self._log.failed).update(offsets)
            if event["success"]:
                for record in offsets:
                    self._log.accepted_at.setdefault(record, event["timestamp"])
            else:
                self._log.errors[event["error"]] += len(offsets)

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Send SIGKILL; what had no result yet may have been accepted."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._end()
        with self._log.lock:
            self._log.unreported |= self._open
            self._log.note(self.name, "killed", self._open)

    def leave(self) -> None:
        """End as the client does, and check that it ended well."""
        if self._process.stdin is None:
            self._process.terminate()
            self._end()
        else:
            self._process.stdin.close()
            self._end()
            assert self._process.returncode == 0, f"{self.name}: {self._process.returncode}"

    def _end(self) -> None:
        try:
            self._process.wait(_TIMEOUT)
        finally:
            self._process.kill()
            self._reader.join(_TIMEOUT)


class ShareMembers:
    """Starts members of one group on one topic."""

    def __init__(self, kafka: KafkaCluster, group: str, topic: str, mishaps: float) -> None:
        self.log = ShareLog()
        self._kafka, self._group, self._topic, self._mishaps = kafka, group, topic, mishaps
        self._created = 0

    def ottla(self) -> ShareMember:
        """Start a member of ottla; the number of members is its seed."""
        self._created += 1
        arguments = [self._kafka.bootstrap, self._group, self._topic, str(self._created)]
        command = [sys.executable, "-m", "tests.fault.share_member", *arguments, str(self._mishaps)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=REPOSITORY)
        return ShareMember(f"ottla-{self._created}", self.log, process)

    def java(self) -> ShareMember:
        """Start Kafka's VerifiableShareConsumer, which accepts all records."""
        self._created += 1
        process = self._kafka.start_tool(
            "org.apache.kafka.tools.VerifiableShareConsumer",
            *("--bootstrap-server", self._kafka.bootstrap, "--topic", self._topic),
            *("--group-id", self._group, "--acknowledgement-mode", "sync"),
        )
        return ShareMember(f"java-{self._created}", self.log, process)
