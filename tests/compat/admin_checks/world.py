"""The fixture of the checks of Admin's calls.

Invariant: a check leaves nothing behind that another one would see.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import ottla
from ottla import errors
from tests.compat.conftest import OlderKafka


@dataclass
class World:
    """A cluster, a client, a client that has logged in, and a topic with 10 records."""

    kafka: OlderKafka
    admin: ottla.Admin
    user_admin: ottla.Admin
    topic: str

    def new_name(self) -> str:
        """Return a new name for a topic, a group or a user."""
        return f"older-{uuid.uuid4().hex[:12]}"

    def new_topic(self, partitions: int = 1, replicas: int = 1) -> str:
        """Return a new topic, which all brokers know."""
        name = self.new_name()
        self.kafka.create_topic(name, partitions, replicas)
        return name

    def new_group(self) -> str:
        """Return a group that has committed an offset of the topic."""
        group = self.new_name()
        self.admin.alter_group_offsets(group, {(self.topic, 0): 4})
        return group


def refused(call: Callable[[], object], message: str) -> None:
    """Check that the brokers refuse a call with this message; another error is raised."""
    try:
        call()
    except errors.BrokerError as error:
        if message not in str(error):
            raise
    else:
        raise AssertionError(f"not refused: {message}")
