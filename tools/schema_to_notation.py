#!/usr/bin/env python3
"""Prints Kafka's schema of one API in the notation of rust/protocol/src/messages.

The output is the first draft of a file when a Kafka release adds or changes an API; its
documentation is then written by hand. Usage:

    tools/schema_to_notation.py kafka-clients.jar Metadata > rust/protocol/src/messages/metadata.rs
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from typing import Any

PRIMITIVES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "float64": "f64", "uuid": "Uuid", "string": "String", "bytes": "Bytes",
    "records": "Records",
}  # fmt: skip
# Fields with credentials: their type hides them from Debug output.
SECRETS = {"AuthBytes", "Hmac", "SaltedPassword"}
KEYWORDS = {"type", "match", "ref", "move"}
NO_DEFAULT = {"", "null", "false", "0"}

Schema = dict[str, Any]


def load(jar: zipfile.ZipFile, name: str) -> Schema:
    """Return a schema, without the comments that Kafka's JSON dialect allows."""
    text = jar.read(f"common/message/{name}.json").decode()
    schema: Schema = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    return schema


def snake(name: str) -> str:
    """Convert PascalCase to snake_case."""
    out = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return f"r#{out}" if out in KEYWORDS else out


def rust_type(field: Schema, rename: dict[str, str]) -> str:
    """Return the Rust type of a field."""
    kind: str = field["type"]
    array = kind.startswith("[]")
    item = kind[2:] if array else kind
    ty = "SecretBytes" if field["name"] in SECRETS and item == "bytes" else PRIMITIVES.get(item)
    ty = ty or rename.get(item, item)
    ty = f"Vec<{ty}>" if array else ty
    return f"Option<{ty}>" if "nullableVersions" in field else ty


def default(field: Schema) -> str:
    """Return the default of a field, or nothing if it is the Rust type's own."""
    text = str(field.get("default", "")).lower()
    if text in NO_DEFAULT:
        return ""
    if text.startswith("0x"):
        text = str(int(text, 16))
    return f" = {text}"


def structs(message: str, fields: list[Schema], rename: dict[str, str]) -> list[str]:
    """Return the lines of the struct with `fields`, and of the structs nested in it."""
    out = [f"    struct {rename.get(message, message)} {{"]
    nested: list[str] = []
    for field in fields:
        ignorable = " ignorable" if str(field.get("ignorable")).lower() == "true" else ""
        null = f" nullable [{field['nullableVersions']}]" if "nullableVersions" in field else ""
        tag = f" tag {field['tag']}" if "tag" in field else ""
        out.append(
            f"        {snake(field['name'])}: {rust_type(field, rename)} "
            f"[{field['versions']}{ignorable}]{null}{tag}{default(field)},"
        )
        if "fields" in field:
            nested += ["", *structs(field["type"].removeprefix("[]"), field["fields"], rename)]
    return [*out, "    }", *nested]


def names(fields: list[Schema]) -> set[str]:
    """Return the names of all structs nested in `fields`."""
    found = {f["type"].removeprefix("[]") for f in fields if "fields" in f}
    return found.union(*(names(f["fields"]) for f in fields if "fields" in f))


def notation(schema: Schema, taken: set[str]) -> str:
    """Return one `message!` block. A struct whose name is taken is prefixed with the message's."""
    name: str = schema["name"]
    own = names(schema["fields"]) | {c["name"] for c in schema.get("commonStructs", [])}
    rename = {s: name.removesuffix("Request").removesuffix("Response") + s for s in own & taken}
    if any(r in own | taken for r in rename.values()):
        rename = {s: name + s for s in own & taken}
    taken |= {rename.get(s, s) for s in own}
    lo, _, hi = schema["validVersions"].partition("-")
    flexible = schema["flexibleVersions"]
    head = f"    {name}: versions {lo}-{hi or lo}" + (
        f", flexible {flexible}" if flexible != "none" else ""
    )
    body = structs(name, schema["fields"], rename)
    for common in schema.get("commonStructs", []):
        body += ["", *structs(common["name"], common["fields"], rename)]
    return "\n".join(["message! {", head + ";", "", *body, "}"])


def file(jar: zipfile.ZipFile, api: str) -> str:
    """Return the notation of an API's request and response, or of a single schema."""
    present = {n.removeprefix("common/message/") for n in jar.namelist()}
    taken: set[str] = set()
    blocks = [
        notation(load(jar, name), taken)
        for name in (f"{api}Request", f"{api}Response", api)
        if f"{name}.json" in present
    ]
    text = "\n\n".join(blocks)
    uses = [u for u in ("Bytes",) if re.search(rf"\b{u}\b", text)]
    wire = [u for u in ("Records", "SecretBytes", "Uuid") if re.search(rf"\b{u}\b", text)]
    head = ["use bytes::Bytes;\n"] if uses else []
    if wire:
        inner = wire[0] if len(wire) == 1 else "{" + ", ".join(wire) + "}"
        head.append(f"use crate::wire::{inner};\n")
    return "\n".join([*head, text, ""])


if __name__ == "__main__":
    with zipfile.ZipFile(sys.argv[1]) as source:
        print(file(source, sys.argv[2]), end="")
