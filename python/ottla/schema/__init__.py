"""Keys and values with a schema: schema registries, and formats that decode to typed columns.

    registry = ottla.schema.Registry("http://registry:8081")
    value = ottla.schema.Avro(registry)
    batch = consumer.poll_arrow(value=value)
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value=value)).unnest("value")
    consumer = ottla.Consumer("kafka:9092", topics=["orders"], value_deserializer=value)

Not implemented yet: encoding.
"""

from ottla._core import (
    AsyncRegistry,
    Avro,
    ColumnFormat,
    Compatibility,
    Registry,
    Schema,
    SchemaReference,
)

__all__ = [
    "AsyncRegistry",
    "Avro",
    "ColumnFormat",
    "Compatibility",
    "Registry",
    "Schema",
    "SchemaReference",
]
