"""librdkafka's configuration is taken as it is: translated, refused, or ignored with a warning."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ottla.compat.confluent_kafka import KafkaError, KafkaException
from ottla.compat.confluent_kafka._config import NOWHERE, client_of, settings_of
from ottla.compat.confluent_kafka._settings import Kind, Settings

B = {"bootstrap.servers": "localhost:1"}


def _settings(config: dict[str, Any], kind: Kind = "producer") -> Settings:
    settings = settings_of({**B, **config}, kind)
    client_of(settings).close()
    return settings


@pytest.mark.parametrize(
    "config",
    [
        {"no.such.key": 1},
        {"key.serializer": str},
        {"dr_cb": print},
        {"linger.ms": "abc"},
        {"enable.idempotence": "maybe"},
        {"partitioner": "murmur"},
        {"linger.ms": 5000, "message.timeout.ms": 1000},
        {"enable.idempotence": True, "acks": 1},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
        {"on_delivery": 1},
        {"error_cb": 1},
        {"stats_cb": None},
        {"throttle_cb": 1},
        {"oauth_cb": 1},
        {"default.topic.config": {"no.such.key": 1}},
        {"default.topic.config": 1},
    ],
    ids=str,
)
def test_both_refuse_with_the_same_class(either: Any, config: dict[str, Any]) -> None:
    expected = (KafkaException, either.KafkaException, TypeError, ValueError, AttributeError)
    with pytest.raises(expected) as refused:
        either.Producer(config)
    if isinstance(refused.value, either.KafkaException):
        assert refused.value.args[0] == KafkaError._INVALID_ARG
    kinds: dict[str, type[Exception]] = dict.fromkeys(
        ("error_cb", "stats_cb", "oauth_cb"), TypeError
    )
    kinds["throttle_cb"] = ValueError
    for key, kind in kinds.items():
        if key in config:
            assert type(refused.value) is kind


@pytest.mark.parametrize("arguments", [(), ({}, {}), ("x",)], ids=str)
def test_a_constructor_takes_one_dict(either: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        either.Producer(*arguments)


def test_a_consumer_needs_a_group(either: Any) -> None:
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        either.Consumer({})


def test_hosts_may_lack_a_port_and_have_a_protocol() -> None:
    settings = settings_of({"bootstrap.servers": "a,PLAINTEXT://b:1, [::1]:2"}, "producer")
    assert settings.ottla["bootstrap.servers"] == "a:9092,b:1,[::1]:2"
    assert settings_of({"metadata.broker.list": "c"}, "producer").has_brokers
    nowhere = settings_of({"bootstrap.servers": None}, "producer")
    assert (nowhere.has_brokers, nowhere.ottla["bootstrap.servers"]) == (False, NOWHERE)


def test_the_defaults_are_those_of_librdkafka() -> None:
    settings = _settings({})
    assert settings.ottla["isolation.level"] == "read_committed"
    assert settings.ottla["partitioner.class"] == "consistent_random"
    assert settings.ottla["allow.auto.create.topics"] is False
    assert settings.message_timeout == 300.0
    assert settings.queue_max_messages == 100_000


@pytest.mark.parametrize(("timeout", "expected"), [(10, 0.01), (0, None), (100_000, 100.0)])
def test_a_message_timeout_stands_alone(timeout: int, expected: float | None) -> None:
    assert _settings({"message.timeout.ms": timeout}).message_timeout == expected
    topic = {"default.topic.config": {"message.timeout.ms": timeout}}
    assert _settings({"message.timeout.ms": 5, **topic}).message_timeout == expected


def test_keys_of_one_meaning_may_stand_beside_each_other() -> None:
    keys = {
        "topic.metadata.refresh.interval.ms": 1000,
        "metadata.max.age.ms": 180_000,
        "socket.timeout.ms": 10_000,
        "request.timeout.ms": 5000,
        "compression.type": "gzip",
        "compression.level": 12,
        "queue.buffering.max.kbytes": 10,
        "linger.ms": 0.5,
    }
    settings = _settings(keys)
    assert settings.queue_max_bytes == 10 * 1024
    assert settings.ottla["compression.gzip.level"] == 9
    assert settings.ottla["linger.ms"] == 1


def test_the_buffer_is_larger_than_the_queue_unless_it_is_set() -> None:
    queue = {"queue.buffering.max.kbytes": 10}
    assert _settings(queue).ottla["buffer.memory"] > 10 * 1024
    assert _settings({**queue, "buffer.memory": 5000}).ottla["buffer.memory"] == 5000


def test_a_short_session_lowers_the_heartbeats() -> None:
    settings = _settings({"group.id": "g", "session.timeout.ms": 900}, "consumer")
    assert settings.ottla["heartbeat.interval.ms"] == 300


def test_brokers_decide_on_the_sessions_of_the_new_protocol() -> None:
    config = {"group.id": "g", "group.protocol": "consumer", "max.poll.interval.ms": 6000}
    assert "session.timeout.ms" not in _settings(config, "consumer").ottla
    with pytest.raises(KafkaException):
        _settings({**config, "session.timeout.ms": 6000}, "consumer")


def test_what_has_no_effect_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ottla.compat"):
        _settings({"socket.keepalive.enable": True, "api.version.request": True, "debug": "all"})
    (record,) = [record for record in caplog.records if record.name == "ottla.compat"]
    assert "api.version.request, socket.keepalive.enable" in record.getMessage()


def test_what_would_weaken_security_is_refused() -> None:
    for config in ({"enable.ssl.certificate.verification": False}, {"ssl.crl.location": "x"}):
        with pytest.raises(KafkaException):
            _settings(config)


def test_no_error_contains_a_password() -> None:
    with pytest.raises(KafkaException) as refused:
        _settings({"security.protocol": "SSL", "ssl.key.pem": "hunter2"})
    assert "hunter2" not in str(refused.value)


def test_tokens_come_from_the_callback() -> None:
    seen = []

    def oauth_cb(config: str) -> tuple[str, float, str, dict[str, str]]:
        seen.append(config)
        return "token", 4e9, "principal", {"name": "value"}

    keys = {"sasl.mechanism": "OAUTHBEARER", "security.protocol": "SASL_PLAINTEXT"}
    settings = _settings({**keys, "sasl.oauthbearer.config": "x", "oauth_cb": oauth_cb})
    source = settings.ottla["sasl_oauth_token"]
    assert source() == ("token", 4e9, {"name": "value"})
    assert seen == ["x"]
    source.close()


def test_a_callback_without_a_token_is_an_error() -> None:
    def oauth_cb(config: str) -> None:
        raise ValueError(config)

    with pytest.raises(KafkaException) as refused:
        _settings({"oauth_cb": oauth_cb, "sasl.mechanism": "OAUTHBEARER"})
    assert refused.value.args[0] == KafkaError.SASL_AUTHENTICATION_FAILED
