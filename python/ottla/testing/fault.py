"""The faults that a test injects into a mock cluster or a gateway."""

from __future__ import annotations

from typing import Literal


class Fault:
    """A fault for ``MockCluster.inject`` or ``Gateway.inject``; the class methods create one.

    A gateway has no ``omit_partition`` and ``move_leader``; a mock cluster has no ``cut``, ``slow``
    and ``freeze``.

    Args:
        reaction: the fault as a dict with one key; use the class methods instead.
    """

    def __init__(self, reaction: dict[str, object]) -> None:
        self.reaction = reaction

    def __repr__(self) -> str:
        kind, value = next(iter(self.reaction.items()), ("none", True))
        return f"Fault.{kind}()" if value is True else f"Fault.{kind}({value!r})"

    @classmethod
    def error(cls, name: str) -> Fault:
        """Return a fault that responds with an error code; the request has no effect.

        Args:
            name: Kafka's name of the code, such as ``NOT_LEADER_OR_FOLLOWER``.
        """
        return cls({"error": name})

    @classmethod
    def error_after_handling(cls, name: str) -> Fault:
        """Return a fault that handles the request, but responds with an error code.

        A leader does so that loses its leadership while it waits for its followers
        (``NOT_LEADER_OR_FOLLOWER``). A request that changes nothing is rejected, as with
        ``error``.

        Args:
            name: Kafka's name of the code.
        """
        return cls({"error_after_handling": name})

    @classmethod
    def disconnect(cls, when: Literal["before", "after"] = "before") -> Fault:
        """Return a fault that closes the connection instead of responding.

        Args:
            when: ``before`` the request is handled; or ``after``, so that only its response is
                lost.
        """
        return cls({"disconnect": when})

    @classmethod
    def delay(cls, seconds: float) -> Fault:
        """Return a fault that handles the request after a delay.

        Args:
            seconds: the delay in seconds.
        """
        return cls({"delay": float(seconds)})

    @classmethod
    def throttle(cls, milliseconds: int) -> Fault:
        """Return a fault that sets ``throttle_time_ms`` in the response (KIP-219).

        Args:
            milliseconds: the throttle time in milliseconds.
        """
        return cls({"throttle": milliseconds})

    @classmethod
    def silence(cls) -> Fault:
        """Return a fault that never responds, and keeps the connection open."""
        return cls({"silence": True})

    @classmethod
    def omit_partition(cls, index: int) -> Fault:
        """Return a fault that omits a partition of its topic from a Metadata response.

        Args:
            index: the partition's index; ``inject`` names the topic.
        """
        return cls({"omit_partition": index})

    @classmethod
    def move_leader(cls, to: int) -> Fault:
        """Return a fault that moves the request's partitions to another leader first.

        Args:
            to: the id of the new leader.
        """
        return cls({"move_leader": to})

    @classmethod
    def corrupt_records(cls) -> Fault:
        """Return a fault that flips one bit of the records in the response."""
        return cls({"corrupt_records": True})

    @classmethod
    def truncate_frame(cls) -> Fault:
        """Return a fault that sends half of the response, and closes the connection."""
        return cls({"truncate_frame": True})

    @classmethod
    def cut(cls, after_bytes: int) -> Fault:
        """Return a fault that cuts the connection in the middle of its responses.

        Args:
            after_bytes: the number of bytes of responses that the connection still sends after the
                request, wherever in a response that is.
        """
        return cls({"cut": after_bytes})

    @classmethod
    def slow(cls, bytes_per_second: int) -> Fault:
        """Return a fault that makes the request's connection slow until the fault is removed.

        Args:
            bytes_per_second: the maximum number of bytes a second, in each direction.
        """
        return cls({"slow": bytes_per_second})

    @classmethod
    def freeze(cls) -> Fault:
        """Return a fault that stops all bytes of a broker's connections until it is removed.

        It concerns existing and new connections, so that ``broker`` is its only condition. They
        stay open.
        """
        return cls({"freeze": True})

    @classmethod
    def bytes(cls, data: bytes) -> Fault:
        """Return a fault that sends these bytes instead of a response.

        Args:
            data: the bytes.
        """
        return cls({"bytes": data})
