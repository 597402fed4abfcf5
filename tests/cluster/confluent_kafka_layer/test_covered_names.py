"""The names of confluent-kafka that programs use, and the scenario in which each is compared.

The names are those that three or more of ten code bases use: FastStream, Quix Streams, kombu,
Bytewax, arroyo, Snuba, dlt, streamz, DataHub and OpenTelemetry. Invariants: both packages have each
name; the scenario uses it, itself or in a function that it calls.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from tests.cluster.confluent_kafka_layer import test_admin_traces as admin
from tests.cluster.confluent_kafka_layer.client_scenarios import (
    deliveries,
    exactly_once,
    positions,
)
from tests.cluster.confluent_kafka_layer.error_scenarios import (
    errors,
    late_polls,
    unreachable_brokers,
)
from tests.cluster.confluent_kafka_layer.group_scenarios import (
    commits,
    cooperative_rebalances,
    rebalances,
    stored_offsets,
)
from tests.cluster.confluent_kafka_layer.test_traces import PEERS, SCENARIOS

NAMES: dict[str, Callable[..., Any]] = {
    "Producer.produce": deliveries,
    "Producer.poll": deliveries,
    "Producer.flush": deliveries,
    "Producer.purge": deliveries,
    "Producer.list_topics": deliveries,
    "Producer.__len__": deliveries,
    "Producer.init_transactions": exactly_once,
    "Producer.begin_transaction": exactly_once,
    "Producer.send_offsets_to_transaction": exactly_once,
    "Producer.commit_transaction": exactly_once,
    "Producer.abort_transaction": exactly_once,
    "Consumer.subscribe": rebalances,
    "Consumer.subscribe(on_assign)": rebalances,
    "Consumer.subscribe(on_revoke)": rebalances,
    "Consumer.subscribe(on_lost)": late_polls,
    "Consumer.unsubscribe": rebalances,
    "Consumer.poll": rebalances,
    "Consumer.consume": positions,
    "Consumer.assign": positions,
    "Consumer.unassign": positions,
    "Consumer.incremental_assign": cooperative_rebalances,
    "Consumer.incremental_unassign": cooperative_rebalances,
    "Consumer.assignment": positions,
    "Consumer.position": positions,
    "Consumer.pause": positions,
    "Consumer.resume": positions,
    "Consumer.seek": positions,
    "Consumer.get_watermark_offsets": positions,
    "Consumer.offsets_for_times": positions,
    "Consumer.list_topics": positions,
    "Consumer.commit": commits,
    "Consumer.commit(asynchronous)": commits,
    "Consumer.committed": commits,
    "Consumer.store_offsets": stored_offsets,
    "Consumer.memberid": rebalances,
    "Consumer.consumer_group_metadata": exactly_once,
    "Consumer.close": rebalances,
    "Message.topic": deliveries,
    "Message.partition": deliveries,
    "Message.offset": deliveries,
    "Message.key": deliveries,
    "Message.value": deliveries,
    "Message.headers": deliveries,
    "Message.timestamp": deliveries,
    "Message.error": deliveries,
    "Message.latency": deliveries,
    "Message.leader_epoch": positions,
    "Message.__len__": deliveries,
    "TopicPartition.partition": commits,
    "TopicPartition.offset": commits,
    "TopicPartition.metadata": commits,
    "TopicPartition.error": commits,
    "OFFSET_BEGINNING": positions,
    "OFFSET_END": positions,
    "OFFSET_STORED": positions,
    "KafkaException": errors,
    "KafkaError.code": errors,
    "KafkaError.name": errors,
    "KafkaError.str": errors,
    "KafkaError.fatal": errors,
    "KafkaError.retriable": errors,
    "KafkaError.txn_requires_abort": errors,
    "KafkaError.UNKNOWN_TOPIC_OR_PART": errors,
    "KafkaError._PARTITION_EOF": positions,
    "KafkaError._MAX_POLL_EXCEEDED": late_polls,
    "KafkaError._ALL_BROKERS_DOWN": unreachable_brokers,
    "admin.NewTopic": admin.topics,
    "admin.NewPartitions": admin.topics,
    "admin.ConfigResource": admin.configurations,
    "admin.AdminClient.create_topics": admin.topics,
    "admin.AdminClient.create_partitions": admin.topics,
    "admin.AdminClient.list_topics": admin.topics,
    "admin.AdminClient.delete_topics": admin.topics,
    "admin.AdminClient.describe_configs": admin.configurations,
}


def _used(function: Callable[..., Any], seen: set[str]) -> set[str]:
    """Return the names that a function uses, and the functions of its module that it calls."""
    seen.add(function.__name__)
    found: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Call(func=ast.Name(id="len")):
                found.add("__len__")
            case ast.Name(id=name) if name not in seen:
                called = function.__globals__.get(name)
                if isinstance(called, FunctionType):
                    found |= _used(called, seen)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_used_by_its_scenario(name: str) -> None:
    path, _, parameter = name.rstrip(")").partition("(")
    for peer in PEERS:
        found: Any = importlib.import_module(peer)
        importlib.import_module(f"{peer}.admin")
        for part in path.split("."):
            found = getattr(found, part)
    used = _used(NAMES[name], set())
    assert path.rpartition(".")[2] in used
    assert not parameter or parameter in used


def test_each_scenario_runs() -> None:
    of_admin = {admin.topics, admin.configurations}
    assert set(NAMES.values()) - of_admin <= set(SCENARIOS)
