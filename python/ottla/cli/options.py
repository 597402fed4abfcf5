"""Options of all commands: the cluster's address, and the configuration from files and arguments.

``-X`` wins over the file, and addresses on the command line win over both.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ottla import Client
from ottla._core import config_row_of
from ottla.cli.waiting import report_waiting
from ottla.doctor.tree import Style
from ottla.errors import ConfigError


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the cluster's address and for the configuration."""
    parser.add_argument(
        "bootstrap", nargs="?", metavar="BOOTSTRAP", help="host:port, or several with commas"
    )
    parser.add_argument("-b", "--brokers", dest="brokers", help="the same as BOOTSTRAP")
    parser.add_argument(
        "-X",
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a configuration key by Kafka's dotted name; may be repeated",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a properties file, or a TOML file (.toml)"
    )


def record_count(text: str) -> int:
    """Parse the argument of -c, which may not be negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of records, 0 or more, got {text!r}")
    return int(text)


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the configuration of a command.

    Raises:
        ConfigError: the file cannot be read, a -X has no ``=``, or there is no address.
    """
    config: dict[str, Any] = {}
    if arguments.config is not None:
        config = read_config(arguments.config)
    for number, pair in enumerate(arguments.settings, 1):
        key, separator, value = pair.partition("=")
        if not separator:
            # The argument is not shown, since it may be a secret.
            raise ConfigError(f"-X: expected KEY=VALUE, but argument {number} of -X has no =")
        put(config, key.strip(), value)
    servers = arguments.bootstrap or arguments.brokers
    if servers:
        put(config, "bootstrap.servers", servers)
    if not any(value for key, value in config.items() if config_row_of(key) == "bootstrap.servers"):
        raise ConfigError(
            "no broker address: give BOOTSTRAP (host:port), -b, or bootstrap.servers in --config"
        )
    return config


def put(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a key, replacing a value under another client's name of the same key."""
    row = config_row_of(key)
    for name in [name for name in config if row is not None and config_row_of(name) == row]:
        del config[name]
    config[key] = value


def connect(arguments: argparse.Namespace, timeout: float | None = None) -> Client:
    """Return a connected client of the cluster that the arguments name."""
    config = configuration(arguments)
    servers = next(config[key] for key in config if config_row_of(key) == "bootstrap.servers")
    with report_waiting(lambda: f"a response from {servers}"):
        return Client(config=config, timeout=timeout)


def read_config(path: Path) -> dict[str, Any]:
    """Read a configuration file: TOML if its name ends with ``.toml``, else Java properties."""
    try:
        if path.suffix == ".toml":
            return _read_toml(path)
        return dict(read_properties(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {path}: {error}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        # In the standard library since Python 3.11.
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:
        raise ConfigError(
            f"--config {path}: TOML needs Python 3.11; use a properties file"
        ) from error
    try:
        return dict(_flat(tomllib.loads(path.read_text(encoding="utf-8"))))
    except ValueError as error:
        raise ConfigError(f"--config {path}: {error}") from error


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested tables to dotted names: in TOML, ``linger.ms`` is a key in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


_PAIR = re.compile(r"(?P<key>(?:[^=:\s\\]|\\.)+)\s*[=:\s]?\s*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(text: str) -> Iterator[tuple[str, str]]:
    """Parse a properties file by Java's rules: comments, escapes, continuation lines."""
    lines = iter(text.splitlines())
    for first in lines:
        line = first.lstrip()
        if not line or line[0] in "#!":
            continue
        # An odd number of backslashes at the end continues the line.
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1] + next(lines, "").lstrip()
        pair = _PAIR.match(line)
        if pair:
            yield _unescaped(pair["key"]), _unescaped(pair["value"])


def _unescaped(text: str) -> str:
    def character(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPED.get(code, code)

    return _ESCAPE.sub(character, text)


def style() -> Style:
    """Return the style for standard output: colours on terminals only, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = sys.stdout.isatty() and not plain
    try:
        "✓✗├─└│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return Style(color=color, ascii=True)
    return Style(color=color)
