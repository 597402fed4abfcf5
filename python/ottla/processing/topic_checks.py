"""The topics that a processor reads and writes: whether they exist, and their creation.

Invariant: no topic is created unless that was asked for, and an error names all that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ottla._internal.steps import Steps
from ottla.errors import TopicExistsError, UnknownTopicError
from ottla.processing.retry_policy import RetryPolicy

__all__ = ["check_topics"]


def check_topics(
    consumer: Any,
    topics: Sequence[str],
    policy: RetryPolicy,
    create: Callable[[Sequence[Any]], Any] | None,
) -> Steps:
    """Check that all topics exist, or create those for records that failed.

    A new topic has as many partitions as the topic that its records are from.

    Args:
        consumer: the consumer.
        topics: the topics that are read.
        policy: the names of the others.
        create: creates topics. Default: missing topics are an error.

    Raises:
        UnknownTopicError: topics are missing, or the principal may not describe them.
    """
    existing = set((yield consumer.topic_names))
    wanted = {
        name: topic
        for topic in topics
        for name in (*policy.retry_topics(topic), policy.dead_letters(topic))
    }
    missing = [name for name in topics if name not in existing]
    to_create = [name for name in wanted if name not in existing]
    if create is None:
        missing += to_create
    if missing:
        names = ", ".join(missing)
        can_create = set(missing) - set(topics)
        remedy = "or let the processor create those of failed records with create_topics=True"
        raise UnknownTopicError(
            f"these topics do not exist, or the principal may not describe them: {names}; create "
            f"them with `ottla topics create`{', ' + remedy if can_create else ''}"
        )
    if to_create and create is not None:
        from ottla.admin import NewTopic

        new = []
        for name in to_create:
            partitions = yield partial(consumer.partitions_for, wanted[name])
            new.append(NewTopic(name, partitions=len(partitions)))
        # Another process of the group may have created a topic meanwhile.
        for error in (yield partial(create, new)).values():
            if error is not None and not isinstance(error, TopicExistsError):
                raise error
