"""The progress of a diagnosis: its steps arrive on the caller's thread while the checks run."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

import ottla
from ottla.doctor import DiagnosisStep
from ottla.doctor.findings import EXIT_CODES
from ottla.testing import Fault, MockCluster
from tests.support.child import assert_interruptible
from tests.support.ports import free_ports


def steps_of(
    server: str, config: dict[str, object] | None = None, **arguments: object
) -> tuple[ottla.doctor.Report, list[DiagnosisStep]]:
    steps: list[DiagnosisStep] = []
    report = ottla.diagnose(server, config, on_step=steps.append, **arguments)  # type: ignore[arg-type]
    return report, steps


def test_each_check_starts_and_ends(mock_cluster: MockCluster, topic: str) -> None:
    report, steps = steps_of(mock_cluster.brokers[1], topic=topic, group="billing")
    assert report.ok
    counts = Counter((step.target, step.phase, step.check) for step in steps)
    assert set(counts.values()) == {2}
    assert {step.phase for step in steps} == set(EXIT_CODES) - {"TLS", "SASL"}
    for step in steps:
        assert (step.state, step.message) in {("started", ""), ("passed", "")}
        assert step.state == "passed" or step.seconds == 0
    server = f"bootstrap server {mock_cluster.brokers[1]}"
    assert steps[0] == DiagnosisStep("DNS", server, "DNS", "started")
    targets = {step.target for step in steps}
    assert {"topic orders", "orders-0", "group billing", "KRaft controllers"} <= targets
    assert {f"broker {i} at {address}" for i, address in mock_cluster.brokers.items()} <= targets


def test_a_failure_has_its_message(mock_cluster: MockCluster) -> None:
    [closed] = free_ports(1)
    mock_cluster.advertise(2, f"127.0.0.1:{closed}")
    report, steps = steps_of(mock_cluster.brokers[1])
    assert report.exit_code == 9
    [failed] = [step for step in steps if step.state == "failed"]
    assert (failed.phase, failed.check) == ("Advertised", "TCP")
    assert failed.target == f"broker 2 at 127.0.0.1:{closed}"
    assert "refused" in failed.message
    assert failed.seconds > 0


def test_steps_arrive_while_the_checks_run(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.delay(1.0), api="Metadata", broker=1)
    seen: list[tuple[str, str, float]] = []
    threads = set()

    def on_step(step: DiagnosisStep) -> None:
        threads.add(threading.get_ident())
        seen.append((step.check, step.state, time.monotonic()))

    ottla.diagnose(mock_cluster.brokers[1], on_step=on_step)
    assert threads == {threading.get_ident()}
    # The mock's delay lies between these two events: they did not arrive together at the end.
    started = next(at for check, state, at in seen if (check, state) == ("Metadata", "started"))
    passed = next(at for check, state, at in seen if (check, state) == ("Metadata", "passed"))
    assert passed - started >= 0.9


def test_a_slow_callback_delays_no_check(mock_cluster: MockCluster) -> None:
    """The callback takes longer than the doctor's timeout, and no check runs out of time."""

    def on_step(step: DiagnosisStep) -> None:
        seen.append(step)
        if len(seen) == 1:
            time.sleep(4.5)

    seen: list[DiagnosisStep] = []
    report = ottla.diagnose(mock_cluster.brokers[1], timeout=4, on_step=on_step)
    assert report.ok
    assert not [f for f in report.findings if f.code == "out_of_time"]


def test_an_exception_of_the_callback_ends_the_diagnosis() -> None:
    """It ends while a check still waits for a server that does not respond."""

    class Stop(Exception):
        pass

    def on_step(step: DiagnosisStep) -> None:
        if (step.check, step.state) == ("ApiVersions", "started"):
            raise Stop

    with MockCluster(brokers=1) as cluster:
        cluster.inject(Fault.delay(60), api="ApiVersions")
        started = time.monotonic()
        with pytest.raises(Stop):
            ottla.diagnose(cluster.bootstrap, timeout=50, on_step=on_step)
        assert time.monotonic() - started < 10


def test_another_thread_may_run_a_diagnosis(mock_cluster: MockCluster) -> None:
    """As the console does: the callback runs on the thread that called ``diagnose``."""
    seen: list[int] = []
    thread = threading.Thread(
        target=lambda: ottla.diagnose(
            mock_cluster.bootstrap, on_step=lambda _: seen.append(threading.get_ident())
        )
    )
    thread.start()
    ident = thread.ident
    thread.join(30)
    assert set(seen) == {ident}


def test_ctrl_c_interrupts_the_checks() -> None:
    assert_interruptible(
        """
        import socket
        server = socket.create_server(("127.0.0.1", 0))
        try:
            say("waiting")
            address = f"127.0.0.1:{server.getsockname()[1]}"
            ottla.diagnose(address, timeout=60, on_step=lambda step: None)
        except KeyboardInterrupt:
            say("interrupted")
        """,
        0.5,
    )


def test_a_wrong_configuration_is_raised_before_any_step() -> None:
    with pytest.raises(ottla.errors.ConfigError, match="has no port"):
        steps_of("localhost")


def test_no_secret_appears_in_a_step() -> None:
    with MockCluster(brokers=1, users={"ann": "hunter2"}) as cluster:
        report, steps = steps_of(
            cluster.bootstrap,
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "ann",
                "sasl.password": "wrong-secret",
            },
        )
    assert report.exit_code == 7
    assert "wrong-secret" not in repr(steps)
    [failed] = [step for step in steps if step.state == "failed"]
    assert failed.phase == "SASL"
