"""Celery's workers for the records of a topic: offsets are committed once their tasks are done."""

import os
import signal
import time
from typing import Any

from celery_billing import NoCustomer, bill

from ottla import Record
from ottla.processing import FailedRecords, Processor


def run_tasks(orders: list[Record[Any, int]]) -> None:
    results = [bill.delay(order.value) for order in orders]
    deadline = time.monotonic() + 30
    failures = {}
    for index, result in enumerate(results):
        try:
            # What a worker or Celery's broker has lost is a failure as well, and sent once more.
            result.get(timeout=max(deadline - time.monotonic(), 0.1))
        except Exception as error:
            failures[index] = error
        result.forget()
    if failures:
        raise FailedRecords(failures)


processor = Processor(
    run_tasks,
    "orders",
    os.environ["KAFKA"],
    group_id="billing",
    value_deserializer=int,
    batch=True,
    max_records=20,
    retry_delays=[1, 10],
    dead_letter_on=[NoCustomer],
    create_topics=True,
)
processor.run(signals=[signal.SIGTERM])
