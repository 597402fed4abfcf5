"""The keyword arguments of the layer: all of kafka-python's, and no others."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from ottla.compat.kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, _config, errors
from ottla.compat.kafka._security import security
from ottla.compat.kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from ottla.compat.kafka.sasl.oauth import AbstractTokenProvider
from ottla.testing import MockCluster

CLASSES = [KafkaConsumer, KafkaProducer, KafkaAdminClient]
NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize("kind", CLASSES)
def test_all_arguments_are_accepted_without_a_warning(
    kind: Any, mock_cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    everything = {**kind.DEFAULT_CONFIG, "bootstrap_servers": mock_cluster.bootstrap}
    client = kind(**everything)
    assert client.config["api_version"] == (4, 3)
    client.close()
    assert not [record for record in caplog.records if record.name == "ottla.compat"]


@pytest.mark.parametrize("kind", CLASSES)
def test_unknown_arguments_are_refused(kind: Any) -> None:
    with pytest.raises(errors.KafkaConfigurationError, match="max_poll_timeout_ms"):
        kind(bootstrap_servers=NOWHERE, max_poll_timeout_ms=1)


@pytest.mark.parametrize("kind", CLASSES)
def test_what_has_no_effect_is_one_warning(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(errors.NoBrokersAvailable):
        kind(
            bootstrap_servers=NOWHERE,
            bootstrap_timeout_ms=1,
            socket_options=[],
            metric_reporters=[object],
            net="asyncio",
            sock_chunk_bytes=1,
        )
    [warning] = [each for each in caplog.messages if "no effect" in each]
    assert warning == (
        f"{kind.__name__}: these arguments have no effect: "
        "metric_reporters, net, sock_chunk_bytes, socket_options"
    )


@pytest.mark.parametrize("kind", CLASSES)
def test_a_constructor_waits_for_the_cluster(kind: Any) -> None:
    for caught in (errors.NoBrokersAvailable, errors.KafkaTimeoutError):
        with pytest.raises(caught):
            kind(bootstrap_servers=NOWHERE, bootstrap_timeout_ms=20)


def test_a_version_makes_the_constructor_lazy() -> None:
    with KafkaConsumer("orders", bootstrap_servers=NOWHERE, api_version="2.5.0") as consumer:
        assert consumer.config["api_version"] == (2, 5, 0)
        assert not consumer.bootstrap_connected()
        assert consumer.poll(timeout_ms=10) == {}


def test_addresses() -> None:
    config = dict(KafkaAdminClient.DEFAULT_CONFIG)
    for given, expected in (
        ("localhost", ["localhost:9092"]),
        ("a:1,b", ["a:1", "b:9092"]),
        (
            ["PLAINTEXT://a:1", "::1", "[::2]", "[::3]:4"],
            ["a:1", "[::1]:9092", "[::2]:9092", "[::3]:4"],
        ),
    ):
        config["bootstrap_servers"] = given
        assert _config.common(config)["bootstrap_servers"] == expected


def test_numbers_may_be_infinite_and_fractions() -> None:
    config = {**KafkaProducer.DEFAULT_CONFIG, "max_block_ms": float("inf"), "linger_ms": 1.5}
    made = _config.producer(config, {})
    assert made["retries"] == made["max_block_ms"] == 2**31 - 1
    assert made["linger_ms"] == 1
    assert "batch_size" not in made
    # ottla requires the sum of the others to be within delivery.timeout.ms.
    short = _config.producer({**config, "delivery_timeout_ms": 1_000, "linger_ms": 600}, {})
    assert (short["linger_ms"], short["request_timeout_ms"]) == (600, 400)


def test_what_a_consumer_refuses() -> None:
    for arguments in (
        {"fetch_max_wait_ms": 50_000, "request_timeout_ms": 40_000},
        {"request_timeout_ms": 50_000, "connections_max_idle_ms": 40_000},
        {"request_timeout_ms": 70_000, "default_api_timeout_ms": 60_000},
        {"group_instance_id": "a"},
        {"isolation_level": "committed"},
        {"group_id": "g", "partition_assignment_strategy": [object]},
        {"proxy_url": "socks5://localhost"},
        {"client_dns_lookup": "default"},
    ):
        with pytest.raises(errors.KafkaConfigurationError):
            KafkaConsumer(bootstrap_servers=NOWHERE, api_version=(2, 5), **arguments)
    # As in kafka-python 2, whose programs know no default_api_timeout_ms.
    with KafkaConsumer(
        bootstrap_servers=NOWHERE, api_version=(2, 5), request_timeout_ms=305_000
    ) as consumer:
        assert consumer.config["default_api_timeout_ms"] == 305_000


def test_names_of_offsets_and_assignors() -> None:
    config = {**KafkaConsumer.DEFAULT_CONFIG, "group_id": "g"}
    for given, expected in (("smallest", "earliest"), ("largest", "latest"), ("other", "none")):
        assert (
            _config.consumer({**config, "auto_offset_reset": given})["auto_offset_reset"]
            == expected
        )
    made = _config.consumer(config)
    assert made["partition_assignment_strategy"] == ["range", "roundrobin"]
    config["partition_assignment_strategy"] = [StickyPartitionAssignor, "range"]
    assert _config.consumer(config)["partition_assignment_strategy"] == ["sticky", "range"]


@pytest.mark.parametrize(
    ("arguments", "idempotent"),
    [
        ({}, True),
        ({"acks": "all", "enable_idempotence": True}, True),
        ({"acks": 1}, False),
        ({"acks": 0}, False),
        ({"retries": 0}, False),
        ({"max_in_flight_requests_per_connection": 6}, False),
        ({"enable_idempotence": False}, False),
    ],
)
def test_idempotence_gives_way_to_what_excludes_it(
    arguments: dict[str, Any], idempotent: bool
) -> None:
    with KafkaProducer(bootstrap_servers=NOWHERE, api_version=(2, 5), **arguments) as producer:
        assert producer.config["enable_idempotence"] is idempotent


@pytest.mark.parametrize("demand", [{"enable_idempotence": True}, {"transactional_id": "t"}])
def test_idempotence_that_is_demanded_excludes_others(demand: dict[str, Any]) -> None:
    for arguments in ({"acks": 1}, {"retries": 0}, {"api_version": (0, 10)}):
        with pytest.raises(errors.KafkaConfigurationError, match=next(iter(arguments))):
            KafkaProducer(
                **{"bootstrap_servers": NOWHERE, "api_version": (2, 5), **demand, **arguments}
            )
    with pytest.raises(errors.KafkaConfigurationError, match="transactional_id"):
        KafkaProducer(bootstrap_servers=NOWHERE, transactional_id="t", enable_idempotence=False)


def test_a_codec_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="brotli"):
        KafkaProducer(bootstrap_servers=NOWHERE, compression_type="brotli")


def secure(**config: Any) -> dict[str, Any]:
    """Return ottla's keys for some arguments."""
    return security({**KafkaConsumer.DEFAULT_CONFIG, "security_protocol": "SASL_SSL", **config})


