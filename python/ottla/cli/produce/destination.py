"""The topic that ``ottla produce`` writes to.

Invariant: a topic that does not exist is created only with ``--create``, or after a yes on a
terminal. A producer alone would let brokers create it, so a mistyped name would be a new topic.
"""

from __future__ import annotations

import sys

from ottla import Admin
from ottla.admin import NewTopic
from ottla.cli.messages import say, say_error
from ottla.cli.suggestions import with_topics
from ottla.errors import KafkaError, TopicExistsError, UnknownTopicError


def ensure_topic(client: Admin, name: str, *, create: bool) -> None:
    """Check that a topic exists; create it with the defaults of the cluster if that is wanted.

    Args:
        client: the client.
        name: the topic.
        create: whether to create it without asking.

    Raises:
        UnknownTopicError: it does not exist, and is not to be created.
    """
    found = client.describe_topics([name], errors="return")[name]
    # If the cluster refuses to describe it, the producer reports why.
    if not isinstance(found, UnknownTopicError):
        return
    if not create:
        with_topics(client, found)
        if not _asked(name, found):
            found.args = (f"{found}; nothing was written, and --create creates the topic",)
            raise found
    created = client.create_topics([NewTopic(name)], errors="return")[name]
    if isinstance(created, KafkaError) and not isinstance(created, TopicExistsError):
        raise created
    say(f"created topic {name}")


def _asked(name: str, error: KafkaError) -> bool:
    """Return whether a person at a terminal wants the topic to be created."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say_error(error)
    print(f"Create topic {name}? [y/N] ", end="", file=sys.stderr, flush=True)
    # Records are read from the same buffer afterwards.
    return sys.stdin.buffer.readline().strip().lower() in {b"y", b"yes"}
