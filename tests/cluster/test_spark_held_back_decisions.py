"""A driver that waits for an open transaction among decisions says whose it is, and the remedy."""

from __future__ import annotations

import logging
import re
import shlex

import pytest

import ottla
from ottla import errors
from ottla.spark.writing.exactly_once import decision_log
from ottla.spark.writing.exactly_once.decision_log import DECISIONS, DecisionLog
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import Query
from tests.support.command import ottla as command

UNKNOWN_PRODUCER = 4711


@pytest.fixture
def query(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> Query:
    # The warning comes before the error.
    monkeypatch.setattr(decision_log, "_WARN_AFTER", 0.05)
    monkeypatch.setattr(decision_log, "_STABLE_TIMEOUT", 0.2)
    return Query(brokers, monkeypatch)


def last_decision(query: Query) -> object:
    with ottla.Client(config=query.options().kafka) as client:
        return DecisionLog(client, query.decisions).last_decision(query.id)


def test_an_open_transaction_is_named(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    driver = f"{query.id}-driver"
    with ottla.Producer(query.brokers.bootstrap, transactional_id=driver) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(query.decisions, b"{}", b"other", partition=DECISIONS).result(timeout=60)
        named = re.compile(rf"it is that of '{driver}' \(producer \d+, epoch \d+\), .* Ongoing")
        with (
            caplog.at_level(logging.WARNING, decision_log.log.name),
            pytest.raises(errors.TimeoutError, match=named),
        ):
            last_decision(query)
        assert named.search(caplog.text)
        producer.abort_transaction()
    assert last_decision(query) is None


def test_a_hanging_transaction_comes_with_the_command_that_ends_it(query: Query) -> None:
    brokers = query.brokers
    # Producers that know no keys leave it hanging.
    query.decisions = brokers.create_topic(partitions=2)
    brokers.leave_transaction_hanging(query.decisions, DECISIONS, UNKNOWN_PRODUCER, ["hanging"])
    with pytest.raises(errors.TimeoutError, match=r"hangs: no coordinator knows it") as raised:
        last_decision(query)
    [remedy] = re.findall(r"'ottla (transactions abort .*?)' ends it", str(raised.value))
    done = command(*shlex.split(remedy.replace("BOOTSTRAP", brokers.bootstrap)))
    assert (done.code, done.err) == (0, "")
    assert last_decision(query) is None
