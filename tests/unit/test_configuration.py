"""Configuration: every key in every form; mistakes are errors that name the closest key."""

from __future__ import annotations

from typing import Any

import pytest

import ottla
from ottla import _core, errors

ROWS = {row[0]: row for row in _core.config_rows()}
ADDRESS = "127.0.0.1:9"


def make(config: dict[str, Any] | None = None, **kwargs: Any) -> ottla.Client:
    return ottla.Client(ADDRESS, config, connect=False, **kwargs)


GOOD: dict[str, Any] = {
    "bootstrap.servers": "127.0.0.1:9",
    "security.protocol": "PLAINTEXT",
    "acks": "all",
    "client.dns.lookup": "use_all_dns_ips",
    "proxy.url": "socks5h://proxy:1080",
    "metadata.recovery.strategy": "none",
    "compression.type": "zstd",
    "partitioner.class": "consistent_random",
    "isolation.level": "read_committed",
    "share.acknowledgement.mode": "explicit",
    "share.acquire.mode": "record_limit",
    "auto.offset.reset": "earliest",
    "group.protocol": "consumer",
    "partition.assignment.strategy": "range,org.apache.kafka.clients.consumer.StickyAssignor",
    "sasl.oauthbearer.token.provider": "json:dumps",
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_takes_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark passes only text."""
    monkeypatch.setenv("OTTLA_TOKEN_PROVIDERS", "json:dumps")
    _, kind, _, bounds, _ = ROWS[name]
    if name in GOOD:
        text = GOOD[name]
    elif kind == "bool":
        text = "true"
    elif kind in {"int", "milliseconds"}:
        # The largest value at which the check across rows still holds.
        text = str(bounds[0] if bounds and name != "delivery.timeout.ms" else 120_000)
    else:
        text = "text"
    if name == "bootstrap.controllers":
        # In place of the brokers' addresses.
        ottla.Client({name: ADDRESS}, connect=False)
        ottla.Client(bootstrap_controllers=ADDRESS, connect=False)
        return
    make({name: text})
    make({name: f" {text} "} if kind in {"int", "milliseconds"} else {name: text})
    ottla.Client(connect=False, **{"bootstrap_servers": ADDRESS, name.replace(".", "_"): text})


@pytest.mark.parametrize(
    "name", [n for n, row in ROWS.items() if row[1] in {"int", "milliseconds"}]
)
def test_numbers_are_checked(name: str) -> None:
    bounds = ROWS[name][3]
    assert bounds is not None
    for wrong in ("many", "", 1.5, "1.5", True, ["1"]):
        with pytest.raises(errors.ConfigError, match=rf"{name}=.*expected a whole number"):
            make({name: wrong})
    for beyond in (bounds[0] - 1, str(bounds[1] + 1) if bounds[1] < 1 << 62 else bounds[0] - 1):
        with pytest.raises(errors.ConfigError, match=f"{name}=.*must be between {bounds[0]} and"):
            make({name: beyond})
    with pytest.raises(errors.ConfigError, match="too large"):
        make({name: 1 << 70})


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_documented(name: str) -> None:
    _, kind, default, bounds, doc = ROWS[name]
    assert kind
    # An empty text or list is a default too; any other default is also a valid value.
    assert default or kind in {"list", "string", "password"}
    if default:
        make({name: default})
    assert doc.endswith(".")
    assert bounds is None or bounds[0] < bounds[1]


@pytest.mark.parametrize(
    ("given", "closest"),
    [
        ("linger.mss", "linger.ms"),
        ("lingerms", "linger.ms"),
        ("bootstrap.server", "bootstrap.servers"),
        ("batch_sizes", "batch.size"),
        ("compresion.type", "compression.type"),
        ("Acks", "acks"),
    ],
)
def test_an_unknown_key_names_the_closest(given: str, closest: str) -> None:
    with pytest.raises(
        errors.ConfigError, match=rf"unknown configuration key.*did you mean {closest}"
    ):
        make({given: "1"})
    if "." not in given:
        with pytest.raises(errors.ConfigError, match=rf"did you mean {closest}"):
            make(None, **{given: "1"})


def test_no_far_fetched_key_is_suggested() -> None:
    with pytest.raises(errors.ConfigError) as raised:
        make(zzzzzzzzzzzzz=1)
    assert "did you mean" not in str(raised.value)


def test_values_of_each_type() -> None:
    make({"check.crcs": True, "linger.ms": 5, "batch.size": 16384.0, "acks": 1})
    make({"check.crcs": "FALSE", "linger.ms": "5", "acks": "-1"})
    make({"linger.ms": None})
    make({}, linger_ms=None)
    for wrong in (
        {"check.crcs": "yes"},
        {"check.crcs": 1},
        {"acks": "some"},
        {"acks": 2},
        {"compression.type": "brotli"},
        {"client.id": 5},
        {"client.id": b"bytes"},
        {"linger.ms": object()},
        {"isolation.level": 1},
    ):
        with pytest.raises(errors.ConfigError) as raised:
            make(wrong)
        assert next(iter(wrong)) in str(raised.value)


def test_names_must_be_text() -> None:
    with pytest.raises((errors.ConfigError, TypeError)):
        make({5: "x"})  # type: ignore[dict-item]


def test_keywords_win_over_the_mapping() -> None:
    with pytest.raises(errors.ConfigError, match=r"max.block.ms=-5"):
        make({"max.block.ms": 100}, max_block_ms=-5)
    make({"max.block.ms": 5}, max_block_ms=100)


def test_contradictory_timeouts() -> None:
    with pytest.raises(errors.ConfigError, match=r"delivery.timeout.ms.*at least"):
        make(delivery_timeout_ms=1000)
    make(delivery_timeout_ms=1000, request_timeout_ms=900, linger_ms=100)


@pytest.mark.parametrize("protocol", ["TLS", "PLAIN", "SASL", ""])
def test_an_unknown_security_protocol_is_an_error(protocol: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"security.protocol.*SASL_SSL"):
        make(security_protocol=protocol)


def test_the_default_mechanism_names_the_others() -> None:
    with pytest.raises(errors.ConfigError, match=r"sasl.mechanism=GSSAPI.*SCRAM-SHA-512"):
        make(security_protocol="SASL_PLAINTEXT", sasl_username="ann", sasl_password="x")


@pytest.mark.parametrize("level", ["READ_COMMITTED", "dirty"])
def test_isolation_level_is_checked(level: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"isolation.level"):
        make(isolation_level=level).scan([])


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "sasl.jaas.config",
        "ssl.keystore.key",
        "sasl.oauthbearer.client.credentials.secret",
    ],
)
def test_secrets_are_not_shown(name: str) -> None:
    secret = "hunter2-very-secret"
    for config in ({name: secret}, {name: [secret]}, {name: 5, "linger.ms": "x"}):
        shown: object
        try:
            shown = make(config)
        except errors.ConfigError as error:
            shown = (str(error), repr(error), error.context)
        assert secret not in repr(shown)


def test_configurations_of_java_clients_can_be_reused() -> None:
    make({"metric.reporters": "", "auto.include.jmx.reporter": "true"})


MALFORMED: list[Any] = ["", ",", "host", "host:", ":9092", "host:port", "host:0", "host:65536"]
MALFORMED += [
    "host:-1",
    "a b:9092",
    "http://host/path:9092",
    "host:9092,other",
    [],
    [""],
    "[::1:9/x",
]


@pytest.mark.parametrize("bootstrap", MALFORMED)
def test_malformed_addresses_are_errors(bootstrap: Any) -> None:
    with pytest.raises(errors.ConfigError, match=r"bootstrap.servers"):
        ottla.Client(bootstrap)


@pytest.mark.parametrize("bootstrap", [None, 5, b"host:9092", {}, [5]])
def test_addresses_of_a_wrong_type_are_errors(bootstrap: Any) -> None:
    with pytest.raises(errors.ConfigError, match="bootstrap"):
        ottla.Client(bootstrap)


@pytest.mark.parametrize(
    "bootstrap", ["[::1]:9", "PLAINTEXT://127.0.0.1:9", ["127.0.0.1:9", "localhost:9"]]
)
def test_valid_addresses(bootstrap: Any) -> None:
    assert "brokers=0" in repr(ottla.Client(bootstrap, connect=False))
