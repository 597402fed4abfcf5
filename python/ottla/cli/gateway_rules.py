"""The arguments of ``ottla gateway`` that say what clients may not do.

Invariant: the core reads the rules, so that a wrong one is the same error for every caller.
"""

from __future__ import annotations

import argparse
from typing import Any

_FLAGS = {
    "read_only": "pass on nothing that changes the cluster but what consumers do: memberships, "
    "committed offsets and acknowledgements",
    "no_admin": "pass on nothing that creates or changes topics, configurations, access, "
    "quotas, users, groups or brokers",
}
_LISTS = {
    "deny_api": ("NAME", "do not pass on requests of this API, such as DeleteTopics"),
    "allow_topics": ("PATTERN", "let clients use and see only topics that match the pattern"),
    "deny_topics": ("PATTERN", "do not let clients use or see topics that match the pattern"),
    "allow_groups": ("PATTERN", "let clients use and see only groups that match the pattern"),
    "deny_groups": ("PATTERN", "do not let clients use or see groups that match the pattern"),
}


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    rules = parser.add_argument_group(
        "rules",
        "Clients get Kafka's authorization errors for what the gateway does not pass on. A PATTERN "
        "is a regular expression for whole names.",
    )
    for name, text in _FLAGS.items():
        rules.add_argument(_option(name), action="store_true", help=text)
    for name, (metavar, text) in _LISTS.items():
        text += "; may be repeated"
        rules.add_argument(_option(name), action="append", default=[], metavar=metavar, help=text)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def rules_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the rules as the core takes them."""
    rules = {name: getattr(arguments, name) for name in (*_FLAGS, *_LISTS)}
    rules["deny_apis"] = rules.pop("deny_api")
    return rules