PLAIN = {
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "ann",
    "sasl_plain_password": "secret",
}


def test_tls_from_files() -> None:
    made = secure(
        **PLAIN,
        ssl_cafile="ca.pem",
        ssl_certfile="client.pem",
        ssl_keyfile="client.key",
        ssl_password=b"pass",
        ssl_check_hostname=False,
    )
    assert made == {
        "ssl_truststore_location": "ca.pem",
        "ssl_certificate_location": "client.pem",
        "ssl_key_location": "client.key",
        "ssl_key_password": "pass",
        "ssl_endpoint_identification_algorithm": "",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "ann",
        "sasl_password": "secret",
    }
    assert secure(**PLAIN, ssl_certfile="both.pem")["ssl_keystore_location"] == "both.pem"


def test_what_would_weaken_tls_is_refused() -> None:
    with pytest.raises(errors.KafkaConfigurationError, match="revocation"):
        secure(**PLAIN, ssl_crlfile="crl.pem")
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    with pytest.raises(errors.KafkaConfigurationError, match="always verified"):
        secure(**PLAIN, ssl_context=unverified)
    revoking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    revoking.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    with pytest.raises(errors.KafkaConfigurationError, match="revocation"):
        secure(**PLAIN, ssl_context=revoking)


def test_tls_from_a_context(caplog: pytest.LogCaptureFixture) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert secure(**PLAIN, ssl_context=context).keys() == secure(**PLAIN).keys()
    assert "ssl_certfile" in caplog.text
    context.check_hostname = False
    assert secure(**PLAIN, ssl_context=context)["ssl_endpoint_identification_algorithm"] == ""


def test_sasl() -> None:
    class Provider(AbstractTokenProvider):
        def token(self) -> str:
            return "a-token"

        def extensions(self) -> dict[str, str]:
            return {"pool": "a"}

    made = secure(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=Provider())
    assert made["sasl_oauth_token"]() == ("a-token", None, {"pool": "a"})
    made = secure(sasl_mechanism="GSSAPI", sasl_kerberos_name="kafka@host")
    assert made["sasl_kerberos_service_name"] == "kafka"
    for arguments in (
        {"sasl_mechanism": None},
        {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": object()},
        {**PLAIN, "sasl_plain_password": None},
    ):
        with pytest.raises(errors.KafkaConfigurationError) as raised:
            secure(**arguments)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_clients_authenticate(mechanism: str) -> None:
    class Provider(AbstractTokenProvider):
        def token(self) -> str:
            return "secret"

    arguments = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "ann",
        "sasl_plain_password": "secret",
        "sasl_oauth_token_provider": Provider(),
    }
    with MockCluster(users={"ann": "secret"}) as cluster:
        arguments["bootstrap_servers"] = cluster.bootstrap
        with KafkaProducer(**arguments) as producer:
            producer.send("orders", b"v").get(timeout=30)
        arguments["sasl_plain_password"] = "wrong-password"
        if mechanism == "PLAIN":
            with pytest.raises(errors.SaslAuthenticationFailedError) as raised:
                KafkaProducer(**arguments)
            assert "wrong-password" not in str(raised.value)
