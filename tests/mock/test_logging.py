"""Engine events reach Python's loggers at their levels without blocking the client."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

TIMEOUT = 60.0


def names(caplog: pytest.LogCaptureFixture) -> set[str]:
    return {record.name for record in caplog.records}


def test_events_reach_the_logger_of_their_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ottla"), MockCluster(brokers=1) as cluster:
        with ottla.Client(cluster.bootstrap) as client:
            # Calls copy the levels, at most once a second.
            wait_until(
                lambda: bool(
                    client.topic_names(timeout=30) is not None and "ottla.metadata" in names(caplog)
                )
            )
        # Wait for the last event, or the next test would receive it.
        wait_until(lambda: any("connection ended" in text for text in caplog.messages))
    assert "ottla.connection" in names(caplog)
    record = next(record for record in caplog.records if record.name == "ottla.metadata")
    assert record.levelno == logging.DEBUG
    assert record.getMessage().startswith("refreshed generation=")
    assert record.pathname.endswith(".rs")
    assert record.lineno > 0


def test_loggers_filter_by_level(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, "ottla"),
        caplog.at_level(logging.DEBUG, "ottla.metadata"),
        MockCluster(brokers=1) as cluster,
        ottla.Client(cluster.bootstrap) as client,
    ):
        wait_until(lambda: bool(client.topic_names(timeout=30) is not None and names(caplog)))
    assert names(caplog) == {"ottla.metadata"}


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
    )


def test_without_logging_configuration_nothing_is_printed() -> None:
    ended = run(
        """
        import ottla
        from ottla.testing import MockCluster
        with MockCluster(brokers=1) as cluster:
            client = ottla.Client(cluster.bootstrap)
            client.topic_names()
        """
    )
    assert (ended.stdout, ended.stderr) == ("", "")


def test_last_events_are_logged_before_the_interpreter_exits() -> None:
    ended = run(
        """
        import logging
        logging.basicConfig(level=logging.DEBUG, format="%(name)s %(message)s")
        import ottla
        from ottla.testing import MockCluster
        with MockCluster(brokers=1) as cluster:
            ottla.Client(cluster.bootstrap).close()
        """
    )
    assert "ottla.metadata refreshed generation=1" in ended.stderr


def test_a_forked_child_logs() -> None:
    ended = run(
        """
        import logging, os, sys
        logging.basicConfig(level=logging.DEBUG, format="%(process)d %(name)s %(message)s")
        import ottla
        from ottla.testing import MockCluster
        with MockCluster(brokers=1) as cluster:
            bootstrap = cluster.bootstrap
            ottla.Client(bootstrap).close()
            child = os.fork()
            if child == 0:
                ottla.Client(bootstrap).close()
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            print(child)
        """
    )
    child = ended.stdout.strip()
    assert f"{child} ottla.metadata refreshed generation=1" in ended.stderr


def test_a_blocking_handler_does_not_block_the_client() -> None:
    ended = run(
        """
        import logging, threading, time
        release = threading.Event()
        class Slow(logging.Handler):
            def emit(self, record):
                release.wait(100)
        logging.getLogger("ottla").addHandler(Slow())
        logging.getLogger("ottla").setLevel(5)
        import ottla
        from ottla.testing import MockCluster
        with MockCluster(brokers=1) as cluster:
            with ottla.Client(cluster.bootstrap) as client:
                started = time.monotonic()
                for _ in range(2000):  # more than the queue's capacity
                    client.topic_names()
                assert time.monotonic() - started < 80
        release.set()
        print("done")
        """
    )
    assert ended.stdout == "done\n"


@pytest.mark.parametrize(
    ("server", "protocol", "mechanism", "warned"),
    [
        ("broker.example:9092", "SASL_PLAINTEXT", "PLAIN", True),
        ("broker.example:9092", "SASL_PLAINTEXT", "SCRAM-SHA-512", False),
        ("broker.example:9092", "SASL_SSL", "PLAIN", False),
        ("127.0.0.1:9092", "SASL_PLAINTEXT", "PLAIN", False),
        ("[::1]:9092", "SASL_PLAINTEXT", "PLAIN", False),
        ("localhost:9092", "SASL_PLAINTEXT", "PLAIN", False),
    ],
)
def test_sending_a_password_over_plaintext_warns(
    caplog: pytest.LogCaptureFixture, server: str, protocol: str, mechanism: str, warned: bool
) -> None:
    config = {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": "user",
        "sasl.password": "secret",
    }
    with caplog.at_level(logging.WARNING, "ottla"):
        with ottla.Client(server, config, connect=False):
            pass
        # Events arrive in order, so this warning is the last.
        with ottla.Client(server, {"partitioner.rack.aware": True}, connect=False):
            pass
        wait_until(lambda: any("partitioner.rack.aware" in text for text in caplog.messages))
    messages = [text for text in caplog.messages if "sends credentials unencrypted" in text]
    assert len(messages) == int(warned)
    assert all("secret" not in text for text in messages)
