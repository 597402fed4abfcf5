"""Serializers of keys and values, and their errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import ottla
from ottla import errors, serializers
from ottla.testing import MockCluster
from tests.support.arrow import read_rows


def written(cluster: MockCluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap))
    return [(row["key"], row["value"]) for row in rows]


class EchoingSerializer:
    """A serializer that writes its arguments into the value."""

    def serialize(self, topic: str, value: Any, headers: Any) -> str:
        return f"{topic}|{value}|{list(headers)}"


def test_callables_and_objects(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(
        mock_cluster.bootstrap,
        key_serializer=lambda key: b"k%d" % key,
        value_serializer=EchoingSerializer(),
    ) as producer:
        producer.send(single, 1, 2, headers=[("h", b"x")])
        producer.send(single, 3)
        producer.send(single, None, None)
    assert written(mock_cluster, single) == [
        (b"k2", b"single|1|[('h', b'x')]"),
        (None, b"single|3|[]"),
        (None, None),
    ]


def test_built_in_serializers(mock_cluster: MockCluster, single: str) -> None:
    value = {"ä": [1, None, 2.5]}
    with ottla.Producer(
        mock_cluster.bootstrap,
        key_serializer=serializers.str,
        value_serializer=serializers.json,
    ) as producer:
        producer.send(single, value, "kéy")
    [(key, text)] = written(mock_cluster, single)
    assert key == "kéy".encode()
    assert text == '{"ä":[1,null,2.5]}'.encode()
    assert json.loads(text) == value
    assert serializers.int(-2) == b"\xff" * 7 + b"\xfe"
    assert serializers.int32(258) == b"\0\0\1\2"
    assert serializers.bytes(bytearray(b"x")) == serializers.bytes(memoryview(b"x")) == b"x"


@pytest.mark.parametrize(
    ("serializer", "value", "cause"),
    [
        (serializers.str, b"bytes", "TypeError: expected str, not bytes"),
        (serializers.bytes, "text", "TypeError: expected bytes, not str"),
        (serializers.json, float("nan"), "ValueError: "),
        (serializers.json, object(), "TypeError: Object of type object"),
        (serializers.int, True, "TypeError: expected int, not bool"),
        (serializers.int32, 1 << 31, "OverflowError: int too big to convert"),
        (lambda value: 1.5, b"", "TypeError: what the serializer returned is of type float"),
        (lambda value: 1 / 0, b"", "ZeroDivisionError: "),
    ],
)
@pytest.mark.parametrize("field", ["key", "value"])
def test_a_serialization_error_names_topic_and_field(
    mock_cluster: MockCluster, single: str, serializer: Any, value: Any, cause: str, field: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, **{f"{field}_serializer": serializer}) as producer:
        with pytest.raises(errors.SerializationError) as raised:
            producer.send(single, **{field: value})
        assert producer.buffered_bytes == 0
    assert f"the {field} for topic 'single' cannot be serialized: {cause}" in str(raised.value)
    assert raised.value.context == {"topic": single, "field": field}
    assert type(raised.value.__cause__).__name__ == cause.split(":")[0]


def test_lists_are_serialized_before_anything_is_sent(
    mock_cluster: MockCluster, single: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=serializers.json) as producer:
        assert (
            producer.send_batch(single, [1, [2], None], keys=["a", "b", "c"]).result(timeout=30)
            == 3
        )
        with pytest.raises(errors.SerializationError, match="the value at index 1") as raised:
            producer.send_batch(single, [1, object()])
        assert raised.value.context == {"topic": single, "field": "value", "index": 1}
    assert written(mock_cluster, single) == [(b"a", b"1"), (b"b", b"[2]"), (b"c", None)]


def test_custom_partitioners_receive_serialized_bytes(
    mock_cluster: MockCluster, topic: str
) -> None:
    def choose(topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
        assert key is not None
        return int(key) % count

    with ottla.Producer(mock_cluster.bootstrap, key_serializer=str, partitioner=choose) as producer:
        assert producer.send(topic, b"v", 7).partition == 1
        producer.send_batch(topic, [b"v"] * 3, keys=[3, 4, 5]).result(timeout=30)
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
    assert sorted((row["partition"], row["key"]) for row in rows) == [
        (0, b"3"),
        (1, b"4"),
        (1, b"7"),
        (2, b"5"),
    ]


def test_with_asyncio(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(
            mock_cluster.bootstrap, value_serializer=serializers.json
        ) as producer:
            await producer.send(single, {"a": 1})
            await (await producer.send_batch(single, [[1], [2]])).result()
            with pytest.raises(errors.SerializationError):
                await producer.send(single, object())

    asyncio.run(work())
    assert [value for _, value in written(mock_cluster, single)] == [b'{"a":1}', b"[1]", b"[2]"]


def test_invalid_serializers_are_rejected(mock_cluster: MockCluster) -> None:
    with pytest.raises(
        errors.ConfigError, match="value_serializer is of type str: expected a callable"
    ):
        ottla.Producer(mock_cluster.bootstrap, value_serializer="json")  # type: ignore[arg-type]
