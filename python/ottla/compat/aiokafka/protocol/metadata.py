"""The request for metadata, which ddtrace imports to look for the id of the cluster.

Invariant: nothing sends it; ddtrace's spans have no such id.
"""

from __future__ import annotations

__all__ = ["MetadataRequest"]


class MetadataRequest:
    """A description of a request.

    Args:
        topics: the topics; None for all.
        allow_auto_topic_creation: whether brokers may create them.
    """

    def __init__(
        self, topics: list[str] | None = None, allow_auto_topic_creation: bool | None = None
    ) -> None:
        self.topics = topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
