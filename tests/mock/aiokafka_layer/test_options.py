"""aiokafka's layer: arguments become ottla's configuration, and errors become aiokafka's."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from ottla import errors as ottla_errors
from ottla.compat.aiokafka import AIOKafkaClient, AIOKafkaConsumer, errors
from ottla.compat.aiokafka._error_mapping import commit_error, peer_error, read_error
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.coordinator.assignors.range import RangePartitionAssignor
from ottla.compat.aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from ottla.compat.aiokafka.helpers import create_ssl_context
from ottla.testing import MockCluster
from tests.support.loops import eventually, run


def config(**options: Any) -> dict[str, Any]:
    """The configuration that a client's arguments mean."""

    async def create() -> dict[str, Any]:
        client = AIOKafkaClient(**options)
        return client.options.to_config(asyncio.get_running_loop())

    return run(create())


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("localhost", ["localhost:9092"]),
        ("a:1, b", ["a:1", "b:9092"]),
        (["::1", "[::1]", "[::1]:7"], ["[::1]:9092", "[::1]:9092", "[::1]:7"]),
    ],
)
def test_servers_have_a_default_port(servers: Any, expected: list[str]) -> None:
    assert config(bootstrap_servers=servers)["bootstrap_servers"] == expected


def test_no_secret_is_in_a_repr() -> None:
    async def create() -> str:
        client = AIOKafkaClient(
            security_protocol="SASL_PLAINTEXT",
            sasl_plain_username="user",
            sasl_plain_password="secret",
        )
        return repr(client) + repr(client.options)

    assert "secret" not in run(create())


def test_tls_settings_are_read_from_the_context(tmp_path: Path) -> None:
    context = ssl.create_default_context()
    read = config(security_protocol="SSL", ssl_context=context)
    assert read["ssl_endpoint_identification_algorithm"] == "https"
    own = create_ssl_context()
    own.check_hostname = False
    assert (
        config(security_protocol="SSL", ssl_context=own)["ssl_endpoint_identification_algorithm"]
        == ""
    )
    own.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="verify_mode"):
        config(security_protocol="SSL", ssl_context=own)


def test_tokens_come_from_the_applications_loop() -> None:
    class Provider(AbstractTokenProvider):
        async def token(self) -> str:
            await asyncio.sleep(0)
            return "a-token"

        def extensions(self) -> dict[str, str]:
            return {"zone": "a"}

    async def get() -> Any:
        client = AIOKafkaClient(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Provider(),
        )
        source = client.options.to_config(asyncio.get_running_loop())["sasl_oauth_token"]
        return await asyncio.to_thread(source)

    assert run(get()) == ("a-token", None, {"zone": "a"})


def failure(kind: type[ottla_errors.KafkaError], code: int | None) -> ottla_errors.KafkaError:
    error = kind("what happened")
    error.code = code
    return error


@pytest.mark.parametrize(
    ("kind", "code", "expected"),
    [
        (ottla_errors.BrokerError, 26, errors.InvalidSessionTimeoutError),
        (ottla_errors.BrokerError, 999, errors.UnknownError),
        (ottla_errors.AuthorizationError, 29, errors.TopicAuthorizationFailedError),
        (ottla_errors.UnknownTopicError, None, errors.UnknownTopicOrPartitionError),
        (ottla_errors.RecordTooLargeError, None, errors.MessageSizeTooLargeError),
        (ottla_errors.TimeoutError, None, errors.KafkaTimeoutError),
        (ottla_errors.TimeoutError, 7, errors.RequestTimedOutError),
        (ottla_errors.FencedError, 47, errors.ProducerFenced),
        (ottla_errors.ConnectionError, None, errors.KafkaConnectionError),
        (ottla_errors.StateError, None, errors.IllegalStateError),
        (ottla_errors.ConfigError, None, ValueError),
        (ottla_errors.InternalError, None, errors.KafkaError),
    ],
)
def test_each_error_has_aiokafkas_class(
    kind: type[ottla_errors.KafkaError], code: int | None, expected: type[Exception]
) -> None:
    converted = peer_error(failure(kind, code))
    assert type(converted) is expected
    assert "what happened" in str(converted)


def test_errors_of_reading_and_of_commits() -> None:
    out_of_range = read_error(failure(ottla_errors.OffsetError, 1))
    assert isinstance(out_of_range, errors.OffsetOutOfRangeError)
    lost = commit_error(failure(ottla_errors.CommitFailedError, 25))
    assert isinstance(lost, errors.CommitFailedError)
    assert issubclass(errors.OffsetOutOfRangeError, errors.BrokerResponseError)
    assert errors.for_code(6) is errors.NotLeaderForPartitionError
    assert str(errors.NotLeaderForPartitionError("x")).startswith("[Error 6] NotLeader")


def test_an_assignor_of_the_application(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("pairs", partitions=2)
    assigned: list[ConsumerProtocolMemberAssignment] = []

    class Mine(RangePartitionAssignor):
        name = "mine"

        @classmethod
        def on_assignment(cls, assignment: ConsumerProtocolMemberAssignment) -> None:
            assigned.append(assignment)

    async def join() -> None:
        reader = AIOKafkaConsumer(
            "pairs",
            bootstrap_servers=mock_cluster.bootstrap,
            group_id="mine",
            partition_assignment_strategy=[Mine],
        )
        async with reader:
            assert len(reader.assignment()) == 2
            # The core calls it on a thread of its own.
            await eventually(lambda: bool(assigned))

    run(join())
    assert [item.partitions() for item in assigned] == [[("pairs", 0), ("pairs", 1)]]


def test_a_cluster_that_is_away_is_a_connection_error() -> None:
    async def start() -> None:
        reader = AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1", request_timeout_ms=300)
        with pytest.raises(errors.KafkaConnectionError, match="Unable to bootstrap"):
            await reader.start()
        await reader.stop()

    run(start())


def test_arguments_without_effect_are_accepted() -> None:
    async def create() -> None:
        with pytest.warns(DeprecationWarning, match="api_version"):
            reader = AIOKafkaConsumer(api_version="2.0", consumer_timeout_ms=100)
        await reader.stop()

    run(create())
