"""Records that fail in the application: a handler, retry topics with delays, and dead letters.

    def handle(record):
        ship(json.loads(record.value))

    processor = ottla.processing.Processor(handle, "orders", "kafka:9092", group_id="shipping")
    processor.run(signals=[signal.SIGTERM])

A record that fails goes to ``orders.retry.1m``, then to ``orders.retry.10m``, then to
``orders.dead-letters``; ``ottla dead-letters`` shows and replays those. ``AsyncProcessor`` is the
counterpart for asyncio.
"""

from ottla.processing.failed_records import FailedRecords
from ottla.processing.observing import HandledRecords, ProcessorInterceptor
from ottla.processing.processing_metrics import ProcessingMetrics
from ottla.processing.processor import AsyncProcessor, Processor

__all__ = [
    "AsyncProcessor",
    "FailedRecords",
    "HandledRecords",
    "ProcessingMetrics",
    "Processor",
    "ProcessorInterceptor",
]
