"""Verdicts about KRaft controllers, and the steps that errors of requests to them stand for."""

from __future__ import annotations

import dataclasses

import pytest

from ottla.admin.operation_call import Response
from ottla.doctor.cluster_facts import Broker, Quorum, Voter
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Step, View
from ottla.doctor.controller_failures import identity_step, step_of
from ottla.doctor.facts import Facts
from ottla.doctor.flowchart import flowchart
from ottla.doctor.verdict import judge
from ottla.errors import AuthenticationError, BootstrapError, ErrorCode, KafkaError
from ottla.errors import TimeoutError as KafkaTimeoutError

APIS = {"DescribeQuorum": (0, 2)}
VIEW = View("cluster", (BrokerView(1, "kc1.example.com", 9093),))


def endpoint(host: str, *steps: Step, view: View | None = VIEW) -> Endpoint:
    """An endpoint with one address; without steps, all passed."""
    passed = (Step("TCP", 0.001), Step("ApiVersions", 0.001))
    given = steps or (Step("Metadata", 0.001),)
    failed = any(not step.ok for step in given)
    address = Address(
        "203.0.113.7", 9093, (*passed, *given), apis=APIS, view=None if failed else view
    )
    return Endpoint(host, 9093, Step("DNS", 0.001), (address,))


def facts(server: Endpoint, **more: object) -> Facts:
    """The facts about one bootstrap controller."""
    base = Facts(
        "SASL_SSL", (server,), cluster=VIEW if server.working else None, has_controllers=True
    )
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


def test_rejected_credentials_are_told_in_the_words_for_controllers() -> None:
    refused = Step("SASL", 0.01, "credentials", "SASL_AUTHENTICATION_FAILED (58)")
    [found] = judge(facts(endpoint("kc1.example.com", refused)))
    assert (found.code, found.phase) == ("credentials", "SASL")
    assert found.summary.startswith("bootstrap controller kc1.example.com:9093 rejected")
    assert "the controller's log has the reason" in found.fix


def test_what_was_not_asked_is_said() -> None:
    seen = facts(endpoint("kc1.example.com"))
    assert {found.code for found in judge(seen)} == {
        "not_asked_of_controllers",
        "quorum_not_asked",
    }
    quorum = Quorum((Step("DescribeQuorum", 0.01),), 1, (Voter(1, 0),))
    [found] = judge(dataclasses.replace(seen, quorum=quorum))
    assert found.code == "not_asked_of_controllers"
    boxes = {box.phase: box for box in flowchart(seen)}
    assert boxes["ApiVersions"].question == "Does a Kafka controller respond?"
    for phase in ("Leaders", "Coordinators"):
        assert boxes[phase].detail == "controllers do not serve this: check the brokers too"


def test_another_controller_at_an_advertised_address() -> None:
    wrong = Step("Identity", 0.01, "another_broker", "Unexpected broker id, expected 2")
    seen = facts(endpoint("kc1.example.com"))
    broker = Broker(1, None, 0, endpoint("kc1.example.com", wrong))
    errors = [f for f in judge(dataclasses.replace(seen, brokers=(broker,))) if f.brokers == (1,)]
    assert errors
    assert errors[0].severity == "error"
    assert "broker" not in errors[0].summary.replace("broker id", "")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ErrorCode.SASL_AUTHENTICATION_FAILED, "credentials"),
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, "mechanism"),
        (ErrorCode.ILLEGAL_SASL_STATE, "without_sasl"),
    ],
)
def test_errors_of_sasl_are_steps_of_sasl(code: ErrorCode, reason: str) -> None:
    error = AuthenticationError("no")
    error.code = code
    step = step_of(error, "Metadata", 0.5)
    assert (step.check, step.reason, step.seconds) == ("SASL", reason, 0.5)


def test_other_errors_fail_the_step_that_was_meant() -> None:
    late = step_of(KafkaTimeoutError("no response in time"), "DescribeQuorum", 1.0)
    assert (late.check, late.reason) == ("DescribeQuorum", "timed_out")
    wrong = BootstrapError("this is the port of a broker")
    wrong.code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert step_of(wrong, "Metadata", 0.1).reason == "broker_port"
    assert step_of(KafkaError("broken"), "Metadata", 0.1).reason == "other"


def test_a_code_of_a_later_kafka_is_a_failed_step() -> None:
    error = KafkaError("the controller returned UNKNOWN (999)")
    error.code, error.name = 999, "UNKNOWN"
    step = step_of(error, "DescribeQuorum", 0.1)
    assert (step.reason, step.code, step.message) == ("code", "UNKNOWN", str(error))
    denied = identity_step(2, response(999), 0.1)
    assert denied is not None
    assert (denied.reason, denied.message) == ("code", "controller 2: error code 999")
    other = identity_step(2, response(999, "Unexpected broker id, expected 2"), 0.1)
    assert other is not None
    assert (other.reason, other.code) == ("another_broker", "error code 999")


def response(code: int, message: str | None = None) -> Response:
    """A response to DescribeConfigs."""
    result = {"error_code": code, "error_message": message}
    return Response(4, {"results": [result]}, is_repeated=False)


def test_the_id_of_a_controller() -> None:
    passed = identity_step(2, response(ErrorCode.NONE), 0.1)
    assert passed is not None
    assert passed.ok
    assert identity_step(2, response(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), 0.1) is None
    other = "Unexpected broker id, expected 2, but received 3"
    wrong = identity_step(3, response(ErrorCode.INVALID_REQUEST, other), 0.1)
    assert wrong is not None
    assert wrong.reason == "another_broker"
