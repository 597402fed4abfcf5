"""No secret of an option appears where Spark prints options: plans, UI, logs, checkpoints."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import ottla
import ottla.spark
from ottla._core import config_rows, registry_config_rows
from ottla.spark.options.secret_options import REDACTED_VARIABLE
from ottla.spark.registration.redaction import OPTION_SECRETS_REGEX, OPTIONS_REGEX_SETTING
from tests.conftest import TopicFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

CANARY = "canary-of-user:"
JAAS = "sasl.jaas.config"
_PRIVATE_KEY = "sasl.oauthbearer.assertion.private.key"
ASSERTION_KEYS = (f"{_PRIVATE_KEY}.pem", f"{_PRIVATE_KEY}.passphrase")
KEYS = sorted(name for name, kind, *_ in config_rows() if kind == "password")
CANARIES = {key: "canary-of-" + key.replace(".", "-") for key in KEYS}
# They have no effect on these listeners, but are passed along all the same.
SECRETS = {f"kafka.{key}": canary for key, canary in CANARIES.items()} | {
    f"kafka.{JAAS}": f'x.PlainLoginModule required username="a" password="{CANARIES[JAAS]}";',
    **{
        f"kafka.{key}": f"socks5h://a:{canary}@proxy:1080"
        for key, canary in CANARIES.items()
        if key.endswith("proxy.url")
    },
}
# All but the one that has an effect: nobody listens there.
PASSIVE = {key: value for key, value in SECRETS.items() if key != "kafka.proxy.url"}


def shown(text: str) -> set[str]:
    """Return the keys whose secrets are in a text."""
    return {key for key, canary in CANARIES.items() if canary in text}


def executions(spark: SparkSession, since: int = -1) -> dict[int, str]:
    """Return what Spark's web pages and its event log show of queries, by their numbers."""
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    each = (found.apply(number) for number in range(found.size()))
    return {
        one.executionId(): f"{one.description()} {one.physicalPlanDescription()}"
        for one in each
        if one.executionId() > since
    }


def stream_plan(spark: SparkSession, **options: str) -> str:
    frame = spark.readStream.format("ottla").options(**options).load()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(extended=True)
    return printed.getvalue()


def sql_view(spark: SparkSession, **options: str) -> str:
    given = ", ".join(f"'{name}' '{value}'" for name, value in options.items())
    statement = f"CREATE OR REPLACE TEMPORARY VIEW secret_view USING ottla OPTIONS ({given})"
    plan = spark.sql(statement)._jdf.queryExecution().toString()
    spark.catalog.dropTempView("secret_view")
    return str(plan)


def test_register_redacts_what_spark_does_not(spark: SparkSession) -> None:
    assert {"sasl.password", "ssl.key.password", "ssl.keystore.key", JAAS} <= set(KEYS)
    options = {"kafka.bootstrap.servers": "b:1", "subscribe": "t", **SECRETS}
    before = spark.conf.get(OPTIONS_REGEX_SETTING) or ""
    try:
        spark.conf.unset(OPTIONS_REGEX_SETTING)
        for show in (stream_plan, sql_view):
            assert shown(show(spark, **options)) == {"ssl.keystore.key", *ASSERTION_KEYS}
        spark.conf.set(OPTIONS_REGEX_SETTING, "(?i)url|subscribe")
        ottla.spark.register(spark)
        ottla.spark.register(spark)
        assert (spark.conf.get(OPTIONS_REGEX_SETTING) or "").count(OPTION_SECRETS_REGEX) == 1
        for show in (stream_plan, sql_view):
            text = show(spark, **options)
            assert "kafka.ssl.keystore.key" in text
            assert shown(text) == set()
            # What was redacted before still is.
            assert "subscribe=t" not in text
            assert "subscribe -> t" not in text
    finally:
        spark.conf.set(OPTIONS_REGEX_SETTING, before)


def data_source_environment(spark: SparkSession) -> Any:
    """Return the environment of the processes that make data sources."""
    sources = spark._jsparkSession.sessionState().dataSourceManager()
    return sources.lookupDataSource("ottla").dataSourceCls().envVars()


