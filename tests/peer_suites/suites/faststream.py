"""FastStream's suites of its brokers: a framework on confluent-kafka, and on aiokafka."""

from __future__ import annotations

from tests.peer_suites.suite import Broker, Checkout, Layer, Suite

_CHECKOUT = Checkout(
    name="faststream",
    repository="https://github.com/ag2ai/faststream",
    commit="7c9a125dfdf20cc45b64aac26b53559057443da1",
    # The tests belong to the framework at this commit.
    directories=("tests", "faststream"),
    digest="76b635cbe3d4031d73e0cade04e93172464569ea2075127f8f59ee73c37a6547",
)
_OTHER_BROKERS = "imports the framework's brokers for RabbitMQ, NATS and Redis, too"


def _suite(name: str, title: str, layer: Layer, broker: str) -> Suite:
    return Suite(
        name=name,
        title=title,
        layer=layer,
        source=_CHECKOUT,
        venv="faststream",
        paths=(f"tests/brokers/{broker}",),
        goal=1.0,
        plugins=("peer_faststream",),
        options=(
            "asyncio_mode = auto",
            "asyncio_default_fixture_loop_scope = function",
            "addopts = -m 'not slow'",
            "markers =",
            *(f"    {marker}" for marker in ("kafka", "confluent", "slow", "connected", "all")),
        ),
        environment={
            "OTTLA_PEER_BOOTSTRAP": "{bootstrap}",
            "OTTLA_PEER_SETTINGS": f"tests.brokers.{broker}.settings",
        },
        broker=Broker(fixed_port=9092),
        excluded={f"tests/brokers/{broker}/test_misconfigure.py": _OTHER_BROKERS},
        seconds=60,
    )


SUITES = (
    _suite("faststream-confluent", "FastStream on confluent-kafka", "confluent_kafka", "confluent"),
    _suite("faststream-aiokafka", "FastStream on aiokafka", "aiokafka", "kafka"),
)
