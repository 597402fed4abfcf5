"""Checks when a write is planned that its typed columns have types that their schemas can encode.

Called by ``writer``. It encodes a column without rows as a task would, so both accept the same
types. Invariant: it registers no schema and connects to no broker; it asks the registry only for
schemas that the options do not have.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import DataType, StructType

from ottla.errors import ConfigError, SchemaError
from ottla.spark.options.typed_columns import TypedColumn
from ottla.spark.options.write_options import WriteOptions

# Nothing connects to it.
_NOWHERE = "127.0.0.1:9"


def check_typed_columns(schema: StructType, options: WriteOptions) -> None:
    """Raise if a column of a frame cannot be encoded with its schema.

    Raises:
        SchemaError: the column has another type, or there is no schema.
        KafkaError: the errors of the schema registry.
        MissingExtraError: the package that validates is not installed.
    """
    types = {column.name: column.dataType for column in schema.fields}
    from ottla.spark.formats import require_validator

    for typed in options.typed.each():
        require_validator(typed)
        known = _without_registering(typed)
        if known.registry and known.subject is None and options.topic is None:
            # Each row's topic has its own schema.
            continue
        _check_column(known, types[typed.column], options.topic or "")


def _without_registering(typed: TypedColumn) -> TypedColumn:
    """Return a column that is encoded with the same schema, and registers nothing."""
    if not typed.registers:
        return typed
    return replace(
        typed,
        registers=False,
        wire_format="none",
        schema_id_serializer="prefix",
        # The registry has the schemas that it refers to.
        registry=typed.registry if typed.references else (),
        subject_strategy=None,
    )


def _check_column(typed: TypedColumn, data_type: DataType, topic: str) -> None:
    import pyarrow as pa

    import ottla
    from ottla.spark.formats import formats_of
    from ottla.spark.reading.spark_types import to_arrow_type

    try:
        arrow_type = to_arrow_type(data_type)
    except KeyError:
        # A type that is not for records of Kafka: the task says so.
        return
    # A partition must be an integer: send_batch refuses these columns once they are encoded, and
    # before it looks the topic up.
    columns = {typed.column: pa.array([], arrow_type), "partition": pa.array([], pa.string())}
    columns.setdefault("value", pa.array([], pa.binary()))
    rows = pa.RecordBatch.from_pydict(columns)
    with (
        ottla.Client(_NOWHERE, connect=False) as client,
        ottla.Producer(client) as producer,
    ):
        try:
            producer.send_batch(topic, rows, **formats_of([typed]))
        except ConfigError as error:
            if "partition" not in str(error):
                raise
        except SchemaError as error:
            if "columns of this type" not in str(error):
                raise
            raise SchemaError(
                f"{error}; the column {typed.column!r} of the frame has the type "
                f"{data_type.simpleString()}: CAST it, or write with another schema"
            ) from None
