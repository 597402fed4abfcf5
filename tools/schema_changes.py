"""What a change of a command's JSON Schema takes away from programs that read its documents.

Invariant: a new field is no change to report, since programs have to ignore fields that they do not
know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
_LOCAL = "#/$defs/"
# The last part of a place such as `[].partitions[].leader`.
_PART = re.compile(r"(\.[^.\[]+|\[\w*\])$")


def breaking(before: Mapping[str, Schema], after: Mapping[str, Schema]) -> list[str]:
    """Return what is gone, or was not possible before, by the names of the commands."""
    found = []
    for name, old in before.items():
        if name not in after:
            found.append(f"{name}: the schema was removed")
            continue
        places, now = _places(old), _places(after[name])
        for place, (kinds, is_required) in places.items():
            at = f"{name}: {place or 'the document'}"
            if place not in now:
                if _PART.sub("", place) in now:
                    found.append(f"{at} was removed")
                continue
            more = now[place][0] - kinds
            if more and kinds:
                found.append(f"{at} may also be {', '.join(sorted(more))}")
            if is_required and not now[place][1]:
                found.append(f"{at} may be missing")
    return found


def _places(schema: Schema) -> dict[str, tuple[set[str], bool]]:
    """Return the types of each place of a document, and whether it is always there."""
    places: dict[str, tuple[set[str], bool]] = {}
    for place, kinds, is_required in _walk(schema, schema, "", True, ()):
        known, was_required = places.get(place, (set(), True))
        places[place] = (known | kinds, was_required and is_required)
    return places


def _walk(
    root: Schema, schema: Any, place: str, is_required: bool, seen: tuple[str, ...]
) -> Iterator[tuple[str, set[str], bool]]:
    if not isinstance(schema, dict):
        return
    if reference := schema.get("$ref"):
        # A type that contains itself has the same fields at each depth.
        if reference not in seen:
            target = root["$defs"][reference.removeprefix(_LOCAL)]
            yield from _walk(root, target, place, is_required, (*seen, reference))
        return
    for each in schema.get("anyOf", ()):
        yield from _walk(root, each, place, is_required, seen)
    kinds = schema.get("type", [])
    # A program that handles all values of an enumeration may not know one that is new.
    values = {json.dumps(each) for each in schema.get("enum", ())}
    yield place, values or {kinds} if isinstance(kinds, str) else {*kinds} | values, is_required
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        yield from _walk(root, each, f"{place}.{name}", is_required and name in required, seen)
    for key in ("items", "additionalProperties"):
        yield from _walk(root, schema.get(key), f"{place}[]", is_required, seen)
    for number, each in enumerate(schema.get("prefixItems", ())):
        yield from _walk(root, each, f"{place}[{number}]", is_required, seen)
