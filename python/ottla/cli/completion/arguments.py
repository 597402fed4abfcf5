"""Which names complete which argument of a command.

An argument is recognised by its metavar or its destination, so that commands need no code for
completion. Completers get the arguments before the cursor, which include the cluster's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from argcomplete.completers import FilesCompleter

from ottla._core import config_row_of, config_rows
from ottla.admin.config_resources import ResourceType
from ottla.cli.completion import names
from ottla.cli.profiles import read_profiles

_COUNT = 500
"""The number of completions that a shell is given: it would ask before it shows more."""

_Ask = Callable[[str, names.Read], list[str]]
"""Returns the cluster's names of a kind."""

_Completer = Callable[[argparse.Namespace, str, _Ask], Iterable[str]]
"""Returns completions from the arguments before the cursor and the start of the word."""


def add_completers(parser: argparse.ArgumentParser, deadline: float) -> None:
    """Set the completer of each argument that takes names or files.

    Args:
        parser: the parser of all commands, or of one.
        deadline: the time by ``time.monotonic`` at which the process ends.
    """
    # argparse has no public way to its arguments.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action.choices, Mapping):  # of subcommands
            for each in action.choices.values():
                add_completers(each, deadline)
        elif action.type is Path:
            action.completer = FilesCompleter()  # type: ignore[attr-defined]
        elif action.metavar == "SUBJECT":
            action.completer = partial(_subjects, deadline)  # type: ignore[attr-defined]
        elif (completer := _completer_of(parser.prog, action)) is not None:
            action.completer = partial(_run, completer, deadline)  # type: ignore[attr-defined]


def _run(
    completer: _Completer,
    deadline: float,
    prefix: str,
    parsed_args: argparse.Namespace,
    **_: Any,
) -> list[str]:
    def ask(kind: str, read: names.Read) -> list[str]:
        return names.names(parsed_args, kind, read, deadline)

    try:
        found = [each for each in completer(parsed_args, prefix, ask) if each.startswith(prefix)]
    except Exception:  # noqa: BLE001  # a prompt shows no errors: the command reports them
        return []
    return found[:_COUNT]


