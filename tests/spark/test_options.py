"""Options: every name and value format, rejected options, and that no secret is shown."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from ottla.errors import ConfigError
from ottla.spark import OttlaDataSource
from ottla.spark.options.offset_limits import EARLIEST, LATEST, GlobalOffset
from ottla.spark.options.option_values import OptionValue
from ottla.spark.options.read_options import (
    BATCH_OPTION_NAMES,
    COMMON_OPTION_NAMES,
    STREAM_OPTION_NAMES,
    parse_batch_options,
)
from ottla.spark.options.subscription import Assign, Subscribe, SubscribePattern
from ottla.spark.options.write_options import WRITE_OPTION_NAMES, parse_write_options
from ottla.spark.reading.schema import full_schema
from pyspark_ottla import DefaultSource
from tests.support.jars import REPOSITORY

BASE = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in BASE.items() if key != name}


def error_of(options: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_batch_options(options)
    return str(caught.value)


def test_defaults() -> None:
    options = parse_batch_options(BASE)
    assert options.start == GlobalOffset(EARLIEST)
    assert options.end == GlobalOffset(LATEST)
    assert options.warnings == ()
    source = options.common
    assert source.subscription == Subscribe(("orders",))
    assert source.kafka == {"bootstrap.servers": "broker:9092"}
    assert source.fail_on_data_loss
    assert not source.include_headers
    assert not source.latest_on_no_match
    assert source.min_partitions is None
    assert source.max_records_per_partition is None
    assert (source.offset_attempts, source.offset_retry_interval) == (3, 1.0)
    assert source.isolation_level == "read_uncommitted"


def test_every_option_is_read_in_any_case() -> None:
    options = {
        **BASE,
        "FAILONDATALOSS": "False",
        "minpartitions": "7",
        "MaxRecordsPerPartition": "5000000000",
        "includeheaders": "TRUE",
        "startingOffsetsByTimestampStrategy": "Latest",
        "kafkaConsumer.pollTimeoutMs": "512",
        "fetchoffset.numretries": "5",
        "fetchOffset.retryIntervalMs": "250",
        "kafka.isolation.level": "read_committed",
    }
    source = parse_batch_options(options).common
    assert not source.fail_on_data_loss
    assert source.min_partitions == 7
    assert source.max_records_per_partition == 5_000_000_000
    assert source.include_headers
    assert source.latest_on_no_match
    assert (source.offset_attempts, source.offset_retry_interval) == (5, 0.25)
    assert source.isolation_level == "read_committed"


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("assign", '{"a":[0,2],"b":[1]}'), Assign(frozenset({("a", 0), ("a", 2), ("b", 1)}))),
        (("assign", "{}"), Assign(frozenset())),
        (("subscribe", " a , b,,a"), Subscribe(("a", "b"))),
        (("subscribePattern", " orders-.* "), SubscribePattern("orders-.*")),
    ],
)
def test_subscription(option: tuple[str, str], expected: object) -> None:
    values = {**without("subscribe"), option[0]: option[1]}
    assert parse_batch_options(values).common.subscription == expected


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (without("subscribe"), ["one of", "assign", "subscribe", "subscribePattern"]),
        ({**BASE, "assign": '{"a":[0]}'}, ["only one of", "assign and subscribe"]),
        ({**BASE, "subscribe": " , "}, ["subscribe", "no topic"]),
        ({**without("subscribe"), "subscribePattern": " "}, ["subscribePattern", "empty"]),
        ({**without("subscribe"), "subscribePattern": "("}, ["subscribePattern", "'('", "re mod"]),
        ({**without("subscribe"), "subscribePattern": "[a-z&&[^q]]"}, ["class arithmetic"]),
        ({**without("subscribe"), "assign": "a"}, ["assign", '{"topicA":[0,1]', "'a'"]),
        ({**without("subscribe"), "assign": '{"a":0}'}, ["assign", "topicA"]),
        ({**without("subscribe"), "assign": '{"a":[-1]}'}, ["assign", "topicA"]),
        (without("kafka.bootstrap.servers"), ["kafka.bootstrap.servers", "must be set"]),
        ({**BASE, "kafka.bootstrap.servers": " "}, ["kafka.bootstrap.servers", "must be set"]),
        ({**BASE, "minPartitions": "0"}, ["minPartitions", "from 1", "'0'"]),
        ({**BASE, "minPartitions": "2147483648"}, ["minPartitions", "2147483647"]),
        ({**BASE, "minPartitions": "1_0"}, ["minPartitions", "'1_0'"]),
        ({**BASE, "maxRecordsPerPartition": "-1"}, ["maxRecordsPerPartition", "'-1'"]),
        ({**BASE, "maxRecordsPerPartition": "many"}, ["maxRecordsPerPartition", "'many'"]),
        ({**BASE, "includeHeaders": "yes"}, ["includeHeaders", "true or false", "'yes'"]),
        ({**BASE, "failOnDataLoss": ""}, ["failOnDataLoss", "true or false"]),
        ({**BASE, "fetchOffset.numRetries": "0"}, ["fetchOffset.numRetries", "'0'"]),
        ({**BASE, "kafkaConsumer.pollTimeoutMs": "1s"}, ["kafkaConsumer.pollTimeoutMs", "'1s'"]),
        (
            {**BASE, "startingOffsetsByTimestampStrategy": "earliest"},
            ["startingOffsetsByTimestampStrategy", "error or latest", "'earliest'"],
        ),
        (
            {**BASE, "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            ["minOffsetsPerTrigger (9)", "maxOffsetsPerTrigger (8)"],
        ),
    ],
)
def test_errors_of_wrong_values_name_the_option(
    options: dict[str, str], fragments: list[str]
) -> None:
    message = error_of(options)
    assert [f for f in fragments if f not in message] == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("startingoffset", "startingOffsets"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("minpartition", "minPartitions"),
        ("topic", "subscribe"),
        ("path", "subscribe"),
        ("failondataLoss2", "failOnDataLoss"),
    ],
)
def test_unknown_option_names_the_nearest(name: str, nearest: str) -> None:
    message = error_of({**BASE, name: "x"})
    assert f"did you mean {nearest}?" in message


@pytest.mark.parametrize("given", [{}, {"provider": "ottla"}])
def test_the_error_for_a_permanent_table_suggests_a_view(given: dict[str, str]) -> None:
    for parse in (parse_batch_options, parse_write_options):
        with pytest.raises(ConfigError, match=r"permanent table.* CREATE TEMPORARY VIEW"):
            parse(given)


def test_numbers_and_booleans_equal_their_texts() -> None:
    given: dict[str, OptionValue] = {**BASE, "minPartitions": 4, "includeHeaders": True}
    read = parse_batch_options(given).common
    assert (read.min_partitions, read.include_headers) == (4, True)
    assert not parse_batch_options({**BASE, "failOnDataLoss": False}).common.fail_on_data_loss
    with pytest.raises(ConfigError, match="minPartitions must be a string, a whole number or"):
        parse_batch_options({**BASE, "minPartitions": None})  # type: ignore[dict-item]


def test_unknown_option_without_a_similar_name() -> None:
    assert "start with kafka." in error_of({**BASE, "zzz": "x"})


@pytest.mark.parametrize(
    "name",
    [
        "auto.offset.reset",
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "interceptor.classes",
    ],
)
def test_rejected_kafka_options(name: str) -> None:
    assert f"kafka.{name} is not supported" in error_of({**BASE, f"kafka.{name}": "x"})


def test_other_kafka_options_pass_through() -> None:
    options = {**BASE, "kafka.client.rack": "r1", "kafka.fetch.max.bytes": "1048576"}
    assert parse_batch_options(options).common.kafka == {
        "bootstrap.servers": "broker:9092",
        "client.rack": "r1",
        "fetch.max.bytes": "1048576",
    }


@pytest.mark.parametrize("name", STREAM_OPTION_NAMES)
def test_streaming_options_are_ignored_with_a_warning(name: str) -> None:
    (warning,) = parse_batch_options({**BASE, name: "15"}).warnings
    assert name in warning
    assert "ignored" in warning


def test_group_options_have_no_effect_and_log_a_warning() -> None:
    options = parse_batch_options({**BASE, "kafka.group.id": "g", "groupIdPrefix": "p"})
    assert "group.id" not in options.common.kafka
    assert [w.split()[1] for w in options.warnings] == ["kafka.group.id", "groupIdPrefix"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startingOffsets", "{bad"),
        ("startingOffsets", '{"t":{"0":-3}}'),
        ("startingTimestamp", "soon"),
        ("startingOffsetsByTimestamp", "soon"),
        ("endingOffsets", "last"),
        ("endingTimestamp", "soon"),
        ("endingOffsetsByTimestamp", "soon"),
        ("pushFilters", "maybe"),
        ("maxBytesPerTrigger", "1k"),
        ("commitGroupId", " "),
        ("kafka.bogus", "1"),
    ],
)
def test_values_valid_for_neither_batches_nor_streams_fail_at_load(name: str, value: str) -> None:
    # At load(), Spark asks only for the schema.
    with pytest.raises(ConfigError, match=name):
        OttlaDataSource({**BASE, name: value}).schema()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingOffsets": "earliest"}, "endingOffsets can't be 'earliest' in a batch query"),
        (
            {"startingOffsets": "latest", "endingOffsets": "latest"},
            "startingOffsets can't be 'latest' in a batch query",
        ),
        (
            {"startingOffsets": "latest", "endingOffsets": "latest", "maxOffsetsPerTrigger": "9"},
            "endingOffsets is not valid in a streaming query",
        ),
        (
            {"startingOffsets": "latest", "maxOffsetsPerTrigger": "0"},
            "maxOffsetsPerTrigger must be a whole number from 1",
        ),
        (
            {"startingOffsets": "latest", "maxTriggerDelay": "soon"},
            "maxTriggerDelay must be a duration",
        ),
        ({"kafka.acks": "7"}, 'acks="7": expected all'),
        ({"kafka.request.timeout.ms": "soon"}, "request.timeout.ms"),
        ({"kafka.bootstrap.servers": "broker:ninety"}, "broker:ninety"),
        ({"kafka.security.protocol": "TLS"}, "security.protocol.*SASL_SSL"),
    ],
)
def test_combinations_valid_for_neither_batches_nor_streams_fail_at_load(
    options: dict[str, str], message: str
) -> None:
    for source in (OttlaDataSource, DefaultSource):
        with pytest.raises(ConfigError, match=message):
            source({**BASE, **options}).schema()


def test_no_file_is_read_and_no_module_imported_at_load() -> None:
    """Files and modules need to exist only where the client connects."""
    secured = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.provider": "ottla_example_missing:token",
        "kafka.ssl.truststore.location": "/nowhere.pem",
    }
    OttlaDataSource({**BASE, **secured}).schema()


def test_an_error_of_a_stream_is_raised_by_every_method() -> None:
    """Regression: without a reader, PySpark failed a second time and showed that error."""
    reader = OttlaDataSource({**BASE, "endingOffsets": "latest"}).streamReader(
        full_schema(include_headers=False)
    )
    asked: list[Callable[[], object]] = [
        reader.initialOffset,
        lambda: reader.latestOffset({}, ReadAllAvailable()),
        lambda: reader.partitions({}, {}),
        lambda: reader.read(InputPartition(None)),
    ]
    for ask in asked:
        with pytest.raises(ConfigError, match="endingOffsets is not valid in a streaming query"):
            ask()
    reader.stop()


def test_common_options_are_not_checked_by_rules_of_batches() -> None:
    schema = OttlaDataSource(BASE).schema()
    for name, value in (
        ("startingOffsets", "latest"),
        ("endingOffsets", "latest"),
        ("endingTimestamp", "5"),
        ("pushFilters", "true"),
        ("maxTriggerDelay", "no time at all"),
    ):
        assert OttlaDataSource({**BASE, name: value}).schema() == schema


def test_unknown_kafka_settings_are_rejected_with_a_suggestion() -> None:
    for parse in (parse_batch_options, parse_write_options):
        options = {"kafka.bootstrap.servers": "broker:9092", "topic": "t"}
        given = options if parse is parse_write_options else BASE
        with pytest.raises(ConfigError, match=r"option kafka\.lingr\.ms: .*mean linger\.ms\?"):
            parse({**given, "kafka.lingr.ms": "hunter2"})
        with pytest.raises(ConfigError, match=r"option kafka\.sasl\.paswort: ") as caught:
            parse({**given, "kafka.sasl.paswort": "hunter2"})
        assert "hunter2" not in str(caught.value)
        # A setting of Java's client without effect here; and another client's name of a setting.
        parse({**given, "kafka.metric.reporters": "x", "kafka.partitioner": "murmur2_random"})


def test_secrets_appear_nowhere() -> None:
    secret = "hunter2-hunter2"
    options = {**BASE, "kafka.sasl.password": secret, "kafka.sasl.jaas.config": secret}
    parsed = parse_batch_options(options)
    assert secret not in repr(parsed)
    assert secret not in str(parsed.warnings)
    wrong = [{"minPartitions": "0"}, {"unknown": "x"}, {"subscribe": ""}, {"assign": "{}"}]
    wrong.append({"kafka.enable.auto.commit": secret})
    for extra in wrong:
        assert secret not in error_of({**options, **extra})
    assert secret not in error_of({**options, "sasl.password": secret})


def test_options_can_be_pickled() -> None:
    options = parse_batch_options({**BASE, "startingOffsets": '{"orders":{"0":5}}'})
    assert pickle.loads(pickle.dumps(options)) == options


def test_every_option_is_documented() -> None:
    text = (REPOSITORY / "docs" / "guides" / "spark.md").read_text()
    first = {line.split("|")[1] for line in text.splitlines() if line.startswith("| `")}
    named = {name.strip("` ") for cell in first for name in cell.split(",")}
    # Spark's own options, of every sink.
    general = {"checkpointLocation", "queryName"}
    options = {
        *COMMON_OPTION_NAMES,
        *BATCH_OPTION_NAMES,
        *STREAM_OPTION_NAMES,
        *WRITE_OPTION_NAMES,
    } - general
    assert options - named == set()


def test_glues_wire_format_needs_the_text_of_a_schema_and_no_registry() -> None:
    glue = {**BASE, "value.format": "avro", "value.wireFormat": "glue"}
    assert "value.schema with the text" in error_of(glue)
    given = {**glue, "value.schema": '"long"'}
    value = parse_batch_options(given).common.typed.value
    assert value is not None
    assert (value.wire_format, value.schema, value.registry) == ("glue", '"long"', ())
    registry = {"schema.registry.url": "http://registry:8081"}
    assert "no effect with wireFormat=glue" in error_of({**given, **registry})
    keys = parse_batch_options({**given, **registry, "key.format": "avro"}).common.typed
    assert keys.key is not None
    assert keys.value == value
    assert keys.key.registry == (("schema.registry.url", "http://registry:8081"),)


def test_limits_of_schemas_are_checked_and_reach_each_format() -> None:
    typed = {
        **BASE,
        "value.format": "avro",
        "value.schema": '"long"',
        "value.wireFormat": "none",
        "schema.fixed.max.bytes": "33554432",
    }
    value = parse_batch_options(typed).common.typed.value
    assert value is not None
    assert value.limits == (("schema.fixed.max.bytes", "33554432"),)
    assert "between 1 and 1073741824" in error_of({**typed, "schema.fixed.max.bytes": "0"})
    assert "needs value.format" in error_of({**BASE, "schema.fixed.max.bytes": "1"})