# The rows of all tables, and the other names of them.
SECRET_OPTIONS = [
    *(f"kafka.{key}" for key in (*KEYS, "ssl.key.pem", "sasl.oauthbearer.client.secret")),
    *(f"schema.registry.{key}" for key in KEYS if key.startswith("ssl.")),
    *(f"schema.registry.{row[0]}" for row in registry_config_rows() if row[1] == "password"),
]


def plan_or_error(how: Callable[..., str], spark: SparkSession, options: dict[str, str]) -> str:
    try:
        return how(spark, **options)
    except PySparkException as error:
        return str(error)


@pytest.mark.parametrize("how", [stream_plan, sql_view])
def test_without_register_no_plan_has_a_secret(
    spark: SparkSession, how: Callable[..., str]
) -> None:
    options = {
        "kafka.bootstrap.servers": "b:1",
        "subscribe": "t",
        "schema.registry.url": "http://r",
        "value.format": "avro",
        "value.schema": '"long"',
    }
    before = spark.conf.get(OPTIONS_REGEX_SETTING) or ""
    refused = set()
    try:
        spark.conf.unset(OPTIONS_REGEX_SETTING)
        data_source_environment(spark).remove(REDACTED_VARIABLE)
        for number, name in enumerate(SECRET_OPTIONS):
            canary = f"{CANARY}{number}"
            text = plan_or_error(how, spark, {**options, name: canary})
            assert canary not in text
            if "ottla.spark.register(spark)" in text:
                assert f"{name}.secret" in text
                refused.add(name)
            safe = plan_or_error(how, spark, {**options, f"{name}.secret": canary})
            assert canary not in safe
            assert "ottla.spark.register(spark)" not in safe
        assert refused >= {
            "kafka.ssl.keystore.key",
            "kafka.ssl.key.pem",
            *(f"kafka.{key}" for key in ASSERTION_KEYS),
            "schema.registry.ssl.keystore.key",
            "schema.registry.basic.auth.user.info",
        }
    finally:
        spark.conf.set(OPTIONS_REGEX_SETTING, before)
        ottla.spark.register(spark)


def test_secrets_appear_nowhere_in_sparks_output(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    last = max(executions(spark), default=-1)
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, ["x"] * 10)
    base = {"kafka.bootstrap.servers": kafka.bootstrap, **PASSIVE}
    printed = io.StringIO()
    frame = spark.read.format("ottla").options(**base, subscribe=topic).load()
    arrow = ottla.spark.read_arrow(spark, {**base, "subscribe": topic})
    for one in (frame, arrow):
        with contextlib.redirect_stdout(printed):
            for mode in ("simple", "extended", "codegen", "cost", "formatted"):
                one.explain(mode=mode)
        printed.write(one._jdf.queryExecution().toString() + repr(one))
        assert one.count() == 10
    frame.select("value").write.format("ottla").mode("append").options(**base, topic=topic).save()
    printed.write(stream_plan(spark, **base, subscribe=topic))
    read = {"subscribe": topic, "startingOffsets": "earliest"}
    stream = spark.readStream.format("ottla").options(**base, **read).load()
    query = (
        stream.select("value")
        .writeStream.format("ottla")
        .options(**base, topic=topic)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    with contextlib.redirect_stdout(printed):
        query.explain(extended=True)
    printed.write(str(query.lastProgress) + str(query.status) + repr(query))
    for file in (tmp_path / "checkpoint").rglob("*"):
        if file.is_file():
            printed.write(file.read_bytes().decode(errors="replace"))
    for options in ({"topic": "a b c", "kafka.max.block.ms": "500"}, {"nonsense": "x"}):
        with pytest.raises(PySparkException) as caught:
            frame.select("value").write.format("ottla").mode("append").options(
                **base, **options
            ).save()
        printed.write(str(caught.value))
    text = printed.getvalue() + str(executions(spark, last))
    assert "ottla" in text
    # The text is that of these queries, and of their tasks.
    assert "AppendData" in text
    assert shown(text) == set()
