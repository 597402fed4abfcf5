"""A consumer's membership in its group."""

from typing import Any, final

from ottla._core.aliases import TopicPartition

@final
class GroupMetadata:
    """The identity of a consumer in its group.

    A transaction that commits the consumer's offsets sends it (KIP-447).
    It can be pickled, for a producer in another process.

    Args:
        group_id: the group.
        generation: the group's generation (classic) or the member's epoch (KIP-848); -1, the
            default, for no member.
        member_id: the member's id; empty, the default, for no member.
        instance_id: the ``group.instance.id`` of a static member. Default: None.
    """

    def __new__(
        cls,
        group_id: str,
        generation: int = ...,
        member_id: str = ...,
        instance_id: str | None = None,
    ) -> GroupMetadata: ...
    @property
    def group_id(self) -> str:
        """The group (``group.id``)."""
    @property
    def generation(self) -> int:
        """The group's generation, or the member's epoch with KIP-848; -1 if it is not a member."""
    @property
    def member_id(self) -> str:
        """The member's id; empty if it is not a member."""
    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of a static member (KIP-345); None without one."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MemberSubscription:
    """A member of a classic group, as an assignor sees it: see ``ottla.assignors``."""

    @property
    def member_id(self) -> str:
        """The member's id in this group."""
    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of a static member (KIP-345); None without one."""
    @property
    def topics(self) -> list[str]:
        """The topics that the member subscribes to."""
    @property
    def owned(self) -> list[TopicPartition]:
        """The partitions that the member holds while it joins, as topic and number (KIP-429)."""
    @property
    def generation(self) -> int:
        """The generation in which the member got ``owned`` (KIP-792); -1 if unknown."""
    @property
    def rack(self) -> str | None:
        """The member's rack (``client.rack``, KIP-881); None if it has none."""
    @property
    def user_data(self) -> bytes | None:
        """What the member's assignor added to its subscription; None if it added nothing."""

@final
class RebalanceChange:
    """A change of the assignment for ``AsyncConsumer`` to handle."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that were assigned, revoked or lost, as topic and number."""
