"""Bytewax, whose connector uses confluent-kafka: the running total of each account."""

import json
import os
from typing import Any

from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow

BROKERS = [os.environ["KAFKA"]]


def keyed(message: KafkaSourceMessage) -> tuple[str, dict[str, Any]]:
    return message.key.decode(), json.loads(message.value)


def add(total: int | None, payment: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    total = (total or 0) + payment["amount"]
    return total, {"id": payment["id"], "total": total}


def record(total: tuple[str, dict[str, Any]]) -> KafkaSinkMessage:
    account, value = total
    return KafkaSinkMessage(account.encode(), json.dumps(value).encode())


flow = Dataflow("totals")
# Without TAIL=no, the flow goes on when it has read all that is there.
source = KafkaSource(BROKERS, ["payments"], tail=os.environ.get("TAIL") != "no")
payments = op.map("keyed", op.input("payments", flow, source), keyed)
totals = op.stateful_map("add", payments, add)
op.output("totals", op.map("record", totals, record), KafkaSink(BROKERS, "totals"))
