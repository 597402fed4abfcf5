"""The exceptions of the layer: kafka-python's classes, and one for each of ottla's errors."""

from __future__ import annotations

import pickle

import pytest

import ottla.errors
from ottla.compat.kafka import errors
from ottla.compat.kafka._errors import translated, translating
from ottla.errors import ErrorCode

OURS = [
    value
    for value in vars(ottla.errors).values()
    if isinstance(value, type) and issubclass(value, ottla.errors.KafkaError)
]


def of(kind: type[ottla.errors.KafkaError], code: int | None = None) -> type:
    """Return the class of the translation of an error."""
    error = kind("what happened")
    error.code = code
    made = translated(error)
    assert made.__cause__ is error
    assert "what happened" in str(made)
    return type(made)


@pytest.mark.parametrize("kind", OURS)
def test_every_error_of_ottla_becomes_one_of_kafka_python(
    kind: type[ottla.errors.KafkaError],
) -> None:
    assert issubclass(of(kind), errors.KafkaError)
    if kind not in (ottla.errors.KafkaError, ottla.errors.BrokerError):
        assert of(kind) is not errors.KafkaError or kind in (
            ottla.errors.InternalError,
            ottla.errors.PurgedError,
            ottla.errors.SchemaError,
            ottla.errors.SerializationError,
            ottla.errors.WakeupError,
        )


def test_codes_and_situations() -> None:
    for kind, code, expected in (
        (ottla.errors.BrokerError, 25, "UnknownMemberIdError"),
        (ottla.errors.AuthorizationError, 29, "TopicAuthorizationFailedError"),
        (ottla.errors.CommitFailedError, 27, "CommitFailedError"),
        (ottla.errors.TimeoutError, 3, "KafkaTimeoutError"),
        (ottla.errors.FencedError, 47, "ProducerFencedError"),
        (ottla.errors.FencedError, 82, "FencedInstanceIdError"),
        (ottla.errors.OffsetError, 1, "OffsetOutOfRangeError"),
        (ottla.errors.OffsetError, None, "NoOffsetForPartitionError"),
        (ottla.errors.BootstrapError, None, "NoBrokersAvailable"),
        (ottla.errors.UnknownTopicError, None, "UnknownTopicOrPartitionError"),
    ):
        assert of(kind, code).__name__ == expected
    with pytest.raises(errors.KafkaTimeoutError), translating():
        raise ottla.errors.TimeoutError("late")
    plain = ValueError("other")
    assert translated(plain) is plain


def test_classes_follow_from_codes() -> None:
    for code in ErrorCode:
        kind = errors.for_code(code)
        assert kind.errno == code
        assert issubclass(kind, errors.BrokerResponseError)
    assert errors.for_code(3) is errors.UnknownTopicOrPartitionError
    assert errors.for_code(5_000).__mro__[1] is errors.UnknownError
    assert errors.CorruptRecordException is errors.CorruptRecordError
    assert errors.NotLeaderForPartitionError.invalid_metadata
    assert errors.RequestTimedOutError.retriable
    assert not errors.TopicAlreadyExistsError.retriable
    assert issubclass(errors.GroupAuthorizationFailedError, errors.AuthorizationError)
    assert issubclass(errors.IncompatibleBrokerVersion, errors.UnsupportedVersionError)


def test_texts_and_equality() -> None:
    assert str(errors.IllegalStateError("closed")) == "IllegalStateError: closed"
    assert str(errors.KafkaTimeoutError()) == "KafkaTimeoutError"
    assert str(errors.UnknownMemberIdError("x")) == "[Error 25] UnknownMemberIdError: x"
    assert errors.KafkaError("a") == errors.KafkaError("a") != errors.KafkaError("b")
    assert errors.CommitFailedError().args
    assert errors.LogTruncationError({"a": None}).divergent_offsets == {"a": None}
    copied = pickle.loads(pickle.dumps(errors.UnknownMemberIdError("x")))
    assert copied == errors.UnknownMemberIdError("x")
