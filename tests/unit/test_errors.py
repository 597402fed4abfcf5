"""Errors: one hierarchy, useful fields, and pickling."""

from __future__ import annotations

import builtins
import copy
import pickle

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster

OTHERS = {"Attempt", "ErrorCode"}
CLASSES = [getattr(errors, name) for name in errors.__all__ if name not in OTHERS]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_a_kafka_error(kind: type[errors.KafkaError]) -> None:
    assert issubclass(kind, errors.KafkaError)
    assert kind.__doc__
    assert kind.__module__ == "ottla.errors"
    error = kind("what, where, what to do")
    assert str(error) == "what, where, what to do"
    assert (error.code, error.name) == (None, None)
    assert not error.retriable
    assert not error.fatal
    assert not error.maybe_done
    assert error.context == {}


def test_errors_subclass_matching_builtins() -> None:
    assert issubclass(errors.TimeoutError, builtins.TimeoutError)
    assert issubclass(errors.ConnectionError, builtins.ConnectionError)
    assert issubclass(errors.ConfigError, ValueError)
    assert ottla.KafkaError is errors.KafkaError
    assert len({id(kind) for kind in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_errors_can_be_pickled(kind: type[errors.KafkaError], protocol: int) -> None:
    error = errors._from_core(
        kind.__name__,
        "it broke",
        (6, "NOT_LEADER_OR_FOLLOWER"),
        True,
        True,
        True,
        {"topic": "t", "partition": 3, "broker": None},
        [("b:9092", "TCP", "ConnectionError", "refused")],
    )
    for same in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(same) is kind
        assert str(same) == "it broke"
        assert (same.code, same.name) == (6, "NOT_LEADER_OR_FOLLOWER")
        assert same.retriable
        assert same.fatal
        assert same.maybe_done
        assert same.context == {"topic": "t", "partition": 3}
        attempt = errors.Attempt("b:9092", "TCP", errors.ConnectionError, "refused")
        assert same.attempts == [attempt]


def test_core_errors_carry_their_fields(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t")
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        error = producer.send("t", "v").exception(timeout=5)
    assert isinstance(error, errors.AuthorizationError)
    assert (error.code, error.name) == (29, "TOPIC_AUTHORIZATION_FAILED")
    assert error.context == {"topic": "t", "partition": 0, "broker": mock_cluster.leader("t", 0)}
    assert not error.retriable
    assert "t-0" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.context, again.code) == (type(error), error.context, 29)
