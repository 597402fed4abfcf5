"""A consumer's membership in its group."""

from typing import Any, final

from ottla._core.aliases import TopicPartition

@final
class GroupMetadata:
    """The identity of a consumer in its group.

    A transaction sends it along with the consumer's offsets (KIP-447). It can be pickled, for a
    producer in another process.

    Args:
        group_id: the group (``group.id``).
        generation: the group's generation, or the member's epoch with KIP-848. Default: -1, not a
            member.
        member_id: the member's id. Default: empty, not a member.
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
        """The group's generation, or the member's epoch with KIP-848; -1 if not a member."""
    @property
    def member_id(self) -> str:
        """The member's id; empty if not a member."""
    @property
    def instance_id(self) -> str | None:
        """The ``group.instance.id`` of a static member (KIP-345); None for other members."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MemberSubscription:
    """The subscription of a member of a classic group, for assignors; see ``ottla.assignors``."""

    @property
    def member_id(self) -> str:
        """The member's id in this group."""
    @property
    def instance_id(self) -> str | None:
        """The ``group.instance.id`` of a static member (KIP-345); None for other members."""
    @property
    def topics(self) -> list[str]:
        """The topics that the member subscribes to."""
    @property
    def owned(self) -> list[TopicPartition]:
        """The partitions that the member owns while it joins, as topic and number (KIP-429)."""
    @property
    def generation(self) -> int:
        """The generation in which ``owned`` was assigned (KIP-792); -1 if unknown."""
    @property
    def rack(self) -> str | None:
        """The member's rack (``client.rack``, KIP-881); None if it has none."""
    @property
    def user_data(self) -> bytes | None:
        """The user data that the member's assignor added to its subscription, or None."""
