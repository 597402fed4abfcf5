"""``read_arrow``: a cheaper read than ``format("ottla")``, without Spark's API for Python sources.

Called by users on the driver, where it plans the read at once. Each task runs the user's function
on Arrow batches as they are read, before anything is passed to the JVM. Invariant: the rows are
those of ``format("ottla")`` with the same options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from ottla._internal.extras import require
from ottla.errors import ConfigError
from ottla.spark.options.option_values import OptionValue
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.planning.read_description import describe_read, log
from ottla.spark.planning.task_packing import TaskRanges
from ottla.spark.reading.batch_reader import plan_tasks
from ottla.spark.reading.columns import full_columns, read_columns
from ottla.spark.reading.partition_reader import read_ranges

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Spark's mapInArrow needs pandas.
require("read_arrow", "spark", "pyarrow", "pandas")

Batches = Iterator["pa.RecordBatch"]


def read_arrow(
    spark: SparkSession,
    options: Mapping[str, OptionValue],
    *,
    columns: StructType | str | None = None,
    transform: Callable[[Batches], Batches] | None = None,
    schema: StructType | str | None = None,
) -> DataFrame:
    """Read a batch as a DataFrame, and transform it as Arrow in the tasks that read it.

    The offsets are looked up when you call this, not at each action.

    Args:
        spark: the session.
        options: the options of ``format("ottla")``; numbers and booleans as such or as text.
        columns: the columns to read, in any order, as for ``.schema(…)`` of the format. Default:
            all, with ``headers`` if ``includeHeaders`` is set.
        transform: a function from an iterator of ``pyarrow.RecordBatch`` to another, as for
            ``mapInArrow``; called once per task.
        schema: the schema of the batches that ``transform`` yields. Default: that of the columns.

    Raises:
        ConfigError: an option, a column or the schema is wrong.
        UnknownTopicError: a topic does not exist.
    """
    parsed = parse_batch_options(options)
    common = parsed.common
    read_schema = _parse_schema(columns) or full_columns(common)
    selected = read_columns(common, read_schema)
    if transform is None and schema is not None:
        raise ConfigError("schema describes what transform yields, but there is no transform")
    tasks = plan_tasks(parsed)
    kafka, fail_on_data_loss = dict(common.kafka), common.fail_on_data_loss

    def read(task_numbers: Batches) -> Batches:
        for batch in task_numbers:
            for number in batch.column(0).to_pylist():
                task: TaskRanges = tasks[number]
                yield from read_ranges(kafka, selected, task, fail_on_data_loss=fail_on_data_loss)

    def run(task_numbers: Batches) -> Batches:
        return read(task_numbers) if transform is None else transform(read(task_numbers))

    # Spark's plan shows the name of the function.
    description = describe_read(tasks, read_schema)
    log.info("planned %d tasks: %s", len(tasks), description)
    run.__name__ = f"ottla {description}" + (f"; transform {_name(transform)}" if transform else "")
    count = len(tasks)
    frame = spark.range(0, count, 1, max(count, 1))
    return frame.mapInArrow(run, schema or read_schema)


def _name(function: Callable[[Batches], Batches]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _parse_schema(schema: StructType | str | None) -> StructType | None:
    if not isinstance(schema, str):
        return schema
    parsed = StructType.fromDDL(schema)
    if not isinstance(parsed, StructType):
        raise ConfigError(
            f"columns must be a list such as 'value binary, offset bigint', got {schema!r}"
        )
    return parsed
