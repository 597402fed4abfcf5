"""Arguments that several commands parse: times, durations, partitions, and pairs of names.

Invariant: an argument that cannot be parsed is an error that names the expected form.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone

from ottla.errors import ConfigError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_CENTURY = 100 * 365 * 86_400.0
TIME_HELP = "2026-11-24T10:00:00Z, or a number of ms since 1970"
DURATION_HELP = "such as 90s, 30m, 12h or 7d"


def parse_duration(text: str) -> timedelta:
    """Parse a duration, such as ``90s`` or ``1d12h``."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ConfigError(f"{text!r} is not a duration: expected one {DURATION_HELP}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise ConfigError(f"{text!r} is too long: expected a duration {DURATION_HELP}") from None


def parse_ago(text: str) -> datetime:
    """Parse how long ago, such as ``12h``; earlier times than the year 1 become the year 1."""
    duration = parse_duration(text)
    try:
        return datetime.now(timezone.utc) - duration
    except OverflowError:
        return datetime.min.replace(tzinfo=timezone.utc)


def parse_time(text: str) -> datetime:
    """Parse a time. Without a time zone, it is in this machine's local time."""
    try:
        if text.isdecimal():
            return datetime.fromtimestamp(int(text) / 1000, timezone.utc)
        # Python 3.10 cannot parse a Z.
        parsed = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
        return parsed.astimezone() if parsed.tzinfo is None else parsed
    except (ValueError, OverflowError, OSError):
        raise ConfigError(f"{text!r} is not a time: expected {TIME_HELP}") from None


def seconds(least: float) -> Callable[[str], float]:
    """Return a parser of an argument in seconds, from ``least`` to a century."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= _CENTURY:
            raise argparse.ArgumentTypeError(f"expected seconds, {least:g} or more, got {text!r}")
        return value

    return parse


def parse_partition(text: str) -> str | tuple[str, int]:
    """Parse ``topic`` or ``topic:partition``."""
    topic, separator, number = text.rpartition(":")
    if not separator:
        return text
    if not topic or not number.isdecimal():
        raise ConfigError(f"{text!r} names no partition: expected TOPIC or TOPIC:PARTITION")
    return topic, int(number)


def add_partitions(parser: argparse.ArgumentParser, *, or_all: bool = False) -> None:
    """Add the argument ``partitions``, for ``parse_partition``.

    Args:
        parser: the parser of a command.
        or_all: whether the argument may be omitted, which means all partitions of the cluster.
    """
    parser.add_argument(
        "partitions",
        nargs="*" if or_all else "+",
        metavar="TOPIC[:PARTITION]",
        help="a topic, or one partition of it" + (" (all)" if or_all else ""),
    )


def parse_pairs(texts: Iterable[str], what: str = "KEY=VALUE") -> dict[str, str]:
    """Parse pairs such as ``retention.ms=1000``.

    Raises:
        ConfigError: a pair has no ``=``, or a name occurs twice.
    """
    found: dict[str, str] = {}
    for each in texts:
        name, separator, value = each.partition("=")
        if not separator or not name:
            raise ConfigError(f"{each!r}: expected {what}")
        if name in found:
            raise ConfigError(f"{name} is given twice")
        found[name] = value
    return found


def add_match(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument ``--match``, for ``matching``."""
    parser.add_argument(
        "--match", metavar="REGEX", help=f"only {what} that this regular expression matches"
    )


def matching(arguments: argparse.Namespace) -> Callable[[str], bool]:
    """Return whether a name matches ``--match``. Without the option, all names match."""
    if arguments.match is None:
        return lambda _: True
    try:
        pattern = re.compile(arguments.match)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"--match {arguments.match!r} is not a regular expression: {error}"
        ) from None
    return lambda name: pattern.search(name) is not None
