"""Columns with the partition or the leader of a key, to repartition a job before it writes.

Called by users on the driver. Invariant: the cluster is asked once, when the column is made; tasks
send no request, and agree with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ottla.extras import require
from ottla.spark.clients import client_for
from ottla.spark.options.subscription import APPEARS_WITHIN
from ottla.spark.protocols import Client

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

require("ottla.spark.udf", "spark", "pyarrow")

__all__ = ["leader_for", "partition_for"]


def partition_for(topic: str, key: Column | str, *, config: Mapping[str, str]) -> Column:
    """Return a column with the partition of each key, as the Java client chooses it.

    It is null for a null key.

    Args:
        topic: the topic; its number of partitions is looked up now.
        key: a column of binary or text.
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        UnknownTopicError: the topic does not exist.
    """
    count = len(_topic(client_for(config), topic))

    def partitions(keys: pa.Array) -> pa.Array:
        import pyarrow as pa

        import ottla

        return pa.array(ottla.partitions_for_keys(keys, count))

    return _column(partitions, key)


def leader_for(topic: str, key: Column | str, *, config: Mapping[str, str]) -> Column:
    """Return a column with the id of the broker that leads the partition of each key.

    It is null for a null key, and for a partition without a leader. Leaders may move while the job
    runs: use it to place work, not for correctness.

    Args:
        topic: the topic; the leaders of its partitions are looked up now.
        key: a column of binary or text.
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        UnknownTopicError: the topic does not exist.
    """
    leaders = _topic(client_for(config), topic)

    def brokers(keys: pa.Array) -> pa.Array:
        import pyarrow as pa

        import ottla

        partitions = pa.array(ottla.partitions_for_keys(keys, len(leaders)))
        return pa.array(leaders, pa.int32()).take(partitions)

    return _column(brokers, key)


def _topic(client: Client, topic: str) -> list[int | None]:
    """The leader of each partition, in order."""
    cluster = client.cluster([topic], refresh=True, timeout=APPEARS_WITHIN)
    partitions = cluster.topics[topic].partitions
    return [partitions[number].leader for number in sorted(partitions)]


def _column(function: Callable[[Any], Any], key: Column | str) -> Column:
    import pyarrow as pa
    from pyspark.sql import functions

    # Spark tells kinds of functions by their annotations, which must be the classes themselves.
    if hasattr(functions, "arrow_udf"):  # from PySpark 4.1 on
        function.__annotations__ = {"keys": pa.Array, "return": pa.Array}
        column: Column = functions.arrow_udf(function, "int")(key)
        return column

    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def of_series(keys: Any) -> Any:
        return function(pa.array(keys, from_pandas=True)).to_pandas()

    of_series.__annotations__ = {"keys": pd.Series, "return": pd.Series}
    make: Any = pandas_udf
    series: Column = make(of_series, "int")(key)
    return series
