"""The set-ups of the doctor and their true causes, by the name of their golden text."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause
from tests.doctor.causes.clusters import CLUSTERS
from tests.doctor.causes.gateways import GATEWAYS
from tests.doctor.causes.more_clusters import MORE_CLUSTERS
from tests.doctor.causes.more_networks import MORE_NETWORKS
from tests.doctor.causes.more_ports import MORE_PORTS
from tests.doctor.causes.more_security import MORE_SECURITY
from tests.doctor.causes.networks import NETWORKS
from tests.doctor.causes.ports import PORTS
from tests.doctor.causes.proxies import PROXIES
from tests.doctor.causes.real_brokers import REAL_BROKERS
from tests.doctor.causes.security import SECURITY
from tests.doctor.causes.states import STATES

CAUSES: dict[str, Cause] = {
    **CLUSTERS,
    **PORTS,
    **PROXIES,
    **GATEWAYS,
    **NETWORKS,
    **SECURITY,
    **STATES,
    # These were written down before the doctor was run on them.
    **MORE_PORTS,
    **MORE_CLUSTERS,
    **MORE_SECURITY,
    **MORE_NETWORKS,
    **REAL_BROKERS,
}
