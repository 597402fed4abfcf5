"""Failures at the ports of KRaft controllers, and of brokers that are taken for them.

``port.py`` words them with the others of a port.
"""

from __future__ import annotations

from collections.abc import Mapping

# By reason: the phase, the problem, and the fix.
CONTROLLER_FAILURES: Mapping[str, tuple[str, str, str]] = {
    "controller_port": (
        "Metadata",
        "is the port of a KRaft controller, not of a broker",
        (
            "use the address of a broker's listener: controllers do not serve clients "
            "(controller.listener.names names their listeners); to check or manage the controllers "
            "themselves, set bootstrap.controllers to this address, or give it as "
            "--bootstrap-controller"
        ),
    ),
    "broker_port": (
        "Metadata",
        "is the port of a broker, not of a KRaft controller",
        (
            "to check or manage the controllers, use the address of a listener that "
            "controller.listener.names names; for this broker, set bootstrap.servers to its "
            "address, without bootstrap.controllers and --bootstrap-controller"
        ),
    ),
    "not_authorized": (
        "Metadata",
        "does not describe the controllers to this principal (CLUSTER_AUTHORIZATION_FAILED)",
        (
            "allow it to alter the cluster, which controllers demand for a description: `ottla "
            "acls create --principal User:NAME --allow alter --cluster`"
        ),
    ),
}