def _subjects(deadline: float, prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Complete the subjects of a schema registry."""
    found = names.subjects(parsed_args, prefix, deadline)
    return [each for each in found if each.startswith(prefix)][:_COUNT]


def _completer_of(command: str, action: argparse.Action) -> _Completer | None:
    """Return the completer of an argument; None if it takes no names."""
    dest, metavar = action.dest, action.metavar
    if dest == "id" and "transactions" in command:
        return _BY_DEST["transactional_id"]
    if dest == "name" and "configs" in command:
        return _resources
    if dest in ("keys", "settings_of"):
        return partial(_config_keys, "=" if dest == "settings_of" else "")
    if dest == "configs" and metavar == "KEY=VALUE":
        return _topic_keys
    if isinstance(metavar, str) and metavar in _BY_METAVAR:
        return _BY_METAVAR[metavar]
    return _BY_DEST.get(dest)


def _named(kind: str, read: names.Read, before: str = "", after: str = "") -> _Completer:
    """Return a completer of names of a kind, between two texts."""

    def complete(_: argparse.Namespace, __: str, ask: _Ask) -> Iterable[str]:
        return [f"{before}{name}{after}" for name in ask(kind, read)]

    return complete


def _topic_partitions(_: argparse.Namespace, prefix: str, ask: _Ask) -> Iterable[str]:
    """Complete ``TOPIC[:PARTITION]``."""
    topic, colon, _number = prefix.partition(":")
    if not colon:
        return ask("topics", names.topics)
    return [f"{topic}:{n}" for n in ask(f"partitions of {topic}", names.partitions_of(topic))]


def _partitions(arguments: argparse.Namespace, prefix: str, ask: _Ask) -> Iterable[str]:
    """Complete the partitions of the topic that another option names."""
    # `consume` takes several topics.
    topic = arguments.topics[0] if hasattr(arguments, "topics") else arguments.topic
    return _in_list(prefix, ask(f"partitions of {topic}", names.partitions_of(topic)))


def _broker_list(_: argparse.Namespace, prefix: str, ask: _Ask) -> Iterable[str]:
    return _in_list(prefix, ask("brokers", names.brokers))


def _in_list(prefix: str, items: Iterable[str]) -> Iterator[str]:
    """Yield completions of the last item of a list with commas."""
    earlier, comma, _ = prefix.rpartition(",")
    return (f"{earlier}{comma}{each}" for each in items if each not in earlier.split(","))


_RESOURCES: dict[str, tuple[ResourceType, str, names.Read]] = {
    "topic": ("topic", "topics", names.topics),
    "broker": ("broker", "brokers", names.brokers),
    "broker-logger": ("broker_logger", "brokers", names.brokers),
    "group": ("group", "groups", names.groups),
    "client-metrics": ("client_metrics", "client metrics", names.client_metrics),
}


def _resources(arguments: argparse.Namespace, _: str, ask: _Ask) -> Iterable[str]:
    """Complete the name of a resource that has a configuration."""
    type_, kind, read = _RESOURCES[arguments.type]
    return [*ask(kind, read), *(["default"] if type_ == "broker" else [])]


def _config_keys(after: str, arguments: argparse.Namespace, _: str, ask: _Ask) -> Iterable[str]:
    """Complete the configuration keys of the resource before the cursor."""
    type_ = _RESOURCES[arguments.type][0]
    name = "" if (type_, arguments.name) == ("broker", "default") else arguments.name
    read = names.config_keys(type_, name)
    return [f"{key}{after}" for key in ask(f"keys of {type_} {name}", read)]


def _topic_keys(_: argparse.Namespace, __: str, ask: _Ask) -> Iterable[str]:
    """Complete the configuration keys of a topic that does not exist yet."""
    read = names.config_keys("topic", None)
    return [f"{key}=" for key in ask("keys of topics", read)]


def _profiles(_: argparse.Namespace, __: str, ___: _Ask) -> Iterable[str]:
    return sorted(read_profiles(warns=False))


def _addresses(_: argparse.Namespace, __: str, ___: _Ask) -> Iterable[str]:
    """Complete addresses from the profiles, unless they have credentials."""
    found = {
        value
        for keys in read_profiles(warns=False).values()
        for key, value in keys.items()
        if (config_row_of(key) or "").startswith("bootstrap.") and "@" not in value
    }
    return sorted(found)


def _settings(_: argparse.Namespace, __: str, ___: _Ask) -> Iterable[str]:
    """Complete the client's configuration keys."""
    return sorted(f"{name}=" for name, *_ in config_rows())


_QUOTAS = [
    "connection_creation_rate",
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
]


def _quotas(after: str, _: argparse.Namespace, __: str, ___: _Ask) -> Iterable[str]:
    return [f"{name}{after}" for name in _QUOTAS]


_BY_METAVAR: dict[str, _Completer] = {
    "TOPIC": _named("topics", names.topics),
    "TOPIC[:PARTITION]": _topic_partitions,
    "GROUP": _named("groups", names.groups),
    "USER": _named("users", names.users),
    "IDS": _broker_list,
    "FEATURE=LEVEL": _named("features", names.features, after="="),
    "QUOTA=NUMBER": partial(_quotas, "="),
    "QUOTA": partial(_quotas, ""),
}

_BY_DEST: dict[str, _Completer] = {
    "topic": _BY_METAVAR["TOPIC"],
    "group": _BY_METAVAR["GROUP"],
    "user": _BY_METAVAR["USER"],
    "principal": _named("users", names.users, before="User:"),
    "owner": _named("users", names.users, before="User:"),
    "transactional_id": _named("transactional ids", names.transactional_ids),
    "partition": _partitions,
    "profile": _profiles,
    "profiles": _profiles,
    "bootstrap": _addresses,
    "brokers": _addresses,
    "settings": _settings,
}
