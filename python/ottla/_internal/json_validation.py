"""JSON Schema validation for ``Json(validate=True)``, with the extra ``json-validation``.

Called by the core with the payloads of a batch. Invariants: nothing is fetched, whatever a schema
refers to: its references in the registry are all that there is; the work of a schema and of its
patterns is bounded; a reason names the place and the rule, and contains nothing of the value but
the names of keys on the way to it.
"""

from __future__ import annotations

# The validator imports it with its first number, where Ctrl-C would end it with a panic.
import decimal  # noqa: F401
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from ottla._internal.extras import require

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

# A schema whose references, with each of their uses, stand for more subschemas is refused.
_MAX_SUBSCHEMAS = 10_000
# Documents have an address for each place that refers to them by a relative name.
_MAX_RESOURCES = 10_000
# The steps of one match of a pattern with look-around or back-references; others take linear time.
_BACKTRACK_LIMIT = 100_000
# Of one payload.
_REASONS_SHOWN = 3
# Of names, rules and messages.
_SHOWN = 80
# The keywords whose value in the schema explains the failure.
_EXPLAINED = frozenset(
    (
        *("exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength"),
        *("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"),
        *("multipleOf", "pattern", "required", "type"),
    )
)
# Keywords that hold data, not schemas.
_DATA = frozenset(("const", "default", "enum", "examples"))

# A document's name, its text, and the names of the documents that it refers to.
_Document = tuple[str, str, Sequence[str]]


class JsonValidator:
    """A validator for one schema.

    Args:
        documents: the schema, and those that it refers to, directly or through others.

    Raises:
        ValueError: the schema is invalid, refers to one that is missing, or stands for too many.
    """

    def __init__(self, documents: Sequence[_Document]) -> None:
        import jsonschema_rs

        try:
            parsed = {name: json.loads(text) for name, text, _ in documents}
        except RecursionError:
            raise ValueError("it is nested too deep") from None
        root = parsed.pop("")
        resources = _resources(root, parsed, documents)
        self._is_recursive = _check_size(root, resources)
        try:
            self._validator = jsonschema_rs.validator_for(
                root,
                registry=jsonschema_rs.Registry(list(resources.items())),
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
                offline=True,
            )
        except jsonschema_rs.ValidationError as error:
            raise ValueError(_shown(error.message, 200)) from None
        except jsonschema_rs.ReferencingError as error:
            raise ValueError(_shown(str(error), 200)) from None

    def failures(self, payloads: Sequence[bytes]) -> list[tuple[int, str]]:
        """Return the indexes of the payloads that are invalid, and the reasons."""
        is_valid = self._validator.is_valid
        failures = []
        for index, payload in enumerate(payloads):
            try:
                value = json.loads(str(payload, "utf-8"))
                if not is_valid(value):
                    failures.append((index, self._reason(value)))
            # Not JSON, nested too deep, or a number of too many digits.
            except (ValueError, RecursionError) as error:
                failures.append((index, f"it cannot be validated: {type(error).__name__}"))
        return failures

    def _reason(self, value: Any) -> str:
        # The search for the place may take time that doubles with each level; the verdict does not.
        if self._is_recursive:
            return "it does not fit the JSON Schema, which is recursive: no place is searched"
        errors = [*islice(self._validator.iter_errors(value), _REASONS_SHOWN + 1)]
        shown = [_described(error) for error in errors[:_REASONS_SHOWN]]
        more = "; and more" if len(errors) > _REASONS_SHOWN else ""
        return f"it does not fit the JSON Schema: {'; '.join(shown)}{more}"


def validator_class() -> type[JsonValidator]:
    """Return the class, if the package that it needs is installed.

    Raises:
        MissingExtraError: it is not.
    """
    require("Json(validate=True)", "json-validation")
    return JsonValidator


def _described(error: ValidationError) -> str:
    """Return the place and the rule of a failure."""
    keyword = error.kind.name
    place = "$" + "".join(map(_step, error.instance_path))
    rule = f"{keyword} {_explained(error)}" if keyword in _EXPLAINED else keyword
    return f"{_shown(place)} breaks {_shown(rule)}"


def _explained(error: ValidationError) -> str:
    value = error.kind.value
    return json.dumps(value, ensure_ascii=False, default=str)


def _step(part: str | int) -> str:
    return f"[{part}]" if isinstance(part, int) else f".{_shown(part, 40)}"


def _shown(text: str, length: int = _SHOWN) -> str:
    plain = "".join(character if character.isprintable() else "�" for character in text[:length])
    return plain if len(text) <= length else f"{plain}…"


def _resources(
    root: Any, parsed: Mapping[str, Any], documents: Sequence[_Document]
) -> dict[str, Any]:
    """Return the documents by the addresses that their referrers may resolve their names to."""
    references = {name: names for name, _, names in documents}
    found: dict[str, Any] = {}
    waiting = [("", "", root)]
    while waiting:
        name, address, document = waiting.pop()
        own = document.get("$id") if isinstance(document, dict) else None
        base = urljoin(address, own) if isinstance(own, str) else address
        for reference in references[name]:
            target = parsed[reference]
            for each in {reference, urljoin(base, reference)} - found.keys():
                found[each] = target
                waiting.append((reference, each, target))
        if len(found) > _MAX_RESOURCES:
            raise ValueError(f"its references have more than {_MAX_RESOURCES} addresses")
    return found


def _check_size(root: Any, resources: Mapping[str, Any]) -> bool:
    """Refuse a schema that stands for too many, with each use of a reference counted.

    A few definitions that each refer twice to the next one would take forever to evaluate. Returns
    whether the schema is recursive.
    """
    counting = 0
    sizes: dict[int, int] = {}
    is_recursive = False

    def size(schema: Any, document: Any) -> int:
        nonlocal is_recursive
        if not isinstance(schema, dict | list):
            return 1
        known = sizes.get(id(schema))
        if known is not None:
            is_recursive = is_recursive or known == counting
            return max(known, 1)
        sizes[id(schema)] = counting
        count = 1
        for child, of in _children(schema, document, resources):
            count += size(child, of)
            if count > _MAX_SUBSCHEMAS:
                raise ValueError(f"its references stand for more than {_MAX_SUBSCHEMAS} schemas")
        sizes[id(schema)] = count
        return count

    try:
        size(root, root)
    except RecursionError:
        raise ValueError("its references are nested too deep") from None
    return is_recursive


def _children(
    schema: Any, document: Any, resources: Mapping[str, Any]
) -> Iterator[tuple[Any, Any]]:
    if isinstance(schema, list):
        yield from ((item, document) for item in schema)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in ("$ref", "$recursiveRef", "$dynamicRef") and isinstance(value, str):
            address, _, pointer = value.partition("#")
            # An address that is no document's is one within this one.
            target = resources.get(address, document) if address else document
            yield _at(target, pointer), target
        elif keyword not in _DATA:
            yield value, document


def _at(document: Any, pointer: str) -> Any:
    """Return the part of a document; the whole of it if the pointer is an anchor."""
    found = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found
