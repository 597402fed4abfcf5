"""What a gateway shows of the clients behind it.

``ottla.testing.Gateway`` returns these, and ``ottla gateway --status`` serves them.
"""

from __future__ import annotations

from ottla.gateway.connection import GatewayConnection, GatewayError
from ottla.gateway.event import GatewayEvent
from ottla.gateway.totals import GatewayTotals

__all__ = ["GatewayConnection", "GatewayError", "GatewayEvent", "GatewayTotals"]
