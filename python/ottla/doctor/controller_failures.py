"""Errors of requests to controllers as steps of a diagnosis, and servers that are no controllers.

The reasons are those of the core's checks (``rust/client/src/doctor/steps.rs``).
"""

from __future__ import annotations

import dataclasses

from ottla.admin.operation_call import Response
from ottla.doctor.connection_facts import Address, Endpoint, Step
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError, TimeoutError  # noqa: A004

_REASONS = {
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "mechanism",
    ErrorCode.ILLEGAL_SASL_STATE: "without_sasl",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "credentials",
    ErrorCode.MISMATCHED_ENDPOINT_TYPE: "broker_port",
}
_DENIED = {ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED}
_BROKER = "this listener belongs to a broker"


def step_of(error: KafkaError, check: str, seconds: float) -> Step:
    """Return the failed step that an error stands for: SASL, or the one that was meant."""
    attempt = next((each for each in reversed(error.attempts) if each.phase), None)
    phase = error.context.get("phase") if attempt is None else attempt.phase
    message = str(error) if attempt is None else attempt.message
    for known, reason in _REASONS.items():
        if error.code == known or known.name in message:
            check = "SASL" if known != ErrorCode.MISMATCHED_ENDPOINT_TYPE else check
            return Step(check, seconds, reason, message, known.name)
    if check == "Metadata" and ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name in message:
        name = ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name
        return Step(check, seconds, "not_authorized", message, name)
    check = "SASL" if phase == "SASL" else check
    if isinstance(error, TimeoutError):
        return Step(check, seconds, "timed_out", message)
    if error.code is not None:
        return Step(check, seconds, "code", message, error.name)
    return Step(check, seconds, "other", message)


def identity_step(controller: int, response: object, seconds: float) -> Step | None:
    """Return the step that asked a controller for its id; None if the principal may not ask."""
    if isinstance(response, KafkaError):
        return step_of(response, "Identity", seconds)
    assert isinstance(response, Response)
    [result] = response.body["results"]
    code = result["error_code"]
    if code == ErrorCode.NONE:
        return Step("Identity", seconds)
    if code in _DENIED:
        return None
    message = result["error_message"] or _name(code)
    if "nexpected broker id" in message:
        return Step("Identity", seconds, "another_broker", message, _name(code))
    return Step("Identity", seconds, "code", f"controller {controller}: {message}")


def _name(code: int) -> str:
    """Return Kafka's name of a code, also of one that only later versions have."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error code {code}"


def refused_steps(server: Endpoint) -> Endpoint:
    """Return a server with the failure of each address where a broker responds."""
    return dataclasses.replace(server, addresses=tuple(map(_refused, server.addresses)))


def _refused(address: Address) -> Address:
    if address.view is None:
        return address
    passed = [step for step in address.steps if step.ok and step.check != "Metadata"]
    broker = Step("Metadata", 0.0, "broker_port", _BROKER)
    known = {"DNS", "TCP", "Proxy", "TLS", "ApiVersions", "SASL"}
    steps = (*(step for step in passed if step.check in known), broker)
    return dataclasses.replace(address, steps=steps, view=None, node=None)
