"""Columns with the partition or the leader of a key, to repartition a job before it writes.

Called by users on the driver. Invariant: metadata is requested once, when the column is created;
tasks send no request, and all use the same metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ottla._internal.extras import require
from ottla.spark.clients import client_for
from ottla.spark.options.subscription import UNKNOWN_TOPIC_TIMEOUT
from ottla.spark.protocols import Client

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

require("ottla.spark.udf", "spark", "pyarrow")

__all__ = ["leader_for", "partition_for"]


def partition_for(topic: str, key: Column | str, *, config: Mapping[str, str]) -> Column:
    """Return a column with the partition of each key, as the Java client's partitioner chooses it.

    It is null for a null key.

    Args:
        topic: the topic; this call looks up its number of partitions.
        key: a column of binary or text.
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        UnknownTopicError: the topic does not exist.
    """
    count = len(_partition_leaders(client_for(config), topic))

    def partitions(keys: pa.Array) -> pa.Array:
        import pyarrow as pa

        import ottla

        return pa.array(ottla.partitions_for_keys(keys, count))

    return _column(partitions, key)


def leader_for(topic: str, key: Column | str, *, config: Mapping[str, str]) -> Column:
    """Return a column with the id of the broker that leads the partition of each key.

    It is null for a null key, and for a partition without a leader. Leaders may move while the job
    runs: use the column to place work, not for correctness.

    Args:
        topic: the topic; this call looks up the leaders of its partitions.
        key: a column of binary or text.
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        UnknownTopicError: the topic does not exist.
    """
    leaders = _partition_leaders(client_for(config), topic)

    def brokers(keys: pa.Array) -> pa.Array:
        import pyarrow as pa

        import ottla

        partitions = pa.array(ottla.partitions_for_keys(keys, len(leaders)))
        return pa.array(leaders, pa.int32()).take(partitions)

    return _column(brokers, key)


def _partition_leaders(client: Client, topic: str) -> list[int | None]:
    """Return the leader of each partition, in order."""
    cluster = client.cluster([topic], refresh=True, timeout=UNKNOWN_TOPIC_TIMEOUT)
    partitions = cluster.topics[topic].partitions
    return [partitions[number].leader for number in sorted(partitions)]


def _column(function: Callable[[Any], Any], key: Column | str) -> Column:
    import pyarrow as pa
    from pyspark.sql import functions

    # Spark infers the kind of a function from its annotations, which must be classes, not strings.
    if hasattr(functions, "arrow_udf"):  # from PySpark 4.1 on
        function.__annotations__ = {"keys": pa.Array, "return": pa.Array}
        column: Column = functions.arrow_udf(function, "int")(key)
        return column

    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def of_pandas(keys: Any) -> Any:
        return function(pa.array(keys, from_pandas=True)).to_pandas()

    of_pandas.__annotations__ = {"keys": pd.Series, "return": pd.Series}
    make: Any = pandas_udf
    series: Column = make(of_pandas, "int")(key)
    return series
