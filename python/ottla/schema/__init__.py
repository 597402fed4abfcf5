"""Keys and values with a schema, decoded to typed Arrow columns or to plain Python objects.

A format is an argument of ``poll_arrow`` and ``scan``, and a deserializer of a consumer. Avro:

    value = ottla.schema.Avro(schema=text, wire_format="none")
    batch = consumer.poll_arrow(value=value)
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value=value)).unnest("value")
    consumer = ottla.Consumer("kafka:9092", topics=["orders"], value_deserializer=value)
    for record in consumer.poll(timeout=1.0):
        print(record.value["customer"]["name"])

Protobuf, with the class that protoc generated, or the text of its ``.proto`` file:

    from orders_pb2 import Order

    value = ottla.schema.Protobuf(schema=Order, wire_format="none")
    reader = pyarrow.RecordBatchReader.from_stream(ottla.scan("orders", "kafka:9092", value=value))
    value = ottla.schema.Protobuf(
        schema=pathlib.Path("orders.proto").read_text(),
        message="shop.Order",
        wire_format="none",
        fields=["id", "items.price"],
    )

JSON, with a JSON Schema, an Arrow type, or a type inferred from the first records:

    order = pyarrow.schema({"id": pyarrow.int64(), "at": pyarrow.timestamp("us", "UTC")})
    value = ottla.schema.Json(schema=order, wire_format="none")
    batch = consumer.poll_arrow(value=value)

    with ottla.Consumer("kafka:9092", auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        inferred = ottla.schema.infer_json(consumer.poll_arrow(timeout=10.0))
    value = ottla.schema.Json(schema=inferred, wire_format="none")
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value=value)).unnest("value")

Not implemented yet: schema registries, and so the wire formats that carry ids.
"""

from ottla._core import ArrowType, Avro, ColumnFormat, Json, Protobuf, infer_json

__all__ = ["ArrowType", "Avro", "ColumnFormat", "Json", "Protobuf", "infer_json"]
