"""Celery's workers for the records of a topic: the tasks."""

import os

from celery import Celery

# CELERY_BROKER_URL and CELERY_RESULT_BACKEND name the broker and the result backend.
app = Celery("billing")
app.conf.update(task_default_queue="billing-tasks", worker_enable_remote_control=False)


class NoCustomer(Exception):
    pass


@app.task
def bill(order: int) -> None:
    if order % 10 == 0:
        raise NoCustomer(f"order {order} has no customer")
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(f"{os.getpid()} {order}\n")
