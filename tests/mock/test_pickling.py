"""Plain values survive pickle and copy and compare equal."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import pytest
from pyspark import cloudpickle

import ottla
from ottla import schema
from ottla.testing import MockCluster

VALUES = {
    "metadata": ottla.RecordMetadata("orders", 2, 41, 1_700_000_000_000),
    "metadata without offset": ottla.RecordMetadata("orders", -1, None, -1),
    "offset and metadata": ottla.OffsetAndMetadata(3, "note", 7),
    "offset and timestamp": ottla.OffsetAndTimestamp(3, 1_700_000_000_000, 7),
    "member": ottla.GroupMetadata("billing", 4, "member-1", "instance-1"),
    "no member": ottla.GroupMetadata("billing"),
    "record": ottla.Record(
        "orders", 1, 5, timestamp=7, timestamp_type=1, key=b"k", headers=[("h", None)]
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_survives_pickle_and_copy(name: str) -> None:
    value: Any = VALUES[name]
    made = [pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, 6)]
    made += [copy.copy(value), copy.deepcopy(value)]
    for other in made:
        assert type(other) is type(value)
        assert other == value
        assert repr(other) == repr(value)
        assert hash(other) == hash(value)
    assert all(value != other for other in VALUES.values() if other is not value)
    assert value != "something else"


def test_values_from_a_cluster_survive_pickle_and_copy(
    mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        written: Any = producer.send(topic, "v", key="k", partition=1).result(timeout=30)
        assert written == ottla.RecordMetadata(topic, 1, 0, written.timestamp)
    keywords: dict[str, Any] = {"group_id": "billing", "auto_offset_reset": "earliest"}
    with ottla.Consumer(mock_cluster.bootstrap, topics=[topic], **keywords) as consumer:
        record: Any = next(consumer)
        consumer.commit(record)
        originals: list[Any] = [
            written,
            record,
            consumer.group_metadata(),
            consumer.committed((topic, 1)),
            consumer.offsets_for_times({(topic, 1): 0}),
        ]
        assert consumer.group_metadata().member_id
    assert pickle.loads(pickle.dumps(originals)) == originals == copy.deepcopy(originals)


@pytest.mark.parametrize(
    "value",
    [
        (registry := schema.Registry("http://user:hunter2@localhost:1")),
        schema.Avro(registry),
        schema.Json(registry),
        schema.Protobuf(registry),
        schema.DeadLetters("dead", "localhost:1"),
        schema.AsyncRegistry("http://localhost:1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_may_have_passwords_is_not_pickled_and_the_remedy_is_named(value: Any) -> None:
    """Also within what Ray and dask send to their workers; no password is in the error."""
    for dump in (pickle.dumps, copy.copy, copy.deepcopy, cloudpickle.dumps):
        for within in (value, functools.partial(print, value)):
            if dump is copy.copy and within is not value:
                continue
            with pytest.raises(TypeError, match="pass a function that makes it") as failed:
                dump(within)
            assert f"ottla.schema.{type(value).__name__} cannot be pickled" in str(failed.value)
            assert "hunter2" not in str(failed.value)


def test_constructors_validate_their_arguments() -> None:
    with pytest.raises(TypeError):
        ottla.RecordMetadata("orders", "0", 1, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ottla.GroupMetadata()  # type: ignore[call-arg]
