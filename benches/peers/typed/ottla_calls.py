"""ottla: `poll_arrow` with a format; default settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

import ottla
from benches.peers.typed.task import Call, TypedTask
from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry


def _consume(task: TypedTask, made: Callable[[Registry], ColumnFormat]) -> None:
    value = made(Registry(task.registry))
    with ottla.Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(task.topic, number) for number in range(task.partitions)])
        more = True
        while more:
            batch = consumer.poll_arrow(timeout=1.0, columns=["value"], value_format=value)
            if batch is not None:
                more = task.take_array(pa.record_batch(batch).column("value"))


FORMATS: dict[str, Callable[[Registry], ColumnFormat]] = {
    "avro": Avro,
    "protobuf": Protobuf,
    "json": Json,
}
CALLS = {
    name: [Call("ottla", f"poll_arrow, {made.__name__}", partial(_consume, made=made))]
    for name, made in FORMATS.items()
}
