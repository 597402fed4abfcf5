"""Views that produce: one waits for the broker, the other one does not."""

import os
from concurrent.futures import Future
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from orders.kafka import producer

# What the delivery callback has counted in this process.
counts = {"delivered": 0, "failed": 0}


def count(error: Any, message: Any) -> None:
    counts["failed" if error else "delivered"] += 1


@csrf_exempt
def queue(request: HttpRequest, number: int) -> JsonResponse:
    producer().produce("orders", request.body, str(number), on_delivery=count)
    return JsonResponse({"worker": os.getpid()}, status=202)


@csrf_exempt
def place(request: HttpRequest, number: int) -> JsonResponse:
    delivered: Future[Any] = Future()

    def report(error: Any, message: Any) -> None:
        if error:
            delivered.set_exception(RuntimeError(error.str()))
        else:
            delivered.set_result(message)

    producer().produce("orders", request.body, str(number), on_delivery=report)
    message = delivered.result(timeout=30)
    return JsonResponse(
        {"partition": message.partition(), "offset": message.offset(), "worker": os.getpid()}
    )


def delivered(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"worker": os.getpid(), **counts})
