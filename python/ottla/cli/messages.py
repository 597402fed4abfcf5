"""Messages of commands on standard error: errors, warnings and progress, as text or as JSON.

Invariants: with ``--json``, each line is one JSON object, and all have the same fields. A message
has no secret, since the messages of errors have none.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypedDict, cast

from ottla._internal.text import clean
from ottla.cli.remedies import remedy_of
from ottla.errors import KafkaError

Severity: TypeAlias = Literal["error", "warning", "info"]


class Item(TypedDict, total=False):
    """What a message or a result is about: the fields that identify it, and no others.

    Attributes:
        topic: a topic.
        partition: a partition of the topic.
        offset: the offset of a record.
        index: the index of a record in the input, from 0.
        broker: the id of a broker.
        address: the address of a broker.
        group_id: a group.
        member_id: a member of a group.
        feature: a feature of the cluster.
        token_id: a delegation token.
        transactional_id: a transactional id.
        replica_id: a node of the quorum.
        user: a user; of a quota, empty for the default and null for any.
        client_id: a client.id of a quota, likewise.
        ip: an address of a quota, likewise.
        resource_type: the kind of a resource, of an access control entry or a configuration.
        resource_name: its name.
        pattern_type: how an access control entry matches names.
        principal: the principal of an access control entry.
        host: the client address of an access control entry.
        operation: the operation of an access control entry.
        permission: whether it allows or denies.
        subject: a subject of a schema registry; null for the registry itself.
        version: a version of the subject.
        schema_id: the id of a schema.
        name: the name of anything else.
    """

    topic: str
    partition: int
    offset: int
    index: int
    broker: int
    address: str
    group_id: str
    member_id: str
    feature: str
    token_id: str
    transactional_id: str
    replica_id: int
    user: str | None
    client_id: str | None
    ip: str | None
    resource_type: str | None
    resource_name: str | None
    pattern_type: str | None
    principal: str | None
    host: str | None
    operation: str | None
    permission: str | None
    subject: str | None
    version: int
    schema_id: int
    name: str


class Message(TypedDict):
    """A line of standard error.

    Attributes:
        severity: how bad it is.
        name: Kafka's name of the error, or its class; null if it is no error.
        code: Kafka's error code, if a broker returned one.
        message: all of it, for people.
        cause: why it happened, if that is known.
        remedy: what to do, if that is known.
        maybe_done: whether the change may have been made nevertheless.
        retriable: whether the same command may succeed later.
        item: what it is about, such as a topic; null if it is about the whole command.
    """

    severity: Severity
    name: str | None
    code: int | None
    message: str
    cause: str | None
    remedy: str | None
    maybe_done: bool
    retriable: bool
    item: Item | None


class _Mode:
    """Whether messages are JSON. All threads of a command share it."""

    as_json = False


_CODE = re.compile(r"^(?:(?P<detail>.*): )?[A-Z_]{4,} \(-?\d+\): (?P<meaning>.*)$", re.DOTALL)
_CONTEXT = re.compile(r" \[[^\[\]]*\](?=$|; did you mean )")
_SUGGESTION = re.compile(r"; did you mean (?P<name>.+)\?$")
# A detail that says only what the error is about.
_IS_NAME = re.compile(
    r"(?:broker|group|topic|transactional id|user|feature|member|quota of|subject) \S+"
    r"(?: of group \S+)?"
)
# The parts of an error's context that name an item of a command.
_ITEM = ("topic", "partition", "broker", "address", "subject", "group_id", "transactional_id")


def is_json() -> bool:
    """Return whether the command that runs prints JSON."""
    return _Mode.as_json


def set_json(value: bool) -> None:
    """Set whether the command that runs prints JSON."""
    _Mode.as_json = value


@contextmanager
def text_or_json(as_json: bool) -> Iterator[None]:
    """Print JSON or text in the block, and what was printed before it again after it."""
    before = _Mode.as_json
    _Mode.as_json = as_json
    try:
        yield
    finally:
        _Mode.as_json = before


def say(
    message: str, severity: Severity = "info", *, item: Mapping[str, Any] | None = None
) -> None:
    """Print a message that is no exception's."""
    _print(message, _message(severity, message, item=item))


def say_error(
    error: BaseException | str,
    *,
    name: str | None = None,
    prefix: str = "",
    suffix: str = "",
    item: Mapping[str, Any] | None = None,
    remedy: str | None = None,
    limit: int | None = None,
) -> None:
    """Print an error.

    Args:
        error: the exception, or the message of an error that has no class.
        name: the name of an error without a class.
        prefix: comes before its message as text; JSON has ``item`` in its place.
        suffix: comes after its message as text; JSON has ``maybe_done`` in its place.
        item: what it is about. Default: what the context of the exception names.
        remedy: what to do. Default: what the message or the code says.
        limit: the characters of its message as text. Default: all.
    """
    text = str(error) if limit is None else shortened(str(error), limit)
    _print(f"{prefix}{text}{suffix}", error_message(error, name=name, item=item, remedy=remedy))


def error_message(
    error: BaseException | str,
    *,
    name: str | None = None,
    item: Mapping[str, Any] | None = None,
    remedy: str | None = None,
) -> Message:
    """Return an error as a ``Message``; the arguments are those of ``say_error``."""
    text = str(error)
    if isinstance(error, KafkaError):
        found = _message("error", text, name=error.name or type(error).__name__)
        found["code"] = error.code
        found["cause"] = _cause(error, text)
        found["maybe_done"], found["retriable"] = error.maybe_done, error.retriable
        context = {key: error.context[key] for key in _ITEM if key in error.context}
        found["item"] = cast("Item", dict(item or context)) or None
    else:
        kind = "CommandError" if isinstance(error, str) else type(error).__name__
        found = _message("error", text, name=name or kind, item=item)
    found["remedy"] = remedy or remedy_of(
        found["name"], _CONTEXT.sub("", text), retriable=found["retriable"]
    )
    return found


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; both ends stay, as a remedy is at the end."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]} … {text[len(text) - (limit - head - 3) :]}"


class WarningFormatter(logging.Formatter):
    """Formats the client's warnings as messages of the command that runs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        text = record.getMessage()
        return json.dumps(_message("warning", text)) if _Mode.as_json else f"ottla: {text}"


def _message(
    severity: Severity,
    text: str,
    *,
    name: str | None = None,
    item: Mapping[str, Any] | None = None,
) -> Message:
    return {
        "severity": severity,
        "name": name,
        "code": None,
        "message": text,
        "cause": None,
        "remedy": None,
        "maybe_done": False,
        "retriable": False,
        "item": None if item is None else cast("Item", dict(item)),
    }


def _cause(error: KafkaError, text: str) -> str | None:
    if error.attempts:
        # Several addresses of one server mostly fail for one reason.
        causes = [
            ": ".join(part for part in (each.address, each.phase, each.message) if part)
            for each in error.attempts
        ]
        return "; ".join(dict.fromkeys(causes))
    found = _CODE.fullmatch(_SUGGESTION.sub("", _CONTEXT.sub("", text)))
    if found is None:
        return None
    if found["detail"] and not _IS_NAME.fullmatch(found["detail"]):
        return found["detail"]
    return found["meaning"]


def _print(text: str, message: Message) -> None:
    # Names and arguments must not control the terminal.
    shown = "\n".join(map(clean, text.split("\n")))
    line = json.dumps(message) if _Mode.as_json else f"ottla: {shown}"
    # In one piece, as other threads print too.
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
