"""Celery on kombu's Kafka transport, which uses confluent-kafka: tasks that write to a ledger."""

import os

import ottla.compat

ottla.compat.install("confluent_kafka")

from celery import Celery, Task

app = Celery("shop", broker=f"confluentkafka://{os.environ['KAFKA']}")
app.conf.update(
    task_default_queue="shop",
    broker_transport_options={"num_partitions": 2, "wait_time_seconds": 1},
    # The transport has no fanout, which remote control needs.
    worker_enable_remote_control=False,
)


def write(line: str) -> None:
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")


@app.task
def bill(order: int) -> None:
    write(f"{os.getpid()} billed {order}")


@app.task(bind=True, max_retries=3)
def pay(self: Task, order: int) -> None:
    if self.request.retries == 0:
        write(f"{os.getpid()} refused {order}")
        raise self.retry(countdown=0)
    write(f"{os.getpid()} paid {order}")
