"""The files with the JSON Schemas of the commands, and the definitions that they share.

``tools/command_schemas.py`` generates the files. Invariant: a file refers to definitions of its own
and to those of ``definitions.json``, and a schema that is returned has all that it refers to.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from importlib.abc import Traversable

Schema: TypeAlias = dict[str, Any]

VERSION = "v1"
SHARED = "definitions"
"""The file with the definitions of several schemas; it is no schema itself."""
_SUFFIX = ".json"
LOCAL = "#/$defs/"
"""The beginning of a reference to a definition of the same file."""
_REFERENCE = re.compile(rf'"{re.escape(LOCAL)}(\w+)"')


def schema_id(name: str) -> str:
    """Return the ``$id`` of a schema."""
    return f"urn:ottla:cli:{VERSION}:{name}"


def names() -> list[str]:
    """Return the names of the schemas."""
    found = (each.name for each in _folder().iterdir() if each.name.endswith(_SUFFIX))
    return sorted({each.removesuffix(_SUFFIX) for each in found} - {SHARED})


def text_of(name: str) -> str:
    """Return the text of a schema, with all definitions that it needs."""
    schema = json.loads(_read(name).replace(schema_id(SHARED), ""))
    definitions: Schema = schema.get("$defs", {})
    shared: Schema = json.loads(_read(SHARED))["$defs"]
    while missing := references(schema) - definitions.keys():
        definitions |= {each: shared[each] for each in missing}
        schema["$defs"] = definitions
    if definitions:
        schema["$defs"] = dict(sorted(definitions.items()))
    return json.dumps(schema, indent=2) + "\n"


def references(schema: Schema) -> set[str]:
    """Return the names of the definitions that a schema refers to."""
    return {*_REFERENCE.findall(json.dumps(schema))}


def _read(name: str) -> str:
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("ottla.cli") / "schemas" / VERSION
