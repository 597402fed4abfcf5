"""Secrets in options: which are refused where Spark would print them, and their other names."""

from __future__ import annotations

import re

import pytest
from pyspark.sql.datasource import DataSource

from ottla.errors import ConfigError
from ottla.spark import OttlaDataSource
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.options.secret_options import REDACTED_VARIABLE
from ottla.spark.registration.redaction import REQUEST_SECRETS_REGEX
from pyspark_ottla import DefaultSource

BASE = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}
SOURCES: list[type[DataSource]] = [OttlaDataSource, DefaultSource]
UNREDACTED = [
    "kafka.ssl.keystore.key",
    "kafka.SSL.Keystore.Key",
    "kafka.ssl.key.pem",
    "schema.registry.ssl.keystore.key",
    "schema.registry.basic.auth.user.info",
    "kafka.sasl.jaas.config",
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", UNREDACTED)
def test_secrets_that_spark_would_print_are_refused(
    source: type[DataSource], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(REDACTED_VARIABLE, raising=False)
    options = {**BASE, name: "hunter2"}
    with pytest.raises(ConfigError, match=rf"register\(spark\).*{name}\.secret") as raised:
        source(options)
    assert "hunter2" not in str(raised.value)
    source({**BASE, f"{name}.secret": "hunter2"})
    monkeypatch.setenv(REDACTED_VARIABLE, "1")
    source(options)


def test_a_source_of_spark_connect_makes_readers_in_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the process that makes the source knows that its session is one of Spark Connect."""
    monkeypatch.delenv(REDACTED_VARIABLE, raising=False)
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "7b1d")
    source = DefaultSource({**BASE, "kafka.ssl.keystore.key": "hunter2"})
    monkeypatch.delenv("SPARK_JOB_ARTIFACT_UUID")
    assert source.schema().fieldNames()[:2] == ["key", "value"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.sasl.password", "hunter2"),
        ("kafka.ssl.key.password", "hunter2"),
        ("schema.registry.bearer.auth.token", "hunter2"),
        # Spark redacts it by its value.
        ("kafka.sasl.jaas.config", 'x.PlainLoginModule required password="hunter2";'),
        # It has no secret.
        ("kafka.sasl.jaas.config", 'x.Krb5LoginModule required keyTab="/a";'),
        ("kafka.ssl.keystore.location", "/client.pem"),
    ],
)
def test_other_options_are_accepted(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REDACTED_VARIABLE, raising=False)
    for source in SOURCES:
        source({**BASE, name: value})


def test_the_suffix_is_not_part_of_the_name() -> None:
    parsed = parse_batch_options({**BASE, "kafka.sasl.password.SECRET": "hunter2"})
    assert parsed.common.kafka["sasl.password"] == "hunter2"
    both = {**BASE, "kafka.sasl.password": "a", "kafka.sasl.password.secret": "b"}
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.password is set twice"):
        parse_batch_options(both)
    # The name of a key that ends so is left alone.
    secret = {**BASE, "kafka.sasl.oauthbearer.client.credentials.client.secret": "hunter2"}
    assert len(parse_batch_options(secret).common.kafka) == 2
    with pytest.raises(ConfigError, match=r"client\.id\.secret"):
        parse_batch_options({**BASE, "kafka.client.id.secret": "x"})


@pytest.mark.parametrize(
    "name", [*UNREDACTED, "kafka.sasl.password", "schema.registry.url", "kafka.ssl.key.pem.secret"]
)
def test_register_redacts_the_text_of_requests(name: str) -> None:
    # Java's possessive quantifiers, which older versions of Python do not have.
    pattern = REQUEST_SECRETS_REGEX.replace("*+", "*")
    value = r"http://me:hun\"ter2@r"
    text = f'options {{ key: "{name}" value: "{value}" }} options {{ key: "subscribe" }}'
    assert re.sub(pattern, "***", text) == 'options { *** } options { key: "subscribe" }'
