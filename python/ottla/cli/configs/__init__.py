"""``ottla configs``: show, compare and alter the configuration of topics, brokers and groups."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

from ottla.admin import Alteration, Append, ConfigEntry, ConfigResource, Subtract
from ottla.cli.configs import diff
from ottla.cli.configs.arguments import ALL, TYPES, resource_of, source_text
from ottla.cli.messages import say_error
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_resource,
    add_subcommand,
    admin,
    print_plan,
    show,
)
from ottla.cli.suggestions import suggestion
from ottla.cli.tables import Table
from ottla.errors import ConfigError

_SETTING = re.compile(r"(?P<key>[^=]+?)(?P<operation>[+-]?)=(?P<value>.*)", re.DOTALL)


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "show, compare and alter the configuration of topics, brokers and groups"
    subcommands = [_add_describe, diff.add, _add_set, _add_unset]
    add_resource(commands, "configs", description, subcommands)


def _add_resource_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", choices=sorted(TYPES), help="the kind of resource")
    parser.add_argument(
        "name", help=f"its name; for a broker the id, or `{ALL}` for the defaults of all brokers"
    )


def _add_describe(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands, "describe", run_describe, "show the configuration", has_json=True
    )
    _add_resource_arguments(parser)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="show only these keys")
    parser.add_argument("-a", "--all", action="store_true", help="also show defaults")


def _add_set(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "set",
        run_set,
        "set keys, or elements of lists",
        details="KEY+=VALUE adds an element to a list, KEY-=VALUE removes one.",
    )
    _add_resource_arguments(parser)
    parser.add_argument("settings_of", nargs="+", metavar="KEY=VALUE", help="a key and its value")
    add_dry_run(parser)


def _add_unset(subcommands: Subcommands) -> None:
    parser = add_subcommand(subcommands, "unset", run_unset, "return keys to their defaults")
    _add_resource_arguments(parser)
    parser.add_argument("keys", nargs="+", metavar="KEY", help="the name of a key")
    add_dry_run(parser)


def run_describe(arguments: argparse.Namespace) -> int:
    """Show a configuration; return the exit code."""
    resource = resource_of(arguments.type, arguments.name)
    with admin(arguments) as client:
        found = client.describe_configs([resource], keys=arguments.keys or None)[resource]
        missing = [key for key in arguments.keys if key not in found]
        known = client.describe_configs([resource])[resource] if missing else {}
    chosen = [
        entry
        for _, entry in sorted(found.items())
        if arguments.all or arguments.keys or _is_set(entry)
    ]
    show(arguments, chosen, [_table(resource, chosen)])
    return _report_missing(resource, missing, known)


def _report_missing(resource: ConfigResource, missing: Iterable[str], known: Iterable[str]) -> int:
    """Print the keys that a resource does not have; return the exit code: 1 if there is one."""
    code, known = 0, list(known)
    for key in missing:
        say_error(f"{resource} has no key {key}{suggestion(key, known)}", name="UnknownKey")
        code = 1
    return code


def _is_set(entry: ConfigEntry) -> bool:
    """Return whether an entry was set explicitly; brokers also report cluster-wide defaults."""
    return entry.source not in {"DEFAULT_CONFIG", "UNKNOWN"}


def _table(resource: ConfigResource, entries: Iterable[ConfigEntry]) -> Table:
    rows = [
        [entry.name, "(secret)" if entry.value is None else entry.value, source_text(entry.source)]
        for entry in entries
    ]
    lines = [] if rows else ["nothing is set; --all shows the defaults"]
    return Table(str(resource), ["key", "value", "set by"], rows, lines)


def run_set(arguments: argparse.Namespace) -> int:
    """Alter a configuration; return the exit code."""
    return _alter(arguments, _settings(arguments.settings_of))


def run_unset(arguments: argparse.Namespace) -> int:
    """Return keys to their defaults; return the exit code, 1 if one does not exist."""
    resource = resource_of(arguments.type, arguments.name)
    with admin(arguments) as client:
        # Brokers ignore a key that the resource does not have.
        known = client.describe_configs([resource])[resource]
    missing = [each for each in arguments.keys if each not in known]
    code = _report_missing(resource, missing, known)
    keys = [each for each in arguments.keys if each in known]
    return max(code, _alter(arguments, dict.fromkeys(keys)) if keys else 0)


def _settings(texts: Iterable[str]) -> dict[str, Alteration]:
    settings: dict[str, Alteration] = {}
    for each in texts:
        found = _SETTING.fullmatch(each)
        if found is None:
            raise ConfigError(f"{each!r}: expected KEY=VALUE, KEY+=VALUE or KEY-=VALUE")
        key, value = found["key"], found["value"]
        if key in settings:
            raise ConfigError(f"{key} is given twice")
        settings[key] = {"": value, "+": Append(value), "-": Subtract(value)}[found["operation"]]
    return settings


def _alter(arguments: argparse.Namespace, settings: dict[str, Alteration]) -> int:
    resource = resource_of(arguments.type, arguments.name)
    with admin(arguments) as client:
        plan = client.alter_configs({resource: settings}, dry_run=True)
        if arguments.dry_run:
            print_plan(plan)
            return 0
        client.alter_configs({resource: settings})
    print_plan(plan, applied_to={"resource_type": resource.type, "resource_name": resource.name})
    return 0
