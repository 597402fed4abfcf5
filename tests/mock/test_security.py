"""Authentication: users, tokens, sessions that end, rejections; secrets are never shown."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.admin import DeletePassword, SetPassword
from ottla.testing import MockCluster

USER, PASSWORD = "ann", "hunter2-hunter2"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
_KAFKA = "org.apache.kafka.common.security"


@pytest.fixture
def secured() -> Iterator[MockCluster]:
    """A cluster that requires credentials."""
    with MockCluster(users={USER: PASSWORD}) as cluster:
        yield cluster


def login(mechanism: str = "SCRAM-SHA-256", **more: Any) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_username": USER,
        "sasl_password": PASSWORD,
        **more,
    }


def bearer(callback: Callable[[], object]) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token": callback,
    }


def test_a_password_that_an_administrator_sets_is_valid_at_once(secured: MockCluster) -> None:
    password = SetPassword("a new one", "SCRAM-SHA-512")
    config = login("SCRAM-SHA-512", sasl_username="bea", sasl_password="a new one")
    with ottla.Admin(secured.bootstrap, **login()) as admin:
        admin.alter_user_scram_credentials({"bea": [password]})
        assert set(admin.describe_user_scram_credentials()) == {USER, "bea"}
        with ottla.Client(secured.bootstrap, **config) as client:
            assert len(client.cluster().brokers) == 3
        admin.alter_user_scram_credentials({"bea": [DeletePassword("SCRAM-SHA-512")]})
    with pytest.raises(errors.AuthenticationError):
        ottla.Client(secured.bootstrap, **config)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_producers_and_scans_authenticate(secured: MockCluster, mechanism: str) -> None:
    secured.create_topic("orders")
    config = login(mechanism)
    with ottla.Producer(secured.bootstrap, **config) as producer:
        producer.send("orders", b"one").result(timeout=30)
    with ottla.Client(secured.bootstrap, **config) as client:
        assert len(client.cluster().brokers) == 3
        assert PASSWORD not in repr(client)
    dotted = {key.replace("_", "."): value for key, value in config.items()}
    table = ottla.scan("orders", secured.bootstrap, config=dotted)
    assert sum(len(batch) for batch in table) == 1


def test_jaas_is_parsed_as_data(secured: MockCluster) -> None:
    module = f"{_KAFKA}.scram.ScramLoginModule"
    jaas = f'{module} required username="{USER}" password="{PASSWORD}";'
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": jaas,
    }
    ottla.Client(secured.bootstrap, config).close()
    with pytest.raises(errors.ConfigError, match="login module is not one of") as raised:
        ottla.Client(
            secured.bootstrap, {**config, "sasl.jaas.config": jaas.replace(module, "evil.Module")}
        )
    assert PASSWORD not in str(raised.value)


def test_a_delegation_token_logs_in_until_it_expires(secured: MockCluster) -> None:
    with ottla.Admin(secured.bootstrap, **login()) as admin:
        token = admin.create_delegation_token()
        config = login(
            "SCRAM-SHA-512",
            sasl_username=token.token_id,
            sasl_password=token.password,
            sasl_scram_tokenauth=True,
        )
        with ottla.Client(secured.bootstrap, **config) as client:
            assert len(client.cluster().brokers) == 3
            assert token.password not in repr(client)
        admin.expire_delegation_token(token.hmac)
    with pytest.raises(errors.AuthenticationError, match="token has not expired") as raised:
        ottla.Client(secured.bootstrap, **config)
    assert token.password not in repr(raised.value)
    with pytest.raises(errors.ConfigError, match=r"does not work with sasl\.mechanism=PLAIN"):
        ottla.Client(secured.bootstrap, **{**config, "sasl_mechanism": "PLAIN"})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_raised_immediately(secured: MockCluster, mechanism: str) -> None:
    started = time.monotonic()
    with pytest.raises(errors.AuthenticationError, match="Authentication failed") as raised:
        ottla.Client(secured.bootstrap, **login(mechanism, sasl_password="wrong-secret"))
    assert time.monotonic() - started < 25
    error = raised.value
    assert not error.retriable
    assert error.context["phase"] == "SASL"
    assert "wrong-secret" not in repr(error)


def test_a_session_that_ends_is_renewed() -> None:
    # One broker, so one connection; its session is renewed about every 3.6 s.
    with MockCluster(brokers=1, users={USER: PASSWORD}, session_lifetime=4.0) as cluster:
        cluster.create_topic("orders")
        with ottla.Producer(cluster.bootstrap, **login(), linger_ms=0) as producer:
            deadline = time.monotonic() + 60
            while cluster.request_count("SaslHandshake") < 3:
                assert time.monotonic() < deadline
                producer.send("orders", b"x").result(timeout=30)
                time.sleep(0.01)


def test_a_revoked_user_gets_an_error() -> None:
    with MockCluster(brokers=1, users={USER: PASSWORD}, session_lifetime=1.0) as cluster:
        cluster.create_topic("orders")
        with ottla.Producer(cluster.bootstrap, **login(), linger_ms=0) as producer:
            producer.send("orders", b"x").result(timeout=30)
            cluster.set_user(USER, None)

            def keep_sending() -> None:
                for _ in range(500):
                    producer.send("orders", b"x").result(timeout=60)
                    time.sleep(0.02)

            with pytest.raises(errors.AuthenticationError, match=r"credentials .* were refused"):
                keep_sending()


TOKENS: dict[str, Callable[[], object]] = {
    "text": lambda: PASSWORD,
    "seconds": lambda: (PASSWORD, time.time() + 60),
    "no expiry": lambda: (PASSWORD, None),
    "datetime": lambda: (PASSWORD, datetime.now(timezone.utc) + timedelta(minutes=1)),
    "extensions": lambda: (PASSWORD, time.time() + 60, {"logicalCluster": "a"}),
}


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_come_from_a_callback(secured: MockCluster, kind: str) -> None:
    threads = set()

    def token() -> object:
        threads.add(threading.current_thread())
        return TOKENS[kind]()

    with ottla.Client(secured.bootstrap, **bearer(token)) as client:
        assert len(client.cluster().brokers) == 3
    assert threads
    assert threading.main_thread() not in threads


def _raises() -> object:
    raise ValueError("no token today")


INVALID: dict[str, tuple[Callable[[], object], str]] = {
    "raises": (_raises, "ValueError: no token today"),
    "none": (lambda: None, "has to return a token"),
    "bytes": (lambda: b"token", "has to return a token"),
    "naive expiry": (
        lambda: ("token", datetime(2100, 1, 1)),  # noqa: DTZ001
        "naive datetime: give it a time zone",
    ),
    "wrong expiry": (lambda: ("token", "tomorrow"), "has to return a token"),
    "empty": (lambda: "", "the token cannot be used"),
    "refused": (lambda: "another.token", "invalid_token"),
}


@pytest.mark.parametrize("case", INVALID)
def test_a_callback_without_a_valid_token_is_an_error(secured: MockCluster, case: str) -> None:
    callback, message = INVALID[case]
    with pytest.raises(errors.AuthenticationError, match=message) as raised:
        ottla.Client(secured.bootstrap, **bearer(callback))
    assert "another.token" not in str(raised.value)


def test_a_slow_callback_times_out_with_its_client(secured: MockCluster) -> None:
    done = threading.Event()

    def slow() -> str:
        done.wait(30)
        return PASSWORD

    config = bearer(slow)
    with pytest.raises(errors.KafkaError):
        ottla.Client(secured.bootstrap, **config, timeout=0.5)
    done.set()
    with pytest.raises(errors.ConfigError, match="expected a callable"):
        ottla.Client(secured.bootstrap, **bearer("text"))  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="needs a token"):
        ottla.Client(secured.bootstrap, **{**config, "sasl_oauth_token": None})


def test_hanging_token_callbacks_do_not_block_other_clients(secured: MockCluster) -> None:
    """Regression: eight of them blocked name resolution in the whole process."""
    release = threading.Event()
    called = threading.Semaphore(0)

    def hang() -> str:
        called.release()
        release.wait(120)
        return PASSWORD

    def connect() -> None:
        with contextlib.suppress(errors.KafkaError):
            ottla.Client(secured.bootstrap, timeout=60, **bearer(hang)).close()

    threads = [threading.Thread(target=connect) for _ in range(12)]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            assert called.acquire(timeout=60)
        port = secured.bootstrap.split(",")[0].rpartition(":")[2]
        with ottla.Client(f"localhost:{port}", timeout=30, **login()) as client:
            assert len(client.cluster().brokers) == 3
    finally:
        release.set()
        for thread in threads:
            thread.join(60)
