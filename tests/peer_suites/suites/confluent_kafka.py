"""confluent-kafka's own suite, without the schema registry (`registry.py`).

The fixtures are the suite's, for a cluster that runs already (`BROKERS`, `SR_URL`).
"""

from __future__ import annotations

from tests.peer_suites.suite import Broker, Checkout, Difference, Suite

CHECKOUT = Checkout(
    name="confluent-kafka-python",
    repository="https://github.com/confluentinc/confluent-kafka-python",
    commit="8b1c7a613434eee3d0e1287d624d7af04932f410",
    directories=("tests",),
    digest="0fcfa1876ced5917c224931a2aa420ffba55b268c2cf41cd8817549c1bf1fdb7",
)
OPTIONS = ("asyncio_mode = auto",)
ENVIRONMENT = {
    "BROKERS": "{bootstrap}",
    "SR_URL": "{registry}",
    "BROKERS_7_0_1": "{bootstrap}",
    "SR_URL_7_0_1": "{registry}",
    "OTTLA_PEER_PLAIN": "{plain}",
    "OTTLA_PEER_OAUTHBEARER": "{oauthbearer}",
}
_PLUGINS = ("peer_confluent_kafka",)
_CONSUMER_PROTOCOL = {**ENVIRONMENT, "TEST_CONSUMER_GROUP_PROTOCOL": "consumer"}
_CONSUMER = "tests/integration/consumer"
_WAKEABLE = "tests/test_Wakeable.py"
_SHARE = "tests/integration/share_consumer"

_LIBRDKAFKA_LOG = Difference("expects lines of librdkafka's log")
_HANGS = "hangs with the control: SIGINT does not interrupt `consume()` without a limit there"

SUITES = (
    Suite(
        name="confluent-unit",
        title="confluent-kafka: unit tests",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=tuple(
            f"tests/test_{name}.py"
            for name in (
                *("AIOConsumer", "Admin", "Consumer", "DeserializingShareConsumer", "Messages"),
                *("Producer", "ShareConsumer", "ShareConsumer_callbacks", "Wakeable", "enums"),
                *("error", "kafka_error", "log", "message", "misc", "oauth_cb", "partitioners"),
                *("serializer_error", "threads", "topic_partition"),
            )
        ),
        goal=0.9,
        plugins=_PLUGINS,
        options=OPTIONS,
        excluded={
            f"{_WAKEABLE}::test_consumer_wakeable_consume_interruptibility_and_messages": _HANGS,
            f"{_WAKEABLE}::test_can_be_interrupted[consumer-consume]": _HANGS,
        },
        expected={
            "tests/test_ShareConsumer_callbacks.py"
            "::test_log_cb_delivers_always_on_warning_without_debug": _LIBRDKAFKA_LOG,
            f"{_WAKEABLE}::test_can_be_interrupted[producer-flush]": Difference(
                "a message expires after the 10 ms of its timeout, and `flush()` returns before the"
                " test's SIGINT; librdkafka looks for expired messages once a second"
            ),
        },
        not_selected={
            "test_AIOProducer, test_buffer_timeout_manager, test_kafka_batch_executor,"
            " test_producer_batch_processor": "internal classes of AIOProducer",
            "test_docs, test_unasync, _util": "the other project's documentation and tools",
            "ducktape, soak, system, oauthbearer/aws": "need other infrastructure",
        },
        # A test of Wakeable waits three times for 30 s.
        seconds=200,
    ),
    Suite(
        name="confluent-integration",
        title="confluent-kafka: integration (consumer, producer, serialization, administration)",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=(
            _CONSUMER,
            "tests/integration/producer",
            "tests/integration/serialization",
            "tests/integration/admin",
        ),
        goal=0.99,
        plugins=_PLUGINS,
        options=OPTIONS,
        environment=ENVIRONMENT,
        broker=Broker(),
    ),
    Suite(
        name="confluent-consumer-protocol",
        title="confluent-kafka: integration with the consumer protocol (KIP-848)",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=(_CONSUMER, "tests/integration/admin"),
        goal=0.99,
        plugins=_PLUGINS,
        options=OPTIONS,
        environment=_CONSUMER_PROTOCOL,
        broker=Broker(),
    ),
    Suite(
        name="confluent-share-consumer",
        title="confluent-kafka: share consumer, also with SASL",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=(_SHARE, f"{_SHARE}_oauth", f"{_SHARE}_sasl"),
        goal=0.99,
        plugins=_PLUGINS,
        options=OPTIONS,
        environment=ENVIRONMENT,
        # Locks expire, and members learn of their partitions, in test time.
        broker=Broker(
            {
                "group.share.record.lock.duration.ms": "1000",
                "group.share.min.record.lock.duration.ms": "1000",
                "group.share.heartbeat.interval.ms": "500",
                "group.share.min.heartbeat.interval.ms": "500",
            }
        ),
        expected={
            f"{_SHARE}/test_share_consumer_callbacks.py"
            "::test_log_cb_share_facility_tags_present": _LIBRDKAFKA_LOG,
        },
    ),
)
