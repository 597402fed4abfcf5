"""The topic ``payments`` of the documentation, whose values are Avro of a schema registry."""

from __future__ import annotations

from ottla.testing import MockCluster, MockRegistry

SCHEMA = """{"type": "record", "name": "Payment", "fields": [
    {"name": "id", "type": "long"},
    {"name": "amount", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
        {"name": "name", "type": "string"}]}}]}"""
MALFORMED = b"not a payment"


def create_payments(
    cluster: MockCluster, registry: MockRegistry, *, malformed: bool = False
) -> None:
    """Create the topic, with one partition and three payments, and register its schema.

    Args:
        cluster: the cluster.
        registry: the schema registry.
        malformed: whether a value that cannot be decoded is the second record.
    """
    schema_id = registry.register("payments-value", SCHEMA)
    cluster.create_topic("payments", partitions=1)
    values = [
        # 1 and Ada, 2 and Bob, 3 and Eve; the amounts are 1.00, 1.01 and 1.02.
        b"\0" + schema_id.to_bytes(4, "big") + bytes([number << 1, 2, 99 + number, 6]) + name
        for number, name in ((1, b"Ada"), (2, b"Bob"), (3, b"Eve"))
    ]
    if malformed:
        values.insert(1, MALFORMED)
    cluster.append("payments", 0, values)
