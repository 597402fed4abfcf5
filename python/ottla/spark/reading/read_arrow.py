"""``read_arrow``: the cheaper way into Spark, past its API for Python sources.

Called by users on the driver. The read is planned there at once, and each task runs the user's own
function on Arrow batches as they are read, before anything is handed to the JVM. Invariant: the
rows are those of ``format("ottla")`` with the same options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from ottla.errors import ConfigError
from ottla.extras import require
from ottla.spark.options.option_values import Value
from ottla.spark.options.read_options import parse_batch
from ottla.spark.planning.task_packing import Task
from ottla.spark.reading.batch_reader import plan_tasks
from ottla.spark.reading.partition_reader import read_ranges
from ottla.spark.reading.schema import check_schema, full_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Spark asks for pandas before mapInArrow.
require("read_arrow", "spark", "pyarrow", "pandas")

Batches = Iterator["pa.RecordBatch"]


def read_arrow(
    spark: SparkSession,
    options: Mapping[str, Value],
    *,
    columns: StructType | str | None = None,
    transform: Callable[[Batches], Batches] | None = None,
    schema: StructType | str | None = None,
) -> DataFrame:
    """Read a batch as a DataFrame, and transform it as Arrow in the tasks that read it.

    The offsets are looked up now, not at each action.

    Args:
        spark: the session.
        options: the options of ``format("ottla")``; numbers and booleans as such or as text.
        columns: the columns to read, as for ``.schema(…)`` of the format: any choice and order.
            Default: all, with ``headers`` if ``includeHeaders`` is set.
        transform: a function from an iterator of ``pyarrow.RecordBatch`` to another, as for
            ``mapInArrow``; called once a task.
        schema: the schema of what ``transform`` yields. Default: that of the columns.

    Raises:
        ConfigError: an option, a column or the schema is wrong.
        UnknownTopicError: a topic does not exist.
    """
    parsed = parse_batch(options)
    source = parsed.source
    reads = _struct(columns) or full_schema(include_headers=source.include_headers)
    check_schema(reads)
    if transform is None and schema is not None:
        raise ConfigError("schema is that of what transform yields, and there is no transform")
    tasks = plan_tasks(parsed)
    kafka, fail_on_data_loss = dict(source.kafka), source.fail_on_data_loss

    def batches(numbers: Batches) -> Batches:
        for number in numbers:
            for at in number.column(0).to_pylist():
                task: Task = tasks[at]
                yield from read_ranges(kafka, reads, task, fail_on_data_loss=fail_on_data_loss)

    def run(numbers: Batches) -> Batches:
        return batches(numbers) if transform is None else transform(batches(numbers))

    count = len(tasks)
    frame = spark.range(0, count, 1, max(count, 1))
    return frame.mapInArrow(run, schema or reads)


def _struct(schema: StructType | str | None) -> StructType | None:
    if not isinstance(schema, str):
        return schema
    parsed = StructType.fromDDL(schema)
    if not isinstance(parsed, StructType):
        raise ConfigError(
            f"columns: expected such as 'value binary, offset bigint', got {schema!r}"
        )
    return parsed
