"""Writes the JSON Schemas of what commands print with ``--json``: python/ottla/cli/schemas/v1.

Called by `make docs`; tests/unit/test_command_schemas.py checks that the files are current. What
programs can read no longer is only written with ``--accept``.
Invariants: a schema is made from the types that the commands are checked against; a definition that
several schemas have is written once, and `ottla schema` puts them together again; a schema allows
further fields, since these may be added within a version.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import types
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import (
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ottla.admin import (
    Acl,
    ConfigEntry,
    GroupDescription,
    GroupListing,
    PartitionReassignment,
    QuorumDescription,
)
from ottla.cli import schema_files
from ottla.cli.brokers import BrokerDocument
from ottla.cli.completion import Completion
from ottla.cli.configs.diff import ConfigsDiffDocument
from ottla.cli.consume.output import JsonRecord
from ottla.cli.dead_letters.listing import LetterGroup
from ottla.cli.doctor import DoctorReport
from ottla.cli.features import FeaturesDescriptionDocument
from ottla.cli.gateway import GatewayAddresses
from ottla.cli.gateway_users import GatewayUser
from ottla.cli.groups.all_lags import GroupLag
from ottla.cli.groups.lag import NamedGroupLag
from ottla.cli.groups.offsets import GroupOffsets
from ottla.cli.messages import Message
from ottla.cli.offsets import PartitionOffsets
from ottla.cli.output import Changes, TopicPartition
from ottla.cli.produce import Produced
from ottla.cli.profile_list import Profile
from ottla.cli.quotas import EntityQuotas
from ottla.cli.registry.compatibility import Compatibility
from ottla.cli.registry.diff import SchemaDifference
from ottla.cli.registry.level import SubjectLevel
from ottla.cli.registry.mode import SubjectMode
from ottla.cli.registry.schemas import SchemaDocument
from ottla.cli.registry.subjects import Subject
from ottla.cli.schema_files import LOCAL, SHARED, VERSION, references, schema_id
from ottla.cli.tokens import CreatedToken, Token
from ottla.cli.topics.describe import DescribedTopic
from ottla.cli.topics.listing import ListedTopic
from ottla.cli.topics.top_rows import TopDocument
from ottla.cli.topology import TopologyDocument
from ottla.cli.transactions.describe import DescribedTransaction, OpenTransactionDocument
from ottla.cli.transactions.listing import ListedTransaction
from ottla.cli.users import UserCredentials
from ottla.cli.watch.documents import EventLine, LagLine, RatesLine
from ottla.console.command import ConsoleAddress

Schema: TypeAlias = dict[str, Any]
FOLDER = Path(__file__).parent.parent / "python" / "ottla" / "cli" / "schemas" / VERSION
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


CHANGES = {
    "acls": "create delete",
    "configs": "set unset",
    "dead-letters": "replay",
    "features": "update",
    "groups": "clone delete delete-offsets remove-members reset",
    "quorum": "add-voter remove-voter",
    "quotas": "set unset",
    "registry": "delete register reset-level reset-mode set-level set-mode",
    "tokens": "expire renew",
    "topics": "add-partitions clone create delete delete-records elect-leaders reassign",
    "transactions": "abort",
    "users": "delete-password set-password",
}
"""The commands that only change something, by their resources."""

DOCUMENTS: dict[str, Any] = {
    "acls list": list[Acl],
    "brokers": list[BrokerDocument],
    "completion": Completion,
    "configs describe": list[ConfigEntry],
    "configs diff": ConfigsDiffDocument,
    "console": ConsoleAddress,
    "gateway": GatewayAddresses,
    "gateway-users": GatewayUser,
    "consume": JsonRecord,
    "dead-letters list": list[LetterGroup],
    "doctor": DoctorReport,
    "error": Message,
    "features list": FeaturesDescriptionDocument,
    "groups describe": list[GroupDescription],
    "groups lag": list[GroupLag] | list[NamedGroupLag],
    "groups list": list[GroupListing],
    "groups offsets": list[GroupOffsets],
    "offsets": list[PartitionOffsets],
    "produce": Produced,
    "profiles": list[Profile],
    "quorum describe": QuorumDescription,
    "quotas list": list[EntityQuotas],
    "registry compatibility": Compatibility,
    "registry diff": SchemaDifference,
    "registry level": SubjectLevel,
    "registry mode": SubjectMode,
    "registry show": SchemaDocument,
    "registry subjects": list[Subject],
    "registry versions": list[SchemaDocument],
    "schema": list[str] | dict[str, Any],
    "tokens create": CreatedToken | Changes,
    "tokens list": list[Token],
    "topics describe": list[DescribedTopic],
    "topics list": list[ListedTopic],
    "topics reassignments": list[PartitionReassignment],
    "topics top": TopDocument,
    "topology": TopologyDocument,
    "transactions describe": list[DescribedTransaction] | list[OpenTransactionDocument],
    "transactions list": list[ListedTransaction],
    "users list": list[UserCredentials],
    "watch": EventLine | LagLine | RatesLine,
    **{f"{of} {each}": Changes for of, names in CHANGES.items() for each in names.split()},
}
"""The type of what each command prints; ``error`` is a line of standard error."""

LINES = {"consume", "watch", "error"}
"""Those that print a JSON object a line."""


class _Definitions:
    """The definitions of one schema.

    Args:
        pairs_are_objects: whether a topic and a partition become an object, as in all documents
            but the doctor's facts.
    """

    def __init__(self, *, pairs_are_objects: bool) -> None:
        self.found: dict[str, Schema] = {}
        self._types: dict[str, Any] = {}
        self._pairs_are_objects = pairs_are_objects

    def schema_of(self, kind: Any) -> Schema:
        """Return the schema of a type; those of its classes become definitions."""
        origin, arguments = get_origin(kind), get_args(kind)
        if kind is Any:
            return {}
        if kind in _SIMPLE:
            return {"type": _SIMPLE[kind]}
        if origin in {Union, types.UnionType}:
            return _any_of([self.schema_of(each) for each in arguments])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments[-1] is not Ellipsis:
            if arguments == (str, int) and self._pairs_are_objects:
                return self.schema_of(TopicPartition)
            items = [self.schema_of(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema_of(arguments[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.schema_of(arguments[0])}
        if dataclasses.is_dataclass(kind) or is_typeddict(kind):
            return self._reference(kind)
        raise TypeError(f"no schema for {kind!r}")

    def _reference(self, kind: Any) -> Schema:
        name = kind.__name__.removesuffix("Document")
        if self._types.setdefault(name, kind) is not kind:
            raise TypeError(f"two types are called {name}")
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._object(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, kind: Any) -> Schema:
        hints = get_type_hints(kind)
        required = (
            sorted(kind.__required_keys__, key=list(hints).index)
            if is_typeddict(kind)
            else [each.name for each in dataclasses.fields(kind)]
        )
        names = list(hints) if is_typeddict(kind) else required
        described = _attributes(kind)
        properties = {
            name: _described(self.schema_of(hints[name]), described.get(name)) for name in names
        }
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        return {
            "description": summary.replace("``", "`"),
            "type": "object",
            "properties": properties,
            "required": required,
        }


def _attributes(kind: Any) -> dict[str, str]:
    """Return the descriptions of a class's attributes; a subclass describes its own only."""
    return {
        name: " ".join(description.split()).rstrip(".").replace("``", "`").replace("None", "null")
        for each in reversed(kind.__mro__)
        for name, description in _ATTRIBUTE.findall(
            inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")[2]
        )
    }


