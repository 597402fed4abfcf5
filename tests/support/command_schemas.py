"""Checks what commands print with `--json` against their JSON Schemas.

Invariant: the check is stricter than the schemas, which allow further fields: a field that no
schema has is an error.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema

from ottla.cli.schema_files import names, text_of
from tests.support.command import CommandResult

# They print the lines of Kafka's own clients.
SYSTEM_TESTS = {"verifiable-producer", "verifiable-consumer", "transactional-copier"}
# Their exit code 1 is a result, as that of `diff`.
COMPARISONS = {"configs diff", "registry compatibility", "registry diff"}
# Signals and the reader's exit end a command without an error of its own.
_SIGNALS = range(128, 160)


def commands(
    parser: argparse.ArgumentParser, prefix: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of each command that has no subcommands."""
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not nested:
        yield " ".join(prefix), parser
    for action in nested:
        for name, each in action.choices.items():
            yield from commands(each, (*prefix, name))


def check_document(command: str, text: str) -> Any:
    """Check that a text is one document of a command, and return it."""
    document = json.loads(text)
    validate(command.replace(" ", "-"), document)
    return document


def check_lines(command: str, text: str) -> list[Any]:
    """Check that each line is a document of a command, and return them."""
    return [check_document(command, line) for line in text.splitlines()]


def check_result(command: str, done: CommandResult, code: int) -> tuple[Any, list[Any]]:
    """Check a command's exit code and both streams; return its document, or None, and errors.

    A command that fails has at least one error on standard error, and one that succeeds has none.
    A comparison with exit code 1 has not failed.
    """
    assert done.code == code, (done.text, done.err)
    messages = check_lines("error", done.waits + done.err)
    errors = [each for each in messages if each["severity"] == "error"]
    is_failure = code not in {0, 1 if command in COMPARISONS else 0, *_SIGNALS}
    assert bool(errors) == is_failure, (done.text, done.err)
    return check_document(command, done.text) if done.out else None, errors


def check_if_json(arguments: Sequence[str], done: CommandResult) -> None:
    """Check the streams of a command that was given `--json`, whatever its exit code is."""
    if "--json" not in arguments:
        return
    check_lines("error", done.waits + done.err)
    if done.out:
        check_document(name_of(arguments), done.text)


def name_of(arguments: Sequence[str]) -> str:
    """Return the name of the schema of a command line that begins with its command."""
    line = "-".join(arguments)
    return max((each for each in names() if line.startswith(each)), key=len)


def validate(name: str, document: Any) -> None:
    """Check a document against a schema."""
    _validator(name).validate(document)


@functools.cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(text_of(name))
    for definition in schema.get("$defs", {}).values():
        definition["additionalProperties"] = False
    return jsonschema.Draft202012Validator(schema)
