"""A Spark stream from topic to topic, exactly once, with a checkpoint; Spark itself is small.

The processes of Spark are this one (the driver's Python), its JVM, and the JVM's Python processes.
A query that ends with an error is started again from its checkpoint; that is not expected.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.soak.part import Part, run_part
from tests.soak.settings import NUMBERS, SPARK, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_HEAP = "512m"


def session() -> SparkSession:
    """Start Spark with one core."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from tests.support.spark_home import spark_home

    os.environ["SPARK_HOME"] = spark_home()
    import ottla.spark
    from tests.support.spark_session import session_builder

    # The heap has its full size at once, so that memory that grows is not the heap's.
    jvm = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms{_HEAP} -XX:+AlwaysPreTouch"
    spark = (
        # A task that fails is repeated, as on a cluster.
        session_builder("local[1,4]", "soak")
        .config("spark.driver.memory", _HEAP)
        .config("spark.driver.extraJavaOptions", jvm)
        .config("spark.sql.streaming.minBatchesToRetain", "10")
        # What Spark keeps of past batches for its page, which is off.
        .config("spark.sql.ui.retainedExecutions", "10")
        .config("spark.ui.retainedJobs", "10")
        .config("spark.ui.retainedStages", "10")
        .config("spark.ui.retainedTasks", "100")
        .config("spark.sql.streaming.numRecentProgressUpdates", "5")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(spark)
    return spark


def start(spark: SparkSession, settings: Settings) -> StreamingQuery:
    """Start the query, or continue it."""
    kafka = {"kafka.bootstrap.servers": settings.bootstrap}
    return (
        spark.readStream.format("ottla")
        .options(**kafka, subscribe=NUMBERS, startingOffsets="earliest")
        .options(maxOffsetsPerTrigger=str(60 * settings.rate))
        .load()
        .selectExpr("key", "value")
        .writeStream.format("ottla")
        .options(**kafka, topic=SPARK, exactlyOnce="true")
        .option("checkpointLocation", str(settings.directory / "checkpoint"))
        .trigger(processingTime="2 seconds")
        .start()
    )


def work(part: Part) -> None:
    """Run the query until the run stops, and then until it has copied what is left."""
    spark = session()
    query = start(spark, part.settings)
    while True:
        with part.surviving():
            stopping = part.stop.wait(1)
            progress = query.lastProgress
            if progress is not None:
                part.counts["batches"] = progress["batchId"]
            if not query.isActive:
                failed, query = query, start(spark, part.settings)
                part.counts["restarts"] += 1
                failed.awaitTermination()
            if stopping:
                query.processAllAvailable()
                break
    part.report("closing")
    query.stop()
    spark.stop()


if __name__ == "__main__":
    run_part("spark_copying", work)