def _described(schema: Schema, description: str | None) -> Schema:
    return {**schema, "description": description} if description else schema


def _any_of(schemas: list[Schema]) -> Schema:
    if all(each.keys() == {"type"} for each in schemas):
        return {"type": [each["type"] for each in schemas]}
    return {"anyOf": schemas}


def documents() -> dict[str, Schema]:
    """Return the whole schema of each command, by its name."""
    found = {}
    for command, kind in sorted(DOCUMENTS.items()):
        name = command.replace(" ", "-")
        definitions = _Definitions(pairs_are_objects=command != "doctor")
        what = "A line" if command in LINES else "The document"
        place = (
            "of standard error of any command with --json"
            if command == "error"
            else f"that `ottla {command} --json` prints"
        )
        root = definitions.schema_of(kind)
        schema = {
            "$schema": DIALECT,
            "$id": schema_id(name),
            "title": f"{what} {place}",
            **root,
            "$defs": dict(sorted(definitions.found.items())),
        }
        if not schema["$defs"]:
            del schema["$defs"]
        found[name] = schema
    return found


def files() -> dict[str, str]:
    """Return the text of each file, by its name."""
    whole = documents()
    shared = _shared_definitions(whole.values())
    schemas: dict[str, Schema] = {
        SHARED: {
            "$schema": DIALECT,
            "$id": schema_id(SHARED),
            "title": "Definitions of several schemas",
            "$defs": shared,
        }
    }
    for name, schema in whole.items():
        own = {each: found for each, found in schema.get("$defs", {}).items() if each not in shared}
        rest = {key: value for key, value in schema.items() if key != "$defs"}
        schemas[name] = rest | ({"$defs": own} if own else {})
    texts = {name: json.dumps(each, indent=2) + "\n" for name, each in schemas.items()}
    for name in whole:
        for each in shared:
            texts[name] = texts[name].replace(
                f'"{LOCAL}{each}"', f'"{schema_id(SHARED)}{LOCAL}{each}"'
            )
    return {f"{name}.json": text for name, text in texts.items()}


def _shared_definitions(whole: Iterable[Schema]) -> dict[str, Schema]:
    """Return the definitions that several schemas have, of the names with one meaning only."""
    found: defaultdict[str, list[Schema]] = defaultdict(list)
    for schema in whole:
        for name, definition in schema.get("$defs", {}).items():
            found[name].append(definition)
    shared = {
        name: each[0]
        for name, each in found.items()
        if len(each) > 1 and all(other == each[0] for other in each)
    }
    # A shared definition refers to shared ones only.
    while outside := {name for name, each in shared.items() if references(each) - shared.keys()}:
        shared = {name: each for name, each in shared.items() if name not in outside}
    return dict(sorted(shared.items()))


def main() -> int:
    """Write the files, and remove those of commands that are gone; return the exit code."""
    from schema_changes import breaking  # a script finds its neighbours

    before = {each: json.loads(schema_files.text_of(each)) for each in schema_files.names()}
    if (lost := breaking(before, documents())) and "--accept" not in sys.argv[1:]:
        print("A program that reads the JSON of commands may fail:", *lost, sep="\n  ")
        print(
            "docs/reference/stability.md says what may change. If it is intended, "
            "`tools/command_schemas.py --accept` writes it; list it in CHANGELOG.md."
        )
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = files()
    for path in FOLDER.glob("*.json"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
