"""The releases of Kafka that tests start brokers of, by their sets of jars in tools/jars.sh.

    OTTLA_TEST_KAFKA=kafka-3.9 pytest -m cluster tests/cluster tests/compat

The variable chooses the release of all clusters that do not ask for one. Without it, that is the
current release.
"""

from __future__ import annotations

import os
import re

from tests.support.jars import jars

VARIABLE = "OTTLA_TEST_KAFKA"

CURRENT = "brokers"
ZOOKEEPER_RELEASES = ("kafka-2.8",)
OLDER = ("kafka-4.3", "kafka-3.9", *ZOOKEEPER_RELEASES)
"""Older releases for which tests state what differs."""
OLDEST = "kafka-2.8"
LOG4J_1_RELEASES = ("kafka-3.9", *ZOOKEEPER_RELEASES)
"""Log with log4j 1."""
# Java's commands that moved: the old package, and the first release that has them in the new one.
_MOVED = {
    "AclCommand": ("kafka.admin", (4, 0)),
    "ConfigCommand": ("kafka.admin", (4, 4)),
    "ConsoleProducer": ("kafka.tools", (4, 0)),
    "ConsumerGroupCommand": ("kafka.admin", (3, 8)),
    "FeatureCommand": ("kafka.admin", (3, 6)),
    "GetOffsetShell": ("kafka.tools", (3, 7)),
    "LeaderElectionCommand": ("kafka.admin", (3, 7)),
    "LogDirsCommand": ("kafka.admin", (3, 6)),
    "ReassignPartitionsCommand": ("kafka.admin", (3, 7)),
    "TopicCommand": ("kafka.admin", (3, 7)),
}
RELEASES = (*ZOOKEEPER_RELEASES, "kafka-3.9", "kafka-4.0", "kafka-4.3", CURRENT)
"""All, the oldest first."""


def selected() -> str:
    """Return the release of clusters that do not ask for one.

    Raises:
        ValueError: the variable names no release.
    """
    release = os.environ.get(VARIABLE, CURRENT)
    if release not in RELEASES:
        raise ValueError(f"{VARIABLE}={release}: no such release; there are {', '.join(RELEASES)}")
    return release


def main_class(release: str, main: str) -> str:
    """Return the class of a Java command in a release, by its name in the current one."""
    name = main.rpartition(".")[2]
    package, since = _MOVED.get(name, ("", (0, 0)))
    return main if number(release) >= since else f"{package}.{name}"


def version(release: str) -> str:
    """Return the exact version of a release's jars, such as `3.9.2`."""
    [found] = [
        match[1]
        for jar in jars(release)
        if (match := re.fullmatch(r"kafka-clients-([\d.]+)\.jar", jar.name))
    ]
    return found


def number(release: str) -> tuple[int, int]:
    """Return the major and minor number of a release."""
    major, minor = version(release).split(".")[:2]
    return int(major), int(minor)
