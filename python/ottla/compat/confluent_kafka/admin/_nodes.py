"""The brokers as ``Node`` objects.

Invariant: the addresses are those that the brokers advertise.
"""

from __future__ import annotations

from ottla.admin.destinations import metadata
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._model import Node


async def nodes_of(call: Call) -> dict[int, Node]:
    """Return the brokers by id."""
    brokers = (await metadata(call, []))["brokers"]
    return {
        each["node_id"]: Node(each["node_id"], each["host"], each["port"], each.get("rack"))
        for each in brokers
    }
