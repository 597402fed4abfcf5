"""aiokafka's own suite. Its fixtures start Kafka in Docker, so that a plugin replaces them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.peer_suites.suite import Broker, Checkout, Difference, Suite

_CHECKOUT = Checkout(
    name="aiokafka",
    repository="https://github.com/aio-libs/aiokafka",
    commit="672947afe85c91b7d953f0259e69837a711d3246",
    directories=("tests",),
    digest="281170bb1361b3ac73ad7afb1948eadb27de0d61ba19a18f2f56656329094e3d",
)

_CONSUMER = "tests/test_consumer.py::TestConsumerIntegration"
_PRODUCER = "tests/test_producer.py::TestKafkaProducerIntegration"
_TRANSACTIONAL = "tests/test_transactional_producer.py::TestKafkaProducerIntegration"

_REPLACES = "replaces requests, responses or methods of internal objects"
_READS = "reads attributes of internal objects"
_TLS = "needs a listener with the certificates of aiokafka's image of Kafka"

_EXCLUDED: Mapping[str, str] = {
    f"{_CONSUMER}::test_ssl_consume": _TLS,
    f"{_PRODUCER}::test_producer_ssl": _TLS,
    f"{_CONSUMER}::test_consumer_cleanup_unassigned_data_getmany": _READS,
    f"{_CONSUMER}::test_consumer_cleanup_unassigned_data_getone": _READS,
    f"{_CONSUMER}::test_kafka_consumer_sets_coordinator_values": _READS,
    f"{_CONSUMER}::test_rebalance_listener_with_coroutines": _READS,
    f"{_CONSUMER}::test_consumer_compacted_topic": _REPLACES,
    f"{_CONSUMER}::test_consumer_compressed_returns_older_msgs": _REPLACES,
    f"{_CONSUMER}::test_consumer_invalid_crc_in_records": _REPLACES,
    f"{_CONSUMER}::test_consumer_propagates_commit_refresh_errors": _REPLACES,
    f"{_CONSUMER}::test_consumer_propagates_coordinator_errors": _REPLACES,
    f"{_CONSUMER}::test_consumer_propagates_heartbeat_errors": _REPLACES,
    f"{_PRODUCER}::test_producer_context_manager": _READS,
    f"{_PRODUCER}::test_producer_idempotence_configuration": _READS,
    f"{_PRODUCER}::test_producer_correct_time_returned": _REPLACES,
    f"{_PRODUCER}::test_producer_indempotence_no_duplicates": _REPLACES,
    f"{_PRODUCER}::test_producer_leader_change_preserves_order": _REPLACES,
    f"{_PRODUCER}::test_producer_notopic": _REPLACES,
    f"{_PRODUCER}::test_producer_send_empty_batch": _REPLACES,
    f"{_PRODUCER}::test_producer_send_error": _REPLACES,
    f"{_PRODUCER}::test_producer_send_leader_notfound": _REPLACES,
    f"{_PRODUCER}::test_producer_send_reenque_resets_waiters": _REPLACES,
    f"{_PRODUCER}::test_producer_send_timeout": _REPLACES,
    f"{_PRODUCER}::test_producer_sender_errors_propagate_to_producer": _REPLACES,
    f"{_TRANSACTIONAL}::test_producer_transactional_aborting_previous_failure": _REPLACES,
    f"{_TRANSACTIONAL}::test_producer_transactional_raise_out_of_sequence": _REPLACES,
    f"{_TRANSACTIONAL}::test_producer_transactional_restart_reaquire_pid": _READS,
}

SUITES = (
    Suite(
        name="aiokafka",
        title="aiokafka: consumer, producer, transactions, administration",
        layer="aiokafka",
        source=_CHECKOUT,
        venv="aiokafka",
        paths=(
            "tests/test_consumer.py",
            "tests/test_producer.py",
            "tests/test_transactional_consumer.py",
            "tests/test_transactional_producer.py",
            "tests/test_pep492.py",
            "tests/test_admin.py",
            "tests/test_partitioner.py",
        ),
        goal=0.97,
        plugins=("peer_aiokafka",),
        replaced=("tests/conftest.py",),
        options=("asyncio_mode = auto", "markers =", "    ssl: needs certificates"),
        environment={
            "OTTLA_PEER_BOOTSTRAP": "{bootstrap}",
            "OTTLA_PEER_KAFKA_VERSION": "4.3.0",
        },
        broker=Broker({"num.partitions": "2"}),
        excluded=_EXCLUDED,
        expected={
            f"{_CONSUMER}::test_large_messages_getmany": Difference(
                "expects one fetch a call; a call of ottla's returns what has arrived, by chance of"
                " two fetches",
                always=False,
            ),
            "tests/test_admin.py::TestAdmin::test_metadata": Difference(
                "calls the private `_get_cluster_metadata`"
            ),
        },
        not_selected={
            "tests/test_sasl.py": "needs Kerberos and ZooKeeper, in aiokafka's image of Kafka",
            "tests/coordinator": "the algorithms of assignors, which are in ottla's core",
            "tests/test_client.py, test_conn.py, test_fetcher.py and others": (
                "modules internal to the client"
            ),
        },
    ),
)
