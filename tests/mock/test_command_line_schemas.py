"""``ottla consume`` of keys and values with a schema: output, errors, registries, and profiles."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

import ottla as package
from ottla.cli.consume.json_values import as_json_value
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support.command import CommandResult, ottla_here
from tests.support.payments import create_payments

SECRET = "hunter2"
OF_ANY = ["--value-format", "avro", "--schema-registry", "http://registry"]
ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"]},
    {"name": "price", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 10}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
    {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "data", "type": "bytes"},
    {"name": "ratio", "type": "double"},
    {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "int"}}}]}"""
PROTO = """syntax = "proto3"; package shop;
message Other { int64 id = 1; }
message Order { int64 id = 1; map<int32, double> prices = 2; bytes data = 3; }"""


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of profiles, which does not exist yet."""
    file = tmp_path / "profiles.ini"
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    monkeypatch.delenv("OTTLA_PROFILE", raising=False)
    return file


def write_profiles(file: Path, text: str, mode: int = 0o600) -> None:
    """Write the file of profiles."""
    file.write_text(text)
    file.chmod(mode)


def framed(schema_id: int, text: str, value: Any) -> bytes:
    """Encode a value in Avro, after the id of its schema."""
    out = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(text)), value)
    return out.getvalue()


def consume(cluster: MockCluster, topic: str, *arguments: str) -> CommandResult:
    """Read a topic to its end."""
    return ottla_here("consume", cluster.bootstrap, "-t", topic, "-e", *arguments)


def avro(registry: MockRegistry) -> list[str]:
    """The arguments for values in Avro."""
    return ["--value-format", "avro", "--schema-registry", registry.url]


@pytest.fixture
def payments(mock_cluster: MockCluster, mock_registry: MockRegistry) -> str:
    """Three payments, and at offset 1 a value that is none."""
    create_payments(mock_cluster, mock_registry, malformed=True)
    return "payments"


def test_values_are_lines_of_json(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """Nothing is lost: decimals are text, bytes base64, and times ISO 8601; null stays null."""
    schema_id = mock_registry.register(f"{single}-value", ORDER)
    value = {
        "id": 2**60 + 1,
        "item": "ä\n",
        "price": Decimal("12345678901234567890.0123456789"),
        "day": date(2026, 11, 25),
        "at": datetime(2026, 11, 25, 12, 0, 0, 123, tzinfo=timezone.utc),
        "local": datetime(2026, 11, 25, 12, 0, 0, 5000),  # noqa: DTZ001 - it has no time zone
        "clock": time(1, 2, 3),
        "data": b"\0\xff",
        "ratio": float("nan"),
        "tags": {"a": [1, 2]},
    }
    expected = {
        "id": 2**60 + 1,
        "item": "ä\n",
        "price": "12345678901234567890.0123456789",
        "day": "2026-11-25",
        "at": "2026-11-25T12:00:00.000123Z",
        "local": "2026-11-25T12:00:00.005000",
        "clock": "01:02:03",
        "data": "AP8=",
        "ratio": "NaN",
        "tags": {"a": [1, 2]},
    }
    with package.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, framed(schema_id, ORDER, value), key=b"k")
        producer.send(single, None, key=b"deleted")
    done = consume(mock_cluster, single, *avro(mock_registry), "-K", "=")
    assert (done.code, done.err) == (0, "")
    first, second = done.text.splitlines()
    assert json.loads(first.removeprefix("k=")) == expected
    assert list(json.loads(first.removeprefix("k="))) == list(expected)
    assert second == "deleted="
    done = consume(mock_cluster, single, *avro(mock_registry), "-J")
    assert [json.loads(line)["value"] for line in done.text.splitlines()] == [expected, None]
    assert [json.loads(line)["key"] for line in done.text.splitlines()] == ["k", "deleted"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (timedelta(seconds=90, microseconds=500), "PT90.0005S"),
        (timedelta(days=1), "PT86400S"),
        (timedelta(seconds=-1.5), "-PT1.5S"),
        (Decimal("1E+5"), "100000"),
        (Decimal("0E-9"), "0.000000000"),
        ([float("inf"), float("-inf"), 0.5], ["Infinity", "-Infinity", 0.5]),
        ({True: 1, 7: {"x": None}}, {"true": 1, "7": {"x": None}}),
    ],
)
def test_other_objects_are_values_of_json(value: object, expected: object) -> None:
    assert as_json_value(value) == expected


def test_keys_have_a_format_of_their_own(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """The subject is that of keys, and a GUID in the header of keys is found."""
    schema_id = mock_registry.register(f"{single}-key", '"long"')
    guid = package.schema.Registry(mock_registry.url).schema(schema_id).guid
    assert guid is not None
    header = b"\1" + bytes.fromhex(guid.replace("-", ""))
    with package.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, b"v", key=b"\0" + schema_id.to_bytes(4, "big") + b"\x0e")
        producer.send(single, b"v", key=b"\x10", headers=[("__key_schema_id", header)])
    given = ["--key-format", "avro", "--schema-registry", mock_registry.url]
    done = consume(mock_cluster, single, *given, "-K", ":")
    assert (done.code, done.text) == (0, "7:v\n8:v\n")
    done = consume(mock_cluster, single, *given, "--key", "^8$", "-f", "%o")
    assert (done.code, done.text) == (0, "1")


def test_protobuf_without_a_registry(
    mock_cluster: MockCluster, single: str, tmp_path: Path
) -> None:
    """The schema is the text of a .proto file, and the message is named."""
    file = tmp_path / "orders.proto"
    file.write_text(PROTO)
    mock_cluster.append(single, 0, [b"\x08\x07\x12\x0b\x08\x05\x11" + bytes(8) + b"\x1a\x01x"])
    given = ["--value-format", "protobuf", "--value-wire-format", "none"]
    given += ["--value-schema", f"@{file}"]
    done = consume(mock_cluster, single, *given, "--value-message", "shop.Order")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.text) == {"id": 7, "prices": {"5": 0.0}, "data": "eA=="}
    # The first message of the file.
    assert json.loads(consume(mock_cluster, single, *given).text) == {"id": 7}


def test_descriptors_of_protoc(mock_cluster: MockCluster, single: str, tmp_path: Path) -> None:
    """A file with another name is a serialized set of descriptors."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

    files = FileDescriptorSet()
    message = files.file.add(name="o.proto", syntax="proto3").message_type.add(name="O")
    message.field.add(
        name="id",
        number=1,
        type=FieldDescriptorProto.TYPE_INT64,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    file = tmp_path / "orders.pb"
    file.write_bytes(files.SerializeToString())
    mock_cluster.append(single, 0, [b"\x08\x07"])
    given = ["--value-format", "protobuf", "--value-wire-format", "none"]
    done = consume(mock_cluster, single, *given, "--value-schema", f"@{file}")
    assert (done.code, done.text) == (0, '{"id": 7}\n')


def test_records_of_aws_glue(mock_cluster: MockCluster, single: str, tmp_path: Path) -> None:
    """Their schema is given, and no registry is called, even if one is configured."""
    file = tmp_path / "number.avsc"
    file.write_text('"long"')
    mock_cluster.append(single, 0, [b"\3\0" + bytes(16) + b"\x0e"])
    given = [*OF_ANY, "--value-wire-format", "glue", "--value-schema", f"@{file}"]
    done = consume(mock_cluster, single, *given)
    assert (done.code, done.text, done.err) == (0, "7\n", "")


def test_ids_of_apicurio(mock_cluster: MockCluster, single: str) -> None:
    """What they mean is a setting of the registry."""
    with MockRegistry(path="/apis/ccompat/v7") as registry:
        schema_id = registry.register(f"{single}-value", '"long"')
        mock_cluster.append(single, 0, [b"\0" + schema_id.to_bytes(8, "big") + b"\x0e"])
        given = [*avro(registry), "--value-wire-format", "apicurio"]
        done = consume(mock_cluster, single, *given)
        assert (done.code, done.out) == (2, b"")
        assert "apicurio.use.id" in done.err
        setting = "schema.registry.apicurio.use.id=globalId"
        done = consume(mock_cluster, single, *given, "-X", setting)
        assert (done.code, done.text, done.err) == (0, "7\n", "")


def test_json_of_a_version_by_id(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """An id chooses the schema to read with; a subject may have any name."""
    text = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
    first = mock_registry.register("Order", text, "JSON")
    longer = text.removesuffix("}}") + ', "n": {"type": "string"}}}'
    mock_registry.register("Order", longer, "JSON")
    value = b"\0" + first.to_bytes(4, "big") + b'{"id": 7, "n": "x"}'
    mock_cluster.append(single, 0, [value])
    given = ["--value-format", "json", "--schema-registry", mock_registry.url]
    done = consume(mock_cluster, single, *given, "--value-schema", str(first))
    assert (done.code, done.text) == (0, '{"id": 7}\n')
    done = consume(mock_cluster, single, *given, "--value-subject", "Order")
    assert (done.code, done.text) == (0, '{"id": 7, "n": "x"}\n')


def test_records_that_cannot_be_decoded_are_reported(
    mock_cluster: MockCluster, mock_registry: MockRegistry, payments: str
) -> None:
    """The others are printed, the exit code is 1, and JSON has the reason."""
    done = consume(mock_cluster, payments, *avro(mock_registry), "-f", "%o %s\\n")
    assert done.code == 1
    assert [line.split()[0] for line in done.text.splitlines()] == ["0", "2", "3"]
    assert done.err.count("\n") == 1
    assert "payments-0 at offset 1 cannot be decoded: value: the value begins with" in done.err
    done = consume(mock_cluster, payments, *avro(mock_registry), "-J")
    assert done.code == 1
    records = [json.loads(line) for line in done.text.splitlines()]
    assert [record["value"] and record["value"]["id"] for record in records] == [1, None, 2, 3]
    assert records[1]["error"].startswith("value: the value begins with")
    assert "error" not in records[0]
    # Of the newest two, none is malformed.
    done = consume(mock_cluster, payments, *avro(mock_registry), "--last", "2")
    assert (done.code, done.err) == (0, "")


def test_members_of_groups_decode_and_commit(
    mock_cluster: MockCluster, mock_registry: MockRegistry, payments: str
) -> None:
    """What was printed or reported is committed."""
    done = consume(mock_cluster, payments, *avro(mock_registry), "-G", "billing", "-c", "1")
    assert (done.code, json.loads(done.text)["id"]) == (0, 1)
    assert mock_cluster.committed("billing") == {(payments, 0): 1}
    done = consume(mock_cluster, payments, *avro(mock_registry), "-G", "billing")
    assert done.code == 1
    assert [json.loads(line)["id"] for line in done.text.splitlines()] == [2, 3]
    assert "offset 1 cannot be decoded" in done.err
    assert mock_cluster.committed("billing") == {(payments, 0): 4}


def test_filters_see_what_is_printed(
    mock_cluster: MockCluster, mock_registry: MockRegistry, payments: str
) -> None:
    """A value that cannot be decoded does not match a filter of values."""
    for given in (["--where", "customer.name=Bob"], ["--value", '"amount": "1.01"']):
        done = consume(mock_cluster, payments, *avro(mock_registry), *given, "-f", "%o")
        assert (done.code, done.text, done.err) == (0, "2", "")


def test_the_registry_is_configured_as_the_cluster_is(
    mock_cluster: MockCluster, tmp_path: Path, profiles: Path
) -> None:
    """By -X, a file or a profile; other commands use the same profile and file."""
    with MockRegistry(user_info=f"me:{SECRET}") as registry:
        create_payments(mock_cluster, registry)
        keys = {"schema.registry.url": registry.url, "basic.auth.user.info": f"me:{SECRET}"}
        servers = f"bootstrap.servers={mock_cluster.bootstrap}\n"
        lines = "".join(f"{key}={value}\n" for key, value in keys.items())
        file = tmp_path / "client.properties"
        file.write_text(servers + lines.replace("basic.", "schema.registry.basic."))
        write_profiles(profiles, f"[default]\n{servers}{lines}")
        settings = [word for key, value in keys.items() for word in ("-X", f"{key}={value}")]
        for given in ([], ["--config", str(file)], [mock_cluster.bootstrap, *settings]):
            decoding = ["-t", "payments", "-e", "--value-format", "avro"]
            done = ottla_here("consume", *given, *decoding)
            assert (done.code, done.err) == (0, "")
            assert [json.loads(line)["id"] for line in done.text.splitlines()] == [1, 2, 3]
        for given in ([], ["--config", str(file)]):
            assert ottla_here("topics", "list", *given).code == 0
            assert ottla_here("consume", *given, "-t", "payments", "-c", "1").code == 0
        done = ottla_here("topics", "list", *settings)
        assert done.code == 2
        assert 'unknown configuration key "schema.registry.url"' in done.err
        # The command line wins.
        wrong = ["-X", "schema.registry.basic.auth.user.info=me:no"]
        done = ottla_here("consume", "-t", "payments", "-e", "--value-format", "avro", *wrong)
        assert done.code == 1
        assert "rejected the credentials" in done.err
        assert SECRET not in done.err


def test_credentials_of_a_profile_go_to_its_own_registry_only(
    mock_cluster: MockCluster, mock_registry: MockRegistry, profiles: Path
) -> None:
    """If the command line names a registry, those of a profile that it does not name stay."""
    create_payments(mock_cluster, mock_registry)
    write_profiles(
        profiles,
        f"[default]\nbootstrap.servers={mock_cluster.bootstrap}\n"
        f"schema.registry.url=http://127.0.0.1:1\nbasic.auth.user.info=me\n",
    )
    decoding = ["-t", "payments", "-e", "--value-format", "avro"]
    done = ottla_here("consume", *decoding)
    assert done.code == 2
    assert "basic.auth.user.info: expected user:password" in done.err
    chosen = ["--schema-registry", mock_registry.url]
    assert ottla_here("consume", *decoding, *chosen).code == 0
    assert ottla_here("--profile", "default", "consume", *decoding, *chosen).code == 2
    # Neither is it used with another cluster.
    done = ottla_here("consume", mock_cluster.bootstrap, *decoding)
    assert done.code == 2
    assert "no schema registry is configured" in done.err


@pytest.mark.parametrize(
    ("line", "warns"),
    [
        ("basic.auth.user.info = me:secret", True),
        ("schema.registry.bearer.auth.token = secret", True),
        ("schema.registry.url = https://me:secret@registry", True),
        ("schema.registry.ssl.key.password = secret", True),
        ("schema.registry.url = https://registry", False),
        ("schema.registry.ssl.truststore.location = ca.pem", False),
    ],
)
def test_profiles_with_secrets_should_not_be_readable(
    mock_cluster: MockCluster, profiles: Path, line: str, warns: bool
) -> None:
    servers = f"bootstrap.servers={mock_cluster.bootstrap}\n"
    write_profiles(profiles, f"[default]\n{servers}{line}\n", 0o644)
    done = ottla_here("topics", "list")
    assert done.code == 0
    assert ("chmod 600" in done.err) == warns


def test_a_registry_that_fails_ends_the_command(
    mock_cluster: MockCluster, mock_registry: MockRegistry, payments: str
) -> None:
    """The error has the cause, no record is taken for malformed, and none is committed."""
    done = consume(mock_cluster, payments, *avro(mock_registry), "--value-subject", "none")
    assert done.code == 1
    assert 'subject "none" does not exist' in done.err
    mock_registry.inject(RegistryFault.status(503), path="/schemas")
    short = ["-X", "schema.registry.default.api.timeout.ms=300", "-G", "billing"]
    done = consume(mock_cluster, payments, *avro(mock_registry), *short)
    assert (done.code, done.out) == (1, b"")
    assert "looking up schema 1 did not succeed" in done.err
    assert not mock_cluster.committed("billing")
    url = f"http://me:{SECRET}@127.0.0.1:1"
    given = ["--value-format", "avro", "--schema-registry", url, *short[:2]]
    done = consume(mock_cluster, payments, *given)
    assert (done.code, done.out) == (1, b"")
    assert "http://127.0.0.1:1" in done.err
    assert SECRET not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--value-format", "xml"], "invalid choice"),
        (["--value-format", "avro"], "no schema registry is configured: give --schema-registry"),
        (["--value-schema", "1"], "--value-schema has no effect without --value-format"),
        (["--key-wire-format", "none"], "--key-wire-format has no effect without --key-format"),
        (["--schema-registry", "http://r"], "--schema-registry has no effect without"),
        (["-X", "bearer.auth.token=hunter2"], "-X bearer.auth.token has no effect without"),
        (["--value-format", "avro", "--value-as", "json"], "--value-format excludes --value-as"),
        (
            ["--value-format", "avro", "--value-message", "M"],
            "has no effect without --value-format",
        ),
        (
            ["--value-format", "avro", "--value-schema", "1", "--value-subject", "s"],
            "--value-subject has no effect with this --value-schema",
        ),
        (
            [*OF_ANY, "--value-wire-format", "glue"],
            "--value-wire-format glue needs the schema: give --value-schema @FILE",
        ),
        (
            ["--value-format", "avro", "--value-schema", "x"],
            "expected latest, an id, @FILE, or written",
        ),
        (["--value-format", "avro", "--value-schema", "@/no/file"], "@/no/file: "),
        (["--value-format", "avro", "--schema-registry", "r:8081"], "expected https://host:port"),
        (
            [*OF_ANY, "-X", "schema.registry.cache.capacityy=hunter2"],
            "did you mean schema.registry.cache.capacity",
        ),
    ],
)
def test_wrong_arguments(
    mock_cluster: MockCluster, single: str, arguments: list[str], message: str
) -> None:
    done = consume(mock_cluster, single, *arguments)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
    assert SECRET not in done.err
