"""The options with which a write encodes typed columns: ``value.format`` and its siblings.

Called by ``write_options`` each time Spark creates a writer, so parsing does no I/O. Invariant: an
option without effect is an error; a schema is registered only if ``register`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.errors import ConfigError
from ottla.spark.options.column_options import (
    parse_choice,
    parse_format,
    parse_message,
    parse_schema,
    parse_validate,
)
from ottla.spark.options.option_values import parse_bool, parse_text
from ottla.spark.options.schema_references import parse_references
from ottla.spark.options.typed_columns import (
    LIMIT_OPTION_NAMES,
    REGISTRY_URL,
    SCHEMA_ID_SERIALIZERS,
    WIRE_FORMATS,
    TypedColumn,
    TypedColumns,
    check_any_format,
    registry_config,
    with_limits,
)

_SUFFIXES = (
    "format",
    "schema",
    "references",
    "subject",
    "subjectStrategy",
    "message",
    "wireFormat",
    "validate",
    "schemaIdSerializer",
    "register",
)
_STRATEGIES = ("topic", "record", "topic_record")
TYPED_WRITE_OPTION_NAMES = (
    REGISTRY_URL,
    *LIMIT_OPTION_NAMES,
    *(f"{column}.{suffix}" for column in ("key", "value") for suffix in _SUFFIXES),
)


def parse_typed_writes(values: Mapping[str, str]) -> TypedColumns:
    """Parse the options of encoded columns; ``values`` has lower-case names."""
    registry = registry_config(values)
    columns = TypedColumns(*(_parse_column(name, values, registry) for name in ("key", "value")))
    columns = with_limits(values, columns)
    check_any_format(registry, columns)
    return columns


def _parse_column(
    column: str, values: Mapping[str, str], registry: tuple[tuple[str, str], ...]
) -> TypedColumn | None:
    format_name = parse_format(values, column, _SUFFIXES)
    if format_name is None:
        return None
    schema = parse_schema(values, f"{column}.schema")
    wire_format = parse_choice(values, f"{column}.wireFormat", WIRE_FORMATS, "confluent")
    serializer = _parse_id_serializer(column, values, wire_format)
    registers = parse_bool(values, f"{column}.register", default=False)
    if registers and (not isinstance(schema, str) or wire_format == "none"):
        raise ConfigError(
            f"option {column}.register needs {column}.schema with the text of a schema, and a wire "
            "format with ids"
        )
    if not registry and (wire_format != "none" or not isinstance(schema, str)):
        raise ConfigError(
            f"option {column}.format needs {REGISTRY_URL}; or {column}.schema with the text of a "
            f"schema, and {column}.wireFormat=none to write no ids of schemas"
        )
    subject = parse_text(values, f"{column}.subject")
    if subject is not None and wire_format == "none" and isinstance(schema, str):
        # A given schema is written with the id that it has in the subject.
        raise ConfigError(
            f"option {column}.subject has no effect with {column}.schema and "
            f"{column}.wireFormat=none"
        )
    strategy = _parse_strategy(column, values, schema, subject, wire_format)
    return TypedColumn(
        column=column,
        format=format_name,
        schema=schema,
        references=parse_references(values, column, schema, has_registry=bool(registry)),
        subject=subject,
        subject_strategy=strategy,
        message=parse_message(values, column, format_name),
        wire_format=wire_format,
        validates=parse_validate(values, column, format_name),
        registers=registers,
        schema_id_serializer=serializer,
        registry=registry,
    )


def _parse_id_serializer(column: str, values: Mapping[str, str], wire_format: str) -> str:
    name = f"{column}.schemaIdSerializer"
    serializer = parse_choice(values, name, SCHEMA_ID_SERIALIZERS, SCHEMA_ID_SERIALIZERS[0])
    # Other wire formats have a place of their own for the id, or none.
    if wire_format != "confluent" and parse_text(values, name) is not None:
        raise ConfigError(
            f"option {name}={serializer} needs {column}.wireFormat=confluent: it has no effect "
            f"with {wire_format}"
        )
    return serializer


def _parse_strategy(
    column: str,
    values: Mapping[str, str],
    schema: str | int | None,
    subject: str | None,
    wire_format: str,
) -> str | None:
    name = f"{column}.subjectStrategy"
    if parse_text(values, name) is None:
        return None
    strategy = parse_choice(values, name, _STRATEGIES)
    if subject is not None:
        raise ConfigError(f"set either {name} or {column}.subject, not both")
    if strategy != "topic" and not isinstance(schema, str):
        raise ConfigError(
            f"option {name}={strategy} needs {column}.schema with the text of a schema, which has "
            "the name of the record"
        )
    if wire_format == "none":
        raise ConfigError(f"option {name} has no effect with {column}.wireFormat=none")
    return strategy
