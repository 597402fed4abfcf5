"""The statistics of a consumer as librdkafka's JSON (``stats_cb``): topics, lag and the group.

Invariant: an offset or a lag that is not known is -1001 or -1, as in librdkafka.
"""

from __future__ import annotations

import json
from typing import Any

import ottla
from ottla import errors
from ottla._core import OffsetStore
from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._statistics import (
    broker_statistics,
    client_statistics,
    window,
)


def _known(offset: int | None) -> int:
    return OFFSET_INVALID if offset is None else offset


def _partition(
    number: int,
    ends: ottla.Watermarks | None,
    is_committed: bool,
    offsets: tuple[int | None, int | None, int | None],
    leader: ottla.Partition | None,
) -> dict[str, Any]:
    position, stored, committed = offsets
    low, stable, high = (
        (None, None, None)
        if ends is None
        else (ends.log_start_offset, ends.last_stable_offset, ends.high_watermark)
    )
    end = stable if is_committed else high
    broker = -1 if leader is None or leader.leader is None else leader.leader
    return {
        "partition": number,
        "broker": broker,
        "leader": broker,
        "desired": True,
        "unknown": False,
        "fetchq_cnt": 0,
        "fetchq_size": 0,
        "fetch_state": "active",
        "query_offset": OFFSET_INVALID,
        "next_offset": _known(position),
        "app_offset": _known(position),
        "stored_offset": _known(stored),
        "commited_offset": _known(committed),
        "committed_offset": _known(committed),
        "eof_offset": OFFSET_INVALID,
        "lo_offset": OFFSET_INVALID if low == -1 else _known(low),
        "hi_offset": _known(high),
        "ls_offset": _known(stable),
        "consumer_lag": _lag(end, committed if position is None else position),
        "consumer_lag_stored": _lag(end, stored),
        "leader_epoch": -1 if leader is None else leader.leader_epoch,
        "rxmsgs": 0,
        "rxbytes": 0,
    }


def _lag(end: int | None, offset: int | None) -> int:
    return -1 if end is None or offset is None else max(end - offset, 0)


def _group(settings: Settings, consumer: ottla.Consumer, rebalances: int) -> dict[str, Any]:
    assigned = len(consumer.assignment())
    is_member = bool(settings.group_id and consumer.group_metadata().member_id)
    return {
        "state": "up" if is_member else "init",
        "stateage": 0,
        "join_state": "steady" if is_member else "init",
        "rebalance_age": 0,
        "rebalance_cnt": rebalances,
        "rebalance_reason": "",
        "assignment_size": assigned,
    }


def consumer_statistics(
    settings: Settings,
    name: str,
    started: float,
    client: ottla.Client,
    consumer: ottla.Consumer,
    store: OffsetStore,
    rebalances: int,
) -> str:
    """Return the statistics of a consumer as JSON."""
    found = client_statistics(settings, name, started, consumer.metrics())
    found["brokers"] = broker_statistics(settings, consumer.connections())
    offsets, ends = store.snapshot(), consumer.watermarks()
    is_committed = settings.ottla["isolation.level"] == "read_committed"
    try:
        topics = client.cluster(timeout=0).topics
    except errors.KafkaError:
        topics = {}
    for key in consumer.assignment():
        topic, number = key
        entry = found["topics"].setdefault(
            topic,
            {
                "topic": topic,
                "age": 0,
                "metadata_age": 0,
                "batchsize": window(None),
                "batchcnt": window(None),
                "partitions": {},
            },
        )
        known = topics.get(topic)
        leader = None if known is None else known.partitions.get(number)
        numbers = offsets.get(key, (None, None, None))
        entry["partitions"][str(number)] = _partition(
            number, ends.get(key), is_committed, numbers, leader
        )
    found["cgrp"] = _group(settings, consumer, rebalances)
    return json.dumps(found)
