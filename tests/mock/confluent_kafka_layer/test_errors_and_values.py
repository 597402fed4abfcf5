"""Errors, constants and values are those of the original, by name, number and comparison."""

from __future__ import annotations

import os
import pickle
from typing import Any

import confluent_kafka as original
import pytest
from confluent_kafka import cimpl as original_cimpl

from ottla import errors
from ottla.compat import confluent_kafka as layer
from ottla.compat.confluent_kafka import cimpl
from ottla.compat.confluent_kafka._errors import kafka_error

KafkaError = layer.KafkaError


def _codes(kind: Any) -> dict[str, int]:
    return {name: getattr(kind, name) for name in dir(kind) if name.isupper()}


def test_every_code_of_the_original_has_its_name_and_number() -> None:
    expected = _codes(original.KafkaError)
    assert _codes(KafkaError) == expected
    for code in expected.values():
        assert KafkaError(code).name() == original.KafkaError(code).name()


def test_every_constant_of_cimpl_has_its_number() -> None:
    assert _codes(cimpl) == _codes(original_cimpl)


@pytest.mark.parametrize("code", [98, 104, 134, 12345])
def test_a_code_without_a_name_has_a_text(code: int) -> None:
    error, expected = KafkaError(code), original.KafkaError(code)
    assert (error.name(), error.str()) == (expected.name(), expected.str())


@pytest.mark.parametrize("flags", [{}, {"fatal": True}, {"retriable": True}])
def test_an_error_keeps_its_flags_when_it_is_pickled(flags: dict[str, bool]) -> None:
    error = KafkaError(3, "text", **flags)
    copy = pickle.loads(pickle.dumps(error))
    assert copy == error == 3
    assert copy != 4
    assert hash(copy) == hash(KafkaError(3))
    assert (copy.fatal(), copy.retriable()) == (error.fatal(), error.retriable())
    assert str(copy) == str(original.KafkaError(3, "text", **flags))
    assert pickle.loads(pickle.dumps(layer.KafkaException(error))).args[0] == error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TimeoutError("late"), KafkaError._TIMED_OUT),
        (errors.ConnectionError("gone"), KafkaError._TRANSPORT),
        (errors.AuthenticationError("no"), KafkaError._AUTHENTICATION),
        (errors.ConfigError("bad"), KafkaError._INVALID_ARG),
        (errors.OffsetError("none"), KafkaError._AUTO_OFFSET_RESET),
        (errors.FencedError("newer"), KafkaError._FENCED),
        (ValueError("other"), KafkaError._FAIL),
    ],
)
def test_an_exception_of_ottla_has_the_code_of_librdkafka(error: Exception, code: int) -> None:
    assert kafka_error(error).code() == code


def test_the_code_of_a_broker_stays() -> None:
    error = errors.BrokerError("busy")
    error.code = 14
    assert kafka_error(error) == KafkaError.COORDINATOR_LOAD_IN_PROGRESS


def test_partitions_are_compared_by_topic_and_number(either: Any) -> None:
    part = either.TopicPartition
    assert part("a", 1, 5) == part("a", 1, 7, "metadata", 3)
    assert hash(part("a", 1, 5)) == hash(part("a", 1))
    assert min([part("b", 0), part("a", 2), part("a", 1)]) == part("a", 1)
    assert (part("a").partition, part("a").offset, part("a").leader_epoch) == (-1, -1001, None)
    assert str(part("a", 1, 5, "m", 3)) == (
        "TopicPartition{topic=a,partition=1,offset=5,leader_epoch=3,error=None}"
    )
    with pytest.raises(ValueError, match="embedded null character"):
        part("a", 0, 0, "x\0y")
    with pytest.raises(AttributeError):
        part("a").topic = "b"


def test_messages_have_the_accessors_of_the_original(either: Any) -> None:
    message = either.Message("t", 1, 2, "k", "v", [], None, (0, 4), 5.5, 3, 6)
    found = (
        *(message.topic(), message.partition(), message.offset(), message.key(), message.value()),
        *(message.headers(), message.error(), message.timestamp(), message.latency()),
        *(message.leader_epoch(), message.delivery_count(), len(message)),
    )
    assert found == ("t", 1, 2, "k", "v", [], None, (0, 4), 5.5, 3, 6, 1)
    empty = either.Message()
    assert (empty.partition(), empty.offset(), empty.timestamp()) == (None, None, (0, 0))
    copy = pickle.loads(pickle.dumps(message))
    assert copy == message
    assert copy != empty
    with pytest.raises(OverflowError):
        either.Message(delivery_count=1 << 15)


@pytest.mark.parametrize("name", ["murmur2", "consistent", "fnv1a"])
def test_partitioners_choose_the_partition_of_the_original(name: str) -> None:
    for size in range(40):
        key, count = os.urandom(size), size + 1
        assert getattr(layer, name)(key, count) == getattr(original, name)(key, count)


def test_the_names_of_the_original_are_there() -> None:
    later = {"admin", "aio", "kafkatest"}
    assert set(original.__all__) - later <= set(layer.__all__)
    expected: Any = original.version()
    assert layer.version() == expected
