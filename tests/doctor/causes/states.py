"""States of real brokers: the set-ups of tests/cluster/test_doctor_states.py.

Their golden texts have the one finding about the state. Those that tests/doctor sets up in another
way, under the prefix ``brokers/``, say so.
"""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_NETWORK = ("packets are dropped", "large packets", "no route")

STATES = {
    "states/below_min_isr": Cause(
        "a topic with min.insync.replicas=3 whose broker 2 of 3 is killed (below its minimum once "
        "more, with two replicas left)",
        "no write with acks=all succeeds",
        ("orders-0", "min.insync.replicas", "acks=all", "fail"),
        ("bring back the brokers",),
        _NETWORK,
    ),
    "states/dead_voter": Cause(
        "controller 3 is dead, and the leader of the controllers was restarted since (once more, "
        "of three other brokers)",
        "one of three voters is down; no other may fail",
        ("controller", r"\b3 since", "no other one may fail"),
        ("start",),
        _NETWORK,
        severity="warning",
    ),
    "states/throttled": Cause(
        "the quota request_percentage throttles this client at its own client.id (once more, at "
        "three brokers)",
        "a quota throttles this client; the disks and the network are fine",
        ("quota|throttle",),
        ("quota",),
        ("disk", *_NETWORK),
        severity="warning",
    ),
    "states/max_connections": Cause(
        "max.connections of broker 2's listener is reached (once more, at an advertised address)",
        "the operating system accepts the connection, and the broker takes it up when others close",
        ("broker 2", "accepts connections", "not respond", "its process runs"),
        ("max.connections",),
        (*_NETWORK, "frozen", "firewall"),
    ),
    "states/frozen_broker": Cause(
        "the only bootstrap server is a broker that is stopped with SIGSTOP (once more, without "
        "other brokers to ask)",
        "it accepts connections and does not respond: the process hangs",
        (r"127\.0\.0\.1:9092", "accepts connections", "not respond"),
        ("frozen|hangs",),
        ("large packets", "nothing listens"),
    ),
    "states/not_eligible": Cause(
        "broker 2 is back after an unclean shutdown, so that only broker 3, which is down, may "
        "lead (once more, with min.insync.replicas=2)",
        "the partition has no leader although a broker with a replica of it is up",
        ("orders-0", "no leader", "not eligible"),
        ("start broker 3", "elect-leaders --unclean", "loses"),
        _NETWORK,
    ),
}
