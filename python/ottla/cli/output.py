"""What a command writes to standard output: tables and lines, or one JSON document.

Commands that change something collect the plan and the result of each item, and the document is
written once, when the command ends. Invariants: with ``--json``, standard output has nothing but
that document. What was changed is printed even if the command fails later.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypedDict

from ottla.admin import Plan, PlannedChange
from ottla.cli.messages import Item, Message, error_message, is_json
from ottla.errors import KafkaError


class TopicPartition(TypedDict):
    """A partition of a topic.

    Attributes:
        topic: the topic.
        partition: its number.
    """

    topic: str
    partition: int


class ItemResult(TypedDict):
    """What became of one item.

    Attributes:
        item: the item, such as ``{"topic": "orders"}``.
        outcome: ``done``; ``unchanged``, since it was so already; ``failed``; or ``unknown``, if
            the change may have been made although it failed.
        failure: the error, if it failed.
    """

    item: Item
    outcome: Literal["done", "unchanged", "failed", "unknown"]
    failure: Message | None


class Changes(TypedDict):
    """The document of a command that changes something.

    Attributes:
        applied: whether anything was changed, or may have been. Without ``--yes``, and with
            ``--dry-run``, it is false.
        plan: the changes that the command makes or would make; null if it made no plan.
        results: what became of each item; empty if nothing was tried.
    """

    applied: bool
    plan: list[PlannedChange] | None
    results: list[ItemResult]


class _Pending:
    """The document of the command that runs, until the command ends."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.is_shown = self.is_applied = False
        self.results: list[ItemResult] = []


_pending = _Pending()


@contextmanager
def one_document() -> Iterator[None]:
    """Print what the block has collected when it ends, also by an exception."""
    global _pending
    before, _pending = _pending, _Pending()
    try:
        yield
    finally:
        try:
            _finish(_pending)
        finally:
            _pending = before


def print_document(value: Any) -> None:
    """Print a document as JSON. Dataclasses and partitions become objects."""
    print_json(plain(value))


def print_json(value: Any) -> None:
    """Print a value of JSON's types."""
    json.dump(value, sys.stdout, indent=2)
    print()


def collect_plan(plan: Plan, *, is_shown: bool) -> None:
    """Add a plan to the document.

    Args:
        plan: the plan.
        is_shown: whether the plan is a result, even if nothing else follows.
    """
    _pending.plan = plan
    _pending.is_shown = _pending.is_shown or is_shown


def collect_result(item: Item, error: KafkaError | None, *, is_unchanged: bool = False) -> None:
    """Add the result of an item to the document."""
    _pending.is_shown = True
    if error is None:
        outcome: Any = "unchanged" if is_unchanged else "done"
    else:
        outcome = "unknown" if error.maybe_done else "failed"
    _pending.is_applied = _pending.is_applied or outcome in {"done", "unknown"}
    message = None if error is None else error_message(error, item=item)
    _pending.results.append({"item": item, "outcome": outcome, "failure": message})


def collect_failure(error: KafkaError) -> None:
    """Add an item that failed to the document of a command that changes something, if it is one."""
    message = error_message(error)
    outcome: Any = "unknown" if error.maybe_done else "failed"
    item = message["item"] or Item(name=message["name"] or "")
    _pending.is_applied = _pending.is_applied or error.maybe_done
    _pending.results.append({"item": item, "outcome": outcome, "failure": message})


def collect_nothing() -> None:
    """Print the document even if there is no item."""
    _pending.is_shown = True


def _finish(pending: _Pending) -> None:
    if pending.is_shown and is_json():
        plan = None if pending.plan is None else [*pending.plan]
        print_document(Changes(applied=pending.is_applied, plan=plan, results=pending.results))


def plain(value: Any) -> Any:
    """Return a value in JSON's types. Dataclasses and partitions become objects."""
    match value:
        case (str() as topic, int() as partition):
            return {"topic": topic, "partition": partition}
        case list() | tuple() | set():
            return [plain(each) for each in value]
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case KafkaError():
            return error_message(value)
        case _ if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return {each.name: plain(getattr(value, each.name)) for each in fields}
        case _:
            return value
