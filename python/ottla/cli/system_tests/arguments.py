"""The arguments that the clients share, and their configuration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ottla.cli.options import put, read_config


def add_common(parser: argparse.ArgumentParser, *files: str) -> None:
    """Add the addresses and the configuration file, whose option has several names."""
    parser.add_argument(
        "--bootstrap-server",
        "--broker-list",
        dest="servers",
        required=True,
        metavar="HOST:PORT,…",
        help="addresses of brokers",
    )
    parser.add_argument(
        "--command-config",
        *files,
        dest="config",
        type=Path,
        metavar="FILE",
        help="a properties file with more configuration, which overrides arguments",
    )


def configuration(arguments: argparse.Namespace, own: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a client, overridden by the file."""
    config: dict[str, Any] = {"bootstrap.servers": arguments.servers}
    for key, value in own.items():
        if value is not None:
            put(config, key, value)
    if arguments.config is not None:
        for key, value in read_config(arguments.config).items():
            put(config, key, value)
    return config


def limit(count: int) -> float:
    """Return a maximum number of records; a negative argument means no limit."""
    return float("inf") if count < 0 else count


def one_of(*allowed: str) -> Any:
    """Return a parser of arguments that ignores case, as Java's does."""

    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise argparse.ArgumentTypeError(f"expected {' or '.join(allowed)}, got {text!r}")
        return text.lower()

    return parse
