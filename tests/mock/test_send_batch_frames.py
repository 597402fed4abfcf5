"""``send_batch`` of what data frames hand over: categories, enums, runs, indexes, wide integers."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.schema import Avro
from ottla.testing import MockCluster
from tests.support.consumers import TIMEOUT

TEXTS = ["aa", None, "", "ü€😀", "a value longer than twelve bytes", "aa"]
VALUES = [None if text is None else text.encode() for text in TEXTS]
ENCODED = pa.array(TEXTS).dictionary_encode()


def written(cluster: MockCluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Return keys and values of all records."""
    columns = pa.RecordBatchReader.from_stream(ottla.scan(topic, cluster.bootstrap)).read_all()
    return [(row["key"], row["value"]) for row in columns.to_pylist()]


@pytest.mark.parametrize(
    "values",
    [
        ENCODED,
        ENCODED.cast(pa.dictionary(pa.int8(), pa.string())),
        ENCODED.cast(pa.dictionary(pa.uint32(), pa.string())),
        ENCODED.cast(pa.dictionary(pa.int64(), pa.string())),
        pa.array(TEXTS, pa.large_string()).dictionary_encode(),
        pa.array(VALUES, pa.binary()).dictionary_encode(),
        # A null among the values of the dictionary.
        pa.DictionaryArray.from_arrays(
            pa.array([0, 4, 1, 2, 3, 0], pa.int32()), pa.array([TEXTS[0], *TEXTS[2:5], None])
        ),
        pa.concat_arrays([pa.array(["x"]).dictionary_encode(), ENCODED])[1:],
        pa.chunked_array([ENCODED[:2], pa.array(TEXTS[2:]).dictionary_encode()]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4, 5, 6], pa.int32()), TEXTS),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 4, 5, 6, 7], pa.int16()), TEXTS)[1:],
    ],
)
def test_packed_columns_are_what_they_stand_for(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, values: Any
) -> None:
    """As an array, and as the columns of a table."""
    producer.send_batch(single, values).result(timeout=TIMEOUT)
    assert written(mock_cluster, single) == [(None, value) for value in VALUES]
    producer.send_batch(single, pa.table({"value": values, "key": values})).result(timeout=TIMEOUT)
    both = [(value, value) for value in VALUES]
    assert written(mock_cluster, single)[len(VALUES) :] == both
    producer.send_batch(single, values, keys=values).result(timeout=TIMEOUT)
    assert written(mock_cluster, single)[2 * len(VALUES) :] == both


def test_categories_and_enums_of_frames_are_texts(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    """Those of polars and of pandas."""
    of_polars = pl.DataFrame(
        {
            "value": pl.Series(["x", "y", "x", None], dtype=pl.Categorical),
            "key": pl.Series(["k", None, "k", "j"], dtype=pl.Enum(["j", "k"])),
        }
    )
    of_pandas = pd.DataFrame({"value": pd.Categorical(["x", "y", "x"])})
    for frame in (of_polars, of_pandas):
        producer.send_batch(single, frame).result(timeout=TIMEOUT)
    assert written(mock_cluster, single) == [
        (b"k", b"x"),
        (None, b"y"),
        (b"k", b"x"),
        (b"j", None),
        *[(None, value) for value in (b"x", b"y", b"x")],
    ]


def test_the_index_that_pandas_adds_is_left_out(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    """A column that the user has named is still an error."""
    frame = pd.DataFrame({"value": ["a", "b"]}, index=[5, 7])
    producer.send_batch(single, frame).result(timeout=TIMEOUT)
    levels = frame.set_index(pd.MultiIndex.from_tuples([(1, 2), (3, 4)]))
    producer.send_batch(single, levels).result(timeout=TIMEOUT)
    assert [value for _, value in written(mock_cluster, single)] == [b"a", b"b"] * 2
    for name in ("id", "__index_level__", "__index_level_x__"):
        with pytest.raises(errors.ConfigError, match=f'column "{name}" is not part of a record'):
            producer.send_batch(single, pa.table({"value": ["a"], name: [1]}))


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
)
def test_partitions_are_integers_of_any_width(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str, kind: pa.DataType
) -> None:
    """Data frames have 64 bits by default."""
    rows = pa.table({"value": ["a", "b", "c"], "partition": pa.array([2, 0, 2], kind)})
    producer.send_batch(topic, rows).result(timeout=TIMEOUT)
    columns = pa.RecordBatchReader.from_stream(ottla.scan(topic, mock_cluster.bootstrap)).read_all()
    found = sorted((row["value"], row["partition"]) for row in columns.to_pylist())
    assert found == [(b"a", 2), (b"b", 0), (b"c", 2)]


def test_a_number_that_is_no_partition_names_its_row(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    """In a table of several chunks, the row of the table; floats are no numbers of partitions."""
    part = pa.table({"value": ["a", "b"], "partition": pa.array([0, None], pa.int64())})
    wrong = pa.table({"value": ["c", "d"], "partition": pa.array([1, 2**40], pa.int64())})
    with pytest.raises(errors.ConfigError, match=f'"partition": row 3 is {2**40}, which is no'):
        producer.send_batch(topic, pa.concat_tables([part, wrong]))
    with pytest.raises(errors.ConfigError, match="accepted: int32"):
        producer.send_batch(topic, pa.table({"value": ["a"], "partition": [1.0]}))
    assert written(mock_cluster, topic) == []


def test_columns_beside_a_typed_value_are_unpacked_too(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    """The value itself is the format's: its own fields are not looked at."""
    fields = '[{"name": "t", "type": "string"}]'
    value = Avro(
        schema=f'{{"type": "record", "name": "R", "fields": {fields}}}', wire_format="none"
    )
    values = pa.StructArray.from_arrays([pa.array(["x", "y"]).dictionary_encode()], ["t"])
    keys = pa.array(["k", "k"]).dictionary_encode()
    rows = pa.table({"value": values, "key": keys, "partition": [0, 0]})
    producer.send_batch(single, rows, value_format=value).result(timeout=TIMEOUT)
    assert written(mock_cluster, single) == [(b"k", b"\x02x"), (b"k", b"\x02y")]


def test_asyncio_takes_them_too(mock_cluster: MockCluster, single: str) -> None:
    """Both producers read columns alike."""
    import asyncio

    async def send() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap) as producer:
            frame = pd.DataFrame({"value": pd.Categorical(["x"]), "partition": [0]}, index=[9])
            await (await producer.send_batch(single, frame)).result()

    asyncio.run(send())
    assert written(mock_cluster, single) == [(None, b"x")]
