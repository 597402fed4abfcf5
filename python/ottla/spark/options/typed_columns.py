"""The options of typed columns: ``value.format`` and its siblings, and ``schema.*``.

Called by ``read_options`` each time Spark creates a reader, so parsing does no I/O. Invariant: an
option without effect is an error; no message and no ``repr`` contains a value of the registry's
configuration, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ottla._core import check_schema_limits, schema_limit_rows
from ottla.errors import ConfigError
from ottla.spark.options.column_options import (
    FORMATS,
    WRITTEN,
    parse_choice,
    parse_format,
    parse_message,
    parse_schema,
    parse_validate,
)
from ottla.spark.options.option_values import parse_bool, parse_text
from ottla.spark.options.schema_references import Reference, parse_references
from ottla.spark.options.subscription import Assign, Subscribe, Subscription

REGISTRY_PREFIX = "schema.registry."
REGISTRY_URL = "schema.registry.url"

DEAD_LETTER = "dead_letter"
MODES = ("failfast", "permissive", DEAD_LETTER)
DEAD_LETTER_TOPIC = "deadLetterTopic"
WIRE_FORMATS = ("confluent", "apicurio", "glue", "none")
SCHEMA_ID_SERIALIZERS = ("prefix", "header")

LIMIT_OPTION_NAMES = tuple(row[0] for row in schema_limit_rows())
"""The options that limit what schemas multiply."""

_SUFFIXES = (
    "format",
    "schema",
    "references",
    "subject",
    "message",
    "wireFormat",
    "validate",
    "mode",
    "flatten",
)
TYPED_OPTION_NAMES = (
    REGISTRY_URL,
    DEAD_LETTER_TOPIC,
    *LIMIT_OPTION_NAMES,
    *(f"{column}.{suffix}" for column in ("key", "value") for suffix in _SUFFIXES),
)


@dataclass(frozen=True)
class DeadLetterOptions:
    """Where rows that cannot be decoded are written.

    Attributes:
        topic: the topic.
        kafka: the configuration of the client that writes them, sorted.
    """

    topic: str
    kafka: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True)
class TypedColumn:
    """How keys or values are decoded.

    Attributes:
        column: ``key`` or ``value``.
        format: one of ``FORMATS``.
        schema: the reader's schema, as text or as its id; None for the latest of the subject.
        references: the schemas that the text of the schema refers to.
        subject: the subject; None if the subscription names several topics.
        subject_strategy: what names the subject of a write; None for ``subject`` or the topic.
        message: the full name of the message, with Protobuf.
        wire_format: one of ``WIRE_FORMATS``.
        validates: whether JSON is validated against its JSON Schema.
        mode: one of ``MODES``.
        flatten: whether the fields become columns.
        fields: the fields to decode; None for all.
        registers: whether a write registers the schema.
        schema_id_serializer: one of ``SCHEMA_ID_SERIALIZERS``: where a write puts the id.
        registry: the registry's configuration, sorted.
        dead_letters: where rows that cannot be decoded are written; None with other modes.
        limits: what schemas may multiply, by key, sorted.
    """

    column: str
    format: str
    schema: str | int | None = None
    references: tuple[Reference, ...] = ()
    subject: str | None = None
    subject_strategy: str | None = None
    message: str | None = None
    wire_format: str = "confluent"
    validates: bool = False
    mode: str = "failfast"
    flatten: bool = False
    fields: tuple[str, ...] | None = None
    registers: bool = False
    schema_id_serializer: str = "prefix"
    registry: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    dead_letters: DeadLetterOptions | None = None
    limits: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TypedColumns:
    """The typed columns of a read."""

    key: TypedColumn | None = None
    value: TypedColumn | None = None

    def each(self) -> tuple[TypedColumn, ...]:
        """Return the configured columns."""
        return tuple(one for one in (self.key, self.value) if one is not None)

    @property
    def has_errors(self) -> bool:
        """Whether rows say why they could not be decoded."""
        return any(one.mode == "permissive" for one in self.each())


UNTYPED = TypedColumns()


def parse_typed_columns(
    values: Mapping[str, str], subscription: Subscription, kafka: Mapping[str, str]
) -> TypedColumns:
    """Parse the options of typed columns; ``values`` has lower-case names."""
    registry = registry_config(values)
    key, value = (_parse_column(name, values, subscription, registry) for name in ("key", "value"))
    key, value = _with_dead_letters(values, kafka, key, value)
    typed = with_limits(values, TypedColumns(key, value))
    check_any_format(registry, typed)
    if registry and all(one.wire_format == "glue" for one in typed.each()):
        raise ConfigError(f"option {REGISTRY_URL} has no effect with wireFormat=glue")
    return typed


def _with_dead_letters(
    values: Mapping[str, str], kafka: Mapping[str, str], *columns: TypedColumn | None
) -> list[TypedColumn | None]:
    topic = parse_text(values, DEAD_LETTER_TOPIC)
    modes = {column.mode for column in columns if column is not None}
    if (topic is None) == (DEAD_LETTER in modes):
        raise ConfigError(
            f"option {DEAD_LETTER_TOPIC} needs value.mode={DEAD_LETTER}, and that needs the option"
        )
    if topic is None:
        return list(columns)
    letters = DeadLetterOptions(topic, tuple(sorted(kafka.items())))
    return [
        replace(column, dead_letters=letters)
        if column is not None and column.mode == DEAD_LETTER
        else column
        for column in columns
    ]


def with_limits(values: Mapping[str, str], columns: TypedColumns) -> TypedColumns:
    """Return the columns with the limits of schemas that the options set."""
    limits = tuple((name, values[name]) for name in sorted(LIMIT_OPTION_NAMES) if name in values)
    if not limits:
        return columns
    if columns == UNTYPED:
        raise ConfigError(f"option {limits[0][0]} needs value.format or key.format")
    try:
        check_schema_limits(dict(limits))
    except ConfigError as error:
        raise ConfigError(f"option {error}") from None
    key, value = (
        None if column is None else replace(column, limits=limits)
        for column in (columns.key, columns.value)
    )
    return TypedColumns(key, value)


def registry_config(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the configuration of the registry, checked, from the ``schema.registry.*`` options."""
    config = {name: text for name, text in values.items() if name.startswith(REGISTRY_PREFIX)}
    if not config:
        return ()
    if not config.get(REGISTRY_URL, "").strip():
        raise ConfigError(f"option {REGISTRY_URL} must be set, for example to http://registry:8081")
    from ottla.schema import Registry

    try:
        # Connects to nothing.
        Registry(config).close()
    except ConfigError as error:
        raise ConfigError(f"option {REGISTRY_PREFIX}…: {error}") from None
    return tuple(sorted(config.items()))


