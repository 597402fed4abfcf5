"""Quix Streams: the running total of each account, kept in a state store with a changelog topic."""

import os
from typing import Any

from quixstreams import Application, State

app = Application(
    broker_address=os.environ["KAFKA"],
    consumer_group="accounts",
    auto_offset_reset="earliest",
    processing_guarantee=os.environ.get("GUARANTEE", "exactly-once"),
    commit_interval=0.5,
    state_dir=os.environ.get("STATE", "state"),
    # The partitions of a process that was killed are free after this time.
    consumer_extra_config={"session.timeout.ms": 6000},
)
payments = app.topic("payments", key_deserializer="str", value_deserializer="json")
totals = app.topic("totals", key_serializer="str", value_serializer="json")


def add(payment: dict[str, Any], state: State) -> dict[str, Any]:
    total = state.get("total", 0) + payment["amount"]
    state.set("total", total)
    return {"id": payment["id"], "total": total}


app.dataframe(payments).apply(add, stateful=True).to_topic(totals)

if __name__ == "__main__":
    app.run()
