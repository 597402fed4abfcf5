"""``AdminClient.poll``, its callbacks, and its credentials."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.compat.confluent_kafka import KafkaError, KafkaException
from ottla.compat.confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

USER, PASSWORD, WRONG = "alice", "the right secret", "a wrong secret"


@pytest.fixture
def guarded() -> Iterator[MockCluster]:
    """A broker that asks for credentials."""
    with MockCluster(brokers=1, users={USER: PASSWORD}) as cluster:
        yield cluster


def _conf(cluster: MockCluster, password: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": USER,
        "sasl.password": password,
        **more,
    }


def test_poll_without_events_waits(mock_cluster: MockCluster) -> None:
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        started = time.monotonic()
        assert admin.poll(0.1) == 0
        assert time.monotonic() - started >= 0.1
        assert admin.poll(0) == 0
        # Without callbacks, there is no reason to connect.
        assert mock_cluster.request_count("ApiVersions") == 0


def test_error_cb_learns_of_brokers_that_cannot_be_reached() -> None:
    errors: list[KafkaError] = []
    conf = {"bootstrap.servers": "127.0.0.1:1", "error_cb": errors.append}
    with AdminClient(conf) as admin:
        wait_until(lambda: admin.poll(0.05) and len(errors) > 1)
    assert {each.code() for each in errors} == {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}


def test_exceptions_of_callbacks_are_those_of_poll() -> None:
    def fail(error: KafkaError) -> None:
        raise LookupError("of the callback")

    conf = {"bootstrap.servers": "127.0.0.1:1", "error_cb": fail}
    with AdminClient(conf) as admin, pytest.raises(LookupError, match="of the callback"):
        wait_until(lambda: admin.poll(0.05))


def test_stats_cb_has_librdkafkas_json(mock_cluster: MockCluster) -> None:
    texts: list[str] = []
    conf = {
        "bootstrap.servers": mock_cluster.bootstrap,
        "statistics.interval.ms": 20,
        "stats_cb": texts.append,
    }
    with AdminClient(conf) as admin:
        admin.describe_cluster().result(30)
        wait_until(lambda: admin.poll(0.05) and json.loads(texts[-1])["brokers"])
    found = json.loads(texts[-1])
    assert found["type"] == "producer"
    assert found["name"].startswith("rdkafka#")


def test_set_sasl_credentials_serves_the_next_call(
    guarded: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    admin = AdminClient(_conf(guarded, WRONG))
    with admin:
        with pytest.raises(KafkaException) as raised:
            admin.list_topics(timeout=20)
        error = raised.value.args[0]
        assert error.code() == KafkaError._AUTHENTICATION
        failed = admin.create_topics([NewTopic("t", 1, 1)])["t"].exception(20)
        assert failed is not None
        assert failed.args[0].code() == KafkaError._AUTHENTICATION
        admin.set_sasl_credentials(USER, PASSWORD)
        assert admin.create_topics([NewTopic("t", 1, 1)])["t"].result(20) is None
        assert "t" in admin.list_topics(timeout=20).topics
        shown = f"{error!r}{error.str()}{failed!r}{admin!r}{vars(admin)}{caplog.text}"
    assert PASSWORD not in shown
    assert WRONG not in shown


def test_other_credentials_leave_connections_open(guarded: MockCluster) -> None:
    with AdminClient(_conf(guarded, PASSWORD)) as admin:
        assert admin.list_topics(timeout=20).brokers
        admin.set_sasl_credentials(USER, WRONG)
        assert admin.list_topics(timeout=20).brokers
        with pytest.raises(KafkaException) as raised:
            admin.set_sasl_credentials(USER, "")
        assert raised.value.args[0] == KafkaError._INVALID_ARG


def test_credentials_without_a_mechanism_are_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with AdminClient({"bootstrap.servers": "127.0.0.1:1"}) as admin:
        admin.set_sasl_credentials(USER, PASSWORD)
    assert "set_sasl_credentials has no effect" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_password_of_other_bytes_is_refused_without_showing_it() -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion("bob", info, b"\xff of bob")
    with (
        AdminClient({"bootstrap.servers": "127.0.0.1:1"}) as admin,
        pytest.raises(ValueError, match="password must be UTF-8") as raised,
    ):
        admin.alter_user_scram_credentials([change])
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_a_password_that_was_set_with_a_salt_logs_in(guarded: MockCluster) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    salted = UserScramCredentialUpsertion("bob", info, b"of bob", b"a salt of one's own")
    with AdminClient(_conf(guarded, PASSWORD)) as admin:
        assert admin.alter_user_scram_credentials([salted])["bob"].result(20) is None
        [found] = admin.describe_user_scram_credentials(["bob"]).values()  # type: ignore[union-attr]
        assert found.result(20).scram_credential_infos[0].iterations == 4096
    conf = _conf(guarded, "of bob") | {"sasl.username": "bob"}
    with AdminClient(conf) as admin:
        assert admin.list_topics(timeout=20).brokers


def test_list_topics_lets_brokers_create_the_topic(mock_cluster: MockCluster) -> None:
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        admin.list_topics("wanted", timeout=20)
        wait_until(lambda: not admin.list_topics("wanted", timeout=20).topics["wanted"].error)
        assert list(admin.list_topics(timeout=20).topics["wanted"].partitions) == [0]