def _parse_column(
    column: str,
    values: Mapping[str, str],
    subscription: Subscription,
    registry: tuple[tuple[str, str], ...],
) -> TypedColumn | None:
    format_name = parse_format(values, column, _SUFFIXES)
    if format_name is None:
        return None
    schema = parse_schema(values, f"{column}.schema")
    if isinstance(schema, str) and schema.lower() == WRITTEN:
        raise ConfigError(
            f"option {column}.schema=written: a column of Spark has one type, and the records of "
            "a topic with several types have none in common. Read them to a union of the types "
            f"(Avro: {column}.schema with a list of records), or leave out {column}.format and "
            "decode the bytes with a format of convert=False in mapInArrow"
        )
    wire_format = parse_choice(values, f"{column}.wireFormat", WIRE_FORMATS, WIRE_FORMATS[0])
    subject = parse_text(values, f"{column}.subject")
    if schema is not None and subject is not None:
        raise ConfigError(f"set either {column}.schema or {column}.subject, not both")
    if wire_format == "glue" and not isinstance(schema, str):
        raise ConfigError(
            f"option {column}.wireFormat=glue needs {column}.schema with the text of the schema "
            "that the records were written with: the ids of AWS Glue cannot be looked up"
        )
    if not registry and (wire_format not in ("glue", "none") or not isinstance(schema, str)):
        raise ConfigError(
            f"option {column}.format needs {REGISTRY_URL}; or {column}.schema with the text of a "
            f"schema, and {column}.wireFormat=none if records carry no ids of schemas"
        )
    if schema is None and subject is None:
        subject = f"{_only_topic(column, subscription)}-{column}"
    return TypedColumn(
        column=column,
        format=format_name,
        schema=schema,
        references=parse_references(values, column, schema, has_registry=bool(registry)),
        subject=subject,
        message=parse_message(values, column, format_name),
        wire_format=wire_format,
        validates=parse_validate(values, column, format_name),
        mode=parse_choice(values, f"{column}.mode", MODES, MODES[0]),
        flatten=parse_bool(values, f"{column}.flatten", default=False),
        # AWS Glue's ids are not looked up, and the other column may have a registry.
        registry=() if wire_format == "glue" else registry,
    )


def check_any_format(registry: tuple[tuple[str, str], ...], columns: TypedColumns) -> None:
    """Raise a ConfigError for a registry that no column needs."""
    if registry and columns == UNTYPED:
        raise ConfigError(
            f"option {REGISTRY_URL} needs value.format or key.format: {', '.join(FORMATS)}"
        )


def _only_topic(column: str, subscription: Subscription) -> str:
    match subscription:
        case Subscribe(topics=(topic,)):
            return topic
        case Assign(partitions=partitions) if len({topic for topic, _ in partitions}) == 1:
            return next(iter(partitions))[0]
        case _:
            raise ConfigError(
                f"the read is of several topics: set {column}.subject to the subject whose latest "
                f"schema they are read with, or {column}.schema to an id or the text of a schema"
            )
