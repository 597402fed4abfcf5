"""Transactions that another process ends, with both versions of the protocol."""

from __future__ import annotations

import pickle

import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.cluster.test_transactions import committed_values, new_id
from tests.support.loops import run

pytestmark = pytest.mark.usefixtures("transaction_version")


def prepared(client: ottla.Client, topic: str, value: bytes) -> ottla.PreparedTransaction:
    """Write one record in a transaction, prepare it, and close its producer."""
    with ottla.Producer(client, transactional_id=new_id()) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, value)
        transaction = producer.prepare_transaction()
    assert transaction is not None
    # As another process would get it.
    unpickled: ottla.PreparedTransaction = pickle.loads(pickle.dumps(transaction))
    assert unpickled == transaction
    return unpickled


def test_others_commit_and_abort_what_was_prepared(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Client(brokers.bootstrap) as client, ottla.Admin(client) as admin:
        committed = [prepared(client, topic, b"committed-%d" % number) for number in range(3)]
        aborted = prepared(client, topic, b"aborted")
        # Closing their producers ended none of them.
        ids = [each.transactional_id for each in (*committed, aborted)]
        if brokers.has((3, 0)):
            described = admin.describe_transactions(ids)
            assert {each.state for each in described.values()} == {"Ongoing"}
        assert committed_values(brokers, topic, all_ended=False) == []
        assert set(admin.end_prepared_transactions(committed, commit=True).values()) == {None}
        assert admin.end_prepared_transactions([aborted], commit=False) == {ids[-1]: None}
        # An end that was made is confirmed, and never turned round.
        assert set(admin.end_prepared_transactions(committed, commit=True).values()) == {None}
        with pytest.raises(errors.KafkaError) as caught:
            admin.end_prepared_transactions([aborted], commit=True)
        assert caught.value.code == 48
        admin.fence_producers([ids[0]])
        after = admin.end_prepared_transactions(committed, commit=True, errors="return")
        assert isinstance(after[ids[0]], errors.FencedError)
        assert {after[name] for name in ids[1:3]} == {None}
    assert committed_values(brokers, topic) == [b"committed-%d" % number for number in range(3)]


def test_an_empty_transaction_leaves_nothing_to_end(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with (
        ottla.Client(brokers.bootstrap) as client,
        ottla.Producer(client, transactional_id=new_id()) as producer,
    ):
        producer.init_transactions()
        with pytest.raises(errors.StateError, match="begin_transaction"):
            producer.prepare_transaction()
        producer.begin_transaction()
        assert producer.prepare_transaction() is None
        with pytest.raises(errors.StateError, match="prepared: commit or abort it"):
            producer.send(topic, b"late")
        # The producer itself may end it.
        producer.commit_transaction()
        with producer.transaction():
            producer.send(topic, b"next")
    assert committed_values(brokers, topic) == [b"next"]


def test_asyncio_prepares_and_ends(brokers: Brokers) -> None:
    topic = brokers.create_topic()

    async def use() -> None:
        async with (
            ottla.AsyncClient(brokers.bootstrap) as client,
            ottla.AsyncAdmin(client) as admin,
        ):
            async with ottla.AsyncProducer(client, transactional_id=new_id()) as producer:
                await producer.init_transactions()
                producer.begin_transaction()
                # Not awaited: it may still wait for its topic.
                delivery = producer.send(topic, b"async")
                transaction = await producer.prepare_transaction()
                await delivery
            assert transaction is not None
            ended = await admin.end_prepared_transactions([transaction], commit=True)
            assert ended == {transaction.transactional_id: None}

    run(use())
    assert committed_values(brokers, topic) == [b"async"]
