"""Keys and values with a schema: schema registries, and formats that decode to typed columns.

A format is an argument of ``poll_arrow`` and ``scan``, and a deserializer of a consumer. Avro:

    registry = ottla.schema.Registry("http://registry:8081")
    value = ottla.schema.Avro(registry)
    batch = consumer.poll_arrow(value_format=value)
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value_format=value)).unnest("value")
    consumer = ottla.Consumer("kafka:9092", topics=["orders"], value_deserializer=value)
    for record in consumer.poll(timeout=1.0):
        print(record.value["customer"]["name"])

Protobuf, without a registry: with the class that protoc generated, or the text of its ``.proto``:

    from orders_pb2 import Order

    value = ottla.schema.Protobuf(schema=Order, wire_format="none")
    batches = ottla.scan("orders", "kafka:9092", value_format=value)
    reader = pyarrow.RecordBatchReader.from_stream(batches)
    value = ottla.schema.Protobuf(
        schema=pathlib.Path("orders.proto").read_text(),
        message="shop.Order",
        wire_format="none",
        fields=["id", "items.price"],
    )

JSON, with a JSON Schema, an Arrow type, or a type inferred from the first records:

    order = pyarrow.schema({"id": pyarrow.int64(), "at": pyarrow.timestamp("us", "UTC")})
    value = ottla.schema.Json(schema=order, wire_format="none")
    batch = consumer.poll_arrow(value_format=value)

    with ottla.Consumer("kafka:9092", auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        inferred = ottla.schema.infer_json(consumer.poll_arrow(timeout=10.0))
    value = ottla.schema.Json(schema=inferred, wire_format="none")
    frame = polars.DataFrame(ottla.scan("orders", "kafka:9092", value_format=value)).unnest("value")

A format encodes, too: as a serializer of a producer, and in ``send_batch`` of typed Arrow columns:

    order = ottla.schema.Avro(registry, schema=text, register=True)
    with ottla.Producer("kafka:9092", value_serializer=order) as producer:
        producer.send("orders", {"id": 1, "customer": {"name": "Ada"}})
        producer.send_batch("orders", polars.DataFrame({"id": [2], "customer": [{"name": "Bo"}]}))

Objects of a class, such as a dataclass, whose schema is derived:

    order = ottla.schema.Avro(Order, registry, register=True)
    with ottla.Producer("kafka:9092", value_serializer=order) as producer:
        producer.send("orders", Order(id=1, customer="Ada"))
    consumer = ottla.Consumer("kafka:9092", topics=["orders"], value_deserializer=order)
    for record in consumer.poll(timeout=1.0):
        print(record.value.customer)
"""

from ottla._core import (
    ArrowType,
    AsyncRegistry,
    Avro,
    ColumnFormat,
    Compatibility,
    DeadLetters,
    Json,
    Protobuf,
    Registry,
    RegistrySetting,
    Schema,
    SchemaReference,
    infer_json,
)
from ottla.schema import pickling as _pickling  # noqa: F401 - it registers what it refuses
from ottla.schema.precision import Precision
from ottla.schema.typed_value import TypedValue

__all__ = [
    "ArrowType",
    "AsyncRegistry",
    "Avro",
    "ColumnFormat",
    "Compatibility",
    "DeadLetters",
    "Json",
    "Precision",
    "Protobuf",
    "Registry",
    "RegistrySetting",
    "Schema",
    "SchemaReference",
    "TypedValue",
    "infer_json",
]
