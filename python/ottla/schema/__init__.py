"""Keys and values with a schema, decoded to typed Arrow columns.

registry = ottla.schema.Registry("http://registry:8081")
batch = consumer.poll_arrow(value=ottla.schema.Avro(registry))
frame = polars.from_arrow(ottla.scan("orders", "kafka:9092", value=ottla.schema.Avro(registry)))
"""

from ottla._core import Avro, ColumnFormat

__all__ = ["Avro", "ColumnFormat"]
