"""Checks of the calls about transactions; test_older_admin_transactions.py has more."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from tests.compat.admin_checks.world import World


def used_id(world: World) -> str:
    """Return a transactional id that a producer has used."""
    name = world.new_name()
    with ottla.Producer(world.kafka.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
    return name


def list_transactions(world: World) -> None:
    name = used_id(world)
    [listed] = world.admin.list_transactions(id_pattern=name)
    assert (listed.transactional_id, listed.state) == (name, "Empty")


def describe_transactions(world: World) -> None:
    name = used_id(world)
    assert world.admin.describe_transactions([name])[name].state == "Empty"


def describe_producers(world: World) -> None:
    place = world.new_topic(), 0
    with ottla.Producer(world.kafka.bootstrap) as producer:
        producer.send(place[0], b"x", partition=0).result(timeout=60)
    [known] = world.admin.describe_producers([place])[place]
    assert known.last_sequence == 0


def list_open_transactions(world: World) -> None:
    assert world.admin.list_open_transactions([world.topic]) == []


def fence_producers(world: World) -> None:
    name = used_id(world)
    assert world.admin.fence_producers([name])[name][1] > 0


def end_prepared_transactions(world: World) -> None:
    topic = world.new_topic()
    producer = ottla.Producer(world.kafka.bootstrap, transactional_id=world.new_name())
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"x", partition=0)
    prepared = producer.prepare_transaction()
    assert prepared is not None
    ended = world.admin.end_prepared_transactions([prepared], commit=True)
    assert list(ended.values()) == [None]
    producer.close()


def abort_hanging_transaction(world: World) -> None:
    with pytest.raises(errors.StateError, match="none is open in this partition"):
        world.admin.abort_hanging_transaction(world.topic, 0, 0)
