"""What a change of a command's JSON Schema takes away from programs that read its documents.

Invariants: a change is reported if a document of the new schema may be one that a reader of the old
schema does not understand: what commands print may become narrower, and never wider. A new field is
no change to report, since programs have to ignore fields that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Schema: TypeAlias = dict[str, Any]
_LOCAL = "#/$defs/"
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_TYPE_OF = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class _Union(NamedTuple):
    """The schemas of which a value has one, without references and unions; their document."""

    root: Schema
    branches: list[Schema]

    def of_type(self, kind: str) -> list[Schema]:
        return [each for each in self.branches if kind in _atoms(each)]

    def part(self, schemas: list[Any]) -> _Union:
        return _Union(self.root, [each for one in schemas for each in _branches(self.root, one)])


def breaking(before: Mapping[str, Schema], after: Mapping[str, Schema]) -> list[str]:
    """Return what is gone, or was not possible before, by the names of the commands."""
    found = []
    for name, old in before.items():
        if name not in after:
            found.append(f"{name}: the schema was removed")
            continue
        new = after[name]
        one, other = _Union(old, _branches(old, old)), _Union(new, _branches(new, new))
        found += [
            f"{name}: {place or 'the document'} {what}"
            for place, what in _compared(one, other, "", ())
        ]
    return found


def _compared(
    old: _Union, new: _Union, place: str, within: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the places of what a reader of ``old`` does not understand in ``new``."""
    pair = json.dumps([old.branches, new.branches], sort_keys=True)
    if pair in within:
        # A type that contains itself has the same fields at each depth.
        return
    within = (*within, pair)
    known = _atoms_of(old)
    more = {atom for atom in _atoms_of(new) if not _is_known(atom, known)}
    if more and _atoms_of(new) >= _TYPES:
        yield place, "may be of any type"
        return
    if more:
        yield place, f"may also be {', '.join(sorted(more))}"
    yield from _compared_objects(old, new, place, within)
    yield from _compared_arrays(old, new, place, within)


def _compared_objects(
    old: _Union, new: _Union, place: str, within: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    before, after = old.of_type("object"), new.of_type("object")
    if not (before and after):
        return
    others = [each["additionalProperties"] for each in before if _has_values(each)]
    names = list(dict.fromkeys(name for each in before for name in each.get("properties", ())))
    for name in names:
        fields = _fields(after, name)
        if not fields:
            yield f"{place}.{name}", "was removed"
            continue
        if _is_required(before, name) and not _is_required(after, name):
            yield f"{place}.{name}", "may be missing"
        pair = (old.part(_fields(before, name)), new.part(fields))
        yield from _compared(*pair, f"{place}.{name}", within)
    if others:
        values = [each["additionalProperties"] for each in after if _has_values(each)]
        if not values:
            yield f"{place}[]", "was removed"
        # A reader of a map takes a field with a name for one of its values.
        values += [
            field
            for each in after
            for name, field in each.get("properties", {}).items()
            if name not in names
        ]
        yield from _compared(old.part(others), new.part(values), f"{place}[]", within)


def _compared_arrays(
    old: _Union, new: _Union, place: str, within: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    before, after = old.of_type("array"), new.of_type("array")
    if not (before and after):
        return
    length = max(len(each.get("prefixItems", ())) for each in before)
    for number in range(length):
        at = f"{place}[{number}]"
        items = [item for each in after for item in _items(each, number)]
        if not items:
            yield at, "was removed"
            continue
        if all(number < each.get("minItems", 0) for each in before) and not all(
            number < each.get("minItems", 0) for each in after
        ):
            yield at, "may be missing"
        expected = [item for each in before for item in _items(each, number)]
        yield from _compared(old.part(expected), new.part(items), at, within)
    if rest := [item for each in before for item in _items(each, length)]:
        items = [
            item
            for each in after
            for item in (*each.get("prefixItems", ())[length:], *_items(each, None))
        ]
        yield from _compared(old.part(rest), new.part(items), f"{place}[]", within)


def _branches(root: Schema, schema: Any, seen: tuple[str, ...] = ()) -> list[Schema]:
    """Return the schemas of a union, or the schema itself; ``true`` is the one of any value."""
    if isinstance(schema, bool):
        return [{}] if schema else []
    if (reference := schema.get("$ref")) is not None:
        if reference in seen:
            return []
        target = root["$defs"][reference.removeprefix(_LOCAL)]
        return _branches(root, target, (*seen, reference))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            own = {name: each for name, each in schema.items() if name != key}
            found = [each for one in schema[key] for each in _branches(root, one, seen)]
            return [{**own, **each} for each in found]
    return [schema]


def _atoms(schema: Schema) -> set[str]:
    """Return the types of a schema, or its values as JSON; no type is all of them."""
    if "const" in schema:
        return {json.dumps(schema["const"])}
    if "enum" in schema:
        # A program that handles all values of an enumeration may not know one that is new.
        return {json.dumps(each) for each in schema["enum"]}
    kinds = schema.get("type", sorted(_TYPES))
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _atoms_of(union: _Union) -> set[str]:
    return {atom for each in union.branches for atom in _atoms(each)}


def _is_known(atom: str, known: set[str]) -> bool:
    """Return whether a reader of some types and values understands one."""
    kind = atom if atom in _TYPES else _TYPE_OF.get(type(json.loads(atom)))
    return atom in known or kind in known or (kind == "integer" and "number" in known)


def _fields(objects: list[Schema], name: str) -> list[Any]:
    return [each["properties"][name] for each in objects if name in each.get("properties", ())]


def _is_required(objects: list[Schema], name: str) -> bool:
    return all(name in each.get("required", ()) for each in objects)


def _has_values(schema: Schema) -> bool:
    """Return whether an object is a map, whose other fields have a type."""
    return isinstance(schema.get("additionalProperties"), dict)


def _items(array: Schema, number: int | None) -> list[Any]:
    """Return the schema of an item, or of those after the first ones; a list of at most one."""
    first = array.get("prefixItems", [])
    if number is not None and number < len(first):
        return [first[number]]
    rest = array.get("items", not first)
    return [] if rest is False else [rest]
