"""Clusters behind a gateway: the set-ups of tests/mock/test_doctor_gateway.py and their causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

# What the brokers do is right: nothing is to be changed there.
_NOT_THE_BROKERS = (r"correct the broker's advertised\.listeners", "load balancer chooses")

GATEWAYS = {
    "gateway": Cause(
        "three brokers, a topic and a group, all well, through a gateway",
        "nothing is wrong: the addresses are those of the gateway",
        severity="none",
        never=_NOT_THE_BROKERS,
    ),
    "gateway_broker_down": Cause(
        "a gateway has an address for broker 2, and nothing listens where broker 2 should be",
        "the gateway cannot connect to broker 2",
        names=("broker 2", "gateway", "cannot reach"),
        remedy=("check that the broker is running",),
        never=_NOT_THE_BROKERS,
    ),
}
