"""Keys and values with a schema, decoded to typed Arrow columns or to plain Python objects.

    value = ottla.schema.Avro(schema=text, wire_format="none")
    batch = consumer.poll_arrow(value=value)
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value=value)).unnest("value")
    consumer = ottla.Consumer("kafka:9092", topics=["orders"], value_deserializer=value)

Not implemented yet: schema registries, and so the wire formats that carry ids; Protobuf and JSON.
"""

from ottla._core import Avro, ColumnFormat

__all__ = ["Avro", "ColumnFormat"]
