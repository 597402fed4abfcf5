"""What to do about an error, for programs: the field ``remedy`` of a message.

Invariant: a remedy is a sentence of the error itself, or that of its code; none is guessed. A name
like the given one, which exists, comes first.
"""

from __future__ import annotations

import re

_OF_CODES = {
    "UNKNOWN_TOPIC_OR_PARTITION": "check the name: ottla topics list",
    "TOPIC_ALREADY_EXISTS": "choose another name, or give --if-not-exists",
    "INVALID_TOPIC_EXCEPTION": "use letters, digits, dots, underscores and hyphens, at most 249",
    "INVALID_REPLICATION_FACTOR": "give at most the number of brokers: ottla brokers",
    "INVALID_CONFIG": "check the keys and values: ottla configs describe --all",
    "GROUP_ID_NOT_FOUND": "check the id: ottla groups list",
    "NON_EMPTY_GROUP": "stop its members, or remove them: ottla groups remove-members",
    "GROUP_SUBSCRIBED_TO_TOPIC": "stop its members, or remove them: ottla groups remove-members",
    "TOPIC_AUTHORIZATION_FAILED": "allow the operation on the topic: ottla acls create",
    "GROUP_AUTHORIZATION_FAILED": "allow the operation on the group: ottla acls create",
    "CLUSTER_AUTHORIZATION_FAILED": "allow the operation on the cluster: ottla acls create",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
        "allow the operation on the transactional id: ottla acls create"
    ),
    "DELEGATION_TOKEN_NOT_FOUND": "check the id: ottla tokens list",
}
_SUGGESTED = re.compile(r"; did you mean (?P<name>.+)\?$")
# The last clause of a message says what to do if it begins with a verb, or names a command.
_CLAUSE = re.compile(
    r"(?:.*(?:; |: ))?(?P<remedy>(?:(?:give|name|expected|use|choose|check|repeat|raise|lower|set|"
    r"add|install|stop|open|grant|leave|close|abort|pip)\b|`?ottla ).*)",
    re.DOTALL,
)


def remedy_of(name: str | None, text: str, *, retriable: bool) -> str | None:
    """Return what to do about an error, or None if that is not known.

    Args:
        name: the name of the error.
        text: its message, without its context.
        retriable: whether the same command may succeed later.
    """
    if suggested := _SUGGESTED.search(text):
        general = f", or {_OF_CODES[name]}" if name in _OF_CODES else ""
        return f"use {suggested['name']}{general}"
    found = _CLAUSE.fullmatch(text)
    # A message that quotes a command names the resource, too.
    is_exact = found is not None and "`ottla " in found["remedy"]
    if name in _OF_CODES and not is_exact:
        return _OF_CODES[name]
    if found is not None:
        return found["remedy"]
    return "repeat the command later" if retriable else None
