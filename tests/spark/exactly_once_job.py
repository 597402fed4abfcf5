"""The driver of test_exactly_once_kills.py, in a process that is killed.

    python -m tests.spark.exactly_once_job MASTER BOOTSTRAP_SERVERS DIRECTORY SINK SOURCE TARGET

Copies the topic SOURCE to the topic TARGET until it is killed. SINK is "ottla", with
exactlyOnce, or "kafka", Spark's own.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    master, bootstrap, directory, sink, source_topic, target_topic = sys.argv[1:]
    import ottla.spark
    from tests.support.jars import spark_connector
    from tests.support.spark_session import session_builder

    builder = (
        session_builder(master, "ottla-exactly-once")
        .config("spark.jars", spark_connector())
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.multiplier", "1.2")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.minTaskRuntime", "50ms")
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(spark)
    source = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": source_topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "600",
    }
    target = {"kafka.bootstrap.servers": bootstrap, "topic": target_topic}
    if sink == "ottla":
        target["exactlyOnce"] = "true"
    query = (
        spark.readStream.format("ottla")
        .options(**source)
        .load()
        .selectExpr("partition", "value")
        .writeStream.format(sink)
        .options(**target)
        .option("checkpointLocation", str(Path(directory) / "checkpoint"))
        .trigger(processingTime="50 milliseconds")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
