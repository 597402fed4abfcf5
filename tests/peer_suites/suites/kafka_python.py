"""kafka-python's own suite.

The source distribution has the integration tests, without two files that they import: an empty
`__init__.py`, and a module that starts processes (`plugins/peer_kafka_python.py`). The fixtures are
the suite's, for a broker that runs already (`KAFKA_URI`).
"""

from __future__ import annotations

from tests.peer_suites.suite import Broker, Checkout, Difference, Sdist, Suite

_SDIST = Sdist(
    "kafka-python",
    "3.0.9",
    "703c00a59d9853494a9821f8665d99e9443951dabe657a0b2a24e9e50a70703d",
)
_CHECKOUT = Checkout(
    name="kafka-python",
    repository="https://github.com/dpkp/kafka-python",
    commit="a3b3836ff3a4b34ebaa42fd93500bfcb16c1e9b7",
    directories=("test",),
    digest="c0f9d2877ffb67f191e287e5ca4c3a25bee84287ea20c56e8073f2b201c4c8f6",
)
_ENVIRONMENT = {
    "KAFKA_URI": "kafka://{bootstrap}",
    "KAFKA_VERSION": "4.3",
    # Fixtures want a directory of Kafka, also if they do not start it.
    "KAFKA_ROOT": ".",
}
_BROKER = Broker({"num.partitions": "4"})

_PRIVATE = Difference("reads or replaces private attributes of the client")
_CONSUMER = "test/consumer/test_consumer.py"
_KIP_679 = "test/producer/test_kip679_config.py"
_EXPLICIT = f"{_KIP_679}::TestExplicitIdempotenceConflicts"

SUITES = (
    Suite(
        name="kafka-python",
        title="kafka-python: consumer and producer",
        layer="kafka",
        source=_SDIST,
        venv="kafka-python",
        paths=(
            "test/integration/test_consumer_integration.py",
            "test/integration/test_producer_integration.py",
        ),
        goal=1.0,
        plugins=("peer_kafka_python",),
        added=("test/__init__.py",),
        environment=_ENVIRONMENT,
        broker=_BROKER,
        expected={
            "test/integration/test_consumer_integration.py"
            "::test_kafka_consumer_unsupported_encoding": Difference(
                "simulates a missing compression library; ottla's core contains all codecs"
            ),
        },
        not_selected={
            "SASL and TLS": "the fixtures create key stores, for a broker that they start",
        },
    ),
    Suite(
        name="kafka-python-admin",
        title="kafka-python: administration",
        layer="kafka",
        source=_SDIST,
        venv="kafka-python",
        paths=("test/integration/test_admin_integration.py",),
        goal=0.9,
        plugins=("peer_kafka_python",),
        added=("test/__init__.py",),
        environment=_ENVIRONMENT,
        broker=_BROKER,
        expected={
            "test/integration/test_admin_integration.py::test_delete_records": Difference(
                "wants the records of two topics from one poll; ottla returns what has arrived",
            ),
        },
    ),
    Suite(
        name="kafka-python-unit",
        title="kafka-python: unit tests of the public interface",
        layer="kafka",
        source=_CHECKOUT,
        venv="kafka-python",
        paths=(
            "test/test_future.py",
            "test/test_serializer.py",
            _CONSUMER,
            "test/producer/test_partitioner.py",
            _KIP_679,
            "test/admin/test_admin_client_config.py",
        ),
        goal=0.75,
        # Its fixtures import the network layer.
        replaced=("test/conftest.py",),
        expected={
            f"{_CONSUMER}::test_fetch_all_topic_metadata_restores_flag_on_timeout": _PRIVATE,
            f"{_CONSUMER}::test_assign": _PRIVATE,
            f"{_CONSUMER}::test_poll_once_sleeps_when_fetcher_idle": _PRIVATE,
            f"{_CONSUMER}::test_poll_once_does_not_sleep_when_records_returned": _PRIVATE,
            f"{_CONSUMER}::test_poll_once_does_not_sleep_when_fetcher_waited_but_empty": _PRIVATE,
            f"{_KIP_679}::TestDefaultsAreIdempotent::test_bare_construct_is_idempotent": _PRIVATE,
            f"{_KIP_679}::TestDefaultsAreIdempotent"
            "::test_opt_out_disables_idempotence_but_keeps_acks_default": _PRIVATE,
            f"{_KIP_679}::TestDefaultIdempotenceSilentDisable": _PRIVATE,
            f"{_KIP_679}::TestOldBrokerFallback::test_old_broker_silently_disables": _PRIVATE,
            f"{_EXPLICIT}::test_acks_all_string_accepted": _PRIVATE,
        },
        not_selected={
            "test/net, test/protocol, test/record and others": "modules internal to the client",
        },
    ),
)
