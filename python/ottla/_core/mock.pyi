"""The cluster and the registry behind ``ottla.testing``."""

from collections.abc import Sequence
from types import TracebackType
from typing import final

@final
class MockCluster:
    """The cluster behind ``ottla.testing.MockCluster``, which documents its methods."""

    def __new__(
        cls,
        brokers: int = 3,
        *,
        racks: list[str] | None = None,
        auto_create_topics: bool = True,
        default_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        users: dict[str, str] | None = None,
        session_lifetime: float | None = None,
        without: list[str] | None = None,
        group_heartbeat_interval: float = 0.2,
        group_session_timeout: float = 45.0,
        group_initial_delay: float = 0.01,
        share_lock_duration: float = 30.0,
        transaction_version: int | None = 2,
        transaction_max_timeout: float = 900.0,
        client_telemetry: bool = False,
    ) -> MockCluster: ...
    def subscribe_to_metrics(self, name: str, configs: dict[str, str]) -> None:
        """Set configurations of a client metrics subscription."""
    def pushed_metrics(
        self,
    ) -> list[
        tuple[str, str, int, bool, str, dict[str, str], list[tuple[str, dict[str, str], float]]]
    ]:
        """Return the pushed metrics as plain values."""
    def transactions(self) -> list[tuple[str, str, int, int, list[tuple[str, int]], list[str]]]:
        """Return the transactional ids as plain values."""
    def fence_producer(self, transactional_id: str) -> None:
        """Fence a producer, as a newer one with its transactional id does."""
    def set_transaction_version(self, level: int) -> None:
        """Finalize a level of the feature ``transaction.version``."""
    def hold_reassignments(self, hold: bool) -> None:
        """Keep reassignments open, or complete all."""
    def complete_reassignment(self, topic: str, partition: int) -> None:
        """Complete a reassignment that is held open."""
    def reassignment(self, topic: str, partition: int) -> tuple[list[int], list[int]] | None:
        """Return the brokers that a partition's reassignment adds and removes, or None."""
    def set_user(self, user: str, password: str | None) -> None:
        """Set a user's password, or remove the user."""
    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as a value of ``bootstrap.servers``."""
    @property
    def brokers(self) -> dict[int, str]:
        """The address of each broker, by id."""
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: dict[str, str] | None = None,
    ) -> None:
        """Create a topic; its leaders are spread over the brokers."""
    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of the broker that leads a partition."""
    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another broker the leader of a partition."""
    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete the records before an offset, and return the log's new start."""
    def end_offset(self, topic: str, partition: int) -> int:
        """Return the partition's high watermark."""
    def append(self, topic: str, partition: int, values: list[bytes]) -> int:
        """Append a batch of values, and return the offset of the first."""
    def append_in_transaction(
        self, topic: str, partition: int, producer_id: int, values: list[bytes]
    ) -> int:
        """Append values in a transaction, and return the offset of the first."""
    def end_transaction(self, topic: str, partition: int, producer_id: int, commit: bool) -> int:
        """Commit or abort a transaction, and return the offset of its marker."""
    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """Remove the end of a log, from an offset on."""
    def coordinator(self, key: str) -> int | None:
        """Return the id of the broker that coordinates a group or a transactional id."""
    def move_coordinator(self, key: str, to: int) -> None:
        """Make another broker the coordinator of a group or a transactional id."""
    def group(
        self, group: str
    ) -> (
        tuple[
            str,
            str,
            str | None,
            int,
            str | None,
            list[tuple[str, str | None, str, int, list[tuple[str, int]]]],
        ]
        | None
    ):
        """Return a group as plain values, or None if it does not exist."""
    def expire_member(self, group: str, member_id: str) -> None:
        """End a member's session."""
    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition."""
    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for a group."""
    def expire_offset(self, group: str, topic: str, partition: int) -> None:
        """Remove an offset of a group."""
    def advertise(self, broker: int, host: str, port: int) -> None:
        """Advertise another host and port for a broker."""
    def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections break, and its leaderships move."""
    def start_broker(self, broker: int) -> None:
        """Start a stopped broker at its old address."""
    def connections(self, broker: int) -> int:
        """Return the number of a broker's open connections."""
    def request_count(self, api: str, broker: int | None = None) -> int:
        """Return the number of requests of an API, at one broker or at all."""
    def inject(
        self,
        reaction: dict[str, object],
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault, a dict with one key, and return its id."""
    def fault_hits(self, fault: int) -> int:
        """Return the number of requests that a fault has hit."""
    def remove_fault(self, fault: int) -> bool:
        """Remove a fault; return whether it was there."""
    def clear_faults(self) -> None:
        """Remove all faults."""
    def close(self) -> None:
        """Stop all brokers."""
    def __enter__(self) -> MockCluster: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class MockRegistry:
    """The registry behind ``ottla.testing.MockRegistry``, which documents its methods."""
    def __new__(
        cls,
        name: str | None = None,
        *,
        user_info: str | None = None,
        token: str | None = None,
        path: str = ...,
    ) -> MockRegistry: ...
    @property
    def url(self) -> str:
        """The URL."""
    def register(
        self,
        subject: str,
        text: str,
        schema_type: str,
        references: Sequence[tuple[str, str, int]],
    ) -> tuple[int, int]:
        """Register a schema, and return its id and version."""
    def set_compatibility(self, level: str, subject: str | None) -> None:
        """Set the level of compatibility of a subject, or of all others."""
    def refuse_changes(self, subject: str, refuse: bool) -> None:
        """Make a subject refuse other schemas, or accept all again."""
    def delete_version(self, subject: str, version: int) -> None:
        """Delete a version softly."""
    def subjects(self) -> list[str]:
        """Return the names of the subjects."""
    def requests(self) -> list[tuple[str, str]]:
        """Return the method and the path of each request."""
    def inject(
        self,
        fault: dict[str, object],
        *,
        method: str | None,
        path: str | None,
        skip: int,
        times: int | None,
    ) -> int:
        """Inject a fault, and return its id."""
    def fault_hits(self, fault: int) -> int:
        """Return the number of requests that a fault has hit."""
    def clear_faults(self) -> None:
        """Remove all faults."""
    def stop(self) -> None:
        """Stop listening, and keep the schemas."""
    def restart(self) -> None:
        """Listen again at the same address."""
    def close(self) -> None:
        """Stop for good."""
