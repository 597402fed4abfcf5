"""The topics that ``ottla consume`` reads: those of ``-t``, or those that match ``--pattern``.

Invariant: whether output shows the topic depends on the arguments alone, not on how many topics
match, so that scripts can rely on it.
"""

from __future__ import annotations

import argparse
import re

from ottla import Admin, Client
from ottla._internal.text import listed
from ottla.errors import ConfigError, UnknownTopicError


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Add the arguments ``topics`` and ``pattern``."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument(
        "-t",
        "--topic",
        dest="topics",
        metavar="TOPIC",
        action="append",
        help="the topic; may be repeated",
    )
    either.add_argument(
        "--pattern",
        metavar="REGEX",
        help="all topics whose whole name this regular expression matches, without internal ones",
    )


def check_pattern(arguments: argparse.Namespace) -> None:
    """Check the pattern.

    Raises:
        ConfigError: it is not a regular expression.
    """
    if arguments.pattern is not None:
        _compiled(arguments.pattern)


def shows_topic(arguments: argparse.Namespace) -> bool:
    """Return whether the arguments allow several topics."""
    return arguments.pattern is not None or len(dict.fromkeys(arguments.topics)) > 1


def topics_of(client: Client, arguments: argparse.Namespace) -> list[str]:
    """Return the topics to read, each once.

    Raises:
        UnknownTopicError: no topic matches.
    """
    if arguments.pattern is None:
        return list(dict.fromkeys(arguments.topics))
    pattern = _compiled(arguments.pattern)
    names = (topic.name for topic in Admin(client).list_topics())
    found = [name for name in names if pattern.fullmatch(name)]
    if not found:
        raise UnknownTopicError(
            f"--pattern {arguments.pattern!r} matches the whole name of no topic: "
            "`ottla topics list` shows the names"
        )
    return found


def topics_as_text(arguments: argparse.Namespace) -> str:
    """Return the topics for a message."""
    if arguments.pattern is not None:
        return f"topics that match {arguments.pattern!r}"
    return listed(list(dict.fromkeys(arguments.topics)))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"--pattern {pattern!r} is not a regular expression: {error}") from None
