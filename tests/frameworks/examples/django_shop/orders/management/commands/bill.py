"""`python manage.py bill`: writes an invoice for each order, until it is terminated."""

import signal
from typing import Any

from django.core.management.base import BaseCommand

from orders.kafka import consumer, producer


class Command(BaseCommand):
    help = "Write an invoice for each order."
    stopped = False

    def stop(self, *_: Any) -> None:
        self.stopped = True

    def handle(self, *args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        orders = consumer("billing")
        orders.subscribe(["orders"])
        self.stdout.write("ready")
        try:
            while not self.stopped:
                message = orders.poll(1)
                if message is None:
                    continue
                if message.error():
                    raise RuntimeError(message.error().str())
                producer().produce("invoices", message.value(), message.key())
                producer().flush()
                orders.commit(message, asynchronous=False)
        finally:
            orders.close()
